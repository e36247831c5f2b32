// SPDX-License-Identifier: GPL-2.0

//! Parses one term of a filter: `FIELD OP VALUE`.

use super::arithmetic::Arithmetic;
use super::constant::{as_number, with_unit, KnownNumber};
use super::cpus;
use super::network::{network, with_prefix};
use super::operators::{arithmetic, enclosed, is_name, no_operator, relation, trim};
use super::terms::{Operand, Relation, Test, MAX_TEXT};
use crate::engine::definition::task::{CGROUP, NO_CGROUPS, TGID};
use crate::engine::language::lex::{self, Span};
use crate::engine::language::types::Shown;
use crate::engine::record::fields::no_field;
use crate::engine::record::{Field, Layout, Role};
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::refusal::suggest::distance::Nearest;
use crate::engine::util::address;
use crate::engine::util::errno;
use crate::engine::util::text::Plain;
use crate::sys::{has_cgroups, Vec};

/// Looks up functions, for `FIELD.function == NAME`.
pub trait LookupFunctions {
    /// Returns the first address of the function called `name`, and the address behind it.
    fn named(&mut self, name: &[u8]) -> Option<(u64, u64)>;

    /// Like [`LookupFunctions::named`], for the function that contains `address`.
    fn around(&mut self, address: u64) -> Option<(u64, u64)>;

    /// Passes functions with similar names to `nearest`.
    fn each_similar(&mut self, _nearest: &mut Nearest<'_>) {}

    /// Returns the bits of the flag of `openat` called `name`, such as `O_CREAT`.
    fn open_flag(&self, _name: &[u8]) -> Option<u32> {
        None
    }

    /// Returns the value of an enumeration of the kernel that is called `name`.
    fn number_called(&mut self, _name: &[u8]) -> KnownNumber {
        KnownNumber::Nothing
    }

    /// Returns the largest possible CPU number.
    fn last_cpu(&self) -> u32;
}

/// The id of the task's cgroup.
const CGROUP_ID: Operand = Operand::Argument {
    index: CGROUP,
    count: 1,
    width: 8,
    signed: false,
};

/// The pid of the task's process.
const PROCESS: Operand = Operand::Argument {
    index: TGID,
    count: 1,
    width: 4,
    signed: true,
};

const CGROUP_PATH: Operand = Operand::Text {
    index: CGROUP,
    count: 1,
};

/// Parses terms for an event with a layout.
pub(super) struct Terms<'a> {
    pub(super) layout: &'a Layout,
    pub(super) functions: &'a mut dyn LookupFunctions,
    /// Patterns of text terms.
    pub(super) patterns: Vec<u8>,
    /// CPU sets of terms.
    pub(super) cpus: Vec<u64>,
    /// Arithmetic on operands of terms.
    pub(super) arithmetic: Vec<Arithmetic>,
    /// The number of names that were looked up in the kernel's types.
    pub(super) looked_up: u8,
}

