// SPDX-License-Identifier: GPL-2.0

//! Compiles the text of a filter to its terms.
//!
//! Operators wait on a list until their right side is complete; there is no recursion. Each
//! complete part is a [`Fragment`]: its first term, and the undecided targets of its terms,
//! which are chained through the target fields themselves.

use super::operators::{enclosed, trim};
use super::predicate::{LookupFunctions, Terms};
use super::terms::{Exhausted, Filter, Single, Term, ACCEPT, REJECT};
use crate::engine::language::lex::Span;
use crate::engine::record::Layout;
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::Vec;

/// Longest filter.
pub const MAX_LEN: usize = 4095;

/// Maximum number of terms of a filter.
const MAX_TERMS: usize = 4096;

/// The end of a chain of undecided targets.
const END: u16 = u16::MAX;

/// A complete part of the expression.
#[derive(Clone, Copy)]
struct Fragment {
    start: u16,
    /// Chain of targets to take if the part is true.
    on_true: u16,
    /// Chain of targets to take if it is false.
    on_false: u16,
}

/// An operator that waits for its right side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Open(usize),
    Not,
    And,
    Or,
}

impl Filter {
    /// Compiles `text` for an event with `layout`.
    ///
    /// Context: process, may sleep.
    ///
    /// # Errors
    ///
    /// The kinds of [`Subject::Filter`](crate::engine::refusal::error::Subject::Filter), with the
    /// caret in the text without surrounding white space.
    pub fn compile(
        text: &[u8],
        layout: &Layout,
        functions: &mut dyn LookupFunctions,
    ) -> Result<Self, Error> {
        filter(text.trim_ascii(), layout, functions)
    }
}

/// Parses `text`, which has no surrounding white space.
fn filter(
    text: &[u8],
    layout: &Layout,
    functions: &mut dyn LookupFunctions,
) -> Result<Filter, Error> {
    if text.len() > MAX_LEN {
        return Err(Error::new(Kind::FiltTooLong, MAX_LEN));
    }
    let mut parser = Parser {
        terms: Terms {
            layout,
            functions,
            patterns: Vec::new(),
            cpus: Vec::new(),
            arithmetic: Vec::new(),
            looked_up: 0,
        },
        list: Vec::new(),
        waiting: Vec::new(),
        complete: Vec::new(),
    };
    parser.expression(Span { bytes: text, at: 0 })?;
    let single = Single::of(&parser.list);
    Ok(Filter {
        text: Vec::from_slice(text)?,
        terms: parser.list,
        patterns: parser.terms.patterns,
        cpus: parser.terms.cpus,
        arithmetic: parser.terms.arithmetic,
        single,
        exhausted: Exhausted::none(),
    })
}

/// Returns the refusal of `rest`, the part of `text` that follows a complete term.
#[cold]
#[inline(never)]
fn too_many(text: Span<'_>, rest: Span<'_>) -> Error {
    let error = rest.error(Kind::FiltTooManyPreds);
    let before = text.take(rest.at.saturating_sub(text.at)).bytes;
    match (before.trim_ascii_end(), rest.first()) {
        ([.., digit], Some(b'.')) if digit.is_ascii_alphanumeric() => error.with_detail(
            format_args!("a number is whole: leave out what begins with ."),
        ),
        ([.., b'\\', quote @ (b'"' | b'\'')], _) => {
            let other = if *quote == b'"' { "'" } else { "\"" };
            error.with_detail(format_args!(
                "\\ does not keep a quote in a text: write the text in {other}"
            ))
        }
        _ => error,
    }
}

struct Parser<'a> {
    terms: Terms<'a>,
    list: Vec<Term>,
    waiting: Vec<Waiting>,
    complete: Vec<Fragment>,
}

