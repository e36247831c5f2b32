// SPDX-License-Identifier: GPL-2.0

//! What walks over a write, or over the names of the kernel, can be killed.

use ferroprobe_gen::{loops, machines::sources};
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn walks_end_at_a_fatal_signal() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = loops::faults(&sources(&root).unwrap());
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_walk_without_a_look_is_found() {
    let walk = |look: &str| {
        format!(
            "impl A {{\n    pub(crate) fn lines(\n        text: &[u8],\n    ) {{\n        {look}\n        \
             for line in lex::lines(text) {{\n        }}\n    }}\n}}\n\nfn other() {{\n    \
             is_being_killed();\n}}\n"
        )
    };
    for (file, look, count) in [
        ("src/control/a.rs", "", 1),
        ("src/control/a.rs", "if is_being_killed() {}", 0),
        ("src/control/a.rs", "// BOUND: one line.", 0),
        ("src/engine/a.rs", "", 0),
    ] {
        let files = BTreeMap::from([(file.to_string(), walk(look))]);
        let found = loops::faults(&files);
        assert_eq!(found.len(), count, "{file} {look}: {found:?}");
        assert!(found
            .iter()
            .all(|fault| fault.starts_with("src/control/a.rs:2: lines()")));
    }
}
