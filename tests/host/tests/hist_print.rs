// SPDX-License-Identifier: GPL-2.0

//! What `hist` and `hist_graph` show. The expected text is laid out as by the format strings
//! of the 7.3 kernel's trace_events_hist.c.

use crate::support;

use ferroprobe_engine::engine::hist::{
    self, Heading, Histogram, KeyNames, KeySource, Printing, Values, STACK_DEPTH, TEXT_ROOM,
};
use ferroprobe_engine::engine::language::lex::Span;
use ferroprobe_engine::engine::print::SymbolNames;
use ferroprobe_engine::engine::util::seq_buf::SeqBuf;
use ferroprobe_engine::sys::{self, OnCpu, PerCpu};
use support::{compile, Alone, Kernel};

/// Pid, a number and a text.
#[derive(Clone, Copy)]
struct Hit(i32, u64, &'static str);

impl Values for Hit {
    fn number(&self, source: KeySource, _in_usecs: bool) -> u64 {
        match source {
            KeySource::Argument { signed: true, .. } => -(self.1 as i64) as u64,
            KeySource::Argument { .. } => self.1,
            KeySource::Pid => i64::from(self.0) as u64,
            _ => 1,
        }
    }

    fn element(&self, _index: u8, n: u8) -> u64 {
        self.1.checked_shr(8 * u32::from(n)).unwrap_or(0)
    }

    fn text(&self, _index: u8, out: &mut [u8; TEXT_ROOM]) -> Option<usize> {
        let text = [self.2.as_bytes(), b"\0"].concat();
        let length = text.len().min(TEXT_ROOM);
        out[..length].copy_from_slice(&text[..length]);
        Some(length)
    }

    fn comm(&self) -> [u8; 16] {
        let mut comm = [0; 16];
        comm[..self.2.len()].copy_from_slice(self.2.as_bytes());
        comm
    }

    fn stack(&self, frames: &mut [u64; STACK_DEPTH]) {
        frames[0] = 0x8010;
        frames[1] = self.1;
        self.more(1 << 63, &mut frames[2..]);
    }

    fn user_stack(&self, frames: &mut [u64; STACK_DEPTH]) -> u32 {
        frames[0] = self.1;
        self.more(0, &mut frames[1..]);
        9
    }
}

impl Hit {
    /// Adds frames from `first` on: a stack of `deep` has as many as are looked for, one of `full`
    /// one less.
    fn more(&self, first: u64, to: &mut [u64]) {
        let count = match self.2 {
            "deep" => to.len(),
            "full" => to.len() - 1,
            _ => 0,
        };
        for (frame, n) in to.iter_mut().zip(1..=count) {
            *frame = first + n as u64;
        }
    }
}

struct Kallsyms;

impl SymbolNames for Kallsyms {
    fn symbolize(&mut self, address: u64, with_offset: bool, buf: &mut SeqBuf<'_>) {
        match (address, with_offset) {
            (0x8010, true) => buf.bytes(b"vfs_read+0x10/0x100"),
            (0x8010, false) => buf.bytes(b"vfs_read"),
            _ => buf.bytes(format!("{address:#x}").as_bytes()),
        }
    }
}

impl KeyNames for Kallsyms {
    fn syscall(&mut self, number: u64, buf: &mut SeqBuf<'_>) -> bool {
        if number == 257 {
            buf.bytes(b"sys_openat");
        }
        number == 257
    }
}

fn histogram(trigger: &str, hits: &[Hit]) -> Histogram {
    let event = "p f num=%cx neg=%bx:s32 str=+8(%di):string \
        bytes=+0(%di):u8[3] signed=+0(%di):s8[3] chars=+0(%di):char[3] \
        one=+0(%di):u8[1] ip=%ax:ip4 six=+0(%di):ip6 mac=+0(%di):mac";
    histogram_of(event, trigger, hits, &mut Kernel::default())
}

fn histogram_of(event: &str, trigger: &str, hits: &[Hit], kernel: &mut Kernel) -> Histogram {
    let (_, program) = compile(event, kernel).unwrap();
    let span = Span {
        bytes: trigger.as_bytes(),
        at: 0,
    };
    let spec = hist::parse(span, program.layout(), &Alone)
        .expect(trigger)
        .spec;
    let tables = PerCpu::new(1, |_| spec.own_table(true)).unwrap();
    let histogram = Histogram::new(spec, (tables, None), false);
    // SAFETY: the test has one thread.
    let here = unsafe { OnCpu::new(0) };
    for hit in hits {
        histogram.update(hit, &here);
    }
    histogram
}

const HEADING: Heading<'static> = Heading {
    filter: None,
    is_paused: false,
    index: 0,
};

