// SPDX-License-Identifier: GPL-2.0

//! Refusals of unknown names, with suggestions.

use crate::engine::definition::ast::Cast;
use crate::engine::language::lex::Span;
use crate::engine::program::btf::{Btf, BtfValue};
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::refusal::suggest::distance::Nearest;
use crate::engine::refusal::suggest::suggest;
use crate::engine::util::text::Plain;
use crate::sys::{AllocError, Vec};

/// Returns the refusal of a cast to an unknown structure.
#[cold]
#[inline(never)]
pub(super) fn no_structure(btf: &Btf<'_>, cast: &Cast) -> Error {
    let mut nearest = Nearest::to_wrong(&cast.structure);
    btf.each_structure(&mut |name, _| nearest.consider(name));
    let error = Error::new(Kind::NoPtrStrct, cast.structure_at);
    let name = Plain(&cast.structure);
    match nearest.is_none() {
        true => error.with_detail(format_args!("there is no structure {name}")),
        false => error.with_detail(format_args!(
            "there is no structure {name}, did you mean {nearest}?"
        )),
    }
}

/// Returns the refusal of an argument beyond the last of `count`.
#[cold]
#[inline(never)]
pub(super) fn too_few(count: usize, at: usize) -> Error {
    let error = Error::new(Kind::NoBtfarg, at);
    match count {
        0 => error.with_detail(format_args!("there is none")),
        _ => error.with_detail(format_args!("the last one is $arg{count}")),
    }
}

/// Returns the refusal of member `name` of a value that is no structure; `before` leads to it.
#[cold]
#[inline(never)]
pub(super) fn behind_dot(value: BtfValue<'_>, before: Span<'_>, name: Span<'_>) -> Error {
    let error = name.error(Kind::BadBtfTid);
    match value.pointee().flatten() {
        Some(pointee) if pointee.is_structure() && !before.bytes.is_empty() => {
            error.with_detail(format_args!(
                "{before} is a pointer: write {before}->{}",
                Plain(name.bytes),
                before = Plain(before.bytes),
            ))
        }
        _ => error,
    }
}

/// Returns the refusal of member `name`, which `structure` lacks; `before` leads to it. `found` may
/// be what was meant.
#[cold]
#[inline(never)]
pub(super) fn no_member(
    structure: BtfValue<'_>,
    before: Span<'_>,
    name: Span<'_>,
    found: Inner,
) -> Error {
    let error = name.error(Kind::NoBtfField);
    let dot = if before.bytes.is_empty() { "" } else { "." };
    match found {
        Inner::First(path) => error.with_detail(format_args!(
            "it is a macro, or a member of a member: write {}{dot}{}",
            Plain(before.bytes),
            Plain(&path)
        )),
        _ => {
            let error = suggest(error, name.bytes, |each| structure.each_member(each));
            match structure.extension_with(name.bytes) {
                Some(longer) if before.bytes.is_empty() => error.with_more(format_args!(
                    ", or cast: ((struct {} *)VALUE)->{}",
                    Plain(longer),
                    Plain(name.bytes)
                )),
                _ => error,
            }
        }
    }
}

/// Returns the refusal of an index on a value that is no array.
#[cold]
#[inline(never)]
pub(super) fn no_element(path: Span<'_>) -> Error {
    path.error(Kind::NoPtrStrct).with_detail(format_args!(
        "it is no array, or of no known size: write +OFFSET(...), with the offset of the element \
         in bytes"
    ))
}

/// Deepest nesting of members that is searched.
const DEEPEST: usize = 3;

/// Maximum number of members that are searched for one name: nested structures repeat.
const MOST_SEEN: usize = 1 << 16;

/// A predicate on member names.
type IsMeant<'a> = dyn Fn(&[u8]) -> bool + 'a;

/// The result of searching a nested member.
pub(super) enum Inner {
    /// None found.
    None,
    /// The path of the only match.
    Only(Vec<u8>),
    /// The path of the first match, which is ambiguous or inexact.
    First(Vec<u8>),
}

