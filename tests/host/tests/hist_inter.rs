// SPDX-License-Identifier: GPL-2.0

//! Histograms that have to do with each other: what is accepted, how it is listed, how it is
//! refused, and what it does.

use crate::support;

use std::cell::Cell;
use std::rc::Rc;

use ferroprobe_engine::engine::hist::{Heading, KeyNames, Printing};
use ferroprobe_engine::engine::print::SymbolNames;
use ferroprobe_engine::engine::refusal::error::Subject;
use ferroprobe_engine::engine::util::seq_buf::SeqBuf;
use ferroprobe_engine::sys::set_hook;
use support::linked::{Fields, Instance};

/// The events of the kernel whose triggers its tests have, and synthetic ones.
const EVENTS: &[(&str, &str)] = &[
    (
        "sched:sched_waking",
        "comm=+0(%di):string pid=%bx:s32 prio=%cx:s32",
    ),
    (
        "sched:sched_wakeup",
        "comm=+0(%di):string pid=%bx:s32 prio=%cx:s32",
    ),
    (
        "sched:sched_switch",
        "prev_comm=+0(%di):string prev_pid=%bx:s32 prev_prio=%cx:s32 prev_state=%cx:s64 \
         next_comm=+0(%di):string next_pid=%bx:s32 next_prio=%cx:s32",
    ),
    (
        "sched:sched_process_exec",
        "filename=+0(%di):string pid=%bx:s32",
    ),
    (
        "sched:sched_process_exit",
        "comm=+0(%di):string pid=%bx:s32",
    ),
    ("syscalls:sys_enter_openat", "dfd=%bx:u64 filename=%bx:u64"),
    ("syscalls:sys_exit_openat", "ret=%bx:s64"),
    (
        "sched:many",
        "a0=%bx a1=%bx a2=%bx a3=%bx a4=%bx a5=%bx a6=%bx a7=%bx a8=%bx a9=%bx b0=%bx b1=%bx \
         b2=%bx b3=%bx b4=%bx b5=%bx b6=%bx b7=%bx b8=%bx b9=%bx c0=%bx c1=%bx c2=%bx c3=%bx \
         c4=%bx c5=%bx c6=%bx c7=%bx c8=%bx c9=%bx d0=%bx d1=%bx d2=%bx d3=%bx d4=%bx d5=%bx",
    ),
    (
        "synthetic:wakeup_latency",
        "lat=%bx:u64 pid=%bx:s32 prio=%cx:s32 comm=+0(%di):string",
    ),
    ("synthetic:waking_latency", "lat=%bx:u64 pid=%bx:s32"),
    (
        "synthetic:ping_test_latency",
        "lat=%bx:u64 filename=+0(%di):string",
    ),
];

fn instance() -> Instance {
    let mut instance = Instance::default();
    for (name, arguments) in EVENTS {
        instance.add_event(name, arguments);
    }
    instance
}

fn lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../../data/lang-hist-inter.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').expect(line))
}

#[test]
fn triggers_are_accepted_listed_or_refused() {
    let mut instance = instance();
    for (word, rest) in lines() {
        if word == "new" {
            instance = self::instance();
            continue;
        }
        let (event, text) = rest.split_once(' ').expect(rest);
        match word {
            "synth" => instance.add_synthetic(event, text),
            "set" => instance
                .write(event, text)
                .unwrap_or_else(|e| panic!("{rest}: {e:?}")),
            "as" => {
                let (text, listed) = text.split_once(" => ").expect(text);
                instance
                    .write(event, text)
                    .unwrap_or_else(|e| panic!("{rest}: {e:?}"));
                assert_eq!(instance.listed(event).pop().as_deref(), Some(listed));
            }
            "lists" | "lacks" => {
                let all = instance.listed(event);
                assert_eq!(
                    all.iter().any(|it| it == text),
                    word == "lists",
                    "{rest} {all:?}"
                );
            }
            kind => {
                let before: Vec<_> = EVENTS.iter().map(|(e, _)| instance.listed(e)).collect();
                let error = instance.write(event, &text.replacen('^', "", 1));
                let error = error.expect_err(rest);
                assert_eq!(error.kind.name(), kind, "{rest}");
                assert_eq!(error.kind.subject(), Subject::Histogram);
                assert_eq!(Some(error.at), text.find('^'), "{rest}: {error:?}");
                let after: Vec<_> = EVENTS.iter().map(|(e, _)| instance.listed(e)).collect();
                assert_eq!(before, after, "{rest}");
            }
        }
    }
}

