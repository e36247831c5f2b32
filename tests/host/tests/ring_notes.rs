// SPDX-License-Identifier: GPL-2.0

//! A reader always knows the name that an event's task had.

mod ring_common;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ferroprobe_engine::engine::ring::{Always, EventRef, Iter, Note, Reader, Ring, Short};
use ferroprobe_engine::sys::{set_hook, Pages};
use proptest::prelude::*;
use ring_common::{comm, parse_page, ring, write_as};

/// A task, as the tests name it: a number and which name it has now.
type Task = (i32, u8);

/// The note of `task`. Names differ in their first half, their second, or both.
fn note((pid, name): Task) -> Note {
    Note::new(pid, name_of((pid, name)))
}

fn name_of((_, name): Task) -> [u8; 16] {
    comm(["first", "first...second", "other...second", "other"][usize::from(name % 4)])
}

/// A payload that says whose it is, `extra` words longer than need be.
fn payload((pid, name): Task, extra: usize) -> Vec<u8> {
    let mut payload = pid.to_le_bytes().to_vec();
    payload.extend([name, 1, 2, 3, 4, 5, 6, 7]);
    payload.resize(payload.len() + extra * 4, 0xee);
    payload
}

fn record(ring: &Ring<Pages>, task: Task, ts: u64) -> u64 {
    write_as(ring, note(task), ts, &payload(task, 0)).unwrap()
}

/// Whose event it is, after a check that the reader knows the name.
fn task_of(event: &EventRef<'_>) -> Task {
    let bytes = event.payload();
    let pid = i32::from_le_bytes(bytes[..4].try_into().unwrap());
    let task = (pid, bytes[4]);
    assert_eq!(event.comm(pid), name_of(task), "the name of {task:?}");
    task
}

/// Consumes everything.
fn drain(reader: &mut Reader<'_, Pages>) -> Vec<Task> {
    let mut tasks = Vec::new();
    while let Some(event) = reader.peek() {
        tasks.push(task_of(&event));
        assert!(reader.consume());
    }
    tasks
}

#[test]
fn names_are_known_on_every_sub_buffer() {
    let ring = ring(8, 256, true);
    let written = vec![(42, 0); 60];
    for (ts, task) in written.iter().enumerate() {
        record(&ring, *task, ts as u64);
    }
    assert!(ring.stats().overrun == 0);
    assert_eq!(drain(&mut ring.reader().unwrap()), written);
}

#[test]
fn names_are_known_behind_what_was_overrun() {
    let ring = ring(4, 256, true);
    for ts in 0..1_000 {
        record(&ring, (42 + ts % 3, 0), ts as u64);
    }
    assert!(ring.stats().overrun > 900);
    assert!(drain(&mut ring.reader().unwrap()).len() > 10);
}

#[test]
fn a_task_that_changes_its_name_has_the_old_one_before() {
    let ring = ring(4, 4096, true);
    let names = [0, 0, 1, 1, 0, 2, 3, 1, 2, 0];
    let written: Vec<Task> = names.iter().map(|name| (42, *name)).collect();
    for (ts, task) in written.iter().enumerate() {
        record(&ring, *task, ts as u64);
    }
    assert_eq!(drain(&mut ring.reader().unwrap()), written);
}

#[test]
fn more_tasks_than_are_remembered() {
    for step in [1, 16, 7] {
        let ring = ring(40, 4096, true);
        let written: Vec<Task> = (0..2_000)
            .map(|n| (n % 100 * step, (n / 500) as u8))
            .collect();
        for (ts, task) in written.iter().enumerate() {
            record(&ring, *task, ts as u64);
        }
        assert_eq!(ring.stats().overrun, 0);
        assert_eq!(drain(&mut ring.reader().unwrap()), written);
    }
}

#[test]
fn the_idle_task_and_the_largest_number_have_names() {
    let ring = ring(4, 4096, true);
    let written = [(0, 0), (i32::MAX, 1), (0, 0), (-1, 2), (-1, 2)];
    for (ts, task) in written.iter().enumerate() {
        record(&ring, *task, ts as u64);
    }
    assert_eq!(drain(&mut ring.reader().unwrap()), written);
}

#[test]
fn an_unknown_task_has_no_name() {
    let ring = ring(4, 4096, true);
    record(&ring, (42, 0), 1);
    let mut reader = ring.reader().unwrap();
    let event = reader.peek().unwrap();
    assert_eq!(event.comm(42), comm("first"));
    assert_eq!(event.comm(43), comm("<...>"));
    assert_eq!(event.comm(42 + 16), comm("<...>"));
}

