// SPDX-License-Identifier: GPL-2.0

//! Which source files depend on the architecture that the module is compiled for.

use crate::layers::{collect, is_crate};
use std::collections::BTreeMap;
use std::path::Path;

/// Where such files are: `engine/code/arch` has what the engine knows of each architecture, on
/// every machine, and `rust/arch` what runs on one only.
const PLACES: [&str; 2] = ["src/engine/code/arch", "rust/arch"];

/// What tells architectures apart, or begins an option of the kernel that one alone has.
const WORDS: [&str; 8] = [
    "target_arch",
    "CONFIG_X86",
    "CONFIG_IA32",
    "CONFIG_ARM",
    "CONFIG_AARCH",
    "__x86_64__",
    "__aarch64__",
    "__i386__",
];

/// The sources of the module below `root`.
///
/// # Errors
///
/// A file that cannot be read.
pub fn sources(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::new();
    for folder in ["src", "rust"] {
        collect(root, folder, &[".rs", ".c", ".h"], &mut files)?;
    }
    files.retain(|file, _| !is_crate(file));
    Ok(files)
}

/// The lines that tell architectures apart where none may, a line each.
pub fn faults(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    for (file, text) in files {
        let is_at = |place: &&str| {
            let rest = file.strip_prefix(*place);
            rest.is_some_and(|rest| rest.starts_with(['/', '.']))
        };
        if PLACES.iter().any(is_at) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if let Some(word) = WORDS.iter().find(|word| line.contains(**word)) {
                faults.push(format!("{file}:{}: {word}", number + 1));
            }
        }
    }
    faults
}
