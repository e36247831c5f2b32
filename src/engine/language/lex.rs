// SPDX-License-Identifier: GPL-2.0

//! Lines, words, numbers and names of the definition language.
//!
//! A write to `kprobe_events` holds one or more lines ([`lines`]). A line is split into
//! words at white space ([`Command`]), and joined again with single spaces: the error log
//! shows that text, and every position in an [`Error`](crate::engine::refusal::error::Error) is a
//! column in it.
//!
//! Extensions to ftrace: an immediate string may contain spaces and `#`, so `\"two words"` is one
//! word. A cast may be written as in C, `(struct file *)%di->f_mode`; its white space becomes
//! single spaces. A `#` inside the second word begins no comment if a number or `*` follows that
//! ends the symbol: `SYMBOL#2`.

use crate::engine::{
    refusal::error::{Error, Kind},
    util::digits,
};
use crate::sys::{AllocError, Vec};

/// Longest line of a write, without its line feed.
pub const MAX_LINE: usize = 4094;

/// One line of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Number of the line in its write, counted from 1.
    pub number: usize,
    /// The line without comment and line feed; may be empty.
    pub text: &'a [u8],
    /// Offset behind the line and its line feed: the bytes of the write that are consumed
    /// once this line is processed.
    pub end: usize,
}

/// Iterator over the lines of a write, see [`lines`].
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    buffer: &'a [u8],
    position: usize,
    number: usize,
}

/// Returns the lines of the write `buffer`, in order.
pub fn lines(buffer: &[u8]) -> Lines<'_> {
    Lines {
        buffer,
        position: 0,
        number: 0,
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self
            .buffer
            .get(self.position..)
            .filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|&b| b == b'\n');
        let (text, used) = match length {
            Some(n) => (rest.get(..n).unwrap_or(rest), n.saturating_add(1)),
            None => (rest, rest.len()),
        };
        self.position = self.position.saturating_add(used);
        self.number = self.number.saturating_add(1);
        Some(Line {
            number: self.number,
            text: strip_comment(text),
            end: self.position,
        })
    }
}

/// Returns `line` up to the first `#` that is neither in an immediate string nor part of a
/// location.
fn strip_comment(line: &[u8]) -> &[u8] {
    if !line.contains(&b'#') {
        return line;
    }
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        if byte == b'#' && !is_of_symbol(line, at) {
            return line.get(..at).unwrap_or(line);
        }
        at = at.saturating_add(quoted(line, at).unwrap_or(1));
    }
    line
}

/// Returns whether the `#` at `at` is part of a location, the second word of `line`, as in
/// `SYMBOL#2` and `SYMBOL#*+4`: it follows a character, and a number or `*` follows, then the
/// end of the symbol.
fn is_of_symbol(line: &[u8], at: usize) -> bool {
    let Some((before, [_, behind @ ..])) = line.split_at_checked(at) else {
        return false;
    };
    let words = before.split(|&byte| is_space(byte));
    let count = words.filter(|word| !word.is_empty()).count();
    let is_second = count == 2 && before.last().is_some_and(|&byte| !is_space(byte));
    let number = match behind {
        [b'*', ..] => 1,
        _ => behind
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count(),
    };
    let next = behind.get(number);
    is_second
        && number > 0
        && next.is_none_or(|&byte| is_space(byte) || matches!(byte, b'+' | b'-' | b'%'))
}

/// Returns the length of the immediate string `\"..."` that starts at `at`, or `None` if
/// none starts there or it is not closed before the next one starts.
fn quoted(line: &[u8], at: usize) -> Option<usize> {
    const OPEN: usize = 2;
    let body = line.get(at..)?.strip_prefix(b"\\\"")?;
    let close = body.iter().position(|&b| b == b'"')?;
    let before = close.checked_sub(1).and_then(|i| body.get(i));
    if before == Some(&b'\\') {
        return None;
    }
    let after = body.get(close.checked_add(1)?);
    let ends = after.is_none_or(|&b| is_space(b) || b == b':' || b == b')');
    ends.then(|| close.saturating_add(OPEN).saturating_add(1))
}

