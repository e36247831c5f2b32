// SPDX-License-Identifier: GPL-2.0

//! What the running kernel's own tables say of a place in its text.
//!
//! They are looked at after the kernel has refused a probe, to tell why: it
//! gives an error number only. The tables of modules are not covered.

use crate::{
    engine::placement::{
        tables::{Sites, Table},
        Role,
    },
    kapi::{nofault, symbol},
    place::MACHINE,
    sys::Vec,
};
use kernel::prelude::*;

/// Bytes that are read at once: a multiple of every length that an entry may
/// have.
const PIECE: usize = 64 * 48;

/// The tables that keep the kernel from taking a probe, and the symbols that
/// enclose them.
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
    #[cfg(target_arch = "aarch64")]
    (
        Table::Exceptions,
        c"__start___ex_table",
        c"__stop___ex_table",
    ),
];

/// The role in which one of the kernel's tables names `address`; `None` if none
/// does, or without memory.
///
/// Context: process, may sleep.
pub(crate) fn role_of(address: u64) -> Option<Role> {
    let mut piece = Vec::with_capacity(PIECE).ok()?;
    for _ in 0..PIECE {
        piece.push(0).ok()?;
    }
    TABLES.iter().find_map(|(table, start, end)| {
        let (start, end) = symbol::lookup(start).zip(symbol::lookup(end))?;
        is_named(*table, start, end, address, &mut piece)?.then_some(table.role())
    })
}

/// Whether the table between `start` and `end` names `address`; `None` if it
/// cannot be read.
fn is_named(table: Table, start: u64, end: u64, address: u64, piece: &mut [u8]) -> Option<bool> {
    let mut entry_len = None;
    let mut at = start;
    while at < end {
        let left = usize::try_from(end.wrapping_sub(at)).unwrap_or(usize::MAX);
        let bytes = piece.get_mut(..left.min(PIECE))?;
        if !nofault::read_kernel(at, bytes) {
            return None;
        }
        // All pieces have entries of the first one's length.
        let len = match entry_len {
            Some(len) => len,
            None => {
                let text = Text::new()?;
                table.entry_len(MACHINE.arch, at, bytes, |place| text.contains(place))?
            }
        };
        entry_len = Some(len);
        if Sites::new(at, bytes, len).any(|(_, place)| place == address) {
            return Some(true);
        }
        at = at.saturating_add(PIECE as u64);
    }
    Some(false)
}

/// Where the kernel's text is: that which stays, and that of the boot.
struct Text([(u64, u64); 2]);

impl Text {
    fn new() -> Option<Self> {
        let limits = |from, to| symbol::lookup(from).zip(symbol::lookup(to));
        let text = limits(c"_stext", c"_etext")?;
        let boot = limits(c"_sinittext", c"_einittext").unwrap_or((0, 0));
        Some(Self([text, boot]))
    }

    fn contains(&self, place: u64) -> bool {
        let mut limits = self.0.iter();
        limits.any(|(from, to)| (*from..*to).contains(&place))
    }
}
