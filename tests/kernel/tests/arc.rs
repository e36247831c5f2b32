// SPDX-License-Identifier: GPL-2.0

//! `Arc` and `UniqueArc`.

use crate::element::{live, Element, Nothing, Tracked, Wide};
use ferroprobe_kernel::{
    alloc::flags::GFP_KERNEL,
    error::{code::*, Error},
    heap::Heap,
    sync::{Arc, ArcBorrow, UniqueArc},
    types::ForeignOwnable,
};
use pinned_init::{init_from_closure, pin_init_from_closure};
use proptest::{collection::vec, prelude::*};
use std::{
    pin::Pin,
    sync::{
        atomic::{AtomicI32, AtomicUsize, Ordering},
        Barrier,
    },
};

/// What is done to one of the references that there are.
#[derive(Clone, Copy, Debug)]
enum Op {
    New,
    Clone,
    CloneBorrowed,
    Drop,
    Raw,
    Unique,
}

fn op() -> impl Strategy<Value = (Op, usize)> {
    let all = [
        Op::New,
        Op::Clone,
        Op::CloneBorrowed,
        Op::Drop,
        Op::Raw,
        Op::Unique,
    ];
    (prop::sample::select(all.to_vec()), any::<usize>())
}

/// Does the operations; a reference stands beside the number of its value.
fn run<T: Element>(ops: &[(Op, usize)]) {
    Heap::run(|heap| {
        let mut all: Vec<(Arc<T>, u32)> = Vec::new();
        let mut next = 0;
        for (op, choice) in ops {
            let chosen = (!all.is_empty()).then(|| all.swap_remove(choice % all.len()));
            let Some((arc, number)) = chosen else {
                all.push((Arc::new(T::make(next), GFP_KERNEL).unwrap(), next));
                next += 1;
                continue;
            };
            let is_last = !all.iter().any(|other| other.1 == number);
            match op {
                Op::New => {
                    all.push((Arc::new(T::make(next), GFP_KERNEL).unwrap(), next));
                    all.push((arc, number));
                    next += 1;
                }
                Op::Clone => {
                    all.push((arc.clone(), number));
                    all.push((arc, number));
                }
                Op::CloneBorrowed => {
                    all.push((Arc::from(arc.as_arc_borrow()), number));
                    all.push((arc, number));
                }
                Op::Drop => drop(arc),
                Op::Raw => {
                    let place = Arc::as_ptr(&arc);
                    let pointer = arc.into_raw();
                    assert_eq!(pointer, place);
                    // SAFETY: Given away above.
                    all.push((unsafe { Arc::from_raw(pointer) }, number));
                }
                Op::Unique => {
                    let unique = arc.into_unique_or_drop();
                    assert_eq!(unique.is_some(), is_last);
                    all.extend(unique.map(|unique| (Arc::from(unique), number)));
                }
            }
            for (arc, number) in &all {
                assert_eq!(arc.number(), T::make(*number).number());
                for (other, of) in &all {
                    assert_eq!(Arc::ptr_eq(arc, other), number == of);
                }
            }
            let mut numbers: Vec<u32> = all.iter().map(|all| all.1).collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!((live(), heap.live()), (numbers.len(), numbers.len()));
        }
        drop(all);
        assert_eq!((live(), heap.live(), heap.warnings()), (0, 0, 0));
    });
}

proptest! {
    #[test]
    fn a_value_lives_as_long_as_its_references(ops in vec(op(), 0..60)) {
        run::<Tracked>(&ops);
        run::<Wide>(&ops);
        run::<Nothing>(&ops);
    }
}

