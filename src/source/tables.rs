// SPDX-License-Identifier: GPL-2.0

//! The tables in which the running kernel names locations in its text.
//!
//! They are read when the kernel has refused a probe, to find the reason, because the kernel only
//! returns an errno; and to find the end of a function, if its instructions do not show it. The
//! tables of modules are not read.

use crate::{
    engine::code::placement::{
        tables::{self, is_bug, Sites, Table},
        PlacementIndex, SpecialRole, Ways,
    },
    kapi::{nofault, symbol},
    source::{machine::MACHINE, names::Names},
    sys::{AllocError, Vec},
};
use kernel::prelude::*;

/// Number of bytes that are read at once, a multiple of every possible entry length.
const PIECE: usize = 64 * 48;

/// The tables because of which the kernel may refuse a probe, and their start and end symbols.
const TABLES: &[(Table, &CStr, &CStr)] = &[
    (
        Table::JumpLabels,
        c"__start___jump_table",
        c"__stop___jump_table",
    ),
    (
        Table::StaticCalls,
        c"__start_static_call_sites",
        c"__stop_static_call_sites",
    ),
    (Table::Bugs, c"__start___bug_table", c"__stop___bug_table"),
    (
        Table::Exceptions,
        c"__start___ex_table",
        c"__stop___ex_table",
    ),
];

/// The tables that show where control arrives other than by branches.
const LANDINGS: &[(Table, &CStr, &CStr)] = &[
    (
        Table::JumpLabels,
        c"__start___jump_table",
        c"__stop___jump_table",
    ),
    (
        Table::Exceptions,
        c"__start___ex_table",
        c"__stop___ex_table",
    ),
];

/// The table of BUGs and WARNs.
const BUGS: &[(Table, &CStr, &CStr)] =
    &[(Table::Bugs, c"__start___bug_table", c"__stop___bug_table")];

/// Returns the role in which one of the kernel's tables names `address`; `None` if no
/// table does, or without memory.
///
/// Context: process, may sleep.
pub(crate) fn role_of(address: u64) -> Option<SpecialRole> {
    let mut piece = piece().ok()?;
    let text = KernelText::of(symbol::lookup)?;
    let refuses =
        |table| table != Table::Exceptions || MACHINE.arch.isa().refuses_exception_table();
    let mut tables = TABLES.iter().filter(|(table, ..)| refuses(*table));
    tables.find_map(|(table, start, end)| {
        let (start, end) = symbol::lookup(start).zip(symbol::lookup(end))?;
        let is_named = |_: &[u8], place| place == address;
        find_entry(*table, (start, end), &text, &mut piece, is_named)?.then_some(table.role())
    })
}

/// Returns where the kernel's tables transfer control, and where they end it; empty if they cannot
/// be read. They are read at the first call only, because these parts do not change.
///
/// # Errors
///
/// [`AllocError`] when there is no memory.
///
/// Context: process, may sleep.
pub(crate) fn ways(names: &mut Names) -> Result<&Ways, AllocError> {
    let known = match names.ways.take() {
        Some(known) => known,
        None => read_ways(names)?,
    };
    Ok(names.ways.insert(known))
}

/// Reads the result of [`ways`].
fn read_ways(names: &mut Names) -> Result<Ways, AllocError> {
    let text = names.text()?.unwrap_or_default();
    let landings = PlacementIndex::new(text.clone(), |found| {
        each_entry(names, LANDINGS, |entry, place| {
            if let Some(to) = tables::landing(entry, place) {
                found(to);
            }
        })
    })?;
    let stops = PlacementIndex::new(text, |found| {
        each_entry(names, BUGS, |entry, place| {
            if is_bug(entry) {
                found(place);
            }
        })
    })?;
    Ok(Ways { landings, stops })
}

/// Calls `visit` with each entry of `tables` and the address that it names. Skips tables that
/// cannot be read.
fn each_entry(
    names: &mut Names,
    tables: &[(Table, &'static CStr, &'static CStr)],
    mut visit: impl FnMut(&[u8], u64),
) -> Result<(), AllocError> {
    let mut piece = piece()?;
    let mut memory = Ok(());
    let known = KernelText::of(|name| {
        names.first(name).unwrap_or_else(|error| {
            memory = Err(error);
            None
        })
    });
    memory?;
    let Some(known) = known else {
        return Ok(());
    };
    for (table, start, end) in tables {
        let Some((start, end)) = names.first(start)?.zip(names.first(end)?) else {
            continue;
        };
        find_entry(*table, (start, end), &known, &mut piece, |entry, place| {
            visit(entry, place);
            false
        });
    }
    Ok(())
}

fn piece() -> Result<Vec<u8>, AllocError> {
    let mut piece = Vec::with_capacity(PIECE)?;
    for _ in 0..PIECE {
        piece.push(0)?;
    }
    Ok(piece)
}

/// Returns whether `is_it` accepts an entry of the table between `start` and `end`, or the address
/// that it names; `None` if the table cannot be read.
fn find_entry(
    table: Table,
    (start, end): (u64, u64),
    text: &KernelText,
    piece: &mut [u8],
    mut is_it: impl FnMut(&[u8], u64) -> bool,
) -> Option<bool> {
    let mut entry_len = None;
    let mut at = start;
    while at < end {
        let left = usize::try_from(end.wrapping_sub(at)).unwrap_or(usize::MAX);
        let bytes = piece.get_mut(..left.min(PIECE))?;
        if !nofault::read_kernel(at, bytes) {
            return None;
        }
        // The first piece determines the entry length of the table.
        let len = match entry_len {
            Some(len) => len,
            None => table.entry_len(MACHINE.arch, at, bytes, |place| text.contains(place))?,
        };
        entry_len = Some(len);
        if Sites::new(at, bytes, len).any(|(entry, place)| is_it(entry, place)) {
            return Some(true);
        }
        at = at.saturating_add(PIECE as u64);
    }
    Some(false)
}

/// The ranges of the kernel's text: the text that stays, and the init text.
struct KernelText([(u64, u64); 2]);

impl KernelText {
    /// Looks up the limits with `address`.
    fn of(mut address: impl FnMut(&'static CStr) -> Option<u64>) -> Option<Self> {
        let mut limits = |from, to| address(from).zip(address(to));
        let text = limits(c"_stext", c"_etext")?;
        let boot = limits(c"_sinittext", c"_einittext").unwrap_or((0, 0));
        Some(Self([text, boot]))
    }

    fn contains(&self, place: u64) -> bool {
        let mut limits = self.0.iter();
        limits.any(|(from, to)| (*from..*to).contains(&place))
    }
}
