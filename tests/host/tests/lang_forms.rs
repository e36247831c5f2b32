// SPDX-License-Identifier: GPL-2.0

//! The forms of records that options choose: raw, hex, bin, fields, the columns of latencies.

use crate::support;

use ferroprobe_engine::engine::print::context::{Context, Time};
use ferroprobe_engine::engine::print::{
    put_latency, put_short_context, put_shown_fields, put_type, LatencyColumns, PrintForm,
    ShownEvent,
};
use ferroprobe_engine::engine::record::Header;
use ferroprobe_engine::engine::ring::Note;
use ferroprobe_engine::engine::util::seq_buf::TextBuf;
use support::{hit, text, Kernel};

const HEADER: Header = Header {
    event: 40000,
    flags: 1,
    preempt_count: 0x21,
    pid: 42,
};

#[test]
fn short_forms_have_context_and_number() {
    for (form, want) in [
        (PrintForm::Raw, &b"42 3 1000 type: 40000\n"[..]),
        (
            PrintForm::Hex,
            b"0000002a 00000003 00000000000003e8 type: 40000\n\n",
        ),
        (
            PrintForm::Binary,
            b"*\0\0\0\x03\0\0\0\xe8\x03\0\0\0\0\0\0type: 40000\n",
        ),
    ] {
        let mut kernel = Kernel::default();
        let (_, program, record) = hit("p vfs_read %ax", &mut kernel);
        let event = ShownEvent {
            key: 0,
            group: b"kprobes",
            name: b"ev",
            layout: program.layout(),
        };
        let mut out = TextBuf::new();
        out.add(|buf| {
            put_short_context(buf, form, HEADER, (3, 1000));
            put_type(buf, form, HEADER, Some((event, &record)));
        })
        .expect("memory");
        assert_eq!(out.as_bytes(), want, "{form:?}");
        // Of an event that is not known.
        let unknown = text(|buf| put_type(buf, form, HEADER, None));
        let want = match form {
            PrintForm::Raw => "40000 ?\n",
            PrintForm::Hex => "\n",
            _ => "",
        };
        assert_eq!(unknown, want);
    }
}

fn fields(definition: &str, kernel: &mut Kernel) -> String {
    let (_, program, record) = hit(definition, kernel);
    let mut names: &Kernel = kernel;
    text(|buf| {
        let event = ShownEvent {
            key: 0,
            group: b"kprobes",
            name: b"ev",
            layout: program.layout(),
        };
        put_shown_fields(buf, event, &record, &mut names);
    })
}

#[test]
fn fields_are_shown_by_their_sizes() {
    let mut kernel = Kernel::default();
    kernel.set("ax", 0xffff_ffff_ffff_ff41);
    kernel.set("di", 0x3000);
    kernel.write(0x3000, b"a text\0");
    kernel.set("si", 0x3100);
    kernel.write(0x3100, b"\xff\n\0");
    let got = fields(
        "p vfs_read a=%ax:u8 b=%ax:s16 c=%ax:s32 d=%ax:s64 e=+0(%di):string f=+0(%si):string \
         g=+0(%di):u8[3] h=+0(%di):u8[4] i=+0(%cx):string j=\\1:u8",
        &mut kernel,
    );
    let (head, rest) = got.split_once(" a=").expect("a field");
    assert!(head.starts_with("ev: __probe_ip="), "{head}");
    assert!(head.ends_with(" (32768)"), "{head}");
    let (numbers, rest) = rest.split_once(" d=").expect("a field");
    assert_eq!(numbers, "'A'(65) b=0xff41 (65345) c=0xffffff41 (-191)");
    let (number, rest) = rest.split_once(" e=").expect("a field");
    assert!(number.ends_with(" (-191)"), "{number}");
    assert_eq!(
        rest,
        "a text f=... (ff:0a:00) g=<INVALID-SIZE> h=0x65742061 (1702109281) i=(fault) j=(1)\n"
    );
}

fn latency(time: Time, is_verbose: bool, next: Option<u64>) -> String {
    let context = Context {
        task: Note::new(42, *b"a long name\0\0\0\0\0"),
        cpu: 3,
        time,
        irq_info: true,
        tgid: None,
    };
    let columns = LatencyColumns {
        start: 1_000_000,
        index: 7,
        is_verbose,
    };
    let mut out = TextBuf::new();
    out.add(|buf| buf.bytes(b"before\n")).expect("memory");
    let (start, mut gap) = (out.len(), None);
    out.add(|buf| {
        gap = put_latency(buf, &context, HEADER, &columns);
        buf.bytes(b"event\n");
    })
    .expect("memory");
    if let Some(gap) = gap {
        gap.fill(next, |delay| out.insert(start + gap.at, delay))
            .expect("memory");
    }
    let text = String::from_utf8(out.as_bytes().to_vec()).expect("UTF-8");
    text.strip_prefix("before\n").expect("it").to_string()
}

#[test]
fn latencies_are_told() {
    let at = Time::Nanoseconds(1_234_567);
    for (delay, mark) in [
        (0u64, ' '),
        (10_400, ' '),
        (10_600, '+'),
        (99_000, '+'),
        (101_000, '!'),
        (1_001_000, '#'),
        (10_001_000, '*'),
        (100_001_000, '@'),
        (1_000_001_000, '$'),
    ] {
        let want = format!("a long n-42        3d..12  235us{mark}: event\n");
        assert_eq!(latency(at, false, Some(1_234_567 + delay)), want);
    }
    assert_eq!(
        latency(at, false, None),
        "a long n-42        3d..12  235us : event\n"
    );
    assert_eq!(
        latency(at, true, Some(3_234_567)),
        "     a long name      42   3 1 00000001 00000007 [000004d3] 0.235ms (+2.000ms): event\n"
    );
    assert_eq!(
        latency(Time::Count(1_000_005), false, Some(1_000_010)),
        "a long n-42        3d..12    5: event\n"
    );
    assert_eq!(
        latency(Time::Count(1_000_005), true, Some(1_000_010)),
        "     a long name      42   3 1 00000001 00000007 [00000000000f4245] 5 (+5): event\n"
    );
}
