// SPDX-License-Identifier: GPL-2.0

//! A location in a file: `PATH:OFFSET` or `PATH:SYMBOL[+OFFSET]`, with `%return` and the offset of
//! a reference counter in parentheses behind it.
//!
//! As in the kernel, the path ends at the last colon, so it may contain others.

use core::fmt;

use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::text::Plain;
use crate::sys::Vec;

/// Behind a location: the function's return is meant.
const RETURN: &[u8] = b"%return";

/// A location in a file.
#[derive(Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The path, as written.
    pub path: Vec<u8>,
    /// The symbol from which the offset counts; `None` for the beginning of the file.
    pub symbol: Option<Vec<u8>>,
    /// The offset in bytes.
    pub offset: u64,
    /// The offset in the file of the counter of those who trace the location; 0 if there is none.
    pub counter: u64,
}

impl FilePlace {
    /// Returns whether `word` is such a location, and none in the kernel.
    pub fn is_one(word: &[u8]) -> bool {
        let colon = word.iter().rposition(|&byte| byte == b':');
        let path = colon.and_then(|colon| word.get(..colon));
        path.is_some_and(|path| path.contains(&b'/'))
    }

    /// Parses a location; the second value tells whether it ends in `%return`.
    ///
    /// # Errors
    ///
    /// `BAD_UPROBE_OFFS`, `BAD_ADDR_SUFFIX`, and the kinds about the counter.
    pub fn parse(word: Span<'_>) -> Result<(Self, bool), Error> {
        let Some(colon) = word.rfind(b':') else {
            return Err(word.error(Kind::BadUprobeOffs));
        };
        let (path, place) = word.around(colon);
        let (place, counter) = match place.find(b'(') {
            Some(open) => (place.take(open), counter(place.skip(open))?),
            None => (place, 0),
        };
        let (place, is_return) = match place.find(b'%') {
            None => (place, false),
            Some(at) if place.skip(at).bytes == RETURN => (place.take(at), true),
            Some(at) => return Err(place.skip(at).error(Kind::BadAddrSuffix)),
        };
        let (symbol, offset) = match place.first() {
            Some(b'0'..=b'9') => (None, lex::unsigned(place.bytes)),
            None => (None, None),
            Some(_) => {
                let (symbol, offset) = match place.find(b'+') {
                    Some(plus) => {
                        let (symbol, offset) = place.around(plus);
                        (symbol, lex::unsigned(offset.bytes))
                    }
                    None => (place, Some(0)),
                };
                let is_empty = symbol.bytes.is_empty();
                (Some(symbol), offset.filter(|_| !is_empty))
            }
        };
        // The kernel's offsets are signed numbers.
        let offset = offset.filter(|&offset| i64::try_from(offset).is_ok());
        let Some(offset) = offset else {
            return Err(place.error(Kind::BadUprobeOffs));
        };
        let place = Self {
            path: path.to_vec()?,
            symbol: symbol.map(|symbol| symbol.to_vec()).transpose()?,
            offset,
            counter,
        };
        Ok((place, is_return))
    }

    /// Returns the name of the file, without what follows `.`, `-` or `_`.
    pub fn file_name(&self) -> &[u8] {
        let name = self.path.rsplit(|&byte| byte == b'/').next();
        let is_end = |byte: &u8| matches!(byte, b'.' | b'-' | b'_');
        let first = name.and_then(|name| name.split(is_end).next());
        first.unwrap_or_default()
    }
}

/// Parses `(OFFSET)`.
fn counter(text: Span<'_>) -> Result<u64, Error> {
    let Some(close) = text.find(b')') else {
        return Err(Error::new(Kind::RefcntOpenBrace, text.end()));
    };
    let (number, behind) = text.skip(1).around(close.saturating_sub(1));
    if !behind.bytes.is_empty() {
        return Err(behind.error(Kind::BadRefcntSuffix));
    }
    let offset = lex::unsigned(number.bytes).filter(|&offset| i64::try_from(offset).is_ok());
    offset.ok_or_else(|| number.error(Kind::BadRefcnt))
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", Plain(&self.path))?;
        match (&self.symbol, self.offset) {
            // The kernel's form.
            (None, offset) => write!(f, "{offset:#018x}")?,
            (Some(symbol), 0) => write!(f, "{}", Plain(symbol))?,
            (Some(symbol), offset) => write!(f, "{}+{offset}", Plain(symbol))?,
        }
        match self.counter {
            0 => Ok(()),
            counter => write!(f, "({counter:#x})"),
        }
    }
}
