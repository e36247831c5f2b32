// SPDX-License-Identifier: GPL-2.0

//! The entries of the stack, and the arithmetic on them that a definition can express.

use crate::debug::Slice;
use crate::error::{Refusal, Result};
use crate::place::{Base, Number, Sum};
use gimli::Operation;

/// An entry of the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Number(Number),
    /// A base, shifted left by some bits: half of what extends a sign.
    Shifted(Base, u32),
}

impl Item {
    pub(super) fn sum(sum: Sum) -> Self {
        Self::Number(Number::Whole(sum))
    }

    pub(super) fn constant(value: i64) -> Self {
        Self::sum(Sum::constant(value))
    }

    pub(super) fn as_constant(&self) -> Option<i64> {
        match self {
            Self::Number(Number::Whole(Sum { base: None, offset })) => Some(*offset),
            _ => None,
        }
    }

    /// The sum, if all 64 bits are known.
    pub(super) fn into_sum(self) -> Result<Sum> {
        match self {
            Self::Number(Number::Whole(sum)) => Ok(sum),
            _ => Err(computed("an address of less than 64 bits")),
        }
    }
}

/// The refusal of what a definition cannot compute.
pub(super) fn computed(what: &str) -> Refusal {
    Refusal::new(format!(
        "it is computed from other values here ({what}), which a definition cannot do"
    ))
}

/// `item` and a number.
pub(super) fn plus(item: Item, offset: i64) -> Result<Item> {
    match item {
        Item::Number(Number::Whole(sum)) => Ok(Item::sum(sum.plus(offset))),
        _ => Err(computed("DW_OP_plus_uconst")),
    }
}

/// What an operation makes of one entry.
pub(super) fn unary(operation: &Operation<Slice<'_>>, item: Item) -> Result<Item> {
    match (operation, item.as_constant()) {
        (Operation::Neg, Some(value)) => Ok(Item::constant(value.wrapping_neg())),
        (Operation::Not, Some(value)) => Ok(Item::constant(!value)),
        _ => Err(computed(name(operation))),
    }
}

/// What an operation makes of two entries.
pub(super) fn binary(operation: &Operation<Slice<'_>>, left: Item, right: Item) -> Result<Item> {
    if let (Some(left), Some(right)) = (left.as_constant(), right.as_constant()) {
        return fold(operation, left, right).map(Item::constant);
    }
    let refused = || computed(name(operation));
    match (operation, left, right) {
        (Operation::Plus, Item::Number(Number::Whole(sum)), other)
        | (Operation::Plus, other, Item::Number(Number::Whole(sum)))
            if other.as_constant().is_some() =>
        {
            let offset = other.as_constant().ok_or_else(refused)?;
            Ok(Item::sum(sum.plus(offset)))
        }
        (Operation::Minus, Item::Number(Number::Whole(sum)), other) => {
            let offset = other.as_constant().ok_or_else(refused)?;
            Ok(Item::sum(sum.plus(offset.wrapping_neg())))
        }
        (Operation::And, item, mask) => mask_of(item, &mask).ok_or_else(refused),
        (Operation::Shl, Item::Number(number), count) => {
            let of = low(number, 64).ok_or_else(refused)?;
            let count = count
                .as_constant()
                .and_then(|count| u32::try_from(count).ok());
            match count {
                Some(count @ 1..=63) => Ok(Item::Shifted(of, count)),
                _ => Err(refused()),
            }
        }
        (Operation::Shra | Operation::Shr, Item::Shifted(of, left), count)
            if count.as_constant() == Some(left.into()) =>
        {
            Ok(Item::Number(Number::Narrow {
                of,
                bits: 64 - left,
                signed: matches!(operation, Operation::Shra),
            }))
        }
        _ => Err(refused()),
    }
}

/// The base of which `number` has at least the low `bits`.
fn low(number: Number, bits: u32) -> Option<Base> {
    match number {
        Number::Whole(Sum {
            base: Some(of),
            offset: 0,
        }) => Some(of),
        Number::Narrow { of, bits: have, .. } if have >= bits => Some(of),
        _ => None,
    }
}

/// `item & mask`, if the mask is of low bits.
fn mask_of(item: Item, mask: &Item) -> Option<Item> {
    // CAST: only its bits matter.
    let mask = mask.as_constant()? as u64;
    let bits = mask.trailing_ones();
    if mask.checked_shr(bits).unwrap_or(0) != 0 || bits == 0 {
        return None;
    }
    let Item::Number(number) = item else {
        return None;
    };
    if bits == 64 {
        return Some(Item::Number(number));
    }
    // The bits above a narrow number without a sign are zero already.
    if let Number::Narrow {
        bits: have,
        signed: false,
        ..
    } = number
    {
        if have <= bits {
            return Some(Item::Number(number));
        }
    }
    let of = low(number, bits)?;
    Some(Item::Number(Number::Narrow {
        of,
        bits,
        signed: false,
    }))
}

fn fold(operation: &Operation<Slice<'_>>, left: i64, right: i64) -> Result<i64> {
    let shift = u32::try_from(right).ok().filter(|shift| *shift < 64);
    // CAST: logical shifts go by bits.
    Ok(match (operation, shift) {
        (Operation::Plus, _) => left.wrapping_add(right),
        (Operation::Minus, _) => left.wrapping_sub(right),
        (Operation::Mul, _) => left.wrapping_mul(right),
        (Operation::And, _) => left & right,
        (Operation::Or, _) => left | right,
        (Operation::Xor, _) => left ^ right,
        (Operation::Shl, Some(shift)) => left << shift,
        (Operation::Shr, Some(shift)) => ((left as u64) >> shift) as i64,
        (Operation::Shra, Some(shift)) => left >> shift,
        _ => return Err(computed(name(operation))),
    })
}

/// The name of an operation, for refusals.
pub(super) fn name(operation: &Operation<Slice<'_>>) -> &'static str {
    match operation {
        Operation::Plus => "DW_OP_plus",
        Operation::Minus => "DW_OP_minus",
        Operation::Mul => "DW_OP_mul",
        Operation::Div => "DW_OP_div",
        Operation::Mod => "DW_OP_mod",
        Operation::And => "DW_OP_and",
        Operation::Or => "DW_OP_or",
        Operation::Xor => "DW_OP_xor",
        Operation::Shl => "DW_OP_shl",
        Operation::Shr => "DW_OP_shr",
        Operation::Shra => "DW_OP_shra",
        Operation::Bra { .. } => "DW_OP_bra",
        Operation::Eq => "DW_OP_eq",
        Operation::Ne => "DW_OP_ne",
        Operation::Lt => "DW_OP_lt",
        Operation::Le => "DW_OP_le",
        Operation::Gt => "DW_OP_gt",
        Operation::Ge => "DW_OP_ge",
        Operation::Abs => "DW_OP_abs",
        Operation::Neg => "DW_OP_neg",
        Operation::Not => "DW_OP_not",
        Operation::ParameterRef { .. } => "DW_OP_GNU_parameter_ref",
        Operation::Reinterpret { .. } => "DW_OP_reinterpret",
        _ => "an operation that definitions do not have",
    }
}
