// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe flame`: a flame graph of the stacks in a `hist` file, or in the text of a `trace`.

use crate::error::{Refusal, Result};
use crate::hist::table;
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
        refuse!("there are no stacks in it: give a hist file with the key common_stacktrace or common_ustacktrace, or a trace with the option stacktrace");
    }
    let lines = stacks.into_iter();
    Ok(lines
        .map(|(stack, count)| format!("{stack} {count}"))
        .collect())
}

/// The flame graph of folded stacks, as SVG; `value` is what they count, hits by default.
pub fn svg(folded: &[String], title: &str, value: Option<&str>) -> Result<Vec<u8>> {
    let value = value.filter(|value| *value != "hitcount").unwrap_or("hits");
    let mut options = Options::default();
    options.title = title.into();
    options.count_name = value.into();
    // Colours only tell frames apart.
    options.subtitle = Some(format!(
        "width: {value}; callers below, what they call above"
    ));
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

/// The lines of a stack are indented.
fn is_frame(line: &str) -> bool {
    line.starts_with(' ')
}

fn of_histogram(text: &str, value: &str) -> Result<Stacks> {
    let mut stacks = Stacks::new();
    let mut names: Option<Vec<String>> = None;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(trigger) = line.strip_prefix("# trigger info: hist:") {
            names = Some(table::key_names(trigger));
        }
        let Some(line) = line.strip_prefix("{ ") else {
            continue;
        };
        let mut entry = vec![line];
        while let Some(more) = lines.next_if(|line| is_frame(line) || line.starts_with([',', '}']))
        {
            entry.push(more);
        }
        let Some(names) = &names else {
            refuse!("the line \"# trigger info:\", which names the keys, is missing: give the whole hist file");
        };
        if let Some((stack, values)) = entry_of(&entry, names)? {
            *stacks.entry(stack).or_default() += table::number(values.trim_start(), value)?;
        }
    }
    Ok(stacks)
}

/// The stack of an entry with the keys `names`, as `ROOT;...;LEAF`, and what follows the keys;
/// `None` if no key is a stack.
///
/// The other keys are roots, in their order. A program calls the kernel, so its frames are below
/// those of the kernel; what an address in it means only its process tells, which is below it.
fn entry_of<'t>(lines: &[&'t str], names: &[String]) -> Result<Option<(String, &'t str)>> {
    let wrong = || {
        Refusal::new(format!(
            "an entry that is not as its keys say: {}",
            lines.join(" ")
        ))
    };
    let (mut roots, mut user, mut kernel) = (Vec::new(), Vec::new(), Vec::new());
    let mut lines = lines.iter();
    let mut rest = *lines.next().ok_or_else(wrong)?;
    for (at, name) in names.iter().enumerate() {
        let behind = rest.strip_prefix(name.as_str());
        let behind = behind
            .and_then(|rest| rest.strip_prefix(':'))
            .ok_or_else(wrong)?;
        if name.ends_with("stacktrace") {
            let frames = lines.clone().take_while(|line| is_frame(line));
            let mut frames: Vec<String> = frames.map(|line| frame(line)).collect();
            lines = lines
                .as_slice()
                .get(frames.len()..)
                .unwrap_or_default()
                .iter();
            rest = lines.next().ok_or_else(wrong)?;
            rest = rest.strip_prefix(", ").unwrap_or(rest);
            // The innermost comes first.
            frames.reverse();
            match behind.trim().strip_prefix("process ") {
                Some(pid) => {
                    user.push(format!("pid_{pid}"));
                    user.append(&mut frames);
                }
                None => kernel.append(&mut frames),
            }
            continue;
        }
        // A name of a task can look like anything, but has no end of a line.
        let (own, others) = match names.get(at + 1) {
            Some(next) if next.ends_with("stacktrace") => {
                let end = behind.rfind(&format!(", {next}:")).ok_or_else(wrong)?;
                (behind.get(..end), behind.get(end + 2..))
            }
            Some(next) => {
                let end = behind.find(&format!(", {next}: ")).ok_or_else(wrong)?;
                (behind.get(..end), behind.get(end + 2..))
            }
            // Behind the keys there are no braces.
            None => {
                let end = behind.rfind("} ").ok_or_else(wrong)?;
                (behind.get(..end), behind.get(end..))
            }
        };
        roots.push(frame(own.unwrap_or_default()));
        rest = others.unwrap_or_default();
    }
    let values = rest.strip_prefix('}').ok_or_else(wrong)?;
    if user.is_empty() && !names.iter().any(|name| name.ends_with("stacktrace")) {
        return Ok(None);
    }
    let frames = roots.into_iter().chain(user).chain(kernel);
    let frames: Vec<String> = frames.filter(|frame| !frame.is_empty()).collect();
    Ok(Some((frames.join(";"), values)))
}

