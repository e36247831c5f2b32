// SPDX-License-Identifier: GPL-2.0

//! The map of a function: every boundary with its verdict.

use core::fmt;

use super::verdict::Verdict;
use super::walk::{Step, Walk, What};
use super::Placement;
use crate::engine::insn::{arm64, x86};
use crate::sys::AllocError;

/// One instruction of the map.
#[derive(Clone, Copy, Debug)]
pub struct Boundary {
    /// Where it begins.
    pub offset: usize,
    /// How many bytes it takes.
    pub len: usize,
    /// What it is.
    pub class: Class,
    /// What becomes of a probe there.
    pub verdict: Verdict,
}

/// What an instruction is.
#[derive(Clone, Copy, Debug)]
pub enum Class {
    /// An x86 instruction.
    X86(x86::Insn),
    /// An arm64 instruction.
    Arm64(u32),
    /// Bytes that are none, or of which it cannot be told.
    Unknown,
}

impl Class {
    /// The name of the operation, without operands; empty where there is none.
    pub fn mnemonic(&self) -> &'static str {
        match self {
            Self::X86(insn) => insn.mnemonic(),
            Self::Arm64(word) => arm64::mnemonic(*word),
            Self::Unknown => "",
        }
    }
}

impl From<What> for Class {
    fn from(what: What) -> Self {
        match what {
            What::X86(insn) => Self::X86(insn),
            What::Arm64(word) => Self::Arm64(word),
            What::Undecodable | What::Cut | What::Hidden => Self::Unknown,
        }
    }
}

/// The boundaries of a function in order: see [`Placement::map`].
///
/// They lie one behind the other without gaps, from the function's first byte
/// to its last. An error does not end the iteration.
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

    fn boundary(&self, step: &Step) -> Result<Boundary, AllocError> {
        let verdict = match self.placement.probed(step.offset) {
            // The entry's probe sits on the next instruction.
            probed if probed != step.offset => self.placement.judge(step.offset)?.verdict,
            probed => self.placement.rule(step, probed)?,
        };
        Ok(Boundary {
            offset: step.offset,
            len: step.len,
            class: step.what.into(),
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
        let mnemonic = match self.class.mnemonic() {
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
