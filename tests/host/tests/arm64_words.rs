// SPDX-License-Identifier: GPL-2.0

//! Single words: the cases of `tests/data/arm64-insn.txt`.

use std::collections::BTreeSet;

use ferroprobe_engine::engine::code::insn::arm64::{
    class, hazard, mnemonic, verdict, ProbeVerdict,
};

const CASES: &str = include_str!("../../data/arm64-insn.txt");

/// The columns of one word: what becomes of a probe, the class, the mnemonic.
fn columns(word: u32) -> [String; 3] {
    let fate = match (verdict(word), hazard(word)) {
        (ProbeVerdict::Rejected(reason), _) => format!("rejected:{reason:?}"),
        (_, Some(hazard)) => format!("hazard:{hazard:?}"),
        (ProbeVerdict::Simulated, None) => "simulated".into(),
        (ProbeVerdict::SteppableOutOfLine, None) => "steppable".into(),
    };
    let class: String = format!("{:?}", class(word))
        .split_whitespace()
        .filter(|part| !["{", "}", "displacement:", "immediate:"].contains(part))
        .collect::<Vec<_>>()
        .join(":");
    let name = match mnemonic(word) {
        "" => "-".into(),
        name => name.into(),
    };
    [fate, class, name]
}

fn cases() -> impl Iterator<Item = (u32, Vec<&'static str>)> {
    CASES
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let mut columns = line.split_whitespace();
            let word = u32::from_str_radix(columns.next().unwrap(), 16).unwrap();
            (word, columns.take(3).collect())
        })
}

#[test]
fn cases_are_judged_as_written() {
    let wrong: Vec<_> = cases()
        .map(|(word, expected)| (word, expected, columns(word)))
        .filter(|(_, expected, found)| expected[..] != found[..])
        .map(|(word, expected, found)| {
            format!("{word:08x}: expected {expected:?}, found {found:?}")
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_reason_and_hazard_has_a_case() {
    let found: BTreeSet<_> = cases().map(|(_, columns)| columns[0]).collect();
    // Eleven reasons, six hazards, and the two that are allowed.
    assert_eq!(found.len(), 11 + 6 + 2, "{found:?}");
}

#[test]
fn only_what_the_kernel_steps_is_a_hazard() {
    for (word, _) in cases() {
        if hazard(word).is_some() {
            assert_eq!(
                verdict(word),
                ProbeVerdict::SteppableOutOfLine,
                "{word:08x}"
            );
        }
    }
}
