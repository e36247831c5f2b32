// SPDX-License-Identifier: GPL-2.0

//! What histograms count: against a map, with writers nested in writers.

use crate::support;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use ferroprobe_engine::engine::hist::{
    self, AtHand, EntryShape, Fold, HistTable, Histogram, KeySource, Moment, ProbeHit, Spec, Stop,
    Values, CUT, KEPT_FRAMES, STACK_DEPTH, TEXT_ROOM, TEXT_SIZE,
};
use ferroprobe_engine::engine::language::lex::Span;
use ferroprobe_engine::engine::record::Header;
use ferroprobe_engine::sys::{
    fail_allocation_after, kill_after, set_hook, AllocError, AtomicU64, OnCpu, PerCpu,
};
use support::{compile, Alone, Compiled, Kernel};

const EVENT: &str = "p f num=%cx neg=%bx:s32 str=+8(%di):string";

fn event() -> Compiled {
    compile(EVENT, &mut Kernel::default()).expect("the event").1
}

fn spec(text: &str) -> Spec {
    let span = Span {
        bytes: text.as_bytes(),
        at: 0,
    };
    let event = event();
    hist::parse(span, event.layout(), &Alone).expect(text).spec
}

fn with_tables(
    text: &str,
    cpus: u32,
    own: impl Fn(&Spec, u32) -> Result<HistTable, AllocError>,
) -> Histogram {
    let spec = spec(text);
    let tables = PerCpu::new(cpus, |cpu| own(&spec, cpu)).expect("memory");
    let shared = spec.shared_table(&tables).expect("memory");
    Histogram::new(spec, (tables, shared), false)
}

fn histogram(text: &str, cpus: u32) -> Histogram {
    with_tables(text, cpus, |spec, _| spec.own_table(true))
}

/// One whose CPUs have room for `own` keys.
fn mostly_shared(text: &str, cpus: u32, own: usize) -> Histogram {
    with_tables(text, cpus, |spec, _| {
        HistTable::with_shape(EntryShape::of(spec), own)
    })
}

/// Argument 0, argument 1, and a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hit(u64, i32, u8);

impl Values for Hit {
    fn number(&self, source: KeySource, _in_usecs: bool) -> u64 {
        match source {
            KeySource::Argument { index: 0, .. } => self.0,
            KeySource::Argument { .. } => i64::from(self.1) as u64,
            KeySource::Pid => u64::from(self.2),
            _ => 1,
        }
    }

    fn element(&self, _index: u8, n: u8) -> u64 {
        self.0 ^ u64::from(n)
    }

    fn text(&self, _index: u8, out: &mut [u8; TEXT_ROOM]) -> Option<usize> {
        out.fill(b'a' + self.2 % 26);
        (self.2 != 99).then_some((usize::from(self.2) * 3).min(TEXT_ROOM))
    }

    fn comm(&self) -> [u8; 16] {
        [b'x'; 16]
    }

    fn stack(&self, frames: &mut [u64; STACK_DEPTH]) {
        frames.fill(0);
        frames[0] = self.0;
        frames[1] = 7;
    }

    fn user_stack(&self, frames: &mut [u64; STACK_DEPTH]) -> u32 {
        frames[0] = self.0;
        9
    }
}

impl AtHand for Hit {
    fn number(&self, source: KeySource) -> Option<u64> {
        Some(Values::number(self, source, false))
    }
}

fn here(cpu: u32) -> OnCpu {
    // SAFETY: each test has one thread.
    unsafe { OnCpu::new(cpu) }
}

/// A cheap source of random numbers.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

type Folded = (u64, u64, i32, i32);

/// Sum of argument 0, least and greatest of argument 1.
fn model(map: &mut BTreeMap<Vec<u64>, Folded>, key: Vec<u64>, hit: Hit) {
    let entry = map.entry(key).or_insert((0, 0, i32::MAX, i32::MIN));
    entry.0 += 1;
    entry.1 = entry.1.wrapping_add(hit.0);
    entry.2 = entry.2.min(hit.1);
    entry.3 = entry.3.max(hit.1);
}

