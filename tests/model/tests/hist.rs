// SPDX-License-Identifier: GPL-2.0

//! A writer of a histogram, interrupted by another one, against a reader on another CPU, in
//! all orders that the memory model allows.
//!
//! Interrupts are ordered like a stack, which threads are not; so the nested writer's steps
//! are called between the steps of the outer one, at each possible place.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ferroprobe_model::engine::hist::{Fold, Shape, Table};
use ferroprobe_model::sys::{inject, Fault};
use loom::model::Builder;
use loom::thread;

/// Seconds that one model may take.
const LIMIT: u64 = 10;

/// Faults are of the whole process: one model at a time.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

const SHAPES: [Shape; 2] = [
    Shape {
        values: 1,
        comm: 0,
        keys: 1,
    },
    Shape {
        values: 1,
        comm: 0,
        keys: 2,
    },
];

/// Places of a nested writer: before, in the middle of, and behind the outer one.
const PLACES: usize = 4;

/// A hit of the value 5, with another one at `place`.
fn hit(table: &Table, place: Option<usize>) {
    let nested = |at| {
        if place == Some(at) {
            hit(table, None);
        }
    };
    let entry = if table.shape().is_word() {
        table.word_entry(1)
    } else {
        table.entry(&[1, 2], || [0, 0])
    };
    let Some(entry) = entry else {
        return table.drop_hit();
    };
    nested(0);
    entry.begin();
    nested(1);
    entry.fold(0, Fold::Sum, false, 5);
    nested(2);
    entry.end();
    nested(3);
}

/// Reads all entries and returns their hits.
fn read(table: &Table) -> u64 {
    let mut all = 0;
    let result = table.read(1, |key, _, values, read| {
        if table.shape().is_word() {
            assert_eq!(key, [1], "key");
        } else {
            assert_eq!(key, [1, 2], "key");
        }
        if read.is_whole {
            assert_eq!(values[0], read.hits * 5, "torn");
        }
        all += read.hits;
        Ok(())
    });
    result.unwrap();
    all
}

fn model(shape: Shape, place: usize) {
    let table = Arc::new(Table::with_shape(shape, 1).unwrap());
    let reader = {
        let table = Arc::clone(&table);
        thread::spawn(move || read(&table))
    };
    hit(&table, Some(place));
    assert!(reader.join().unwrap() <= 2);
    assert_eq!(read(&table) + table.dropped(), 2);
}

fn check(shape: Shape, place: usize) {
    let mut builder = Builder::new();
    builder.max_duration = Some(Duration::from_secs(LIMIT));
    builder.preemption_bound = Some(2);
    builder.check(move || model(shape, place));
}

#[test]
fn hits_and_values_belong_together() {
    let _alone = alone();
    for shape in SHAPES {
        for place in 0..PLACES {
            check(shape, place);
        }
    }
}

fn fails(fault: Fault) -> bool {
    inject(fault);
    let failed = SHAPES.into_iter().any(|shape| {
        let run = move || check(shape, 3);
        std::panic::catch_unwind(run).is_err()
    });
    inject(Fault::None);
    failed
}

#[test]
fn no_order_can_be_left_out() {
    let _alone = alone();
    for fault in [Fault::Release, Fault::Fence] {
        assert!(fails(fault), "{fault:?} is not noticed");
    }
}
