// SPDX-License-Identifier: GPL-2.0

//! The tables in which a kernel or module names locations in its text.
//!
//! Jump labels, static calls, BUGs and WARNs, exceptions and alternatives: an entry of each
//! of these tables begins with the 32-bit distance from itself to its location. The rest of
//! the entry differs, and only its length matters here.

use super::facts::SpecialRole;
use crate::engine::code::arch::Arch;

/// A table that names locations in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// `struct jump_entry` of `include/linux/jump_label.h`.
    JumpLabels,
    /// `struct static_call_site` of `include/linux/static_call_types.h`.
    StaticCalls,
    /// `struct bug_entry` of `include/asm-generic/bug.h`.
    Bugs,
    /// `struct exception_table_entry` of `asm/extable.h`.
    Exceptions,
    /// `struct alt_instr` of `asm/alternative.h`.
    Alternatives,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 5] = [
        Self::JumpLabels,
        Self::StaticCalls,
        Self::Bugs,
        Self::Exceptions,
        Self::Alternatives,
    ];

    /// Returns the role of a location named in the table.
    pub const fn role(self) -> SpecialRole {
        match self {
            Self::JumpLabels => SpecialRole::JumpLabel,
            Self::StaticCalls => SpecialRole::StaticCall,
            Self::Bugs => SpecialRole::Bug,
            Self::Exceptions => SpecialRole::ExceptionTable,
            Self::Alternatives => SpecialRole::Alternative,
        }
    }

    /// Returns the possible lengths of an entry. The length of a BUG entry depends on the
    /// kernel's configuration.
    fn entry_lens(self, arch: Arch) -> &'static [usize] {
        match self {
            Self::JumpLabels => &[16],
            Self::StaticCalls => &[8],
            Self::Bugs => &[16, 12, 8],
            Self::Exceptions => &[12],
            Self::Alternatives => arch.isa().alternative_lens(),
        }
    }

    /// Returns the length of an entry in the table `bytes` at `address`: the one with which entries
    /// name locations that `is_text`. Returns `None` if no length fits; the table is then of
    /// another kind.
    pub fn entry_len(
        self,
        arch: Arch,
        address: u64,
        bytes: &[u8],
        is_text: impl Fn(u64) -> bool,
    ) -> Option<usize> {
        /// This many entries suffice to determine the length.
        const ENOUGH: usize = 64;

        let fits = |len: &&usize| {
            let sites = || Sites::new(address, bytes, **len).take(ENOUGH);
            let in_text = sites().filter(|(_, place)| is_text(*place)).count();
            // A few may be in text that is not known as such.
            bytes.len().checked_rem(**len) == Some(0) && in_text > sites().count() / 2
        };
        self.entry_lens(arch).iter().find(fits).copied()
    }
}

/// Returns the address at which control may arrive because of an entry that names `place`: the
/// target of a jump label, or the fixup of an exception.
pub fn landing(entry: &[u8], place: u64) -> Option<u64> {
    let (first, rest) = entry.split_first_chunk()?;
    let second = i32::from_le_bytes(*rest.first_chunk()?);
    let address = place.wrapping_add_signed(i64::from(i32::from_le_bytes(*first)).wrapping_neg());
    let from = address.wrapping_add(4);
    Some(from.wrapping_add_signed(i64::from(second)))
}

/// Returns whether an entry of the table of BUGs is a BUG's, not a WARN's.
pub fn is_bug(entry: &[u8]) -> bool {
    const BUGFLAG_WARNING: u8 = 1 << 0;

    // The flags are its last sixteen bits.
    matches!(*entry, [.., flags, _] if flags & BUGFLAG_WARNING == 0)
}

/// The locations that a table names, each with the bytes of its entry.
#[derive(Clone, Debug)]
pub struct Sites<'a> {
    address: u64,
    bytes: &'a [u8],
    entry_len: usize,
}

impl<'a> Sites<'a> {
    /// Returns the locations in the table `bytes` at `address` with entries of `entry_len`
    /// bytes. An incomplete entry at the end is skipped.
    pub fn new(address: u64, bytes: &'a [u8], entry_len: usize) -> Self {
        Self {
            address,
            bytes,
            entry_len,
        }
    }
}

impl<'a> Iterator for Sites<'a> {
    type Item = (&'a [u8], u64);

    fn next(&mut self) -> Option<Self::Item> {
        let (entry, rest) = self.bytes.split_at_checked(self.entry_len)?;
        let distance = i32::from_le_bytes(*entry.first_chunk()?);
        let place = self.address.wrapping_add_signed(i64::from(distance));
        self.bytes = rest;
        self.address = self
            .address
            .wrapping_add(u64::try_from(self.entry_len).unwrap_or(u64::MAX));
        Some((entry, place))
    }
}

#[cfg(test)]
mod tests {
    use super::{Sites, SpecialRole, Table};
    use crate::engine::code::arch::Arch;

    const AT: u64 = 0xffff_ffff_8200_0000;

    /// Returns entries of `len` bytes, each with the distance to its location.
    fn table(len: usize, places: &[u64]) -> std::vec::Vec<u8> {
        let mut bytes = std::vec::Vec::new();
        for place in places {
            let entry = AT + u64::try_from(bytes.len()).unwrap();
            let distance = place.wrapping_sub(entry).to_le_bytes();
            bytes.extend(&distance[..4]);
            bytes.resize(bytes.len() + len - 4, 0x11);
        }
        bytes
    }

    const PLACES: [u64; 3] = [AT - 0x1000, AT - 0xff0, AT - 4];

    #[test]
    fn entries_name_their_places() {
        let bytes = table(12, &PLACES);
        let found = Sites::new(AT, &bytes, 12).map(|(entry, place)| (entry.len(), place));
        assert!(found.eq(PLACES.map(|place| (12, place))));
        // Half an entry is not an entry; entries of length zero end at once.
        assert_eq!(Sites::new(AT, &bytes[..23], 12).count(), 1);
        assert_eq!(Sites::new(AT, &bytes, 0).count(), 0);
        assert_eq!(Sites::new(AT, &bytes, 3).count(), 0);
    }

    #[test]
    fn the_length_of_an_entry_is_told_from_its_places() {
        let text = |place| (AT - 0x1000..AT).contains(&place);
        for len in [16, 12, 8] {
            let bytes = table(len, &PLACES);
            let found = Table::Bugs.entry_len(Arch::X86_64, AT, &bytes, text);
            assert_eq!(found, Some(len));
        }
        // One entry of 12 bytes is not one of 16.
        let one = table(12, &PLACES[..1]);
        let found = Table::Bugs.entry_len(Arch::Arm64, AT, &one, text);
        assert_eq!(found, Some(12));
        let bytes = table(16, &[AT]);
        assert_eq!(
            Table::JumpLabels.entry_len(Arch::Arm64, AT, &bytes, text),
            None
        );
        let bytes = table(14, &PLACES);
        let found = |arch| Table::Alternatives.entry_len(arch, AT, &bytes, text);
        assert_eq!((found(Arch::X86_64), found(Arch::Arm64)), (Some(14), None));
    }

    #[test]
    fn every_table_has_its_role() {
        let roles = Table::ALL.map(Table::role);
        let expected = [
            SpecialRole::JumpLabel,
            SpecialRole::StaticCall,
            SpecialRole::Bug,
            SpecialRole::ExceptionTable,
            SpecialRole::Alternative,
        ];
        assert_eq!(roles, expected);
    }
}