fn fields(numbers: &[u64], text: &'static str, now: u64) -> Fields {
    Fields {
        numbers: numbers.to_vec(),
        text,
        pid: 7,
        now,
    }
}

/// A hit of `sched_waking` or `sched_wakeup`.
fn waking(pid: u64, prio: u64, now: u64) -> Fields {
    fields(&[0, pid, prio], "waker", now)
}

/// A hit of `sched_switch`.
fn switch(pid: u64, prio: u64, now: u64) -> Fields {
    fields(&[0, 1, prio, 0, 0, pid, prio], "next", now)
}

struct NoNames;

impl SymbolNames for NoNames {
    fn symbolize(&mut self, _address: u64, _with_offset: bool, _buf: &mut SeqBuf<'_>) {}
}

impl KeyNames for NoNames {
    fn syscall(&mut self, _number: u64, _buf: &mut SeqBuf<'_>) -> bool {
        false
    }
}

fn shown(instance: &Instance, event: &str, n: usize) -> String {
    let histogram = &instance.histograms(event)[n];
    let mut printing = Printing::new(histogram.read().unwrap(), false).unwrap();
    let mut out = ferroprobe_engine::sys::Vec::new();
    let heading = Heading {
        filter: None,
        is_paused: false,
        index: 0,
    };
    while printing
        .write_next(&mut out, heading, &mut NoNames)
        .unwrap()
    {}
    let out = String::from_utf8(out.to_vec()).unwrap();
    let (_, entries) = out.split_once("#\n\n").unwrap();
    entries.to_owned()
}

#[test]
fn a_variable_goes_from_one_event_to_another_once() {
    let mut it = instance();
    it.add_synthetic("lat", "u64 s32 text s32");
    it.write(
        "sched:sched_waking",
        "hist:keys=pid:ts0=common_timestamp.usecs",
    )
    .unwrap();
    it.write(
        "sched:sched_switch",
        "hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:\
         onmatch(sched.sched_waking).lat($lat,next_pid,next_comm,prio)",
    )
    .unwrap();
    it.hit("sched:sched_switch", &switch(5, 1, 9_000));
    assert!(it.emitted.borrow().is_empty());
    it.hit("sched:sched_waking", &waking(5, 77, 10_000));
    it.hit("sched:sched_switch", &switch(6, 1, 11_000));
    assert!(it.emitted.borrow().is_empty());
    it.hit("sched:sched_switch", &switch(5, 1, 25_000));
    it.hit("sched:sched_switch", &switch(5, 1, 26_000));
    let emitted = it.emitted.borrow();
    let [(name, values)] = &emitted[..] else {
        panic!("{emitted:?}");
    };
    assert_eq!(name, "lat");
    assert_eq!((values[0], values[1], values[3]), (15, 5, 77));
    // SAFETY: the text is in the table, which lives.
    let text = unsafe { std::ffi::CStr::from_ptr(values[2] as *const _) };
    assert_eq!(text.to_bytes(), b"next");
    let entries = shown(&it, "sched:sched_switch", 0);
    assert!(
        entries.starts_with("{ next_pid:          5 } hitcount:          1\n"),
        "{entries}"
    );
}

#[test]
fn the_greatest_and_what_was_saved_are_shown() {
    let mut it = instance();
    it.write(
        "sched:sched_waking",
        "hist:keys=pid:x=prio:onmax($x).save(comm,pid):onchange($x).snapshot()",
    )
    .unwrap();
    for prio in [3, 9, 9, 4] {
        it.hit("sched:sched_waking", &waking(5, prio, 0));
    }
    it.hit("sched:sched_waking", &waking(6, 4, 0));
    assert_eq!(it.snapshots.get(), 3);
    assert_eq!(
        shown(&it, "sched:sched_waking", 0),
        "{ pid:          6 } hitcount:          1\n\
         \tmax:          4  comm: waker                             pid:          6\n\
         { pid:          5 } hitcount:          4\n\
         \tmax:          9  comm: waker                             pid:          5\n\
         \n\
         Snapshot taken (see tracing/snapshot).  Details:\n\
         \ttriggering value { onchange($x) }:          4\ttriggered by event with key: \
         { pid:          5 }\n\
         \n\
         Totals:\n    Hits: 5\n    Entries: 2\n    Dropped: 0\n"
    );
}

#[test]
fn a_hit_that_continues_a_histogram_does_not_count_while_that_is_cleared() {
    for (is_fast, keys) in [(false, "pid"), (true, "pid"), (false, "pid,prio")] {
        let mut it = instance();
        it.is_fast.set(is_fast);
        let trigger = format!("hist:keys={keys}:x=prio");
        it.write("sched:sched_waking", &trigger).unwrap();
        it.hit("sched:sched_waking", &waking(5, 3, 0));
        let histogram = it.histograms("sched:sched_waking")[0].clone();
        histogram.clear_inter_event(|| {
            assert!(!histogram.is_paused());
            histogram.set_paused(false);
            it.hit("sched:sched_waking", &waking(5, 3, 0));
            it.hit("sched:sched_waking", &waking(6, 3, 0));
            let entries = shown(&it, "sched:sched_waking", 0);
            let is_there = entries.contains("Hits: 1\n");
            assert!(is_there || entries.contains("# cleared"), "{entries}");
        });
        it.hit("sched:sched_waking", &waking(5, 3, 0));
        // What hits do meanwhile to pause it is kept.
        histogram.clear_inter_event(|| histogram.set_paused(true));
        assert!(histogram.is_paused());
        it.hit("sched:sched_waking", &waking(5, 3, 0));
        let entries = shown(&it, "sched:sched_waking", 0);
        assert!(entries.contains("Hits: 0\n"), "{entries}");
    }
}

#[test]
fn what_is_cleared_while_it_is_read_is_not_mixed_with_what_follows() {
    let heading = Heading {
        filter: None,
        is_paused: false,
        index: 0,
    };
    // Cleared before each of the parts is written, and read by then.
    for at in 0..8usize {
        let mut it = instance();
        it.write("sched:sched_waking", "hist:keys=pid:x=prio")
            .unwrap();
        for pid in 0..5 {
            it.hit("sched:sched_waking", &waking(pid, 3, 0));
            it.hit("sched:sched_waking", &waking(pid, 3, 0));
        }
        let histogram = it.histograms("sched:sched_waking")[0].clone();
        let snapshot = histogram.read().unwrap();
        let mut printing = Printing::new(snapshot, false).unwrap();
        let mut out = ferroprobe_engine::sys::Vec::new();
        let mut parts = 0;
        loop {
            if parts == at {
                histogram.clear_inter_event(|| ());
                for pid in 100..105 {
                    it.hit("sched:sched_waking", &waking(pid, 3, 0));
                }
            }
            if !printing
                .write_next(&mut out, heading, &mut NoNames)
                .unwrap()
            {
                break;
            }
            parts += 1;
        }
        let text = String::from_utf8(out.to_vec()).unwrap();
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('{')).collect();
        assert_eq!(rows.len(), at.saturating_sub(1).min(5), "{at} {text}");
        for (n, row) in rows.iter().enumerate() {
            assert_eq!(*row, format!("{{ pid: {n:10} }} hitcount:          2"));
        }
        let says = "# cleared while it was read: the entries above were there before\n";
        assert_eq!(text.ends_with(says), at < 7, "{at} {text}");
        assert_eq!(text.contains("Totals"), at == 7, "{at} {text}");
    }
}

