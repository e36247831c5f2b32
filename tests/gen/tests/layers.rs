// SPDX-License-Identifier: GPL-2.0

//! Dependencies point down.

use ferroprobe_gen::layers::{faults, graph};
use std::path::Path;

#[test]
fn dependencies_point_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = faults(&graph(&root).unwrap());
    assert!(found.is_empty(), "{}", found.join("\n"));
}
