// SPDX-License-Identifier: GPL-2.0

//! The ring buffer interrupted everywhere.
//!
//! Each atomic operation of a writer is a place where an interrupt can come.
//! These tests go through all of them: at the chosen one a complete nested
//! writer runs, or a burst of them that laps the whole ring, or the reader
//! from another CPU; inside the nested one the next, down to depth three. The
//! same is done to the reader, with writers in between.

use crate::ring_common;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ferroprobe_engine::engine::ring::{Always, Iter, Laps, Lost, Reader, Ring, Short, Unpublished};
use ferroprobe_engine::sys::{set_hook, Pages};
use ring_common::{parse_page, ring_of, task};

/// Sub-buffers have room for a note and three or four of the smallest events.
const PAGE: usize = 112;
const PAGES: u32 = 4;

/// The sequences begin in the last lap of their range, and go over its end.
const LAPS: Laps = Laps {
    first: u32::MAX,
    ..Laps::ALL
};

/// What runs at a chosen operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Write,
    /// Try to record in the quick way, and in no other: as for a hit that a filter
    /// refuses which was not there at the first try.
    WriteFast,
    /// Reserve one, commit another inside it, discard the first.
    Discard,
    /// Enough events to lap the ring twice.
    Burst,
    /// The reader on another CPU reads all there is.
    Read,
    /// It reads one event and stops there.
    ReadOne,
    /// It reads raw sub-buffers.
    ReadPages,
    /// Nothing has been recorded for longer than an event header can say.
    WriteLate,
}

/// How the ring stands before.
#[derive(Clone, Copy, Debug)]
struct Start {
    overwrite: bool,
    events: u32,
    /// Whether the reader is on a sub-buffer already.
    reading: bool,
}

/// The end of one attempt to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Pending,
    Recorded { ts: u64 },
    Discarded,
    Lost,
}

struct World {
    ring: Ring<Pages>,
    clock: Cell<u64>,
    attempts: RefCell<Vec<Outcome>>,
    seen: RefCell<Vec<(u64, u32)>>,
    told_lost: Cell<u64>,
    /// Events that were published when it was last looked at.
    published: Cell<u64>,
    plan: Vec<(usize, Action)>,
    /// The plan's interrupts come one after another, not in one another.
    in_turn: bool,
    armed: Cell<bool>,
    depth: Cell<usize>,
    counts: RefCell<Vec<usize>>,
    fired: Cell<usize>,
}

fn payload(id: u32) -> Vec<u8> {
    let words = 3 + id % 3;
    (0..words)
        .flat_map(|n| {
            id.wrapping_mul(0x9e37_79b1u32.wrapping_pow(n))
                .to_le_bytes()
        })
        .collect()
}

impl World {
    fn new(start: Start, plan: &[(usize, Action)], in_turn: bool) -> Rc<Self> {
        let world = Rc::new(Self {
            ring: ring_of(PAGES, PAGE, start.overwrite, LAPS),
            clock: Cell::new(1 << 40),
            attempts: RefCell::default(),
            seen: RefCell::default(),
            told_lost: Cell::new(0),
            published: Cell::new(0),
            plan: plan.to_vec(),
            in_turn,
            armed: Cell::new(false),
            depth: Cell::new(0),
            counts: RefCell::new(vec![0; plan.len() + 1]),
            fired: Cell::new(0),
        });
        if start.reading {
            world.write(0, false);
            world.act(Action::ReadOne);
        }
        for _ in 0..start.events {
            world.write(0, false);
        }
        let hooked = Rc::clone(&world);
        set_hook(Some(Box::new(move || hooked.interrupt())));
        world
    }

    /// The hook: counts, and interrupts where the plan says so.
    fn interrupt(&self) {
        if !self.armed.get() {
            return;
        }
        let depth = self.depth.get();
        let Some((point, action)) = self.plan.get(depth).copied() else {
            return;
        };
        let count = self.counts.borrow()[depth];
        self.counts.borrow_mut()[depth] += 1;
        if count != point {
            return;
        }
        self.fired.set(self.fired.get().max(depth + 1));
        self.depth.set(depth + 1);
        if self.in_turn {
            self.armed.set(false);
            self.act(action);
            self.look();
            self.armed.set(true);
        } else {
            self.act(action);
            self.depth.set(depth);
        }
    }

