// SPDX-License-Identifier: GPL-2.0

//! The refusal of a field that an event does not have.

use crate::engine::language::lex::Span;
use crate::engine::record::Layout;
use crate::engine::refusal::{
    error::{Error, Kind},
    foreign,
    suggest::suggest,
};

/// The field that only histograms have.
const STACK: &str = "common_stacktrace";

/// Returns the error `kind` for `name`, which is neither a field of `layout` nor one of `more`.
#[cold]
#[inline(never)]
pub fn no_field(name: Span<'_>, kind: Kind, layout: &Layout, more: &[&str]) -> Error {
    let error = name.error(kind);
    if let Some(meant) = foreign::field(name.bytes).filter(|meant| is_here(meant, more)) {
        return error.with_detail(format_args!("did you mean {meant}?"));
    }
    suggest(error, name.bytes, |each| {
        layout.fields.iter().for_each(|field| each(&field.name));
        let fixed = layout.class.fields();
        fixed.for_each(|field| each(field.name.as_bytes()));
        each(b"common_cpu");
        each(b"common_comm");
        each(b"common_tgid");
        each(b"common_cgroup");
        more.iter().for_each(|name| each(name.as_bytes()));
    })
}

/// Returns whether the field `meant` is there, if the fields `more` are added to the common ones.
fn is_here(meant: &str, more: &[&str]) -> bool {
    meant != STACK || more.contains(&STACK)
}
