// SPDX-License-Identifier: GPL-2.0

//! A writer of a histogram, interrupted by another one, against a reader on another CPU, and
//! writers of a shared table on two CPUs, in all orders that the memory model allows.
//!
//! Interrupts are ordered like a stack, which threads are not; so the nested writer's steps
//! are called between the steps of the outer one, at each possible place.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ferroprobe_model::engine::hist::{EntryShape, Fold, HistTable, HistWord, SharedTable};
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

const SHAPES: [EntryShape; 2] = [
    EntryShape {
        values: 1,
        comm: 0,
        keys: 1,
        vars: 0,
    },
    EntryShape {
        values: 1,
        comm: 0,
        keys: 2,
        vars: 0,
    },
];

/// Places of a nested writer: before, in the middle of, and behind the outer one.
const PLACES: usize = 4;

/// A hit of the value 5, with another one at `place`.
fn hit<W: HistWord>(table: &HistTable<W>, place: Option<usize>) {
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
fn read<W: HistWord>(table: &HistTable<W>) -> u64 {
    let mut all = 0;
    let result = table.read(1, |slot, values, read| {
        assert_eq!(table.key_word(slot, 0), 1, "key");
        if !table.shape().is_word() {
            assert_eq!(table.key_word(slot, 1), 2, "key");
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

fn model(shape: EntryShape, place: usize) {
    let table: Arc<HistTable> = Arc::new(HistTable::with_shape(shape, 1).unwrap());
    let reader = {
        let table = Arc::clone(&table);
        thread::spawn(move || read(&table))
    };
    hit(&table, Some(place));
    assert!(reader.join().unwrap() <= 2);
    assert_eq!(read(&table) + table.dropped(), 2);
}

/// Writers on two CPUs, one of which then reads.
fn shared_model(shape: EntryShape) {
    let table: Arc<SharedTable> = Arc::new(HistTable::with_shape(shape, 1).unwrap());
    let writer = {
        let table = Arc::clone(&table);
        thread::spawn(move || hit(&table, None))
    };
    hit(&table, None);
    assert!(read(&table) <= 2);
    writer.join().unwrap();
    assert_eq!(read(&table) + table.dropped(), 2);
}

fn check(shape: EntryShape, place: usize) {
    run(move || model(shape, place));
}

fn run(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.max_duration = Some(Duration::from_secs(LIMIT));
    builder.preemption_bound = Some(2);
    builder.check(model);
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

#[test]
fn two_cpus_share_a_table() {
    let _alone = alone();
    for shape in SHAPES {
        run(move || shared_model(shape));
    }
}

fn fails(fault: Fault, check: fn(EntryShape)) -> bool {
    inject(fault);
    let failed = SHAPES.into_iter().any(|shape| {
        let run = move || check(shape);
        std::panic::catch_unwind(run).is_err()
    });
    inject(Fault::None);
    failed
}

#[test]
fn no_order_can_be_left_out() {
    let _alone = alone();
    for fault in [Fault::Release, Fault::Fence] {
        let own = |shape| check(shape, 3);
        assert!(fails(fault, own), "{fault:?} is not noticed");
        let shared = |shape| run(move || shared_model(shape));
        assert!(fails(fault, shared), "{fault:?} of a shared table");
    }
}
