// SPDX-License-Identifier: GPL-2.0

//! Every file of the directory says in its row what it is for, which `README` shows, and is in
//! the table of `Documentation/files.rst`; what is there exists. So do the selftests that
//! `Documentation/porting.rst` and `threat-model.rst` name. The package has each document that one of its documents names.

use crate::support::linked::Instance;
use crate::support::selftests;

use std::collections::BTreeMap;
use std::path::Path;

use ferroprobe_engine::engine::refusal::error::Kind;
use ferroprobe_engine::engine::refusal::remedy::remedy;

const FILES: &str = include_str!("../../../Documentation/files.rst");
const PORTING: &str = include_str!("../../../Documentation/porting.rst");
const THREATS: &str = include_str!("../../../Documentation/threat-model.rst");

/// A row of a file or directory in the sources.
struct Row {
    /// Its path, of `Documentation/files.rst`.
    path: String,
    /// The text from its help on.
    help: String,
}

/// The texts of the sources of the files.
fn sources() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src/control");
    let files = std::fs::read_dir(&folder).expect("the sources");
    let files = files.map(|entry| entry.expect("a file").path());
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into();
        (name, std::fs::read_to_string(&path).expect("text"))
    };
    let all = files.chain([folder.with_extension("rs")]).map(read);
    all.collect()
}

/// The directory that the file of a row is in, whose name is behind `before` in the source
/// `file`.
fn directory(file: &str, before: &str) -> &'static str {
    let line = before.rsplit('\n').find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default();
    let directories = [
        ("Folder::Events,", "events/"),
        ("Folder::Print,", "events/ftrace/print/"),
        ("Folder::RawData,", "events/ftrace/raw_data/"),
        ("Folder::KernelStack,", "events/ftrace/kernel_stack/"),
        ("Folder::UserStack,", "events/ftrace/user_stack/"),
        ("const GROUP_", "events/GROUP/"),
        ("const EVENT_", "events/GROUP/EVENT/"),
    ];
    let known = directories.iter().find(|(mark, _)| line.contains(mark));
    match known {
        Some((_, directory)) => directory,
        None if file == "per_cpu.rs" && !line.contains("DIRECTORY") => "per_cpu/cpuN/",
        None => "",
    }
}

/// The rows in the text of `file`, and the names of files that are in none.
fn rows(file: &str, text: &str) -> (Vec<Row>, Vec<String>) {
    let (mut rows, mut others) = (Vec::new(), Vec::new());
    // Whatever makes a file or a directory there has its name as such a literal, and nothing
    // else is one.
    for (at, _) in text.match_indices("c\"") {
        let (before, rest) = (&text[..at], &text[at + 2..]);
        if before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            continue;
        }
        let (name, rest) = rest.split_once('"').expect("the end of a literal");
        match before.trim_end() {
            before if before.ends_with("file(") || before.ends_with("folder(") => {
                let help = rest.split_once('"').expect("the help").1;
                rows.push(Row {
                    path: format!("{}{name}", directory(file, before)),
                    help: help.into(),
                });
            }
            // A directory, which the paths of its files show.
            before if before.ends_with("Dir::new(") => {}
            _ => others.push(name.into()),
        }
    }
    (rows, others)
}

fn all_rows() -> Vec<Row> {
    let texts = sources();
    let rows = texts.iter().flat_map(|(file, text)| rows(file, text).0);
    rows.collect()
}

/// The paths in the table.
fn table() -> Vec<&'static str> {
    // Behind the title.
    let rows = FILES
        .lines()
        .skip(5)
        .skip_while(|line| !line.starts_with("====="));
    let rows = rows.skip(1).take_while(|line| !line.starts_with("====="));
    rows.filter_map(|line| Some(line.strip_prefix("``")?.split_once("``")?.0))
        .collect()
}

