// SPDX-License-Identifier: GPL-2.0

//! Which links of the documents lead nowhere.
//!
//! Forges show a document as it is, and follow links by names of files: `usage.rst_` with the target
//! `.. _usage.rst: usage.rst`. Sphinx makes pages of the same text, by `Documentation/conf.py`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const FOLDER: &str = "Documentation/";
const INDEX: &str = "Documentation/index.rst";

/// The documents and README below `root`.
///
/// # Errors
///
/// A file that cannot be read.
pub fn documents(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::new();
    let mut add = |name: String| {
        let path = root.join(&name);
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        files.insert(name, text);
        Ok::<_, String>(())
    };
    add("README.md".into())?;
    let folder = std::fs::read_dir(root.join(FOLDER)).map_err(|error| error.to_string())?;
    for entry in folder {
        let name = entry.map_err(|error| error.to_string())?.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".rst") {
            add(format!("{FOLDER}{name}"))?;
        }
    }
    Ok(files)
}

/// What is wrong with the links of `files`, a line each; `exists` says which other files there are.
pub fn faults(files: &BTreeMap<String, String>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    let exists = |path: &str| files.contains_key(path) || exists(path);
    for (file, text) in files {
        let mut say = |what: String| faults.push(format!("{file}: {what}"));
        let links = match file.ends_with(".md") {
            true => links_of_markdown(text),
            false => links_of_document(file, text, files, &mut say),
        };
        for link in links {
            let (path, section) = match link.split_once('#') {
                Some((path, section)) => (path, Some(section)),
                None => (link.as_str(), None),
            };
            if !exists(path) {
                say(format!("{path} does not exist"));
            }
            let titles = files.get(path).map(|text| sections(text));
            if let (Some(section), Some(titles)) = (section, titles) {
                if !titles.contains(section) {
                    say(format!("{path} has no section {section}"));
                }
            }
        }
    }
    let index = files.get(INDEX).map_or("", String::as_str);
    for name in files.keys().filter_map(|file| file.strip_prefix(FOLDER)) {
        let target = format!(".. _{name}: {name}");
        if name != "index.rst" && !index.lines().any(|line| line == target) {
            faults.push(format!("{INDEX}: it lacks {name}"));
        }
    }
    faults
}

/// Paths from the root that README links to, or names.
fn links_of_markdown(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for (mark, end) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
        for (at, _) in text.match_indices(mark) {
            let link = text[at + mark.len()..]
                .split(end)
                .next()
                .unwrap_or_default();
            if !link.contains("://") && !link.starts_with('#') {
                links.push(link.to_string());
            }
        }
    }
    links
}

/// Paths from the root that a document links to.
fn links_of_document(
    file: &str,
    text: &str,
    files: &BTreeMap<String, String>,
    say: &mut impl FnMut(String),
) -> Vec<String> {
    if text.contains(":doc:") {
        say("forges do not follow :doc:, write NAME.rst_".into());
    }
    let mut links = Vec::new();
    let mut targets = BTreeSet::new();
    for line in text.lines() {
        if let Some((name, link)) = line.strip_prefix(".. _").and_then(|l| l.split_once(": ")) {
            if link.ends_with(".rst") {
                targets.insert(name);
                links.push(format!("{FOLDER}{link}"));
                if name != link {
                    say(format!("the target {name} leads to {link}"));
                }
            }
        }
        if let Some(picture) = line.trim_start().strip_prefix(".. image:: ") {
            links.push(format!("{FOLDER}{picture}"));
        }
    }
    let used: BTreeSet<&str> = references(text).collect();
    for name in used.difference(&targets) {
        say(format!("{name}_ lacks its target: .. _{name}: {name}"));
    }
    for name in targets.difference(&used) {
        // The index is searched for its targets.
        if file != INDEX {
            say(format!("nothing refers to the target {name}"));
        }
    }
    for (at, _) in text.match_indices(" <") {
        let link = text[at + 2..].split('>').next().unwrap_or_default();
        let path = link.split('#').next().unwrap_or_default();
        if path.ends_with(".rst") && !path.contains([' ', '/', '`']) {
            links.push(format!("{FOLDER}{link}"));
        }
    }
    for name in files.keys().filter_map(|file| file.strip_prefix(FOLDER)) {
        if text.contains(&format!("``{name}``")) {
            say(format!("``{name}`` is no link, write {name}_"));
        }
    }
    links
}

/// The names of files in references, `NAME.rst_`.
fn references(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.match_indices(".rst_").filter_map(move |(at, mark)| {
        let begin = text[..at].rfind(|c| !is_part(c)).map_or(0, |at| at + 1);
        let behind = text[at + mark.len()..].chars().next();
        // `__` ends a link with a text of its own.
        let is_reference = begin < at && !behind.is_some_and(|c| c.is_alphanumeric() || c == '_');
        is_reference.then(|| &text[begin..at + mark.len() - 1])
    })
}

/// The marks of the sections, as Sphinx and forges make them of the titles.
fn sections(text: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = text.lines().collect();
    let titles = lines.windows(2).filter_map(|pair| match pair {
        [title, rule] if !title.is_empty() && is_rule(rule) && !is_rule(title) => Some(*title),
        _ => None,
    });
    let mark = |title: &str| {
        let words = title.split(|c: char| !c.is_ascii_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("-").to_lowercase()
    };
    titles.map(mark).collect()
}

fn is_rule(line: &str) -> bool {
    let first = line.chars().next().unwrap_or(' ');
    "=-~^".contains(first) && line.chars().all(|c| c == first)
}