/// Returns the length of the cast as in C, `(struct NAME *)`, that starts at `at`; `None` if none
/// starts there, or if it has no spaces.
fn cast(line: &[u8], at: usize) -> Option<usize> {
    let body = line.get(at..)?.strip_prefix(b"(")?;
    let is_inside =
        |&byte: &u8| byte.is_ascii_alphanumeric() || is_space(byte) || matches!(byte, b'_' | b'*');
    let (inside, behind) = body.split_at_checked(body.iter().position(|byte| !is_inside(byte))?)?;
    let inside = inside.trim_ascii();
    let word = inside.split(|&byte| is_space(byte)).next();
    let is_cast = matches!(word, Some(b"struct" | b"union" | b"const")) || inside.ends_with(b"*");
    let has_space = inside.iter().any(|&byte| is_space(byte));
    let length = body.len().saturating_sub(behind.len());
    (behind.first() == Some(&b')') && is_cast && has_space).then(|| length.saturating_add(2))
}

/// Returns the number of bytes from `at` on, at least 1, in which no word ends and no immediate
/// string or cast starts.
fn plain(line: &[u8], at: usize) -> usize {
    let rest = line.get(at..).unwrap_or_default();
    let ends = |&byte: &u8| is_space(byte) || matches!(byte, b'\\' | b'(');
    rest.iter().position(ends).unwrap_or(rest.len()).max(1)
}

/// Returns whether `byte` is white space, as `isspace()` in the C locale.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// A part of a command together with its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<'a> {
    /// The text.
    pub bytes: &'a [u8],
    /// Column of its first byte in the command.
    pub at: usize,
}

impl<'a> Span<'a> {
    /// Returns the column behind the last byte.
    pub fn end(&self) -> usize {
        self.at.saturating_add(self.bytes.len())
    }

    /// Returns the first byte.
    pub fn first(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// Returns byte `n`.
    pub fn get(&self, n: usize) -> Option<u8> {
        self.bytes.get(n).copied()
    }

    /// Returns what follows the first `n` bytes; empty if there are fewer.
    pub fn skip(&self, n: usize) -> Span<'a> {
        let n = n.min(self.bytes.len());
        Span {
            bytes: self.bytes.get(n..).unwrap_or(&[]),
            at: self.at.saturating_add(n),
        }
    }

    /// Returns the first `n` bytes, or all if there are fewer.
    pub fn take(&self, n: usize) -> Span<'a> {
        Span {
            bytes: self.bytes.get(..n).unwrap_or(self.bytes),
            at: self.at,
        }
    }

    /// Returns what follows `prefix`.
    pub fn strip(&self, prefix: &[u8]) -> Option<Span<'a>> {
        self.bytes
            .starts_with(prefix)
            .then(|| self.skip(prefix.len()))
    }

    /// Returns the offset of the first `byte`.
    pub fn find(&self, byte: u8) -> Option<usize> {
        self.bytes.iter().position(|&b| b == byte)
    }

    /// Returns the offset of the first byte that satisfies `is`.
    pub fn find_by(&self, is: impl Fn(u8) -> bool) -> Option<usize> {
        self.bytes.iter().position(|&b| is(b))
    }

    /// Returns the offset of the last `byte`.
    pub fn rfind(&self, byte: u8) -> Option<usize> {
        self.bytes.iter().rposition(|&b| b == byte)
    }

    /// Returns the parts before and behind offset `n`, without the byte there.
    pub fn around(&self, n: usize) -> (Span<'a>, Span<'a>) {
        (self.take(n), self.skip(n.saturating_add(1)))
    }

    /// Returns the first item of a list with that `separator`, and the others if it has any.
    pub fn first_item(&self, separator: u8) -> (Span<'a>, Option<Span<'a>>) {
        match self.find(separator) {
            Some(at) => {
                let (item, behind) = self.around(at);
                (item, Some(behind))
            }
            None => (*self, None),
        }
    }

    /// Returns a copy of the text.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn to_vec(&self) -> Result<Vec<u8>, AllocError> {
        Vec::from_slice(self.bytes)
    }

    /// Creates an error with the caret under the first byte.
    pub fn error(&self, kind: Kind) -> Error {
        Error::new(kind, self.at)
    }
}

/// Number of words for which memory is allocated in advance.
const USUAL_WORDS: usize = 4;

