// SPDX-License-Identifier: GPL-2.0

//! Filters: which hits of an event are recorded.
//!
//! The language is that of ftrace's event filters: `FIELD OP VALUE` joined by
//! `&&`, `||`, `!` and parentheses. A filter is compiled to [`Term`]s, each of
//! which names the term to go on with when it holds and when it does not; all
//! of these lie ahead, so that evaluation ends.
//!
//! A filter is evaluated before anything is stored, and reads only what the
//! terms it passes need. A term whose operand can not be read does not hold,
//! nor does its opposite operator: `a == 1` and `a != 1` are both false, and
//! `!(a == 1)` is true. A term on an array holds when it does so for one of the
//! elements.

mod glob;
mod parse;
mod predicate;

use core::fmt::{self, Write};

use super::error::Error;
use super::exec::{self, Env};
use super::fetch::Program;
use super::record::{Header, Layout};
use super::text::Plain;
use crate::sys::Vec;
use predicate::{Single, Term};

/// Longest filter.
pub const MAX_LEN: usize = 4095;

/// Where functions lie, for `FIELD.function == NAME`.
pub trait Functions {
    /// First address of the function called `name`, and that behind it.
    fn named(&mut self, name: &[u8]) -> Option<(u64, u64)>;

    /// The same of the function to which `address` belongs.
    fn around(&mut self, address: u64) -> Option<(u64, u64)>;
}

/// What is known about a hit before its arguments are fetched.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// The record's header.
    pub header: Header,
    /// The CPU.
    pub cpu: u32,
    /// `__probe_ip`, or `__probe_func` of a return probe.
    pub place: u64,
}

/// A compiled filter.
///
/// # Invariants
///
/// The targets of a term are later terms, or [`ACCEPT`] or [`REJECT`].
#[derive(Debug, PartialEq, Eq)]
pub struct Filter {
    text: Vec<u8>,
    terms: Vec<Term>,
    /// Patterns of the terms on text.
    patterns: Vec<u8>,
    /// Sets of CPUs of the terms, 64 in a word.
    cpus: Vec<u64>,
    /// The same as the terms, where that is simple.
    single: Option<Single>,
}

/// Target of a term: the filter holds.
const ACCEPT: u16 = u16::MAX;

/// Target of a term: the filter does not hold.
const REJECT: u16 = u16::MAX - 1;

impl Filter {
    /// Whether `text` asks for the filter to be removed.
    pub fn is_removal(text: &[u8]) -> bool {
        text.trim_ascii() == b"0"
    }

    /// Compiles `text` for an event with `layout`. Process context only.
    ///
    /// # Errors
    ///
    /// The kinds of [`Subject::Filter`](super::error::Subject::Filter), with
    /// the caret in the text without white space around it.
    pub fn compile(
        text: &[u8],
        layout: &Layout,
        functions: &mut dyn Functions,
    ) -> Result<Self, Error> {
        parse::filter(text.trim_ascii(), layout, functions)
    }

    /// The filter as it was written.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether a hit of the probe with this `program` is to be recorded, where
    /// that depends on the comparison of one register with one number; `None`
    /// where it is not so simple.
    ///
    /// `program` must be one of the event that the filter was compiled for.
    /// May run in any context.
    #[inline(always)]
    pub fn decide_quickly<E: Env>(&self, program: &Program, env: &E) -> Option<bool> {
        let single = self.single.as_ref()?;
        let value = exec::register(program, single.index, env)?;
        Some(single.accepts(value))
    }

    /// Whether a hit of the probe with this `program` is to be recorded.
    ///
    /// `program` must be one of the event that the filter was compiled for.
    /// May run in any context.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    pub fn matches<E: Env>(&self, program: &Program, env: &E, hit: &Hit) -> bool {
        let mut at = 0u16;
        for _ in 0..self.terms.len() {
            let Some(term) = self.terms.get(usize::from(at)) else {
                break;
            };
            at = if self.holds(term, program, env, hit) {
                term.on_true
            } else {
                term.on_false
            };
            if at >= REJECT {
                break;
            }
        }
        at == ACCEPT
    }
}

/// Writes what the `filter` file shows of a refused filter: its text, a caret
/// and the reason.
///
/// # Errors
///
/// Those of `out`.
pub fn write_refusal(out: &mut dyn Write, text: &[u8], error: &Error) -> fmt::Result {
    writeln!(out, "{}", Plain(text.trim_ascii()))?;
    writeln!(out, "{:1$}^", "", error.at.min(MAX_LEN))?;
    writeln!(out, "parse_error: {}", error.kind.text())
}
