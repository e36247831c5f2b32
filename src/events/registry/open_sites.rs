// SPDX-License-Identifier: GPL-2.0

//! The functions of a write's definitions about which ftrace is yet to be asked.

use crate::{
    engine::refusal::error::Error as Refusal,
    kapi::functions::Site,
    source::{functions, location},
    sys::{AllocError, Vec},
};

/// The functions of a write's definitions whose entries ftrace may report or not. It is asked
/// about all of them at once: a question takes some ten thousand instructions, and little more
/// for many functions.
pub(super) struct OpenSites {
    sites: Vec<Site>,
    /// For each of them, where it is named.
    named: Vec<NamedSite>,
    /// The number of the line that is being applied.
    line: usize,
}

/// Where a write names a function.
struct NamedSite {
    line: usize,
    column: usize,
}

impl OpenSites {
    /// Makes an empty list.
    pub(super) const fn new() -> Self {
        Self {
            sites: Vec::new(),
            named: Vec::new(),
            line: 0,
        }
    }

    /// Begins the line with the number `line`.
    pub(super) fn begin_line(&mut self, line: usize) {
        self.line = line;
    }

    /// Adds a function that the line names at `column`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub(super) fn add(&mut self, site: Site, column: usize) -> Result<(), AllocError> {
        self.sites.push(site)?;
        self.named.push(NamedSite {
            line: self.line,
            column,
        })
    }

    /// Asks ftrace. Returns the number of the first line that names a function whose entry ftrace
    /// does not report, and the line's refusal.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(super) fn ask(&self) -> Result<Option<(usize, Refusal)>, AllocError> {
        let Some(index) = functions::first_unknown(&self.sites)? else {
            return Ok(None);
        };
        let both = self.sites.get(index).zip(self.named.get(index));
        Ok(both.map(|(site, named)| {
            let refusal = location::unreported(site.function, named.column);
            (named.line, refusal)
        }))
    }
}