fn written(histogram: &Histogram, heading: Heading<'_>, as_graph: bool) -> String {
    let mut out = sys::Vec::new();
    let snapshot = histogram.read().unwrap();
    let entries = snapshot.entries();
    let mut printing = Printing::new(snapshot, as_graph).unwrap();
    let mut parts = 0;
    while printing
        .write_next(&mut out, heading, &mut Kallsyms)
        .unwrap()
    {
        parts += 1;
    }
    assert_eq!(parts, entries + 2, "a part for each entry");
    String::from_utf8(out.to_vec()).unwrap()
}

fn shown(trigger: &str, hits: &[Hit]) -> String {
    written(&histogram(trigger, hits), HEADING, false)
}

/// The lines of the entries.
fn entries(trigger: &str, hits: &[Hit]) -> Vec<String> {
    entries_in(&shown(trigger, hits))
}

fn entries_in(text: &str) -> Vec<String> {
    let (_, entries) = text.split_once("#\n\n").unwrap();
    let (entries, _) = entries.split_once("\n\nTotals:").unwrap();
    entries.lines().map(String::from).collect()
}

const HITS: &[Hit] = &[
    Hit(7, 100, "cat"),
    Hit(7, 50, "cat"),
    Hit(1234, 3, "a long name"),
    Hit(7, 50, "cat"),
];

#[test]
fn a_text_that_is_cut_is_marked() {
    let text: String = "0123456789".repeat(30);
    let text: &'static str = text.leak();
    let hits: Vec<Hit> = [254, 255, 256, 257, 300]
        .map(|length| Hit(1, 1, &text[..length]))
        .to_vec();
    // The texts from 256 bytes on are one key, and not that of 255 bytes.
    let expected = [(254, "", 1), (255, "", 1), (255, "...", 3)];
    let expected = expected.map(|(length, mark, hits)| {
        format!("{{ str: {}{mark} }} hitcount: {hits:10}", &text[..length])
    });
    assert_eq!(entries("keys=str:sort=str", &hits), expected);
}

#[test]
fn the_whole_file() {
    let expected = "\
# event histogram
#
# trigger info: hist:keys=common_pid:vals=hitcount,num:sort=hitcount:size=2048 [active]
#

{ common_pid:       1234 } hitcount:          1  num:          3
{ common_pid:          7 } hitcount:          3  num:        200

Totals:
    Hits: 4
    Entries: 2
    Dropped: 0
";
    assert_eq!(shown("keys=common_pid:vals=num", HITS), expected);
    let histogram = histogram("keys=common_pid", &[]);
    let heading = Heading {
        filter: Some(b"num > 1"),
        is_paused: true,
        index: 1,
    };
    assert_eq!(
        written(&histogram, heading, false),
        "\n\n# event histogram\n#\n# trigger info: hist:keys=common_pid:vals=hitcount:\
         sort=hitcount:size=2048 if num > 1 [paused]\n#\n\n\nTotals:\n    Hits: 0\n    \
         Entries: 0\n    Dropped: 0\n"
    );
}

