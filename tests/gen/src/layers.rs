// SPDX-License-Identifier: GPL-2.0

//! Which source file names which, and whether dependencies point down.
//!
//! A file depends on another if a path in it leads into that file's module: in a
//! `use`, or anywhere else. Declaring a module (`mod name;`) is no dependency, and
//! tests within a file do not count.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The layers, the lowest first: each folder and each single file is one. What stands in one
/// may name what stands in it or below it. A file beside a folder belongs to it.
pub const LAYERS: &[&str] = &[
    "rust",
    "src/sys.rs",
    "src/engine/lib.rs",
    "src/engine/util",
    "src/engine/refusal",
    "src/engine/language",
    "src/engine/record",
    "src/engine/ring",
    "src/engine/pairs",
    "src/engine/code",
    "src/engine/definition",
    "src/engine/program",
    "src/engine/filter",
    "src/engine/print",
    "src/engine/hist",
    "src/drop_where.rs",
    "src/commands.rs",
    "src/options.rs",
    "src/errors.rs",
    "src/buffer",
    "src/formats",
    "src/former_code.rs",
    "src/hit",
    "src/source",
    "src/events",
    "src/tracer.rs",
    "src/followed.rs",
    "src/processes.rs",
    "src/instance.rs",
    "src/print.rs",
    "src/dump.rs",
    "src/watch",
    "src/control",
    "src/main.rs",
];

/// Folders that must not name each other, although one is below the other.
pub const STRANGERS: [&str; 2] = ["src/engine", "rust"];

/// What the name of a module of the crate's root stands for, where it has a path.
const ALIASES: [(&str, &str); 2] = [("kapi", "rust/lib.rs"), ("engine", "src/engine/lib.rs")];

/// The files of a tree by the paths of their modules, and the files that each names.
#[derive(Debug, Default)]
pub struct Graph {
    /// For each file those that it names.
    pub names: BTreeMap<String, BTreeSet<String>>,
}

/// Whether the file belongs to a crate of its own, in place of the kernel's.
pub fn is_crate(file: &str) -> bool {
    file.starts_with("rust/own/")
}

/// The files of the module below `root`.
///
/// # Errors
///
/// A file that cannot be read or is no Rust.
pub fn graph(root: &Path) -> Result<Graph, String> {
    let mut files = BTreeMap::new();
    for folder in ["src", "rust"] {
        collect(root, folder, &[".rs"], &mut files)?;
    }
    files.retain(|file, _| !is_crate(file));
    graph_of(&files)
}

/// As [`graph`], of files that are given with their texts.
///
/// # Errors
///
/// A file that is no Rust.
pub fn graph_of(files: &BTreeMap<String, String>) -> Result<Graph, String> {
    let modules: BTreeMap<Vec<String>, String> = files
        .keys()
        .map(|file| (module(file), file.clone()))
        .collect();
    let mut graph = Graph::default();
    for (file, text) in files {
        let tokens: TokenStream = text.parse().map_err(|error| format!("{file}: {error}"))?;
        let mut paths = Vec::new();
        walk(tokens, &mut paths);
        let own = module(file);
        let named = paths
            .iter()
            .filter_map(|path| resolve(path, &own, &modules))
            .filter(|named| named != file)
            .collect();
        graph.names.insert(file.clone(), named);
    }
    Ok(graph)
}

/// Adds the files below `folder` whose names end in one of `ends`.
pub(crate) fn collect(
    root: &Path,
    folder: &str,
    ends: &[&str],
    files: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    let entries = std::fs::read_dir(root.join(folder)).map_err(|e| format!("{folder}: {e}"))?;
    for entry in entries {
        let entry = entry.map_err(|e| e.to_string())?;
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(root, &name, ends, files)?;
        } else if ends.iter().any(|end| name.ends_with(end)) {
            let text = std::fs::read_to_string(entry.path()).map_err(|e| format!("{name}: {e}"))?;
            files.insert(name, text);
        }
    }
    Ok(())
}

/// The path of the module that is `file`: `["engine", "ring"]` for `src/engine/ring.rs`.
fn module(file: &str) -> Vec<String> {
    if let Some((alias, _)) = ALIASES.iter().find(|(_, target)| *target == file) {
        return vec![(*alias).into()];
    }
    let path = file.strip_suffix(".rs").unwrap_or(file);
    let mut parts: Vec<String> = path.split('/').map(String::from).collect();
    match parts.first().map(String::as_str) {
        Some("rust") => parts[0] = "kapi".into(),
        _ => {
            parts.remove(0);
        }
    }
    if parts
        .last()
        .is_some_and(|last| last == "mod" || last == "main")
    {
        parts.pop();
    }
    parts
}

