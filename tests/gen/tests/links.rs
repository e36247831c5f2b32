// SPDX-License-Identifier: GPL-2.0

//! The links of the documents lead somewhere, and the index has each document.

use ferroprobe_gen::links::{documents, faults};
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn no_link_is_dead_and_the_index_is_complete() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = documents(&root).unwrap();
    assert!(files.len() > 25, "{:?}", files.keys());
    let found = faults(&files, |path| root.join(path).exists());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// What is wrong if these files are beside an index of `one.rst`.
fn found(texts: &[(&str, &str)]) -> String {
    let own = [
        ("README.md", "[one](Documentation/one.rst)"),
        (
            "Documentation/index.rst",
            "one.rst_\n\n.. _one.rst: one.rst\n",
        ),
        ("Documentation/one.rst", "A title\n=======\n"),
    ];
    let all = own.iter().chain(texts);
    let files = all.map(|(file, text)| ((*file).to_string(), (*text).to_string()));
    let files: BTreeMap<_, _> = files.collect();
    faults(&files, |path| path == "Documentation/pictures/a.svg").join("; ")
}

#[test]
fn a_dead_link_is_found() {
    let one = |text: &str| found(&[("Documentation/one.rst", text)]);
    let good = "See index.rst_, and `the first <index.rst>`__.\n\n.. _index.rst: index.rst\n";
    for (text, words) in [
        (good, ""),
        ("See :doc:`index`.", "do not follow :doc:"),
        ("See index.rst_.", "index.rst_ lacks its target"),
        (".. _index.rst: index.rst\n", "nothing refers to the target"),
        ("x.rst_\n\n.. _x.rst: x.rst\n", "x.rst does not exist"),
        ("See ``index.rst``.", "``index.rst`` is no link"),
        ("`It <none.rst>`__", "none.rst does not exist"),
        ("`It <one.rst#b>`__\n\nA\n=\n", "one.rst has no section b"),
        ("`It <one.rst#a-b>`__\n\nA b\n===\n", ""),
        (".. image:: pictures/a.svg\n", ""),
        (
            ".. image:: pictures/b.svg\n",
            "pictures/b.svg does not exist",
        ),
    ] {
        let found = one(text);
        assert!(
            found.contains(words) && found.is_empty() == words.is_empty(),
            "{text}: {found}"
        );
    }
    let readme = found(&[("README.md", "![it](Documentation/two.svg)")]);
    assert_eq!(readme, "README.md: Documentation/two.svg does not exist");
    let missing = found(&[("Documentation/two.rst", "")]);
    assert_eq!(missing, "Documentation/index.rst: it lacks two.rst");
}