/// A record whose stacks are read.
#[derive(Default)]
struct OfRecord {
    task: String,
    user: Vec<String>,
    kernel: Vec<String>,
}

impl OfRecord {
    fn add_to(self, stacks: &mut Stacks) {
        // The innermost comes first.
        let frames: Vec<String> = self.kernel.into_iter().chain(self.user).collect();
        if !frames.is_empty() {
            add(stacks, &self.task, &frames, 1);
        }
    }
}

/// The stacks of a trace. That of the program follows that of the kernel, and both belong to the
/// record before.
fn of_trace(text: &str) -> Stacks {
    let mut stacks = Stacks::new();
    // By task and CPU: records of other CPUs may lie between the two stacks.
    let mut records: BTreeMap<String, OfRecord> = BTreeMap::new();
    let mut current: Option<(String, bool)> = None;
    for line in text.lines() {
        if let (Some(name), Some((of, is_user))) = (line.strip_prefix(" => "), &current) {
            let record = records.entry(of.clone()).or_default();
            match is_user {
                true => record.user.push(frame(name)),
                false => record.kernel.push(frame(name)),
            }
            continue;
        }
        current = None;
        // TASK-PID [CPU] ...
        let Some((of, _)) = line.split_once("] ") else {
            continue;
        };
        let is_user = line.ends_with("<user stack trace>");
        let is_kernel = !is_user && line.ends_with("<stack trace>");
        // It is the second stack of a record that has none of the kind yet.
        let is_same = records
            .get(of)
            .is_some_and(|record| is_user && record.user.is_empty());
        if !is_same {
            if let Some(record) = records.remove(of) {
                record.add_to(&mut stacks);
            }
        }
        if is_user || is_kernel {
            let task = of.rsplit_once(" [").map_or(of, |(task, _)| task).trim();
            let task = task.rsplit_once('-').map_or(task, |(task, _)| task);
            records.entry(of.to_string()).or_default().task = frame(task);
            current = Some((of.to_string(), is_user));
        }
    }
    for record in records.into_values() {
        record.add_to(&mut stacks);
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

    /// As a `hist` file shows the keys `keys`, of two entries.
    fn with_keys(keys: &str, entries: [&str; 2]) -> String {
        let [first, second] = entries;
        format!("# trigger info: hist:keys={keys}:vals=hitcount:sort=hitcount [active]\n#\n\n{first}{second}\nTotals:\n")
    }

    #[test]
    fn the_kernel_lies_above_the_program() {
        let text = with_keys(
            "common_stacktrace,common_ustacktrace",
            [
                "{ common_stacktrace:\n         inner+0x4/0x420\n         outer+0x54/0xe0\n, \
                 common_ustacktrace: process 17\n         <0000000000401000>\n         \
                 <0000000000402000>\n} hitcount:          3\n",
                "{ common_stacktrace:\n         inner+0x4/0x420\n, \
                 common_ustacktrace: process 0\n} hitcount:          1\n",
            ],
        );
        let found = fold(&text, None).expect("stacks");
        let expected = [
            "pid_0;inner 1",
            "pid_17;<0000000000402000>;<0000000000401000>;outer;inner 3",
        ];
        assert_eq!(found, expected);
        let text = with_keys(
            "common_ustacktrace,len,common_stacktrace",
            [
                "{ common_ustacktrace: process 17\n         <0000000000401000>\n, len:          5, \
                 common_stacktrace:\n         inner+0x4/0x420\n} hitcount:          3\n",
                "{ common_ustacktrace: process 17\n, len:          6, \
                 common_stacktrace:\n         inner+0x4/0x420\n} hitcount:          1\n",
            ],
        );
        let found = fold(&text, None).expect("stacks");
        let expected = ["5;pid_17;<0000000000401000>;inner 3", "6;pid_17;inner 1"];
        assert_eq!(found, expected);
    }

    #[test]
    fn names_of_tasks_are_whole() {
        let text = with_keys(
            "common_comm,common_stacktrace,common_pid.execname",
            [
                "{ common_comm: a, b: c, }      , common_stacktrace:\n         inner+0x4/0x420\n, \
                 common_pid: x, hitcount: 9  [        17]} hitcount:          3\n",
                "{ common_comm: kworker/u4:1-ev , common_stacktrace:\n         inner+0x4/0x420\n, \
                 common_pid: a } b           [        17]} hitcount:          4\n",
            ],
        );
        let found = fold(&text, None).expect("stacks");
        let expected = [
            "a,_b:_c,_};x,_hitcount:_9__[________17];inner 3",
            "kworker/u4:1-ev;a_}_b___________[________17];inner 4",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_value_has_its_whole_name() {
        let text = HISTOGRAM.replace("bytes", "count");
        let found = fold(&text, Some("count")).expect("stacks");
        assert_eq!(found, ["cat;open;alloc 100", "my_shell;read;alloc 7"]);
    }

    #[test]
    fn without_the_names_of_the_keys_nothing_is_guessed() {
        let entries = HISTOGRAM.split_once("#\n\n").expect("entries").1;
        let refusal = fold(entries, None).expect_err("a refusal").to_string();
        assert!(refusal.contains("whole hist file"), "{refusal}");
        let other = HISTOGRAM.replace("keys=common_comm", "keys=common_pid");
        assert!(fold(&other, None).is_err());
    }

    #[test]
    fn both_stacks_of_a_record_are_one() {
        let text = "\
             cat-914     [001] .....    88.875869: open: (do_sys_openat2+0x0/0xe0)
             cat-914     [001] .....    88.875913: <stack trace>
 => do_sys_openat2
 => __x64_sys_openat
             dog-915     [002] .....    88.875914: open: (do_sys_openat2+0x0/0xe0)
             cat-914     [001] .....    88.875913: <user stack trace>
 =>  <0000000000401000>
 =>  <0000000000402000>
             dog-915     [002] .....    88.875915: <user stack trace>
 =>  <0000000000401000>
             cat-914     [001] .....    88.875913: <user stack trace>
 =>  <0000000000403000>
";
        let found = fold(text, None).expect("stacks");
        let expected = [
            "cat;<0000000000402000>;<0000000000401000>;__x64_sys_openat;do_sys_openat2 1",
            "cat;<0000000000403000> 1",
            "dog;<0000000000401000> 1",
        ];
        assert_eq!(found, expected);
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
        let picture = String::from_utf8(svg(&folded, "allocations", None).expect("a picture"));
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
        assert!(picture.contains("(3 hits, 60.00%)") && picture.contains("width: hits;"));
        let folded = fold(HISTOGRAM, Some("bytes")).expect("stacks");
        let picture = svg(&folded, "x", Some("bytes")).expect("a picture");
        assert!(String::from_utf8_lossy(&picture).contains("width: bytes;"));
    }

    #[test]
    fn text_without_stacks_is_refused() {
        assert!(fold("", None).is_err());
        assert!(fold("{ common_pid:  3 } hitcount:  4\n", None).is_err());
    }
}
