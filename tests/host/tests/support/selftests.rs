// SPDX-License-Identifier: GPL-2.0

//! The selftests of the guests, as files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of the selftests.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../selftests")
}

fn paths(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("a file").path())
}

/// The file of each selftest by its name, which no two of them have. Each is in a folder.
pub fn by_name() -> BTreeMap<String, PathBuf> {
    let is_test = |path: &PathBuf| path.extension().is_some_and(|it| it == "tc");
    let (folders, files): (Vec<_>, Vec<_>) = paths(&folder()).partition(|path| path.is_dir());
    let outside: Vec<_> = files.into_iter().filter(is_test).collect();
    assert!(outside.is_empty(), "in no folder: {outside:?}");
    let mut all = BTreeMap::new();
    for path in folders
        .iter()
        .flat_map(|folder| paths(folder))
        .filter(is_test)
    {
        let name = path.file_stem().expect("a name").to_string_lossy();
        if let Some(other) = all.insert(name.into_owned(), path.clone()) {
            panic!("two selftests of one name: {path:?} and {other:?}");
        }
    }
    all
}
