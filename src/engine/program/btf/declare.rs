// SPDX-License-Identifier: GPL-2.0

//! Declarations of parameters in C.

use core::fmt;

use super::lookup::BtfFunction;
use super::{Btf, MAX_MODIFIERS};
use crate::engine::util::text::Plain;
use crate::sys::{AllocError, Vec};

/// Deepest nesting of functions as parameters of functions.
const MAX_DEPTH: usize = 4;

/// Numbers of kinds in BTF.
mod kind {
    pub(super) const VOID: u32 = 0;
    pub(super) const POINTER: u32 = 2;
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const ENUM: u32 = 6;
    pub(super) const FORWARD: u32 = 7;
    pub(super) const VOLATILE: u32 = 9;
    pub(super) const CONST: u32 = 10;
    pub(super) const RESTRICT: u32 = 11;
    pub(super) const PROTOTYPE: u32 = 13;
    pub(super) const TYPE_TAG: u32 = 18;
    pub(super) const ENUM64: u32 = 19;
}

/// The parameters of a function from one on, as text: `TYPE NAME, TYPE NAME`.
pub struct Parameters(Vec<u8>);

impl Parameters {
    /// Makes the text of the parameters of `function`, without the first `skipped` ones.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn of(function: &BtfFunction<'_>, skipped: usize) -> Result<Self, AllocError> {
        let mut text = Vec::new();
        let parameters = function.raw_parameters().skip(skipped);
        list(&function.btf(), parameters, &mut text, 0)?;
        Ok(Self(text))
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Plain(&self.0))
    }
}

/// Appends the declarations of `parameters`, names and type numbers.
fn list(
    btf: &Btf<'_>,
    parameters: impl Iterator<Item = [u32; 2]>,
    text: &mut Vec<u8>,
    depth: usize,
) -> Result<(), AllocError> {
    for (n, [name, id]) in parameters.enumerate() {
        if n > 0 {
            text.extend_from_slice(b", ")?;
        }
        if (name, id) == (0, 0) {
            text.extend_from_slice(b"...")?;
        } else {
            declare(btf, id, btf.string(name).unwrap_or(&[]), text, depth)?;
        }
    }
    Ok(())
}

/// Appends the declaration of `name` with the type `id`.
///
/// A declaration is made from the name outwards: pointers, arrays and functions are put
/// around it, until a type remains that has a name.
fn declare(
    btf: &Btf<'_>,
    id: u32,
    name: &[u8],
    text: &mut Vec<u8>,
    depth: usize,
) -> Result<(), AllocError> {
    let mut inner = Vec::from_slice(name)?;
    let mut qualifiers = Vec::new();
    let mut id = id;
    let mut base: (&[u8], &[u8]) = (b"", b"?");
    for _ in 0..MAX_MODIFIERS {
        let Some(found) = btf.by_id(id) else {
            break;
        };
        let raw = found.raw;
        match raw.info >> 24 & 0x7f {
            kind::VOID => base = (b"", b"void"),
            kind::POINTER => {
                inner = joined(&[b"*", &inner])?;
                id = raw.size_or_type;
                continue;
            }
            qualifier @ (kind::VOLATILE | kind::CONST | kind::RESTRICT) => {
                let word: &[u8] = match qualifier {
                    kind::VOLATILE => b"volatile ",
                    kind::CONST => b"const ",
                    _ => b"restrict ",
                };
                id = raw.size_or_type;
                let next = btf.by_id(id).map(|next| next.raw.info >> 24 & 0x7f);
                if next == Some(kind::POINTER) {
                    inner = joined(&[word, &inner])?;
                } else {
                    qualifiers.extend_from_slice(word)?;
                }
                continue;
            }
            kind::TYPE_TAG => {
                id = raw.size_or_type;
                continue;
            }
            kind::ARRAY => {
                let Some([element, _, count]) = found.groups::<3>().next() else {
                    break;
                };
                if inner.first() == Some(&b'*') {
                    inner = joined(&[b"(", &inner, b")"])?;
                }
                inner.push(b'[')?;
                decimal(count, &mut inner)?;
                inner.push(b']')?;
                id = element;
                continue;
            }
            kind::PROTOTYPE => {
                inner = joined(&[b"(", &inner, b")("])?;
                if depth < MAX_DEPTH {
                    list(
                        btf,
                        found.groups::<2>(),
                        &mut inner,
                        depth.saturating_add(1),
                    )?;
                } else {
                    inner.extend_from_slice(b"...")?;
                }
                inner.push(b')')?;
                id = raw.size_or_type;
                continue;
            }
            named => {
                let prefix: &[u8] = match named {
                    kind::STRUCT => b"struct ",
                    kind::UNION => b"union ",
                    kind::FORWARD if found.flag() => b"union ",
                    kind::FORWARD => b"struct ",
                    kind::ENUM | kind::ENUM64 => b"enum ",
                    _ => b"",
                };
                let name = btf.string(raw.name).filter(|name| !name.is_empty());
                base = (prefix, name.unwrap_or(b"{...}"));
            }
        }
        break;
    }
    text.extend_from_slice(&qualifiers)?;
    text.extend_from_slice(base.0)?;
    text.extend_from_slice(base.1)?;
    if !inner.is_empty() {
        text.push(b' ')?;
        text.extend_from_slice(&inner)?;
    }
    Ok(())
}

/// Returns the pieces, one behind the other.
fn joined(pieces: &[&[u8]]) -> Result<Vec<u8>, AllocError> {
    let mut all = Vec::new();
    for piece in pieces {
        all.extend_from_slice(piece)?;
    }
    Ok(all)
}

/// Appends `number`.
fn decimal(number: u32, text: &mut Vec<u8>) -> Result<(), AllocError> {
    let mut digits = [0; 10];
    let mut rest = number;
    let mut count = 0;
    for digit in digits.iter_mut().rev() {
        // CAST: A digit.
        *digit = b'0'.wrapping_add((rest % 10) as u8);
        rest /= 10;
        count += 1usize;
        if rest == 0 {
            break;
        }
    }
    let from = digits.len().saturating_sub(count);
    text.extend_from_slice(digits.get(from..).unwrap_or(&[]))
}
