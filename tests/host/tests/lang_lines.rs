// SPDX-License-Identifier: GPL-2.0

//! Lines of `trace`: what is remembered from one to the next changes nothing.

use crate::support;

use ferroprobe_engine::engine::print::context::{self, Columns, Context, Time};
use ferroprobe_engine::engine::print::{ShownEvent, SymbolNames, TextLines};
use ferroprobe_engine::engine::record::{self, Class, Header};
use ferroprobe_engine::engine::ring::Note;
use ferroprobe_engine::engine::util::seq_buf::SeqBuf;
use proptest::prelude::*;
use support::{compile, text, Kernel};

/// What stands before an event, as `core::fmt` puts it together.
fn expected(context: &Context, header: Header) -> String {
    let name = context.task.name();
    let name = name.split(|&byte| byte == 0).next().unwrap();
    let name = text(|buf| buf.one_line(name));
    let pid = context.task.pid() as i32;
    let cpu = context.cpu;
    let flags = if context.irq_info {
        text(|buf| context::put_flags(buf, header))
    } else {
        String::new()
    };
    let time = match context.time {
        Time::Nanoseconds(ns) => {
            let micros = ns.saturating_add(500) / 1000;
            format!("{:5}.{:06}", micros / 1_000_000, micros % 1_000_000)
        }
        Time::Count(count) => format!("{count:12}"),
    };
    let tgid = match context.tgid {
        None => String::new(),
        Some(0) => " (-------)".into(),
        Some(tgid) => format!(" ({tgid:7})"),
    };
    format!("{name:>16}-{pid:<7}{tgid} [{cpu:03}] {flags} {time}: ")
}

fn name() -> impl Strategy<Value = [u8; 16]> {
    prop_oneof![
        Just(*b"bash\0\0\0\0\0\0\0\0\0\0\0\0"),
        Just(*b"a name, longest\0"),
        Just(*b"\xc3\xa9t\xc3\xa9\0\0\0\0\0\0\0\0\0\0\0"),
        Just([0xff; 16]),
        Just([0; 16]),
        any::<[u8; 16]>(),
    ]
}

fn contexts() -> impl Strategy<Value = (Context, Header)> {
    // Few of each, so that most were there before.
    let pid = prop_oneof![0i32..3, Just(16), Just(i32::MAX), any::<i32>()];
    let cpu = prop_oneof![0u32..3, Just(16), 995u32..1005, any::<u32>()];
    let flags = prop_oneof![Just(0u8), any::<u8>()];
    let ns = prop_oneof![
        999_999_000u64..1_000_001_000,
        0u64..3_000_000_000,
        any::<u64>(),
        u64::MAX - 1000..=u64::MAX,
    ];
    let time = prop_oneof![
        4 => ns.clone().prop_map(Time::Nanoseconds),
        1 => ns.prop_map(Time::Count),
    ];
    let depth = prop_oneof![Just(0u8), any::<u8>()];
    (pid, name(), cpu, time, any::<bool>(), flags, depth).prop_map(
        |(pid, name, cpu, time, irq_info, flags, preempt_count)| {
            let task = Note::new(pid, name);
            let context = Context {
                task,
                cpu,
                time,
                irq_info,
                tgid: (cpu % 2 == 0).then_some(cpu),
            };
            let header = Header {
                event: 7,
                flags,
                preempt_count,
                pid,
            };
            (context, header)
        },
    )
}

/// Symbols whose text is too long to be remembered, too, and that say where
/// addresses are shown.
struct Names {
    with_addresses: bool,
}

impl SymbolNames for Names {
    fn symbolize(&mut self, address: u64, with_offset: bool, buf: &mut SeqBuf<'_>) {
        buf.pad(b'f', 0, address as usize % 400);
        buf.text(b"+0x");
        buf.hexadecimal(address);
        if with_offset {
            buf.text(b"/0x10");
        }
    }

    fn shows_addresses(&self) -> bool {
        self.with_addresses
    }

    fn is_return_trampoline(&mut self, address: u64) -> bool {
        address == 5
    }
}

proptest! {
    #[test]
    fn columns_are_those_of_the_standard_formatting(
        contexts in prop::collection::vec(contexts(), 1..40),
    ) {
        let mut columns = Columns::new();
        for (context, header) in contexts {
            let line = text(|buf| columns.put(buf, &context, header));
            prop_assert_eq!(line, expected(&context, header));
        }
    }

    #[test]
    fn a_line_does_not_depend_on_those_before(
        hits in prop::collection::vec(
            (0usize..3, 0u64..8, 0u64..600, any::<bool>(), any::<u32>()),
            1..40,
        ),
    ) {
        let mut kernel = Kernel::default();
        let programs = ["p f a=%ax:u32", "r f $retval:x32", "p g b=%ax:s32"]
            .map(|text| compile(text, &mut kernel).unwrap().1);
        let mut lines = TextLines::new();
        for (number, (which, first, caller, with_addresses, value)) in hits.into_iter().enumerate() {
            let layout = programs[which].layout();
            let mut bytes = vec![0; 28];
            let header = Header { event: 7, flags: 0, preempt_count: 0, pid: 1 };
            record::start_probe(&mut bytes, header, first * 77);
            if layout.class == Class::RETURN {
                record::put_return_address(&mut bytes, caller);
            }
            let at = layout.start();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            let name: &[u8] = [&b"one"[..], b"two", b"three"][which];
            let event = ShownEvent { key: which as u64, group: b"kprobes", name, layout };
            let mut names = Names { with_addresses };
            let line = text(|buf| lines.put(buf, event, &bytes, &mut names));
            let fresh = text(|buf| TextLines::new().put(buf, event, &bytes, &mut names));
            prop_assert_eq!(&line, &fresh);
            let value = match which {
                0 => format!(" a={value}\n"),
                1 => format!(" arg1=0x{value:x}\n"),
                _ => format!(" b={}\n", value as i32),
            };
            prop_assert!(line.ends_with(&value), "{line}");
            if number % 8 == 7 {
                lines.forget();
            }
        }
    }
}

/// What `forget` is for: the same address has another name.
#[test]
fn a_name_that_changed_is_shown_once_the_old_one_is_forgotten() {
    struct Renamed(&'static [u8]);
    impl SymbolNames for Renamed {
        fn symbolize(&mut self, _address: u64, _with_offset: bool, buf: &mut SeqBuf<'_>) {
            buf.bytes(self.0);
        }
    }
    let (_, program) = compile("p f", &mut Kernel::default()).unwrap();
    let event = ShownEvent {
        key: 1,
        group: b"kprobes",
        name: b"e",
        layout: program.layout(),
    };
    let mut record = vec![0; 16];
    let header = Header {
        event: 7,
        flags: 0,
        preempt_count: 0,
        pid: 1,
    };
    record::start_probe(&mut record, header, 0x1000);
    let mut lines = TextLines::new();
    let shown = |name, lines: &mut TextLines| {
        text(|buf| lines.put(buf, event, &record, &mut Renamed(name)))
    };
    assert_eq!(shown(b"old", &mut lines), "e: (old)\n");
    assert_eq!(shown(b"new", &mut lines), "e: (old)\n");
    lines.forget();
    assert_eq!(shown(b"new", &mut lines), "e: (new)\n");
}
