// SPDX-License-Identifier: GPL-2.0

//! Which names of types stand for two things in the module.

use crate::layers::test_module;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// For each name of a structure, enumeration or trait that stands in several files these
/// files. Tests within a file do not count.
///
/// # Errors
///
/// A file that is no Rust.
pub fn shared(
    files: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in files {
        let tokens: TokenStream = text.parse().map_err(|error| format!("{file}: {error}"))?;
        each_name(tokens, &mut |name| {
            names.entry(name).or_default().insert(place(file));
        });
    }
    names.retain(|_, files| files.len() > 1);
    Ok(names)
}

/// Returns the place that a file's names belong to. All files of `rust/arch` are one place, because
/// a name there means the same on each architecture. `no_x.rs` belongs to the place of `x.rs`, which
/// it replaces in kernels that do not need that.
fn place(file: &str) -> String {
    let arch = "rust/arch/";
    match file.starts_with(arch) {
        true => arch.to_string(),
        false => file.replace("/no_", "/"),
    }
}

fn each_name(tokens: TokenStream, visit: &mut impl FnMut(String)) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if let Some(end) = test_module(&tokens[at..]) {
            at += end;
            continue;
        }
        match &tokens[at..] {
            [TokenTree::Ident(keyword), TokenTree::Ident(name), ..]
                if ["struct", "enum", "trait", "union"]
                    .iter()
                    .any(|k| keyword == k) =>
            {
                visit(name.to_string());
            }
            [TokenTree::Group(group), ..] => each_name(group.stream(), visit),
            _ => {}
        }
        at += 1;
    }
}
