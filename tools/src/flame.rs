// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe flame`: a flame graph of the stacks in a `hist` file, or in the text of a `trace`.

use crate::error::{Refusal, Result};
use crate::refuse;
use inferno::flamegraph::{self, Options};
use std::collections::BTreeMap;

/// The stacks in `text`, each as `ROOT;...;LEAF COUNT`, sorted.
///
/// `value` is what a stack counts for in a histogram, `hitcount` by default; in a trace each
/// counts once.
pub fn fold(text: &str, value: Option<&str>) -> Result<Vec<String>> {
    let is_histogram = text.lines().any(|line| line.starts_with("{ "));
    let stacks = match (is_histogram, value) {
        (true, value) => of_histogram(text, value.unwrap_or("hitcount"))?,
        (false, None) => of_trace(text),
        (false, Some(_)) => refuse!("only a histogram has values: leave --value out"),
    };
    if stacks.is_empty() {
        refuse!("there are no stacks in it: give a hist file with the key common_stacktrace, or a trace with the option stacktrace");
    }
    let lines = stacks.into_iter();
    Ok(lines
        .map(|(stack, count)| format!("{stack} {count}"))
        .collect())
}

/// The flame graph of folded stacks, as SVG.
pub fn svg(folded: &[String], title: &str) -> Result<Vec<u8>> {
    let mut options = Options::default();
    options.title = title.into();
    options.count_name = "hits".into();
    let mut out = Vec::new();
    flamegraph::from_lines(&mut options, folded.iter().map(String::as_str), &mut out)?;
    Ok(out)
}

/// Counts by stack.
type Stacks = BTreeMap<String, u64>;

/// Adds a stack whose frames are the innermost first.
fn add(stacks: &mut Stacks, root: &str, frames: &[String], count: u64) {
    let root = (!root.is_empty()).then_some(root);
    let outermost_first = frames.iter().rev().map(String::as_str);
    let names: Vec<&str> = root.into_iter().chain(outermost_first).collect();
    *stacks.entry(names.join(";")).or_default() += count;
}

/// A frame without its offset, and without what separates frames.
fn frame(text: &str) -> String {
    let text = text.trim();
    let name = text.split("+0x").next().unwrap_or(text);
    name.replace([';', ' '], "_")
}

fn of_histogram(text: &str, value: &str) -> Result<Stacks> {
    let mut stacks = Stacks::new();
    let mut root = String::new();
    let mut frames: Option<Vec<String>> = None;
    for line in text.lines() {
        if let Some(keys) = line.strip_prefix("{ ") {
            let Some(before) = keys.strip_suffix("stacktrace:") else {
                continue;
            };
            root = key_values(before.strip_suffix("common_").unwrap_or(before));
            frames = Some(Vec::new());
        } else if let Some(rest) = line.strip_prefix('}') {
            if let Some(frames) = frames.take() {
                add(&mut stacks, &root, &frames, value_of(rest, value)?);
            }
        } else if let Some(frames) = &mut frames {
            frames.push(frame(line));
        }
    }
    Ok(stacks)
}

/// The values of the other keys: `common_comm: cat, ` is `cat`.
fn key_values(text: &str) -> String {
    let keys = text.split(',').filter_map(|key| key.split_once(": "));
    let values: Vec<String> = keys.map(|(_, value)| frame(value)).collect();
    values.join(";")
}

fn value_of(text: &str, name: &str) -> Result<u64> {
    let behind = text
        .split_once(&format!("{name}:"))
        .map(|(_, behind)| behind.trim_start());
    let digits = behind.map(|behind| behind.split_whitespace().next().unwrap_or_default());
    let number = digits.map(|digits| digits.parse::<u64>());
    match number {
        Some(Ok(number)) => Ok(number),
        Some(Err(_)) => Err(Refusal::new(format!(
            "the value {name} is no count: take another with --value"
        ))),
        None => Err(Refusal::new(format!(
            "the histogram has no value {name}: take another with --value"
        ))),
    }
}

fn of_trace(text: &str) -> Stacks {
    let mut stacks = Stacks::new();
    let mut current: Option<(String, Vec<String>)> = None;
    for line in text.lines().chain([""]) {
        if let (Some(name), Some((_, frames))) = (line.strip_prefix(" => "), &mut current) {
            frames.push(frame(name));
            continue;
        }
        if let Some((task, frames)) = current.take().filter(|(_, frames)| !frames.is_empty()) {
            add(&mut stacks, &task, &frames, 1);
        }
        if line.ends_with("stack trace>") {
            // TASK-PID [CPU] ...
            let task = line.split(" [").next().unwrap_or_default().trim();
            let task = task.rsplit_once('-').map_or(task, |(task, _)| task);
            current = Some((frame(task), Vec::new()));
        }
    }
    stacks
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTOGRAM: &str = "\
# event histogram
#
# trigger info: hist:keys=common_comm,common_stacktrace:vals=hitcount,bytes:sort=hitcount:size=2048 [active]
#

{ common_comm: cat             , common_stacktrace:
         alloc+0x4/0x420
         open+0x54/0xe0
} hitcount:          2  bytes:        100
{ common_comm: my shell        , common_stacktrace:
         alloc+0x4/0x420
         read+0x1/0xe0
} hitcount:          3  bytes:          7

Totals:
    Hits: 5
";

    #[test]
    fn a_histogram_is_folded_by_any_value() {
        let found = fold(HISTOGRAM, None).expect("stacks");
        assert_eq!(found, ["cat;open;alloc 2", "my_shell;read;alloc 3"]);
        let found = fold(HISTOGRAM, Some("bytes")).expect("stacks");
        assert_eq!(found, ["cat;open;alloc 100", "my_shell;read;alloc 7"]);
        assert!(fold(HISTOGRAM, Some("pages")).is_err());
    }

    #[test]
    fn a_trace_is_folded_with_its_tasks() {
        let text = "\
# tracer: nop
             cat-914     [001] .....    88.875869: open: (do_sys_openat2+0x0/0xe0)
             cat-914     [001] .....    88.875913: <stack trace>
 => do_sys_openat2
 => __x64_sys_openat
         my-x-91         [001] .....    88.875913: <stack trace>
 => do_sys_openat2
 => __x64_sys_openat
             cat-914     [001] .....    88.875913: <stack trace>
 => do_sys_openat2
 => __x64_sys_openat
";
        let found = fold(text, None).expect("stacks");
        let expected = [
            "cat;__x64_sys_openat;do_sys_openat2 2",
            "my-x;__x64_sys_openat;do_sys_openat2 1",
        ];
        assert_eq!(found, expected);
        assert!(fold(text, Some("bytes")).is_err());
    }

    #[test]
    fn a_picture_has_all_functions() {
        let folded = fold(HISTOGRAM, None).expect("stacks");
        let picture = String::from_utf8(svg(&folded, "allocations").expect("a picture"));
        let picture = picture.expect("text");
        assert!(picture.starts_with("<?xml") && picture.trim_end().ends_with("</svg>"));
        for word in [
            "allocations",
            "alloc (5 hits, 100%)",
            "my_shell (3 hits, 60.00%)",
        ] {
            let alone = word.split(' ').next().unwrap_or_default();
            assert!(picture.contains(alone), "{word}");
        }
        assert!(picture.contains("(3 hits, 60.00%)"));
    }

    #[test]
    fn text_without_stacks_is_refused() {
        assert!(fold("", None).is_err());
        assert!(fold("{ common_pid:  3 } hitcount:  4\n", None).is_err());
    }
}
