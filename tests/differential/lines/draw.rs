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
    /// The path of the function's file.
    pub path: String,
    /// The end of that.
    pub file: String,
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

    /// A spot on a line of another function than all before, `None` if there is none left.
    pub fn next(&mut self, with_variable: bool) -> Result<Option<Spot>> {
        while !self.functions.is_empty() {
            let at = self.below(self.functions.len());
            let name = self.functions.swap_remove(at);
            if let Some(spot) = self.spot(&name, with_variable)? {
                return Ok(Some(spot));
            }
        }
        Ok(None)
    }

    /// A function that was not drawn before, with code that stays after boot.
    pub fn next_function(&mut self) -> Result<Option<Spot>> {
        let symbols = Symbols::new(self.session.image, None);
        while !self.functions.is_empty() {
            let at = self.below(self.functions.len());
            let name = self.functions.swap_remove(at);
            let Ok(function) = find::function(self.session, &name, None) else {
                continue;
            };
            let mut instances = function.instances.iter();
            let stays = instances.any(|instance| {
                let rows = find::rows(self.session, instance).into_iter();
                rows.map(|row| row.address)
                    .any(|address| !symbols.is_gone(address))
            });
            if stays {
                return Ok(Some(Spot {
                    line: name,
                    variable: None,
                    file: end_of(&function.path),
                    path: function.path,
                }));
            }
        }
        Ok(None)
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
        let file = end_of(&function.path);
        if !with_variable {
            return Ok(Some(Spot {
                line,
                variable: None,
                file,
                path: function.path,
            }));
        }
        let mut names = BTreeSet::new();
        for location in find::locations(self.session, &Target::parse(&line)?)? {
            let unit = &location.source.unit;
            let visible = variable::visible(self.session, &location).unwrap_or_default();
            // A structure or an array is no argument.
            let whole = visible.iter().filter(|variable| {
                variable::kind(self.session.debug, unit, variable)
                    .is_ok_and(|kind| matches!(kind.kind, Kind::Integer { .. } | Kind::Pointer(_)))
            });
            names.extend(whole.map(|variable| variable.name.to_string()));
        }
        let names: Vec<String> = names.into_iter().collect();
        Ok(self.pick(&names).map(|variable| Spot {
            line,
            variable: Some(variable),
            file,
            path: function.path,
        }))
    }
}

/// The spot that `text` names: `FUNCTION`, or `FUNCTION:LINE`, and perhaps a variable.
pub fn given(session: &Session<'_>, text: &str) -> Result<Spot> {
    let (line, variable) = match text.split_once(' ') {
        Some((line, variable)) => (line, Some(variable.into())),
        None => (text, None),
    };
    let name = line.split(':').next().unwrap_or_default();
    let function = find::function(session, name, None)?;
    Ok(Spot {
        line: line.into(),
        variable,
        file: end_of(&function.path),
        path: function.path,
    })
}

/// The last parts of a path: perf compares the end of its own, which has other folders before.
fn end_of(path: &str) -> String {
    /// With fewer parts, paths of other files have the same end.
    const PARTS: usize = 3;

    let parts: Vec<&str> = path.split('/').collect();
    let from = parts.len().saturating_sub(PARTS);
    parts.get(from..).unwrap_or_default().join("/")
}