/// Searches the members of members of `structure` for `name`: an equal name, or one that equals it
/// apart from a longer prefix, up to the first `_`, as the kernel's macros shorten it: `sk_dport`
/// is `__sk_common.skc_dport`. A match is only accepted as [`Inner::Only`] if it is the only one at
/// any depth; matches with another prefix, or without one, never are.
#[cold]
#[inline(never)]
pub(super) fn inner(structure: BtfValue<'_>, name: &[u8]) -> Result<Inner, AllocError> {
    let (prefix, tail) = split_prefix(name).unwrap_or((name, b""));
    let has_tail = tail.len() > 1;
    let is_same = |other: &[u8]| other == name;
    let is_close = |other: &[u8]| {
        let parts = split_prefix(other).filter(|_| has_tail);
        parts.is_some_and(|(before, behind)| behind == tail && before.starts_with(prefix))
    };
    let is_like = |other: &[u8]| {
        let behind = split_prefix(other).map(|(_, behind)| behind);
        has_tail && (other == tail || behind == Some(tail))
    };
    let alike: [(&IsMeant<'_>, bool); 3] = [(&is_same, true), (&is_close, true), (&is_like, false)];
    for (is_meant, is_clear) in alike {
        let mut search = InnerSearch {
            is_meant,
            path: Vec::new(),
            first: None,
            is_only: true,
            left: MOST_SEEN,
        };
        for depth in 1..=DEEPEST {
            search.descend(structure, 0, depth)?;
        }
        match search.first {
            None => {}
            Some((_, path)) if is_clear && search.is_only => return Ok(Inner::Only(path)),
            Some((_, path)) => return Ok(Inner::First(path)),
        }
    }
    Ok(Inner::None)
}

/// A search for a nested member.
struct InnerSearch<'a> {
    is_meant: &'a IsMeant<'a>,
    /// The path to the structure being searched.
    path: Vec<u8>,
    /// Offset and path of the first match.
    first: Option<(u32, Vec<u8>)>,
    /// Whether there is no match at another offset. Members of a union may be equal.
    is_only: bool,
    /// Members that may still be searched.
    left: usize,
}

impl InnerSearch<'_> {
    /// Searches the members `depth` levels down in `structure`, which is at `base` bits.
    fn descend(
        &mut self,
        structure: BtfValue<'_>,
        base: u32,
        depth: usize,
    ) -> Result<(), AllocError> {
        let start = self.path.len();
        let mut memory = Ok(());
        structure.has_member(&mut |name, value, bit_offset| {
            let Some(left) = self.left.checked_sub(1) else {
                // The remaining members are not searched, so a match may not be the only one.
                self.is_only = false;
                return true;
            };
            self.left = left;
            self.path.truncate(start);
            let offset = base.wrapping_add(bit_offset);
            memory = self
                .path
                .extend_from_slice(name)
                .and_then(|()| match depth.checked_sub(1) {
                    None if (self.is_meant)(name) => self.found(offset),
                    Some(left) if value.is_structure() => {
                        self.path.push(b'.')?;
                        self.descend(value, offset, left)
                    }
                    _ => Ok(()),
                });
            memory.is_err()
        });
        self.path.truncate(start);
        memory
    }

    /// Notes a match at the end of the path.
    fn found(&mut self, offset: u32) -> Result<(), AllocError> {
        match &self.first {
            None => self.first = Some((offset, Vec::from_slice(&self.path)?)),
            Some((first, _)) => self.is_only &= *first == offset,
        }
        Ok(())
    }
}

/// Splits `name` at the first `_` behind a letter.
fn split_prefix(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = name
        .iter()
        .position(|&byte| byte == b'_')
        .filter(|at| *at > 0)?;
    Some((name.get(..at)?, name.get(at.saturating_add(1)..)?))
}
