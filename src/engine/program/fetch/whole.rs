// SPDX-License-Identifier: GPL-2.0

//! Makes the shape of a structure that is recorded as bytes, from BTF.
//!
//! Nested structures and arrays are followed with an explicit stack, up to [`MAX_DEPTH`];
//! [`MAX_PARTS`] bounds how much of a structure is shown, and [`MAX_STRUCTURE`] how much of it is
//! recorded.

use crate::engine::program::btf::parts::{DeclaredMember, Scalar};
use crate::engine::program::btf::BtfValue;
use crate::engine::record::{
    Enumerator, NumberKind, PartKind, ShapeBits, ShapeName, ShapePart, WholeShape, MAX_STRUCTURE,
};
use crate::sys::{AllocError, Vec};

/// Maximum number of parts of a structure that are shown.
const MAX_PARTS: usize = 256;

/// Deepest nesting that is shown.
const MAX_DEPTH: usize = 8;

/// Maximum number of elements of an array that are shown.
const MAX_ELEMENTS: u32 = 16;

/// Maximum number of members and elements that are visited. Anonymous members may contain many that
/// are not shown.
const MAX_STEPS: usize = 4096;

/// Maximum number of names of enumerations.
const MAX_ENUMERATORS: usize = 512;

/// Maximum number of bytes of names.
const MAX_NAMES: usize = 32 << 10;

/// Limit for names of enumerations; the bytes behind it are left for members.
const MAX_ENUMERATOR_NAMES: usize = 16 << 10;

/// A structure or array on the stack.
struct ShapeLevel<'a> {
    of: ShapeLevelOf<'a>,
    /// The index of the next member or element.
    next: u32,
    /// Its offset in bits.
    base: u32,
    /// Whether it is shown as a level. An anonymous structure is not: its members belong to the
    /// surrounding one.
    is_shown: bool,
}

enum ShapeLevelOf<'a> {
    Members(BtfValue<'a>),
    Elements {
        element: BtfValue<'a>,
        /// Number of bits of an element.
        stride: u32,
        count: u32,
    },
}

struct ShapeBuilder<'a> {
    shape: WholeShape,
    levels: Vec<ShapeLevel<'a>>,
    /// Enumerations whose names are stored, with index of the first name and number of names.
    enums: Vec<(BtfValue<'a>, u16, u16)>,
    /// Limit in bits of what is recorded.
    limit: u32,
    /// Members and elements visited so far.
    steps: usize,
}

/// Returns the shape of `structure`, argument `index`; `None` if its size is unknown. `is_change`
/// if it is recorded before and after a call.
#[inline(never)]
pub(super) fn shape(
    structure: BtfValue<'_>,
    index: u8,
    is_change: bool,
) -> Result<Option<WholeShape>, AllocError> {
    let Some(size) = structure.bytes().filter(|size| *size != 0) else {
        return Ok(None);
    };
    let recorded = size.min(MAX_STRUCTURE);
    let mut builder = ShapeBuilder {
        shape: WholeShape {
            index,
            // CAST: at most `MAX_STRUCTURE`.
            size: recorded as u16,
            is_change,
            is_cut: structure
                .bytes()
                .is_some_and(|size| is_change && size > recorded),
            ..WholeShape::default()
        },
        levels: Vec::new(),
        enums: Vec::new(),
        limit: recorded.saturating_mul(8),
        steps: 0,
    };
    builder.part(b"", PartKind::Structure)?;
    builder.open(ShapeLevelOf::Members(structure), 0, true)?;
    while builder.step()? {}
    Ok(Some(builder.shape))
}

/// Returns the names of the values of argument `index`, recorded in so many `bits`, as a structure
/// of one number; `None` if its type is no enumeration.
#[inline(never)]
pub(super) fn value_names(
    value: BtfValue<'_>,
    index: u8,
    bits: u8,
) -> Result<Option<WholeShape>, AllocError> {
    let Some(Scalar::Enum(_, signed)) = value.scalar() else {
        return Ok(None);
    };
    let mut builder = ShapeBuilder {
        shape: WholeShape {
            index,
            size: u16::from(bits / 8),
            ..WholeShape::default()
        },
        levels: Vec::new(),
        enums: Vec::new(),
        limit: u32::from(bits),
        steps: 0,
    };
    let kind = builder.names_of(value, signed)?;
    let bits = ShapeBits {
        offset: 0,
        width: bits,
    };
    builder.part(b"", PartKind::Number(bits, kind))?;
    Ok(Some(builder.shape))
}

