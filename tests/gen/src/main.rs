// SPDX-License-Identifier: GPL-2.0

//! Rewrites the generated tables of the engine in place.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let written = std::fs::read_to_string(here.join(ferroprobe_gen::x86::SOURCE))
        .map_err(|error| error.to_string())
        .and_then(|text| ferroprobe_gen::x86::generate(&text))
        .and_then(|tables| {
            std::fs::write(here.join(ferroprobe_gen::x86::TARGET), tables)
                .map_err(|error| error.to_string())
        });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{}: {message}", ferroprobe_gen::x86::SOURCE);
            ExitCode::FAILURE
        }
    }
}
