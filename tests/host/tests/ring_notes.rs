// SPDX-License-Identifier: GPL-2.0

//! A reader always knows the name that an event's task had.

use crate::ring_common;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use ferroprobe_engine::engine::ring::{Always, EventRef, Iter, Note, Pieces, Reader, Ring, Short};
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

/// The tasks of a sub-buffer that is read in binary, in `room` bytes, after a check that the
/// reader was told their names; where `last`, last the name that a task had last. (A later
/// event may have been discarded, or may follow in the next read.)
fn read_binary(reader: &mut Reader<'_, Pages>, room: usize, last: bool) -> Option<Vec<Task>> {
    let mut out = vec![0; room];
    let mut told = Told::default();
    reader.read_page_with(&mut out, false, |note| told.see(note))?;
    Some(told.check(reader, &out, last))
}

/// The same of a sub-buffer that is read where it lies, unless it is refused: then another
/// read finds the same.
fn read_whole(reader: &mut Reader<'_, Pages>, last: bool) -> Option<Vec<Task>> {
    let room = reader.ring().page_bytes();
    let stats = reader.ring().stats();
    let mut refused = None;
    let none = reader.read_whole(
        room,
        |_| panic!("named without being read"),
        |bytes| {
            refused = Some(bytes.to_vec());
            false
        },
    );
    assert_eq!(none, None);
    assert_eq!(reader.ring().stats(), stats);
    let too_small = reader.read_whole(room - 1, |_| panic!(), |_| panic!("more than fits"));
    assert_eq!(too_small, None);
    let mut told = Told::default();
    let mut out = Vec::new();
    let copied = reader.read_whole(
        room,
        |note| told.see(note),
        |bytes| {
            out = bytes.to_vec();
            true
        },
    );
    assert_eq!(copied.is_some(), refused.is_some());
    assert_eq!(copied?, room);
    assert_eq!(refused.as_ref(), Some(&out));
    let end = parse_page(&out).unwrap().end;
    assert!(
        out[end..].iter().all(|&byte| byte == 0),
        "old data behind the new"
    );
    Some(told.check(reader, &out, last))
}

/// The names that a reader was told.
#[derive(Default)]
struct Told {
    names: HashMap<u32, [u8; 16]>,
    count: usize,
}

impl Told {
    fn see(&mut self, note: &Note) {
        self.names.insert(note.pid(), note.name());
        self.count += 1;
    }

    /// The tasks of the sub-buffer `out`, whose names were told.
    fn check(&self, reader: &Reader<'_, Pages>, out: &[u8], last: bool) -> Vec<Task> {
        assert!(
            self.count <= reader.ring().page_bytes() / 32,
            "named over and over"
        );
        let page = parse_page(out).unwrap();
        // Clients report a loss before an event, not before a comm note.
        assert!(!page.missed || out[16] & 31 != 29);
        let tasks: Vec<Task> = page
            .events
            .iter()
            .map(|event| {
                let pid = i32::from_le_bytes(event.payload[..4].try_into().unwrap());
                (pid, event.payload[4])
            })
            .collect();
        let latest: HashMap<i32, Task> = tasks.iter().map(|task| (task.0, *task)).collect();
        for (pid, task) in latest {
            let name = self.names.get(&(pid as u32));
            assert!(name.is_some(), "no name of {task:?} in {:?}", self.names);
            assert!(
                !last || name == Some(&name_of(task)),
                "the last name of {task:?} is {name:?}"
            );
        }
        tasks
    }
}

/// Reads everything in binary.
fn drain_binary(reader: &mut Reader<'_, Pages>) -> Vec<Task> {
    let room = reader.ring().page_bytes();
    let next = || read_whole(reader, true).or_else(|| read_binary(reader, room, true));
    std::iter::from_fn(next).flatten().collect()
}

#[test]
fn a_binary_reader_is_told_all_names_however_many() {
    for count in [1, 2, 15, 16, 17, 18, 40, 200] {
        for renamed in [false, true] {
            let ring = ring(40, 4096, true);
            let written: Vec<Task> = (0..1_000)
                .map(|n| (n % count, if renamed { (n / count % 4) as u8 } else { 0 }))
                .collect();
            for (ts, task) in written.iter().enumerate() {
                record(&ring, *task, ts as u64);
            }
            assert_eq!(drain_binary(&mut ring.reader().unwrap()), written);
        }
    }
}

