// SPDX-License-Identifier: GPL-2.0

//! The line table of a unit, with the views of GCC.
//!
//! Several lines can begin at one address, if the first of them have no instructions left. GCC
//! numbers such rows: they are views 0, 1, ... of the address, and its location lists say which
//! view they are about (`DW_AT_GNU_locviews`). A debugger that ignores views takes the last
//! one, and so shows values that a line has not assigned yet.

use crate::debug::{Debug, Unit};
use crate::error::Result;
use gimli::LineProgramHeader;
use std::collections::BTreeMap;

/// A row: a line begins at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The address.
    pub address: u64,
    /// How many rows of the address are before it.
    pub view: u64,
    /// The file, by its number in the table.
    pub file: u64,
    /// The line.
    pub line: u32,
    /// Whether a statement of the line begins, and not a part of one.
    pub is_statement: bool,
}

/// The rows of a unit in the order of the table, and the paths of its files.
pub struct LineTable {
    /// Rows that end a sequence, and rows without a line, are left out.
    pub rows: Vec<Row>,
    /// The same by address and view.
    by_address: Vec<Row>,
    paths: BTreeMap<u64, String>,
}

impl LineTable {
    /// The table of `unit`, `None` if it has none.
    pub fn read<'s>(debug: &Debug<'s>, unit: &Unit<'s>) -> Result<Option<Self>> {
        let Some(program) = unit.linked().line_program.clone() else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        let mut last: Option<(u64, u64)> = None;
        let mut program = program.rows();
        while let Some((_, row)) = program.next_row()? {
            if row.end_sequence() {
                last = None;
                continue;
            }
            let address = row.address();
            let view = match last {
                Some((before, view)) if before == address => view + 1,
                _ => 0,
            };
            last = Some((address, view));
            if let Some(line) = row.line().and_then(|line| u32::try_from(line.get()).ok()) {
                rows.push(Row {
                    address,
                    view,
                    file: row.file_index(),
                    line,
                    is_statement: row.is_stmt(),
                });
            }
        }
        let paths = paths(debug, unit, program.header());
        let mut by_address = rows.clone();
        by_address.sort_by_key(|row: &Row| (row.address, row.view));
        Ok(Some(Self {
            rows,
            by_address,
            paths,
        }))
    }

    /// The rows from one address to another, which is included.
    pub fn between(&self, first: u64, last: u64) -> &[Row] {
        let from = self.by_address.partition_point(|row| row.address < first);
        let to = self.by_address.partition_point(|row| row.address <= last);
        self.by_address.get(from..to).unwrap_or_default()
    }

    /// The row of `address` that is behind all others.
    pub fn last_at(&self, address: u64) -> Option<&Row> {
        self.between(address, address).last()
    }

    /// The path of a file.
    pub fn path(&self, file: u64) -> Option<&str> {
        self.paths.get(&file).map(String::as_str)
    }
}

/// The paths of all files of a line table, by their numbers.
fn paths<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    header: &LineProgramHeader<crate::debug::Slice<'s>>,
) -> BTreeMap<u64, String> {
    // Before DWARF 5 they are numbered from 1.
    let first = u64::from(header.version() < 5);
    let numbers = first..first + header.file_names().len() as u64;
    let path = |number: u64| {
        let file = header.file(number)?;
        let name = debug.line_text(unit, file.path_name())?;
        // Folder 0 is that of the compilation, to which the others are relative.
        let folder = file
            .directory(header)
            .filter(|_| file.directory_index() != 0);
        let folder = folder.and_then(|folder| debug.line_text(unit, folder));
        let base = unit.linked().comp_dir.as_ref();
        let base = base.and_then(|base| std::str::from_utf8(base.slice()).ok());
        Some((
            number,
            join(&[base.unwrap_or(""), folder.unwrap_or(""), name]),
        ))
    };
    numbers.filter_map(path).collect()
}

/// Joins parts of a path, of which a later one may be absolute, and takes `.` and `..` out.
pub fn join(parts: &[&str]) -> String {
    let absolute = parts.iter().rposition(|part| part.starts_with('/'));
    let parts = parts.get(absolute.unwrap_or(0)..).unwrap_or_default();
    let mut names: Vec<&str> = Vec::new();
    for name in parts.iter().flat_map(|part| part.split('/')) {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => {
                names.pop();
            }
            _ => names.push(name),
        }
    }
    let root = if absolute.is_some() { "/" } else { "" };
    format!("{root}{}", names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn paths_are_joined_without_detours() {
        assert_eq!(join(&["/usr/src", "fs", "./open.c"]), "/usr/src/fs/open.c");
        assert_eq!(join(&["/usr/src", "/lib/x", "../y.h"]), "/lib/y.h");
        assert_eq!(join(&["build", "build/..", "a.c"]), "build/a.c");
        assert_eq!(join(&["", "..", "a.c"]), "../a.c");
    }
}
