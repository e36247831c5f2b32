// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe lines`: the source, with a number before each line that can be probed.

use super::find::{self, Function, Location};
use super::source;
use crate::error::Result;
use crate::refuse;
use crate::session::Session;
use crate::symbols::Symbols;
use crate::target::{At, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// How many lines are shown before and behind a line that was asked for.
const AROUND: u32 = 10;

/// The listing of what `target` names.
pub fn text(session: &Session<'_>, target: &Target, sources: Option<&Path>) -> Result<String> {
    match target {
        Target::Function {
            at: At::Inlined, ..
        } => refuse!("lines are the same wherever a function is inlined: leave %inlined out"),
        Target::Function { name, file, at } => {
            let function = find::function(session, name, file.as_deref())?;
            let lines = of_function(session, &function)?;
            let last = lines.keys().next_back().copied().unwrap_or(function.line);
            let mut shown = (function.line, last.max(function.line));
            if let At::Line(offset) = at {
                let line = function.line.saturating_add(*offset);
                shown = around(line, function.line);
            }
            let listing = Listing {
                title: format!("{name}@{}", function.path),
                path: &function.path,
                base: function.line,
                shown,
                lines,
            };
            listing.print(sources)
        }
        Target::File { file, line } => {
            let path = find::file(session, file)?;
            let shown = line.map(|line| around(line, 1));
            let wanted = shown.map_or(1..=u32::MAX, |(first, last)| first..=last);
            let lines = find::by_line_of_file(session, &path, wanted)?;
            let lines = taken(session, lines);
            let last = lines.keys().next_back().copied().unwrap_or(0);
            let listing = Listing {
                title: path.clone(),
                path: &path,
                base: 0,
                shown: shown.unwrap_or((1, last)),
                lines,
            };
            listing.print(sources)
        }
    }
}

/// The lines of a function that can be probed, and where: all that `define` takes.
pub fn of_function<'s>(session: &Session<'s>, function: &Function<'s>) -> Result<Lines> {
    Ok(taken(session, find::by_line(session, function)?))
}

/// What `define` takes of `locations`.
fn taken(session: &Session<'_>, locations: BTreeMap<u32, Vec<Location<'_>>>) -> Lines {
    let symbols = Symbols::new(session.image, None);
    let mut lines = Lines::new();
    for (line, locations) in locations {
        for location in locations {
            let address = location.moment.0;
            let is_taken = location.check().is_ok()
                && !symbols.is_gone(address)
                && session.boundaries().judge(address).is_ok();
            if is_taken {
                lines.entry(line).or_default().insert(address);
            }
        }
    }
    lines
}

fn around(line: u32, least: u32) -> (u32, u32) {
    (
        line.saturating_sub(AROUND).max(least),
        line.saturating_add(AROUND),
    )
}

/// The lines with code, and the addresses at which each begins.
pub type Lines = BTreeMap<u32, BTreeSet<u64>>;

struct Listing<'a> {
    title: String,
    path: &'a str,
    /// What the shown numbers are counted from.
    base: u32,
    /// The first and the last line.
    shown: (u32, u32),
    lines: Lines,
}

impl Listing<'_> {
    fn print(&self, sources: Option<&Path>) -> Result<String> {
        let mut out = format!("<{}:{}>\n", self.title, self.shown.0 - self.base);
        let text = source::read(self.path, sources);
        let (first, last) = self.shown;
        for line in first..=last {
            let number = self
                .lines
                .get(&line)
                .map(|addresses| (line - self.base, addresses));
            // Writing to a string does not fail.
            let _ = match (&text, number) {
                (Some(text), number) => {
                    let Some(text) = text.get(line.saturating_sub(1) as usize) else {
                        break;
                    };
                    let number = number.map(|(number, _)| number.to_string());
                    let number = number.unwrap_or_default();
                    writeln!(out, "{}", format!("{number:>7}  {text}").trim_end())
                }
                (None, Some((number, addresses))) => {
                    let addresses: Vec<_> = addresses.iter().map(|at| format!("{at:#x}")).collect();
                    writeln!(out, "{number:>7}  {}", addresses.join(" "))
                }
                (None, None) => Ok(()),
            };
        }
        if text.is_none() {
            let _ = writeln!(
                out,
                "# no source {}: give its folder with --source",
                self.path
            );
        }
        Ok(out)
    }
}
