// SPDX-License-Identifier: GPL-2.0

//! The walk over a function, instruction by instruction.

use super::text::FunctionText;
use crate::engine::code::arch::isa::{Flow, Insn, InsnKind, Undecoded};

/// One instruction, or the rest if the walk cannot continue.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkStep {
    pub(super) offset: usize,
    /// Its length in bytes, never 0.
    pub(super) len: usize,
    pub(super) what: What,
}

impl WalkStep {
    /// Returns the offset behind it.
    pub(super) fn end(&self) -> usize {
        self.offset.saturating_add(self.len)
    }
}

/// What the walk found.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// An instruction.
    Insn(Insn),
    /// Not an instruction; the rest of the function is unknown.
    Undecodable,
    /// The function ends within an instruction.
    Cut,
    /// A breakpoint of another user hides an instruction of unknown length; the rest of the
    /// function is unknown.
    Hidden,
}

impl What {
    /// Returns the instruction, if it is one.
    pub(super) fn insn(&self) -> Option<&Insn> {
        match self {
            Self::Insn(insn) => Some(insn),
            Self::Undecodable | Self::Cut | Self::Hidden => None,
        }
    }

    /// Returns where control goes from the instruction; [`Flow::Away`] if there is none.
    pub(super) fn flow(&self) -> Flow {
        self.insn().map_or(Flow::Away, |insn| insn.flow)
    }

    /// Returns whether control does not continue at the next instruction.
    pub(super) fn ends_flow(&self) -> bool {
        self.insn().is_none_or(Insn::ends_flow)
    }

    /// Returns whether it is a trap as in BUG and WARN. Control returns from the trap of a
    /// WARN.
    pub(super) fn is_trap(&self) -> bool {
        self.insn().is_some_and(|insn| insn.kind == InsnKind::Trap)
    }

    /// Returns whether it is an instruction with which compilers and linkers fill gaps.
    pub(super) fn is_filler(&self) -> bool {
        self.insn().is_some_and(Insn::is_filler)
    }
}

/// Visits a function from its first byte to its last.
///
/// The steps are contiguous, and the last one ends with the function.
#[derive(Clone, Debug)]
pub(super) struct Walk<'t, 'a> {
    text: &'t FunctionText<'a>,
    offset: usize,
    /// Whether control does not arrive here from the preceding step.
    after_end: bool,
}

impl<'t, 'a> Walk<'t, 'a> {
    pub(super) fn over(text: &'t FunctionText<'a>) -> Self {
        Self {
            text,
            offset: 0,
            after_end: false,
        }
    }

    /// Begins in the middle, at an offset that is known to be a boundary.
    pub(super) fn from(text: &'t FunctionText<'a>, offset: usize) -> Self {
        Self {
            offset,
            ..Self::over(text)
        }
    }

    /// Decodes the current offset; returns length and result. `left` bytes are left of the
    /// function.
    fn what(&self, left: usize) -> (usize, What) {
        let isa = self.text.isa();
        let window = self.text.window(self.offset);
        match isa.decode(window.bytes()) {
            _ if isa.fixed_len().is_none() && self.text.is_foreign(self.offset) => {
                (left, What::Hidden)
            }
            Ok(insn) if insn.kind == InsnKind::Breakpoint && !self.is_own_breakpoint() => {
                (left, What::Hidden)
            }
            Ok(insn) => (insn.len, What::Insn(insn)),
            Err(Undecoded::Cut) => (left, What::Cut),
            Err(Undecoded::Invalid) => (left, What::Undecodable),
        }
    }

    /// Returns whether a breakpoint at this location is the function's own and not a probe:
    /// behind a jump or a return it stops speculation, and gaps are filled with it.
    fn is_own_breakpoint(&self) -> bool {
        self.after_end || self.text.all_patches_known() || self.text.is_gap(self.offset)
    }
}

impl Iterator for Walk<'_, '_> {
    type Item = WalkStep;

    fn next(&mut self) -> Option<WalkStep> {
        let left = self
            .text
            .len()
            .checked_sub(self.offset)
            .filter(|&left| left > 0)?;
        let (len, what) = self.what(left);
        let step = WalkStep {
            offset: self.offset,
            // A length of zero or beyond the end, from a faulty decoder, ends the walk.
            len: if len == 0 { left } else { len.min(left) },
            what,
        };
        self.offset = step.end();
        // A retpoline jumps over an int3 by a call.
        self.after_end = step.what.ends_flow() || step.what.flow() == Flow::Call(1);
        Some(step)
    }
}
