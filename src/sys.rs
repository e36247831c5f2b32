// SPDX-License-Identifier: GPL-2.0

//! The kernel's implementation of the facade that the engine uses.
//!
//! The host's implementation is `tests/host/src/sys.rs`; both have the same names.

pub use crate::kapi::{
    atomic::{
        barrier, fence_acquire, fence_full, fence_release, words_as_bytes, words_as_bytes_mut,
        AtomicU32, AtomicU64,
    },
    context::{cond_resched, is_being_killed, OnCpu},
    local::{Word as LocalWord, Word as PublishedWord},
    pages::{Pages, View},
    percpu::PerCpu,
    unaligned::{copy, copy_ends, copy_slice, move_down, store, store_at},
};
use crate::kapi::{cgroup, memory};
use core::{
    fmt,
    ops::{Deref, DerefMut},
};
pub use kernel::prelude::Zeroable;
use kernel::prelude::*;

/// An allocation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError;

impl From<kernel::alloc::AllocError> for AllocError {
    fn from(_: kernel::alloc::AllocError) -> Self {
        Self
    }
}

impl From<AllocError> for Error {
    fn from(_: AllocError) -> Self {
        ENOMEM
    }
}

/// Returns whether tasks have cgroups.
pub fn has_cgroups() -> bool {
    cgroup::EXIST
}

/// Number of bytes that are allocated without a check of available memory.
const FEW: usize = 16 << 10;

/// An array of numbers that begins as zeroes.
pub struct Zeroed<T: Zeroable>(memory::ZeroedMemory<T>);

impl<T: Zeroable> Zeroed<T> {
    /// Allocates `count` zeroes.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory; the OOM killer is not invoked.
    pub fn new(count: usize) -> Result<Self, AllocError> {
        Ok(Self(
            memory::ZeroedMemory::new(count).map_err(|_| AllocError)?,
        ))
    }
}

impl<T: Zeroable> Deref for Zeroed<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

/// A growable array whose growth can fail. The growth of a large one does not invoke the OOM
/// killer.
pub struct Vec<T>(KVVec<T>);

impl<T> Vec<T> {
    /// Checks whether there is memory for `capacity` elements.
    fn look(capacity: usize) -> Result<(), AllocError> {
        let bytes = capacity.saturating_mul(size_of::<T>());
        if bytes > FEW && !memory::suffices(bytes) {
            return Err(AllocError);
        }
        Ok(())
    }

    /// [`Vec::look`] before `additional` elements are added.
    #[inline]
    fn look_for(&self, additional: usize) -> Result<(), AllocError> {
        let (length, capacity) = (self.0.len(), self.0.capacity());
        if additional <= capacity.saturating_sub(length) {
            return Ok(());
        }
        // The kernel's vector doubles.
        let grown = capacity.saturating_mul(2);
        Self::look(grown.max(length.saturating_add(additional)))
    }

    /// Makes an empty array; does not allocate.
    pub const fn new() -> Self {
        Self(KVVec::new())
    }

    /// Makes an empty array with room for `capacity` elements.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn with_capacity(capacity: usize) -> Result<Self, AllocError> {
        Self::look(capacity)?;
        Ok(Self(KVVec::with_capacity(capacity, GFP_KERNEL)?))
    }

    /// Makes room for `additional` more elements.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.look_for(additional)?;
        Ok(self.0.reserve(additional, GFP_KERNEL)?)
    }

    /// Appends `value`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn push(&mut self, value: T) -> Result<(), AllocError> {
        self.look_for(1)?;
        Ok(self.0.push(value, GFP_KERNEL)?)
    }

    /// Removes the last element and returns it.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }

    /// Removes the element at `index` and returns it, moving the later ones down; `None`
    /// if there is no such element.
    pub fn take(&mut self, index: usize) -> Option<T> {
        self.0.remove(index).ok()
    }

    /// Drops all elements, keeping the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Drops all elements from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }
}

impl<T: Clone> Vec<T> {
    /// Appends a copy of every element of `other`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn extend_from_slice(&mut self, other: &[T]) -> Result<(), AllocError> {
        self.look_for(other.len())?;
        Ok(self.0.extend_from_slice(other, GFP_KERNEL)?)
    }

    /// Returns a copy of `slice`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn from_slice(slice: &[T]) -> Result<Self, AllocError> {
        let mut vec = Self::with_capacity(slice.len())?;
        vec.extend_from_slice(slice)?;
        Ok(vec)
    }
}

impl<T> Default for Vec<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for Vec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: PartialEq> PartialEq for Vec<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Vec<T> {}

impl<T> Deref for Vec<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        self.0.as_slice()
    }
}

impl<T> DerefMut for Vec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        self.0.as_mut_slice()
    }
}

impl<'a, T> IntoIterator for &'a Vec<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    #[inline(always)]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> IntoIterator for Vec<T> {
    type Item = T;
    type IntoIter = <KVVec<T> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// A reference-counted value on the heap.
pub struct Arc<T>(kernel::sync::Arc<T>);

impl<T> Arc<T> {
    /// Moves `value` to the heap.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn new(value: T) -> Result<Self, AllocError> {
        Ok(Self(kernel::sync::Arc::new(value, GFP_KERNEL)?))
    }
}

impl<T> Clone for Arc<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Deref for Arc<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// An owned value on the heap.
#[derive(Debug)]
pub struct Box<T>(KBox<T>);

impl<T: PartialEq> PartialEq for Box<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Box<T> {}

impl<T> Box<T> {
    /// Moves `value` to the heap.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn new(value: T) -> Result<Self, AllocError> {
        Ok(Self(KBox::new(value, GFP_KERNEL)?))
    }
}

impl<T> Deref for Box<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Box<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