impl<'a> ShapeBuilder<'a> {
    /// Adds the next member or element. Returns false if there is none.
    fn step(&mut self) -> Result<bool, AllocError> {
        let is_full = self.shape.parts.len() >= MAX_PARTS || self.steps >= MAX_STEPS;
        self.steps = self.steps.saturating_add(1);
        let Some(level) = self.levels.last_mut() else {
            return Ok(false);
        };
        let (base, n) = (level.base, level.next);
        level.next = n.saturating_add(1);
        let found = match level.of {
            // CAST: u32 to usize widens.
            ShapeLevelOf::Members(structure) => structure.declared_member(n as usize),
            ShapeLevelOf::Elements {
                element,
                stride,
                count,
            } => (n < count).then(|| DeclaredMember {
                name: b"",
                bit_offset: stride.saturating_mul(n),
                bit_size: None,
                value: Some(element),
            }),
        };
        let is_element = matches!(level.of, ShapeLevelOf::Elements { .. });
        let is_over = is_element && n >= MAX_ELEMENTS;
        match found {
            Some(_) if is_full || is_over => {
                self.more(b"")?;
                self.close()?;
            }
            Some(member) => self.member(member, base, is_element)?,
            None => self.close()?,
        }
        Ok(true)
    }

    /// Ends the current level.
    fn close(&mut self) -> Result<(), AllocError> {
        match self.levels.pop() {
            Some(level) if level.is_shown => self.part(b"", PartKind::End),
            _ => Ok(()),
        }
    }

    fn open(&mut self, of: ShapeLevelOf<'a>, base: u32, is_shown: bool) -> Result<(), AllocError> {
        self.levels.push(ShapeLevel {
            of,
            next: 0,
            base,
            is_shown,
        })
    }

    fn part(&mut self, name: &[u8], kind: PartKind) -> Result<(), AllocError> {
        let name = self.name(name)?;
        self.shape.parts.push(ShapePart { name, kind })
    }

    /// Adds the mark for members that are not shown.
    fn more(&mut self, name: &[u8]) -> Result<(), AllocError> {
        self.shape.is_cut = true;
        // One mark suffices.
        let last = self.shape.parts.last().map(|part| part.kind);
        match name.is_empty() && last == Some(PartKind::More) {
            true => Ok(()),
            false => self.part(name, PartKind::More),
        }
    }

    /// Adds `member` of the level that begins at `base`.
    fn member(
        &mut self,
        member: DeclaredMember<'a>,
        base: u32,
        is_element: bool,
    ) -> Result<(), AllocError> {
        let name = member.name;
        let at = base.saturating_add(member.bit_offset);
        if !self.has_room(name, MAX_NAMES) {
            return self.more(b"");
        }
        let Some(value) = member.value else {
            return self.more(name);
        };
        // Padding: a bitfield without a name.
        if name.is_empty() && !is_element && !value.is_structure() {
            return Ok(());
        }
        // One mark for all members beyond the limit.
        if at >= self.limit && value.bytes() != Some(0) {
            return self.more(b"");
        }
        if value.is_structure() {
            let is_shown = is_element || !name.is_empty();
            if self.levels.len() >= MAX_DEPTH {
                return self.more(name);
            }
            if is_shown {
                self.part(name, PartKind::Structure)?;
            }
            return self.open(ShapeLevelOf::Members(value), at, is_shown);
        }
        if let Some((element, count)) = value.element() {
            return self.array(name, element, count, at);
        }
        let (size, kind) = match value.scalar() {
            Some(Scalar::Integer(bits, true)) => (bits, NumberKind::Signed),
            Some(Scalar::Integer(bits, false)) => (bits, NumberKind::Unsigned),
            Some(Scalar::Character) => (8, NumberKind::Unsigned),
            Some(Scalar::Pointer) => (64, NumberKind::Pointer),
            Some(Scalar::Function) => (64, NumberKind::Function),
            Some(Scalar::Enum(bits, signed)) => (bits, self.names_of(value, signed)?),
            None => return self.more(name),
        };
        let width = member.bit_size.unwrap_or(size);
        let end = at.saturating_add(u32::from(width));
        match u16::try_from(at) {
            Ok(offset) if (1..=64).contains(&width) && end <= self.limit => {
                self.part(name, PartKind::Number(ShapeBits { offset, width }, kind))
            }
            _ => self.more(name),
        }
    }

