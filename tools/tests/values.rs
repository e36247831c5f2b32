// SPDX-License-Identifier: GPL-2.0

//! What definitions record is what the variables have: runs `programs/values.c` with a breakpoint
//! wherever a definition is, evaluates what it fetches, and compares with what the program prints
//! of itself when it is compiled without optimisation.

#![cfg(target_arch = "x86_64")]

#[path = "support/fetch.rs"]
mod fetch;
#[path = "support/process.rs"]
mod process;
mod support;

use ferroprobe_tools::session::Session;
use fetch::Machine;
use process::Process;
use std::collections::{BTreeMap, HashMap};
use std::process::Command;

const PROGRAM: &str = "values.c";

/// Something to record, and the values that it must have.
struct Spot {
    /// What is defined.
    definition: String,
    expression: String,
    expected: Vec<i64>,
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
    let source = std::fs::read_to_string(support::programs().join(PROGRAM)).expect("source");
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

/// All that is recorded: each expression on each of its lines, with the values that it has when the
/// line is about to run, in their order; and parameters at the entries of functions.
fn spots() -> Vec<Spot> {
    let compiled = support::compile("gcc", PROGRAM, &["-O0", "-DORACLE"]);
    let output = Command::new(&compiled.path).output().expect("the oracle");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut known: BTreeMap<(u32, &str), Vec<i64>> = BTreeMap::new();
    for line in text.lines() {
        let mut columns = line.split('\t');
        let number = columns
            .next()
            .and_then(|text| text.parse().ok())
            .expect(line);
        let names = columns.next().expect(line).split(", ");
        for (name, value) in names.zip(columns) {
            let value = value.parse().expect(line);
            known.entry((number, name)).or_default().push(value);
        }
    }
    let spot = |target: &str, (line, expression): (u32, &str)| Spot {
        definition: format!("{target} x={expression}"),
        expression: expression.into(),
        expected: known[&(line, expression)].clone(),
    };
    let lines = known
        .keys()
        .map(|key| spot(&format!("{PROGRAM}:{}", key.0), *key));
    let entries = ENTRIES.iter().flat_map(|(function, expressions)| {
        let line = first_line(function);
        expressions
            .split(' ')
            .map(move |expression| (*function, (line, expression)))
    });
    let entries = entries.map(|(function, key)| spot(function, key));
    lines.chain(entries).collect()
}

/// What is fetched at one address for one spot.
struct Probe {
    spot: usize,
    argument: String,
}

/// Values, without what repeats the one before: a line can begin at several addresses.
fn collapsed(values: &[i64]) -> Vec<i64> {
    let mut values = values.to_vec();
    values.dedup();
    values
}

/// Whether `part` is `whole` with some left out.
fn is_part_of(part: &[i64], whole: &[i64]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|value| whole.any(|other| other == value))
}

/// The result of one compiler: how many spots were recorded, and how many refused.
struct Result {
    recorded: usize,
    refused: usize,
    reasons: BTreeMap<String, usize>,
    /// Expressions, and what was recorded of them.
    wrong: Vec<(String, String)>,
}

fn probes(session: &Session<'_>, spots: &[Spot], result: &mut Result) -> HashMap<u64, Vec<Probe>> {
    let mut probes: HashMap<u64, Vec<Probe>> = HashMap::new();
    for (at, spot) in spots.iter().enumerate() {
        let found = support::define(session, &spot.definition);
        let found = match found {
            Ok(found) => found,
            // The compiler left nothing of the line.
            Err(refusal) => {
                *result.reasons.entry(refusal.to_string()).or_default() += 1;
                result.refused += 1;
                continue;
            }
        };
        for refused in &found.refused {
            assert!(
                !refused.contains('\n') && refused.contains(": "),
                "{refused}"
            );
            let reason = refused.split_once(": ").map_or("", |(_, reason)| reason);
            let reason = reason.split_once(": ").map_or(reason, |(_, reason)| reason);
            *result.reasons.entry(reason.into()).or_default() += 1;
        }
        match found.lines.is_empty() {
            true => result.refused += 1,
            false => result.recorded += 1,
        }
        for definition in &found.lines {
            let mut words = definition.split(' ');
            let place = words.nth(1).expect("a location");
            let argument = words.next().expect("an argument");
            let argument = argument.strip_prefix("x=").expect("its name");
            let (name, offset) = place.split_once('+').unwrap_or((place, "0"));
            let mut symbols = session.image.symbols().iter();
            let symbol = symbols.find(|symbol| symbol.name == name).expect(place);
            let address = symbol.address + offset.parse::<u64>().expect(place);
            probes.entry(address).or_default().push(Probe {
                spot: at,
                argument: argument.into(),
            });
        }
    }
    probes
}

fn compare(compiler: &str, flags: &[&str]) -> Result {
    let spots = spots();
    assert!(spots.len() >= 150, "{} spots", spots.len());
    let compiled = support::compile(compiler, PROGRAM, &[flags, &["-no-pie"]].concat());
    let mut result = Result {
        recorded: 0,
        refused: 0,
        reasons: BTreeMap::new(),
        wrong: Vec::new(),
    };
    let mut recorded: Vec<Vec<i64>> = vec![Vec::new(); spots.len()];
    support::with(&compiled.path, |session| {
        let probes = probes(session, &spots, &mut result);
        let mut process = Process::start(&compiled.path);
        for address in probes.keys() {
            process.stop_at(*address);
        }
        process.run(|memory, address, registers| {
            let machine = Machine {
                registers,
                memory,
                image: session.image,
            };
            for probe in &probes[&address] {
                recorded[probe.spot].push(machine.record(&probe.argument));
            }
        });
    });
    let mut wrong = Vec::new();
    for (spot, recorded) in spots.iter().zip(&recorded) {
        let expected = &spot.expected;
        if !is_part_of(&collapsed(recorded), &collapsed(expected)) {
            let Spot {
                definition,
                expression,
                ..
            } = spot;
            wrong.push((
                expression.clone(),
                format!("{definition}: recorded {recorded:?}, expected {expected:?}"),
            ));
        }
    }
    let hits: usize = recorded.iter().map(Vec::len).sum();
    println!(
        "{compiler} {flags:?}: {} recorded with {hits} values, {} refused, {} wrong",
        result.recorded,
        result.refused,
        wrong.len()
    );
    for (reason, count) in &result.reasons {
        println!("    {count:>4} {reason}");
    }
    result.wrong = wrong;
    result
}

/// Compares for all `flags`, and fails for what is wrong with any, and if less than `share` percent
/// of the spots are recorded. Of the variables in `except`, the debug information is wrong.
fn compare_all(compiler: &str, share: usize, flags: &[&[&str]], except: &[&str]) {
    let results: Vec<_> = flags.iter().map(|flags| compare(compiler, flags)).collect();
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
    compare_all("gcc", 60, &flags, &[]);
}

#[test]
fn no_value_is_wrong_whatever_clang_optimises() {
    let flags: [&[&str]; 4] = [&["-O2"], &["-O1"], &["-O3"], &["-O0"]];
    // It computes this one together with the line before, and says so of the variable too early.
    compare_all("clang", 60, &flags, &["sign"]);
}