/// Whether one is the other, or a directory that it is in.
fn belongs(path: &str, other: &str) -> bool {
    let is_in = |path: &str, folder: &str| {
        let rest = path.strip_prefix(folder.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_in(path, other) || is_in(other, path)
}

#[test]
fn every_file_says_what_it_is_for() {
    for (file, text) in sources() {
        let (rows, others) = rows(&file, &text);
        let others: Vec<_> = others.iter().filter(|name| *name != "ferroprobe").collect();
        assert!(others.is_empty(), "{file}: without a row: {others:?}");
        for row in rows {
            assert!(!row.help.starts_with('"'), "{}: without help", row.path);
        }
    }
}

#[test]
fn every_row_is_shown() {
    // The rows of `FILES` are shown as they are made; a constant has to be in a list.
    for (file, text) in sources() {
        for (_, rest) in text
            .match_indices("const ")
            .map(|(at, m)| text[at..].split_at(m.len()))
        {
            let Some((name, "Described")) = rest
                .split_once(": ")
                .map(|(name, rest)| (name, rest.split([' ', ';']).next().unwrap_or_default()))
            else {
                continue;
            };
            let listed = match name {
                "DIRECTORY" => format!("{}::DIRECTORY", file.trim_end_matches(".rs")),
                name => format!("&{name}"),
            };
            let is_listed = sources().values().any(|text| text.contains(&listed));
            assert!(is_listed, "{file}: README does not show {name}");
        }
    }
}

#[test]
fn every_file_is_in_the_documents() {
    let (rows, table) = (all_rows(), table());
    for known in [
        "kprobe_events",
        "trace_json",
        "events/enable",
        "events/ftrace/print/hist",
        "events/GROUP/filter",
        "events/GROUP/EVENT/trigger",
        "per_cpu/cpuN/stats",
        "per_cpu",
        "instances",
    ] {
        let is_found = rows.iter().any(|row| row.path == known);
        assert!(is_found, "{known} is not found in the sources");
    }
    assert!(rows.len() > 60, "{} rows", rows.len());
    for row in &rows {
        // A file of the same name elsewhere does not count.
        let is_named = |path: &&str| {
            let is_folder = path.ends_with('/') || row.path == "per_cpu" || row.path == "options";
            *path == row.path || (is_folder && belongs(&row.path, path))
        };
        let is_named = table.iter().any(is_named);
        assert!(is_named, "files.rst does not name {}", row.path);
    }
    for path in table {
        let is_made = rows.iter().any(|row| belongs(&row.path, path));
        assert!(is_made, "files.rst names {path}, which is not made");
    }
}

#[test]
fn every_selftest_that_notices_a_change_exists() {
    let selftests = selftests::by_name();
    // Nothing else there is in small letters with a hyphen.
    let is_selftest = |name: &&str| {
        name.contains('-') && name.bytes().all(|b| b == b'-' || b.is_ascii_lowercase())
    };
    let names: Vec<_> = PORTING.split("``").filter(is_selftest).collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        let is_there = selftests.contains_key(name);
        assert!(is_there, "porting.rst names {name}, which is no selftest");
    }
}

#[test]
fn every_selftest_that_shows_a_protection_exists() {
    let selftests = selftests::by_name();
    let names: Vec<_> = THREATS.split('"').skip(1).step_by(2).collect();
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        let is_there = selftests.contains_key(name);
        assert!(
            is_there,
            "threat-model.rst names {name}, which is no selftest"
        );
    }
}

#[test]
fn every_selftest_says_what_it_shows() {
    for (name, path) in selftests::by_name() {
        let text = std::fs::read_to_string(&path).expect("text");
        let head: Vec<_> = text
            .lines()
            .take_while(|line| line.starts_with('#'))
            .collect();
        let has = |tag: &str| head.iter().any(|line| line.starts_with(tag));
        assert!(has("# SPDX-License-Identifier: "), "{name} has no licence");
        assert!(has("# description: "), "{name} has no description");
    }
}

#[test]
fn the_package_has_what_its_documents_name() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(top.join(path)).expect(path);
    let list = read("debian/ferroprobe-dkms.docs");
    let has = |name: &str| {
        let path = format!("Documentation/{name}.rst");
        list.lines()
            .any(|line| line == path || line == "Documentation/*.rst")
    };
    let folder = std::fs::read_dir(top.join("Documentation")).expect("the documents");
    let paths = folder.map(|entry| entry.expect("a file").path());
    let stem = |path: std::path::PathBuf| {
        let name = path.file_name()?.to_str()?;
        name.strip_suffix(".rst").map(String::from)
    };
    let names: Vec<_> = paths.filter_map(stem).collect();
    assert!(names.len() > 20, "{names:?}");
    let mut texts = vec![(String::from("README"), read("README.md"))];
    for name in names.iter().filter(|name| has(name)) {
        texts.push((name.clone(), read(&format!("Documentation/{name}.rst"))));
    }
    for (from, text) in texts {
        for name in &names {
            let is_named = [format!(":doc:`{name}`"), format!("{name}.rst")];
            let is_named = is_named.iter().any(|mark| text.contains(mark));
            assert!(
                !is_named || has(name),
                "{from} names {name}, which is not in the package"
            );
        }
    }
}

