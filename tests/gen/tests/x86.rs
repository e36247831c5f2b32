// SPDX-License-Identifier: GPL-2.0

//! The tables in the tree are those which the description makes.

use ferroprobe_gen::x86::{generate, SOURCE, TARGET};
use std::path::Path;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn tables_are_those_of_the_description() {
    let tables = generate(&read(SOURCE)).unwrap();
    assert!(
        tables == read(TARGET),
        "run `cargo run -p ferroprobe-gen` and commit {TARGET}"
    );
}

#[test]
fn a_changed_cell_changes_the_tables() {
    let text = read(SOURCE);
    let changed = text.replacen("-    -    b    x", "-    -    w    x", 1);
    assert_ne!(text, changed);
    assert_ne!(generate(&changed).unwrap(), read(TARGET));
}

#[test]
fn a_bad_description_is_refused_with_its_line() {
    for (text, message) in [
        ("map one\n  00 m\n", "line 2: a row has 16 cells, not 1"),
        ("map two\n", "line 1: no map is called `two`"),
        ("  00 m\n", "line 1: a row outside a map"),
        ("class one 90 Nope\n", "line 1: no class is called `Nope`"),
        ("frob\n", "line 1: `frob` begins no statement"),
        ("group one f6 8=i\n", "line 1: `8=i` names no register"),
    ] {
        assert_eq!(generate(text).unwrap_err(), message);
    }
}
