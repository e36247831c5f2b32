// SPDX-License-Identifier: GPL-2.0

//! What was in memory before never reaches a reader: the same is done on memory
//! filled with one pattern and with another, and what comes out must be equal,
//! byte by byte.

use crate::ring_common;
use crate::support;

use ferroprobe_engine::engine::program::exec;
use ferroprobe_engine::engine::program::fetch::{Program, Size};
use ferroprobe_engine::engine::program::marker;
use ferroprobe_engine::engine::record::{self, Header};
use ferroprobe_engine::engine::ring::{Note, Ring};
use ferroprobe_engine::sys::Pages;
use proptest::prelude::*;
use ring_common::{comm, parse_page, ring, write, write_as};
use support::{compile, Kernel};

const PATTERNS: [u8; 2] = [0xa5, 0x5a];

/// The record of a hit, made on memory filled with `pattern`.
fn record(program: &Program, is_return: bool, kernel: &Kernel, pattern: u8) -> Vec<u8> {
    let header = Header {
        event: 7,
        flags: 0,
        preempt_count: 0,
        pid: 42,
    };
    let (Size::Fixed(room) | Size::UpTo(room)) = program.size();
    let mut out = vec![pattern; room];
    assert!(record::start_probe(&mut out, header, 0x8000));
    assert!(!is_return || record::put_return_address(&mut out, 0x8100));
    let length = exec::run(program, kernel, &mut out);
    out.truncate(length);
    out
}

#[test]
fn records_have_no_byte_that_was_not_written() {
    let blob = Some(support::btf::sample());
    let failing = Kernel {
        blob: blob.clone(),
        ..Kernel::default()
    };
    let mut reading = failing.clone();
    for page in [0x1000, 0x2000, 0x7000, 0x10_0000] {
        for at in page..page + 0x100 {
            // Pointers to what is there, and texts that end.
            reading.write(at, &[if at % 8 == 1 { 0x20 } else { 0 }]);
        }
    }
    for name in ["di", "si", "ax", "bx", "dx", "sp"] {
        reading.set(name, 0x2000);
    }
    let lines = include_str!("../../data/lang-good.txt").lines();
    let mut seen = 0;
    for line in lines.filter(|line| line.starts_with(['p', 'r'])) {
        let known = line
            .replace("_sdata", "linux_proc_banner")
            .replace("@0:", "@0x1000:");
        for kernel in [&failing, &reading] {
            let mut kernel = kernel.clone();
            let (definition, program) =
                compile(&known, &mut kernel).unwrap_or_else(|e| panic!("{known}: {e:?}"));
            kernel.entry = vec![0x2000; program.entry_words()];
            let is_return = definition.kind.is_return;
            let [one, other] =
                PATTERNS.map(|pattern| record(&program, is_return, &kernel, pattern));
            assert_eq!(one, other, "{known}");
            seen += 1;
        }
    }
    assert!(seen > 60, "only {seen} records");
}

#[test]
fn marks_have_no_byte_that_was_not_written() {
    for text in [&b""[..], b"x", b"a mark", b"a mark\n"] {
        let [one, other] = PATTERNS.map(|pattern| {
            let mut record = vec![pattern; marker::length(text)];
            marker::write_record(&mut record, 1, text);
            record
        });
        assert_eq!(one, other);
    }
}

/// A ring whose pages all hold `pattern` from events that were there before.
fn used(pattern: u8, pages: u32, bytes: usize) -> Ring<Pages> {
    let ring = ring(pages, bytes, true);
    for n in 0..u64::from(pages) * bytes as u64 / 60 * 3 {
        write(&ring, n / 100, &[pattern; 100]).unwrap();
    }
    ring.reader().unwrap().reset();
    ring
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize, u64, i32),
    Read(usize, bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![0u64..3, Just(1 << 20), Just(1 << 28), Just(1 << 60)];
    let step = prop_oneof![
        // A record has at least a header and a place.
        8 => (16usize..400, gap, 1i32..5).prop_map(|(len, gap, pid)| Step::Write(len, gap, pid)),
        1 => (24usize..5000, any::<bool>()).prop_map(|(room, whole)| Step::Read(room, whole)),
    ];
    prop::collection::vec(step, 1..400)
}

/// All bytes that readers of pages get.
fn pages(steps: &[Step], pattern: u8) -> Vec<Vec<u8>> {
    let ring = used(pattern, 4, 4096);
    let mut ts = 1 << 30;
    let mut read = Vec::new();
    let take = |room: usize, whole: bool, read: &mut Vec<Vec<u8>>| {
        // What a reader hands down is not clean either.
        let mut page = vec![pattern; room];
        let some = ring.reader().unwrap().read_page(&mut page, whole);
        if let Some(end) = some {
            assert!(page[end.min(room)..].iter().all(|&byte| byte == 0));
            if room >= 4096 {
                assert!(parse_page(&page).is_some());
            }
            read.push(page);
        }
        some.is_some()
    };
    for step in steps {
        match *step {
            Step::Write(len, gap, pid) => {
                ts = gap.saturating_add(ts);
                let note = Note::new(pid, comm("task"));
                // The payload is all written, as a handler does.
                let _ = write_as(&ring, note, ts, &vec![1; len]);
            }
            Step::Read(room, whole) => {
                take(room, whole, &mut read);
            }
        }
    }
    while take(4096, false, &mut read) {}
    read
}

proptest! {
    #[test]
    fn pages_have_no_byte_that_was_not_written(steps in steps()) {
        let [one, other] = PATTERNS.map(|pattern| pages(&steps, pattern));
        prop_assert_eq!(one, other);
    }
}