    /// Adds an array of `count` elements.
    fn array(
        &mut self,
        name: &[u8],
        element: BtfValue<'a>,
        count: u32,
        at: u32,
    ) -> Result<(), AllocError> {
        let stride = element.bytes().and_then(|bytes| bytes.checked_mul(8));
        if let (Some(Scalar::Character), 1..) = (element.scalar(), count) {
            let left = self.limit.saturating_sub(at) / 8;
            let length = u16::try_from(count.min(left)).unwrap_or(u16::MAX);
            let from = u16::try_from(at / 8).unwrap_or(u16::MAX);
            self.shape.is_cut |= count > left;
            return self.part(name, PartKind::Text(from, length));
        }
        match stride.filter(|stride| *stride != 0 && count != 0) {
            Some(stride) if self.levels.len() < MAX_DEPTH => {
                self.part(name, PartKind::Array)?;
                let of = ShapeLevelOf::Elements {
                    element,
                    stride,
                    count,
                };
                self.open(of, at, true)
            }
            // A flexible array at the end is not part of the structure.
            _ => self.more(name),
        }
    }

    /// Returns the kind of an enumeration, and stores its names on first use.
    fn names_of(&mut self, value: BtfValue<'a>, signed: bool) -> Result<NumberKind, AllocError> {
        let mut known = self.enums.iter();
        let known = known.find(|(known, ..)| known.is_same_type(&value));
        let (first, count) = match known {
            Some(&(_, first, count)) => (first, count),
            None => {
                let first = self.shape.enumerators.len();
                let mut n = 0usize;
                while let Some((name, value)) = value.enumerator(n) {
                    let has_room = self.has_room(name, MAX_ENUMERATOR_NAMES);
                    if self.shape.enumerators.len() >= MAX_ENUMERATORS || !has_room {
                        break;
                    }
                    let name = self.name(name)?;
                    self.shape.enumerators.push(Enumerator { value, name })?;
                    n = n.saturating_add(1);
                }
                // CAST: at most `MAX_ENUMERATORS`.
                let range = (first as u16, n as u16);
                self.enums.push((value, range.0, range.1))?;
                range
            }
        };
        let names = self.shape.enumerators(first, count);
        let single = names.iter().filter(|e| e.value.is_power_of_two()).count();
        let others = names.iter().filter(|e| e.value != 0).count();
        Ok(NumberKind::Enum {
            first,
            count,
            // With the values 1 and 2 alone it may be either.
            are_flags: single == others && single > 2,
            signed,
        })
    }

    /// Returns whether `name` fits, if all names may take `most` bytes.
    fn has_room(&self, name: &[u8], most: usize) -> bool {
        self.shape.names.len().saturating_add(name.len()) <= most
    }

    fn name(&mut self, name: &[u8]) -> Result<ShapeName, AllocError> {
        let start = self.shape.names.len();
        if name.is_empty() || !self.has_room(name, MAX_NAMES) {
            return Ok((0, 0));
        }
        for &byte in name {
            let is_fit = byte.is_ascii_alphanumeric() || byte == b'_';
            self.shape.names.push(if is_fit { byte } else { b'?' })?;
        }
        // CAST: at most `MAX_NAMES`.
        Ok((start as u16, name.len() as u16))
    }
}