#[test]
fn every_modifier_of_a_key() {
    let one = |trigger: &str, hit| entries(trigger, &[hit]).join("\n");
    let hit = Hit(7, 0x8010, "cat");
    let tail = " hitcount:          1";
    let cases = [
        ("num", "{ num:      32784 }"),
        ("num.hex", "{ num: 8010 }"),
        ("num.usecs", "{ num:      32784 }"),
        ("num.log2", "{ num: ~ 2^16 }"),
        ("num.buckets=100", "{ num: ~ 32700-32799 }"),
        (
            "common_pid.execname",
            "{ common_pid: cat             [         7] }",
        ),
        (
            "num.syscall",
            "{ num: unknown_syscall               [32784] }",
        ),
        (
            "num,common_pid",
            "{ num:      32784, common_pid:          7 }",
        ),
        ("neg", "{ neg:     -32784 }"),
        ("neg.hex", "{ neg: ffffffffffff7ff0 }"),
        ("neg.log2", "{ neg: < 0    }"),
        ("neg.buckets=100", "{ neg: ~ -32800--32701 }"),
        ("neg.errno", "{ neg:     -32784 }"),
    ];
    for (key, expected) in cases {
        let found = one(&format!("keys={key}"), hit);
        assert_eq!(found, format!("{expected}{tail}"), "{key}");
    }
    assert_eq!(
        one("keys=neg.errno:vals=neg", Hit(7, 2, "cat")),
        format!("{{ neg:    -ENOENT }}{tail}  neg:         -2")
    );
    let padded = |text: &str, width: usize| format!("{text:width$}");
    assert_eq!(
        one("keys=num.sym", hit),
        format!("{{ num: [8010] {} }}{tail}", padded("vfs_read", 45))
    );
    assert_eq!(
        one("keys=num.sym-offset", hit),
        format!(
            "{{ num: [8010] {} }}{tail}",
            padded("vfs_read+0x10/0x100", 55)
        )
    );
    assert_eq!(
        one("keys=str", hit),
        format!("{{ str: {} }}{tail}", padded("cat", 50))
    );
    assert_eq!(
        one("keys=num.syscall", Hit(7, 257, "")),
        format!("{{ num: {}[257] }}{tail}", padded("sys_openat", 30))
    );
    assert_eq!(
        one("keys=num.log2", Hit(7, 5, "")),
        format!("{{ num: ~ 2^3  }}{tail}")
    );
    assert_eq!(
        one("keys=common_stacktrace", hit),
        format!(
            "{{ common_stacktrace:\n         vfs_read+0x10/0x100\n         \
             vfs_read+0x10/0x100\n}}{tail}"
        )
    );
    assert_eq!(
        one("keys=common_ustacktrace,num", hit),
        format!(
            "{{ common_ustacktrace: process 9\n         <0000000000008010>\n\
             , num: {:>10}}}{tail}",
            32784
        )
    );
    // A stack that is deeper than what is kept says so, whole ones do not.
    let high = |n: usize| format!("         0x80000000000000{n:02x}\n");
    let frames: String = (1..=14).map(high).collect();
    let low = |n: usize| format!("         <00000000000000{n:02x}>\n");
    let user: String = (1..=15).map(low).collect();
    for (which, more) in [("full", ""), ("deep", "         ...\n")] {
        let hit = Hit(7, 0x8010, which);
        let expected = format!(
            "{{ common_stacktrace:\n         vfs_read+0x10/0x100\n         \
             vfs_read+0x10/0x100\n{frames}{more}}}{tail}"
        );
        assert_eq!(one("keys=common_stacktrace", hit), expected);
        let expected = format!(
            "{{ common_ustacktrace: process 9\n         <0000000000008010>\n{user}{more}}}{tail}"
        );
        assert_eq!(one("keys=common_ustacktrace", hit), expected);
    }
    let idle = one("keys=common_pid.execname", Hit(0, 1, "swapper/0"));
    assert_eq!(
        idle,
        format!("{{ common_pid: <idle>          [         0] }}{tail}")
    );
}

#[test]
fn every_modifier_of_a_value() {
    let found = entries("keys=common_pid:vals=num.percent,num.graph,num.hex", HITS);
    let bar = |n: usize| format!("{:20}", "#".repeat(n));
    let expected = [
        format!(
            "{{ common_pid:       1234 }} hitcount:          1  num (%):   1.47  num: {}  \
             num:          3",
            bar(0)
        ),
        format!(
            "{{ common_pid:          7 }} hitcount:          3  num (%):  98.52  num: {}  \
             num:         c8",
            bar(20)
        ),
    ];
    assert_eq!(found, expected);
    let found = entries(
        "keys=common_pid:vals=neg.min,neg.max,num.avg:nohitcount",
        HITS,
    );
    assert_eq!(
        found[1],
        "{ common_pid:          7 }  neg (min):       -100  neg (max):        -50  \
         num (avg):         66"
    );
    let found = entries("keys=common_pid:vals=hitcount.percent:nohitcount", HITS);
    assert_eq!(found[1], "{ common_pid:          7 }  hitcount (%):  75.00");
}

#[test]
fn addresses_are_keys() {
    let hits = [
        Hit(1, 0x0a00_00fe, "x"),
        Hit(1, 0x0a00_00fe, "x"),
        Hit(1, 0x80fe, "x"),
    ];
    let pad = |text: &str, width: usize| format!("{text:<width$}");
    let six = |text| format!("{{ six: {} }}", pad(text, 39));
    assert_eq!(
        entries("keys=six:sort=six", &hits),
        [
            six("fe00:a::") + " hitcount:          2",
            six("fe80::") + " hitcount:          1"
        ]
    );
    assert_eq!(
        entries("keys=ip:sort=ip", &hits),
        [
            format!("{{ ip: {} }} hitcount:          1", pad("0.0.128.254", 15)),
            format!("{{ ip: {} }} hitcount:          2", pad("10.0.0.254", 15)),
        ]
    );
    assert_eq!(
        entries("keys=mac", &hits[2..]),
        [format!(
            "{{ mac: {} }} hitcount:          1",
            pad("fe:80:00:00:00:00", 39)
        )]
    );
    // As a number, and as bytes.
    assert_eq!(
        entries("keys=ip.hex", &hits[2..]),
        ["{ ip: 80fe } hitcount:          1"]
    );
}

