// SPDX-License-Identifier: GPL-2.0

//! A name of a type stands for one thing.

use ferroprobe_gen::{machines::sources, type_names::shared};
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn no_name_stands_for_two_things() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = sources(&here.join("../..")).unwrap();
    files.retain(|file, _| file.ends_with(".rs"));
    let shared = shared(&files).unwrap();
    assert!(shared.is_empty(), "choose other names: {shared:#?}");
}

#[test]
fn a_name_of_two_things_is_found() {
    let text = |text: &str| text.to_string();
    let files = BTreeMap::from([
        (
            "a.rs".into(),
            text("pub struct Both; enum One {} #[cfg(test)] mod tests { struct One; }"),
        ),
        (
            "b.rs".into(),
            text("mod inner { trait Both {} } fn one() { let one = One::New; }"),
        ),
        (
            "c.rs".into(),
            text("#[cfg(test)] mod tests { struct One; }"),
        ),
        ("a/x.rs".into(), text("struct X;")),
        ("a/no_x.rs".into(), text("enum X {}")),
    ]);
    let shared = shared(&files).unwrap();
    assert_eq!(shared.len(), 1);
    assert_eq!(shared["Both"].len(), 2);
}
