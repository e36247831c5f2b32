// SPDX-License-Identifier: GPL-2.0

//! The definitions for `programs/values.c` record what its variables have.

#![cfg(target_arch = "x86_64")]

mod support;

use std::path::PathBuf;
use support::compare::{self, on_lines, oracle, Spot};

fn program() -> PathBuf {
    support::programs().join("values.c")
}

/// Functions, with the expressions that their first line knows and that they are called with.
const ENTRIES: [(&str, &str); 9] = [
    ("clamp_it%inlined", "value low high"),
    ("mix%inlined", "salt"),
    ("sum_pair%inlined", "both.left both.right"),
    ("arguments", "a b c d e f g h"),
    (
        "structures",
        "object->flag object->kind object->rest object->wide index",
    ),
    ("by_value", "both.left both.right"),
    ("inlined", "start salt"),
    ("narrow", "wide"),
    ("shadows", "value"),
];

/// The line of the first `SEE` behind the definition of a function.
fn first_line(function: &str) -> u32 {
    let source = std::fs::read_to_string(program()).expect("source");
    let name = function.split('%').next().expect("a name");
    let mut lines = (1..).zip(source.lines());
    lines
        .find(|(_, line)| line.contains(&format!(" {name}(")))
        .expect(name);
    lines
        .find(|(_, line)| line.starts_with("\tSEE("))
        .expect(name)
        .0
}

/// All that is recorded: each expression on each of its lines; and parameters at the entries of
/// functions.
fn spots() -> Vec<Spot> {
    let known = oracle(&program());
    let mut spots = on_lines(&program(), &known);
    for (function, expressions) in ENTRIES {
        let line = first_line(function);
        for expression in expressions.split(' ') {
            spots.push(Spot {
                definition: format!("{function} x={expression}"),
                expression: expression.into(),
                expected: known[&(line, expression.to_string())].clone(),
            });
        }
    }
    spots
}

/// Compares for all `flags`, and fails for what is wrong with any, and if less than `share` percent
/// of the spots are recorded. Of the variables in `except`, the debug information is wrong.
fn compare_all(compiler: &str, share: usize, flags: &[&[&str]], except: &[&str]) {
    let (program, spots) = (program(), spots());
    assert!(spots.len() >= 300, "{} spots", spots.len());
    let compare = |flags: &&[&str]| compare::compare(&program, &spots, compiler, flags);
    let results: Vec<_> = flags.iter().map(compare).collect();
    let all = flags.iter().zip(&results);
    let wrong: Vec<_> = all
        .flat_map(|(flags, result)| result.wrong.iter().map(move |wrong| (flags, wrong)))
        .filter(|(_, (expression, _))| !except.contains(&expression.as_str()))
        .map(|(flags, (_, text))| format!("{flags:?} {text}"))
        .collect();
    assert!(wrong.is_empty(), "{compiler}:\n{}", wrong.join("\n"));
    for (flags, result) in flags.iter().zip(&results) {
        let all = result.recorded + result.refused;
        assert!(
            result.recorded * 100 >= all * share,
            "{flags:?}: {} of {all}",
            result.recorded
        );
    }
}

#[test]
fn no_value_is_wrong_whatever_gcc_optimises() {
    let flags: [&[&str]; 9] = [
        &["-O2"],
        &["-O1"],
        &["-O3"],
        &["-Os"],
        &["-O0"],
        &["-Og"],
        &["-O2", "-fno-omit-frame-pointer"],
        &["-O2", "-gdwarf-4"],
        &["-O2", "-gno-variable-location-views"],
    ];
    compare_all("gcc", 55, &flags, &[]);
}

#[test]
fn no_value_is_wrong_whatever_clang_optimises() {
    let flags: [&[&str]; 4] = [&["-O2"], &["-O1"], &["-O3"], &["-O0"]];
    // It computes this one together with the line before, and says so of the variable too early.
    compare_all("clang", 60, &flags, &["sign"]);
}
