// SPDX-License-Identifier: GPL-2.0

//! Reference-counted values.

use crate::{
    alloc::{AllocError, Flags, KBox},
    bindings,
    error::{self, Error},
    ffi::c_void,
    types::ForeignOwnable,
};
use core::{
    fmt,
    marker::{PhantomData, Unsize},
    mem::{ManuallyDrop, MaybeUninit},
    ops::{CoerceUnsized, Deref, DerefMut, DispatchFromDyn},
    pin::Pin,
    ptr::NonNull,
    sync::atomic::{fence, AtomicI32, Ordering},
};
use pin_init::{Init, PinInit};

/// The count of a value that has had too many references: it stays for ever, as by `refcount_t`.
const SATURATED: i32 = i32::MIN / 2;

/// A value with its count.
#[repr(C)]
struct Counted<T: ?Sized> {
    count: AtomicI32,
    value: T,
}

/// A reference to a value on the heap, which lives as long as there is one.
///
/// # Invariants
///
/// The pointer is to a value made by [`KBox`], of whose count one is this reference's.
#[repr(transparent)]
pub struct Arc<T: ?Sized> {
    pointer: NonNull<Counted<T>>,
    _owns: PhantomData<Counted<T>>,
}

// SAFETY: The value is shared, and is dropped by whoever has the last reference.
unsafe impl<T: ?Sized + Sync + Send> Send for Arc<T> {}
// SAFETY: As above: a reference to it makes another one.
unsafe impl<T: ?Sized + Sync + Send> Sync for Arc<T> {}

impl<T> Arc<T> {
    /// Moves `value` to the heap.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn new(value: T, flags: Flags) -> Result<Self, AllocError> {
        Ok(UniqueArc::new(value, flags)?.into())
    }

    /// Makes the value on the heap.
    ///
    /// # Errors
    ///
    /// The error of `init`; `ENOMEM`.
    pub fn pin_init<E>(init: impl PinInit<T, E>, flags: Flags) -> error::Result<Self>
    where
        Error: From<E>,
    {
        let room = UniqueArc::<T>::new_uninit(flags)?;
        Ok(Arc::from(room.pin_init_with(init)?))
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
        Self::pin_init(init, flags)
    }

    /// Gives the reference away.
    pub fn into_raw(self) -> *const T {
        let pointer = ManuallyDrop::new(self).pointer.as_ptr();
        // SAFETY: The pointer is valid by the type invariant.
        unsafe { &raw const (*pointer).value }
    }

    /// Returns the pointer to the value.
    pub fn as_ptr(this: &Self) -> *const T {
        // SAFETY: The pointer is valid by the type invariant.
        unsafe { &raw const (*this.pointer.as_ptr()).value }
    }

    /// Takes the reference back that [`into_raw`](Self::into_raw) gave away.
    ///
    /// # Safety
    ///
    /// It did, and it was not taken back.
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        let counted = pointer.wrapping_byte_sub(core::mem::offset_of!(Counted<T>, value));
        // SAFETY: The pointer is to the value of an `Arc`, behind the count.
        // INVARIANT: By the promise of the caller.
        Self::of(unsafe { NonNull::new_unchecked(counted.cast::<Counted<T>>().cast_mut()) })
    }

    /// Returns the value alone, if there is no other reference; otherwise drops this one.
    pub fn into_unique_or_drop(self) -> Option<Pin<UniqueArc<T>>> {
        let this = ManuallyDrop::new(self);
        // INVARIANT: The count of this reference is taken away, unless it is the last one.
        this.forget_count().then(|| {
            this.count().store(1, Ordering::Relaxed);
            // SAFETY: The value stays where it is until the last reference is dropped.
            unsafe { Pin::new_unchecked(UniqueArc(Self::of(this.pointer))) }
        })
    }
}

impl<T: ?Sized> Arc<T> {
    const fn of(pointer: NonNull<Counted<T>>) -> Self {
        Self {
            pointer,
            _owns: PhantomData,
        }
    }

    #[inline(always)]
    fn count(&self) -> &AtomicI32 {
        // SAFETY: The pointer is valid by the type invariant.
        unsafe { &(*self.pointer.as_ptr()).count }
    }

    /// Takes the count of this reference away. Returns whether it was the last one.
    fn forget_count(&self) -> bool {
        let count = self.count().fetch_sub(1, Ordering::Release);
        if count == 1 {
            fence(Ordering::Acquire);
            return true;
        }
        if count <= 0 {
            self.saturate();
        }
        false
    }

    #[cold]
    fn saturate(&self) {
        self.count().store(SATURATED, Ordering::Relaxed);
        // SAFETY: The function only warns.
        unsafe { bindings::ferroprobe_warn_refcount() };
    }

    /// Returns whether both are references to one value.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        core::ptr::addr_eq(this.pointer.as_ptr(), other.pointer.as_ptr())
    }

    /// Returns a reference for as long as this one is there.
    pub fn as_arc_borrow(&self) -> ArcBorrow<'_, T> {
        ArcBorrow(self.pointer, PhantomData)
    }
}

// A reference to a value of a type is one to what the type implements.
impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Arc<U>> for Arc<T> {}

