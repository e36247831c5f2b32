// SPDX-License-Identifier: GPL-2.0

//! Runs a fuzz target on inputs that it makes from the seeds, or on files.
//!
//!     cargo run --release -p ferroprobe-fuzz -- TARGET [--runs N] [--seed N]
//!     cargo run --release -p ferroprobe-fuzz -- TARGET FILE...
//!
//! Needs no nightly compiler and no instrumentation: the inputs come from
//! recombining the lines of `tests/data`, and the same seed gives the same
//! inputs. An input that makes a target panic is kept in `tests/fuzz/artifacts`
//! and given back to the same target as FILE.

mod mutate;
mod targets;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;

use mutate::Mutator;

fn main() -> ExitCode {
    let mut runs = 100_000u64;
    let mut seed = 1u64;
    let mut files = Vec::new();
    let mut name = None;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|n| n.parse().ok());
        match word.as_str() {
            "--runs" => runs = number().unwrap_or(runs),
            "--seed" => seed = number().unwrap_or(seed),
            _ if name.is_none() => name = Some(word),
            _ => files.push(word),
        }
    }
    let target = name.as_deref().and_then(targets::by_name);
    let (Some(name), Some(target)) = (name, target) else {
        eprintln!("usage: ferroprobe-fuzz TARGET [--runs N] [--seed N] | TARGET FILE...");
        eprintln!(
            "targets: {}",
            targets::names().collect::<Vec<_>>().join(" ")
        );
        return ExitCode::from(2);
    };
    if !files.is_empty() {
        for file in files {
            match std::fs::read(&file) {
                Ok(input) => (target.run)(&input),
                Err(error) => eprintln!("{file}: {error}"),
            }
        }
        return ExitCode::SUCCESS;
    }
    let mut mutator = Mutator::new((target.seeds)(), seed);
    for run in 0..runs {
        let input = mutator.input();
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts");
            let file = directory.join(format!("{name}-{seed}-{run}"));
            let kept =
                std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(&file, &input));
            eprintln!("run {run} of seed {seed}: {}", input.escape_ascii());
            match kept {
                Ok(()) => eprintln!("kept as {}", file.display()),
                Err(error) => eprintln!("not kept: {error}"),
            }
            return ExitCode::FAILURE;
        }
    }
    println!("{name}: {runs} inputs, seed {seed}");
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::{mutate::Mutator, targets};

    /// A short run of every target; longer ones are for `cargo run`.
    #[test]
    fn every_target_holds_for_a_while() {
        for name in targets::names() {
            let target = targets::by_name(name).expect(name);
            let mut mutator = Mutator::new((target.seeds)(), 0xfe44);
            for _ in 0..1_000 {
                (target.run)(&mutator.input());
            }
        }
    }
}
