// SPDX-License-Identifier: GPL-2.0

//! `Mutex`, and read-copy-update.

use ferroprobe_kernel::{
    alloc::{flags::GFP_KERNEL, KBox},
    heap::Heap,
    new_mutex,
    sync::{rcu, Mutex},
};
use std::pin::Pin;

fn mutex<T>(value: T) -> Pin<KBox<Mutex<T>>> {
    KBox::pin_init(new_mutex!(value), GFP_KERNEL).unwrap()
}

#[test]
fn a_lock_that_is_held_cannot_be_taken() {
    Heap::run(|_| {
        let mutex = mutex(5);
        let guard = mutex.lock();
        assert!(mutex.try_lock().is_none());
        // Nor did the first attempt release it.
        assert!(mutex.try_lock().is_none());
        drop(guard);
        let mut guard = mutex.try_lock().unwrap();
        *guard += 1;
        assert!(mutex.try_lock().is_none());
        drop(guard);
        assert_eq!(*mutex.lock(), 6);
    });
}

#[test]
fn one_thread_at_a_time_has_the_value() {
    Heap::run(|_| {
        let mutex = mutex([0; 4]);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let mutex = &mutex;
                scope.spawn(move || {
                    for turn in 0..500 {
                        let mut value = match (thread + turn) % 2 {
                            0 => mutex.lock(),
                            _ => loop {
                                if let Some(guard) = mutex.try_lock() {
                                    break guard;
                                }
                                std::thread::yield_now();
                            },
                        };
                        for part in value.iter_mut() {
                            *part = std::hint::black_box(*part) + 1;
                        }
                    }
                });
            }
        });
        assert_eq!(*mutex.lock(), [2000; 4]);
    });
}

#[test]
fn a_critical_section_ends_with_its_guard() {
    Heap::run(|heap| {
        let outer = rcu::read_lock();
        let inner = rcu::read_lock();
        assert_eq!(heap.readers(), 2);
        drop(inner);
        assert_eq!(heap.readers(), 1);
        drop(outer);
        assert_eq!(heap.readers(), 0);
    });
}
