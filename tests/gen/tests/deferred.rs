// SPDX-License-Identifier: GPL-2.0

//! What a hit makes the kernel run is behind a flag.

use ferroprobe_gen::{deferred::faults, machines::sources};
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn code_that_runs_later_is_started_in_known_places() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = faults(&sources(&here.join("../..")).unwrap());
    assert!(
        found.is_empty(),
        "start it where a flag tells that it has been started, and has not run: {found:#?}"
    );
}

#[test]
fn an_unknown_place_is_found() {
    let text = "// irq_work_queue\n    unsafe { irq_work_queue(work) };\n";
    let log = "pr_warn!();\n";
    let files = [
        ("rust/wake.rs", text),
        ("src/hit/wake.rs", text),
        ("src/events/event.rs", log),
        ("src/hit/slow.rs", log),
    ];
    let files = files.map(|(file, text)| (file.to_string(), text.to_string()));
    let found = faults(&BTreeMap::from(files));
    assert_eq!(
        found,
        [
            "src/hit/slow.rs:1: pr_warn!",
            "src/hit/wake.rs:2: irq_work_queue"
        ]
    );
}
