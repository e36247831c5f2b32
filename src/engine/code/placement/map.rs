// SPDX-License-Identifier: GPL-2.0

//! The map of a function: every boundary with its verdict.

use core::fmt;

use super::verdict::{Verdict, Why};
use super::walk::{Walk, WalkStep};
use super::Placement;
use crate::engine::code::arch::isa::Insn;
use crate::sys::AllocError;

/// One instruction of the map.
#[derive(Clone, Copy, Debug)]
pub struct Boundary {
    /// Its offset.
    pub offset: usize,
    /// Its length in bytes.
    pub len: usize,
    /// The instruction; `None` for bytes that are none, or cannot be decoded.
    pub insn: Option<Insn>,
    /// Its mnemonic, without operands; empty if there is none.
    pub mnemonic: &'static str,
    /// The verdict on a probe there.
    pub verdict: Verdict,
}

/// The boundaries of a function in order: see [`Placement::map`].
///
/// They are contiguous, from the function's first byte to its last. An error does not end
/// the iteration.
#[derive(Clone, Debug)]
pub struct Map<'p, 'a> {
    placement: &'p Placement<'a>,
    walk: Walk<'p, 'a>,
}

impl<'p, 'a> Map<'p, 'a> {
    pub(super) fn of(placement: &'p Placement<'a>) -> Self {
        Self {
            placement,
            walk: Walk::over(&placement.text),
        }
    }

    fn boundary(&self, step: &WalkStep) -> Result<Boundary, AllocError> {
        let verdict = match self.placement.probed(step.offset) {
            // The entry's probe is on the next instruction.
            probed if probed != step.offset => self.placement.judge(step.offset)?.verdict,
            probed => self.placement.rule(step, probed)?,
        };
        let text = &self.placement.text;
        let insn = match self.placement.end().why_not(text, step) {
            Some(Why::OpsPointer | Why::TypeWord | Why::Literal) => None,
            _ => step.what.insn().copied(),
        };
        Ok(Boundary {
            offset: step.offset,
            len: step.len,
            mnemonic: insn.map_or("", |_| text.mnemonic(step.offset)),
            insn,
            verdict,
        })
    }
}

impl Iterator for Map<'_, '_> {
    type Item = Result<Boundary, AllocError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.walk.next()?;
        Some(self.boundary(&step))
    }
}

/// A line of the map: offset, length, operation, verdict.
impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, len, .. } = self;
        let mnemonic = match self.mnemonic {
            "" => "-",
            mnemonic => mnemonic,
        };
        write!(f, "{offset:<+#8x} {len:>3}  {mnemonic:<10} ")?;
        match self.verdict {
            Verdict::Probeable => f.write_str("probeable"),
            Verdict::Refused { by, why } => write!(f, "{why} ({by})"),
        }
    }
}
