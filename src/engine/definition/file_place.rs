// SPDX-License-Identifier: GPL-2.0

//! A location in a file: `PATH:OFFSET` or `PATH:SYMBOL[+OFFSET]`, with `%return` and the offset of
//! a reference counter in parentheses behind it; or `usdt:PATH:PROVIDER:NAME`, a static point, which
//! has such a counter of its own.
//!
//! The path ends at the last colon that can be its end, as in the kernel, so it may contain others.

use core::fmt;

use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::text::Plain;
use crate::sys::{Box, Vec};

/// Behind a location: the function's return is meant.
const RETURN: &[u8] = b"%return";

/// Before a static point.
const POINT: &[u8] = b"usdt:";

/// A static point of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct PointName {
    /// The program or library that has made it.
    pub provider: Vec<u8>,
    /// Its name.
    pub name: Vec<u8>,
}

/// A location in a file.
#[derive(Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The path, as written.
    pub path: Vec<u8>,
    /// The symbol from which the offset counts; `None` for the beginning of the file.
    pub symbol: Option<Vec<u8>>,
    /// The static point; there is no symbol then, and no offset.
    pub point: Option<Box<PointName>>,
    /// The offset in bytes.
    pub offset: u64,
    /// The offset in the file of the counter of those who trace the location, which is even; 0 if
    /// there is none.
    pub counter: u64,
}

impl FilePlace {
    /// Returns whether `word` is such a location, and none in the kernel.
    pub fn is_one(word: &[u8]) -> bool {
        if word
            .strip_prefix(POINT)
            .is_some_and(|path| path.first() == Some(&b'/'))
        {
            return true;
        }
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
        if let Some(point) = word.strip(POINT) {
            return Ok((Self::of_point(point)?, false));
        }
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
            point: None,
            offset,
            counter,
        };
        Ok((place, is_return))
    }

    /// Parses `PATH:PROVIDER:NAME`.
    #[inline(never)]
    fn of_point(text: Span<'_>) -> Result<Self, Error> {
        let parts = text.rfind(b':').map(|colon| text.around(colon));
        let parts = parts.and_then(|(before, name)| {
            let (path, provider) = before.around(before.rfind(b':')?);
            let parts = [path, provider, name];
            let is_whole = parts.iter().all(|part| !part.bytes.is_empty());
            is_whole.then_some(parts)
        });
        let Some([path, provider, name]) = parts else {
            return Err(text
                .error(Kind::BadUprobeOffs)
                .with_detail(format_args!("a static point is usdt:PATH:PROVIDER:NAME")));
        };
        Ok(Self {
            path: path.to_vec()?,
            symbol: None,
            // Definitions are passed on by value, and most have none.
            point: Some(Box::new(PointName {
                provider: provider.to_vec()?,
                name: name.to_vec()?,
            })?),
            offset: 0,
            counter: 0,
        })
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
    let offset = offset.ok_or_else(|| number.error(Kind::BadRefcnt))?;
    // The kernel refuses it when the event is enabled.
    match offset & 1 {
        0 => Ok(offset),
        _ => {
            let error = number.error(Kind::BadRefcnt);
            Err(error.with_detail(format_args!("a counter has an even offset")))
        }
    }
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(point) = &self.point {
            let PointName { provider, name } = &**point;
            let (path, provider, name) = (Plain(&self.path), Plain(provider), Plain(name));
            return write!(f, "usdt:{path}:{provider}:{name}");
        }
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
