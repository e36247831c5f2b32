// SPDX-License-Identifier: GPL-2.0

//! The list of all unsafe code, from the sources of the module. Code without a reason, and more
//! blocks than [`MAX_BLOCKS`], are errors.
//!
//! It goes by tokens, so it sees into macros, and is not misled by comments and
//! texts. Places are told by file and function: lines would change all the time.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Where the sources are, relative to this crate.
pub const SOURCES: [&str; 2] = ["../../rust", "../../src"];
/// The list made of them, relative to this crate. It is not committed.
pub const TARGET: &str = "../../build/unsafe.rst";

/// Lines above unsafe code in which its comment begins: a statement may be long.
const ABOVE: usize = 24;

/// Most blocks in all: 297 in the module, and those of the crate `rust/own/kernel`.
pub const MAX_BLOCKS: usize = 371;

/// What is unsafe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// A block: what it calls has conditions, which are met. Or one of declarations of
    /// other languages: they are as is said.
    Block,
    /// An implementation of an unsafe trait: the same.
    Implementation,
    /// A function that has conditions for its callers.
    Function,
}

/// One piece of unsafe code.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub what: What,
    /// The function or type.
    pub place: String,
    /// Why it is sound, or what it asks of callers.
    pub why: String,
}

/// Where the walk is: the type and the function around.
#[derive(Clone, Default)]
struct Around {
    of: String,
    function: String,
}

impl Around {
    fn place(&self) -> String {
        match (self.of.as_str(), self.function.as_str()) {
            ("", "") => "at the top".into(),
            (of, "") => of.into(),
            ("", function) => function.into(),
            (of, function) => format!("{of}::{function}"),
        }
    }
}

/// The unsafe code of a source.
///
/// # Errors
///
/// Where it is no Rust, or unsafe code lacks its comment.
pub fn pieces(source: &str) -> Result<Vec<Piece>, String> {
    let tokens: TokenStream = source.parse().map_err(|error| format!("{error}"))?;
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let mut found = Vec::new();
    walk(&tokens, &Around::default(), &lines, &mut found)?;
    Ok(found)
}

fn walk(
    tokens: &TokenStream,
    around: &Around,
    lines: &[&str],
    found: &mut Vec<Piece>,
) -> Result<(), String> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut inner = around.clone();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let rest = tokens.get(at + 1..).unwrap_or_default();
        match token {
            TokenTree::Ident(word) if word == "unsafe" => {
                if let Some(what) = kind(rest) {
                    let line = word.span().start().line;
                    let place = match what {
                        What::Block => inner.place(),
                        What::Function => {
                            let function = name_behind(rest, "fn").unwrap_or_default();
                            let of = around.of.clone();
                            Around { of, function }.place()
                        }
                        What::Implementation => header(rest),
                    };
                    let why = comment(what, line, lines)
                        .ok_or_else(|| format!("line {line}: no reason is given in {place}"))?;
                    found.push(Piece { what, place, why });
                }
            }
            TokenTree::Ident(word) if word == "fn" => {
                if let Some(TokenTree::Ident(name)) = rest.first() {
                    inner.function = name.to_string();
                }
            }
            TokenTree::Ident(word) if word == "impl" && around.function.is_empty() => {
                inner.of = implemented(rest);
            }
            TokenTree::Ident(word) if word == "trait" || word == "macro_rules" => {
                inner.of = rest
                    .iter()
                    .find_map(ident)
                    .map(Ident::to_string)
                    .unwrap_or_default();
            }
            TokenTree::Ident(word) if word == "mod" => {
                // Tests do as they like.
                if rest
                    .first()
                    .and_then(ident)
                    .is_some_and(|name| name == "tests")
                {
                    at += 2;
                }
            }
            TokenTree::Group(group) => {
                walk(&group.stream(), &inner, lines, found)?;
                if group.delimiter() == Delimiter::Brace {
                    inner = around.clone();
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => inner = around.clone(),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

fn ident(token: &TokenTree) -> Option<&Ident> {
    match token {
        TokenTree::Ident(ident) => Some(ident),
        _ => None,
    }
}

/// What `unsafe` begins, by what stands behind it; `None` for a type.
fn kind(rest: &[TokenTree]) -> Option<What> {
    match rest.first()? {
        TokenTree::Group(group) => (group.delimiter() == Delimiter::Brace).then_some(What::Block),
        TokenTree::Ident(word) if word == "impl" => Some(What::Implementation),
        TokenTree::Ident(word) if word == "extern" && declares(rest) => Some(What::Block),
        TokenTree::Ident(_) => name_behind(rest, "fn").map(|_| What::Function),
        _ => None,
    }
}

/// Whether `extern` and a language are followed by declarations.
fn declares(rest: &[TokenTree]) -> bool {
    matches!(rest.get(2), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace)
}

/// The name behind the keyword `word`, if it comes within a few tokens.
fn name_behind(rest: &[TokenTree], word: &str) -> Option<String> {
    let mut near = rest.iter().take(4);
    near.find(|token| ident(token).is_some_and(|it| it == word))?;
    near.next().and_then(ident).map(Ident::to_string)
}

/// The tokens up to a brace or `where`.
fn head(rest: &[TokenTree]) -> impl Iterator<Item = &TokenTree> {
    rest.iter().take_while(|token| match token {
        TokenTree::Group(group) => group.delimiter() != Delimiter::Brace,
        TokenTree::Ident(word) => word != "where",
        _ => true,
    })
}

/// The tokens that are in no angle brackets.
fn flat<'a>(tokens: impl Iterator<Item = &'a TokenTree>) -> Vec<&'a TokenTree> {
    let mut depth = 0i32;
    let mut outside = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' => depth -= 1,
            _ if depth == 0 => outside.push(token),
            _ => {}
        }
    }
    outside
}