fn counted(histogram: &Histogram) -> BTreeMap<Vec<u64>, Folded> {
    let snapshot = histogram.read().expect("memory");
    let mut map = BTreeMap::new();
    assert_eq!(snapshot.torn(), 0);
    snapshot.for_each(|key, hits, values| {
        let folded = (hits, values[0], values[1] as i32, values[2] as i32);
        assert!(map.insert(key.to_vec(), folded).is_none(), "twice: {key:?}");
    });
    map
}

/// Hits of random keys, each with up to two writers nested at random operations.
fn random_hits(keys: &str, hits: usize, key: fn(Hit) -> Vec<u64>) {
    let text = format!("keys={keys}:vals=num,neg.min,neg.max:size=131072");
    random_hits_in(histogram(&text, 2), hits / 2, key);
    for own in [0, 8] {
        random_hits_in(mostly_shared(&text, 2, own), hits / 4, key);
    }
}

fn random_hits_in(histogram: Histogram, hits: usize, key: fn(Hit) -> Vec<u64>) {
    let histogram = Rc::new(histogram);
    let random = Rc::new(RefCell::new(Random(0x1234_5678_9abc_def1)));
    let expected = Rc::new(RefCell::new(BTreeMap::new()));
    let depth = Rc::new(Cell::new(0));
    let nested = Rc::new(Cell::new(0u64));
    let cpu = Rc::new(Cell::new(0));
    let draw = |random: &mut Random| {
        // Few keys first, so that nested writers meet the same; then many.
        let keys = if random.below(2) == 0 { 8 } else { 1500 };
        let num = random.below(keys);
        let num = if num == 3 { u64::MAX } else { num };
        Hit(num, random.below(100) as i32 - 50, (num % 90) as u8)
    };
    let update: Rc<dyn Fn()> = {
        let (histogram, random, expected, cpu) = (
            histogram.clone(),
            random.clone(),
            expected.clone(),
            cpu.clone(),
        );
        Rc::new(move || {
            let hit = draw(&mut random.borrow_mut());
            model(&mut expected.borrow_mut(), key(hit), hit);
            histogram.update(&hit, &here(cpu.get()));
        })
    };
    {
        let (random, update, depth, nested) = (
            random.clone(),
            update.clone(),
            depth.clone(),
            nested.clone(),
        );
        set_hook(Some(Box::new(move || {
            if depth.get() < 2 && random.borrow_mut().below(16) == 0 {
                depth.set(depth.get() + 1);
                nested.set(nested.get() + 1);
                update();
                depth.set(depth.get() - 1);
            }
        })));
    }
    for _ in 0..hits {
        cpu.set((random.borrow_mut().below(2)) as u32);
        update();
    }
    set_hook(None);
    assert!(nested.get() > hits as u64 / 8, "{}", nested.get());
    let snapshot = histogram.read().expect("memory");
    assert_eq!(
        snapshot.hits() + snapshot.dropped(),
        hits as u64 + nested.get()
    );
    assert_eq!(snapshot.dropped(), 0);
    let expected = expected.borrow();
    let counted = counted(&histogram);
    assert_eq!(counted.len(), expected.len());
    assert!(counted == *expected);
}

#[test]
fn a_million_nested_hits_by_one_number() {
    random_hits("num", 500_000, |hit| vec![hit.0]);
}

#[test]
fn a_million_nested_hits_by_two_numbers() {
    random_hits("num,neg", 250_000, |hit| {
        vec![hit.0, i64::from(hit.1) as u64]
    });
}

#[test]
fn nested_hits_by_text() {
    random_hits("str", 20_000, |hit| {
        let length = (usize::from(hit.2) * 3).min(255);
        let mut bytes = [0u8; TEXT_SIZE];
        bytes[..length].fill(b'a' + hit.2 % 26);
        if usize::from(hit.2) * 3 > TEXT_SIZE {
            bytes[TEXT_SIZE - 1] = CUT;
        }
        let words = bytes
            .chunks(8)
            .map(|b| u64::from_le_bytes(b.try_into().unwrap()));
        words.collect()
    });
}

