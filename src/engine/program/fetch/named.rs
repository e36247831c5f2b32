// SPDX-License-Identifier: GPL-2.0

//! Arguments whose type is an enumeration: the names of their values are kept, for readers and
//! filters.

use super::compile::Compiler;
use super::members::TypeWalk;
use super::whole;
use crate::engine::definition::ast::Argument;
use crate::engine::language::types::{Shown, Type, Width};
use crate::engine::program::btf::parts::Scalar;
use crate::engine::program::btf::BtfValue;
use crate::engine::record::WholeShape;
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::{Box, Vec};

impl<'b> Compiler<'_, 'b> {
    /// Keeps the names of the values of `arg`, which is recorded as `base`, if its type is an
    /// enumeration.
    #[inline(never)]
    pub(super) fn name_values(
        &mut self,
        arg: &Argument,
        walk: &TypeWalk<'b>,
        base: Type,
    ) -> Result<(), Error> {
        let is_one = base.is_number() && arg.spec.count.is_none() && arg.spec.derived.is_none();
        let Some(value) = walk.value.filter(|_| is_one && walk.path.is_none()) else {
            return Ok(());
        };
        let index = u8::try_from(self.layout.fields.len()).unwrap_or(u8::MAX);
        let bits = base.size().saturating_mul(8);
        if let Some(names) = whole::value_names(value.unwrapped(), index, bits)? {
            add(&mut self.layout.value_names, names)?;
        }
        Ok(())
    }
}

/// Returns the type `enum` for `value`, which is recorded as `base`.
#[inline(never)]
pub(super) fn named_type(
    arg: &Argument,
    value: Option<BtfValue<'_>>,
    base: Type,
) -> Result<Type, Error> {
    let refusal = Error::new(Kind::BadType, arg.type_at);
    let Some(value) = value.map(|value| value.unwrapped()) else {
        return Err(refusal.with_detail(format_args!(
            "the value has no type: write a parameter or a member by its name"
        )));
    };
    let Some(Scalar::Enum(bits, _)) = value.scalar() else {
        return Err(refusal.with_detail(format_args!(
            "the kernel does not declare it as an enumeration, so it has no names"
        )));
    };
    // A bitfield is recorded in as many bytes as it is in.
    let width = match base.shown() {
        Shown::Enum => Width::from_bits(bits.into()),
        _ => Width::from_bits(u64::from(base.size()).saturating_mul(8)),
    };
    let named = width.and_then(|width| Type::number(Shown::Enum, width));
    named.ok_or(refusal)
}

/// Adds `shape` to `list`.
pub(super) fn add(list: &mut Option<Box<Vec<WholeShape>>>, shape: WholeShape) -> Result<(), Error> {
    match list {
        Some(shapes) => shapes.push(shape)?,
        None => {
            let mut shapes = Vec::new();
            shapes.push(shape)?;
            *list = Some(Box::new(shapes)?);
        }
    }
    Ok(())
}
