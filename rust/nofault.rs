// SPDX-License-Identifier: GPL-2.0

//! Reads of memory that may not be mapped.
//!
//! C header: [`include/linux/uaccess.h`](srctree/include/linux/uaccess.h)

use super::{arch, bindings as extra, calls, word};
use core::{mem::MaybeUninit, slice};
use kernel::bindings;

/// The step of string reads. It divides the page size, so that a step never touches a page that the
/// string does not reach.
const STEP: usize = 32;

/// Reads kernel memory at `address`. Returns false, and leaves `out` unspecified, if a
/// byte cannot be read.
///
/// Context: any.
#[inline(always)]
pub fn read_kernel(address: u64, out: &mut [u8]) -> bool {
    // SAFETY: The function writes within `out` only, and survives a fault of the read.
    unsafe { extra::ferroprobe_read_kernel(out.as_mut_ptr().cast(), address, out.len()) }
}

/// Reads `N` bytes, 1, 2, 4 or 8, at `address` like [`read`]; takes few instructions for a kernel
/// address.
///
/// Context: any, with preemption disabled.
#[inline(always)]
pub fn read_word<const N: usize>(address: u64, out: &mut [u8; N]) -> bool {
    if arch::is_kernel_only(address) {
        // SAFETY: `is_kernel_only` is true for `address`, as checked above.
        unsafe { arch::read_nofault(address, out) }
    } else {
        read_elsewhere(address, out)
    }
}

#[cold]
#[inline(never)]
fn read_elsewhere(address: u64, out: &mut [u8]) -> bool {
    read(address, out)
}

/// Reads two words and the low half of a third one, at `offsets` from `address`. Returns false,
/// with `out` unspecified, if they cannot be read, or only in another way.
///
/// Context: any, with preemption disabled.
#[inline(always)]
pub fn read_three(address: u64, offsets: [u16; 3], out: &mut [u64; 3]) -> bool {
    // SAFETY: `is_kernel_only_far` is true for `address`.
    arch::is_kernel_only_far(address) && unsafe { arch::read_three_nofault(address, offsets, out) }
}

/// Number of bytes before its range that [`read_to_end`] may write, plus one.
const BEFORE: usize = 8;

/// Reads the `length` bytes at `address`, at most 64 KiB, to the end of `out`, in whole words; the
/// preceding bytes of `out` become undefined. Returns false if they cannot be read, or only in
/// another way, or if `out` has less than eight further bytes.
///
/// Context: any, with preemption disabled.
#[inline(always)]
pub fn read_to_end(address: u64, length: usize, out: &mut [u8]) -> bool {
    let Some(before) = out.len().checked_sub(length.wrapping_add(BEFORE)) else {
        return false;
    };
    if !(1..=1 << 16).contains(&length) || !arch::is_kernel_only_around(address) {
        return false;
    }
    // SAFETY: `is_kernel_only_around` is true for `address`, and `length` is not 0. In `out` there
    // are `before` and `BEFORE` bytes, and then `length`.
    unsafe {
        let to = out.as_mut_ptr().add(before).add(BEFORE);
        arch::read_words_nofault(address, to, length)
    }
}

/// [`read`] of up to some hundred bytes of kernel memory, in few instructions.
///
/// Context: any, with preemption disabled.
#[inline(always)]
pub fn read_block(address: u64, out: &mut [u8]) -> bool {
    let length = out.len();
    if !(8..=1 << 16).contains(&length) || !arch::is_kernel_only_far(address) {
        return read_elsewhere(address, out);
    }
    // The end in whole words, and the beginning in one word.
    let rest = length % 8;
    if let (Some(first), 1..) = (out.first_chunk_mut::<8>(), rest) {
        // SAFETY: What is true for 64 KiB from `address` on is true for 8 bytes.
        if !unsafe { arch::read_nofault(address, first) } {
            return false;
        }
    }
    // SAFETY: `is_kernel_only_far` is true for `address`. The words are as many as `out` has
    // behind `rest`, one at least.
    unsafe {
        let to = out.as_mut_ptr().add(rest);
        arch::read_words_nofault(
            address.wrapping_add(word(rest)),
            to,
            length.wrapping_sub(rest),
        )
    }
}

