// SPDX-License-Identifier: GPL-2.0

//! The walk over a function, instruction by instruction.

use super::text::Text;
use crate::engine::arch::Arch;
use crate::engine::insn::{arm64, x86};

/// One instruction, or what is left where the walk cannot go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Where it begins.
    pub(super) offset: usize,
    /// How many bytes it takes, never none.
    pub(super) len: usize,
    pub(super) what: What,
}

impl Step {
    /// The offset behind it.
    pub(super) fn end(&self) -> usize {
        self.offset.saturating_add(self.len)
    }
}

/// What the walk found.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// An x86 instruction.
    X86(x86::Insn),
    /// An arm64 instruction.
    Arm64(u32),
    /// No instruction; the rest of the function cannot be told.
    Undecodable,
    /// The function ends within an instruction.
    Cut,
    /// A breakpoint of somebody else hides an instruction of unknown length;
    /// the rest of the function cannot be told.
    Hidden,
}

impl What {
    /// The name of the operation; empty where there is none.
    pub(super) fn mnemonic(&self) -> &'static str {
        match self {
            Self::X86(insn) => insn.mnemonic(),
            Self::Arm64(word) => arm64::mnemonic(*word),
            Self::Undecodable | Self::Cut | Self::Hidden => "",
        }
    }

    /// Whether control does not run on to the next instruction.
    pub(super) fn ends_flow(&self) -> bool {
        match self {
            Self::X86(insn) => insn.class().ends_flow() || insn.class() == x86::Class::Int3,
            Self::Arm64(word) => matches!(
                arm64::class(*word),
                arm64::Class::Branch { .. }
                    | arm64::Class::IndirectBranch
                    | arm64::Class::Return
                    | arm64::Class::ExceptionReturn
                    | arm64::Class::Undefined
            ),
            Self::Undecodable | Self::Cut | Self::Hidden => true,
        }
    }

    /// Whether it is a call over the next `bytes` bytes, with which retpolines
    /// jump over an int3.
    fn calls_over(&self, bytes: i64) -> bool {
        match self {
            Self::X86(insn) => insn.class() == x86::Class::Call && insn.relative() == Some(bytes),
            _ => false,
        }
    }

    /// Whether it is what compilers and linkers fill gaps with.
    pub(super) fn is_filler(&self) -> bool {
        match self {
            Self::X86(insn) => matches!(insn.class(), x86::Class::Nop | x86::Class::Int3),
            Self::Arm64(word) => matches!(
                arm64::class(*word),
                arm64::Class::Nop | arm64::Class::Undefined
            ),
            Self::Undecodable | Self::Cut | Self::Hidden => false,
        }
    }
}

/// Visits a function from its first byte to its last.
///
/// The steps lie one behind the other without gaps, and the last one ends with
/// the function.
#[derive(Clone, Debug)]
pub(super) struct Walk<'t, 'a> {
    text: &'t Text<'a>,
    offset: usize,
    /// Control does not come here from the step before.
    after_end: bool,
}

impl<'t, 'a> Walk<'t, 'a> {
    pub(super) fn over(text: &'t Text<'a>) -> Self {
        Self {
            text,
            offset: 0,
            after_end: false,
        }
    }

    /// Begins in the middle, at an offset that is known to be a boundary.
    pub(super) fn from(text: &'t Text<'a>, offset: usize) -> Self {
        Self {
            offset,
            ..Self::over(text)
        }
    }

    fn x86(&self, left: usize) -> (usize, What) {
        let window = self.text.window(self.offset);
        match x86::decode(window.bytes()) {
            _ if self.text.is_foreign(self.offset) => (left, What::Hidden),
            Ok(insn) if insn.class() == x86::Class::Int3 && !self.is_own_int3() => {
                (left, What::Hidden)
            }
            Ok(insn) => (insn.len(), What::X86(insn)),
            Err(x86::DecodeError::Truncated) => (left, What::Cut),
            Err(x86::DecodeError::Invalid(_)) => (left, What::Undecodable),
        }
    }

    /// Whether an int3 at this place is the function's own and no probe: behind
    /// a jump or a return it stops speculation, and gaps are filled with it.
    fn is_own_int3(&self) -> bool {
        self.after_end || self.text.all_patches_known() || self.text.is_int3_from(self.offset)
    }

    fn arm64(&self, left: usize) -> (usize, What) {
        match arm64::word_at(self.text.window(self.offset).bytes(), 0) {
            Some(word) => (arm64::INSN_LEN, What::Arm64(word)),
            None => (left, What::Cut),
        }
    }
}

impl Iterator for Walk<'_, '_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let left = self
            .text
            .len()
            .checked_sub(self.offset)
            .filter(|&left| left > 0)?;
        let (len, what) = match self.text.arch() {
            Arch::X86_64 => self.x86(left),
            Arch::Arm64 => self.arm64(left),
        };
        let step = Step {
            offset: self.offset,
            // A decoder that took none or too many would end the walk, not
            // lead it astray.
            len: if len == 0 { left } else { len.min(left) },
            what,
        };
        self.offset = step.end();
        self.after_end = step.what.ends_flow() || step.what.calls_over(1);
        Some(step)
    }
}