#[test]
fn what_is_read_while_it_is_cleared_is_not_shown() {
    let mut it = instance();
    it.write("sched:sched_waking", "hist:keys=pid:x=prio")
        .unwrap();
    it.hit("sched:sched_waking", &waking(5, 3, 0));
    let histogram = it.histograms("sched:sched_waking")[0].clone();
    let (waits, rows) = (Cell::new(0), Cell::new(0));
    histogram.clear_inter_event(|| {
        // Once before entries are removed, and once before their variables are.
        waits.set(waits.get() + 1);
        let text = shown(&it, "sched:sched_waking", 0);
        rows.set(rows.get() + text.matches("{ pid").count());
        assert_eq!(text.contains("# cleared"), waits.get() == 2, "{text}");
    });
    assert_eq!((waits.get(), rows.get()), (2, 1));
}

#[test]
fn a_variable_that_was_found_is_not_zeroed_while_hits_may_read_it() {
    let mut it = instance();
    it.add_synthetic("lat", "u64");
    it.write("sched:sched_waking", "hist:keys=pid:ts0=common_timestamp")
        .unwrap();
    it.write(
        "sched:sched_switch",
        "hist:keys=next_pid:lat=common_timestamp-$ts0:onmatch(sched.sched_waking).lat($lat)",
    )
    .unwrap();
    it.hit("sched:sched_waking", &waking(5, 1, 1000));
    // A hit that has found the entry is interrupted by one who clears it: the variable is there
    // until the hit has ended, which the second grace period is for.
    let it = Rc::new(it);
    let histogram = it.histograms("sched:sched_waking")[0].clone();
    let variable = Rc::new(Cell::new(None));
    let (nested, seen) = (it.clone(), variable.clone());
    let waits = Cell::new(0);
    histogram.clear_inter_event(|| {
        waits.set(waits.get() + 1);
        if waits.get() == 2 {
            // No hit that begins now finds it.
            nested.hit("sched:sched_switch", &switch(5, 1, 3000));
            seen.set(Some(nested.emitted.borrow().len()));
        }
    });
    assert_eq!(variable.get(), Some(0));
}