/// A line split into words.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Command {
    /// Splits `line` at white space.
    ///
    /// # Errors
    ///
    /// [`Kind::LineTooLong`] and [`Kind::BadByte`]; [`Kind::NoMemory`].
    pub fn new(line: &[u8]) -> Result<Self, Error> {
        if line.len() > MAX_LINE {
            return Err(Error::new(Kind::LineTooLong, 0));
        }
        let mut command = Self {
            text: Vec::with_capacity(line.len())?,
            ends: Vec::with_capacity(USUAL_WORDS)?,
        };
        let mut at = 0;
        let mut inside = false;
        while let Some(&byte) = line.get(at) {
            let cast = cast(line, at);
            let length = cast.or_else(|| quoted(line, at));
            let length = length.unwrap_or_else(|| plain(line, at));
            if is_space(byte) {
                if inside {
                    command.ends.push(command.text.len())?;
                }
                inside = false;
            } else {
                if !inside && !command.ends.is_empty() {
                    command.text.push(b' ')?;
                }
                let end = at.saturating_add(length);
                let piece = line.get(at..end).unwrap_or(&[]);
                match cast {
                    Some(_) => push_cast(&mut command.text, piece)?,
                    None => command.text.extend_from_slice(piece)?,
                }
                inside = true;
            }
            at = at.saturating_add(length);
        }
        if inside {
            command.ends.push(command.text.len())?;
        }
        // The listing must equal the definition, and only text can be listed.
        let nul = command.text.iter().position(|&b| b == 0);
        let text = core::str::from_utf8(&command.text);
        match nul.or(text.err().map(|error| error.valid_up_to())) {
            Some(bad) => Err(Error::new(Kind::BadByte, bad)),
            None => Ok(command),
        }
    }

    /// Returns the words, separated by single spaces.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the number of words.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns word `n`, counted from zero.
    pub fn word(&self, n: usize) -> Option<Span<'_>> {
        let end = *self.ends.get(n)?;
        let at = match n.checked_sub(1) {
            Some(previous) => self.ends.get(previous)?.saturating_add(1),
            None => 0,
        };
        Some(Span {
            bytes: self.text.get(at..end)?,
            at,
        })
    }

    /// Returns the column of word `n`; if there is no such word, the column after the last
    /// word and a space, as ftrace does.
    pub fn column(&self, n: usize) -> usize {
        match self.word(n) {
            Some(word) => word.at,
            None => self.text.len().saturating_add(1),
        }
    }
}

/// Appends a cast with single spaces.
fn push_cast(text: &mut Vec<u8>, cast: &[u8]) -> Result<(), AllocError> {
    let mut words = cast.split(|&byte| is_space(byte));
    text.extend_from_slice(words.next().unwrap_or_default())?;
    for word in words.filter(|word| !word.is_empty()) {
        text.push(b' ')?;
        text.extend_from_slice(word)?;
    }
    Ok(())
}

fn digit(byte: u8, base: u32) -> Option<u64> {
    digits::value_of(byte, base).map(u64::from)
}

/// Returns the base given by the prefix of `text`, and what follows the prefix.
fn base(text: &[u8]) -> (u32, &[u8]) {
    match text {
        [b'0', b'x' | b'X', rest @ ..] if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
            (16, rest)
        }
        [b'0', ..] => (8, text),
        _ => (10, text),
    }
}

fn digits(text: &[u8], base: u32) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, &byte| {
        value
            .checked_mul(u64::from(base))?
            .checked_add(digit(byte, base)?)
    })
}

/// Parses an unsigned number of any base (`10`, `0x10`, `010`), with an optional `+`, as
/// `kstrtoull()` does.
pub fn unsigned(text: &[u8]) -> Option<u64> {
    let (base, rest) = base(text.strip_prefix(b"+").unwrap_or(text));
    digits(rest, base)
}

/// Parses an unsigned decimal number.
pub fn decimal(text: &[u8]) -> Option<u64> {
    digits(text.strip_prefix(b"+").unwrap_or(text), 10)
}

/// Parses a signed number of any base, as `kstrtoll()` does.
pub fn signed(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(rest) => {
            let (base, rest) = base(rest);
            0i64.checked_sub_unsigned(digits(rest, base)?)
        }
        None => i64::try_from(unsigned(text)?).ok(),
    }
}

/// Returns the number of any base with which `text` starts and its length in bytes.
pub fn leading(text: &[u8]) -> Option<(u64, usize)> {
    let (base, rest) = base(text);
    leading_of(text, rest, base)
}

/// Like [`leading`], for a decimal number.
pub fn leading_decimal(text: &[u8]) -> Option<(u64, usize)> {
    leading_of(text, text, 10)
}

