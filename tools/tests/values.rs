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

/// A line and an expression on it.
type Spot = (u32, String);

/// The values that each expression has when its line is about to run, in their order.
fn oracle() -> BTreeMap<Spot, Vec<i64>> {
    let compiled = support::compile("gcc", PROGRAM, &["-O0", "-DORACLE"]);
    let output = Command::new(&compiled.path).output().expect("the oracle");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut known: BTreeMap<Spot, Vec<i64>> = BTreeMap::new();
    for line in text.lines() {
        let mut columns = line.split('\t');
        let number = columns
            .next()
            .and_then(|text| text.parse().ok())
            .expect(line);
        let names = columns.next().expect(line).split(", ");
        for (name, value) in names.zip(columns) {
            let value = value.parse().expect(line);
            known.entry((number, name.into())).or_default().push(value);
        }
    }
    known
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
    wrong: Vec<String>,
}

fn probes(session: &Session<'_>, spots: &[&Spot], result: &mut Result) -> HashMap<u64, Vec<Probe>> {
    let mut probes: HashMap<u64, Vec<Probe>> = HashMap::new();
    for (at, (line, expression)) in spots.iter().enumerate() {
        let found = support::define(session, &format!("{PROGRAM}:{line} x={expression}"));
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
    let known = oracle();
    let spots: Vec<&Spot> = known.keys().collect();
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
        let expected = &known[*spot];
        if !is_part_of(&collapsed(recorded), &collapsed(expected)) {
            wrong.push(format!(
                "{spot:?}: recorded {recorded:?}, expected {expected:?}"
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
    let is_known = |wrong: &String| {
        except
            .iter()
            .any(|name| wrong.contains(&format!("\"{name}\"")))
    };
    let wrong: Vec<_> = flags
        .iter()
        .zip(&results)
        .flat_map(|(flags, result)| {
            result
                .wrong
                .iter()
                .map(move |wrong| format!("{flags:?} {wrong}"))
        })
        .filter(|wrong| !is_known(wrong))
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
