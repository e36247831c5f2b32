// SPDX-License-Identifier: GPL-2.0

//! Types of C, from DWARF.

use crate::debug::{attribute, number, reference, unsigned, Debug, Entry, Unit};
use crate::error::{Refusal, Result};
use crate::refuse;
use gimli::{constants as dw, UnitOffset};

/// What a type is, without `typedef`, `const` and the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// An integer, also a truth value or a character.
    Integer {
        /// Whether it has a sign.
        signed: bool,
        /// Whether it is a truth value, of which only the lowest bit counts.
        truth: bool,
    },
    /// A pointer, to nothing known if it is `void *`.
    Pointer(Option<UnitOffset>),
    /// A structure or a union.
    Structure,
    /// An array.
    Array {
        /// The type of its elements.
        element: UnitOffset,
        /// The counts of its dimensions, `None` where the source has `[]`.
        counts: Vec<Option<u64>>,
    },
    /// Something else: its words.
    Other(&'static str),
}

/// A type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// What it is.
    pub kind: Kind,
    /// Its entry, behind `typedef` and the like.
    pub entry: UnitOffset,
    /// Its size in bytes, 0 if it is not known.
    pub size: u64,
    /// Its name, empty if it has none.
    pub name: String,
}

/// A chain of `typedef` that is longer is damaged.
const LONGEST: usize = 64;

/// The type at `offset`.
pub fn read<'s>(debug: &Debug<'s>, unit: &Unit<'s>, mut offset: UnitOffset) -> Result<Type> {
    for _ in 0..LONGEST {
        let entry = unit.entry(offset)?;
        match entry.tag() {
            dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type
            | dw::DW_TAG_atomic_type => match reference(unit, &entry, dw::DW_AT_type)? {
                Some(next) => offset = next,
                None => refuse!("it has type void"),
            },
            _ => return of_entry(debug, unit, &entry),
        }
    }
    refuse!("damaged debug information: a type that is made of itself")
}

/// Whether the type at `offset` is `const`.
pub fn is_const(unit: &Unit<'_>, mut offset: UnitOffset) -> Result<bool> {
    for _ in 0..LONGEST {
        let entry = unit.entry(offset)?;
        match entry.tag() {
            dw::DW_TAG_const_type => return Ok(true),
            dw::DW_TAG_typedef | dw::DW_TAG_volatile_type => {
                match reference(unit, &entry, dw::DW_AT_type)? {
                    Some(next) => offset = next,
                    None => break,
                }
            }
            _ => break,
        }
    }
    Ok(false)
}

fn of_entry<'s>(debug: &Debug<'s>, unit: &Unit<'s>, entry: &Entry<'_, '_, 's>) -> Result<Type> {
    if attribute(entry, dw::DW_AT_endianity)?.is_some() {
        refuse!("its type has a byte order of its own");
    }
    let name = debug.text(unit, attribute(entry, dw::DW_AT_name)?);
    let mut found = Type {
        kind: Kind::Other("unknown"),
        entry: entry.offset(),
        size: number(entry, dw::DW_AT_byte_size)?.unwrap_or(0),
        name: name.unwrap_or_default().into(),
    };
    found.kind = match entry.tag() {
        dw::DW_TAG_base_type => base(entry)?,
        dw::DW_TAG_enumeration_type => Kind::Integer {
            signed: enumeration_is_signed(debug, unit, entry)?,
            truth: false,
        },
        dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type => {
            found.size = 8;
            Kind::Pointer(reference(unit, entry, dw::DW_AT_type)?)
        }
        dw::DW_TAG_structure_type | dw::DW_TAG_union_type | dw::DW_TAG_class_type => {
            if attribute(entry, dw::DW_AT_declaration)?.is_some() {
                Kind::Other("a structure of which this source file has no definition")
            } else {
                Kind::Structure
            }
        }
        dw::DW_TAG_array_type => array(debug, unit, entry, &mut found.size)?,
        dw::DW_TAG_subroutine_type => Kind::Other("a function"),
        _ => Kind::Other("of an unknown kind"),
    };
    Ok(found)
}

fn base(entry: &Entry<'_, '_, '_>) -> Result<Kind> {
    if attribute(entry, dw::DW_AT_bit_size)?.is_some() {
        return Ok(Kind::Other("a number of unusual width"));
    }
    let encoding = match attribute(entry, dw::DW_AT_encoding)? {
        Some(gimli::AttributeValue::Encoding(encoding)) => encoding,
        _ => return Ok(Kind::Other("a number without encoding")),
    };
    let signed = match encoding {
        dw::DW_ATE_signed | dw::DW_ATE_signed_char => true,
        dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF => false,
        dw::DW_ATE_boolean => {
            return Ok(Kind::Integer {
                signed: false,
                truth: true,
            })
        }
        dw::DW_ATE_float | dw::DW_ATE_complex_float => {
            return Ok(Kind::Other("a floating-point number"))
        }
        _ => return Ok(Kind::Other("a number of an unknown encoding")),
    };
    Ok(Kind::Integer {
        signed,
        truth: false,
    })
}

