// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe lines`: the source, with a number before each line that can be probed.

use super::{find, source};
use crate::error::Result;
use crate::refuse;
use crate::session::Session;
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
            let mut lines = Lines::new();
            for instance in &function.instances {
                let (source, scopes) = (&instance.source, &instance.scopes);
                let rows = find::rows(session, instance).into_iter();
                for row in rows.filter(|row| {
                    let moment = (row.address, row.view);
                    session
                        .jumped_to(source, scopes, moment)
                        .is_none_or(|last| (last.file, last.line) == (row.file, row.line))
                        && session
                            .guarded_by(source, scopes, Some(instance.scope), row)
                            .is_none()
                }) {
                    lines.entry(row.line).or_default().insert(row.address);
                }
            }
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
            let mut lines = Lines::new();
            for number in session.index.units_of_file(&path) {
                let unit = session.source(number)?;
                for row in unit.table.rows.iter().filter(|row| row.is_statement) {
                    if unit.table.path(row.file) == Some(&path) {
                        lines.entry(row.line).or_default().insert(row.address);
                    }
                }
            }
            let last = lines.keys().next_back().copied().unwrap_or(0);
            let listing = Listing {
                title: path.clone(),
                path: &path,
                base: 0,
                shown: line.map_or((1, last), |line| around(line, 1)),
                lines,
            };
            listing.print(sources)
        }
    }
}

fn around(line: u32, least: u32) -> (u32, u32) {
    (
        line.saturating_sub(AROUND).max(least),
        line.saturating_add(AROUND),
    )
}

/// The lines with code, and the addresses at which each begins.
type Lines = BTreeMap<u32, BTreeSet<u64>>;

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
