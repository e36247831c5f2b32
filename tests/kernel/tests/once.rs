// SPDX-License-Identifier: GPL-2.0

//! `SetOnce`.

use crate::element::{live, Element, Tracked};
use ferroprobe_kernel::sync::SetOnce;
use std::sync::{
    atomic::{AtomicUsize, Ordering},
    Barrier,
};

#[test]
fn a_value_is_set_once() {
    let once = SetOnce::new();
    assert!(once.as_ref().is_none());
    assert!(once.populate(Tracked::make(1)));
    assert!(!once.populate(Tracked::make(2)));
    assert_eq!((once.as_ref().unwrap().number(), live()), (1, 1));
    drop(once);
    assert_eq!(live(), 0);
    drop(SetOnce::<Tracked>::default());
    assert_eq!(live(), 0);
}

#[test]
fn one_of_many_threads_sets_it() {
    /// Counts its drops.
    struct Value<'a>([usize; 8], &'a AtomicUsize);
    impl Drop for Value<'_> {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    for _ in 0..100 {
        let drops = AtomicUsize::new(0);
        let once = SetOnce::new();
        let together = Barrier::new(4);
        let set = std::thread::scope(|scope| {
            let threads = [1, 2, 3, 4].map(|number| {
                let (once, together, drops) = (&once, &together, &drops);
                scope.spawn(move || {
                    together.wait();
                    let is_set = once.populate(Value([number; 8], drops));
                    while once.as_ref().is_none() {
                        std::thread::yield_now();
                    }
                    let value = once.as_ref().unwrap();
                    assert!(value.0.iter().all(|part| *part == value.0[0]));
                    is_set.then_some(number)
                })
            });
            let set = threads.map(|thread| thread.join().unwrap());
            set.into_iter().flatten().collect::<Vec<_>>()
        });
        assert_eq!(set, [once.as_ref().unwrap().0[0]]);
        assert_eq!(drops.load(Ordering::Relaxed), 3);
        drop(once);
        assert_eq!(drops.load(Ordering::Relaxed), 4);
    }
}