impl Parser<'_> {
    fn expression(&mut self, text: Span<'_>) -> Result<(), Error> {
        let mut rest = text;
        loop {
            rest = self.operand(trim(rest))?;
            loop {
                rest = trim(rest);
                match rest.bytes {
                    [] => return self.end(),
                    [b')', ..] => {
                        self.close(rest)?;
                        rest = rest.skip(1);
                    }
                    [b'&', b'&', ..] => {
                        self.reduce(&[Waiting::And])?;
                        self.waiting.push(Waiting::And)?;
                        break;
                    }
                    [b'|', b'|', ..] => {
                        self.reduce(&[Waiting::And, Waiting::Or])?;
                        self.waiting.push(Waiting::Or)?;
                        break;
                    }
                    _ => return Err(too_many(text, rest)),
                }
            }
            rest = rest.skip(2);
        }
    }

    /// Parses the operators before a term, and the term; returns the rest.
    fn operand<'s>(&mut self, text: Span<'s>) -> Result<Span<'s>, Error> {
        let mut rest = text;
        loop {
            rest = trim(rest);
            match rest.bytes {
                [] if self.list.is_empty() && self.waiting.is_empty() => {
                    return Err(rest.error(Kind::FiltNoFilter));
                }
                [] => return Err(rest.error(Kind::FiltInvalidFilter)),
                [b'(', ..] if enclosed(rest).is_some() => break,
                [b'(', ..] => self.waiting.push(Waiting::Open(rest.at))?,
                [b'!', b'=' | b'~', ..] => return Err(rest.error(Kind::FiltFieldNotFound)),
                [b'!', ..] => self.waiting.push(Waiting::Not)?,
                _ => break,
            }
            rest = rest.skip(1);
        }
        if self.list.len() >= MAX_TERMS {
            return Err(rest.error(Kind::FiltTooManyPreds));
        }
        let (operand, test, rest) = self.terms.term(rest)?;
        // CAST: there are fewer than MAX_TERMS.
        let index = self.list.len() as u16;
        self.list.push(Term {
            operand,
            test,
            on_true: END,
            on_false: END,
        })?;
        let exit = index.wrapping_mul(2);
        self.complete.push(Fragment {
            start: index,
            on_true: exit,
            on_false: exit | 1,
        })?;
        self.negate();
        Ok(rest)
    }

    /// Applies pending `!` operators to the part just completed.
    fn negate(&mut self) {
        while self.waiting.last() == Some(&Waiting::Not) {
            self.waiting.pop();
            if let Some(part) = self.complete.last_mut() {
                core::mem::swap(&mut part.on_true, &mut part.on_false);
            }
        }
    }

    /// Joins the parts of pending operators in `which`.
    fn reduce(&mut self, which: &[Waiting]) -> Result<(), Error> {
        while let Some(operator) = self.waiting.last().copied().filter(|w| which.contains(w)) {
            self.waiting.pop();
            let (Some(right), Some(left)) = (self.complete.pop(), self.complete.pop()) else {
                return Err(Error::new(Kind::FiltInvalidFilter, 0));
            };
            let joined = if operator == Waiting::And {
                self.decide(left.on_true, right.start);
                let on_false = self.join(left.on_false, right.on_false);
                Fragment {
                    start: left.start,
                    on_true: right.on_true,
                    on_false,
                }
            } else {
                self.decide(left.on_false, right.start);
                let on_true = self.join(left.on_true, right.on_true);
                Fragment {
                    start: left.start,
                    on_true,
                    on_false: right.on_false,
                }
            };
            self.complete.push(joined)?;
        }
        Ok(())
    }

    fn close(&mut self, at: Span<'_>) -> Result<(), Error> {
        self.reduce(&[Waiting::And, Waiting::Or])?;
        match self.waiting.pop() {
            Some(Waiting::Open(_)) => {
                self.negate();
                Ok(())
            }
            _ => Err(at.error(Kind::FiltTooManyClose)),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        self.reduce(&[Waiting::And, Waiting::Or])?;
        if let Some(Waiting::Open(at)) = self.waiting.pop() {
            return Err(Error::new(Kind::FiltTooManyOpen, at));
        }
        if let Some(whole) = self.complete.pop() {
            self.decide(whole.on_true, ACCEPT);
            self.decide(whole.on_false, REJECT);
        }
        Ok(())
    }

    /// Returns the target that `exit` denotes: of term `exit / 2`, the true target if `exit` is
    /// even, otherwise the false target.
    fn target(&mut self, exit: u16) -> Option<&mut u16> {
        let term = self.list.get_mut(usize::from(exit / 2))?;
        Some(if exit % 2 == 0 {
            &mut term.on_true
        } else {
            &mut term.on_false
        })
    }

    /// Sets all targets of a chain.
    fn decide(&mut self, chain: u16, to: u16) {
        let mut exit = chain;
        while exit != END {
            let Some(target) = self.target(exit) else {
                break;
            };
            exit = core::mem::replace(target, to);
        }
    }

    /// Appends the chain `second` to `first`.
    fn join(&mut self, first: u16, second: u16) -> u16 {
        let mut exit = first;
        while let Some(target) = self.target(exit) {
            if *target == END {
                *target = second;
                break;
            }
            exit = *target;
        }
        first
    }
}