fn leading_of(text: &[u8], rest: &[u8], base: u32) -> Option<(u64, usize)> {
    let count = rest
        .iter()
        .take_while(|&&b| digit(b, base).is_some())
        .count();
    let value = digits(rest.get(..count)?, base)?;
    Some((
        value,
        text.len().saturating_sub(rest.len()).saturating_add(count),
    ))
}

/// Returns whether `name` follows the rules of C identifiers.
pub fn is_identifier(name: &[u8]) -> bool {
    match name {
        [first, rest @ ..] => {
            (first.is_ascii_alphabetic() || *first == b'_')
                && rest.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
        }
        [] => false,
    }
}

/// Returns whether `name` may name a group: an identifier that may contain `-`.
pub fn is_group_name(name: &[u8]) -> bool {
    let allowed = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-';
    name.first().is_some_and(|first| !first.is_ascii_digit()) && name.iter().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_kernel_reads_them() {
        assert_eq!(unsigned(b"10"), Some(10));
        assert_eq!(unsigned(b"0x1F"), Some(31));
        assert_eq!(unsigned(b"010"), Some(8));
        assert_eq!(unsigned(b"+7"), Some(7));
        assert_eq!(unsigned(b"0"), Some(0));
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        for bad in [
            &b""[..],
            b"+",
            b"08",
            b"0x",
            b"1a",
            b"-1",
            b"18446744073709551616",
            b"1 ",
        ] {
            assert_eq!(unsigned(bad), None, "{bad:?}");
        }
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed(b"9223372036854775808"), None);
        assert_eq!(signed(b"-0x10"), Some(-16));
        assert_eq!(signed(b"-+1"), None);
        assert_eq!(decimal(b"010"), Some(10));
        assert_eq!(leading(b"4@4"), Some((4, 1)));
        assert_eq!(leading(b"0x10/32"), Some((16, 4)));
        assert_eq!(leading(b"@"), None);
    }

    #[test]
    fn a_write_is_split_into_lines() {
        let write = b"p a # one\n\n# only\nr b \\\"#no comment\"";
        let got: std::vec::Vec<_> = lines(write).map(|l| (l.number, l.text, l.end)).collect();
        assert_eq!(
            got,
            [
                (1, &b"p a "[..], 10),
                (2, b"", 11),
                (3, b"", 18),
                (4, b"r b \\\"#no comment\"", write.len()),
            ]
        );
        assert_eq!(lines(b"").count(), 0);
    }

    #[test]
    fn a_number_behind_a_symbol_is_no_comment() {
        for whole in [
            "p show#2",
            "p:x m:show#12+4 a",
            "p show#*",
            "r\tshow#2%return",
        ] {
            assert_eq!(strip_comment(whole.as_bytes()), whole.as_bytes());
            let commented = format!("{whole} #2");
            let stripped = strip_comment(commented.as_bytes());
            assert_eq!(stripped.trim_ascii(), whole.as_bytes());
        }
        for (line, stripped) in [
            ("p show#", "p show"),
            ("p show#2nd", "p show"),
            ("p show#two", "p show"),
            ("p show #2", "p show "),
            ("p show#*x", "p show"),
            ("p show a=%ax#2", "p show a=%ax"),
            ("p#2 show", "p"),
            ("#2", ""),
        ] {
            assert_eq!(strip_comment(line.as_bytes()), stripped.as_bytes());
        }
    }

    #[test]
    fn a_line_is_split_into_words() {
        let command = Command::new(b"\t p:x  vfs_read a=\\\"two  words\":string\n").unwrap();
        assert_eq!(command.text(), b"p:x vfs_read a=\\\"two  words\":string");
        assert_eq!(command.len(), 3);
        assert_eq!(
            command.word(1).unwrap(),
            Span {
                bytes: b"vfs_read",
                at: 4
            }
        );
        assert_eq!(command.column(2), 13);
        assert_eq!(command.column(3), command.text().len() + 1);
        let open = Command::new(b"p x a=\\\"b c").unwrap();
        assert_eq!(open.len(), 4);
        assert_eq!(Command::new(b"p a\0b").unwrap_err().kind, Kind::BadByte);
        assert_eq!(
            Command::new(&[b'a'; 4095]).unwrap_err().kind,
            Kind::LineTooLong
        );
    }
}