#[test]
fn a_value_without_memory_is_dropped() {
    Heap::run(|heap| {
        heap.fail_after(0);
        assert!(Arc::new(Wide::make(1), GFP_KERNEL).is_err());
        heap.fail_after(0);
        assert_eq!(Arc::init(Wide::make(1), GFP_KERNEL).err(), Some(ENOMEM));
        heap.fail_after(0);
        assert_eq!(Arc::pin_init(Wide::make(1), GFP_KERNEL).err(), Some(ENOMEM));
        heap.fail_after(0);
        assert!(UniqueArc::new(Wide::make(1), GFP_KERNEL).is_err());
        heap.fail_after(0);
        assert!(UniqueArc::<Wide>::new_uninit(GFP_KERNEL).is_err());
        assert_eq!((live(), heap.live()), (0, 0));
    });
}

#[test]
fn a_value_is_made_on_the_heap() {
    Heap::run(|heap| {
        let write = |slot: *mut Wide| {
            // SAFETY: The place is valid.
            unsafe { slot.write(Wide::make(5)) };
            Ok::<(), Error>(())
        };
        // SAFETY: It writes the value.
        let made = Arc::init(unsafe { init_from_closure(write) }, GFP_KERNEL).unwrap();
        assert_eq!(made.number(), 5);
        drop(made);
        // SAFETY: As above.
        let made = Arc::pin_init(unsafe { pin_init_from_closure(write) }, GFP_KERNEL).unwrap();
        assert_eq!(made.number(), 5);
        drop(made);

        // SAFETY: It fails.
        let init = unsafe { init_from_closure(|_: *mut Wide| Err(EBUSY)) };
        assert_eq!(Arc::init(init, GFP_KERNEL).err(), Some(EBUSY));
        // SAFETY: It fails.
        let init = unsafe { init_from_closure(|_: *mut Wide| Err(EBUSY)) };
        let room = UniqueArc::<Wide>::new_uninit(GFP_KERNEL).unwrap();
        assert_eq!(room.init_with(init).err(), Some(EBUSY));
        // SAFETY: It fails.
        let init = unsafe { pin_init_from_closure(|_: *mut Wide| Err(EPERM)) };
        let room = UniqueArc::<Wide>::new_uninit(GFP_KERNEL).unwrap();
        assert_eq!(room.pin_init_with(init).err(), Some(EPERM));
        assert_eq!(heap.live(), 0);
    });
    assert_eq!(live(), 0);
}

#[test]
fn the_only_reference_changes_its_value() {
    Heap::run(|heap| {
        let mut unique = UniqueArc::new(Wide::make(1), GFP_KERNEL).unwrap();
        *unique = Wide::make(2);
        assert_eq!(unique.number(), 2);
        let arc = Arc::from(unique);
        let other = arc.clone();
        assert!(arc.into_unique_or_drop().is_none());
        let mut unique = other.into_unique_or_drop().unwrap();
        // SAFETY: The value may move.
        *unsafe { Pin::get_unchecked_mut(unique.as_mut()) } = Wide::make(3);
        let arc = Arc::from(unique);
        assert_eq!((arc.number(), heap.live(), live()), (3, 1, 1));
    });
    assert_eq!(live(), 0);
}

#[test]
fn a_reference_is_one_to_what_the_type_implements() {
    trait Numbered {
        fn get(&self) -> u32;
    }
    impl<T: Element> Numbered for T {
        fn get(&self) -> u32 {
            self.number()
        }
    }
    Heap::run(|heap| {
        let arc = Arc::new(Wide::make(8), GFP_KERNEL).unwrap();
        let other: Arc<dyn Numbered> = arc.clone();
        drop(arc);
        assert_eq!(other.clone().get(), 8);
        let borrowed: ArcBorrow<'_, dyn Numbered> = other.as_arc_borrow();
        assert_eq!((borrowed.get(), live()), (8, 1));
        drop(other);
        assert_eq!((live(), heap.live()), (0, 0));
    });
}

#[test]
fn c_keeps_a_reference() {
    Heap::run(|_| {
        let arc = Arc::new(Wide::make(9), GFP_KERNEL).unwrap();
        let pointer = arc.clone().into_foreign();
        drop(arc);
        // SAFETY: Given away above.
        unsafe {
            let borrowed = Arc::<Wide>::borrow(pointer);
            assert_eq!((borrowed.number(), live()), (9, 1));
            let other = Arc::from(borrowed);
            drop(Arc::<Wide>::from_foreign(pointer));
            assert_eq!((other.number(), live()), (9, 1));
        }
        assert_eq!(live(), 0);
    });
}

