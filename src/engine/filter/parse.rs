// SPDX-License-Identifier: GPL-2.0

//! From the text of a filter to its terms.
//!
//! Operators wait on a list until their right side is complete; no recursion.
//! Each complete part is a [`Fragment`]: its first term, and the targets of its
//! terms that are not decided yet. Those are chained through the target fields
//! themselves.

use super::predicate::{Operand, Relation, Single, Term, Test, MAX_TEXT};
use super::{Filter, Functions, ACCEPT, MAX_LEN, REJECT};
use crate::engine::error::{Error, Kind};
use crate::engine::lex::{self, Span};
use crate::engine::record::{Field, Layout};
use crate::sys::Vec;

/// Most terms of a filter.
const MAX_TERMS: usize = 4096;

/// Most CPUs that a kernel may have.
const MAX_CPUS: u64 = 8192;

/// The end of a chain of undecided targets.
const END: u16 = u16::MAX;

/// A complete part of the expression.
#[derive(Clone, Copy)]
struct Fragment {
    start: u16,
    /// Chain of targets to take when the part holds.
    on_true: u16,
    /// Chain of targets to take when it does not.
    on_false: u16,
}

/// An operator that waits for its right side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Open(usize),
    Not,
    And,
    Or,
}

/// Parses `text`, which has no white space around it.
pub(super) fn filter(
    text: &[u8],
    layout: &Layout,
    functions: &mut dyn Functions,
) -> Result<Filter, Error> {
    if text.len() > MAX_LEN {
        return Err(Error::new(Kind::FiltTooLong, MAX_LEN));
    }
    let mut parser = Parser {
        layout,
        functions,
        filter: Filter {
            text: Vec::from_slice(text)?,
            terms: Vec::new(),
            patterns: Vec::new(),
            cpus: Vec::new(),
            single: None,
        },
        waiting: Vec::new(),
        complete: Vec::new(),
    };
    parser.expression(Span { bytes: text, at: 0 })?;
    parser.filter.single = Single::of(&parser.filter.terms);
    Ok(parser.filter)
}

struct Parser<'a> {
    layout: &'a Layout,
    functions: &'a mut dyn Functions,
    filter: Filter,
    waiting: Vec<Waiting>,
    complete: Vec<Fragment>,
}

