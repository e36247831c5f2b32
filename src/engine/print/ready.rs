// SPDX-License-Identifier: GPL-2.0

//! The text of a ready-made event, printed by interpreting the `print fmt` of its `format` file. So
//! the two always agree.
//!
//! The interpreter knows the part of C that these formats use. Anything else evaluates to 0.

use core::fmt::Write;

use super::render::SymbolNames;
use super::walk::{self, PrintedValue, PrintedValues};
use crate::engine::language::lex;
use crate::engine::record::{Layout, ReadyShape};
use crate::engine::util::seq_buf::SeqBuf;

/// Adds the text of `record`, which is of `shape`, without a line feed.
pub(super) fn put_ready(
    buf: &mut SeqBuf<'_>,
    (shape, layout): (&'static ReadyShape, &Layout),
    record: &[u8],
    symbols: &mut dyn SymbolNames,
) {
    let Some((format, arguments)) = quoted(shape.print.as_bytes()) else {
        return;
    };
    let mut from = Expressions {
        rest: arguments,
        layout,
        record,
    };
    let mut text = format;
    while let Some((&byte, behind)) = text.split_first() {
        text = behind;
        if byte != b'%' {
            buf.byte(byte);
            continue;
        }
        let conversion;
        (conversion, text) = Conversion::parse(behind);
        from.skip(b",");
        let value = from.choice();
        conversion.put(buf, value, symbols);
    }
}

/// Splits a string in quotes from what is behind it. There are no escapes.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"\"")?;
    let end = text.iter().position(|&byte| byte == b'"')?;
    Some((text.get(..end)?, text.get(end.saturating_add(1)..)?))
}

/// A conversion of a format.
struct Conversion {
    has_prefix: bool,
    fill: u8,
    width: usize,
    is_long: bool,
    letter: u8,
    /// The letter behind a `p`.
    pointer: u8,
}

impl Conversion {
    /// Parses a conversion behind `%`; also returns the rest.
    fn parse(text: &[u8]) -> (Self, &[u8]) {
        let mut conversion = Self {
            has_prefix: false,
            fill: b' ',
            width: 0,
            is_long: false,
            letter: 0,
            pointer: 0,
        };
        let mut rest = text;
        while let Some((&byte, behind)) = rest.split_first() {
            rest = behind;
            match byte {
                b'#' => conversion.has_prefix = true,
                b'0' if conversion.width == 0 => conversion.fill = b'0',
                b'0'..=b'9' => {
                    let digit = usize::from(byte.wrapping_sub(b'0'));
                    conversion.width = conversion.width.saturating_mul(10).saturating_add(digit);
                }
                b'l' | b'L' | b'z' => conversion.is_long = true,
                letter => {
                    conversion.letter = letter;
                    break;
                }
            }
        }
        if let (b'p', Some((&letter @ (b's' | b'S'), behind))) =
            (conversion.letter, rest.split_first())
        {
            conversion.pointer = letter;
            rest = behind;
        }
        (conversion, rest)
    }

    /// Adds `value`.
    fn put(&self, buf: &mut SeqBuf<'_>, value: CValue<'_>, symbols: &mut dyn SymbolNames) {
        let number = match value {
            CValue::Fault => return buf.text(b"(fault)"),
            CValue::Text(text) => return buf.one_line(text),
            CValue::Symbolic(value, names) => return put_symbolic(buf, value, names),
            CValue::Flags(value, names) => return put_flags(buf, value, names),
            CValue::Number(number) => number,
        };
        match (self.letter, self.pointer) {
            (b'p', b's' | b'S') => symbols.symbolize(number, self.pointer == b'S', buf),
            (b'p', _) => {
                // The buffer notes an overflow.
                let _ = write!(buf, "{number:016x}");
            }
            (b'x' | b'X', _) => {
                let number = self.cut(number);
                if self.has_prefix && number != 0 {
                    buf.text(b"0x");
                }
                // CAST: At most 15.
                let digits = number.checked_ilog(16).unwrap_or(0) as usize;
                buf.pad(self.fill, digits.saturating_add(1), self.width);
                if self.letter == b'X' {
                    // As above.
                    let _ = write!(buf, "{number:X}");
                } else {
                    buf.hexadecimal(number);
                }
            }
            (b'd' | b'i', _) => {
                // CAST: The same bits.
                let number = match self.is_long {
                    true => number as i64,
                    false => i64::from(number as i32),
                };
                if number < 0 {
                    buf.signed(number);
                } else {
                    // CAST: It is not negative.
                    buf.padded(number as u64, self.width, self.fill);
                }
            }
            _ => buf.padded(self.cut(number), self.width, self.fill),
        }
    }

