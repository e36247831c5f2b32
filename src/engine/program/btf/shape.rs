// SPDX-License-Identifier: GPL-2.0

//! The layout of a type, as calling conventions need it.

use super::lookup::BtfValue;
use crate::engine::code::arch::calling::TypeShape;
use crate::sys::{AllocError, Vec};

/// Maximum number of members and elements that are visited. Larger types have an unknown shape.
const MAX_STEPS: usize = 4096;

/// Maximum number of elements of an array that are visited. The others are alike, and behind the
/// first sixteen bytes, whose contents do not matter.
const MAX_ELEMENTS: u32 = 16;

impl BtfValue<'_> {
    /// Returns the shape of a value of this type; `None` if it contains floating-point numbers or
    /// vectors, which have registers of their own, or for invalid BTF.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn passed_shape(&self) -> Result<Option<TypeShape>, AllocError> {
        let is_composite = self.is_structure();
        let Some(size) = self.bytes().filter(|_| !self.is_array()) else {
            return Ok(None);
        };
        let mut shape = TypeShape {
            size,
            align: 1,
            is_composite,
            is_unaligned: false,
            halves: [false; 2],
        };
        let mut rest = Vec::new();
        rest.push((*self, 0u32))?;
        let mut steps = MAX_STEPS;
        while let Some((value, base)) = rest.pop() {
            let Some(left) = steps.checked_sub(1) else {
                return Ok(None);
            };
            steps = left;
            if let Some((element, count)) = value.element() {
                let Some(size) = element.bytes() else {
                    return Ok(None);
                };
                for n in 0..count.min(MAX_ELEMENTS) {
                    let offset = n.saturating_mul(size).saturating_mul(8);
                    rest.push((element, base.saturating_add(offset)))?;
                }
            } else if value.is_structure() {
                let mut n = 0usize;
                while let Some(member) = value.declared_member(n) {
                    n = n.saturating_add(1);
                    let Some(of) = member.value else {
                        return Ok(None);
                    };
                    let at = base.saturating_add(member.bit_offset);
                    match member.bit_size {
                        // A bitfield without a name is padding.
                        Some(_) if member.name.is_empty() => {}
                        Some(bits) => shape.mark(at, u32::from(bits)),
                        None => rest.push((of, at))?,
                    }
                    if rest.len() > MAX_STEPS {
                        return Ok(None);
                    }
                }
            } else if !shape.scalar(value, base) {
                return Ok(None);
            }
        }
        Ok(match shape.halves {
            // BTF does not mark transparent unions, but they have this size. They are passed as
            // their first member.
            [false, false] if size == 8 => Some(TypeShape::WORD),
            [false, false] if size > 0 && size <= 16 => None,
            _ => Some(shape),
        })
    }
}

impl TypeShape {
    /// Marks `bits` bits from bit `at` as used.
    fn mark(&mut self, at: u32, bits: u32) {
        let end = at.saturating_add(bits);
        let [first, second] = &mut self.halves;
        *first |= at < 64 && end > 0;
        *second |= at < 128 && end > 64;
    }

    /// Adds a number at bit `at`. Returns whether its kind is known.
    fn scalar(&mut self, value: BtfValue<'_>, at: u32) -> bool {
        let size = value.scalar().and_then(|_| value.size());
        let Some(size) = size.filter(|size| size.is_power_of_two() && *size <= 16) else {
            return false;
        };
        let bits = u32::from(size).saturating_mul(8);
        self.align = self.align.max(size);
        self.is_unaligned |= at.checked_rem(bits) != Some(0);
        self.mark(at, bits);
        true
    }
}