/// `text` without the white space at its start.
fn trim(text: Span<'_>) -> Span<'_> {
    text.skip(
        text.find_by(|b| !lex::is_space(b))
            .unwrap_or(text.bytes.len()),
    )
}

/// Whether a name of a field may have the byte `b`.
fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

impl Parser<'_> {
    fn expression(&mut self, text: Span<'_>) -> Result<(), Error> {
        let mut rest = text;
        loop {
            rest = self.operand(trim(rest))?;
            loop {
                rest = trim(rest);
                match rest.bytes {
                    [] => return self.end(),
                    [b')', ..] => {
                        self.close(rest)?;
                        rest = rest.skip(1);
                    }
                    [b'&', b'&', ..] => {
                        self.reduce(&[Waiting::And])?;
                        self.waiting.push(Waiting::And)?;
                        break;
                    }
                    [b'|', b'|', ..] => {
                        self.reduce(&[Waiting::And, Waiting::Or])?;
                        self.waiting.push(Waiting::Or)?;
                        break;
                    }
                    _ => return Err(rest.error(Kind::FiltTooManyPreds)),
                }
            }
            rest = rest.skip(2);
        }
    }

    /// Takes what may stand before a term, and the term; returns what follows.
    fn operand<'s>(&mut self, text: Span<'s>) -> Result<Span<'s>, Error> {
        let mut rest = text;
        loop {
            rest = trim(rest);
            match rest.bytes {
                [] if self.filter.terms.is_empty() && self.waiting.is_empty() => {
                    return Err(rest.error(Kind::FiltNoFilter));
                }
                [] => return Err(rest.error(Kind::FiltInvalidFilter)),
                [b'(', ..] => self.waiting.push(Waiting::Open(rest.at))?,
                [b'!', b'=' | b'~', ..] => return Err(rest.error(Kind::FiltFieldNotFound)),
                [b'!', ..] => self.waiting.push(Waiting::Not)?,
                _ => break,
            }
            rest = rest.skip(1);
        }
        if self.filter.terms.len() >= MAX_TERMS {
            return Err(rest.error(Kind::FiltTooManyPreds));
        }
        let (operand, test, rest) = self.term(rest)?;
        // CAST: there are less than MAX_TERMS.
        let index = self.filter.terms.len() as u16;
        self.filter.terms.push(Term {
            operand,
            test,
            on_true: END,
            on_false: END,
        })?;
        let exit = index.wrapping_mul(2);
        self.complete.push(Fragment {
            start: index,
            on_true: exit,
            on_false: exit | 1,
        })?;
        self.negate();
        Ok(rest)
    }

    /// Applies the `!` that wait for the part just completed.
    fn negate(&mut self) {
        while self.waiting.last() == Some(&Waiting::Not) {
            self.waiting.pop();
            if let Some(part) = self.complete.last_mut() {
                core::mem::swap(&mut part.on_true, &mut part.on_false);
            }
        }
    }

    /// Joins the parts of the operators in `which` that wait at the end.
    fn reduce(&mut self, which: &[Waiting]) -> Result<(), Error> {
        while let Some(operator) = self.waiting.last().copied().filter(|w| which.contains(w)) {
            self.waiting.pop();
            let (Some(right), Some(left)) = (self.complete.pop(), self.complete.pop()) else {
                return Err(Error::new(Kind::FiltInvalidFilter, 0));
            };
            let joined = if operator == Waiting::And {
                self.decide(left.on_true, right.start);
                let on_false = self.join(left.on_false, right.on_false);
                Fragment {
                    start: left.start,
                    on_true: right.on_true,
                    on_false,
                }
            } else {
                self.decide(left.on_false, right.start);
                let on_true = self.join(left.on_true, right.on_true);
                Fragment {
                    start: left.start,
                    on_true,
                    on_false: right.on_false,
                }
            };
            self.complete.push(joined)?;
        }
        Ok(())
    }

    fn close(&mut self, at: Span<'_>) -> Result<(), Error> {
        self.reduce(&[Waiting::And, Waiting::Or])?;
        match self.waiting.pop() {
            Some(Waiting::Open(_)) => {
                self.negate();
                Ok(())
            }
            _ => Err(at.error(Kind::FiltTooManyClose)),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        self.reduce(&[Waiting::And, Waiting::Or])?;
        if let Some(Waiting::Open(at)) = self.waiting.pop() {
            return Err(Error::new(Kind::FiltTooManyOpen, at));
        }
        if let Some(whole) = self.complete.pop() {
            self.decide(whole.on_true, ACCEPT);
            self.decide(whole.on_false, REJECT);
        }
        Ok(())
    }

    /// The target that `exit` denotes: that of term `exit / 2`, for the case
    /// that it holds when `exit` is even.
    fn target(&mut self, exit: u16) -> Option<&mut u16> {
        let term = self.filter.terms.get_mut(usize::from(exit / 2))?;
        Some(if exit % 2 == 0 {
            &mut term.on_true
        } else {
            &mut term.on_false
        })
    }

    /// Sets all targets of a chain.
    fn decide(&mut self, chain: u16, to: u16) {
        let mut exit = chain;
        while exit != END {
            let Some(target) = self.target(exit) else {
                break;
            };
            exit = core::mem::replace(target, to);
        }
    }

    /// Appends the chain `second` to `first`.
    fn join(&mut self, first: u16, second: u16) -> u16 {
        let mut exit = first;
        while let Some(target) = self.target(exit) {
            if *target == END {
                *target = second;
                break;
            }
            exit = *target;
        }
        first
    }

    /// Parses `FIELD OP VALUE`; returns what follows too.
    fn term<'s>(&mut self, text: Span<'s>) -> Result<(Operand, Test, Span<'s>), Error> {
        let end = text.find_by(|b| !is_name(b)).unwrap_or(text.bytes.len());
        let (name, mut rest) = (text.take(end), text.skip(end));
        let mut operand = self
            .operand_named(name.bytes)
            .ok_or(name.error(Kind::FiltFieldNotFound))?;
        for (suffix, user) in [(&b".ustring"[..], true), (b".string", false)] {
            if let Some(behind) = rest.strip(suffix) {
                operand = pointer(operand, user).ok_or(rest.error(Kind::FiltIllegalFieldOp))?;
                rest = behind;
            }
        }
        let function = rest.strip(b".function");
        rest = trim(function.unwrap_or(rest));
        let (relation, length) = relation(rest).ok_or(rest.error(Kind::FiltInvalidOp))?;
        let operator = rest;
        let value = trim(rest.skip(length));
        let parsed = if function.is_some() {
            self.function(operand, relation, operator, value)?
        } else if value.bytes.starts_with(b"CPUS") {
            self.cpus(operand, relation, operator, value)?
        } else if let Some(quote @ (b'\'' | b'"')) = value.first() {
            self.text(operand, relation, operator, value, quote)?
        } else if value
            .first()
            .is_some_and(|b| b.is_ascii_digit() || b == b'-')
        {
            number(operand, relation, operator, value)?
        } else {
            self.field(operand, relation, operator, value)?
        };
        Ok((operand, parsed.0, parsed.1))
    }

    /// `FIELD OP FIELD[+|-NUMBER]`.
    fn field<'s>(
        &self,
        operand: Operand,
        relation: Option<Relation>,
        operator: Span<'s>,
        value: Span<'s>,
    ) -> Result<(Test, Span<'s>), Error> {
        let end = value.find_by(|b| !is_name(b)).unwrap_or(value.bytes.len());
        let other = self.operand_named(value.take(end).bytes);
        let other = other.ok_or(value.error(Kind::FiltInvalidValue))?;
        let relation = relation.ok_or(operator.error(Kind::FiltIllegalFieldOp))?;
        if !operand.is_number() {
            return Err(value.error(Kind::FiltExpectString));
        }
        if !other.is_number() || matches!(other, Operand::Argument { count: 2.., .. }) {
            return Err(value.error(Kind::FiltExpectDigit));
        }
        let behind = value.skip(end);
        let Some(sign @ (b'+' | b'-')) = trim(behind).first() else {
            let offset = 0;
            let test = Test::Field {
                relation,
                other,
                offset,
            };
            return Ok((test, behind));
        };
        let digits = trim(trim(behind).skip(1));
        let end = digits
            .find_by(|b| !b.is_ascii_alphanumeric())
            .unwrap_or(digits.bytes.len());
        let size = lex::unsigned(digits.take(end).bytes).and_then(|n| i64::try_from(n).ok());
        let size = size.ok_or(digits.error(Kind::FiltIllegalIntval))?;
        let offset = if sign == b'-' {
            size.wrapping_neg()
        } else {
            size
        };
        let test = Test::Field {
            relation,
            other,
            offset,
        };
        Ok((test, digits.skip(end)))
    }

    /// The operand called `name`: the event's own fields come first.
    fn operand_named(&self, name: &[u8]) -> Option<Operand> {
        let mut fields = (0u8..=u8::MAX).zip(&self.layout.fields);
        if let Some((index, field)) = fields.find(|(_, field)| *field.name == *name) {
            return Some(argument(index, field));
        }
        let is_return = self.layout.is_return;
        Some(match name {
            b"CPU" | b"cpu" | b"common_cpu" => Operand::Cpu,
            b"COMM" | b"comm" | b"common_comm" => Operand::Comm,
            b"common_type" => Operand::Type,
            b"common_flags" => Operand::Flags,
            b"common_preempt_count" => Operand::PreemptCount,
            b"common_pid" => Operand::Pid,
            b"__probe_ip" if !is_return => Operand::Place,
            b"__probe_func" if is_return => Operand::Place,
            b"__probe_ret_ip" if is_return => Operand::ReturnAddress,
            _ => return None,
        })
    }

    /// `FIELD.function ==|!= NAME|ADDRESS`.
    fn function<'s>(
        &mut self,
        operand: Operand,
        relation: Option<Relation>,
        operator: Span<'s>,
        value: Span<'s>,
    ) -> Result<(Test, Span<'s>), Error> {
        if !matches!(
            operand,
            Operand::Place
                | Operand::ReturnAddress
                | Operand::Argument {
                    width: 8,
                    count: 1,
                    ..
                }
        ) {
            return Err(operator.error(Kind::FiltIllegalFieldOp));
        }
        let outside = match relation {
            Some(Relation::Equal) => false,
            Some(Relation::NotEqual) => true,
            _ => return Err(operator.error(Kind::FiltInvalidOp)),
        };
        let ends = |b: u8| lex::is_space(b) || matches!(b, b')' | b'&' | b'|');
        let end = value.find_by(ends).unwrap_or(value.bytes.len());
        let (name, rest) = (value.take(end), value.skip(end));
        let range = if name.first().is_some_and(|b| b.is_ascii_digit()) {
            let address = lex::unsigned(name.bytes);
            self.functions
                .around(address.ok_or(name.error(Kind::FiltInvalidValue))?)
        } else {
            self.functions.named(name.bytes)
        };
        let (start, end) = range.ok_or(name.error(Kind::FiltNoFunction))?;
        Ok((
            Test::Range {
                start,
                end,
                outside,
            },
            rest,
        ))
    }

    /// `FIELD ==|!=|& CPUS{LIST}`.
    fn cpus<'s>(
        &mut self,
        operand: Operand,
        relation: Option<Relation>,
        operator: Span<'s>,
        value: Span<'s>,
    ) -> Result<(Test, Span<'s>), Error> {
        let relation = match (operand, relation) {
            (Operand::Text { .. } | Operand::Pointer { .. } | Operand::Comm, _) => None,
            (_, Some(r @ (Relation::Equal | Relation::NotEqual | Relation::Bits))) => Some(r),
            _ => None,
        };
        let relation = relation.ok_or(operator.error(Kind::FiltIllegalFieldOp))?;
        let brace = value.skip(4);
        let list = brace
            .strip(b"{")
            .ok_or(brace.error(Kind::FiltMissingBraceOpen))?;
        let close = list.find(b'}');
        let close = close.ok_or(Error::new(Kind::FiltMissingBraceClose, list.end()))?;
        let (list, rest) = list.around(close);
        // CAST: the text is shorter than 4 KiB, a set takes 128 words.
        let start = self.filter.cpus.len() as u16;
        cpu_list(list, &mut self.filter.cpus)?;
        let len = (self.filter.cpus.len() as u16).saturating_sub(start);
        Ok((
            Test::Cpus {
                relation,
                start,
                len,
            },
            rest,
        ))
    }

    /// `FIELD ==|!=|~ "TEXT"`.
    fn text<'s>(
        &mut self,
        operand: Operand,
        relation: Option<Relation>,
        operator: Span<'s>,
        value: Span<'s>,
        quote: u8,
    ) -> Result<(Test, Span<'s>), Error> {
        let (glob, mut not) = match relation {
            Some(Relation::Equal) => (false, false),
            Some(Relation::NotEqual) => (false, true),
            None => (true, false),
            Some(_) => return Err(operator.error(Kind::FiltIllegalFieldOp)),
        };
        if !matches!(
            operand,
            Operand::Text { .. } | Operand::Pointer { .. } | Operand::Comm
        ) {
            return Err(value.error(Kind::FiltExpectDigit));
        }
        let inside = value.skip(1);
        let close = inside
            .find(quote)
            .ok_or(value.error(Kind::FiltMissingQuote))?;
        let (text, rest) = inside.around(close);
        if text.bytes.len() >= MAX_TEXT {
            return Err(text.error(Kind::FiltOperandTooLong));
        }
        let mut pattern = text.bytes;
        if let Some(positive) = pattern.strip_prefix(b"!").filter(|_| glob) {
            pattern = positive;
            not = true;
        }
        // CAST: the filter is shorter than 4 KiB.
        let start = self.filter.patterns.len() as u16;
        self.filter.patterns.extend_from_slice(pattern)?;
        Ok((
            Test::Text {
                start,
                len: pattern.len() as u16,
                glob,
                not,
            },
            rest,
        ))
    }
}

