// SPDX-License-Identifier: GPL-2.0

//! Looks for faults in a guest: see `Documentation/testing.rst`.
//!
//! ```text
//! ferroprobe-fuzz-guest draw SEED ROUNDS ARCH        prints a list of operations
//! ferroprobe-fuzz-guest judge OPERATIONS LOG         judges what a guest said of it
//! ferroprobe-fuzz-guest hunt OUT SECONDS SEED ROUNDS ARCH KERNEL BOOT...
//! ferroprobe-fuzz-guest replay OUT OPERATIONS KERNEL BOOT...
//! ```
//!
//! BOOT... is the command that boots a guest, to which `-o DIR`, the operations and KERNEL are
//! appended.

mod boot;
mod draw;
mod hunt;
mod judge;
mod log;
mod shrink;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

fn lines_of(path: &str) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(text.lines().map(str::to_string).collect())
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

fn run(arguments: &[&str]) -> Result<bool, String> {
    match arguments {
        ["draw", seed, rounds, arch] => {
            let rounds = number(rounds)? as usize;
            for line in draw::draw(number(seed)?, rounds, *arch == "arm64") {
                println!("{line}");
            }
            Ok(true)
        }
        ["judge", operations, log] => {
            let lines = lines_of(operations)?;
            let text = fs::read_to_string(log).map_err(|error| format!("{log}: {error}"))?;
            let faults = judge::judge(&lines, &log::Log::parse(&text));
            for fault in &faults {
                println!("{fault}");
            }
            Ok(faults.is_empty())
        }
        ["hunt", out, seconds, seed, rounds, arch, kernel, boot @ ..] => {
            let plan = hunt::Plan {
                seconds: number(seconds)?,
                seed: number(seed)?,
                rounds: number(rounds)? as usize,
                is_arm64: *arch == "arm64",
            };
            hunt::hunt(&boot::Guests::new(Path::new(out), kernel, boot)?, &plan)
        }
        ["replay", out, operations, kernel, boot @ ..] => {
            let lines = lines_of(operations)?;
            hunt::replay(&boot::Guests::new(Path::new(out), kernel, boot)?, &lines)
        }
        _ => Err("usage: see the head of tests/fuzz-guest/src/main.rs".to_string()),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ferroprobe: {error}");
            ExitCode::from(2)
        }
    }
}