    fn tick(&self) -> u64 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }

    fn act(&self, action: Action) {
        match action {
            Action::Write => self.write(0, false),
            Action::WriteFast => {
                self.write_fast();
            }
            Action::WriteLate => self.write(1 << 30, false),
            Action::Discard => self.write(0, true),
            Action::Burst => {
                for _ in 0..3 * 2 * PAGES {
                    self.write(0, false);
                }
            }
            Action::Read => self.read(usize::MAX),
            Action::ReadOne => self.read(1),
            Action::ReadPages => self.read_pages(),
        }
    }

    /// Records where that is quick; says whether it did.
    fn write_fast(&self) -> bool {
        let id = self.attempts.borrow().len() as u32;
        self.attempts.borrow_mut().push(Outcome::Pending);
        let bytes = payload(id);
        let short = Short::<3>::of(bytes.len()).unwrap();
        // SAFETY: everything here is one thread, and nests.
        let writer = unsafe { self.ring.writer() };
        let event = writer.reserve_fast(&short, &task(), Always(|| self.tick()));
        let publish = |unpublished: Option<Unpublished<'_, Pages>>| {
            if let Some(unpublished) = unpublished {
                unpublished.publish();
            }
        };
        let ts = event.map_err(publish).ok().map(|event| {
            let ts = event.ts();
            for (word, bytes) in event.words().iter().zip(bytes.chunks_exact(4)) {
                word.store_relaxed(u32::from_le_bytes(bytes.try_into().unwrap()));
            }
            publish(event.publish());
            ts
        });
        let outcome = ts.map_or(Outcome::Discarded, |ts| Outcome::Recorded { ts });
        self.attempts.borrow_mut()[id as usize] = outcome;
        ts.is_some()
    }

    fn write(&self, late: u64, discard: bool) {
        self.clock.set(self.clock.get() + late);
        if !discard && self.write_fast() {
            return;
        }
        let id = self.attempts.borrow().len() as u32;
        self.attempts.borrow_mut().push(Outcome::Pending);
        let bytes = payload(id);
        // SAFETY: everything here is one thread, and nests.
        let writer = unsafe { self.ring.writer() };
        let reserved = writer.reserve(bytes.len(), task(), || self.tick());
        let outcome = match reserved {
            Ok(event) => {
                let ts = event.ts();
                // Word by word, so that interrupts come in between.
                for (word, bytes) in event.words().iter().zip(bytes.chunks_exact(4)) {
                    word.store_relaxed(u32::from_le_bytes(bytes.try_into().unwrap()));
                }
                if discard {
                    self.write(0, false);
                    event.discard();
                    Outcome::Discarded
                } else {
                    event.commit();
                    Outcome::Recorded { ts }
                }
            }
            Err(Lost::Full | Lost::Nested) => Outcome::Lost,
            Err(other) => panic!("{other:?}"),
        };
        self.attempts.borrow_mut()[id as usize] = outcome;
    }

    fn saw(&self, ts: u64, lost: u64, bytes: &[u8]) {
        let id = u32::from_le_bytes(bytes[..4].try_into().unwrap());
        assert_eq!(bytes, payload(id), "torn");
        self.seen.borrow_mut().push((ts, id));
        self.told_lost.set(self.told_lost.get() + lost);
    }

    /// What was published stays so.
    fn look(&self) {
        let recorded = self.ring.stats().recorded();
        assert!(recorded >= self.published.get(), "unpublished");
        self.published.set(recorded);
    }

    fn read(&self, most: usize) {
        self.look();
        let mut reader = self.ring.reader().unwrap();
        for _ in 0..most {
            let Some(event) = reader.peek() else { break };
            self.saw(event.ts, event.lost, event.payload());
            assert!(reader.consume());
        }
    }

    fn read_pages(&self) {
        let mut out = [0xee; PAGE];
        let mut reader = self.ring.reader().unwrap();
        while let Some(_len) = reader.read_page(&mut out, false) {
            self.saw_page(&out);
        }
    }

    fn saw_page(&self, out: &[u8]) {
        let page = parse_page(out).unwrap();
        if page.missed && page.lost.is_none() {
            // No room for the number: it is known from the other side only.
            self.told_lost.set(u64::MAX / 2);
        }
        let mut lost = page.lost.unwrap_or(0);
        for event in page.events {
            self.saw(event.ts, lost, &event.payload);
            lost = 0;
        }
    }

    /// Reads the rest and checks the whole story.
    fn check(&self) {
        self.armed.set(false);
        set_hook(None);
        // Everything is published, without waiting for another event.
        let recorded = |attempts: &[Outcome]| {
            let recorded = |outcome: &&Outcome| matches!(outcome, Outcome::Recorded { .. });
            attempts.iter().filter(recorded).count() as u64
        };
        let so_far = recorded(&self.attempts.borrow());
        assert_eq!(self.ring.stats().recorded(), so_far, "published");
        self.read(usize::MAX);
        // What was dropped last is told with the next sub-buffer: make one.
        for _ in 0..4 {
            self.write(0, false);
        }
        self.read(usize::MAX);
        let attempts = self.attempts.borrow();
        let seen = self.seen.borrow();
        let count = |want: fn(&Outcome) -> bool| attempts.iter().filter(|o| want(o)).count() as u64;
        let recorded = recorded(&attempts);
        let lost = count(|o| matches!(o, Outcome::Lost));
        assert_eq!(count(|o| *o == Outcome::Pending), 0);
        let stats = self.ring.stats();
        assert_eq!(stats.lost(), lost, "counted");
        assert_eq!(stats.recorded(), recorded, "recorded");
        assert_eq!(stats.read, seen.len() as u64, "read");
        assert_eq!((stats.entries, stats.bytes), (0, 0));
        if self.told_lost.get() < u64::MAX / 2 {
            assert_eq!(self.told_lost.get(), stats.overrun + lost, "told");
        }
        let mut latest = 0;
        for (ts, id) in seen.iter() {
            assert!(*ts > latest, "order");
            latest = *ts;
            // Right time, of an event that was recorded; never twice, because
            // the times ascend.
            assert_eq!(attempts[*id as usize], Outcome::Recorded { ts: *ts });
        }
    }
}

