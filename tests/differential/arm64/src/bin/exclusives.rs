// SPDX-License-Identifier: GPL-2.0

//! Compares our judgement of a kernel's places with the kernel's own.
//!
//! `exclusives IMAGE SYMBOLS [LIST]` takes an uncompressed kernel and its
//! symbols (`/proc/kallsyms` or `System.map`). Each verdict, the look back for
//! exclusive sequences included, must be what the kernel's code says; each
//! exclusive sequence must be what a search of all paths finds. LIST gets a line
//! for every place that lies inside a sequence or that the look back refuses:
//!
//! ```text
//! NAME+OFFSET inside|outside seen|unseen
//! ```
//!
//! Prints where the look back errs: for each function how often, the offsets at
//! which such places begin, and why. "accepted although inside" is what a probe
//! would hang in; everything else is refused although it is safe, behind a load
//! that only waits for a change, behind a load whose store is elsewhere, or
//! behind a casp, which is no exclusive.

use ferroprobe_differential_arm64::paths::{inside, mistake};
use ferroprobe_differential_arm64::text::{functions, Function};
use ferroprobe_differential_arm64::words::code;
use ferroprobe_differential_arm64::{oracle, PRESENT, SKIPPED};
use ferroprobe_engine::engine::code::insn::arm64::exclusive::{kernel_scan, sequences};
use ferroprobe_engine::engine::code::insn::arm64::{class, verdict, Arm64Class, ProbeVerdict};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

#[derive(Default)]
struct Totals {
    functions: usize,
    words: usize,
    with_load: usize,
    /// Inside a sequence, and refused by the kernel.
    both: usize,
    /// Inside a sequence, and accepted by the kernel.
    unseen: usize,
    /// Outside of all, and refused by the kernel.
    needless: usize,
    differences: usize,
    list: String,
}

impl Totals {
    fn add(&mut self, function: &Function) -> Result<(), Box<dyn Error>> {
        let words = &function.words[..];
        self.functions += 1;
        self.words += words.len();
        let is_load = |word: &u32| class(*word) == Arm64Class::LoadExclusive;
        self.with_load += usize::from(words.iter().any(is_load));
        let exclusives = sequences(&words).map_err(|_| "no memory")?;
        let searched = inside(words);
        let judged = oracle::function(words);
        // Of each kind the first place of every stretch, and how many there are.
        let mut erring: BTreeMap<&str, (usize, Vec<String>)> = BTreeMap::new();
        let mut before = None;
        for (at, &word) in words.iter().enumerate() {
            let ours = exclusives.contains(at);
            let met = kernel_scan(&words, at);
            let seen = met.is_some();
            let verdict = match (seen, verdict(word)) {
                (true, _) => 0,
                (false, verdict) => code(verdict),
            };
            if judged.get(at) != Some(&verdict) || ours != searched.contains(&at) {
                self.differences += 1;
                println!("{}+{:#x}: judged differently", function.name, at * 4);
            }
            if ours || seen {
                let inside = if ours { "inside" } else { "outside" };
                let by_kernel = if seen { "seen" } else { "unseen" };
                let place = function.offset + at * 4;
                writeln!(self.list, "{place:#x} {inside} {by_kernel}")?;
            }
            // Of what is refused on its own account the look back decides nothing.
            let decides = !matches!(self::verdict(word), ProbeVerdict::Rejected(_));
            let kind = match (ours, met) {
                _ if !decides => None,
                (true, Some(_)) => {
                    self.both += 1;
                    None
                }
                (true, None) => {
                    self.unseen += 1;
                    Some("accepted although inside")
                }
                (false, Some(met)) => {
                    self.needless += 1;
                    Some(mistake(words, met))
                }
                (false, None) => None,
            };
            if let Some(kind) = kind {
                let (count, stretches) = erring.entry(kind).or_default();
                *count += 1;
                if before != Some(kind) {
                    stretches.push(format!("{:#x}", at * 4));
                }
            }
            before = kind;
        }
        for (kind, (count, stretches)) in erring {
            println!(
                "{kind}\t{}\t{count}\t{}",
                function.name,
                stretches.join(" ")
            );
        }
        Ok(())
    }
}

fn run(arguments: &[String]) -> Result<bool, Box<dyn Error>> {
    let [image, symbols, list @ ..] = arguments else {
        return Err("usage: exclusives IMAGE SYMBOLS [LIST]".into());
    };
    let mut totals = Totals::default();
    for function in functions(Path::new(image), Path::new(symbols))? {
        totals.add(&function)?;
    }
    println!(
        "functions {} words {} with a load-exclusive {}",
        totals.functions, totals.words, totals.with_load
    );
    println!(
        "inside and refused {} inside and accepted {} outside and refused {} differences {}",
        totals.both, totals.unseen, totals.needless, totals.differences
    );
    if let Some(path) = list.first() {
        std::fs::write(path, totals.list)?;
    }
    Ok(totals.differences == 0)
}

fn main() -> ExitCode {
    if !PRESENT {
        println!("{SKIPPED}");
        return ExitCode::FAILURE;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
