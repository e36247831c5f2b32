// SPDX-License-Identifier: GPL-2.0

//! The table of ready-made events is complete and consistent, and their texts are the kernel's.

use crate::support;

use ferroprobe_engine::engine::code::arch::Arch;
use ferroprobe_engine::engine::definition::ready::{ReadyGroup, ReadyRow, GROUPS};
use ferroprobe_engine::engine::language::types::Type;
use ferroprobe_engine::engine::print::{ShownEvent, TextLines};
use ferroprobe_engine::engine::record::{self, Field, Head, Layout, Name};
use std::collections::BTreeSet;
use support::{definition, text, Kernel};

fn print_of(row: &ReadyRow) -> &'static str {
    match row.class.head {
        Head::Ready(shape) => shape.print,
        _ => panic!("{} has no shape", row.name),
    }
}

fn rows() -> impl Iterator<Item = (&'static ReadyGroup, &'static ReadyRow)> {
    let groups = GROUPS.iter();
    groups.flat_map(|group| group.rows.iter().map(move |row| (group, row)))
}

fn row(group: &str, name: &str) -> &'static ReadyRow {
    let mut all = rows();
    let found = all.find(|(of, row)| of.name == group && row.name == name);
    found.expect("a row").1
}

#[test]
fn every_row_is_a_definition() {
    let mut names = BTreeSet::new();
    for (group, row) in rows() {
        let line = row.definition(group.name).unwrap();
        let line = String::from_utf8(line.to_vec()).unwrap();
        let parsed = definition(&line, Arch::X86_64);
        let parsed = parsed.unwrap_or_else(|error| panic!("{line}: {error:?}"));
        assert_eq!(parsed.args.len(), row.fields().len(), "{line}");
        names.insert((group.name, row.name));
        for (argument, field) in parsed.args.iter().zip(row.fields()) {
            assert_eq!(*argument.name, *field.name.as_bytes(), "{line}");
            // An array of characters has a place of its own.
            assert!(
                field.characters().is_none() || field.is_fixed_text(),
                "{line}"
            );
        }
    }
    assert!(names.len() > 90);
    assert!(ReadyGroup::named(b"sched").is_some());
    assert!(ReadyGroup::named(b"sch").is_none());
    assert_eq!(
        ReadyGroup::named(b"raw_syscalls").unwrap().events().count(),
        1
    );
}

/// The parts of `text` between commas that are in no parentheses, braces and quotes.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut is_quoted, mut start, mut all) = (0, false, 0, Vec::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                all.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(&text[start..]);
    all
}

#[test]
fn every_print_format_fits_the_fields() {
    for (_, row) in rows() {
        let print = print_of(row);
        let all = parts(print);
        let format = all[0];
        assert!(format.starts_with('"') && format.ends_with('"'), "{print}");
        assert_eq!(format.matches('%').count(), all.len() - 1, "{print}");
        for mark in ["REC->", "__get_str("] {
            for (at, _) in print.match_indices(mark) {
                let name = &print[at + mark.len()..];
                let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
                let name = &name[..end.unwrap_or(name.len())];
                let mut fields = row.fields().iter();
                assert!(fields.any(|field| field.name == name), "{name}: {print}");
            }
        }
    }
}