/// Calls `nested` once before the atomic operation `at` of `hit`; returns whether there is one.
fn interrupted(at: usize, hit: impl FnOnce(), nested: impl Fn() + 'static) -> bool {
    let left = Rc::new(Cell::new(Some(at)));
    let count = left.clone();
    set_hook(Some(Box::new(move || match count.get() {
        Some(0) => {
            count.set(None);
            nested();
        }
        Some(n) => count.set(Some(n - 1)),
        None => {}
    })));
    hit();
    set_hook(None);
    left.get().is_none()
}

#[test]
fn a_variable_is_taken_by_one_hit_and_what_is_set_meanwhile_is_not_lost() {
    let make = |is_fast| {
        let mut it = instance();
        it.is_fast.set(is_fast);
        it.add_synthetic("lat", "u64");
        it.write("sched:sched_waking", "hist:keys=pid:ts0=common_timestamp")
            .unwrap();
        it.write(
            "sched:sched_switch",
            "hist:keys=next_pid:lat=common_timestamp-$ts0:onmatch(sched.sched_waking).lat($lat)",
        )
        .unwrap();
        // The entries are made.
        it.hit("sched:sched_waking", &waking(5, 1, 0));
        it.hit("sched:sched_switch", &switch(5, 1, 1));
        it.emitted.take();
        Rc::new(it)
    };
    for is_fast in [false, true] {
        let mut places = 0;
        for at in 0.. {
            let it = make(is_fast);
            it.hit("sched:sched_waking", &waking(5, 1, 1000));
            let nested = it.clone();
            let hit = || it.hit("sched:sched_switch", &switch(5, 1, 4000));
            let is_place = interrupted(at, hit, move || {
                nested.hit("sched:sched_switch", &switch(5, 1, 4000));
            });
            let emitted = it.emitted.take();
            assert_eq!(emitted, [("lat".to_owned(), vec![3000])], "{is_fast} {at}");
            if !is_place {
                break;
            }
            places += 1;

            // Set anew: what was set is emitted by this hit or by the next one.
            let it = make(is_fast);
            it.hit("sched:sched_waking", &waking(5, 1, 1000));
            let nested = it.clone();
            let hit = || it.hit("sched:sched_switch", &switch(5, 1, 4000));
            interrupted(at, hit, move || {
                nested.hit("sched:sched_waking", &waking(5, 1, 2000));
            });
            it.hit("sched:sched_switch", &switch(5, 1, 4000));
            let emitted = it.emitted.take();
            let is_there = emitted.iter().any(|(_, values)| values[0] == 2000);
            assert!(is_there, "{is_fast} {at} {emitted:?}");
        }
        assert!(places > 5, "{places}");
    }
}

#[test]
fn a_match_of_numbers_takes_few_instructions_and_emits_the_same() {
    let run = |is_fast| {
        let mut it = instance();
        it.is_fast.set(is_fast);
        it.add_synthetic("lat", "u64 s32 s32 s32");
        it.write("sched:sched_waking", "hist:keys=pid:ts0=common_timestamp")
            .unwrap();
        it.write(
            "sched:sched_switch",
            "hist:keys=next_pid:lat=common_timestamp-$ts0,more=prev_prio+1:\
             onmatch(sched.sched_waking).lat($lat,next_pid,prev_prio,$more)",
        )
        .unwrap();
        for now in 1..100 {
            let pid = now % 7;
            match now % 3 {
                0 => it.hit("sched:sched_waking", &waking(pid, 1, now * 10)),
                _ => it.hit("sched:sched_switch", &switch(pid, now % 5, now * 10)),
            }
        }
        (it.emitted.take(), it.fast.get())
    };
    let ((slow, none), (fast, most)) = (run(false), run(true));
    assert_eq!(none, 0);
    // The first hit of each key makes an entry.
    assert!(most > 70, "{most}");
    assert!(slow.len() > 20, "{slow:?}");
    assert_eq!(fast, slow);
    for (_, values) in &fast {
        assert_eq!(values[2] + 1, values[3]);
    }
}