/// All paths of at least two parts, each as its parts; of a `use` each leaf.
fn walk(tokens: TokenStream, paths: &mut Vec<Vec<String>>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if let Some(end) = test_module(&tokens[at..]) {
            at += end;
            continue;
        }
        match &tokens[at] {
            TokenTree::Ident(_) => at += path(&tokens[at..], &[], paths),
            TokenTree::Group(group) => {
                walk(group.stream(), paths);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// The length of `#[cfg(test)] mod NAME { ... }` at the start of `tokens`.
pub(crate) fn test_module(tokens: &[TokenTree]) -> Option<usize> {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), rest @ ..] = tokens else {
        return None;
    };
    if hash.as_char() != '#' || attribute.to_string().replace(' ', "") != "[cfg(test)]" {
        return None;
    }
    let end = rest.iter().position(|token| {
        matches!(token, TokenTree::Group(body) if body.delimiter() == Delimiter::Brace)
            || matches!(token, TokenTree::Punct(end) if end.as_char() == ';')
    })?;
    Some(2 + end + 1)
}

/// Adds the path at the start of `tokens`, behind `prefix`; returns how many tokens
/// it takes.
fn path(tokens: &[TokenTree], prefix: &[String], paths: &mut Vec<Vec<String>>) -> usize {
    let mut parts = prefix.to_vec();
    let mut at = 0;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => {
                parts.push(name.to_string());
                at += 1;
            }
            Some(TokenTree::Group(leaves)) if at > 0 && leaves.delimiter() == Delimiter::Brace => {
                leaf_paths(leaves, &parts, paths);
                return at + 1;
            }
            _ => break,
        }
        match tokens.get(at..at + 2) {
            Some([TokenTree::Punct(a), TokenTree::Punct(b)])
                if a.as_char() == ':' && b.as_char() == ':' =>
            {
                at += 2;
            }
            _ => break,
        }
    }
    paths.push(parts);
    at.max(1)
}

/// The paths of `{a, b::{c, d}}` behind `prefix`.
fn leaf_paths(leaves: &Group, prefix: &[String], paths: &mut Vec<Vec<String>>) {
    let tokens: Vec<TokenTree> = leaves.stream().into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
    for leaf in tokens.split(is_comma).filter(|leaf| !leaf.is_empty()) {
        path(leaf, prefix, paths);
    }
}

/// The file into whose module `path` leads, from the module `own`.
fn resolve(
    path: &[String],
    own: &[String],
    modules: &BTreeMap<Vec<String>, String>,
) -> Option<String> {
    if path.len() < 2 {
        // A name of this module, or the `crate` of a visibility.
        return None;
    }
    let mut base = own.to_vec();
    let mut rest = path;
    match rest.first().map(String::as_str) {
        Some("crate") => {
            base.clear();
            rest = &rest[1..];
        }
        Some("self") => rest = &rest[1..],
        Some("super") => {
            while rest.first().is_some_and(|part| part == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        // A child of this module, or a name from elsewhere.
        _ => {}
    }
    if rest.is_empty() {
        // The module of a visibility.
        return None;
    }
    let is_relative = path
        .first()
        .is_some_and(|part| part != "crate" && part != "super");
    let mut found = None;
    for part in rest {
        base.push(part.clone());
        match modules.get(&base) {
            Some(file) => found = Some(file),
            None => break,
        }
    }
    if found.is_none() && !is_relative {
        // An item of the module that the path begins in.
        base.pop();
        while !base.is_empty() && !modules.contains_key(&base) {
            base.pop();
        }
        found = modules.get(&base);
    }
    found.cloned()
}

/// What is wrong with the dependencies, a line each.
pub fn faults(graph: &Graph) -> Vec<String> {
    let mut faults = Vec::new();
    for (file, named) in &graph.names {
        let Some(own) = layer(file) else {
            faults.push(format!("{file} has no layer"));
            continue;
        };
        for other in named {
            if layer(other).is_some_and(|layer| layer > own) {
                faults.push(format!("{file} names {other}, which is above it"));
            }
            let is_in = |file: &str, folder: &str| file.starts_with(&format!("{folder}/"));
            let [a, b] = STRANGERS;
            if (is_in(file, a) && is_in(other, b)) || (is_in(file, b) && is_in(other, a)) {
                faults.push(format!("{file} names {other}: {a} and {b} are strangers"));
            }
        }
    }
    for circle in circles(graph) {
        if !is_module(&circle) {
            faults.push(format!("a circle: {}", circle.join(", ")));
        }
    }
    faults
}

/// The number of the layer that `file` is in.
fn layer(file: &str) -> Option<usize> {
    // The file beside a folder belongs to it.
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let is_in = |layer: &str| {
        let named = if layer.ends_with(".rs") { file } else { stem };
        let rest = named.strip_prefix(layer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    LAYERS.iter().position(|layer| is_in(layer))
}

/// Whether the files are the root of a module and one file of its folder, which share what the
/// root declares.
fn is_module(circle: &[String]) -> bool {
    let is_root = |root: &String, other: &String| {
        let folder = root.strip_suffix("/lib.rs").or(root.strip_suffix(".rs"));
        let rest = folder.and_then(|folder| other.strip_prefix(folder)?.strip_prefix('/'));
        rest.is_some_and(|rest| !rest.contains('/'))
    };
    matches!(circle, [a, b] if is_root(a, b) || is_root(b, a))
}

/// The sets of files each of which leads to all others of its set.
fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = graph
        .names
        .keys()
        .map(|file| (file, reached(graph, file)))
        .collect();
    let mut done = BTreeSet::new();
    let mut circles = Vec::new();
    for (file, to) in &reach {
        if !to.contains(*file) || done.contains(*file) {
            continue;
        }
        let circle: Vec<String> = to
            .iter()
            .filter(|other| reach.get(**other).is_some_and(|back| back.contains(*file)))
            .map(|other| (*other).clone())
            .collect();
        done.extend(to.iter().filter(|other| circle.contains(**other)).copied());
        circles.push(circle);
    }
    circles
}

/// The files to which `file` leads.
fn reached<'a>(graph: &'a Graph, file: &str) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<&String> = graph.names.get(file).into_iter().flatten().collect();
    while let Some(next) = todo.pop() {
        if found.insert(next) {
            todo.extend(graph.names.get(next).into_iter().flatten());
        }
    }
    found
}
