// SPDX-License-Identifier: GPL-2.0

//! Arithmetic on a field before it is compared: `(n & 7) == 4`, `size % 512 != 0`.
//!
//! Behind a field is one operator and one number. `&`, `|` and `^` take parentheses: in C they bind
//! less closely than `==`, and `n & 4` alone is a test of its own.

use super::predicate::{is_name, relation, trim};
use crate::engine::error::{Error, Kind};
use crate::engine::lex::{self, Span};

/// What is made of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
    Xor,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Left,
    Right,
}

/// An operator and its right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arithmetic {
    pub(super) operator: Operator,
    /// For a division not 0 and at most `i64::MAX`, for a shift less than 64.
    pub(super) by: u64,
}

impl Operator {
    /// Returns the operator at the start of `text`, and its length.
    fn at(text: Span<'_>) -> Option<(Self, usize)> {
        Some(match text.bytes {
            [b'<', b'<', ..] => (Self::Left, 2),
            [b'>', b'>', ..] => (Self::Right, 2),
            [b'&', b'&', ..] | [b'|', b'|', ..] => return None,
            [b'&', ..] => (Self::And, 1),
            [b'|', ..] => (Self::Or, 1),
            [b'^', ..] => (Self::Xor, 1),
            [b'+', ..] => (Self::Add, 1),
            [b'-', ..] => (Self::Subtract, 1),
            [b'*', ..] => (Self::Multiply, 1),
            [b'/', ..] => (Self::Divide, 1),
            [b'%', ..] => (Self::Remainder, 1),
            _ => return None,
        })
    }

    /// Returns whether it stands in parentheses only.
    fn needs_parentheses(self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Xor)
    }
}

impl Arithmetic {
    /// Parses the operator and the number at the start of `text`, if there is an operator; also
    /// returns the rest.
    ///
    /// # Errors
    ///
    /// `FILT_INVALID_OP` for one that takes parentheses and has none; `FILT_ILLEGAL_INTVAL` for a
    /// number by which it cannot be done.
    pub(super) fn parse<'s>(
        text: Span<'s>,
        in_parentheses: bool,
    ) -> Result<Option<(Self, Span<'s>)>, Error> {
        /// Cannot be a number with a sign.
        const MORE: u64 = 1 << 63;
        let Some((operator, length)) = Operator::at(text) else {
            return Ok(None);
        };
        if operator.needs_parentheses() && !in_parentheses {
            return Ok(None);
        }
        let number = trim(text.skip(length));
        let digits = number.find_by(|b| !b.is_ascii_alphanumeric());
        let end = digits.unwrap_or(number.bytes.len());
        let (number, rest) = (number.take(end), number.skip(end));
        let bad = |why: &str| {
            let refusal = number.error(Kind::FiltIllegalIntval);
            Err(refusal.with_detail(format_args!("{why}")))
        };
        let by = match (lex::unsigned(number.bytes), operator) {
            (None, _) => return bad("the right side of an operator is a number without a sign"),
            (Some(0), Operator::Divide | Operator::Remainder) => {
                return bad("nothing can be divided by 0")
            }
            (Some(MORE..), Operator::Divide | Operator::Remainder) => {
                return bad("the greatest number by which one can divide is 0x7fffffffffffffff")
            }
            (Some(64..), Operator::Left | Operator::Right) => {
                return bad("a number is shifted by at most 63 bits")
            }
            (Some(by), _) => by,
        };
        Ok(Some((Self { operator, by }, rest)))
    }

    /// Returns `value` as the operator makes it, modulo 2^64. It has a sign if it is `signed`, and
    /// then so has the result.
    ///
    /// Context: any.
    pub(super) fn of(self, value: u64, signed: bool) -> u64 {
        let by = self.by;
        // CAST: two's complement, there and back; a shift is by less than 64 bits.
        let (signed_value, signed_by, bits) = (value as i64, by as i64, by as u32);
        match self.operator {
            Operator::And => value & by,
            Operator::Or => value | by,
            Operator::Xor => value ^ by,
            Operator::Add => value.wrapping_add(by),
            Operator::Subtract => value.wrapping_sub(by),
            Operator::Multiply => value.wrapping_mul(by),
            Operator::Left => value.wrapping_shl(bits),
            Operator::Right if signed => signed_value.wrapping_shr(bits) as u64,
            Operator::Right => value.wrapping_shr(bits),
            Operator::Divide if signed => signed_value.checked_div(signed_by).unwrap_or(0) as u64,
            Operator::Remainder if signed => {
                signed_value.checked_rem(signed_by).unwrap_or(0) as u64
            }
            Operator::Divide => value.checked_div(by).unwrap_or(0),
            Operator::Remainder => value.checked_rem(by).unwrap_or(0),
        }
    }
}

/// Returns what is between the parentheses at the start of `text`, and what follows them, if they
/// enclose arithmetic on a field and are compared: `(FIELD OPERATOR NUMBER) == ...`.
pub(super) fn enclosed(text: Span<'_>) -> Option<(Span<'_>, Span<'_>)> {
    let inside = text.strip(b"(")?;
    let (inside, behind) = inside.around(inside.find(b')')?);
    let name = trim(inside);
    let end = name.find_by(|b| !is_name(b)).filter(|end| *end > 0)?;
    Operator::at(trim(name.skip(end)))?;
    let compared = trim(behind);
    let is_compared = relation(compared).is_some() && !compared.bytes.starts_with(b"&&");
    is_compared.then_some((inside, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(operator: Operator, value: i64, by: u64, signed: bool) -> i64 {
        Arithmetic { operator, by }.of(value as u64, signed) as i64
    }

    #[test]
    fn signs_are_kept() {
        assert_eq!(of(Operator::Divide, -7, 2, true), -3);
        assert_eq!(of(Operator::Remainder, -7, 2, true), -1);
        assert_eq!(of(Operator::Right, -8, 1, true), -4);
        assert_eq!(of(Operator::Right, -8, 1, false), i64::MAX - 3);
        assert_eq!(of(Operator::Divide, -1, 2, false), i64::MAX);
        assert_eq!(of(Operator::Divide, i64::MIN, 1, true), i64::MIN);
        assert_eq!(of(Operator::Remainder, i64::MIN, 10, true), -8);
        assert_eq!(of(Operator::Left, 3, 63, true), i64::MIN);
        assert_eq!(of(Operator::Add, i64::MAX, 1, true), i64::MIN);
    }
}
