// SPDX-License-Identifier: GPL-2.0

//! The members of a structure that a record contains as bytes.
//!
//! The members are determined from the kernel's types when the event is defined, and kept in its
//! layout, so that a hit only copies bytes.

use crate::sys::{AllocError, Vec};

/// Maximum number of bytes of a structure in a record.
pub const MAX_STRUCTURE: u32 = 1024;

/// Number of names whose prefixes are tried: a few special values may precede the others.
const MOST_PREFIXES: usize = 8;

/// A text in [`WholeShape::names`]: its start and its length.
pub type ShapeName = (u16, u16);

/// The members of a structure.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WholeShape {
    /// The index of the argument.
    pub index: u8,
    /// Number of bytes in the record.
    pub size: u16,
    /// Whether the bytes are recorded twice, from before and after a call.
    pub is_change: bool,
    /// Whether there are further members or elements, which are not shown.
    pub is_cut: bool,
    /// The members. The beginning of a structure or array precedes its members.
    pub parts: Vec<ShapePart>,
    /// The names of enumerations.
    pub enumerators: Vec<Enumerator>,
    /// All names, concatenated.
    pub names: Vec<u8>,
}

/// A member, an element, or the beginning or end of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapePart {
    /// The name; empty for an element.
    pub name: ShapeName,
    /// The kind.
    pub kind: PartKind,
}

/// The kind of a [`ShapePart`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// The members of a structure or union follow.
    Structure,
    /// The elements of an array follow.
    Array,
    /// Their end.
    End,
    /// Further members, which are not shown.
    More,
    /// A number.
    Number(ShapeBits, NumberKind),
    /// A text: offset, and most bytes.
    Text(u16, u16),
}

/// The bits of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeBits {
    /// The first bit, counted from the start of the structure.
    pub offset: u16,
    /// Their number, 1 to 64.
    pub width: u8,
}

/// How a number is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// In decimal.
    Unsigned,
    /// In decimal, with its sign.
    Signed,
    /// An address.
    Pointer,
    /// The address of a function.
    Function,
    /// A value of an enumeration.
    Enum {
        /// The index of the first name.
        first: u16,
        /// The number of names.
        count: u16,
        /// Whether the values are single bits, which may be combined.
        are_flags: bool,
        /// Whether a value without a name is signed.
        signed: bool,
    },
}

/// A name of an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enumerator {
    /// Its value, sign-extended.
    pub value: u64,
    /// The name.
    pub name: ShapeName,
}

impl WholeShape {
    /// Returns the number of bytes in the record.
    pub fn recorded(&self) -> usize {
        let times = if self.is_change { 2 } else { 1 };
        usize::from(self.size).saturating_mul(times)
    }

    /// Returns a copy.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn copy(&self) -> Result<Self, AllocError> {
        Ok(Self {
            parts: Vec::from_slice(&self.parts)?,
            enumerators: Vec::from_slice(&self.enumerators)?,
            names: Vec::from_slice(&self.names)?,
            ..*self
        })
    }

    /// Returns `name` as text.
    pub fn text(&self, (start, length): ShapeName) -> &[u8] {
        let start = usize::from(start);
        let end = start.saturating_add(usize::from(length));
        self.names.get(start..end).unwrap_or_default()
    }

    /// Returns the prefix of the enumeration's names: the longest one that ends with `_` and that
    /// more than half of them have.
    pub fn common_prefix(&self) -> &[u8] {
        let mut longest: &[u8] = &[];
        // A prefix of more than half is a prefix of the first name, or of a later one.
        for each in self.enumerators.iter().take(MOST_PREFIXES) {
            let name = self.text(each.name);
            let longer = name.len().saturating_sub(1);
            for end in (longest.len()..longer).rev() {
                let Some(prefix) = name.get(..=end).filter(|prefix| prefix.ends_with(b"_")) else {
                    continue;
                };
                let mut count = 0usize;
                for other in &self.enumerators {
                    count = count.saturating_add(self.text(other.name).starts_with(prefix).into());
                }
                if count.saturating_mul(2) > self.enumerators.len() {
                    longest = prefix;
                    break;
                }
            }
        }
        longest
    }

    /// Returns the names of an enumeration, `count` from `first` on.
    pub fn enumerators(&self, first: u16, count: u16) -> &[Enumerator] {
        let first = usize::from(first);
        let end = first.saturating_add(usize::from(count));
        self.enumerators.get(first..end).unwrap_or_default()
    }
}

impl ShapeBits {
    /// Returns the number in `bytes`, sign-extended if `signed`; `None` if `bytes` is too short.
    pub fn of(self, bytes: &[u8], signed: bool) -> Option<u64> {
        let from = usize::from(self.offset / 8);
        let shift = u32::from(self.offset % 8);
        let end = usize::from(self.offset)
            .saturating_add(usize::from(self.width))
            .div_ceil(8);
        let mut all = 0u128;
        for &byte in bytes.get(from..end)?.iter().rev() {
            all = all.wrapping_shl(8) | u128::from(byte);
        }
        // CAST: at most 64 bits are wanted.
        let value = all.wrapping_shr(shift) as u64;
        let unused = 64u32.saturating_sub(u32::from(self.width));
        let top = value.wrapping_shl(unused);
        Some(match signed {
            // CAST: the sign bit is at the top.
            true => (top as i64).wrapping_shr(unused) as u64,
            false => top.wrapping_shr(unused),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ShapeBits;

    #[test]
    fn bits_are_where_they_are() {
        let bytes = [0x34, 0x12, 0xf0, 0xff, 0, 0, 0, 0, 0x80];
        for (offset, width, signed, want) in [
            (0, 16, false, Some(0x1234)),
            (4, 8, false, Some(0x23)),
            (20, 12, true, Some(u64::MAX)),
            (0, 64, false, Some(0xfff0_1234)),
            (8, 64, false, Some(0x8000_0000_00ff_f012)),
            (71, 1, true, Some(u64::MAX)),
            (72, 1, false, None),
            (16, 64, false, None),
        ] {
            let bits = ShapeBits { offset, width };
            assert_eq!(bits.of(&bytes, signed), want, "{bits:?}");
        }
    }
}