    /// Truncates `number` to the size of the conversion.
    fn cut(&self, number: u64) -> u64 {
        // CAST: That is what it is for.
        if self.is_long {
            number
        } else {
            u64::from(number as u32)
        }
    }
}

/// Adds the name of `value` in the list `{ NUMBER, "NAME" }, ...)`, or the number.
fn put_symbolic(buf: &mut SeqBuf<'_>, value: u64, names: &[u8]) {
    let mut all = NamePairs(names);
    match all.find(|(number, _)| *number == value) {
        Some((_, name)) => buf.bytes(name),
        None => {
            buf.text(b"0x");
            buf.hexadecimal(value);
        }
    }
}

/// Adds the names of the bits of `value` in such a list, joined by `|`, and the remaining bits as a
/// number.
fn put_flags(buf: &mut SeqBuf<'_>, value: u64, names: &[u8]) {
    let mut rest = value;
    let mut before: &[u8] = b"";
    for (bits, name) in NamePairs(names) {
        if bits != 0 && rest & bits == bits {
            buf.bytes(before);
            buf.bytes(name);
            rest &= !bits;
            before = b"|";
        }
    }
    if rest != 0 {
        buf.bytes(before);
        buf.text(b"0x");
        buf.hexadecimal(rest);
    }
}

/// The pairs of a list of names.
struct NamePairs<'a>(&'a [u8]);

impl<'a> Iterator for NamePairs<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self
            .0
            .iter()
            .position(|&byte| byte == b'{' || byte == b')')?;
        let pair = self.0.get(start..)?.strip_prefix(b"{")?;
        let comma = pair.iter().position(|&byte| byte == b',')?;
        let number = constant(pair.get(..comma)?.trim_ascii());
        let name = pair.get(comma.saturating_add(1)..)?.trim_ascii_start();
        let (name, behind) = quoted(name)?;
        self.0 = behind.trim_ascii_start().strip_prefix(b"}")?;
        Some((number, name))
    }
}