/// Reads user memory of the current task at `address`. Returns false, and leaves `out`
/// unspecified, if a byte cannot be read without sleeping.
///
/// Context: any; in an NMI it may fail.
#[inline]
pub fn read_user(address: u64, out: &mut [u8]) -> bool {
    // SAFETY: As in `read_kernel`.
    let result = unsafe {
        bindings::copy_from_user_nofault(
            out.as_mut_ptr().cast(),
            address as *const kernel::ffi::c_void,
            out.len(),
        )
    };
    result == 0
}

/// Reads memory at `address`: user memory of the current task below the end of user
/// space, kernel memory otherwise.
///
/// Context: any.
#[inline(always)]
pub fn read(address: u64, out: &mut [u8]) -> bool {
    if in_upper_half(address) {
        read_kernel(address, out)
    } else {
        read_lower_half(address, out)
    }
}

#[cold]
#[inline(never)]
fn read_lower_half(address: u64, out: &mut [u8]) -> bool {
    if is_user(address) {
        read_user(address, out)
    } else {
        read_kernel(address, out)
    }
}

/// Returns whether `address` is in the kernel's half of the address space.
#[inline(always)]
fn in_upper_half(address: u64) -> bool {
    address >> 63 != 0
}

/// Returns whether `address` can only be a user address.
#[inline]
pub fn is_user(address: u64) -> bool {
    !in_upper_half(address) && address < word(calls::ferroprobe_task_size())
}

/// Copies the string at `address` up to and including its NUL, or as much of it as fits.
/// Reads each byte once. Returns the number of bytes; `None` if a byte cannot be read.
///
/// Context: any.
pub fn read_string(address: u64, user: bool, out: &mut [u8]) -> Option<usize> {
    let (to, room) = (out.as_mut_ptr().cast(), out.len());
    // SAFETY: Both functions write within `out` only, and survive faults of the reads.
    let length = unsafe {
        if user || is_user(address) {
            extra::ferroprobe_read_user_string(to, address, room)
        } else {
            extra::ferroprobe_read_kernel_string(to, address, room)
        }
    };
    if length == -i64::from(bindings::EAGAIN) {
        return read_user_string_in_steps(address, out);
    }
    usize::try_from(length).ok()
}

/// Maximum number of bytes of a [`ShortText`], plus one.
const SHORT: usize = 96;

/// Room for a short string.
pub struct ShortText([MaybeUninit<u8>; SHORT]);

impl ShortText {
    /// Makes room.
    #[inline(always)]
    pub const fn empty() -> Self {
        Self([const { MaybeUninit::uninit() }; SHORT])
    }

    /// Reads the string at `address` like [`read_string`]. Returns it with its NUL, or an empty
    /// slice if it cannot be read; `None` if it may be longer, or if this context does not allow
    /// the read.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn read(&mut self, address: u64, user: bool) -> Option<&[u8]> {
        let to = self.0.as_mut_ptr().cast();
        // SAFETY: Both functions write at most `SHORT` bytes, and survive faults of the
        // reads.
        let length = unsafe {
            if user || is_user(address) {
                extra::ferroprobe_read_user_string(to, address, SHORT)
            } else {
                extra::ferroprobe_read_kernel_string(to, address, SHORT)
            }
        };
        match usize::try_from(length) {
            Ok(length) if length < SHORT => {
                // SAFETY: The function has written as many bytes as it returns.
                Some(unsafe { slice::from_raw_parts(self.0.as_ptr().cast(), length) })
            }
            Ok(_) => None,
            Err(_) => (length != -i64::from(bindings::EAGAIN)).then_some(&[]),
        }
    }
}

/// Reads a user string in steps, for contexts in which the kernel can only read a given number of
/// bytes.
#[cold]
#[inline(never)]
fn read_user_string_in_steps(address: u64, out: &mut [u8]) -> Option<usize> {
    let mut copied: usize = 0;
    while let Some(rest) = out.get_mut(copied..).filter(|rest| !rest.is_empty()) {
        let at = address.wrapping_add(word(copied));
        // CAST: Less than `STEP`.
        let into_step = (at % STEP as u64) as usize;
        let length = rest.len().min(STEP.wrapping_sub(into_step));
        let step = rest.get_mut(..length)?;
        if !read_user(at, step) {
            return None;
        }
        if let Some(nul) = step.iter().position(|&byte| byte == 0) {
            return Some(copied.wrapping_add(nul).wrapping_add(1));
        }
        copied = copied.wrapping_add(length);
    }
    Some(copied)
}
