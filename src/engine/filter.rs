// SPDX-License-Identifier: GPL-2.0

//! Filters: which hits of an event are recorded.
//!
//! The language is that of ftrace's event filters: `FIELD OP VALUE` joined by `&&`, `||`,
//! `!` and parentheses. A filter is compiled to [`Term`]s. Each term names the term to
//! evaluate next if it is true and if it is false; both are later terms, so that evaluation
//! ends.
//!
//! A filter is evaluated before anything is stored, and reads only what the evaluated terms
//! need. A term whose operand cannot be read is false with any operator: `a == 1` and `a !=
//! 1` are both false, and `!(a == 1)` is true. A term on an array is true if it is true for
//! one of the elements.

mod arithmetic;
mod constant;
mod cpus;
mod eval;
mod gate;
mod names;
mod network;
mod operators;
mod parse;
mod predicate;
mod terms;

use core::fmt::{self, Write};

use crate::engine::refusal::error::Error;
use crate::engine::refusal::excerpt::Excerpt;
pub use constant::KnownNumber;
pub use gate::Gate;
pub use parse::MAX_LEN;
pub use predicate::LookupFunctions;
pub use terms::{Filter, Hit};

/// Writes what the `filter` file shows of a refused filter: the text, cut to the surroundings of
/// the caret if it is long, a caret, and the reason.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_refusal(out: &mut dyn Write, text: &[u8], error: &Error) -> fmt::Result {
    let shown = Excerpt::of(text.trim_ascii(), error.at);
    writeln!(out, "{shown}")?;
    writeln!(out, "{:1$}^", "", shown.at().min(MAX_LEN))?;
    writeln!(out, "parse_error: {}", error.kind.text())
}