impl<T: ?Sized + Unsize<U>, U: ?Sized> DispatchFromDyn<Arc<U>> for Arc<T> {}

impl<T: ?Sized> Unpin for Arc<T> {}

impl<T: ?Sized> Clone for Arc<T> {
    fn clone(&self) -> Self {
        // INVARIANT: Counted here.
        if self.count().fetch_add(1, Ordering::Relaxed) <= 0 {
            self.saturate();
        }
        Self::of(self.pointer)
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        if self.forget_count() {
            // SAFETY: The value was made by `KBox`, and this was the last reference.
            drop(unsafe { KBox::from_raw(self.pointer.as_ptr()) });
        }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: The value lives by the type invariant.
        unsafe { &(*self.pointer.as_ptr()).value }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> From<UniqueArc<T>> for Arc<T> {
    fn from(unique: UniqueArc<T>) -> Self {
        unique.0
    }
}

impl<T> From<Pin<UniqueArc<T>>> for Arc<T> {
    fn from(unique: Pin<UniqueArc<T>>) -> Self {
        // SAFETY: An `Arc` does not move its value.
        unsafe { Pin::into_inner_unchecked(unique) }.0
    }
}

// SAFETY: The pointer of an `Arc` is not null, and valid until it is taken back.
unsafe impl<T: 'static> ForeignOwnable for Arc<T> {
    type Borrowed<'a> = ArcBorrow<'a, T>;

    fn into_foreign(self) -> *mut c_void {
        self.into_raw().cast_mut().cast()
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
    unsafe fn borrow<'a>(pointer: *mut c_void) -> ArcBorrow<'a, T> {
        // SAFETY: By the promise of the caller.
        unsafe { ArcBorrow::from_raw(pointer.cast()) }
    }
}

/// A reference that does not count: another one is there for its lifetime.
pub struct ArcBorrow<'a, T: ?Sized>(NonNull<Counted<T>>, PhantomData<&'a Counted<T>>);

impl<T> ArcBorrow<'_, T> {
    /// Makes it of the pointer of [`Arc::into_raw`].
    ///
    /// # Safety
    ///
    /// The value has a reference for the lifetime.
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        // SAFETY: By the promise of the caller; the reference that is made here is not dropped.
        let arc = ManuallyDrop::new(unsafe { Arc::from_raw(pointer) });
        Self(arc.pointer, PhantomData)
    }
}

impl<T: ?Sized> Clone for ArcBorrow<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for ArcBorrow<'_, T> {}

impl<T: ?Sized> Deref for ArcBorrow<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: The value lives for the lifetime.
        unsafe { &(*self.0.as_ptr()).value }
    }
}

impl<T: ?Sized> From<ArcBorrow<'_, T>> for Arc<T> {
    fn from(borrow: ArcBorrow<'_, T>) -> Self {
        // The reference that lent it is not dropped.
        (*ManuallyDrop::new(Self::of(borrow.0))).clone()
    }
}

/// The only reference to a value.
///
/// # Invariants
///
/// The count is 1.
pub struct UniqueArc<T>(Arc<T>);

impl<T> UniqueArc<T> {
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
    pub fn new_uninit(flags: Flags) -> Result<UniqueArc<MaybeUninit<T>>, AllocError> {
        let counted = Counted {
            count: AtomicI32::new(1),
            value: MaybeUninit::uninit(),
        };
        let pointer = KBox::into_raw(KBox::new(counted, flags)?);
        // SAFETY: The pointer of a box is not null.
        // INVARIANT: Made by `KBox`, with a count of one.
        Ok(UniqueArc(Arc::of(unsafe {
            NonNull::new_unchecked(pointer)
        })))
    }
}

impl<T> UniqueArc<MaybeUninit<T>> {
    /// Puts the value there.
    pub fn write(mut self, value: T) -> UniqueArc<T> {
        (*self).write(value);
        // SAFETY: Written above.
        unsafe { self.assume_init() }
    }

    /// Says that there is a value.
    ///
    /// # Safety
    ///
    /// There is.
    pub unsafe fn assume_init(self) -> UniqueArc<T> {
        UniqueArc(Arc::of(ManuallyDrop::new(self).0.pointer.cast()))
    }

    /// Makes the value there.
    ///
    /// # Errors
    ///
    /// The error of `init`.
    pub fn init_with<E>(mut self, init: impl Init<T, E>) -> Result<UniqueArc<T>, E> {
        // SAFETY: The place is valid.
        unsafe {
            init.__init((*self).as_mut_ptr())?;
            Ok(self.assume_init())
        }
    }

    /// Makes the value there, pinned.
    ///
    /// # Errors
    ///
    /// The error of `init`.
    pub fn pin_init_with<E>(mut self, init: impl PinInit<T, E>) -> Result<Pin<UniqueArc<T>>, E> {
        // SAFETY: The place is valid, and the value stays there.
        unsafe {
            init.__pinned_init((*self).as_mut_ptr())?;
            Ok(Pin::new_unchecked(self.assume_init()))
        }
    }
}

impl<T> Deref for UniqueArc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for UniqueArc<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: There is no other reference by the type invariant.
        unsafe { &mut (*self.0.pointer.as_ptr()).value }
    }
}