/// The name of the type that an `impl` is of.
fn implemented(rest: &[TokenTree]) -> String {
    let names: Vec<String> = flat(head(rest))
        .into_iter()
        .filter_map(ident)
        .map(Ident::to_string)
        .collect();
    let behind = names.iter().position(|name| name == "for");
    let behind = behind.map_or(0, |at| at + 1);
    names
        .get(behind..)
        .and_then(<[_]>::last)
        .cloned()
        .unwrap_or_default()
}

/// `TRAIT for TYPE`, of an `unsafe impl`.
fn header(rest: &[TokenTree]) -> String {
    let names: Vec<String> = flat(head(rest))
        .into_iter()
        .filter_map(ident)
        .map(Ident::to_string)
        .filter(|name| name != "impl")
        .collect();
    names.join(" ")
}

/// The comment of the unsafe code in line `line`, counted from 1.
fn comment(what: What, line: usize, lines: &[&str]) -> Option<String> {
    let (mark, begin) = match what {
        What::Function => ("/// # Safety", "///"),
        _ => ("// SAFETY:", "//"),
    };
    let above = (line.saturating_sub(ABOVE)..line).rev();
    let mut starts = above.filter(|&at| lines.get(at).is_some_and(|line| line.contains(mark)));
    let start = starts.next()?;
    let (_, first) = lines.get(start)?.split_once(mark)?;
    let mut words = vec![first.trim()];
    for line in lines.get(start + 1..)? {
        let Some(more) = line.strip_prefix(begin) else {
            break;
        };
        let more = more.trim();
        // Another paragraph, or another mark.
        let is_mark = more.split_once(':').is_some_and(|(mark, _)| {
            mark.len() > 3 && mark.bytes().all(|byte| byte.is_ascii_uppercase())
        });
        if is_mark || (more.is_empty() && words.concat() != "") || more.starts_with('#') {
            break;
        }
        words.push(more);
    }
    let text = words.join(" ");
    (!text.trim().is_empty()).then(|| text.trim().into())
}

/// The Rust files below `folder`, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder);
    for entry in entries.map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The list of the unsafe code of the module whose crate for generators is at
/// `here`.
///
/// # Errors
///
/// Those of reading, and of [`pieces`].
pub fn generate(here: &Path) -> Result<String, String> {
    let mut sections = String::new();
    let mut counts = [0; 3];
    for folder in SOURCES {
        for path in files(&here.join(folder))? {
            let source = std::fs::read_to_string(&path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            // Made by the kernel's build.
            if path.ends_with("bindings_generated.rs") {
                continue;
            }
            let found = pieces(&source).map_err(|error| format!("{}: {error}", path.display()))?;
            if found.is_empty() {
                continue;
            }
            let name = path
                .strip_prefix(here)
                .unwrap_or(&path)
                .display()
                .to_string();
            let name = name.trim_start_matches("../");
            write_section(&mut sections, name, &found).map_err(|error| error.to_string())?;
            for piece in &found {
                counts[piece.what as usize] += 1;
            }
        }
    }
    let [blocks, implementations, functions] = counts;
    if blocks > MAX_BLOCKS {
        return Err(format!("{blocks} unsafe blocks, more than {MAX_BLOCKS}"));
    }
    Ok(format!(
        "\
.. SPDX-License-Identifier: GPL-2.0
.. Made by tests/gen/src/unsafe_code.rs from the sources: cargo run -p ferroprobe-gen

===========
Unsafe code
===========

All of it: {blocks} blocks, {implementations} implementations of unsafe traits, and
{functions} functions that have conditions for their callers, with the reasons that the
sources give.
{sections}"
    ))
}

fn write_section(out: &mut String, name: &str, found: &[Piece]) -> std::fmt::Result {
    writeln!(out, "\n{name}\n{}\n", "=".repeat(name.len()))?;
    for piece in found {
        let kind = match piece.what {
            What::Block => "",
            What::Implementation => ", implementation",
            What::Function => ", asks of callers",
        };
        write_item(out, &format!("``{}``{kind}: {}", piece.place, piece.why))?;
    }
    Ok(())
}

/// One item of a list, in lines of at most 90 characters.
fn write_item(out: &mut String, text: &str) -> std::fmt::Result {
    let mut line = String::from("*");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > 90 {
            writeln!(out, "{line}")?;
            line = String::from(" ");
        }
        line.push(' ');
        line.push_str(word);
    }
    writeln!(out, "{line}")
}
