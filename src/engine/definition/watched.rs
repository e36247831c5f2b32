// SPDX-License-Identifier: GPL-2.0

//! The location of a watchpoint: `[r|w|rw|x@]ADDRESS|SYMBOL[+|-OFFSET][:LENGTH]`, the grammar of
//! the kernel's watch probes.

use core::fmt;

use crate::engine::language::functions;
use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::text::Plain;
use crate::sys::Vec;

/// The length without `:LENGTH`: a word.
const WORD: u8 = 8;

/// What a watchpoint reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `r`: reads.
    Read,
    /// `w`: writes.
    Write,
    /// `rw`: both.
    Both,
    /// `x`: the execution of an instruction.
    Execute,
}

/// The accesses, as they are written.
const ACCESSES: [(&str, Access); 4] = [
    ("r", Access::Read),
    ("w", Access::Write),
    ("rw", Access::Both),
    ("x", Access::Execute),
];

/// The location of a watchpoint.
#[derive(Debug, PartialEq, Eq)]
pub struct Watched {
    /// What it reports.
    pub access: Access,
    /// The symbol with its module, as written; `None` for an address.
    pub symbol: Option<Vec<u8>>,
    /// The offset from the symbol, or the address.
    pub offset: i64,
    /// The number of bytes.
    pub length: u8,
}

impl Watched {
    /// Parses a location.
    ///
    /// # Errors
    ///
    /// `BAD_WATCH`.
    pub fn parse(word: Span<'_>) -> Result<Self, Error> {
        let bad = |span: Span<'_>| span.error(Kind::BadWatch);
        let (access, place) = match word.find(b'@') {
            None => (Access::Both, word),
            Some(sign) => {
                let (name, place) = word.around(sign);
                let is_it = |(known, _): &&(&str, Access)| known.as_bytes() == name.bytes;
                match ACCESSES.iter().find(is_it) {
                    Some(&(_, access)) => (access, place),
                    None => return Err(bad(name)),
                }
            }
        };
        let (place, length) = split_length(place)?;
        let length = match (access, length) {
            // A breakpoint has the length of a word for the kernel, whatever the instruction's.
            (Access::Execute, None) => WORD,
            (Access::Execute, Some((_, at))) => {
                return Err(bad(at).with_detail(format_args!("x has no length: leave it out")))
            }
            (_, None) => WORD,
            (_, Some((length, _))) => length,
        };
        if let Some(address) = lex::unsigned(place.bytes) {
            return Ok(Self {
                access,
                symbol: None,
                // CAST: The same bits.
                offset: address as i64,
                length,
            });
        }
        // A module's file name may have a dash.
        let from = place.find(b':').unwrap_or(0);
        let sign = place.skip(from).find_by(|byte| matches!(byte, b'+' | b'-'));
        let (name, offset) = match sign.map(|sign| sign.saturating_add(from)) {
            None => (place, 0),
            Some(sign) => {
                let offset = lex::signed(place.skip(sign).bytes);
                (
                    place.take(sign),
                    offset.ok_or_else(|| bad(place.skip(sign)))?,
                )
            }
        };
        let is_in = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-$".contains(&byte);
        let begins = |span: Span<'_>| !matches!(span.first(), None | Some(b'0'..=b'9' | b':'));
        let behind = name.find(b':').map_or(name, |colon| name.around(colon).1);
        if !begins(name) || !begins(behind) || name.find_by(|byte| !is_in(byte)).is_some() {
            return Err(bad(place));
        }
        let mut symbol = name.to_vec()?;
        functions::underscore_module(&mut symbol);
        Ok(Self {
            access,
            symbol: Some(symbol),
            offset,
            length,
        })
    }

    /// Returns the watched address, if the symbol is at `base`.
    pub fn address(&self, base: u64) -> u64 {
        base.wrapping_add_signed(self.offset)
    }
}

/// Splits off `:LENGTH`, with the text of the length. A module's name stands before a colon, too.
fn split_length(place: Span<'_>) -> Result<(Span<'_>, Option<(u8, Span<'_>)>), Error> {
    let Some(colon) = place.rfind(b':') else {
        return Ok((place, None));
    };
    let (rest, length) = place.around(colon);
    if !length.first().is_some_and(|byte| byte.is_ascii_digit()) {
        return Ok((place, None));
    }
    match length.bytes {
        [digit @ (b'1' | b'2' | b'4' | b'8')] => {
            Ok((rest, Some((digit.saturating_sub(b'0'), length))))
        }
        _ => Err(length
            .error(Kind::BadWatch)
            .with_detail(format_args!("a length is 1, 2, 4 or 8 bytes"))),
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = ACCESSES.iter();
        let access = all.find(|(_, access)| *access == self.access);
        write!(f, "{}@", access.map_or("", |(name, _)| name))?;
        match &self.symbol {
            // CAST: The same bits.
            None => write!(f, "{:#x}", self.offset as u64)?,
            Some(name) if self.offset == 0 => write!(f, "{}", Plain(name))?,
            Some(name) => write!(f, "{}{:+}", Plain(name), self.offset)?,
        }
        match self.access {
            Access::Execute => Ok(()),
            _ => write!(f, ":{}", self.length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let word = Span {
            bytes: text.as_bytes(),
            at: 0,
        };
        Watched::parse(word).ok().map(|watched| watched.to_string())
    }

    #[test]
    fn what_is_shown_is_parsed_again() {
        for (text, expected) in [
            ("w@jiffies", "w@jiffies:8"),
            ("jiffies:4", "rw@jiffies:4"),
            ("r@0xffffffff81000000:1", "r@0xffffffff81000000:1"),
            ("rw@ext4:some-4:2", "rw@ext4:some-4:2"),
            ("w@some+0x10", "w@some+16:8"),
            ("x@vfs_read+4", "x@vfs_read+4"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
            assert_eq!(shown(expected).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            "w@",
            "q@jiffies",
            "w@jiffies:3",
            "w@jiffies+x",
            "x@f:8",
            "@x",
            "w@9z",
            "w@jiffies:",
            "w@jiffies:4:4",
            "w@ext4:",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