/// The rows of `stages!`: the name of a stage, the one that the kernel calls, and what it does.
fn stages() -> Vec<[String; 3]> {
    let (mut rows, mut does) = (Vec::new(), String::new());
    for line in include_str!("../../../src/hit/stage.rs").lines() {
        if let Some(text) = line.trim_start().strip_prefix("/// ") {
            // A second paragraph is for the source alone.
            if does.is_empty() {
                does = text.replace('`', "``");
            }
        } else if let Some((row, called)) = line.split_once(", call ") {
            let name = row.trim().split(' ').next().unwrap_or_default();
            let called = called.split(',').next().unwrap_or_default();
            if !name.starts_with('$') {
                rows.push([name.into(), called.into(), std::mem::take(&mut does)]);
            }
        } else if line.trim_start() != "///" {
            does.clear();
        }
    }
    rows
}

#[test]
fn the_design_has_a_table_of_the_stages() {
    let design = include_str!("../../../Documentation/design.rst");
    let rows = stages();
    assert!(rows.len() > 20, "{rows:?}");
    let quoted = |name: &str| format!("``{name}``");
    let row = |[name, called, does]: &[String; 3]| {
        let (name, called) = (quoted(name), quoted(called));
        format!("{name:21} {called:21} {does}")
    };
    let table: Vec<_> = rows.iter().map(row).collect();
    let table = table.join("\n");
    assert!(design.contains(&table), "design.rst lacks this:\n{table}");
}

/// The words between two backticks in the lines of `text` that `is_row` selects.
fn quoted(text: &str, is_row: impl Fn(&str) -> bool) -> Vec<&str> {
    let rows = text.lines().filter(|line| is_row(line));
    let words = rows.flat_map(|row| row.split("``").skip(1).step_by(2));
    words.collect()
}

#[test]
fn refusals_list_all_that_could_be_meant() {
    let listed = |kind: Kind| {
        let all = remedy(kind)
            .split([' ', ','])
            .filter(|word| !word.is_empty());
        all.collect::<Vec<_>>()
    };
    let histograms = include_str!("../../../Documentation/histograms.rst");
    let modifiers = quoted(histograms, |line| line.starts_with("``."));
    let modifiers: Vec<_> = modifiers
        .into_iter()
        .filter(|it| it.starts_with('.'))
        .collect();
    assert!(modifiers.len() >= 14, "{modifiers:?}");
    for modifier in modifiers {
        assert!(
            listed(Kind::BadFieldModifier).contains(&modifier),
            "{modifier}"
        );
    }
    let grammar = include_str!("../../../Documentation/grammar.rst");
    let variables = quoted(grammar, |line| {
        line.starts_with("``$") && line.ends_with("``") && !line.contains("->")
    });
    assert!(variables.len() >= 12, "{variables:?}");
    for variable in variables {
        assert!(listed(Kind::BadVar).contains(&variable), "{variable}");
    }
    // Keys that are no fields: what is no key is refused with all of them.
    let mut it = Instance::default();
    it.add_event("any:event", "k=%ax:u8");
    let error = it
        .write("any:event", "hist:keys=nokey")
        .expect_err("no key");
    let detail = String::from_utf8(error.detail().to_vec()).unwrap();
    let keys = histograms.split_once("A key is a field").expect("keys").1;
    let keys = keys
        .split_once(" ``cpu``, ``comm``")
        .expect("other names")
        .0;
    for key in quoted(keys, |_| true) {
        let is_key = key.starts_with("common_");
        assert!(!is_key || detail.contains(key), "{key}: {detail}");
    }
}
