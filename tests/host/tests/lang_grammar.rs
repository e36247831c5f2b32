// SPDX-License-Identifier: GPL-2.0

//! The examples of `Documentation/grammar.rst`, and its table of refusals.

use crate::support;

use std::fmt::Write;

use ferroprobe_engine::engine::definition::parse;
use ferroprobe_engine::engine::language::lex::Command;
use ferroprobe_engine::engine::program::fetch::Symbols;
use ferroprobe_engine::engine::refusal::error::{Errno, Kind, Subject};
use support::{btf, printed, with_stacks, Kernel};

const GRAMMAR: &str = include_str!("../../../Documentation/grammar.rst");

const FILE: u64 = 0xffff_8880_04a3_c000;
const DENTRY: u64 = 0xffff_8880_0514_20c0;
const NAME: u64 = 0xffff_8880_0514_20f8;
const ARGV: u64 = 0xffff_8880_0600_0000;
const BUFFER: u64 = 0x7ffd_5f1a_2b40;
const TASK: u64 = 0xffff_8880_03f9_8000;

/// A task called `cat` that reads 832 bytes of a file called `README`.
fn machine(text: &str) -> Kernel {
    let mut k = Kernel {
        blob: Some(btf::sample()),
        comm: b"cat",
        current: TASK,
        ..Kernel::default()
    };
    k.set("di", FILE);
    k.set("si", BUFFER);
    k.set("dx", 832);
    k.set("cx", 0xffff_c900_0015_7ef0);
    k.set("sp", 0xffff_c900_0015_7e80);
    k.stack = vec![0xffff_ffff_8132_a1cc];
    k.return_address = 0xffff_ffff_8132_a1cc;
    // At a return there is what was read, in the examples of types -2.
    k.set(
        "ax",
        if text.starts_with('r') {
            832
        } else {
            u64::MAX - 1
        },
    );
    k.set("bx", 0xffff_c900_0015_7e00);
    k.write(0xffff_c900_0015_7e00, &(FILE + 16).to_le_bytes());
    for (offset, value) in [
        (0, 557_087),
        (16, 557_087),
        (24, DENTRY),
        (0x28, NAME),
        (0x48, DENTRY),
    ] {
        k.write(FILE + offset, &u64::to_le_bytes(value));
    }
    k.write(DENTRY + 40, &NAME.to_le_bytes());
    k.write(NAME, b"README\0");
    k.write_user(BUFFER, b"\x7fELF\0\0\0\0");
    k.set("r9", ARGV);
    for (n, (at, word)) in [(0, "ls"), (8, "-l"), (16, "/")].into_iter().enumerate() {
        k.write(ARGV + 0x100 + at, format!("{word}\0").as_bytes());
        k.write(ARGV + 8 * n as u64, &(ARGV + 0x100 + at).to_le_bytes());
    }
    k.write(ARGV + 24, &[0; 8]);
    k.write(TASK, &[0; 256]);
    k.write(TASK + 8, &1447u32.to_le_bytes());
    k.write(TASK + 16, b"cat\0");
    k.write(0xffff_ffff_8280_6980, &4_294_937_296u64.to_le_bytes());
    k.write(0xffff_ffff_8220_0140, b"%s version %s\n\0");
    k.per_cpu = 0xffff_8880_7dd0_0000;
    k.write(0xffff_8880_7dd2_0010, &1u64.to_le_bytes());
    // Where the made-up structure has its bitfields.
    if text.contains("f_bits") {
        k.write(FILE + 40, &[0b1111_0101]);
    }
    k
}

/// Each definition in the document with what it says is printed.
fn examples() -> Vec<(&'static str, &'static str)> {
    let lines: Vec<_> = GRAMMAR.lines().collect();
    let pairs = lines.windows(2).filter_map(|pair| {
        let definition = pair[0].trim_start();
        let indent = pair[0].len() - definition.len();
        let output = pair[1].trim_start();
        let deeper = pair[1].len() - output.len() == indent + 2;
        let is_definition = definition.starts_with("p ") || definition.starts_with("r ");
        (indent >= 4 && deeper && is_definition).then_some((definition, output))
    });
    pairs.collect()
}

#[test]
fn every_example_prints_what_is_said() {
    let examples = examples();
    assert!(
        examples.len() > 25,
        "only {} examples found",
        examples.len()
    );
    for (definition, output) in examples {
        assert_eq!(
            printed(definition, &mut machine(definition)),
            output,
            "{definition}"
        );
    }
}

#[test]
fn the_symbols_of_the_examples_are_known() {
    assert!(machine("p").address(b"jiffies").is_some());
    let command = Command::new(b"p vfs_read n=$arg0").unwrap();
    let error = parse::request(&command, with_stacks(machine("p").arch)).unwrap_err();
    let mut entry = String::new();
    error
        .write_entry(&mut entry, 1_207_311_862_000, command.text())
        .unwrap();
    for line in entry.lines() {
        assert!(
            GRAMMAR.lines().any(|l| l == format!("    {line}")),
            "{line}"
        );
    }
}

/// `Documentation/refusals.rst` is written by this test, run with `BLESS=1`.
#[test]
fn the_table_of_refusals_is_up_to_date() {
    let mut table = String::from(".. SPDX-License-Identifier: GPL-2.0\n");
    table.push_str(
        ".. Made by tests/host/tests/lang_grammar.rs from src/engine/refusal/error.rs.\n\n\
         ========\nRefusals\n========\n\n\
         The texts of ``error_log``, and their errno if it is not ``EINVAL``.\n",
    );
    for (subject, title) in [
        (Subject::Definition, "Definitions"),
        (Subject::Synthetic, "Synthetic events"),
        (Subject::Filter, "Filters"),
        (Subject::Trigger, "Triggers"),
        (Subject::Histogram, "Histograms"),
        (Subject::File, "Values of files"),
    ] {
        writeln!(table, "\n{title}:\n").unwrap();
        for kind in Kind::ALL.iter().filter(|kind| kind.subject() == subject) {
            let errno = match kind.errno() {
                Errno::EINVAL => "",
                Errno::EPERM => " (``EPERM``)",
                Errno::ENOENT => " (``ENOENT``)",
                Errno::E2BIG => " (``E2BIG``)",
                Errno::ENOMEM => " (``ENOMEM``)",
                Errno::EBUSY => " (``EBUSY``)",
                Errno::EBADF => " (``EBADF``)",
                Errno::ENODEV => " (``ENODEV``)",
                Errno::EOVERFLOW => " (``EOVERFLOW``)",
                Errno::EEXIST => " (``EEXIST``)",
                Errno::ENOSPC => " (``ENOSPC``)",
                Errno::EDOM => " (``EDOM``)",
                Errno::EILSEQ => " (``EILSEQ``)",
                Errno::EOPNOTSUPP => " (``EOPNOTSUPP``)",
                other => panic!("{other:?} has no name here"),
            };
            writeln!(table, "* ``{}``{errno}", kind.text()).unwrap();
        }
    }
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../Documentation/refusals.rst"
    );
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(file, &table).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(file).unwrap(),
        table,
        "run with BLESS=1"
    );
}
