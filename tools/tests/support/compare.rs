// SPDX-License-Identifier: GPL-2.0

//! Whether what definitions record is what the variables have: runs a program with a breakpoint
//! wherever a definition is, evaluates what it fetches, and compares with what the program prints
//! of itself when it is compiled without optimisation.

use super::fetch::Machine;
use super::process::Process;
use super::{compile, define, with};
use ferroprobe_tools::session::Session;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;

/// What a program knows: the values that expressions have when lines are about to run, in their
/// order.
pub type Known = BTreeMap<(u32, String), Vec<i64>>;

/// Compiles `program` so that it prints what it knows, and reads that.
pub fn oracle(program: &Path) -> Known {
    let compiled = compile("gcc", program, &["-O0", "-fwrapv", "-DORACLE"]);
    let output = Command::new(&compiled.path).output().expect("the oracle");
    assert!(output.status.success(), "the oracle: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("text");
    let mut known = Known::new();
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

/// A spot for each expression on each of its lines.
pub fn on_lines(program: &Path, known: &Known) -> Vec<Spot> {
    let file = program.file_name().expect("a name").to_string_lossy();
    let spots = known.iter().map(|((line, expression), expected)| Spot {
        definition: format!("{file}:{line} x={expression}"),
        expression: expression.clone(),
        expected: expected.clone(),
    });
    spots.collect()
}

/// Something to record, and the values that it must have.
pub struct Spot {
    /// What is defined.
    pub definition: String,
    /// The expression in it.
    pub expression: String,
    /// The values, in their order.
    pub expected: Vec<i64>,
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
pub struct Outcome {
    /// Spots with a definition.
    pub recorded: usize,
    /// Spots without.
    pub refused: usize,
    reasons: BTreeMap<String, usize>,
    /// Expressions, and what was recorded of them.
    pub wrong: Vec<(String, String)>,
}

fn probes(session: &Session<'_>, spots: &[Spot], result: &mut Outcome) -> HashMap<u64, Vec<Probe>> {
    let mut probes: HashMap<u64, Vec<Probe>> = HashMap::new();
    for (at, spot) in spots.iter().enumerate() {
        let found = define(session, &spot.definition);
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

/// Compiles `program` and runs it with a breakpoint wherever one of `spots` is defined.
pub fn compare(program: &Path, spots: &[Spot], compiler: &str, flags: &[&str]) -> Outcome {
    let compiled = compile(compiler, program, &[flags, &["-no-pie"]].concat());
    let mut result = Outcome {
        recorded: 0,
        refused: 0,
        reasons: BTreeMap::new(),
        wrong: Vec::new(),
    };
    let mut recorded: Vec<Vec<i64>> = vec![Vec::new(); spots.len()];
    with(&compiled.path, |session| {
        let probes = probes(session, spots, &mut result);
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