#[test]
fn entries_are_sorted() {
    let hits = [
        Hit(1, 5, "b"),
        Hit(2, 9, "a"),
        Hit(-1, 5, "c"),
        Hit(2, 9, "a"),
        Hit(3, 1, "aa"),
    ];
    let order = |trigger: &str| {
        let lines = entries(trigger, &hits);
        let pids = lines.iter().map(|line| {
            let (_, rest) = line.split_once("common_pid: ").unwrap();
            rest.split_whitespace().next().unwrap().parse().unwrap()
        });
        pids.collect::<Vec<i64>>()
    };
    assert_eq!(order("keys=common_pid"), [-1, 1, 3, 2]);
    assert_eq!(
        order("keys=common_pid:sort=common_pid.descending"),
        [3, 2, 1, -1]
    );
    assert_eq!(
        order("keys=common_pid:vals=num:sort=num,common_pid"),
        [3, -1, 1, 2]
    );
    assert_eq!(
        order("keys=common_pid:vals=num:sort=num,common_pid.descending"),
        [3, 1, -1, 2]
    );
    assert_eq!(
        order("keys=common_pid:vals=num:sort=num.descending"),
        [2, -1, 1, 3]
    );
    assert_eq!(
        order("keys=common_pid:vals=neg.min:sort=neg.min"),
        [2, -1, 1, 3]
    );
    assert_eq!(order("keys=common_pid:vals=neg:sort=neg"), [2, -1, 1, 3]);
    let texts = entries("keys=str:sort=str", &hits);
    let texts: Vec<_> = texts
        .iter()
        .map(|line| line.split(' ').nth(2).unwrap())
        .collect();
    assert_eq!(texts, ["a", "aa", "b", "c"]);
}

fn graph(trigger: &str, hits: &[Hit]) -> String {
    let out = written(&histogram(trigger, hits), HEADING, true);
    let (_, out) = out.split_once("#\n\n").unwrap();
    let (out, _) = out.split_once("\n\nTotals:").unwrap();
    out.to_string()
}

#[test]
fn bars() {
    let bar = |n: usize| format!("|{:52}|", "@".repeat(n));
    let hits = [1, 3, 4, 4, 4, 20, 5000].map(|n| Hit(1, n, ""));
    let expected = [
        format!("[0, 1]                    1 {}", bar(13)),
        format!("(1, 2]                    0 {}", bar(0)),
        format!("(2, 4]                    4 {}", bar(52)),
        format!("(4, 8]                    0 {}", bar(0)),
        format!("(8, 16]                   0 {}", bar(0)),
        format!("(16, 32]                  1 {}", bar(13)),
    ];
    let found = graph("keys=num.log2", &hits);
    let found: Vec<&str> = found.lines().collect();
    assert_eq!(found[..6], expected);
    assert_eq!(found.len(), 15);
    assert_eq!(
        found[13],
        format!("(4K, 8K]                  1 {}", bar(13))
    );
    // The numbers of this field are negative.
    let below = graph("keys=neg.log2", &hits);
    let expected = format!("(..., 0)                  7 {}\n", bar(52))
        + "p50 (..., 0)   p90 (..., 0)   p99 (..., 0)   of 7 hits";
    assert_eq!(below, expected);
    let below = [Hit(1, 0, ""), Hit(1, 1, ""), Hit(1, 10, ""), Hit(1, 11, "")];
    let expected = format!(
        "[-20, -10)                1 {}\n[-10, 0)                  2 {}\n\
         [0, 10)                   1 {}\np50 [-10, 0)   p90 [0, 10)   p99 [0, 10)   of 4 hits",
        bar(26),
        bar(52),
        bar(26)
    );
    assert_eq!(graph("keys=neg.buckets=10", &below), expected);
    let two = [Hit(2, 7, ""), Hit(1, 12, ""), Hit(2, 1, ""), Hit(2, 9, "")];
    let expected = format!(
        "{{ common_pid:          1 }}\n[10, 20)                  1 {}\n\
         p50 [10, 20)   p90 [10, 20)   p99 [10, 20)   of 1 hits\n\n\
         {{ common_pid:          2 }}\n[0, 10)                   3 {}\n\
         p50 [0, 10)   p90 [0, 10)   p99 [0, 10)   of 3 hits",
        bar(52),
        bar(52)
    );
    assert_eq!(graph("keys=common_pid,num.buckets=10", &two), expected);
    let plain = graph("keys=common_pid", &two);
    let first = plain.lines().next().unwrap();
    assert_eq!(
        first,
        format!("{{ common_pid:          1 }}          1 {}", bar(17))
    );
}