/// The notes on a sub-buffer belong to the last use of its page, not to an earlier use.
#[test]
fn a_binary_reader_is_told_names_of_its_lap_alone() {
    let ring = ring(4, 256, true);
    for n in 0..1_000 {
        record(&ring, (n % 300, 0), n as u64 + 1);
    }
    let mut reader = ring.reader().unwrap();
    let mut out = vec![0; 256];
    let mut told = Vec::new();
    while reader
        .read_page_with(&mut out, false, |note| told.push(note.pid()))
        .is_some()
    {}
    let written: Vec<u32> = (0..1_000).map(|n| n % 300).collect();
    assert!(told.len() > 12);
    assert_eq!(told, written[1_000 - told.len()..]);
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
    /// Read what the writers have left, where it lies; or see whether there is any.
    Whole(bool),
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
        3 => any::<bool>().prop_map(Step::Whole),
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
                let mut reader = ring.reader().unwrap();
                let lost = reader.peek().map_or(0, |event| event.lost);
                let tasks = read_binary(&mut reader, *room, false).unwrap_or_default();
                for (n, task) in tasks.into_iter().enumerate() {
                    saw(&mut seen, &recorded, if n == 0 { lost } else { 0 }, task);
                }
            }
            Step::Whole(read) => {
                let mut reader = ring.reader().unwrap();
                if !read {
                    reader.has_whole();
                    continue;
                }
                let lost = {
                    let mut next = Iter::new(&ring, &reader).unwrap();
                    next.peek().map_or(0, |event| event.lost)
                };
                let tasks = read_whole(&mut reader, false).unwrap_or_default();
                for (n, task) in tasks.into_iter().enumerate() {
                    saw(&mut seen, &recorded, if n == 0 { lost } else { 0 }, task);
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
    assert_eq!(ring.stats().entries, 0);
    assert_eq!(
        ring.stats().read + ring.stats().overrun,
        recorded.len() as u64
    );
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
/// `after`. How many operations there were. Reads all of it event by event, and
/// the same again in binary.
fn interrupted(before: &[Task], outer: Task, plan: &[(usize, Task)], after: &[Task]) -> usize {
    interrupted_by(before, outer, plan, after, true);
    interrupted_by(before, outer, plan, after, false)
}

fn interrupted_by(
    before: &[Task],
    outer: Task,
    plan: &[(usize, Task)],
    after: &[Task],
    binary: bool,
) -> usize {
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
    if binary {
        let tasks: Vec<Task> = expected.into_iter().map(|(_, task)| task).collect();
        assert_eq!(drain_binary(&mut reader), tasks);
        return world.count.get();
    }
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

/// A reader on another CPU comes at every operation of a writer: the notes that are linked
/// and not published yet are not in its way.
#[test]
fn a_binary_reader_at_every_operation_of_a_writer_is_told_all_names() {
    for events in 0..8 {
        for (first, outer) in [(ONE, RENAMED), (ONE, COLLIDING), (COLLIDING, ONE)] {
            for point in 0.. {
                let ring = Rc::new(ring(6, 128, true));
                let mut written = vec![first; events];
                for (ts, task) in written.iter().enumerate() {
                    record(&ring, *task, 1000 + ts as u64);
                }
                let read = Rc::new(RefCell::new(Vec::new()));
                let (count, busy) = (Rc::new(Cell::new(0)), Cell::new(false));
                let (hooked, reads, counted) =
                    (Rc::clone(&ring), Rc::clone(&read), Rc::clone(&count));
                set_hook(Some(Box::new(move || {
                    if busy.replace(true) {
                        return;
                    }
                    counted.set(counted.get() + 1);
                    if counted.get() == point + 1 {
                        let mut reader = hooked.reader().unwrap();
                        reads.borrow_mut().extend(drain_binary(&mut reader));
                    }
                    busy.set(false);
                })));
                record(&ring, outer, 2000);
                set_hook(None);
                written.extend([outer, first]);
                record(&ring, first, 3000);
                let mut read = read.borrow().clone();
                read.extend(drain_binary(&mut ring.reader().unwrap()));
                assert_eq!(read, written);
                if count.get() <= point {
                    break;
                }
            }
        }
    }
}

/// Into a ring of another size, with a sub-buffer that was begun and without one.
#[test]
fn a_binary_reader_is_told_names_of_migrated_events() {
    for begun in [0, 3] {
        for renamed in [0, 1] {
            let old = ring(12, 256, true);
            let written: Vec<Task> = (0..40).map(|n| (n % 5, n as u8 / 9 * renamed)).collect();
            for (ts, task) in written.iter().enumerate() {
                record(&old, *task, ts as u64);
            }
            for _ in 0..begun {
                assert!(old.reader().unwrap().consume());
            }
            let new = ring(20, 256, true);
            let mut room = Pieces::of([&old].into_iter()).unwrap();
            assert!(new.take_over(&old, &mut room));
            let read = drain_binary(&mut new.reader().unwrap());
            assert_eq!(read, written[begun..]);
        }
    }
}
