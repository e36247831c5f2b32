// SPDX-License-Identifier: GPL-2.0

//! Which line perf takes for that of an address: `cu_find_lineinfo` in `tools/perf/util/dwarf-aux.c` of
//! Linux.

use ferroprobe_tools::debug::Unit;
use ferroprobe_tools::error::Result;
use ferroprobe_tools::lines::table::Row;
use ferroprobe_tools::scope::{Line, Scopes};
use ferroprobe_tools::session::Source;
use std::collections::HashMap;
use std::rc::Rc;

/// The lines of a unit by address.
pub struct Reverse<'a, 's> {
    source: &'a Source<'s>,
    /// The lines on which functions are defined, by their entries.
    entries: HashMap<u64, Line>,
    /// The last line of each sequence, by the address at which that ends.
    ends: HashMap<u64, Line>,
}

impl<'a, 's> Reverse<'a, 's> {
    /// Of a unit that has `functions`.
    pub fn new(source: &'a Source<'s>, functions: &[Rc<Scopes<'s>>]) -> Result<Self> {
        let entries = functions.iter().filter_map(|scopes| {
            let function = scopes.all.first()?;
            Some((function.start?.0, function.declared?))
        });
        Ok(Self {
            source,
            entries: entries.collect(),
            ends: ends(&source.unit)?,
        })
    }

    /// The line of `address`: that on which a function is defined that is entered there; or the first
    /// statement that begins there, for which perf takes the end of a sequence, too; or what began last
    /// before, where nothing does. `None` where something does that is no statement: perf does not notice
    /// that it has found none, and takes what the variable held.
    pub fn line(&self, address: u64) -> Option<Line> {
        let line = |row: &Row| Line {
            file: row.file,
            line: row.line,
        };
        let known = self.entries.get(&address).or(self.ends.get(&address));
        if let Some(line) = known {
            return Some(*line);
        }
        let here = self.source.table.between(address, address);
        match here.is_empty() {
            false => here.iter().find(|row| row.is_statement).map(line),
            true => {
                let before = self.source.table.between(0, address).last();
                before.filter(|row| row.is_statement).map(line)
            }
        }
    }
}

/// The last line of each sequence of a unit, if it is a statement, by the address at which it ends.
fn ends(unit: &Unit<'_>) -> Result<HashMap<u64, Line>> {
    let mut found = HashMap::new();
    let Some(program) = unit.linked().line_program.clone() else {
        return Ok(found);
    };
    let mut rows = program.rows();
    while let Some((_, row)) = rows.next_row()? {
        if !row.end_sequence() || !row.is_stmt() {
            continue;
        }
        let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
        if let Some(line) = line {
            let file = row.file_index();
            found.insert(row.address(), Line { file, line });
        }
    }
    Ok(found)
}
