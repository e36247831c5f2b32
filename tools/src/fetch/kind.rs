// SPDX-License-Identifier: GPL-2.0

//! The types of definitions: which one a type of C has by default, and which may be asked for.

use crate::error::Result;
use crate::refuse;
use crate::types::{Kind, Type};

/// A type of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A number of some bytes: its letter is `u`, `s`, or `x`.
    Number(char, u64),
    /// A number of another spelling, of some bytes: `char`, `symbol`, `be16`.
    Named(String, u64),
    /// A bit field as written: bits, first bit, bits of its container.
    Bits(u64, u64, u64),
    /// Text, in kernel or user memory.
    Text(String),
    /// An array of a type, of some bytes each.
    Array(String, u64, u64),
}

impl Wanted {
    /// The type that the user wrote.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some((inner, count)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            let count = count
                .parse::<u64>()
                .ok()
                .filter(|count| (1..=64).contains(count));
            return match (Self::parse(inner)?, count) {
                (Self::Number(_, size) | Self::Named(_, size), Some(count)) => {
                    Ok(Self::Array(inner.into(), size, count))
                }
                (_, Some(_)) => refuse!("no array of {inner} can be fetched through a variable"),
                (_, None) => refuse!("an array has 1 to 64 elements"),
            };
        }
        let named = |size| Ok(Self::Named(text.into(), size));
        match text {
            "string" | "ustring" => return Ok(Self::Text(text.into())),
            "char" => return named(1),
            "symbol" | "symstr" | "be64" => return named(8),
            "errno" | "be32" | "ip4" => return named(4),
            "be16" => return named(2),
            _ => {}
        }
        let mut letters = text.chars();
        let number = |text: &str| text.parse::<u64>().ok();
        match letters.next() {
            Some(letter @ ('u' | 's' | 'x')) => {
                if let Some(bits @ (8 | 16 | 32 | 64)) = number(letters.as_str()) {
                    return Ok(Self::Number(letter, bits / 8));
                }
            }
            Some('b') => {
                let parts = letters.as_str().split_once('@');
                let parts = parts.and_then(|(bits, rest)| Some((bits, rest.split_once('/')?)));
                if let Some((bits, (start, container))) = parts {
                    if let (Some(bits), Some(start), Some(container)) =
                        (number(bits), number(start), number(container))
                    {
                        if matches!(container, 8 | 16 | 32 | 64)
                            && bits > 0
                            && bits + start <= container
                        {
                            return Ok(Self::Bits(bits, start, container));
                        }
                    }
                }
            }
            _ => {}
        }
        refuse!("{text:?} is no type that a variable can be fetched as: see grammar.rst");
    }

    /// The type that `kind` has by default.
    pub fn of(kind: &Type) -> Result<Self> {
        Ok(match (&kind.kind, kind.size) {
            (Kind::Integer { signed: true, .. }, size @ (1 | 2 | 4 | 8)) => Self::Number('s', size),
            (Kind::Integer { signed: false, .. }, size @ (1 | 2 | 4 | 8)) => {
                Self::Number('u', size)
            }
            (Kind::Integer { .. }, size) => {
                refuse!("it is a number of {size} bytes, which a definition does not have")
            }
            (Kind::Pointer(_), _) => Self::Number('x', 8),
            (Kind::Structure, _) => refuse!("it is a structure: name one of its members"),
            (Kind::Array { .. }, _) => {
                refuse!("it is an array: write [NUMBER], or its type, such as :u8[16] or :string")
            }
            (Kind::Other(what), _) => refuse!("it is {what}, which cannot be fetched"),
        })
    }

    /// How many bytes are fetched, 0 for text.
    pub fn size(&self) -> u64 {
        match self {
            Self::Number(_, size) | Self::Named(_, size) => *size,
            Self::Bits(_, _, container) => container / 8,
            Self::Array(_, size, count) => size * count,
            Self::Text(_) => 0,
        }
    }

    /// As a definition has it.
    pub fn text(&self) -> String {
        match self {
            Self::Number(letter, size) => format!("{letter}{}", size * 8),
            Self::Named(name, _) | Self::Text(name) => name.clone(),
            Self::Bits(bits, start, container) => format!("b{bits}@{start}/{container}"),
            Self::Array(name, _, count) => format!("{name}[{count}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Wanted;

    #[test]
    fn types_are_read_and_written() {
        for text in [
            "u8", "s64", "x32", "char", "symbol", "b3@5/8", "string", "ustring", "u8[16]", "be16",
        ] {
            assert_eq!(Wanted::parse(text).expect(text).text(), text);
        }
    }

    #[test]
    fn what_is_no_type_is_refused() {
        for text in [
            "",
            "u7",
            "u",
            "int",
            "b0@0/8",
            "b5@4/8",
            "b1@1/9",
            "u8[0]",
            "u8[65]",
            "string[2]",
            "u8[x]",
            "%pd",
        ] {
            assert!(Wanted::parse(text).is_err(), "{text}");
        }
    }
}