/// The fast way counts in the entries that the other one has made, and in no other.
#[test]
fn hits_at_hand_are_counted_once() {
    let cases = [
        ("num", true),
        ("num.log2", true),
        ("num,neg", true),
        ("neg.hex,common_pid.execname", true),
        ("common_pid.execname", true),
        ("num,neg,common_pid", false),
        ("str,num", false),
        ("num:vals=neg", false),
    ];
    let salt = 0x5bf0_3635_dcd3_8a4d;
    for (keys, is_fast) in cases {
        let histogram = histogram(&format!("keys={keys}:size=4096"), 1);
        let mut random = Random(0x1234_5678_9abc_def1);
        let mut fast = 0u64;
        for n in 0..40_000u64 {
            let num = match random.below(1000) {
                7 => salt,
                num => num,
            };
            let hit = Hit(num, (num % 5) as i32 - 2, num as u8);
            if histogram.update_fast(&hit, &here(0)) {
                fast += 1;
            } else {
                histogram.update(&hit, &here(0));
            }
            let is_last = n == 39_999;
            if is_last || n % 5_000 == 0 {
                assert_eq!(histogram.read().expect("memory").hits(), n + 1, "{keys}");
            }
        }
        let snapshot = histogram.read().expect("memory");
        assert!(snapshot.entries() <= 1000, "{keys}: {}", snapshot.entries());
        assert_eq!(fast > 35_000, is_fast, "{keys}: {fast}");
        histogram.set_paused(true);
        assert!(!histogram.update_fast(&Hit(1, 1, 1), &here(0)));
    }
}

/// A hit with a stack of that many frames, which differ by the other number.
#[derive(Clone, Copy)]
struct Deep(u64, u64);

impl Deep {
    fn frame(self, n: u64) -> u64 {
        (1 << 63) + (self.1 << 8) + n
    }

    /// The frames that are looked up for the fast way, and whether there are more.
    fn first(self) -> (Vec<u8>, bool) {
        let kept = KEPT_FRAMES as u64;
        let frames = (0..self.0.min(kept)).flat_map(|n| self.frame(n).to_ne_bytes());
        (frames.collect(), self.0 > kept)
    }
}

impl Values for Deep {
    fn number(&self, _source: KeySource, _in_usecs: bool) -> u64 {
        1
    }

    fn element(&self, _index: u8, _n: u8) -> u64 {
        1
    }

    fn text(&self, _index: u8, _out: &mut [u8; TEXT_ROOM]) -> Option<usize> {
        None
    }

    fn comm(&self) -> [u8; 16] {
        [b'x'; 16]
    }

    fn stack(&self, frames: &mut [u64; STACK_DEPTH]) {
        frames.fill(0);
        for (n, frame) in (0..self.0).zip(frames) {
            *frame = self.frame(n);
        }
    }

    fn user_stack(&self, _frames: &mut [u64; STACK_DEPTH]) -> u32 {
        9
    }
}

/// The fast way counts a stack in the entry that the other one has made, also one of the shared
/// table, and tells stacks apart of which one is the beginning of the other.
#[test]
fn stacks_are_counted_once() {
    for (own, fast_share) in [(4096, 9), (20, 0)] {
        let histogram = mostly_shared("keys=common_stacktrace:size=4096", 1, own);
        let mut random = Random(0x1234_5678_9abc_def1);
        let (mut fast, mut made) = (0u64, BTreeMap::new());
        for n in 1..=20_000u64 {
            let hit = Deep(random.below(20) + 1, random.below(30));
            *made
                .entry((hit.0.min(STACK_DEPTH as u64), hit.1))
                .or_insert(0) += 1;
            let (mut frames, is_cut) = hit.first();
            if histogram.update_by_stack(&mut frames, is_cut, &here(0)) {
                fast += 1;
            } else {
                histogram.update(&hit, &here(0));
            }
            if n % 5_000 == 0 {
                assert_eq!(histogram.read().expect("memory").hits(), n);
            }
        }
        let snapshot = histogram.read().expect("memory");
        let mut hits: Vec<u64> = made.into_values().collect();
        let mut counted = Vec::new();
        snapshot.for_each(|_, hits, _| counted.push(hits));
        hits.sort_unstable();
        counted.sort_unstable();
        assert_eq!(counted, hits);
        assert!(fast >= 2_000 * fast_share, "{fast} of {own}");
        histogram.set_paused(true);
        let (mut frames, is_cut) = Deep(3, 3).first();
        assert!(!histogram.update_by_stack(&mut frames, is_cut, &here(0)));
    }
    // The stack is not all that is needed.
    for keys in ["common_stacktrace,num", "num", "common_stacktrace:vals=num"] {
        let histogram = histogram(&format!("keys={keys}"), 1);
        histogram.update(&Deep(1, 1), &here(0));
        let (mut frames, is_cut) = Deep(1, 1).first();
        assert!(
            !histogram.update_by_stack(&mut frames, is_cut, &here(0)),
            "{keys}"
        );
    }
}

