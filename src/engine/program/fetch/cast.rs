// SPDX-License-Identifier: GPL-2.0

//! Casts to structures. The kernel may have several structures of one name, in files that do not
//! see each other; a cast means the one that has the members.

use super::compile::Compiler;
use super::members::{cast_offset, dotted, TypeWalk};
use super::unknown::no_structure;
use crate::engine::definition::ast::{Cast, Step, StepKind};
use crate::engine::language::lex::Span;
use crate::engine::program::btf::{Btf, BtfValue, TypeIdentity};
use crate::engine::refusal::error::{Errno, Error, Kind};
use crate::engine::util::text::Plain;
use crate::sys::Vec;

/// The properties of a structure that matter for a cast and the first member behind it.
#[derive(PartialEq, Eq)]
struct CastPlaces {
    /// Offset of the place that the value points to, in bytes.
    inside: u32,
    /// Bit offset, bitfield size and type of the first member.
    member: Option<(u32, Option<u8>, TypeIdentity)>,
    /// The size of the structure, if it matters.
    size: Option<u32>,
}

impl<'b> Compiler<'_, 'b> {
    /// Makes the value point to the structure of `cast`; `next` is the step behind it. Returns the
    /// members that follow.
    #[inline(never)]
    pub(super) fn cast<'e>(
        &self,
        walk: &mut TypeWalk<'b>,
        (cast, at): (&'e Cast, usize),
        next: Option<&Step>,
    ) -> Result<Option<Span<'e>>, Error> {
        let Some(btf) = self.target.btf else {
            let open = cast.structure_at.saturating_sub(1);
            return Err(Error::new(Kind::NosupBtfarg, open).with_errno(Errno::EOPNOTSUPP));
        };
        let members = Span {
            bytes: &cast.members,
            at,
        };
        let first = match (
            members.bytes.is_empty(),
            next.map(|next| (&next.action, next.at)),
        ) {
            (false, _) => Some(members),
            (true, Some((StepKind::Members(bytes), at))) => Some(Span { bytes, at }),
            _ => None,
        };
        let structure = self.meant(&btf, cast, first)?;
        let inside = inside_of(structure, cast)?;
        walk.structure = Some(structure);
        walk.inside = i64::from(inside);
        // Otherwise members may follow the parentheses around the cast.
        Ok(Some(members).filter(|members| !members.bytes.is_empty()))
    }

    /// Returns the structure that `cast` means; `first` are the members that follow. Out of line,
    /// because its locals and callees take much stack.
    #[inline(never)]
    fn meant(
        &self,
        btf: &Btf<'b>,
        cast: &Cast,
        first: Option<Span<'_>>,
    ) -> Result<BtfValue<'b>, Error> {
        let mut all = Vec::new();
        let mut memory = Ok(());
        btf.each_structure_called(&cast.structure, |structure| {
            if memory.is_ok() {
                memory = all.push(structure);
            }
        });
        memory?;
        let (mut found, mut refusal) = (None, None);
        for &structure in &all {
            if all.len() == 1 {
                return Ok(structure);
            }
            match (places(structure, cast, first), &found) {
                (Ok(places), None) => found = Some((structure, places)),
                (Ok(places), Some((_, known))) if places == *known => {}
                (Ok(_), Some(_)) => return Err(ambiguous(cast, all.len(), first)),
                (Err(error), _) => refusal = Some(error),
            }
        }
        match (found, refusal) {
            (Some((structure, _)), _) => Ok(structure),
            (None, Some(error)) => Err(error.with_detail(format_args!(
                "none of the {} structures {} has it",
                all.len(),
                Plain(&cast.structure)
            ))),
            (None, None) => Err(no_structure(btf, cast)),
        }
    }
}

/// Returns the offset in `structure` that a value of `cast` points to, in bytes.
#[inline(never)]
fn inside_of(structure: BtfValue<'_>, cast: &Cast) -> Result<u32, Error> {
    let Some(field) = &cast.field else {
        return Ok(0);
    };
    let field = Span {
        bytes: field,
        at: cast.field_at,
    };
    cast_offset(structure, field)
}

/// Returns the properties of `structure` for `cast` and the first of the members `first`.
fn places(
    structure: BtfValue<'_>,
    cast: &Cast,
    first: Option<Span<'_>>,
) -> Result<CastPlaces, Error> {
    let inside = inside_of(structure, cast)?;
    let first = first.map(|first| first.strip(b".").unwrap_or(first));
    // The whole structure is used, or as an array element.
    let is_all = first.is_none_or(|first| first.first() == Some(b'['));
    let member = match first.filter(|_| !is_all) {
        Some(first) => {
            let found = dotted(structure, first)?;
            Some((
                found.bit_offset,
                found.bit_size,
                found.value.type_identity(),
            ))
        }
        None => None,
    };
    Ok(CastPlaces {
        inside,
        member,
        size: structure.bytes().filter(|_| is_all),
    })
}

/// Returns the refusal of a cast to one of `count` structures that differ in the members used.
#[cold]
#[inline(never)]
fn ambiguous(cast: &Cast, count: usize, first: Option<Span<'_>>) -> Error {
    let error = Error::new(Kind::NoPtrStrct, cast.structure_at);
    let name = Plain(&cast.structure);
    match first {
        Some(_) => error.with_detail(format_args!(
            "there are {count} structures {name}, which have it at different places, or as \
             different types: write +OFFSET(VALUE)"
        )),
        None => error.with_detail(format_args!(
            "there are {count} structures {name}: write a member behind it that only one has"
        )),
    }
}
