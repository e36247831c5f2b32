// SPDX-License-Identifier: GPL-2.0

//! Rewrites the tables of the engine in place, and writes the list of unsafe code to `build/`.

use ferroprobe_gen::{unsafe_code, x86};
use std::path::Path;
use std::process::ExitCode;

fn write(here: &Path) -> Result<(), String> {
    let named = |name: &str, error: String| format!("{name}: {error}");
    let text = std::fs::read_to_string(here.join(x86::SOURCE))
        .map_err(|error| named(x86::SOURCE, error.to_string()))?;
    let tables = x86::generate(&text).map_err(|error| named(x86::SOURCE, error))?;
    let list = unsafe_code::generate(here)?;
    for (target, made) in [(x86::TARGET, tables), (unsafe_code::TARGET, list)] {
        let path = here.join(target);
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder
            .and_then(|()| std::fs::write(&path, made))
            .map_err(|error| named(target, error.to_string()))?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match write(Path::new(env!("CARGO_MANIFEST_DIR"))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