/// One hit interrupted at each of its operations in turn by one that has the same key, and
/// by one of another, which in turn is interrupted.
#[test]
fn every_operation_is_interrupted() {
    let all = ["num", "num,neg", "str,num", "common_pid.execname"];
    for (keys, own) in all.into_iter().flat_map(|keys| [(keys, 0), (keys, 2048)]) {
        for is_same in [false, true] {
            for at in 0..200u32 {
                let text = format!("keys={keys}:vals=num,neg.max");
                let histogram = Rc::new(mostly_shared(&text, 1, own));
                let calls = Rc::new(Cell::new(0));
                let ran = Rc::new(Cell::new(0u64));
                {
                    let (histogram, calls, ran) = (histogram.clone(), calls.clone(), ran.clone());
                    set_hook(Some(Box::new(move || {
                        calls.set(calls.get() + 1);
                        // The second is nested in the first.
                        if calls.get() == at + 1 || (ran.get() == 1 && calls.get() == at + 4) {
                            ran.set(ran.get() + 1);
                            let other = if is_same { 1 } else { 1 + ran.get() };
                            histogram.update(&Hit(other, 2, other as u8), &here(0));
                        }
                    })));
                }
                histogram.update(&Hit(1, 2, 1), &here(0));
                set_hook(None);
                let snapshot = histogram.read().expect("memory");
                assert_eq!(snapshot.hits(), 1 + ran.get(), "{keys} at {at}");
                assert_eq!(snapshot.dropped(), 0);
                assert_eq!(snapshot.torn(), 0);
                let keys = if is_same { 1 } else { 1 + ran.get() as usize };
                assert_eq!(snapshot.entries(), keys, "at {at}");
                if ran.get() == 0 {
                    assert!(at > 6, "only {at} operations");
                    break;
                }
            }
        }
    }
}

#[test]
fn what_has_no_room_is_counted() {
    for keys in ["num", "num,neg", "str,num"] {
        let histogram = histogram(&format!("keys={keys}:size=128"), 1);
        for n in 0..1000 {
            histogram.update(&Hit(n % 500, 1, 1), &here(0));
        }
        let snapshot = histogram.read().expect("memory");
        assert_eq!(snapshot.entries(), 128, "{keys}");
        assert_eq!(snapshot.hits(), 256);
        assert_eq!(snapshot.dropped(), 744);
    }
}

/// Each CPU has its own few keys and all that find room in the table of all; what finds none
/// is counted.
#[test]
fn what_has_no_room_on_its_cpu_is_shared() {
    for keys in ["num", "num,neg", "str,num", "common_pid.execname,num"] {
        let histogram = mostly_shared(&format!("keys={keys}:size=128"), 2, 16);
        for n in 0..1000 {
            let hit = Hit(n % 250, 1, (n % 2) as u8);
            histogram.update(&hit, &here(u32::from(hit.2)));
        }
        let snapshot = histogram.read().expect("memory");
        // 16 on each CPU, 128 in the shared table.
        assert_eq!(snapshot.entries(), 160, "{keys}");
        assert_eq!(snapshot.hits(), 640, "{keys}");
        assert_eq!(snapshot.dropped(), 360, "{keys}");
        assert_eq!(histogram.hits(), 640, "{keys}");
    }
}

