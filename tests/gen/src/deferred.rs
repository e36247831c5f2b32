// SPDX-License-Identifier: GPL-2.0

//! Where the module makes the kernel run code later, or write to its log.
//!
//! What a hit makes the kernel run may be what is hit. So a hit asks for it only if it has not been
//! asked for, by a flag that the code clears which runs then. The files below have such flags.

use std::collections::BTreeMap;

/// Words, and the files in which they may be. A folder ends with a slash.
const KNOWN: [(&[&str], &[&str]); 6] = [
    (
        &["irq_work_queue"],
        &["rust/irq_deferred.rs", "rust/wake.rs"],
    ),
    (
        &[
            "queue_delayed_work",
            "mod_delayed_work",
            "queue_work",
            "schedule_work",
        ],
        &["rust/work.rs"],
    ),
    (&["wake_up"], &["rust/node.c", "rust/wake.rs"]),
    // What an oops makes known is asked for once, too.
    (&[".kick()"], &["src/dump.rs", "src/hit/snapshots.rs"]),
    // Not on a hit: a timer is started when an event is armed.
    (
        &[
            "smp_call_function",
            "task_work_add",
            "mod_timer",
            "hrtimer_start",
            "call_rcu",
        ],
        &["rust/arrivals.c", "rust/interrupt.c"],
    ),
    // Files of which nothing runs on a hit, but for the worker that tells of a snapshot, once.
    (
        &["pr_warn!", "pr_info!", "pr_err!", "pr_notice!", "printk("],
        &[
            "src/control/at_load.rs",
            "src/buffer/aligning.rs",
            "src/buffer/snapshot.rs",
            "src/events/",
            "src/main.rs",
        ],
    ),
];

/// The lines that have one of the words where it may not be, a line each. Comments do not count.
pub fn faults(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    // The engine is pure; it has the names of events.
    let may_call = |file: &str| !file.starts_with("src/engine/");
    for (file, text) in files.iter().filter(|(file, _)| may_call(file)) {
        for (words, places) in KNOWN {
            let is_known = |place: &&str| match place.ends_with('/') {
                true => file.starts_with(place),
                false => file == place,
            };
            if places.iter().any(is_known) {
                continue;
            }
            for (number, line) in text.lines().enumerate() {
                let line = line.trim_start();
                let is_comment = ["//", "/*", "*"].iter().any(|mark| line.starts_with(mark));
                let word = words.iter().find(|word| line.contains(**word));
                if let (Some(word), false) = (word, is_comment) {
                    faults.push(format!("{file}:{}: {word}", number + 1));
                }
            }
        }
    }
    faults
}