/// Runs `outer` with `plan`; how deep the plan was carried out.
fn run(start: Start, outer: Action, plan: &[(usize, Action)], in_turn: bool) -> usize {
    let world = World::new(start, plan, in_turn);
    world.armed.set(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        world.act(outer);
        world.check();
    }));
    if let Err(panic) = result {
        set_hook(None);
        eprintln!("{start:?} {outer:?} {plan:?}");
        std::panic::resume_unwind(panic);
    }
    world.fired.get()
}

/// Runs `outer` with all plans that begin with `plan`, and then have one of
/// `levels[0]` at every operation, inside it (or after it, if they come
/// `in_turn`) one of `levels[1]`, and so on.
fn run_all(
    start: Start,
    outer: Action,
    plan: &mut Vec<(usize, Action)>,
    levels: &[&[Action]],
    in_turn: bool,
) -> usize {
    let Some((actions, deeper)) = levels.split_first() else {
        return 0;
    };
    let mut runs = 0;
    for action in *actions {
        for point in 0.. {
            plan.push((point, *action));
            let fired = run(start, outer, plan, in_turn);
            runs += 1;
            if fired == plan.len() {
                runs += run_all(start, outer, plan, deeper, in_turn);
            }
            let done = fired < plan.len();
            plan.pop();
            if done {
                break;
            }
        }
    }
    runs
}

fn starts() -> impl Iterator<Item = Start> {
    let events = [0, 1, 2, 3, 4, 9, 10, 11, 30];
    events.into_iter().flat_map(|events| {
        [(true, false), (true, true), (false, false), (false, true)].map(|(overwrite, reading)| {
            Start {
                overwrite,
                events,
                reading,
            }
        })
    })
}

use Action::{Burst, Discard, Read, ReadOne, ReadPages, Write, WriteFast, WriteLate};

#[test]
fn one_interrupt_of_any_kind_at_every_operation() {
    let inner = [Write, Discard, Burst, Read, ReadOne, ReadPages, WriteLate];
    let mut runs = 0;
    for start in starts() {
        for outer in [Write, Discard, WriteLate] {
            runs += run_all(start, outer, &mut Vec::new(), &[&inner], false);
        }
    }
    assert!(runs > 10_000, "{runs}");
}