/// What is counted on two CPUs, in the tables of both and in the shared one, is one entry.
#[test]
fn a_key_in_all_tables_is_one_entry() {
    let histogram = mostly_shared("keys=num,neg:vals=num", 3, 1);
    // The second key finds no room on CPUs 0 and 1; on CPU 2 it is the first.
    for (key, cpu) in [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2)] {
        histogram.update(&Hit(key, 0, 0), &here(cpu));
    }
    let mut entries = Vec::new();
    let snapshot = histogram.read().unwrap();
    snapshot.for_each(|key, hits, values| entries.push((key[0], hits, values[0])));
    assert_eq!(entries, [(1, 2, 2), (2, 3, 6)]);
}

/// A CPU that comes later has no table of its own, and its hits are counted all the same.
#[test]
fn hits_of_a_cpu_that_comes_later_are_counted() {
    for keys in ["num", "str", "num,neg:vals=num"] {
        let text = format!("keys={keys}");
        let histogram = with_tables(&text, 2, |spec, cpu| spec.own_table(cpu == 0));
        for n in 0..2000 {
            let hit = Hit(n % 100, 0, 1);
            assert!(n != 0 || !histogram.update_fast(&hit, &here(1)));
            histogram.update(&hit, &here(1));
        }
        let snapshot = histogram.read().unwrap();
        assert_eq!((snapshot.hits(), snapshot.dropped()), (2000, 0), "{keys}");
    }
}

/// One line does not take a full table for each CPU.
#[test]
fn memory_is_bounded_whatever_the_number_of_cpus() {
    let own = |text| spec(text).own_table(true).unwrap().room();
    assert_eq!(own("keys=num"), 2048);
    assert_eq!(own("keys=str,stacktrace"), 2048);
    assert_eq!(own("keys=num:size=16384"), 16384);
    assert_eq!(own("keys=num:size=131072"), 16384);
    assert_eq!(own("keys=str,stacktrace:size=131072"), 2048);
    assert_eq!(own("keys=num:size=128"), 128);
    let shared = |text, all: bool| {
        let spec = spec(text);
        let own = PerCpu::new(2, |cpu| spec.own_table(all || cpu == 0)).unwrap();
        let shared = spec.shared_table(&own).unwrap();
        shared.map(|shared: HistTable<AtomicU64>| shared.room())
    };
    assert_eq!(shared("keys=num", true), None);
    assert_eq!(shared("keys=num", false), Some(2048));
    assert_eq!(shared("keys=num:size=131072", true), Some(131072));
    let absent = spec("keys=num").own_table(false).unwrap();
    assert_eq!(absent.room(), 0);
}

/// A task that is killed while it reads does not end what it has begun.
#[test]
fn a_reader_that_is_killed_stops() {
    let histogram = histogram("keys=num:size=131072", 1);
    for n in 0..16_000 {
        histogram.update(&Hit(n, 1, 1), &here(0));
    }
    let mut looks = 0;
    for n in 0.. {
        kill_after(Some(n));
        let result = histogram.read().map(|snapshot| snapshot.entries());
        kill_after(None);
        match result {
            Err(stop) => assert_eq!(stop, Stop::Killed),
            Ok(entries) => {
                assert_eq!(entries, 16_000);
                looks = n;
                break;
            }
        }
    }
    // Some thousand entries are read or compared between two looks.
    assert!(looks > 50, "{looks}");
}

/// No number is special, though one is mixed to 0.
#[test]
fn every_number_can_be_a_key() {
    for own in [0, 2048] {
        every_number_is_a_key(mostly_shared("keys=num", 1, own));
    }
}