/// The count of a value, which is in memory before the value.
fn count(arc: &Arc<u32>) -> &AtomicI32 {
    // SAFETY: The count has the size and alignment of the value, so that nothing is between them.
    unsafe { &*Arc::as_ptr(arc).cast::<AtomicI32>().wrapping_sub(1) }
}

#[test]
fn references_are_counted() {
    Heap::run(|_| {
        let arc = Arc::new(5, GFP_KERNEL).unwrap();
        let counted = || count(&arc).load(Ordering::Relaxed);
        assert_eq!(counted(), 1);
        let other = arc.clone();
        assert_eq!(counted(), 2);
        drop(other);
        assert_eq!(counted(), 1);
    });
}

/// Makes references to a value whose count is wrong, and drops them and the first.
fn is_kept(wrong: i32) {
    Heap::run(|heap| {
        let arc = Arc::new(5, GFP_KERNEL).unwrap();
        let place = Arc::as_ptr(&arc);
        count(&arc).store(wrong, Ordering::Relaxed);
        let others: Vec<_> = (0..9).map(|_| arc.clone()).collect();
        assert_ne!(heap.warnings(), 0);
        let warnings = heap.warnings();
        drop(others);
        assert!(heap.warnings() > warnings);
        assert_eq!(*arc, 5);
        assert!(count(&arc).load(Ordering::Relaxed) < i32::MIN / 4);
        assert!(arc.clone().into_unique_or_drop().is_none());
        drop(arc);
        // It is still there.
        heap.forget(place.cast());
    });
}

#[test]
fn a_value_with_too_many_references_stays() {
    for wrong in [i32::MAX, i32::MAX - 5, i32::MIN, -1, 0] {
        is_kept(wrong);
    }
}

#[test]
fn a_reference_too_few_is_noticed() {
    for wrong in [0, -1, i32::MIN, i32::MIN + 1] {
        Heap::run(|heap| {
            let arc = Arc::new(5, GFP_KERNEL).unwrap();
            let place = Arc::as_ptr(&arc);
            count(&arc).store(wrong, Ordering::Relaxed);
            drop(arc);
            assert_eq!(heap.warnings(), 1);
            heap.forget(place.cast());
        });
    }
}

#[test]
fn threads_share_a_value_and_one_drops_it() {
    const TURNS: usize = 5000;
    /// Counts its drops.
    struct Shared<'a> {
        used: AtomicUsize,
        drops: &'a AtomicUsize,
    }
    impl Drop for Shared<'_> {
        fn drop(&mut self) {
            assert_eq!(*self.used.get_mut(), 4 * TURNS);
            self.drops.fetch_add(1, Ordering::Relaxed);
        }
    }
    for _ in 0..20 {
        let drops = AtomicUsize::new(0);
        Heap::run(|heap| {
            let shared = Shared {
                used: AtomicUsize::new(0),
                drops: &drops,
            };
            let arc = Arc::new(shared, GFP_KERNEL).unwrap();
            let (mut last, together) = (0, Barrier::new(4));
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4)
                    .map(|_| {
                        let (arc, together) = (arc.clone(), &together);
                        let work = move || {
                            together.wait();
                            for _ in 0..TURNS {
                                arc.clone().used.fetch_add(1, Ordering::Relaxed);
                            }
                            usize::from(arc.into_unique_or_drop().is_some())
                        };
                        scope.spawn(move || heap.enter(work))
                    })
                    .collect();
                last += usize::from(arc.into_unique_or_drop().is_some());
                last += threads
                    .into_iter()
                    .map(|t| t.join().unwrap())
                    .sum::<usize>();
            });
            assert_eq!((last, heap.live(), heap.warnings()), (1, 0, 0));
        });
        assert_eq!(drops.into_inner(), 1);
    }
}
