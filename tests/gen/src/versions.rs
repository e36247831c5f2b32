// SPDX-License-Identifier: GPL-2.0

//! Which source files ask for the version of the kernel.
//!
//! Distributions take changes back to older series, so the version does not say what a kernel has:
//! the probes of `rust/series` ask the compiler.

use crate::layers::collect;
use std::collections::BTreeMap;
use std::path::Path;

/// The only folder whose files may ask.
const PLACE: &str = "rust/series/";

/// What tells versions apart.
const WORDS: [&str; 2] = ["LINUX_VERSION_CODE", "KERNEL_VERSION"];

/// All sources of the module below `root`, its own crates included.
///
/// # Errors
///
/// A file that cannot be read.
pub fn sources(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::new();
    for folder in ["src", "rust"] {
        let ends = [".rs", ".c", ".h", ".lds", "Makefile", "_parameters"];
        collect(root, folder, &ends, &mut files)?;
    }
    Ok(files)
}

/// The lines that ask for the version where none may, a line each.
pub fn faults(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    for (file, text) in files {
        if file.starts_with(PLACE) {
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