fn every_number_is_a_key(histogram: Histogram) {
    let salt = 0x5bf0_3635_dcd3_8a4d;
    let numbers = [0, 1, u64::MAX, 1 << 63, salt, salt ^ 1];
    for (n, number) in numbers.into_iter().enumerate() {
        for _ in 0..=n {
            histogram.update(&Hit(number, 0, 0), &here(0));
        }
    }
    let mut found = BTreeMap::new();
    let snapshot = histogram.read().unwrap();
    snapshot.for_each(|key, hits, _| {
        found.insert(key[0], hits);
    });
    let expected: BTreeMap<u64, u64> = numbers.into_iter().zip(1..).collect();
    assert_eq!(found, expected);
}

/// A reader between two operations of a writer sees hits and values of the same hits, or
/// says that it does not.
#[test]
fn a_reader_knows_what_is_torn() {
    let mut torn_at = Vec::new();
    for at in 0..30u32 {
        let histogram = Rc::new(histogram("keys=num:vals=neg,num", 1));
        histogram.update(&Hit(5, 10, 0), &here(0));
        let calls = Rc::new(Cell::new(0));
        let torn = Rc::new(Cell::new(0u64));
        {
            let (histogram, calls, torn) = (histogram.clone(), calls.clone(), torn.clone());
            set_hook(Some(Box::new(move || {
                calls.set(calls.get() + 1);
                if calls.get() == at + 1 {
                    let snapshot = histogram.read().expect("memory");
                    torn.set(snapshot.torn());
                    let is_whole = snapshot.torn() == 0;
                    snapshot.for_each(|_, hits, values| {
                        let folded = (hits * 10, hits * 5);
                        assert!(!is_whole || (values[0], values[1]) == folded, "at {at}");
                    });
                }
            })));
        }
        histogram.update(&Hit(5, 10, 0), &here(0));
        set_hook(None);
        if torn.get() > 0 {
            torn_at.push(at);
        }
    }
    // Between the count of the hit and that of its end: two fences and two values.
    assert!(torn_at.len() >= 4, "{torn_at:?}");
    let first = torn_at[0];
    assert!(first >= 2, "{torn_at:?}");
    assert_eq!(torn_at, (first..).take(torn_at.len()).collect::<Vec<_>>());
}

#[test]
fn values_are_folded() {
    let histogram = histogram(
        "keys=common_pid:vals=neg,neg.min,neg.max,neg.avg,num.min,num.avg",
        2,
    );
    for (cpu, num, neg) in [(0, 10, -5), (1, 3, 7), (0, 8, -3)] {
        histogram.update(&Hit(num, neg, 1), &here(cpu));
    }
    let mut seen = 0;
    let snapshot = histogram.read().unwrap();
    snapshot.for_each(|_, hits, values| {
        seen += 1;
        assert_eq!(hits, 3);
        let values: Vec<i64> = values.iter().map(|v| *v as i64).collect();
        assert_eq!(values, [-1, -5, 7, 0, 3, 7]);
    });
    assert_eq!(seen, 1);
}

#[test]
fn a_paused_histogram_does_not_count() {
    let histogram = histogram("keys=num", 1);
    histogram.set_paused(true);
    histogram.update(&Hit(1, 1, 1), &here(0));
    assert!(histogram.is_paused());
    assert_eq!(histogram.read().unwrap().hits(), 0);
    histogram.set_paused(false);
    histogram.update(&Hit(1, 1, 1), &here(0));
    assert_eq!(histogram.read().unwrap().hits(), 1);
}

#[test]
fn failed_allocations_are_survived() {
    let spec = spec("keys=num,neg");
    fail_allocation_after(Some(0));
    assert!(spec.own_table(true).is_err());
    fail_allocation_after(None);
    let histogram = histogram("keys=num:vals=neg", 1);
    for n in 0..100 {
        histogram.update(&Hit(n, 1, 1), &here(0));
    }
    for n in 0.. {
        fail_allocation_after(Some(n));
        let result = histogram.read().map(|snapshot| snapshot.entries());
        fail_allocation_after(None);
        if let Ok(entries) = result {
            assert_eq!(entries, 100);
            assert!(n > 4, "only {n} allocations");
            break;
        }
    }
}

