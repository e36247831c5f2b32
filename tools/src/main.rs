// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe`: definitions of probes by source line and variable.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(code) => code,
        Err(refusal) => {
            eprintln!("ferroprobe: {refusal}");
            ExitCode::FAILURE
        }
    }
}
