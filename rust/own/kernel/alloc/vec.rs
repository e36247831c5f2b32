// SPDX-License-Identifier: GPL-2.0

//! Arrays that grow, and whose growth can fail.

use super::{AllocError, Allocator, Flags};
use core::{
    alloc::Layout,
    fmt,
    marker::PhantomData,
    mem::{ManuallyDrop, MaybeUninit},
    ops::{Deref, DerefMut},
    ptr::{self, NonNull},
    slice,
};

/// An array that grows.
///
/// # Invariants
///
/// The pointer is to memory of `A` for `capacity` elements, or to nothing if there are none or they
/// have no size. The first `length` of them are initialised; it is at most the capacity.
pub struct Vec<T, A: Allocator> {
    pointer: NonNull<T>,
    capacity: usize,
    length: usize,
    _owns: PhantomData<(T, A)>,
}

// SAFETY: It owns the elements.
unsafe impl<T: Send, A: Allocator> Send for Vec<T, A> {}
// SAFETY: It owns the elements.
unsafe impl<T: Sync, A: Allocator> Sync for Vec<T, A> {}

/// There is no room for an element, which comes back.
pub struct PushError<T>(pub T);

/// There is no such element.
#[derive(Debug)]
pub struct RemoveError;

impl<T, A: Allocator> Vec<T, A> {
    const IS_SIZED: bool = size_of::<T>() != 0;

    /// Makes an empty array; does not allocate.
    #[inline]
    pub const fn new() -> Self {
        // INVARIANT: There are no elements.
        Self {
            pointer: NonNull::dangling(),
            capacity: 0,
            length: 0,
            _owns: PhantomData,
        }
    }

    /// Makes an empty array with room for `capacity` elements.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn with_capacity(capacity: usize, flags: Flags) -> Result<Self, AllocError> {
        let mut vec = Self::new();
        vec.reserve(capacity, flags)?;
        Ok(vec)
    }

    /// Returns the number of elements.
    #[inline]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Returns whether there is none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns for how many elements there is memory.
    #[inline]
    pub const fn capacity(&self) -> usize {
        match Self::IS_SIZED {
            true => self.capacity,
            false => usize::MAX,
        }
    }

    /// Returns the elements.
    #[inline]
    pub const fn as_slice(&self) -> &[T] {
        // SAFETY: They are initialised by the type invariant.
        unsafe { slice::from_raw_parts(self.pointer.as_ptr(), self.length) }
    }

    /// Returns the elements.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: They are initialised by the type invariant.
        unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr(), self.length) }
    }

    /// Returns the memory behind the elements.
    pub fn spare_capacity_mut(&mut self) -> &mut [MaybeUninit<T>] {
        let count = self.capacity().wrapping_sub(self.length);
        // SAFETY: The memory is there by the type invariant; it needs no values.
        unsafe { slice::from_raw_parts_mut(self.end().cast(), count) }
    }

    /// Says that `count` more elements are initialised.
    ///
    /// # Safety
    ///
    /// They are, and there is memory for them.
    pub unsafe fn inc_len(&mut self, count: usize) {
        // INVARIANT: By the promise of the caller.
        self.length = self.length.wrapping_add(count);
    }

    fn end(&mut self) -> *mut T {
        self.pointer.as_ptr().wrapping_add(self.length)
    }

    /// Makes room for `additional` more elements; at least twice as much as there was.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn reserve(&mut self, additional: usize, flags: Flags) -> Result<(), AllocError> {
        if additional <= self.capacity().wrapping_sub(self.length) {
            return Ok(());
        }
        let needed = self.length.checked_add(additional).ok_or(AllocError)?;
        let capacity = needed.max(self.capacity.saturating_mul(2));
        let layout = Layout::array::<T>(capacity).map_err(|_| AllocError)?;
        let old = (self.capacity != 0).then_some(self.pointer.cast());
        // SAFETY: The old memory is of `A`, and is not used any more if this succeeds.
        let memory = unsafe { A::realloc(old, layout, flags) }?;
        // INVARIANT: Allocated here, with the elements.
        self.pointer = memory.cast();
        self.capacity = capacity;
        Ok(())
    }

    /// Appends `value`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory; the value is dropped.
    pub fn push(&mut self, value: T, flags: Flags) -> Result<(), AllocError> {
        self.reserve(1, flags)?;
        self.push_within_capacity(value).map_err(|_| AllocError)
    }

    /// Appends `value`, if there is room.
    ///
    /// # Errors
    ///
    /// [`PushError`] with the value, if there is none.
    pub fn push_within_capacity(&mut self, value: T) -> Result<(), PushError<T>> {
        if self.length >= self.capacity() {
            return Err(PushError(value));
        }
        // SAFETY: There is room for an element.
        // INVARIANT: It is initialised here.
        unsafe {
            self.end().write(value);
            self.inc_len(1);
        }
        Ok(())
    }

    /// Removes the last element and returns it.
    pub fn pop(&mut self) -> Option<T> {
        // INVARIANT: The element does not count before it is moved away.
        self.length = self.length.checked_sub(1)?;
        // SAFETY: It was initialised by the type invariant.
        Some(unsafe { self.end().read() })
    }

    /// Removes the element at `index` and returns it; the later ones move down.
    ///
    /// # Errors
    ///
    /// [`RemoveError`] if there is no such element.
    pub fn remove(&mut self, index: usize) -> Result<T, RemoveError> {
        if index >= self.length {
            return Err(RemoveError);
        }
        // INVARIANT: One element fewer, which is moved away; the others move to its place.
        self.length = self.length.wrapping_sub(1);
        let at = self.pointer.as_ptr().wrapping_add(index);
        // SAFETY: The element was initialised by the type invariant, as were those behind it.
        unsafe {
            let value = at.read();
            ptr::copy(at.wrapping_add(1), at, self.length.wrapping_sub(index));
            Ok(value)
        }
    }

    /// Drops all elements from `length` on.
    pub fn truncate(&mut self, length: usize) {
        let Some(count) = self.length.checked_sub(length) else {
            return;
        };
        // INVARIANT: The elements do not count before they are dropped.
        self.length = length;
        // SAFETY: They were initialised by the type invariant.
        unsafe { ptr::drop_in_place(ptr::slice_from_raw_parts_mut(self.end(), count)) };
    }

    /// Drops all elements, keeping the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Keeps the elements that `keep` returns true for.
    pub fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        let mut kept = 0;
        for index in 0..self.length {
            if self.get_mut(index).is_some_and(&mut keep) {
                self.swap(kept, index);
                kept += 1;
            }
        }
        self.truncate(kept);
    }
}

