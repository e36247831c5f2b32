// SPDX-License-Identifier: GPL-2.0

//! Draws lines of functions, and variables on them.

use ferroprobe_tools::error::Result;
use ferroprobe_tools::fetch::variable;
use ferroprobe_tools::lines::find;
use ferroprobe_tools::session::Session;
use ferroprobe_tools::symbols::Symbols;
use ferroprobe_tools::target::Target;
use ferroprobe_tools::types::Kind;
use std::collections::BTreeSet;
use std::fmt;

/// A line, and perhaps a variable on it.
pub struct Spot {
    /// `FUNCTION:LINE`.
    pub line: String,
    /// The variable.
    pub variable: Option<String>,
    /// Whether another line begins at an address of the line, so that perf may refuse it.
    pub is_shared: bool,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.variable {
            Some(variable) => write!(f, "{} {variable}", self.line),
            None => write!(f, "{}", self.line),
        }
    }
}

/// Draws from a file.
pub struct Draw<'a, 's> {
    session: &'a Session<'s>,
    functions: Vec<String>,
    state: u64,
}

impl<'a, 's> Draw<'a, 's> {
    /// From the functions of `session`; the same for the same `seed`.
    pub fn new(session: &'a Session<'s>, seed: u64) -> Self {
        Self {
            session,
            // Those of Rust have names that no command line takes.
            functions: session
                .index
                .functions()
                .filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
                .map(Into::into)
                .collect(),
            state: seed,
        }
    }

    /// A number below `bound`, which is not 0. SplitMix64.
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % bound as u64).unwrap_or(0)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        match from.len() {
            0 => None,
            len => from.get(self.below(len)).cloned(),
        }
    }

    /// As many spots, each on a line of another function.
    pub fn spots(&mut self, count: usize, with_variable: bool) -> Result<Vec<Spot>> {
        let mut spots = Vec::new();
        let mut seen = BTreeSet::new();
        while spots.len() < count && seen.len() < self.functions.len() {
            let functions = std::mem::take(&mut self.functions);
            let name = self.pick(&functions);
            self.functions = functions;
            let Some(name) = name.filter(|name| seen.insert(name.clone())) else {
                continue;
            };
            spots.extend(self.spot(&name, with_variable)?);
        }
        Ok(spots)
    }

    /// A spot of a function, unless several have the name, or it is only run at boot.
    fn spot(&mut self, name: &str, with_variable: bool) -> Result<Option<Spot>> {
        let Ok(function) = find::function(self.session, name, None) else {
            return Ok(None);
        };
        let symbols = Symbols::new(self.session.image, None);
        let mut lines = BTreeSet::new();
        for instance in &function.instances {
            let rows = find::rows(self.session, instance).into_iter();
            let rows = rows.filter(|row| !symbols.is_gone(row.address));
            lines.extend(rows.filter_map(|row| row.line.checked_sub(function.line)));
        }
        let lines: Vec<u32> = lines.into_iter().collect();
        let Some(line) = self.pick(&lines) else {
            return Ok(None);
        };
        let line = format!("{name}:{line}");
        let mut names = BTreeSet::new();
        let mut is_shared = false;
        for location in find::locations(self.session, &Target::parse(&line)?)? {
            let last = location.source.table.last_at(location.moment.0);
            is_shared |=
                last.is_some_and(|row| location.line.is_some_and(|own| own.line != row.line));
            if !with_variable {
                continue;
            }
            let unit = &location.source.unit;
            let visible = variable::visible(self.session, &location).unwrap_or_default();
            // A structure or an array is no argument.
            let whole = visible.iter().filter(|variable| {
                variable::kind(self.session.debug, unit, variable)
                    .is_ok_and(|kind| matches!(kind.kind, Kind::Integer { .. } | Kind::Pointer(_)))
            });
            names.extend(whole.map(|variable| variable.name.to_string()));
        }
        if !with_variable {
            return Ok(Some(Spot {
                line,
                variable: None,
                is_shared,
            }));
        }
        let names: Vec<String> = names.into_iter().collect();
        Ok(self.pick(&names).map(|variable| Spot {
            line,
            variable: Some(variable),
            is_shared,
        }))
    }
}
