// SPDX-License-Identifier: GPL-2.0

//! A writer against a reader on another CPU, in all orders that the memory
//! model allows.
//!
//! The sub-buffers are tiny (one or two events), so that a few events cross
//! several of them and lap the ring. Interrupts are the matter of the host's
//! `ring_nested` test: they are ordered like a stack, which threads are not.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ferroprobe_model::engine::ring::{Always, Iter, Note, Reader, Ring, Short};
use ferroprobe_model::sys::{inject, Fault, Pages};
use loom::model::Builder;
use loom::thread;

type Words = Ring<Pages>;

/// Bytes of a sub-buffer with room for a note and one event, or two.
const ONE_EVENT: usize = 64;
const TWO_EVENTS: usize = 80;

/// Seconds that one model may take; all of them together take far less.
const LIMIT: u64 = 30;

/// Faults are of the whole process: one model at a time.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn content(id: u32) -> [u32; 3] {
    [id, !id, id.wrapping_mul(3)]
}

fn write(ring: &Words, id: u32) -> bool {
    // SAFETY: one thread of the model writes.
    let writer = unsafe { ring.writer() };
    let note = || Note::new(1, *b"a task's name...");
    let clock = || u64::from(id) + 100;
    let quick = Short::<3>::of(12)
        .and_then(|short| writer.reserve_fast(&short, &note(), Always(clock)).ok());
    if let Some(event) = quick {
        for (word, value) in event.words().iter().zip(content(id)) {
            word.store_relaxed(value);
        }
        assert!(event.publish().is_none());
        return true;
    }
    let reserved = writer.reserve(12, note(), clock);
    let Ok(event) = reserved else { return false };
    for (word, value) in event.words().iter().zip(content(id)) {
        word.store_relaxed(value);
    }
    event.commit();
    true
}

/// Checks that events come whole, in order, and with all losses between.
#[derive(Default)]
struct Story {
    next: u32,
    seen: u64,
}

impl Story {
    fn see(&mut self, ts: u64, lost: u64, words: impl Iterator<Item = u32>) {
        let words: Vec<u32> = words.collect();
        let id = words[0];
        assert_eq!(words, content(id), "torn");
        assert_eq!(ts, u64::from(id) + 100, "time");
        assert_eq!(u64::from(id), u64::from(self.next) + lost, "lost");
        self.next = id + 1;
        self.seen += 1;
    }

    fn read_one(&mut self, reader: &mut Reader<'_, Pages>) -> bool {
        let Some(event) = reader.peek() else {
            return false;
        };
        self.see(event.ts, event.lost, event.words());
        reader.consume()
    }
}

/// `events` events into sub-buffers of `bytes` while a reader consumes three
/// times; the rest is read afterwards.
///
/// The writer is the first thread: the checker looks for other orders where a
/// load comes after another thread's store, and it forgets a load of the
/// reader over a later load of the writer.
fn consume(overwrite: bool, bytes: usize, events: u32) {
    let storage = Pages::new(3, bytes).unwrap();
    let ring = Arc::new(Ring::new(0, storage, 3, overwrite).unwrap());
    let reader = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || {
            let mut story = Story::default();
            let mut reader = ring.reader().unwrap();
            for _ in 0..3 {
                story.read_one(&mut reader);
            }
            story
        })
    };
    let recorded = (0..events).filter(|id| write(&ring, *id)).count() as u64;
    let mut story = reader.join().unwrap();
    let mut reader = ring.reader().unwrap();
    while story.read_one(&mut reader) {}
    drop(reader);
    let stats = ring.stats();
    assert_eq!(stats.read, story.seen);
    assert_eq!(stats.recorded(), recorded);
    assert_eq!(recorded + stats.lost(), u64::from(events));
    assert_eq!(stats.entries, 0);
}

/// A snapshot of a ring with two events while a writer adds `events`.
fn snapshot(events: u32) {
    let storage = Pages::new(3, ONE_EVENT).unwrap();
    let ring = Arc::new(Ring::new(0, storage, 3, true).unwrap());
    for id in 0..2 {
        assert!(write(&ring, id));
    }
    let reader = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || {
            let reader = ring.reader().unwrap();
            let mut snapshot = Iter::new(&*ring, &reader).unwrap();
            let mut story = Story::default();
            while let Some(event) = snapshot.peek() {
                story.see(event.ts, event.lost, event.words());
                assert!(snapshot.advance());
            }
            let lost = snapshot.lost_at_end();
            assert!(lost + u64::from(story.next) >= 2, "{lost} lost at the end");
        })
    };
    for id in 2..2 + events {
        assert!(write(&ring, id));
    }
    reader.join().unwrap();
}

fn check(preemptions: usize, least: usize, model: fn()) {
    let rounds = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&rounds);
    let mut builder = Builder::new();
    // Only the snapshot's model reaches the bound of executions; it has three
    // hundred thousand. LOOM_MAX_PREEMPTIONS, LOOM_MAX_PERMUTATIONS and
    // LOOM_MAX_DURATION, in seconds, ask for more.
    builder.preemption_bound.get_or_insert(preemptions);
    builder.max_branches = 10_000;
    builder.max_permutations.get_or_insert(40_000);
    builder
        .max_duration
        .get_or_insert(Duration::from_secs(LIMIT));
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let rounds = rounds.load(Ordering::Relaxed);
    println!("{rounds} executions");
    assert!(rounds >= least, "only {rounds} executions were explored");
}

/// Whether the model fails when `fault` is injected.
fn finds(fault: Fault, model: fn()) -> bool {
    inject(fault);
    let found = std::panic::catch_unwind(|| check(3, 0, model)).is_err();
    inject(Fault::None);
    found
}

#[test]
fn a_reader_of_a_ring_that_overwrites() {
    let _alone = alone();
    check(3, 100, || consume(true, ONE_EVENT, 4));
}

#[test]
fn a_reader_of_a_ring_that_overwrites_two_events_a_page() {
    let _alone = alone();
    check(2, 100, || consume(true, TWO_EVENTS, 5));
}

#[test]
fn a_reader_of_a_ring_that_keeps() {
    let _alone = alone();
    check(3, 100, || consume(false, ONE_EVENT, 4));
}

#[test]
fn a_snapshot_of_a_ring_that_overwrites() {
    let _alone = alone();
    check(1, 100, || snapshot(1));
}

#[test]
fn a_commit_before_the_event_is_found() {
    let _alone = alone();
    assert!(finds(Fault::Release, || consume(true, TWO_EVENTS, 3)));
}

#[test]
fn a_read_before_the_commit_is_found() {
    let _alone = alone();
    assert!(finds(Fault::Acquire, || consume(true, TWO_EVENTS, 3)));
}

#[test]
fn a_page_written_before_it_is_claimed_is_found() {
    let _alone = alone();
    assert!(finds(Fault::Exchange, || snapshot(3)));
}

#[test]
fn a_second_look_before_the_copy_is_found() {
    let _alone = alone();
    assert!(finds(Fault::Fence, || snapshot(3)));
}