#[test]
fn a_task_is_noted_once_on_a_sub_buffer() {
    let ring = ring(4, 4096, true);
    for ts in 0..100 {
        record(&ring, (42, 0), ts);
    }
    // A note has 32 bytes, an event here 16.
    assert_eq!(ring.stats().bytes, 32 + 100 * 16);
}

#[test]
fn notes_are_neither_events_nor_seen_by_other_parsers() {
    let ring = ring(8, 1024, true);
    for ts in 0..100u64 {
        record(&ring, (42, ts as u8 / 2), ts << 26);
    }
    assert_eq!(ring.stats().entries, 100);
    let mut out = vec![0; 1024];
    let mut events = Vec::new();
    let mut reader = ring.reader().unwrap();
    while reader.read_page(&mut out, false).is_some() {
        events.extend(parse_page(&out).unwrap().events);
    }
    assert_eq!(events.len(), 100);
    for (ts, event) in (0..100u64).zip(events) {
        assert_eq!(event.ts, if ts == 0 { 1 } else { ts << 26 });
        assert_eq!(event.payload, payload((42, ts as u8 / 2), 0));
    }
    assert_eq!(ring.stats().read, 100);
    assert_eq!(ring.stats().bytes, 0);
}

/// The reader came to the sub-buffer when nothing was on it, not even the time.
#[test]
fn a_reader_that_waits_for_the_first_event_has_its_time_and_name() {
    let now = 0x1234_5678_9abc;
    for kept in [true, false] {
        for snapshot in [true, false] {
            let ring = ring(4, 4096, true);
            let mut reader = ring.reader().unwrap();
            assert!(reader.peek().is_none());
            if !kept {
                drop(reader);
                reader = ring.reader().unwrap();
            }
            record(&ring, (42, 0), now);
            record(&ring, (43, 1), now + 5);
            let seen: Vec<_> = if snapshot {
                let mut snapshot = Iter::new(&ring, &reader).unwrap();
                let mut next = || {
                    let seen = snapshot.peek().map(|event| (event.ts, task_of(&event)));
                    snapshot.advance();
                    seen
                };
                [next(), next(), next()].into_iter().flatten().collect()
            } else {
                let mut next = || {
                    let seen = reader.peek().map(|event| (event.ts, task_of(&event)));
                    reader.consume();
                    seen
                };
                [next(), next(), next()].into_iter().flatten().collect()
            };
            assert_eq!(seen, [(now, (42, 0)), (now + 5, (43, 1))]);
        }
        let ring = ring(4, 4096, true);
        let mut reader = ring.reader().unwrap();
        let mut out = vec![0; 4096];
        assert!(reader.read_page(&mut out, false).is_none());
        record(&ring, (42, 0), now);
        reader.read_page(&mut out, false).unwrap();
        assert_eq!(parse_page(&out).unwrap().events[0].ts, now);
    }
}

/// What a random run does next.
#[derive(Clone, Debug)]
enum Step {
    Record(Task, usize),
    /// Discard the first, with the second nested in it.
    Discard(Task, Option<Task>),
    /// Consume some, with a reader of its own.
    Consume(usize),
    ReadPage(usize),
    Snapshot,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pid = prop_oneof![Just(1), Just(17), Just(33), Just(2), 0..200i32];
    let task = (pid, 0..4u8);
    let step = prop_oneof![
        12 => (task.clone(), 0..9usize).prop_map(|(task, extra)| Step::Record(task, extra)),
        3 => (task.clone(), prop::option::of(task)).prop_map(|(a, b)| Step::Discard(a, b)),
        3 => (0..6usize).prop_map(Step::Consume),
        1 => (60..300usize).prop_map(Step::ReadPage),
        1 => Just(Step::Snapshot),
    ];
    prop::collection::vec(step, 0..150)
}

