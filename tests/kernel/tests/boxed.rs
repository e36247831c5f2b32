// SPDX-License-Identifier: GPL-2.0

//! `Box`.

use crate::element::{live, Element, Nothing, Tracked, Wide};
use ferroprobe_kernel::{
    alloc::{flags::GFP_KERNEL, AllocError, Allocator, Box, KBox, KVmalloc, Kmalloc},
    error::{code::*, Error},
    heap::Heap,
    types::ForeignOwnable,
};
use pinned_init::{init_from_closure, pin_init_from_closure};

/// Calls `test` for each type of value and each allocator.
macro_rules! for_all {
    ($test:ident) => {
        $test::<Tracked, Kmalloc>();
        $test::<Wide, Kmalloc>();
        $test::<Nothing, Kmalloc>();
        $test::<u8, Kmalloc>();
        $test::<Tracked, KVmalloc>();
        $test::<Wide, KVmalloc>();
        $test::<Nothing, KVmalloc>();
    };
}

/// The number of a value that was made of `number`.
fn number<T: Element>(number: u32) -> u32 {
    T::make(number).number()
}

fn owns<T: Element, A: Allocator>() {
    Heap::run(|heap| {
        let mut boxed = Box::<T, A>::new(T::make(1), GFP_KERNEL).unwrap();
        assert_eq!(heap.live(), usize::from(size_of::<T>() != 0));
        assert_eq!(boxed.number(), number::<T>(1));
        *boxed = T::make(2);
        let pointer = Box::into_raw(boxed);
        // SAFETY: Given away above.
        let boxed = unsafe { Box::<T, A>::from_raw(pointer) };
        assert_eq!(boxed.number(), number::<T>(2));
        let value = Box::into_inner(boxed);
        assert_eq!(heap.live(), 0);
        assert_eq!(value.number(), number::<T>(2));
        drop(value);
        assert_eq!(live(), 0);

        let pinned = Box::<T, A>::pin(T::make(3), GFP_KERNEL).unwrap();
        assert_eq!(pinned.number(), number::<T>(3));
        drop(pinned);
        let room = Box::<T, A>::new_uninit(GFP_KERNEL).unwrap();
        assert_eq!(room.write(T::make(4)).number(), number::<T>(4));
        drop(Box::<T, A>::new_uninit(GFP_KERNEL).unwrap());
        assert_eq!((live(), heap.live()), (0, 0));
    });
}

#[test]
fn a_value_is_owned() {
    for_all!(owns);
}

fn fails<T: Element, A: Allocator>() {
    if size_of::<T>() == 0 {
        return;
    }
    Heap::run(|heap| {
        heap.fail_after(0);
        assert!(matches!(
            Box::<T, A>::new(T::make(1), GFP_KERNEL),
            Err(AllocError)
        ));
        heap.fail_after(0);
        assert!(Box::<T, A>::pin(T::make(1), GFP_KERNEL).is_err());
        heap.fail_after(0);
        let made = Box::<T, A>::init(T::make(1), GFP_KERNEL);
        assert_eq!(made.err(), Some(ENOMEM));
        heap.fail_after(0);
        let made = Box::<T, A>::pin_init(T::make(1), GFP_KERNEL);
        assert_eq!(made.err(), Some(ENOMEM));
        assert_eq!((live(), heap.live()), (0, 0));
    });
}

#[test]
fn a_value_without_memory_is_dropped() {
    for_all!(fails);
}

fn is_made_there<T: Element, A: Allocator>() {
    Heap::run(|heap| {
        let write = |slot: *mut T| {
            // SAFETY: The place is valid.
            unsafe { slot.write(T::make(5)) };
            Ok::<(), Error>(())
        };
        // SAFETY: It writes the value.
        let made = Box::<T, A>::init(unsafe { init_from_closure(write) }, GFP_KERNEL).unwrap();
        assert_eq!(made.number(), number::<T>(5));
        drop(made);
        // SAFETY: As above.
        let init = unsafe { pin_init_from_closure(write) };
        let made = Box::<T, A>::pin_init(init, GFP_KERNEL).unwrap();
        assert_eq!(made.number(), number::<T>(5));
        drop(made);

        // SAFETY: It fails.
        let init = unsafe { init_from_closure(|_: *mut T| Err(EBUSY)) };
        assert_eq!(Box::<T, A>::init(init, GFP_KERNEL).err(), Some(EBUSY));
        // SAFETY: It fails.
        let init = unsafe { pin_init_from_closure(|_: *mut T| Err(EPERM)) };
        assert_eq!(Box::<T, A>::pin_init(init, GFP_KERNEL).err(), Some(EPERM));
        assert_eq!(heap.live(), 0);
    });
    assert_eq!(live(), 0);
}

#[test]
fn a_value_is_made_on_the_heap() {
    for_all!(is_made_there);
}

#[test]
fn a_value_is_owned_as_what_its_type_implements() {
    trait Numbered {
        fn get(&self) -> u32;
    }
    impl<T: Element> Numbered for T {
        fn get(&self) -> u32 {
            self.number()
        }
    }
    fn coerce<T: Element + 'static>() {
        Heap::run(|heap| {
            let boxed = KBox::new(T::make(6), GFP_KERNEL).unwrap();
            let boxed: KBox<dyn Numbered> = boxed;
            assert_eq!(boxed.get(), number::<T>(6));
            drop(boxed);
            let values = [T::make(1), T::make(2), T::make(3)];
            let values: KBox<[T]> = KBox::<[T; 3]>::new(values, GFP_KERNEL).unwrap();
            assert_eq!((values.len(), values[2].number()), (3, number::<T>(3)));
            drop(values);
            let none: KBox<[T]> = KBox::<[T; 0]>::new([], GFP_KERNEL).unwrap();
            assert_eq!((none.len(), heap.live(), live()), (0, 0, 0));
        });
    }
    coerce::<Tracked>();
    coerce::<Wide>();
    coerce::<Nothing>();
}

#[test]
fn c_keeps_a_box() {
    Heap::run(|heap| {
        let pointer = KBox::new(Wide::make(7), GFP_KERNEL).unwrap().into_foreign();
        // SAFETY: Given away above.
        unsafe {
            assert_eq!(KBox::<Wide>::borrow(pointer).number(), 7);
            assert_eq!((live(), heap.live()), (1, 1));
            drop(KBox::<Wide>::from_foreign(pointer));
        }
        assert_eq!(live(), 0);
        let pointer = KBox::new(Nothing::make(0), GFP_KERNEL).unwrap();
        let pointer = pointer.into_foreign();
        assert!(!pointer.is_null());
        // SAFETY: Given away above.
        drop(unsafe { KBox::<Nothing>::from_foreign(pointer) });
        assert_eq!(live(), 0);
    });
}