#[test]
fn two_interrupts_deep_at_every_operation() {
    let mut runs = 0;
    // In the middle of a sub-buffer, at its end, and with a full ring.
    for start in starts().filter(|start| matches!(start.events, 3 | 11)) {
        for outer in [Write, Discard] {
            let inner: &[Action] = &[Write, Discard];
            runs += run_all(
                start,
                outer,
                &mut Vec::new(),
                &[inner, &[Write, Burst, Read]],
                false,
            );
        }
    }
    assert!(runs > 10_000, "{runs}");
}

#[test]
fn three_interrupts_deep_at_every_operation() {
    let mut runs = 0;
    for start in starts().filter(|start| matches!(start.events, 3 | 11)) {
        let levels: [&[Action]; 3] = [&[Write], &[Write], &[Write]];
        runs += run_all(start, Write, &mut Vec::new(), &levels, false);
    }
    assert!(runs > 10_000, "{runs}");
}

/// Among them two writers while the outermost publishes, and the reader then.
#[test]
fn three_interrupts_in_turn_at_every_operation() {
    let mut runs = 0;
    for start in starts().filter(|start| matches!(start.events, 3 | 11)) {
        let levels: [&[Action]; 3] = [&[Write], &[Write, Burst], &[Read]];
        runs += run_all(start, Write, &mut Vec::new(), &levels, true);
    }
    assert!(runs > 10_000, "{runs}");
}

#[test]
fn writers_at_every_operation_of_the_reader() {
    let mut runs = 0;
    for start in starts() {
        for outer in [Read, ReadOne, ReadPages] {
            for first in [Write, Burst] {
                let levels: [&[Action]; 2] = [&[first], &[Write]];
                // Writers after one another, not in one another: depth two is
                // a writer inside the first one.
                let levels = if first == Burst {
                    &levels[..1]
                } else {
                    &levels[..]
                };
                runs += run_all(start, outer, &mut Vec::new(), levels, false);
            }
        }
    }
    assert!(runs > 10_000, "{runs}");
}

/// A hit that is not recorded after all leaves nothing unpublished that interrupts
/// have recorded.
#[test]
fn interrupts_at_every_operation_of_a_writer_that_gives_up() {
    let mut runs = 0;
    for start in starts().filter(|start| matches!(start.events, 3 | 11)) {
        let levels: [&[Action]; 2] = [&[Write, Burst], &[Write]];
        runs += run_all(start, WriteFast, &mut Vec::new(), &levels, false);
        runs += run_all(start, WriteFast, &mut Vec::new(), &levels, true);
    }
    assert!(runs > 1_000, "{runs}");
}

/// A snapshot with a burst of writers at every operation sees whole events in
/// order, and counts the others.
#[test]
fn writers_at_every_operation_of_a_snapshot() {
    for start in starts() {
        for action in [Write, Burst] {
            for point in 0.. {
                let world = World::new(start, &[(point, action)], false);
                let reader: Reader<'_, _> = world.ring.reader().unwrap();
                let mut snapshot = Iter::new(&world.ring, &reader).unwrap();
                let before = world.ring.stats();
                let attempts = world.attempts.borrow().len();
                world.armed.set(true);
                let mut events = 0;
                let mut lost = 0;
                let mut latest = 0;
                while let Some(event) = snapshot.peek() {
                    world.saw(event.ts, event.lost, event.payload());
                    assert!(event.ts > latest);
                    latest = event.ts;
                    let (_, id) = *world.seen.borrow().last().unwrap();
                    assert!((id as usize) < attempts, "newer than the snapshot");
                    events += 1;
                    lost += event.lost;
                    assert!(snapshot.advance());
                }
                world.armed.set(false);
                set_hook(None);
                let gone = lost + snapshot.lost_at_end();
                assert!(
                    events + gone >= before.entries,
                    "{start:?} {action:?} {point}: {events} and {gone} of {before:?}"
                );
                if world.fired.get() == 0 {
                    assert_eq!(events, before.entries);
                    break;
                }
            }
        }
    }
}
