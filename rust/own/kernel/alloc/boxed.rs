// SPDX-License-Identifier: GPL-2.0

//! Owned values on the heap.

use super::{one, AllocError, Allocator, Flags};
use crate::{
    error::{self, Error},
    ffi::c_void,
    types::ForeignOwnable,
};
use core::{
    fmt,
    marker::{PhantomData, Unsize},
    mem::{ManuallyDrop, MaybeUninit},
    ops::{CoerceUnsized, Deref, DerefMut},
    pin::Pin,
    ptr::NonNull,
};
use pin_init::{Init, PinInit};

/// An owned value on the heap.
///
/// # Invariants
///
/// The pointer is to memory of `A` that this owns, with a value; or to nothing if `T` has no size.
#[repr(transparent)]
pub struct Box<T: ?Sized, A: Allocator>(NonNull<T>, PhantomData<T>, PhantomData<A>);

// SAFETY: It owns the value.
unsafe impl<T: ?Sized + Send, A: Allocator> Send for Box<T, A> {}
// SAFETY: It owns the value.
unsafe impl<T: ?Sized + Sync, A: Allocator> Sync for Box<T, A> {}

// SAFETY: All zeroes are `None`.
unsafe impl<T, A: Allocator> pin_init::ZeroableOption for Box<T, A> {}

impl<T: ?Sized, A: Allocator> Box<T, A> {
    /// Takes the value back that [`into_raw`](Self::into_raw) gave away.
    ///
    /// # Safety
    ///
    /// It did, and it was not taken back.
    pub const unsafe fn from_raw(pointer: *mut T) -> Self {
        // SAFETY: The pointer of a box is not null.
        let pointer = unsafe { NonNull::new_unchecked(pointer) };
        // INVARIANT: By the promise of the caller.
        Self(pointer, PhantomData, PhantomData)
    }

    /// Gives the value away.
    pub fn into_raw(this: Self) -> *mut T {
        ManuallyDrop::new(this).0.as_ptr()
    }

    /// Pins the value.
    pub fn into_pin(this: Self) -> Pin<Self> {
        // SAFETY: The value stays where it is until the box is dropped.
        unsafe { Pin::new_unchecked(this) }
    }
}

impl<T, A: Allocator> Box<T, A> {
    /// Moves `value` to the heap.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn new(value: T, flags: Flags) -> Result<Self, AllocError> {
        Ok(Self::new_uninit(flags)?.write(value))
    }

    /// Allocates without a value.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn new_uninit(flags: Flags) -> Result<Box<MaybeUninit<T>, A>, AllocError> {
        // INVARIANT: Allocated here; `MaybeUninit` needs no value.
        Ok(Box(
            one::<MaybeUninit<T>, A>(flags)?,
            PhantomData,
            PhantomData,
        ))
    }

    /// Moves `value` to the heap, pinned.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn pin(value: T, flags: Flags) -> Result<Pin<Self>, AllocError> {
        Ok(Self::into_pin(Self::new(value, flags)?))
    }

    /// Makes the value on the heap, pinned.
    ///
    /// # Errors
    ///
    /// The error of `init`; `ENOMEM`.
    pub fn pin_init<E>(init: impl PinInit<T, E>, flags: Flags) -> error::Result<Pin<Self>>
    where
        Error: From<E>,
    {
        let room = Self::new_uninit(flags)?;
        // SAFETY: The place is valid, and the value stays there.
        unsafe { init.__pinned_init(room.0.as_ptr().cast::<T>()) }?;
        // SAFETY: It has a value now.
        Ok(Self::into_pin(unsafe { room.assume_init() }))
    }

    /// Makes the value on the heap.
    ///
    /// # Errors
    ///
    /// The error of `init`; `ENOMEM`.
    pub fn init<E>(init: impl Init<T, E>, flags: Flags) -> error::Result<Self>
    where
        Error: From<E>,
    {
        let room = Self::new_uninit(flags)?;
        // SAFETY: The place is valid.
        unsafe { init.__init(room.0.as_ptr().cast::<T>()) }?;
        // SAFETY: It has a value now.
        Ok(unsafe { room.assume_init() })
    }

    /// Takes the value out.
    pub fn into_inner(this: Self) -> T {
        let pointer = Self::into_raw(this);
        // SAFETY: The value is there by the type invariant, and this box owned it. The memory
        // is freed without it.
        unsafe {
            let value = pointer.read();
            drop(Box::<MaybeUninit<T>, A>::from_raw(pointer.cast()));
            value
        }
    }
}

impl<T, A: Allocator> Box<MaybeUninit<T>, A> {
    /// Puts the value there.
    pub fn write(mut self, value: T) -> Box<T, A> {
        (*self).write(value);
        // SAFETY: Written above.
        unsafe { self.assume_init() }
    }

    /// Says that there is a value.
    ///
    /// # Safety
    ///
    /// There is.
    pub unsafe fn assume_init(self) -> Box<T, A> {
        // SAFETY: By the promise of the caller.
        unsafe { Box::from_raw(Self::into_raw(self).cast()) }
    }
}

// A box of a type is one of what the type implements.
impl<T, U, A> CoerceUnsized<Box<U, A>> for Box<T, A>
where
    T: ?Sized + Unsize<U>,
    U: ?Sized,
    A: Allocator,
{
}

// The value stays where it is when the box moves.
impl<T: ?Sized, A: Allocator> Unpin for Box<T, A> {}

impl<T: ?Sized, A: Allocator> Deref for Box<T, A> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: By the type invariant.
        unsafe { self.0.as_ref() }
    }
}

impl<T: ?Sized, A: Allocator> DerefMut for Box<T, A> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: By the type invariant.
        unsafe { self.0.as_mut() }
    }
}

impl<T: ?Sized + fmt::Debug, A: Allocator> fmt::Debug for Box<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized, A: Allocator> Drop for Box<T, A> {
    fn drop(&mut self) {
        let size = size_of_val(&**self);
        // SAFETY: By the type invariant there is a value, of which this is the last use.
        unsafe { self.0.drop_in_place() };
        if size != 0 {
            // SAFETY: The memory is of `A`, and this was its owner.
            unsafe { A::free(self.0.cast()) };
        }
    }
}

// SAFETY: The pointer of a box is not null, and valid until the box is made anew.
unsafe impl<T, A: Allocator> ForeignOwnable for Box<T, A>
where
    T: 'static,
    A: 'static,
{
    type Borrowed<'a> = &'a T;

    fn into_foreign(self) -> *mut c_void {
        Self::into_raw(self).cast()
    }

    /// # Safety
    ///
    /// The conditions of the trait hold.
    unsafe fn from_foreign(pointer: *mut c_void) -> Self {
        // SAFETY: By the promise of the caller.
        unsafe { Self::from_raw(pointer.cast()) }
    }

    /// # Safety
    ///
    /// The conditions of the trait hold.
    unsafe fn borrow<'a>(pointer: *mut c_void) -> &'a T {
        // SAFETY: By the promise of the caller.
        unsafe { &*pointer.cast::<T>() }
    }
}
