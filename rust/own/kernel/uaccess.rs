// SPDX-License-Identifier: GPL-2.0

//! Memory of user space.
//!
//! C header: [`include/linux/uaccess.h`](srctree/include/linux/uaccess.h)

use crate::{
    alloc::{Allocator, Flags, Vec},
    bindings,
    error::{code::EFAULT, Result},
    ffi::c_void,
};
use core::mem::MaybeUninit;

/// An address in user space; nothing is known about it.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct UserPtr(*mut c_void);

impl UserPtr {
    /// Makes it of a pointer.
    pub fn from_ptr(pointer: *mut c_void) -> Self {
        Self(pointer)
    }

    /// Returns the pointer, to be read from.
    pub fn as_const_ptr(self) -> *const c_void {
        self.0
    }

    /// Returns the pointer, to be written to.
    pub fn as_mut_ptr(self) -> *mut c_void {
        self.0
    }

    fn add(self, bytes: usize) -> Self {
        Self(self.0.wrapping_byte_add(bytes))
    }
}

/// Memory of user space.
pub struct UserSlice {
    pointer: UserPtr,
    length: usize,
}

impl UserSlice {
    /// Makes it for `length` bytes.
    pub fn new(pointer: UserPtr, length: usize) -> Self {
        Self { pointer, length }
    }

    /// Returns what reads it.
    pub fn reader(self) -> UserSliceReader {
        let Self { pointer, length } = self;
        UserSliceReader { pointer, length }
    }

    /// Returns what writes it.
    pub fn writer(self) -> UserSliceWriter {
        let Self { pointer, length } = self;
        UserSliceWriter { pointer, length }
    }
}

/// Reads memory of user space, each byte once.
pub struct UserSliceReader {
    pointer: UserPtr,
    length: usize,
}

impl UserSliceReader {
    /// Returns how many bytes are left.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether none is left.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Leaves `count` bytes out.
    ///
    /// # Errors
    ///
    /// `EFAULT` if there are fewer.
    pub fn skip(&mut self, count: usize) -> Result {
        self.length = self.length.checked_sub(count).ok_or(EFAULT)?;
        self.pointer = self.pointer.add(count);
        Ok(())
    }

    /// Reads as many bytes as `out` has.
    ///
    /// # Errors
    ///
    /// `EFAULT` if there are fewer, or the memory is not mapped.
    ///
    /// Context: process, may sleep.
    pub fn read_raw(&mut self, out: &mut [MaybeUninit<u8>]) -> Result {
        let (count, to) = (out.len(), out.as_mut_ptr().cast::<c_void>());
        if count > self.length {
            return Err(EFAULT);
        }
        // SAFETY: `to` has that many bytes; the function checks the other address.
        let left =
            unsafe { bindings::ferroprobe_copy_from_user(to, self.pointer.as_const_ptr(), count) };
        match left {
            0 => self.skip(count),
            _ => Err(EFAULT),
        }
    }

    /// Reads as many bytes as `out` has.
    ///
    /// # Errors
    ///
    /// `EFAULT` if the memory is shorter than `out`, or cannot be read.
    ///
    /// Context: process, may sleep.
    pub fn read_slice(&mut self, out: &mut [u8]) -> Result {
        let (start, count) = (out.as_mut_ptr().cast(), out.len());
        // SAFETY: The function only writes bytes that are initialised.
        self.read_raw(unsafe { core::slice::from_raw_parts_mut(start, count) })
    }

    /// Reads all that is left to the end of `out`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EFAULT` if the memory cannot be read.
    ///
    /// Context: process, may sleep.
    pub fn read_all<A: Allocator>(mut self, out: &mut Vec<u8, A>, flags: Flags) -> Result {
        let count = self.length;
        out.reserve(count, flags)?;
        let room = out.spare_capacity_mut().get_mut(..count).ok_or(EFAULT)?;
        self.read_raw(room)?;
        // SAFETY: They were read above.
        unsafe { out.inc_len(count) };
        Ok(())
    }
}

/// Writes memory of user space.
pub struct UserSliceWriter {
    pointer: UserPtr,
    length: usize,
}

impl UserSliceWriter {
    /// Returns how many bytes are left.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether none is left.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Writes `bytes`.
    ///
    /// # Errors
    ///
    /// `EFAULT` if there is less room, or the memory is not mapped.
    ///
    /// Context: process, may sleep.
    pub fn write_slice(&mut self, bytes: &[u8]) -> Result {
        let (count, from) = (bytes.len(), bytes.as_ptr().cast::<c_void>());
        if count > self.length {
            return Err(EFAULT);
        }
        // SAFETY: `from` has that many bytes; the function checks the other address.
        let left =
            unsafe { bindings::ferroprobe_copy_to_user(self.pointer.as_mut_ptr(), from, count) };
        if left != 0 {
            return Err(EFAULT);
        }
        self.pointer = self.pointer.add(count);
        self.length -= count;
        Ok(())
    }
}