impl<T: Clone, A: Allocator> Vec<T, A> {
    /// Appends a copy of every element of `other`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn extend_from_slice(&mut self, other: &[T], flags: Flags) -> Result<(), AllocError> {
        self.reserve(other.len(), flags)?;
        for value in other {
            self.push_within_capacity(value.clone())
                .map_err(|_| AllocError)?;
        }
        Ok(())
    }

    /// Makes an array of `count` copies of `value`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn from_elem(value: T, count: usize, flags: Flags) -> Result<Self, AllocError> {
        let mut vec = Self::with_capacity(count, flags)?;
        for _ in 0..count {
            vec.push_within_capacity(value.clone())
                .map_err(|_| AllocError)?;
        }
        Ok(vec)
    }
}

impl<T, A: Allocator> Default for Vec<T, A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug, A: Allocator> fmt::Debug for Vec<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T, A: Allocator> Deref for Vec<T, A> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T, A: Allocator> DerefMut for Vec<T, A> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T, A: Allocator> Drop for Vec<T, A> {
    fn drop(&mut self) {
        self.clear();
        if self.capacity != 0 {
            // SAFETY: The memory is of `A` by the type invariant, and this was its owner.
            unsafe { A::free(self.pointer.cast()) };
        }
    }
}

impl<'a, T, A: Allocator> IntoIterator for &'a Vec<T, A> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T, A: Allocator> IntoIterator for &'a mut Vec<T, A> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T, A: Allocator> IntoIterator for Vec<T, A> {
    type Item = T;
    type IntoIter = IntoIter<T, A>;

    fn into_iter(self) -> IntoIter<T, A> {
        let mut vec = ManuallyDrop::new(self);
        let length = vec.length;
        // INVARIANT: The array has no elements of its own any more; they are the iterator's.
        vec.length = 0;
        IntoIter {
            rest: 0..length,
            memory: ManuallyDrop::into_inner(vec),
        }
    }
}

/// Moves the elements out of an array.
///
/// # Invariants
///
/// The elements of the range are initialised, and owned by this; the array has none.
pub struct IntoIter<T, A: Allocator> {
    rest: core::ops::Range<usize>,
    memory: Vec<T, A>,
}

impl<T, A: Allocator> Iterator for IntoIter<T, A> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        // INVARIANT: The element is not in the range any more.
        let index = self.rest.next()?;
        // SAFETY: It is initialised by the type invariant.
        Some(unsafe { self.memory.pointer.as_ptr().wrapping_add(index).read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl<T, A: Allocator> ExactSizeIterator for IntoIter<T, A> {}

impl<T, A: Allocator> Drop for IntoIter<T, A> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}
