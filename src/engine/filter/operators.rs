// SPDX-License-Identifier: GPL-2.0

//! The operators and field names of a filter.

use super::arithmetic::{Arithmetic, Operator};
use super::terms::{Operand, Relation};
use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::{Error, Kind};

/// Returns `text` without leading white space.
pub(super) fn trim(text: Span<'_>) -> Span<'_> {
    text.skip(
        text.find_by(|b| !lex::is_space(b))
            .unwrap_or(text.bytes.len()),
    )
}

/// Returns whether the name of a field may contain the byte `b`.
pub(super) fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// Returns the comparison operator at the start of `text` and its length; `None` as relation for
/// `~`.
pub(super) fn relation(text: Span<'_>) -> Option<(Option<Relation>, usize)> {
    Some(match text.bytes {
        [b'~', ..] => (None, 1),
        [b'!', b'=', ..] => (Some(Relation::NotEqual), 2),
        [b'=', b'=', ..] => (Some(Relation::Equal), 2),
        [b'<', b'=', ..] => (Some(Relation::LessEqual), 2),
        [b'<', ..] => (Some(Relation::Less), 1),
        [b'>', b'=', ..] => (Some(Relation::GreaterEqual), 2),
        [b'>', ..] => (Some(Relation::Greater), 1),
        [b'&', ..] => (Some(Relation::Bits), 1),
        _ => return None,
    })
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

    /// Returns whether the operator requires parentheses.
    fn needs_parentheses(self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Xor)
    }
}

/// Parses an arithmetic operator and its number at the start of `text`, if there is one; also
/// returns the rest.
///
/// # Errors
///
/// `FILT_ILLEGAL_INTVAL` for a number that the operator cannot take.
pub(super) fn arithmetic(
    text: Span<'_>,
    in_parentheses: bool,
) -> Result<Option<(Arithmetic, Span<'_>)>, Error> {
    /// Beyond every signed number.
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
    Ok(Some((Arithmetic { operator, by }, rest)))
}

/// If `text` begins with parentheses around arithmetic on a field, followed by a comparison,
/// `(FIELD OPERATOR NUMBER) == ...`, returns the contents and the rest.
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

/// Returns the refusal of `text` behind `operand`, which begins with no operator.
#[cold]
#[inline(never)]
pub(super) fn no_operator(text: Span<'_>, operand: Operand) -> Error {
    let error = text.error(Kind::FiltInvalidOp);
    let end = text.find_by(|b| !is_name(b)).unwrap_or(text.bytes.len());
    match (text.take(end).bytes, text.bytes) {
        (_, [b'=', b'~', ..]) | (b"LIKE" | b"like" | b"matches", _) => {
            error.with_detail(format_args!("a pattern follows ~, such as comm ~ \"cat*\""))
        }
        (_, [b'=', b'>', ..]) => error.with_detail(format_args!("write >=")),
        (_, [b'=', b'<', ..]) => error.with_detail(format_args!("write <=")),
        (_, [b'=', b'!', ..]) => error.with_detail(format_args!("write !=")),
        (_, [b'=', ..]) | (b"is" | b"eq", _) => error.with_detail(format_args!("write ==")),
        (b"in", _) => error.with_detail(format_args!(
            "join what each value needs with ||, or name a range with >= and <="
        )),
        (b"and" | b"or" | b"", [] | [b'a' | b'o' | b'&' | b'|' | b')', ..]) => {
            error.with_detail(format_args!("{}", compared_with(operand)))
        }
        _ => error,
    }
}

/// Returns what to compare `operand` with.
fn compared_with(operand: Operand) -> &'static str {
    match operand {
        Operand::Bytes { .. } => "compare it with == or !=",
        _ if operand.is_number() => {
            "compare it with a number: a field that is not 0 is written FIELD != 0"
        }
        _ => "compare it with a text: a field that is not empty is written FIELD != \"\"",
    }
}