impl Terms<'_> {
    /// Parses `FIELD OP VALUE`; also returns the rest.
    pub(super) fn term<'s>(&mut self, text: Span<'s>) -> Result<(Operand, Test, Span<'s>), Error> {
        let (text, behind) = match enclosed(text) {
            Some((inside, behind)) => (trim(inside), Some(behind)),
            None => (text, None),
        };
        let end = text.find_by(|b| !is_name(b)).unwrap_or(text.bytes.len());
        let (name, mut rest) = (text.take(end), text.skip(end));
        let mut operand = self
            .operand_named(name.bytes)
            .ok_or_else(|| self.not_a_field(name, text))?;
        for (suffix, user) in [(&b".ustring"[..], true), (b".string", false)] {
            if let Some(behind) = rest.strip(suffix) {
                let pointer = pointer(operand, user).filter(|_| operand != CGROUP_ID);
                operand = pointer.ok_or(rest.error(Kind::FiltIllegalFieldOp))?;
                rest = behind;
            }
        }
        let function = rest.strip(b".function");
        rest = trim(function.unwrap_or(rest));
        if operand.is_number() && function.is_none() {
            if let Some((made, rest)) = arithmetic(rest, behind.is_some())? {
                let (test, rest) = self.made(operand, made, rest, behind)?;
                return Ok((operand, test, rest));
            }
        }
        let compared = relation(rest).filter(|_| !rest.bytes.starts_with(b"&&"));
        let (relation, length) = compared.ok_or_else(|| no_operator(rest, operand))?;
        let operator = rest;
        let value = trim(rest.skip(length));
        if operand == CGROUP_ID && matches!(value.first(), Some(b'\'' | b'"')) {
            operand = CGROUP_PATH;
        }
        let shown = self.shown(name.bytes);
        let parsed =
            if let Some(parsed) = self.shown_value(shown, operand, relation, operator, value)? {
                parsed
            } else if function.is_some() {
                self.function(operand, relation, operator, value)?
            } else if value.bytes.starts_with(b"CPUS") {
                self.cpus(operand, relation, operator, value)?
            } else if let Some(parsed) = self.name(operand, relation, operator, value)? {
                parsed
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

    /// Parses the value of `FIELD OP VALUE` if it is the name of a number.
    fn name<'s>(
        &mut self,
        operand: Operand,
        relation: Option<Relation>,
        operator: Span<'s>,
        value: Span<'s>,
    ) -> Result<Option<(Test, Span<'s>)>, Error> {
        if value.first().is_some_and(|b| b.is_ascii_digit()) || !operand.is_number() {
            return Ok(None);
        }
        self.named_value(operand, relation, operator, value)
    }

    /// Parses `OP NUMBER` behind arithmetic on a field; `behind` is the text after the parentheses.
    #[inline(never)]
    fn made<'s>(
        &mut self,
        operand: Operand,
        made: Arithmetic,
        rest: Span<'s>,
        behind: Option<Span<'s>>,
    ) -> Result<(Test, Span<'s>), Error> {
        let mut rest = trim(rest);
        if let Some(behind) = behind {
            if !rest.bytes.is_empty() {
                return Err(rest.error(Kind::FiltInvalidOp));
            }
            rest = trim(behind);
        }
        let compared = relation(rest).filter(|_| !rest.bytes.starts_with(b"&&"));
        let (relation, length) = compared.ok_or(rest.error(Kind::FiltInvalidOp))?;
        if relation.is_none() {
            return Err(rest.error(Kind::FiltIllegalFieldOp));
        }
        let value = trim(rest.skip(length));
        let signed = match operand {
            Operand::Argument { signed, .. } => signed,
            operand => operand == Operand::Pid,
        };
        let whole = Operand::Argument {
            index: 0,
            count: 1,
            width: 8,
            signed,
        };
        let end = value.find_by(|b| !is_name(b) && b != b'-');
        let word = value.take(end.unwrap_or(value.bytes.len()));
        let is_number = |b: u8| b.is_ascii_digit() || b == b'-';
        let (test, rest) = match (self.constant(word, false), relation) {
            (Some(constant), Some(relation)) => {
                let test = compare(whole, relation, word, WrittenNumber::of(constant))?;
                (test, value.skip(word.bytes.len()))
            }
            _ if !value.first().is_some_and(is_number) => {
                return Err(value.error(Kind::FiltExpectDigit))
            }
            _ => number(whole, relation, rest, value)?,
        };
        let Test::Number {
            relation, value, ..
        } = test
        else {
            return Err(rest.error(Kind::FiltInvalidOp));
        };
        // CAST: the filter is shorter than 4 KiB.
        let made_by = self.arithmetic.len() as u16;
        self.arithmetic.push(made)?;
        let test = Test::Made {
            made_by,
            relation,
            value,
            signed,
        };
        Ok((test, rest))
    }

    /// Returns how the argument called `name` is shown.
    fn shown(&self, name: &[u8]) -> Option<Shown> {
        let mut fields = self.layout.fields.iter();
        Some(fields.find(|field| *field.name == *name)?.base.shown())
    }

    /// Parses the value of `FIELD OP VALUE` if it is written as the field is shown, as an address
    /// or the name of an error; `None` if it is not.
    fn shown_value<'s>(
        &mut self,
        shown: Option<Shown>,
        operand: Operand,
        relation: Option<Relation>,
        operator: Span<'s>,
        value: Span<'s>,
    ) -> Result<Option<(Test, Span<'s>)>, Error> {
        let ends = |b: u8| lex::is_space(b) || matches!(b, b')' | b'&' | b'|');
        let end = value.find_by(ends).unwrap_or(value.bytes.len());
        let (word, rest) = (value.take(end), value.skip(end));
        let bad = |example: &str| {
            let refusal = value.error(Kind::FiltInvalidValue);
            Err(refusal.with_detail(format_args!("write an address such as {example}")))
        };
        let (number, signed) = match shown {
            Some(Shown::Ip4) if word.find(b'.').is_some() => {
                let Some((address, prefix)) = with_prefix(word.bytes, 32) else {
                    return bad("10.0.0.1, or 10.0.0.0/8 for all that begin so");
                };
                let Some(address) = address::parse_ip4(address) else {
                    return bad("10.0.0.1, or 10.0.0.0/8 for all that begin so");
                };
                if prefix < 32 {
                    let test = network(address, prefix, relation, operator)?;
                    return Ok(Some((test, rest)));
                }
                (u64::from(address), false)
            }
            Some(Shown::Errno) => {
                let name = word.bytes.strip_prefix(b"-").unwrap_or(word.bytes);
                let Some(number) = errno::number(name) else {
                    return Ok(None);
                };
                (number.wrapping_neg(), true)
            }
            Some(Shown::Ip6) => {
                let network = with_prefix(word.bytes, 128);
                let parsed = network.and_then(|(text, _)| address::parse_ip6(text));
                let (Some((_, bits)), Some(address)) = (network, parsed) else {
                    return bad("fe80::1, or fe80::/10 for all that begin so");
                };
                let test = self.bytes(operand, relation, operator, (&address, bits))?;
                return Ok(Some((test, rest)));
            }
            Some(Shown::Mac) => {
                let Some(address) = address::parse_mac(word.bytes) else {
                    return bad("02:00:5e:10:00:01");
                };
                let test = self.bytes(operand, relation, operator, (&address, 48))?;
                return Ok(Some((test, rest)));
            }
            Some(Shown::Structure) => {
                return Err(operator
                    .error(Kind::FiltIllegalFieldOp)
                    .with_detail(format_args!(
                        "it is a structure: define an argument for the member that is meant"
                    )))
            }
            _ => return Ok(None),
        };
        let relation = relation.ok_or(operator.error(Kind::FiltIllegalFieldOp))?;
        let test = Test::Number {
            relation,
            value: number,
            signed,
        };
        Ok(Some((test, rest)))
    }

    /// Returns the test of `FIELD ==|!= ADDRESS`, of which the first `bits` bits are compared. With
    /// fewer than all, `&` is `==`.
    fn bytes(
        &mut self,
        operand: Operand,
        relation: Option<Relation>,
        operator: Span<'_>,
        (address, bits): (&[u8], u8),
    ) -> Result<Test, Error> {
        let not = match (operand, relation) {
            (Operand::Bytes { .. }, Some(Relation::Equal)) => false,
            (Operand::Bytes { .. }, Some(Relation::NotEqual)) => true,
            (Operand::Bytes { count: 16, .. }, Some(Relation::Bits)) if bits < 128 => false,
            _ => {
                return Err(operator
                    .error(Kind::FiltIllegalFieldOp)
                    .with_detail(format_args!("such addresses take == and !=")))
            }
        };
        // CAST: the filter is shorter than 4 KiB, and an address takes twice its text at most.
        let start = self.patterns.len() as u16;
        self.patterns.extend_from_slice(address)?;
        Ok(Test::Bytes { start, bits, not })
    }

    /// Parses `FIELD OP FIELD[+|-NUMBER]`.
    fn field<'s>(
        &self,
        operand: Operand,
        relation: Option<Relation>,
        operator: Span<'s>,
        value: Span<'s>,
    ) -> Result<(Test, Span<'s>), Error> {
        let end = value.find_by(|b| !is_name(b)).unwrap_or(value.bytes.len());
        let other = self.operand_named(value.take(end).bytes);
        let other = other.ok_or_else(|| as_number(value.error(Kind::FiltInvalidValue), value))?;
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

    /// Returns the operand called `name`, preferring the event's own fields.
    pub(super) fn operand_named(&self, name: &[u8]) -> Option<Operand> {
        let mut fields = (0u8..=u8::MAX).zip(&self.layout.fields);
        if let Some((index, field)) = fields.find(|(_, field)| *field.name == *name) {
            return Some(match self.layout.is_list(index) {
                true => Operand::Strings { index },
                false => argument(index, field),
            });
        }
        if let b"CPU" | b"cpu" | b"common_cpu" = name {
            return Some(Operand::Cpu);
        }
        if let b"COMM" | b"comm" | b"common_comm" = name {
            return Some(Operand::Comm);
        }
        if name == b"common_tgid" {
            return Some(PROCESS);
        }
        if let b"cgroup" | b"common_cgroup" = name {
            return has_cgroups().then_some(CGROUP_ID);
        }
        let mut fixed = self.layout.class.fields();
        let field = fixed.find(|field| field.name.as_bytes() == name)?;
        match field.role {
            Role::EventType => Some(Operand::Type),
            Role::Flags => Some(Operand::Flags),
            Role::PreemptCount => Some(Operand::PreemptCount),
            Role::Pid => Some(Operand::Pid),
            Role::Address | Role::CallNumber => Some(Operand::Place),
            Role::ReturnAddress => Some(Operand::ReturnAddress),
            Role::Text | Role::RawId | Role::FrameCount | Role::Frames | Role::Process => None,
        }
    }

    /// Returns the refusal of `name`, which is not a field.
    #[cold]
    #[inline(never)]
    pub(super) fn no_operand(&self, name: Span<'_>) -> Error {
        match name.bytes {
            b"cgroup" | b"common_cgroup" => name
                .error(Kind::FiltFieldNotFound)
                .with_detail(format_args!("{NO_CGROUPS}")),
            _ => no_field(name, Kind::FiltFieldNotFound, self.layout, &[]),
        }
    }

    /// Parses `FIELD.function ==|!= NAME|ADDRESS`.
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
        let Some((start, end)) = range else {
            return Err(self.no_function(name));
        };
        Ok((
            Test::Range {
                start,
                end,
                outside,
            },
            rest,
        ))
    }

    /// Returns the refusal of the unknown function `name`.
    #[cold]
    #[inline(never)]
    fn no_function(&mut self, name: Span<'_>) -> Error {
        let error = name.error(Kind::FiltNoFunction);
        let mut nearest = Nearest::to_wrong(name.bytes);
        self.functions.each_similar(&mut nearest);
        if nearest.is_none() {
            return error;
        }
        let name = Plain(name.bytes);
        error.with_detail(format_args!(
            "there is no function {name}, did you mean {nearest}?"
        ))
    }

    /// Parses `FIELD ==|!=|& CPUS{LIST}`.
    fn cpus<'s>(
        &mut self,
        operand: Operand,
        relation: Option<Relation>,
        operator: Span<'s>,
        value: Span<'s>,
    ) -> Result<(Test, Span<'s>), Error> {
        let relation = match (operand, relation) {
            (
                Operand::Text { .. }
                | Operand::Strings { .. }
                | Operand::Bytes { .. }
                | Operand::Pointer { .. }
                | Operand::Comm,
                _,
            ) => None,
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
        // CAST: the text is shorter than 4 KiB, and a set takes 128 words.
        let start = self.cpus.len() as u16;
        cpus::append(list, self.functions.last_cpu().into(), &mut self.cpus)?;
        let len = (self.cpus.len() as u16).saturating_sub(start);
        Ok((
            Test::Cpus {
                relation,
                start,
                len,
            },
            rest,
        ))
    }

    /// Parses `FIELD ==|!=|~ "TEXT"`.
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
            Operand::Text { .. }
                | Operand::Strings { .. }
                | Operand::Pointer { .. }
                | Operand::Comm
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
        if operand == CGROUP_PATH && !glob && pattern.first() != Some(&b'/') {
            return Err(text.error(Kind::FiltInvalidValue).with_detail(format_args!(
                "the path of a cgroup begins with /, as in /proc/PID/cgroup"
            )));
        }
        // CAST: the filter is shorter than 4 KiB.
        let start = self.patterns.len() as u16;
        self.patterns.extend_from_slice(pattern)?;
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

fn argument(index: u8, field: &Field) -> Operand {
    let count = field.count.unwrap_or(1);
    if field.base.is_text() && !field.base.is_structure() {
        return Operand::Text { index, count };
    }
    if field.base.is_structure() || field.base.elements().is_some() {
        return Operand::Bytes { index, count };
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
    /// Returns the bytes of a number, and whether it has a sign; `None` for other operands.
    fn width(self) -> Option<(u8, bool)> {
        Some(match self {
            Self::Argument { width, signed, .. } => (width, signed),
            Self::Place | Self::ReturnAddress => (8, false),
            Self::Type => (2, false),
            Self::Flags | Self::PreemptCount => (1, false),
            Self::Pid => (4, true),
            Self::Cpu => (4, false),
            Self::Text { .. }
            | Self::Strings { .. }
            | Self::Bytes { .. }
            | Self::Pointer { .. }
            | Self::Comm => return None,
        })
    }

    /// Returns whether the operand is a number, or an array of numbers.
    pub(super) fn is_number(self) -> bool {
        !matches!(
            self,
            Self::Text { .. }
                | Self::Strings { .. }
                | Self::Bytes { .. }
                | Self::Pointer { .. }
                | Self::Comm
        )
    }
}

/// Returns the operand for the text that `operand` points to; a text is returned unchanged.
fn pointer(operand: Operand, user: bool) -> Option<Operand> {
    match operand {
        Operand::Argument {
            index,
            count: 1,
            width: 8,
            ..
        } => Some(Operand::Pointer { index, user }),
        text @ (Operand::Text { .. } | Operand::Strings { .. }) => Some(text),
        _ => None,
    }
}

/// Parses `FIELD OP NUMBER`; the number may have a unit.
///
/// The number may be negative for an unsigned field and is then taken modulo its width, so
/// that `ret == -2` finds what is printed as `0xff...fe`. In the same way a signed field
/// accepts a number that fits only as unsigned. An order takes neither: `ret > 0xff...f000` would
/// be `ret > -4096`, which nearly all numbers are.
fn number<'s>(
    operand: Operand,
    relation: Option<Relation>,
    operator: Span<'s>,
    value: Span<'s>,
) -> Result<(Test, Span<'s>), Error> {
    if operand.width().is_none() {
        return Err(value.error(Kind::FiltExpectString));
    }
    let relation = relation.ok_or(operator.error(Kind::FiltIllegalFieldOp))?;
    let digits = value.skip(usize::from(value.first() == Some(b'-')));
    let end = digits
        .find_by(|b| !b.is_ascii_alphanumeric())
        .unwrap_or(digits.bytes.len());
    let length = end.saturating_add(digits.at.saturating_sub(value.at));
    let (text, rest) = (value.take(length), value.skip(length));
    let (signed_number, positive) = match with_unit(digits.take(end).bytes) {
        Some(n) if length > end => (i64::try_from(n).ok().map(i64::wrapping_neg), None),
        Some(n) => (None, Some(n)),
        None => (lex::signed(text.bytes), lex::unsigned(text.bytes)),
    };
    // CAST: two's complement, taken modulo the width.
    let negative = signed_number.filter(|&n| n < 0).map(|n| n as u64);
    // -0 has a sign and is not negative.
    let zero = signed_number.filter(|&n| n == 0).map(|_| 0);
    let positive = positive.or(zero);
    let written = WrittenNumber { negative, positive };
    Ok((compare(operand, relation, text, written)?, rest))
}

/// A number of a filter; neither if it cannot be represented.
#[derive(Clone, Copy)]
pub(super) struct WrittenNumber {
    /// A negative number, in two's complement.
    negative: Option<u64>,
    /// Any other number.
    positive: Option<u64>,
}

impl WrittenNumber {
    pub(super) fn of(number: i64) -> Self {
        // CAST: two's complement.
        let bits = Some(number as u64);
        match number {
            ..=-1 => Self {
                negative: bits,
                positive: None,
            },
            _ => Self {
                negative: None,
                positive: bits,
            },
        }
    }
}

/// Returns the test of the number `operand` and the number that `text` stands for, see
/// [`number()`].
pub(super) fn compare(
    operand: Operand,
    relation: Relation,
    text: Span<'_>,
    WrittenNumber { negative, positive }: WrittenNumber,
) -> Result<Test, Error> {
    let Some((width, signed)) = operand.width() else {
        return Err(text.error(Kind::FiltExpectString));
    };
    let unused = 64u32.saturating_sub(u32::from(width).saturating_mul(8));
    if !signed && relation.is_order() {
        let is_never = relation == Relation::Less && positive == Some(0);
        if negative.is_some() || is_never {
            return Err(no_sign(text, width));
        }
    }
    let high = positive.filter(|_| signed).and_then(|n| {
        let fits = n.wrapping_shl(unused).wrapping_shr(unused) == n;
        // CAST: two's complement of the field's width, or of 64 bits.
        let own = (n.wrapping_shl(unused) as i64).wrapping_shr(unused);
        let whole = Some(n as i64).filter(|&n| n < 0);
        if fits {
            Some(own)
        } else {
            whole
        }
    });
    if let Some(low) = high.filter(|&n| n < 0 && relation.is_order()) {
        return Err(never_high(text, low, width));
    }
    let value = match (negative, positive) {
        (Some(n), _) if signed => n,
        (Some(n), _) => n.wrapping_shl(unused).wrapping_shr(unused),
        // CAST: two's complement.
        (None, Some(n)) => high.map_or(n, |n| n as u64),
        (None, None) => return Err(text.error(Kind::FiltIllegalIntval)),
    };
    Ok(Test::Number {
        relation,
        value,
        signed,
    })
}

/// Returns the refusal of ordering an unsigned field of `width` bytes against a negative number
/// `text`.
#[cold]
#[inline(never)]
fn no_sign(text: Span<'_>, width: u8) -> Error {
    let bits = width.saturating_mul(8);
    let high = u64::MAX.wrapping_shr(65u32.saturating_sub(bits.into()));
    let error = text.error(Kind::FiltNoSign);
    error.with_detail(format_args!(
        "fetch it as s{bits}, or write > {high:#x} for what would be below zero"
    ))
}

/// Returns the refusal of ordering a signed field of `width` bytes against the number `text`, which
/// is too large for it. `low` has the same bits and is in range.
#[cold]
#[inline(never)]
fn never_high(text: Span<'_>, low: i64, width: u8) -> Error {
    let bits = width.saturating_mul(8);
    let error = text.error(Kind::FiltNeverHigh);
    error.with_detail(format_args!(
        "write {low} for the number with these bits, or fetch it as u{bits}"
    ))
}
