// SPDX-License-Identifier: GPL-2.0

//! Every file of the directory is named where its user looks: in
//! `Documentation/files.rst` and in the directory's own `README`.

use std::collections::BTreeSet;
use std::path::Path;

const FILES: &str = include_str!("../../../Documentation/files.rst");
const README: &str = include_str!("../../../src/control/readme.rs");

/// The names of the files and folders that the sources below `folder` make.
fn made(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let files = std::fs::read_dir(folder).expect("the sources");
    let files = files.map(|entry| entry.expect("a file").path());
    for file in files.chain([folder.with_extension("rs")]) {
        let text = std::fs::read_to_string(file).expect("text");
        let rows = [
            "root(c\"",
            "row(Directory::Events, c\"",
            "row(Directory::Print, c\"",
        ];
        for call in ["Entry::new(c\"", "Dir::new(c\""].into_iter().chain(rows) {
            let calls = text.split(call).skip(1);
            names.extend(calls.filter_map(|rest| Some(rest.split_once('"')?.0.to_string())));
        }
    }
    names
}

/// The words of `text` that can be a name.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect()
}

#[test]
fn every_file_is_in_the_documents() {
    let made = made(Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../src/control"
    )));
    for known in ["kprobe_events", "per_cpu", "stats", "trigger"] {
        assert!(made.contains(known), "{known} is not found in the sources");
    }
    // What stands in the first column of the table, such as ``events/GROUP/filter``.
    let table = FILES.lines().filter_map(|line| line.strip_prefix("``"));
    let table: String = table
        .filter_map(|line| line.split_once("``"))
        .map(|(path, _)| format!("{path} "))
        .collect();
    let (_, readme) = README.split_once("const TEXT").expect("the text");
    for (document, text) in [("files.rst", &*table), ("README", readme)] {
        let named = words(text);
        let missing: Vec<_> = made
            .iter()
            .filter(|name| !named.contains(&***name) && *name != "ferroprobe")
            .collect();
        assert!(missing.is_empty(), "{document} does not name {missing:?}");
    }
}