/// The operand that an argument is.
fn argument(index: u8, field: &Field) -> Operand {
    let count = field.count.unwrap_or(1);
    if field.base.is_text() {
        return Operand::Text { index, count };
    }
    let (width, signed) = (field.base.size(), field.base.is_signed());
    Operand::Argument {
        index,
        count,
        width,
        signed,
    }
}

impl Operand {
    /// Whether it is a number, or an array of numbers.
    fn is_number(self) -> bool {
        !matches!(self, Self::Text { .. } | Self::Pointer { .. } | Self::Comm)
    }
}

/// The text to which `operand` points; text is its own.
fn pointer(operand: Operand, user: bool) -> Option<Operand> {
    match operand {
        Operand::Argument {
            index,
            count: 1,
            width: 8,
            ..
        } => Some(Operand::Pointer { index, user }),
        text @ Operand::Text { .. } => Some(text),
        _ => None,
    }
}

/// The operator at the start of `text` and its length; `~` is no relation.
fn relation(text: Span<'_>) -> Option<(Option<Relation>, usize)> {
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

/// `FIELD OP NUMBER`.
///
/// The number may be negative for an unsigned field and is then taken modulo
/// its width, so that `ret == -2` finds what is printed as `0xff...fe`; and a
/// signed field takes a number that only fits unsigned the same way.
fn number<'s>(
    operand: Operand,
    relation: Option<Relation>,
    operator: Span<'s>,
    value: Span<'s>,
) -> Result<(Test, Span<'s>), Error> {
    let (width, signed) = match operand {
        Operand::Argument { width, signed, .. } => (width, signed),
        Operand::Place | Operand::ReturnAddress => (8, false),
        Operand::Type => (2, false),
        Operand::Flags | Operand::PreemptCount => (1, false),
        Operand::Pid => (4, true),
        Operand::Cpu => (4, false),
        Operand::Text { .. } | Operand::Pointer { .. } | Operand::Comm => {
            return Err(value.error(Kind::FiltExpectString));
        }
    };
    let relation = relation.ok_or(operator.error(Kind::FiltIllegalFieldOp))?;
    let digits = value.skip(usize::from(value.first() == Some(b'-')));
    let end = digits
        .find_by(|b| !b.is_ascii_alphanumeric())
        .unwrap_or(digits.bytes.len());
    let length = end.saturating_add(digits.at.saturating_sub(value.at));
    let (text, rest) = (value.take(length), value.skip(length));
    let unused = 64u32.saturating_sub(u32::from(width).saturating_mul(8));
    // CAST: two's complement, taken modulo the width.
    let negative = lex::signed(text.bytes).filter(|&n| n < 0).map(|n| n as u64);
    let value = match (negative, lex::unsigned(text.bytes)) {
        (Some(n), _) if signed => n,
        (Some(n), _) => n.wrapping_shl(unused).wrapping_shr(unused),
        // CAST: two's complement of the field's width.
        (None, Some(n)) if signed && n.wrapping_shl(unused).wrapping_shr(unused) == n => {
            (n.wrapping_shl(unused) as i64).wrapping_shr(unused) as u64
        }
        (None, Some(n)) => n,
        (None, None) => return Err(text.error(Kind::FiltIllegalIntval)),
    };
    Ok((
        Test::Number {
            relation,
            value,
            signed,
        },
        rest,
    ))
}

/// Parses `0,2-5` and appends the set to `words`.
fn cpu_list(list: Span<'_>, words: &mut Vec<u64>) -> Result<(), Error> {
    let start = words.len();
    let mut rest = Some(list);
    while let Some(text) = rest {
        let (range, behind) = match text.find(b',') {
            Some(comma) => {
                let (range, behind) = text.around(comma);
                (range, Some(behind))
            }
            None => (text, None),
        };
        rest = behind;
        let (low, high) = match range.find(b'-') {
            Some(hyphen) => range.around(hyphen),
            None => (range, range),
        };
        let number = |text: Span<'_>| lex::decimal(text.bytes).filter(|&n| n < MAX_CPUS);
        let (Some(low), Some(high)) = (number(low), number(high)) else {
            return Err(range.error(Kind::FiltInvalidCpulist));
        };
        if low > high {
            return Err(range.error(Kind::FiltInvalidCpulist));
        }
        for cpu in low..=high {
            // CAST: less than MAX_CPUS.
            let at = start.saturating_add((cpu / 64) as usize);
            while words.len() <= at {
                words.push(0)?;
            }
            if let Some(word) = words.get_mut(at) {
                *word |= 1 << (cpu % 64);
            }
        }
    }
    Ok(())
}
