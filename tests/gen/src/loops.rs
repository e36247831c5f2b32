// SPDX-License-Identifier: GPL-2.0

//! Which functions walk over what a user wrote, or over names of the kernel, and do not end when
//! the task is being killed.

use std::collections::BTreeMap;

/// What begins or continues such a walk.
const WALKS: [&str; 5] = [
    "lex::lines(",
    "next_word(",
    "each_function(",
    "each_like(",
    "Filter::compile(text, layout",
];

/// What looks whether the task is being killed, or is a reason not to.
const LOOKS: [&str; 4] = [
    "is_being_killed()",
    "is_killed()",
    "is_over()",
    "// BOUND: ",
];

/// Where such a walk is implemented: it passes each item to its caller, which may end it.
const WALKERS: [&str; 2] = ["src/engine/", "rust/"];

/// A function: its name, the number of its first line, and its text.
struct Function<'a> {
    name: &'a str,
    number: usize,
    lines: Vec<&'a str>,
}

/// The functions of a source file, formatted as rustfmt does, without its tests.
fn functions(text: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(Function<'_>, String)> = None;
    for (number, line) in text.lines().enumerate() {
        if line == "#[cfg(test)]" {
            break;
        }
        if let Some((function, end)) = &mut open {
            function.lines.push(line);
            // The body ends where it began, or is no body.
            if *line == **end || (function.lines.len() == 1 && line.ends_with(';')) {
                found.extend(open.take().map(|(function, _)| function));
            }
            continue;
        }
        let code = line.trim_start();
        let Some((before, behind)) = code.split_once("fn ") else {
            continue;
        };
        let is_start =
            before.is_empty() || before.starts_with("pub") || before.starts_with("const");
        if !is_start || code.ends_with(';') || code.starts_with("//") {
            continue;
        }
        let name = behind.split(['(', '<']).next().unwrap_or_default();
        let indent = &line[..line.len() - code.len()];
        let function = Function {
            name,
            number: number + 1,
            lines: vec![],
        };
        open = Some((function, format!("{indent}}}")));
    }
    found
}

/// The functions with such a walk and without such a look, a line each.
pub fn faults(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    let sources = files.iter().filter(|(file, _)| file.ends_with(".rs"));
    for (file, text) in sources.filter(|(file, _)| !WALKERS.iter().any(|of| file.starts_with(of))) {
        for function in functions(text) {
            let has = |words: &[&str]| {
                let mut lines = function.lines.iter();
                lines.any(|line| words.iter().any(|word| line.contains(word)))
            };
            if has(&WALKS) && !has(&LOOKS) {
                let Function { name, number, .. } = function;
                faults.push(format!(
                    "{file}:{number}: {name}() walks over what a user wrote, or the names of the \
                     kernel, and does not look at is_being_killed(); if it need not, say why: \
                     // BOUND: ..."
                ));
            }
        }
    }
    faults
}