/// Does `steps`; the events that were recorded are those that are read, in
/// order, each with its name.
fn walk(steps: &[Step]) {
    let ring = ring(5, 256, true);
    let mut recorded: Vec<Task> = Vec::new();
    // Recorded events that have been read, or overrun before one that was.
    let mut seen = 0;
    let saw = |seen: &mut usize, recorded: &[Task], lost: u64, task: Task| {
        *seen += lost as usize;
        assert_eq!(recorded[*seen], task);
        *seen += 1;
    };
    for (ts, step) in (1000..).zip(steps) {
        match step {
            Step::Record(task, extra) => {
                write_as(&ring, note(*task), ts, &payload(*task, *extra)).unwrap();
                recorded.push(*task);
            }
            Step::Discard(task, nested) => {
                // SAFETY: this thread is the only writer.
                let writer = unsafe { ring.writer() };
                let event = writer.reserve(20, note(*task), || ts).ok().unwrap();
                if let Some(task) = nested {
                    record(&ring, *task, ts);
                    recorded.push(*task);
                }
                event.discard();
            }
            Step::Consume(count) => {
                let mut reader = ring.reader().unwrap();
                for _ in 0..*count {
                    let Some(event) = reader.peek() else { break };
                    saw(&mut seen, &recorded, event.lost, task_of(&event));
                    assert!(reader.consume());
                }
            }
            Step::ReadPage(room) => {
                let mut out = vec![0; *room];
                let mut reader = ring.reader().unwrap();
                let lost = reader.peek().map_or(0, |event| event.lost);
                if reader.read_page(&mut out, false).is_some() {
                    for (n, event) in parse_page(&out).unwrap().events.into_iter().enumerate() {
                        let pid = i32::from_le_bytes(event.payload[..4].try_into().unwrap());
                        let lost = if n == 0 { lost } else { 0 };
                        saw(&mut seen, &recorded, lost, (pid, event.payload[4]));
                    }
                }
            }
            Step::Snapshot => {
                let reader = ring.reader().unwrap();
                let mut snapshot = Iter::new(&ring, &reader).unwrap();
                let mut at = seen;
                let mut unread = 0;
                while let Some(event) = snapshot.peek() {
                    at += event.lost as usize;
                    assert_eq!(recorded[at], task_of(&event));
                    at += 1;
                    unread += 1;
                    assert!(snapshot.advance());
                }
                assert_eq!(at, recorded.len());
                assert_eq!(ring.stats().entries, unread);
            }
        }
    }
    let mut reader = ring.reader().unwrap();
    while let Some(event) = reader.peek() {
        saw(&mut seen, &recorded, event.lost, task_of(&event));
        assert!(reader.consume());
    }
    assert_eq!(seen, recorded.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_names_are_known(steps in steps()) {
        walk(&steps);
    }
}

/// A writer that others interrupt at chosen operations.
struct Interrupted {
    ring: Ring<Pages>,
    clock: Cell<u64>,
    /// Operations counted so far, those of interrupts included.
    count: Cell<usize>,
    /// At which operation which task records, ascending.
    plan: Vec<(usize, Task)>,
    next: Cell<usize>,
    armed: Cell<bool>,
    /// Who has recorded, and when.
    recorded: RefCell<Vec<(u64, Task)>>,
}

impl Interrupted {
    fn record(&self, task: Task) {
        // SAFETY: everything here is one thread, and nests.
        let writer = unsafe { self.ring.writer() };
        let clock = || {
            self.clock.set(self.clock.get() + 1);
            self.clock.get()
        };
        let bytes = payload(task, 0);
        let short = Short::<3>::of(12).unwrap();
        if let Ok(event) = writer.reserve_fast(&short, &note(task), Always(clock)) {
            let ts = event.ts();
            for (word, bytes) in event.words().iter().zip(bytes.chunks_exact(4)) {
                word.store_relaxed(u32::from_le_bytes(bytes.try_into().unwrap()));
            }
            drop(event);
            self.recorded.borrow_mut().push((ts, task));
            return;
        }
        let event = writer.reserve(12, note(task), clock).ok().unwrap();
        let ts = event.ts();
        for (word, bytes) in event.words().iter().zip(bytes.chunks_exact(4)) {
            word.store_relaxed(u32::from_le_bytes(bytes.try_into().unwrap()));
        }
        event.commit();
        self.recorded.borrow_mut().push((ts, task));
    }

    fn interrupt(&self) {
        if !self.armed.get() {
            return;
        }
        let count = self.count.get();
        self.count.set(count + 1);
        if let Some((point, task)) = self.plan.get(self.next.get()).copied() {
            if point == count {
                self.next.set(self.next.get() + 1);
                self.record(task);
            }
        }
    }
}

/// Lets `outer` record after `before` events, interrupted as `plan` says; then
/// `after`. How many operations there were.
fn interrupted(before: &[Task], outer: Task, plan: &[(usize, Task)], after: &[Task]) -> usize {
    let world = Rc::new(Interrupted {
        ring: ring(6, 128, true),
        clock: Cell::new(1 << 40),
        count: Cell::new(0),
        plan: plan.to_vec(),
        next: Cell::new(0),
        armed: Cell::new(false),
        recorded: RefCell::default(),
    });
    for task in before {
        world.record(*task);
    }
    let hooked = Rc::clone(&world);
    set_hook(Some(Box::new(move || hooked.interrupt())));
    world.armed.set(true);
    world.record(outer);
    world.armed.set(false);
    set_hook(None);
    for task in after {
        world.record(*task);
    }
    let mut expected = world.recorded.borrow().clone();
    expected.sort_unstable();
    let mut reader = world.ring.reader().unwrap();
    for expected in expected {
        let event = reader.peek().unwrap();
        let bytes = event.payload();
        let pid = i32::from_le_bytes(bytes[..4].try_into().unwrap());
        let task = (pid, bytes[4]);
        assert_eq!((event.ts, task), expected);
        assert_eq!(
            event.comm(pid),
            name_of(task),
            "{before:?}, then {outer:?} with {plan:?} in it, then {after:?}"
        );
        assert!(reader.consume());
    }
    assert!(reader.peek().is_none());
    world.count.get()
}

const ONE: Task = (7, 0);
/// The same task under other names: in this system another CPU may rename it
/// at any time.
const RENAMED: Task = (7, 1);
const RENAMED_AGAIN: Task = (7, 2);
/// A task with the same place in the tables.
const COLLIDING: Task = (7 + 16, 0);

#[test]
fn interrupts_at_every_operation_leave_names_known() {
    for events in 0..8 {
        for first in [ONE, RENAMED, COLLIDING] {
            let before = vec![first; events];
            for inner in [ONE, RENAMED, COLLIDING] {
                for point in 0.. {
                    let plan = [(point, inner)];
                    let count = interrupted(&before, ONE, &plan, &[ONE, inner, ONE]);
                    if count <= point {
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn two_interrupts_at_every_operation_leave_names_known() {
    for (events, inner) in [
        (0, [RENAMED, ONE]),
        (2, [COLLIDING, ONE]),
        (4, [RENAMED, ONE]),
        (5, [RENAMED, ONE]),
        (5, [RENAMED, RENAMED_AGAIN]),
    ] {
        for prior in [ONE, RENAMED] {
            let before = vec![prior; events];
            let [first, second] = inner;
            for point in 0.. {
                let mut reached = 0;
                for later in point + 1.. {
                    let plan = [(point, first), (later, second)];
                    let count = interrupted(&before, ONE, &plan, &[ONE, first, second]);
                    reached = count;
                    if count <= later {
                        break;
                    }
                }
                if reached <= point + 1 {
                    break;
                }
            }
        }
    }
}

/// A writer that saw its task noted finds, after an interrupt, no room at all; the
/// next one must not believe what it saw.
#[test]
fn an_interrupt_that_fills_the_ring_leaves_names_known() {
    const OTHER: Task = (8, 3);
    for point in 0.. {
        let ring = Rc::new(ring(3, 128, false));
        let time = Rc::new(Cell::new(100));
        let tick = move || {
            time.set(time.get() + 1);
            time.get()
        };
        // `ONE` is noted, and not the latest.
        record(&ring, ONE, tick());
        record(&ring, OTHER, tick());
        let count = Rc::new(Cell::new(0));
        let hook = {
            let (ring, tick, count) = (Rc::clone(&ring), tick.clone(), Rc::clone(&count));
            move || {
                count.set(count.get() + 1);
                if count.get() == point + 1 {
                    while write_as(&ring, note(OTHER), tick(), &payload(OTHER, 0)).is_ok() {}
                }
            }
        };
        set_hook(Some(Box::new(hook)));
        // SAFETY: everything here is one thread, and nests.
        let writer = unsafe { ring.writer() };
        if let Ok(mut event) = writer.reserve(12, note(ONE), tick.clone()) {
            event.bytes().copy_from_slice(&payload(ONE, 0));
            event.commit();
        }
        set_hook(None);
        drain(&mut ring.reader().unwrap());
        for _ in 0..3 {
            record(&ring, ONE, tick());
            assert_eq!(drain(&mut ring.reader().unwrap()), [ONE], "at {point}");
        }
        if count.get() <= point {
            assert!(point > 20);
            break;
        }
    }
}