#[test]
fn percentiles() {
    // The truth is the number at that place of the sorted ones.
    for count in [1, 2, 9, 10, 11, 99, 100, 101, 1000] {
        let numbers: Vec<u64> = (0..count).map(|n| n * n % 3001).collect();
        let hits: Vec<Hit> = numbers.iter().map(|&n| Hit(1, n, "")).collect();
        let mut sorted = numbers;
        sorted.sort_unstable();
        let truth = [50, 90, 99].map(|percent| {
            let place = (sorted.len() * percent).div_ceil(100) - 1;
            let low = sorted[place] / 7 * 7;
            format!("p{percent} [{low}, {})", low + 7)
        });
        let found = graph("keys=num.buckets=7", &hits);
        let expected = format!("{}   of {count} hits", truth.join("   "));
        assert_eq!(found.lines().last(), Some(expected.as_str()));
    }
}

#[test]
fn arrays_are_keys() {
    let hits = [
        Hit(1, 0x00ff01, "x"),
        Hit(1, 0x000001, "x"),
        Hit(1, 0x0a4241, "x"),
    ];
    assert_eq!(
        entries("keys=bytes:sort=bytes", &hits),
        [
            "{ bytes: {1,0,0} } hitcount:          1",
            "{ bytes: {1,255,0} } hitcount:          1",
            "{ bytes: {65,66,10} } hitcount:          1",
        ]
    );
    // An element below zero comes before one that is not.
    assert_eq!(
        entries("keys=signed:sort=signed", &hits),
        [
            "{ signed: {1,-1,0} } hitcount:          1",
            "{ signed: {1,0,0} } hitcount:          1",
            "{ signed: {65,66,10} } hitcount:          1",
        ]
    );
    assert_eq!(
        entries("keys=bytes.hex:sort=bytes.descending", &hits)[0],
        "{ bytes: {41,42,a} } hitcount:          1"
    );
    // What is behind the first NUL is no part of a text.
    let texts = entries("keys=chars:sort=chars", &hits);
    let one_text = [Hit(1, 0x410041, "x"), Hit(1, 0x420041, "x")];
    assert_eq!(entries("keys=chars", &one_text).len(), 1);
    let expected = format!("{{ chars: AB\\n{:47} }} hitcount:          1", "");
    assert_eq!(texts[2], expected);
    assert_eq!(entries("keys=bytes,signed", &[hits[0], hits[0]]).len(), 1);
    // One of one element is a word, as a number is.
    assert_eq!(
        entries("keys=one:sort=one", &hits),
        [
            "{ one: {1} } hitcount:          2",
            "{ one: {65} } hitcount:          1",
        ]
    );
}

#[test]
fn names_of_bits_that_are_too_long_are_a_number() {
    let text = include_str!("../../data/lang-btf.txt");
    let is_type = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let count = text.lines().filter(is_type).count();
    let name = |n: u32| format!(" FLAG_WITH_A_LONG_NAME_NUMBER_{n}:{}", 1u32 << n);
    let names: String = (0..31).map(name).collect();
    let (enumeration, function) = (count + 1, count + 2);
    let text = format!(
        "{text}\nenum long{names}\nprototype 1 flags:{enumeration}\nfunc flagged {function}"
    );
    let mut kernel = Kernel {
        blob: Some(support::btf::build(&text)),
        ..Kernel::default()
    };
    let hits = [Hit(1, 3, ""), Hit(1, 0x7fff_fff0, "")];
    let histogram = histogram_of("p flagged flags:u32", "keys=flags.enum", &hits, &mut kernel);
    let found = entries_in(&written(&histogram, HEADING, false));
    assert_eq!(
        found,
        [
            "{ flags: FLAG_WITH_A_LONG_NAME_NUMBER_0|FLAG_WITH_A_LONG_NAME_NUMBER_1 } \
             hitcount:          1",
            "{ flags: 0x7ffffff0 } hitcount:          1"
        ]
    );
}