#[test]
fn entries_hold_what_their_shape_says() {
    let shape = EntryShape {
        values: 2,
        comm: 0,
        keys: 3,
        vars: 0,
    };
    let table: HistTable = HistTable::with_shape(shape, 4).unwrap();
    let entry = table.entry(&[1, 2, 3], || [0, 0]).unwrap();
    entry.begin();
    entry.fold(0, Fold::Sum, false, 5);
    entry.fold(1, Fold::Min, true, -7i64 as u64);
    let mut values = [0; 2];
    assert!(!entry.read(2, &mut values).is_whole);
    entry.end();
    let read = entry.read(2, &mut values);
    assert!(read.is_whole);
    assert_eq!((read.hits, values[0]), (1, 5));
}

struct Now;

impl Moment for Now {
    fn pid(&self) -> i32 {
        -3
    }

    fn header(&self) -> Header {
        Header {
            event: 9,
            flags: 1,
            preempt_count: 2,
            pid: 42,
        }
    }

    fn cpu(&self) -> u32 {
        6
    }

    fn place(&self) -> u64 {
        0x8010
    }

    fn time(&self, in_usecs: bool) -> u64 {
        if in_usecs {
            5
        } else {
            5000
        }
    }

    fn stack(&self, frames: &mut [u64; STACK_DEPTH]) {
        frames[0] = 0x99;
    }

    fn user_stack(&self, frames: &mut [u64; STACK_DEPTH]) -> u32 {
        frames[0] = 0x98;
        9
    }
}

/// As for a filter, the values of a hit come from registers and memory.
#[test]
fn a_probes_hit_is_evaluated() {
    let text = "p f num=%cx neg=%bx:s32 byte=%bx:u8 mem=+0(%r9):s8 fault=+0(%r10) \
        str=+8(%di):string bad=+0(%r10):string";
    let mut k = Kernel::default();
    k.set("cx", 7);
    k.set("bx", u64::MAX - 1);
    k.set("r9", 0x3400);
    k.write(0x3400, &[0xff]);
    k.set("di", 0x3000);
    k.write(0x3008, b"hello\0");
    let (_, program) = compile(text, &mut k).unwrap();
    let count = |trigger: &str| {
        let span = Span {
            bytes: trigger.as_bytes(),
            at: 0,
        };
        let spec = hist::parse(span, program.layout(), &Alone)
            .expect(trigger)
            .spec;
        let tables = PerCpu::new(1, |_| spec.own_table(true)).unwrap();
        let histogram = Histogram::new(spec, (tables, None), false);
        let hit = ProbeHit {
            program: &program,
            env: &k,
            moment: &Now,
        };
        histogram.update(&hit, &here(0));
        let mut found = Vec::new();
        let snapshot = histogram.read().unwrap();
        snapshot.for_each(|key, hits, values| {
            assert_eq!(hits, 1);
            found = [key, values].concat();
        });
        found
    };
    let minus = |n: i64| n as u64;
    assert_eq!(count("keys=num,neg,byte"), [7, minus(-2), 0xfe]);
    assert_eq!(count("keys=mem,fault"), [minus(-1), 0]);
    assert_eq!(count("keys=num.log2:vals=neg.min"), [3, minus(-2)]);
    assert_eq!(count("keys=num.buckets=5"), [5]);
    assert_eq!(
        count("keys=common_pid,cpu,__probe_ip"),
        [minus(-3), 6, 0x8010]
    );
    assert_eq!(
        count("keys=common_type,common_flags,common_preempt_count"),
        [9, 1, 2]
    );
    assert_eq!(count("keys=common_timestamp"), [5000]);
    assert_eq!(count("keys=common_timestamp.usecs"), [5]);
    assert_eq!(count("keys=stacktrace")[..2], [0x99, 0]);
    assert_eq!(count("keys=comm")[0], u64::from_le_bytes(*b"bash\0\0\0\0"));
    assert_eq!(
        count("keys=cgroup")[..2],
        [*b"/user.sl", *b"ice/x\0\0\0"].map(u64::from_le_bytes)
    );
    assert_eq!(count("keys=str")[0], u64::from_le_bytes(*b"hello\0\0\0"));
    assert_eq!(count("keys=bad")[0], u64::from_le_bytes(*b"(fault)\0"));
}
