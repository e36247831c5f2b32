// SPDX-License-Identifier: GPL-2.0

//! The refusals of names that are not known: what to write instead.

use crate::engine::ast::Cast;
use crate::engine::btf::{Btf, BtfValue};
use crate::engine::error::{Error, Kind};
use crate::engine::lex::Span;
use crate::engine::nearest::Nearest;
use crate::engine::suggest::suggest;
use crate::engine::text::Plain;
use crate::sys::{AllocError, Vec};

/// Returns the array in `ARRAY[INDEX]`.
#[cold]
#[inline(never)]
pub(super) fn indexed(name: &[u8]) -> Option<Plain<'_>> {
    let mut parts = name.splitn(2, |&byte| byte == b'[');
    let array = parts.next().filter(|array| !array.is_empty())?;
    parts.next().map(|_| Plain(array))
}

/// Returns the refusal of a cast to a structure that does not exist.
#[cold]
#[inline(never)]
pub(super) fn no_structure(btf: &Btf<'_>, cast: &Cast) -> Error {
    let mut nearest = Nearest::to_wrong(&cast.structure);
    btf.each_structure(|name| nearest.consider(name));
    let error = Error::new(Kind::NoPtrStrct, cast.structure_at);
    let name = Plain(&cast.structure);
    match nearest.is_none() {
        true => error.with_detail(format_args!("there is no structure {name}")),
        false => error.with_detail(format_args!(
            "there is no structure {name}, did you mean {nearest}?"
        )),
    }
}

/// Returns the refusal of an argument behind the last one of `count`.
#[cold]
#[inline(never)]
pub(super) fn too_few(count: usize, at: usize) -> Error {
    let error = Error::new(Kind::NoBtfarg, at);
    match count {
        0 => error.with_detail(format_args!("there is none")),
        _ => error.with_detail(format_args!("the last one is $arg{count}")),
    }
}

/// Returns the refusal of the member `name` of what is no structure, to which `before` leads.
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

/// Returns the refusal of the member `name`, which `structure`, to which `before` leads, does
/// not have.
#[cold]
#[inline(never)]
pub(super) fn no_member(structure: BtfValue<'_>, before: Span<'_>, name: Span<'_>) -> Error {
    let error = name.error(Kind::NoBtfField);
    if let Some(array) = indexed(name.bytes) {
        return error.with_detail(format_args!(
            "an element has no name: write {array}, or +OFFSET(...) of it, with its offset in bytes"
        ));
    }
    let dot = if before.bytes.is_empty() { "" } else { "." };
    match inner(structure, name.bytes) {
        Ok(Some(path)) => error.with_detail(format_args!(
            "it is a macro, or a member of a member: write {}{dot}{}",
            Plain(before.bytes),
            Plain(&path)
        )),
        _ => suggest(error, name.bytes, |each| structure.each_member(each)),
    }
}

/// Deepest members of members that are looked at.
const DEEPEST: usize = 3;

/// Whether a member of that name is meant.
type IsMeant<'a> = dyn Fn(&[u8]) -> bool + 'a;

/// Returns the path of the member of a member that `name` may mean: the first that is called
/// alike, or alike but for the letters up to the first `_`. The kernel's structures have macros
/// for these: `sk_dport` is `__sk_common.skc_dport`.
#[cold]
#[inline(never)]
fn inner(structure: BtfValue<'_>, name: &[u8]) -> Result<Option<Vec<u8>>, AllocError> {
    let tail = behind_prefix(name).filter(|tail| tail.len() > 1);
    let is_same = |other: &[u8]| other == name;
    let is_like =
        |other: &[u8]| tail.is_some_and(|tail| other == tail || behind_prefix(other) == Some(tail));
    let alike: [&IsMeant<'_>; 2] = [&is_same, &is_like];
    for is_meant in alike {
        for depth in 1..=DEEPEST {
            let mut path = Vec::new();
            if descend(structure, depth, &mut path, is_meant)? {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

/// Finds a member that `is_meant` accepts, `depth` members down, and appends the path to it.
fn descend(
    structure: BtfValue<'_>,
    depth: usize,
    path: &mut Vec<u8>,
    is_meant: &IsMeant<'_>,
) -> Result<bool, AllocError> {
    let start = path.len();
    let mut memory = Ok(());
    let found = structure.has_member(&mut |name, value| {
        if memory.is_err() {
            return false;
        }
        path.truncate(start);
        memory = path.extend_from_slice(name);
        match depth.checked_sub(1) {
            None => is_meant(name),
            Some(_) if !value.is_structure() => false,
            Some(left) => {
                memory = memory.and_then(|()| path.push(b'.'));
                let found = memory.and_then(|()| descend(value, left, path, is_meant));
                memory = found.map(|_| ());
                found == Ok(true)
            }
        }
    });
    memory.map(|()| found)
}

/// Returns what follows the first `_` behind a letter.
fn behind_prefix(name: &[u8]) -> Option<&[u8]> {
    let at = name
        .iter()
        .position(|&byte| byte == b'_')
        .filter(|at| *at > 0)?;
    name.get(at.saturating_add(1)..)
}