/// The sign of an enumeration: that of the type below it or, if there is none, of its values.
fn enumeration_is_signed<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    entry: &Entry<'_, '_, 's>,
) -> Result<bool> {
    if let Some(below) = reference(unit, entry, dw::DW_AT_type)? {
        return Ok(matches!(
            read(debug, unit, below)?.kind,
            Kind::Integer { signed: true, .. }
        ));
    }
    let mut tree = unit.entries_tree(Some(entry.offset()))?;
    let mut children = tree.root()?.children();
    while let Some(child) = children.next()? {
        if let Some(gimli::AttributeValue::Sdata(value)) =
            attribute(child.entry(), dw::DW_AT_const_value)?
        {
            if value < 0 {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn array<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    entry: &Entry<'_, '_, 's>,
    size: &mut u64,
) -> Result<Kind> {
    if attribute(entry, dw::DW_AT_GNU_vector)?.is_some() {
        return Ok(Kind::Other("a vector"));
    }
    let Some(element) = reference(unit, entry, dw::DW_AT_type)? else {
        refuse!("damaged debug information: an array of nothing");
    };
    let mut counts = Vec::new();
    let mut tree = unit.entries_tree(Some(entry.offset()))?;
    let mut children = tree.root()?.children();
    while let Some(child) = children.next()? {
        let child = child.entry();
        if child.tag() != dw::DW_TAG_subrange_type {
            continue;
        }
        let bound = attribute(child, dw::DW_AT_upper_bound)?.and_then(unsigned);
        let count = number(child, dw::DW_AT_count)?;
        counts.push(count.or(bound.and_then(|bound| bound.checked_add(1))));
    }
    if counts.is_empty() {
        counts.push(None);
    }
    let all: Option<u64> = counts
        .iter()
        .try_fold(1_u64, |all, count| all.checked_mul((*count)?));
    if let Some(all) = all {
        *size = all.saturating_mul(read(debug, unit, element)?.size);
    }
    Ok(Kind::Array { element, counts })
}

/// A member of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Its type.
    pub entry: UnitOffset,
    /// Where it begins, in bits from the beginning of the structure.
    pub start: u64,
    /// How many bits it has, if it is a bit field.
    pub bits: Option<u64>,
}

/// The member `wanted` of the structure at `structure`, also one of an unnamed structure in it.
pub fn member<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    structure: UnitOffset,
    wanted: &str,
) -> Result<Option<Member>> {
    let mut tree = unit.entries_tree(Some(structure))?;
    let mut children = tree.root()?.children();
    while let Some(child) = children.next()? {
        let entry = child.entry();
        if entry.tag() != dw::DW_TAG_member {
            continue;
        }
        let name = debug.text(unit, attribute(entry, dw::DW_AT_name)?);
        if name.is_some_and(|name| name != wanted) {
            continue;
        }
        let Some(offset) = reference(unit, entry, dw::DW_AT_type)? else {
            continue;
        };
        if name.is_some() {
            return Ok(Some(placed(debug, unit, entry, offset)?));
        }
        let inner = read(debug, unit, offset)?;
        if inner.kind == Kind::Structure {
            if let Some(mut member) = member(debug, unit, inner.entry, wanted)? {
                member.start += placed(debug, unit, entry, offset)?.start;
                return Ok(Some(member));
            }
        }
    }
    Ok(None)
}

/// The type of the only member of a structure, which begins where the structure does.
pub fn only_member<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    structure: UnitOffset,
) -> Result<Option<UnitOffset>> {
    let mut only = None;
    let mut tree = unit.entries_tree(Some(structure))?;
    let mut children = tree.root()?.children();
    while let Some(child) = children.next()? {
        let entry = child.entry();
        if entry.tag() != dw::DW_TAG_member {
            continue;
        }
        let Some(offset) = reference(unit, entry, dw::DW_AT_type)? else {
            return Ok(None);
        };
        let member = placed(debug, unit, entry, offset)?;
        if only.is_some() || member.bits.is_some() || member.start != 0 {
            return Ok(None);
        }
        only = Some(offset);
    }
    Ok(only)
}

/// Where a member is.
fn placed<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    entry: &Entry<'_, '_, 's>,
    offset: UnitOffset,
) -> Result<Member> {
    let bits = number(entry, dw::DW_AT_bit_size)?;
    let bytes = match attribute(entry, dw::DW_AT_data_member_location)? {
        None => 0,
        Some(value) => {
            unsigned(value).ok_or_else(|| Refusal::new("a member whose offset is computed"))?
        }
    };
    let start = match number(entry, dw::DW_AT_data_bit_offset)? {
        Some(start) => bytes.saturating_mul(8).saturating_add(start),
        None => match (number(entry, dw::DW_AT_bit_offset)?, bits) {
            // Before DWARF 4 it counts from the highest bit of the unit of storage.
            (Some(from_top), Some(bits)) => {
                let size = number(entry, dw::DW_AT_byte_size)?;
                let size =
                    size.map_or_else(|| Ok(read(debug, unit, offset)?.size), Ok::<_, Refusal>)?;
                let top = bytes.saturating_add(size).saturating_mul(8);
                let below = from_top.saturating_add(bits);
                top.checked_sub(below)
                    .ok_or_else(|| Refusal::new("damaged debug information: a bit field"))?
            }
            _ => bytes.saturating_mul(8),
        },
    };
    Ok(Member {
        entry: offset,
        start,
        bits,
    })
}