/// Evaluates a constant: a number, a shifted number in parentheses, or a name.
fn constant(text: &[u8]) -> u64 {
    /// Constants that the kernel's formats name.
    const NAMED: [(&[u8], u64); 17] = [
        (b"HRTIMER_MODE_ABS", 0x00),
        (b"HRTIMER_MODE_REL", 0x01),
        (b"HRTIMER_MODE_ABS_PINNED", 0x02),
        (b"HRTIMER_MODE_REL_PINNED", 0x03),
        (b"HRTIMER_MODE_ABS_SOFT", 0x04),
        (b"HRTIMER_MODE_REL_SOFT", 0x05),
        (b"HRTIMER_MODE_ABS_PINNED_SOFT", 0x06),
        (b"HRTIMER_MODE_REL_PINNED_SOFT", 0x07),
        (b"HRTIMER_MODE_ABS_HARD", 0x08),
        (b"HRTIMER_MODE_REL_HARD", 0x09),
        (b"HRTIMER_MODE_ABS_PINNED_HARD", 0x0a),
        (b"HRTIMER_MODE_REL_PINNED_HARD", 0x0b),
        (b"IOPRIO_CLASS_NONE", 0),
        (b"IOPRIO_CLASS_RT", 1),
        (b"IOPRIO_CLASS_BE", 2),
        (b"IOPRIO_CLASS_IDLE", 3),
        (b"IOPRIO_CLASS_INVALID", 7),
    ];
    if let Some(inner) = text.strip_prefix(b"(") {
        let inner = inner.strip_suffix(b")").unwrap_or(inner);
        let shift = inner.windows(2).position(|at| at == b"<<");
        let Some((left, right)) = shift.and_then(|at| inner.split_at_checked(at)) else {
            return constant(inner);
        };
        let right = constant(right.strip_prefix(b"<<").unwrap_or(right).trim_ascii());
        // CAST: A number of bits.
        return constant(left.trim_ascii()).wrapping_shl(right as u32);
    }
    let named = NAMED.iter().find(|(name, _)| *name == text);
    let suffix = |byte: &u8| matches!(byte, b'U' | b'L');
    let digits = text.iter().rev().take_while(|byte| suffix(byte)).count();
    let number = text.get(..text.len().saturating_sub(digits));
    named
        .map(|(_, value)| *value)
        .or_else(|| lex::unsigned(number?))
        .unwrap_or(0)
}

/// The value of an expression.
#[derive(Clone, Copy)]
enum CValue<'a> {
    Fault,
    Number(u64),
    Text(&'a [u8]),
    /// A number with a list of names.
    Symbolic(u64, &'a [u8]),
    /// A number with a list of names for its bits.
    Flags(u64, &'a [u8]),
}

impl CValue<'_> {
    /// Returns the number; 0 if it is none.
    fn number(self) -> u64 {
        match self {
            CValue::Number(number) => number,
            _ => 0,
        }
    }
}

/// Parses the arguments of a format.
struct Expressions<'a> {
    rest: &'a [u8],
    layout: &'a Layout,
    record: &'a [u8],
}

impl<'a> Expressions<'a> {
    /// Skips spaces and `token`. Returns false if `token` is not there.
    fn skip(&mut self, token: &[u8]) -> bool {
        self.rest = self.rest.trim_ascii_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes a name or number; returns an empty one if there is none.
    fn word(&mut self) -> &'a [u8] {
        self.rest = self.rest.trim_ascii_start();
        let is_in = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let end = self.rest.iter().position(|byte| !is_in(byte));
        let at = end.unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(at).unwrap_or_default();
        self.rest = rest;
        word
    }

