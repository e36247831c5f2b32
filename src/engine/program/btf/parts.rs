// SPDX-License-Identifier: GPL-2.0

//! The members of structures and enumerations, in order.

use super::lookup::BtfValue;
use super::BtfKind;

/// A member of a structure as declared, named or not.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredMember<'a> {
    /// Its name; empty if it has none.
    pub name: &'a [u8],
    /// Offset from the start of the structure, in bits.
    pub bit_offset: u32,
    /// Size in bits of a bitfield, otherwise `None`.
    pub bit_size: Option<u8>,
    /// Its type; `None` for invalid BTF.
    pub value: Option<BtfValue<'a>>,
}

/// The meaning of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// An integer of so many bits, with or without a sign.
    Integer(u8, bool),
    /// A `char`.
    Character,
    /// The address of data.
    Pointer,
    /// The address of a function.
    Function,
    /// An enumeration of so many bits, with or without a sign.
    Enum(u8, bool),
}

impl<'a> BtfValue<'a> {
    /// Returns member `n` of a structure, counted from zero.
    pub fn declared_member(&self, n: usize) -> Option<DeclaredMember<'a>> {
        if !self.is_structure() {
            return None;
        }
        let [name, id, offset] = self.bare().groups::<3>().nth(n)?;
        let (bit_offset, bit_size) = match self.bare().flag() {
            true => (
                offset & 0xff_ffff,
                u8::try_from(offset >> 24).ok().filter(|&n| n != 0),
            ),
            false => (offset, None),
        };
        Some(DeclaredMember {
            name: self.btf().string(name).unwrap_or_default(),
            bit_offset,
            bit_size,
            value: self.of_id(id),
        })
    }

    /// Returns the meaning of the value, if it is a number.
    pub fn scalar(&self) -> Option<Scalar> {
        let bits = |bytes: u32| bytes.checked_mul(8).and_then(|n| u8::try_from(n).ok());
        let raw = self.bare().raw;
        match self.bare().kind() {
            BtfKind::Int => {
                let (bits, signed) = self.integer()?;
                let is_character = bits == 8 && self.btf().string(raw.name) == Some(b"char");
                Some(match is_character {
                    true => Scalar::Character,
                    false => Scalar::Integer(bits, signed),
                })
            }
            BtfKind::Enum | BtfKind::Enum64 => {
                Some(Scalar::Enum(bits(raw.size_or_type)?, self.bare().flag()))
            }
            BtfKind::Pointer => {
                let to = self.of_id(raw.size_or_type);
                let is_function = to.is_some_and(|to| to.bare().kind() == BtfKind::Prototype);
                Some(match is_function {
                    true => Scalar::Function,
                    false => Scalar::Pointer,
                })
            }
            _ => None,
        }
    }

    /// Returns name `n` of an enumeration and its value, sign-extended.
    pub fn enumerator(&self, n: usize) -> Option<(&'a [u8], u64)> {
        let (name, value) = match self.bare().kind() {
            BtfKind::Enum => {
                let [name, value] = self.bare().groups::<2>().nth(n)?;
                let value = match self.bare().flag() {
                    // CAST: the sign of an `int`.
                    true => i64::from(value as i32) as u64,
                    false => u64::from(value),
                };
                (name, value)
            }
            BtfKind::Enum64 => {
                let [name, low, high] = self.bare().groups::<3>().nth(n)?;
                (name, u64::from(high) << 32 | u64::from(low))
            }
            _ => return None,
        };
        Some((self.btf().string(name).unwrap_or_default(), value))
    }

    /// Returns whether both are the same type of the same blob.
    pub fn is_same_type(&self, other: &BtfValue<'_>) -> bool {
        core::ptr::eq(self.bare().raw.tail, other.bare().raw.tail)
    }
}