/// A value of a field.
enum Value {
    Number(u64),
    Text(&'static str),
}

use Value::{Number, Text};

/// The text of a record with these values.
fn printed(row: &ReadyRow, values: &[Value]) -> String {
    assert_eq!(row.fields().len(), values.len());
    let mut layout = Layout::of(row.class);
    let mut bytes = vec![0; layout.start() + 16 * values.len()];
    for (field, value) in row.fields().iter().zip(values) {
        let offset = u16::try_from(layout.start() + 8 * layout.fields.len()).unwrap();
        let base = match value {
            Number(_) if field.c_type.contains("int") => Type::S32,
            Number(_) if field.text.ends_with(":s64") => Type::S64,
            Number(_) => Type::U64,
            Text(_) => Type::STRING,
        };
        layout
            .fields
            .push(Field {
                name: Name::new(field.name.as_bytes()).unwrap(),
                base,
                count: None,
                offset,
                fault: None,
            })
            .unwrap();
        let at = usize::from(offset);
        match value {
            Number(number) => bytes[at..at + 8].copy_from_slice(&number.to_le_bytes()),
            Text(text) => {
                let start = u16::try_from(bytes.len()).unwrap();
                let length = u16::try_from(text.len() + 1).unwrap();
                let location = record::data_loc(start, length).to_le_bytes();
                bytes[at..at + 4].copy_from_slice(&location);
                bytes.extend_from_slice(text.as_bytes());
                bytes.push(0);
            }
        }
    }
    let kernel = Kernel::default();
    let event = ShownEvent {
        key: 0,
        group: b"g",
        name: row.name.as_bytes(),
        layout: &layout,
    };
    text(|buf| TextLines::new().put(buf, event, &bytes, &mut &kernel))
}

#[test]
fn texts_are_those_of_the_kernel() {
    let switch = |state| {
        let from = [Text("a b"), Number(1), Number(120), Number(state)];
        let to = [Text("c"), Number(u64::MAX), Number(5)];
        let all: Vec<_> = from.into_iter().chain(to).collect();
        printed(row("sched", "sched_switch"), &all)
    };
    for (state, shown) in [
        (0, "R"),
        (1, "S"),
        (2, "D"),
        (0x80, "I"),
        (0x100, "R+"),
        (0x101, "S+"),
        (0x21, "S|Z"),
    ] {
        assert_eq!(
            switch(state),
            format!(
                "sched_switch: prev_comm=a b prev_pid=1 prev_prio=120 prev_state={shown} \
                 ==> next_comm=c next_pid=-1 next_prio=5\n"
            )
        );
    }
    let wakeup = [Text("x"), Number(7), Number(120), Number(3)];
    assert_eq!(
        printed(row("sched", "sched_wakeup"), &wakeup),
        "sched_wakeup: comm=x pid=7 prio=120 target_cpu=003\n"
    );
    for (vector, name) in [(0, "HI"), (9, "RCU"), (10, "0xa")] {
        assert_eq!(
            printed(row("irq", "softirq_entry"), &[Number(vector)]),
            format!("softirq_entry: vec={vector} [action={name}]\n")
        );
    }
    assert_eq!(
        printed(row("irq", "irq_handler_exit"), &[Number(4), Number(0)]),
        "irq_handler_exit: irq=4 ret=unhandled\n"
    );
    let timer = [
        Number(0xffff_8880_0000_1000),
        Number(0x10),
        Number(4_294_896_839),
        Number(4_294_896_840),
        Number(4_294_896_841),
        Number(0x0218_0003),
    ];
    let shown = printed(row("timer", "timer_start"), &timer);
    assert!(
        shown.starts_with("timer_start: timer=ffff888000001000 function="),
        "{shown}"
    );
    assert!(
        shown.ends_with(
            " expires=4294896839 [timeout=-2] bucket_expiry=4294896840 cpu=3 idx=8 flags=D|P\n"
        ),
        "{shown}"
    );
    let itimer = [
        Number(0),
        Number(9),
        Number(1),
        Number(2_003_000),
        Number(0),
        Number(999_999_999),
    ];
    assert_eq!(
        printed(row("timer", "itimer_state"), &itimer),
        "itimer_state: which=0 expires=9 it_value=1.002003 it_interval=0.999999\n"
    );
    let stop = |dependency| printed(row("timer", "tick_stop"), &[Number(1), Number(dependency)]);
    assert_eq!(stop(0), "tick_stop: success=1 dependency=NONE\n");
    assert_eq!(stop(4), "tick_stop: success=1 dependency=SCHED\n");
    let setup = [Number(1), Number(7), Number(0x0a)];
    assert_eq!(
        printed(row("timer", "hrtimer_setup"), &setup),
        "hrtimer_setup: hrtimer=0000000000000001 clockid=CLOCK_BOOTTIME mode=ABS|PINNED|HARD\n"
    );
    let request = [
        Number(8 << 20 | 17),
        Number(2048),
        Number(8),
        Number(4096),
        Number(2 << 13 | 1 << 3 | 4),
        Text("WS"),
        Text("dd"),
        Text(""),
    ];
    assert_eq!(
        printed(row("block", "block_rq_issue"), &request),
        "block_rq_issue: 8,17 WS 4096 () 2048 + 8 be,1,4 [dd]\n"
    );
}