    /// Parses `A ? B : C`, or an expression of higher precedence.
    fn choice(&mut self) -> CValue<'a> {
        let condition = self.binary(0);
        if !self.skip(b"?") {
            return condition;
        }
        let yes = self.choice();
        self.skip(b":");
        let no = self.choice();
        match condition.number() {
            0 => no,
            _ => yes,
        }
    }

    /// Parses binary operators of precedence `least` or higher.
    fn binary(&mut self, least: usize) -> CValue<'a> {
        /// The operators by ascending precedence. An operator comes before its own prefixes.
        const OPERATORS: [&[u8]; 8] = [b"|", b"&", b"!=", b"<<", b">>", b"+", b"-", b"/"];
        /// Their precedences.
        const STRENGTHS: [usize; 8] = [0, 1, 2, 3, 3, 4, 4, 5];

        let mut left = self.unary();
        'next: loop {
            for (operator, strength) in OPERATORS.iter().zip(STRENGTHS) {
                if strength < least || !self.skip(operator) {
                    continue;
                }
                let right = self.binary(strength.saturating_add(1)).number();
                let value = left.number();
                // CAST: A number of bits.
                left = CValue::Number(match *operator {
                    b"|" => value | right,
                    b"&" => value & right,
                    b"!=" => u64::from(value != right),
                    b"<<" => value.wrapping_shl(right as u32),
                    b">>" => value.wrapping_shr(right as u32),
                    b"+" => value.wrapping_add(right),
                    b"-" => value.wrapping_sub(right),
                    _ => value.checked_div(right).unwrap_or(0),
                });
                continue 'next;
            }
            return left;
        }
    }

    /// Parses a unary expression.
    fn unary(&mut self) -> CValue<'a> {
        if self.skip(b"~") {
            return CValue::Number(!self.unary().number());
        }
        if self.skip(b"(") {
            self.rest = self.rest.trim_ascii_start();
            const TYPES: [&[u8]; 4] = [b"unsigned ", b"long", b"int", b"void"];
            let is_type = TYPES.iter().any(|name| self.rest.starts_with(name));
            if is_type {
                let end = self.rest.iter().position(|&byte| byte == b')');
                self.rest = end
                    .and_then(|end| self.rest.get(end.saturating_add(1)..))
                    .unwrap_or_default();
                return self.unary();
            }
            let value = self.choice();
            self.skip(b")");
            return value;
        }
        self.primary()
    }

    /// Parses a primary expression.
    fn primary(&mut self) -> CValue<'a> {
        if self.rest.trim_ascii_start().starts_with(b"\"") {
            let (text, rest) = quoted(self.rest.trim_ascii_start()).unwrap_or_default();
            self.rest = rest;
            return CValue::Text(text);
        }
        match self.word() {
            b"REC" => {
                self.skip(b"->");
                let name = self.word();
                let index = self.skip(b"[").then(|| {
                    let index = constant(self.word());
                    self.skip(b"]");
                    index
                });
                self.field(name, index)
            }
            b"__get_str" => {
                self.skip(b"(");
                let name = self.word();
                self.skip(b")");
                self.field(name, None)
            }
            b"__print_symbolic" => {
                let value = self.choice_in_call();
                CValue::Symbolic(value, self.list())
            }
            b"__print_flags" => {
                let value = self.choice_in_call();
                self.skip(b",");
                // All formats have this delimiter.
                self.skip(b"\"|\"");
                CValue::Flags(value, self.list())
            }
            word => CValue::Number(constant(word)),
        }
    }

    /// Parses the first argument of a function.
    fn choice_in_call(&mut self) -> u64 {
        self.skip(b"(");
        self.choice().number()
    }

    /// Takes a list of names up to the function's closing parenthesis. No name contains a brace,
    /// and the list ends with `})`.
    fn list(&mut self) -> &'a [u8] {
        let mut all = NamePairs(self.rest);
        while all.next().is_some() {}
        let rest = all.0;
        let length = self.rest.len().saturating_sub(rest.len());
        let list = self.rest.get(..length).unwrap_or_default();
        self.rest = rest;
        self.skip(b")");
        list
    }

    /// Returns the value of field `name`, or of an element.
    fn field(&self, name: &[u8], index: Option<u64>) -> CValue<'a> {
        let mut fields = self.layout.fields.iter();
        let Some(field) = fields.find(|field| *field.name == *name) else {
            return CValue::Number(0);
        };
        let value = match (walk::value(self.layout, self.record, field), index) {
            (PrintedValues::One(value), _) => value,
            (PrintedValues::Array(mut elements), index) => {
                let index = usize::try_from(index.unwrap_or(0)).unwrap_or(usize::MAX);
                elements.nth(index).unwrap_or(PrintedValue::Fault)
            }
        };
        match value {
            PrintedValue::Unsigned(number)
            | PrintedValue::Hex(number)
            | PrintedValue::Duration(number)
            | PrintedValue::Size(number)
            | PrintedValue::Symbol(number) => CValue::Number(number),
            // CAST: The same bits.
            PrintedValue::Signed(number) | PrintedValue::Errno(number) => {
                CValue::Number(number as u64)
            }
            PrintedValue::Text(text, _) => CValue::Text(text),
            _ => CValue::Fault,
        }
    }
}
