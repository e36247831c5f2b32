// SPDX-License-Identifier: GPL-2.0

//! Fallible allocation, and allocations that fail at a test's command.

use core::ops::{Deref, DerefMut};
use std::cell::Cell;

/// An allocation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError;

thread_local! {
    static ALLOCATIONS_LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Lets `count` further allocations of this thread succeed and fails all later
/// ones; `None` lifts the limit.
pub fn fail_allocation_after(count: Option<usize>) {
    ALLOCATIONS_LEFT.with(|left| left.set(count));
}

fn allocation() -> Result<(), AllocError> {
    ALLOCATIONS_LEFT.with(|left| match left.get() {
        None => Ok(()),
        Some(0) => Err(AllocError),
        Some(n) => {
            left.set(Some(n - 1));
            Ok(())
        }
    })
}

/// A growable array whose growth can fail.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vec<T>(std::vec::Vec<T>);

impl<T> Vec<T> {
    /// An empty array; does not allocate.
    pub const fn new() -> Self {
        Self(std::vec::Vec::new())
    }

    /// An empty array with room for `capacity` elements.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn with_capacity(capacity: usize) -> Result<Self, AllocError> {
        allocation()?;
        Ok(Self(std::vec::Vec::with_capacity(capacity)))
    }

    /// Makes room for `additional` more elements.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        if self.0.capacity() - self.0.len() < additional {
            allocation()?;
            self.0.reserve(additional);
        }
        Ok(())
    }

    /// Appends `value`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn push(&mut self, value: T) -> Result<(), AllocError> {
        self.reserve(1)?;
        self.0.push(value);
        Ok(())
    }

    /// Removes the last element and returns it.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }

    /// Removes the element at `index`, moving the later ones down; `None` when
    /// there is no such element.
    pub fn take(&mut self, index: usize) -> Option<T> {
        (index < self.0.len()).then(|| self.0.remove(index))
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
        self.reserve(other.len())?;
        self.0.extend_from_slice(other);
        Ok(())
    }

    /// A copy of `slice`.
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

impl<T> Deref for Vec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Vec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<'a, T> IntoIterator for &'a Vec<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T> IntoIterator for Vec<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// A counted value on the heap.
#[derive(Debug)]
pub struct Arc<T>(std::sync::Arc<T>);

impl<T> Arc<T> {
    /// Moves `value` to the heap.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn new(value: T) -> Result<Self, AllocError> {
        allocation()?;
        Ok(Self(std::sync::Arc::new(value)))
    }
}

impl<T> Clone for Arc<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// An owned value on the heap.
#[derive(Debug, PartialEq, Eq)]
pub struct Box<T>(std::boxed::Box<T>);

impl<T> Box<T> {
    /// Moves `value` to the heap.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn new(value: T) -> Result<Self, AllocError> {
        allocation()?;
        Ok(Self(std::boxed::Box::new(value)))
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
