// SPDX-License-Identifier: GPL-2.0

//! Which source files ask in what context they run themselves.
//!
//! A hit is to be told as it is for the probed code, and a handler may run in another context: on
//! x86 a breakpoint is entered as an NMI is. So what describes hits asks for the level of the probed
//! code, from which the way to the handler is taken off.

use std::collections::BTreeMap;

/// What tells of the context of whoever asks.
const WORDS: [&str; 9] = [
    "in_nmi(",
    "in_hardirq(",
    "in_softirq(",
    "in_serving_softirq(",
    "in_interrupt(",
    "in_task(",
    "in_atomic(",
    "interrupt_context_level(",
    "Interrupts::now(",
];

/// Where the handler's own context is wanted, and why.
const OWN: [(&str, &str, &str); 3] = [
    (
        "rust/arch/unwind_guard.h",
        "interrupt_context_level(",
        "uses of the unwinder that nest are told apart by where they run",
    ),
    (
        "rust/nofault.c",
        "in_nmi(",
        "to be careful costs a breakpoint's hit only time",
    ),
    (
        "rust/serving.rs",
        "Interrupts::now(",
        "handlers that nest are told apart by where they run",
    ),
];

/// The lines that ask for the context of a handler where none may, a line each, and the permissions
/// that nothing needs.
pub fn faults(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut used = BTreeMap::new();
    for (file, text) in files {
        for (number, line) in text.lines().enumerate() {
            for word in WORDS {
                if !asks(line, word) {
                    continue;
                }
                match OWN.iter().find(|own| own.0 == file && own.1 == word) {
                    Some(own) => *used.entry(own.0).or_insert(0) += 1,
                    None => faults.push(format!("{file}:{}: {word})", number + 1)),
                }
            }
        }
    }
    for (file, word, _) in OWN {
        if used.get(file) != Some(&1) {
            faults.push(format!("{file}: {word}) is asked once no more"));
        }
    }
    faults
}

/// Whether a line of code, and not a comment, has a call of that name: a method of a level is none.
fn asks(line: &str, word: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let code = code.trim_start();
    if code.starts_with('*') || code.starts_with("/*") {
        return false;
    }
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let is_method = before == Some('.') || code[..at].ends_with("fn ");
        !is_method && !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}
