// SPDX-License-Identifier: GPL-2.0

//! Durations and sizes, with units if the option `units` is on.

use crate::support;

use ferroprobe_engine::engine::print::{ShownEvent, SymbolNames, TextLines};
use ferroprobe_engine::engine::util::seq_buf::SeqBuf;
use support::{hit, printed, text, Kernel};

/// The names of a reader with the option.
struct WithUnits;

impl SymbolNames for WithUnits {
    fn symbolize(&mut self, _address: u64, _with_offset: bool, buf: &mut SeqBuf<'_>) {
        buf.text(b"symbol");
    }

    fn shows_units(&self) -> bool {
        true
    }
}

/// The arguments as `trace` shows them with the option.
fn with_units(definition: &str, kernel: &mut Kernel) -> String {
    let (_, program, record) = hit(definition, kernel);
    let out = text(|buf| {
        let event = ShownEvent {
            key: 0,
            group: b"g",
            name: b"e",
            layout: program.layout(),
        };
        TextLines::new().put(buf, event, &record, &mut WithUnits);
    });
    out.split_once(')').unwrap().1.trim().to_string()
}

#[test]
fn units_are_shown_where_asked() {
    let mut k = Kernel::default();
    k.set("ax", 1_204_567);
    k.set("bx", 131_072);
    let definition =
        "r vfs_read $duration t=%ax:ns n=%bx:size small=%cx:size n64=%ax:u64 d=$duration:u32";
    assert_eq!(
        with_units(definition, &mut k),
        "duration=1.234us t=1.204ms n=128K small=0 n64=1204567 d=1234"
    );
    assert_eq!(
        printed(definition, &mut k),
        "duration=1234 t=1204567 n=131072 small=0 n64=1204567 d=1234"
    );
}

#[test]
fn durations_have_three_digits() {
    for (nanoseconds, want) in [
        (0u64, "0ns"),
        (999, "999ns"),
        (1_000, "1.000us"),
        (41_804, "41.80us"),
        (999_999, "999.9us"),
        (1_000_000, "1.000ms"),
        (2_003_914_329, "2.003s"),
        (u64::MAX, "18446744073s"),
    ] {
        let mut k = Kernel::default();
        k.set("ax", nanoseconds);
        assert_eq!(
            with_units("p vfs_read t=%ax:ns", &mut k),
            format!("t={want}")
        );
    }
}

#[test]
fn sizes_are_exact_where_they_are_short() {
    for (bytes, want) in [
        (10_239u64, "10239"),
        (10_240, "10K"),
        (100_000, "97.6K"),
        (1 << 20, "1M"),
        (1 << 40, "1T"),
        (u64::MAX, "16777215.9T"),
    ] {
        let mut k = Kernel::default();
        k.set("ax", bytes);
        assert_eq!(
            with_units("p vfs_read n=%ax:size", &mut k),
            format!("n={want}")
        );
    }
}
