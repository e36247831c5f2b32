// SPDX-License-Identifier: GPL-2.0

//! The exclusive sequences of arm64, and what the kernel takes for them.
//!
//! The kernel looks back along the addresses, at most 32 words: [`kernel_scan`] reproduces
//! that. It has false positives and false negatives; [`Exclusives`] follows the control
//! flow instead, and the module `placement` tells which of the two refuses.

use super::class::{class, Arm64Class};
use crate::engine::code::insn::exclusive::{CodeWords, Effect, Exclusives};
use crate::sys::AllocError;

/// How many words the kernel looks back.
pub const KERNEL_SCAN_WORDS: usize = 32;

/// Returns the exclusive sequences of a function.
///
/// # Errors
///
/// [`AllocError`] if out of memory.
pub fn sequences(words: &dyn CodeWords) -> Result<Exclusives, AllocError> {
    Exclusives::of(words, effect)
}

/// Returns what `word` does to a sequence.
///
/// An exception ends it, because its return clears the monitor.
pub const fn effect(word: u32) -> Effect {
    match class(word) {
        Arm64Class::LoadExclusive => Effect::Load,
        Arm64Class::StoreExclusive => Effect::Store,
        Arm64Class::ClearExclusive
        | Arm64Class::Breakpoint { .. }
        | Arm64Class::Exception
        | Arm64Class::Undefined => Effect::Clear,
        // A displacement is a multiple of the instruction's length.
        Arm64Class::Branch { displacement } => Effect::Jump(displacement >> 2),
        Arm64Class::ConditionalBranch { displacement } => Effect::Branch(displacement >> 2),
        Arm64Class::IndirectBranch | Arm64Class::Return | Arm64Class::ExceptionReturn => {
            Effect::Leave
        }
        Arm64Class::Ordinary
        | Arm64Class::Nop
        | Arm64Class::LandingPad
        | Arm64Class::Hint
        | Arm64Class::Call { .. }
        | Arm64Class::IndirectCall
        | Arm64Class::Atomic
        | Arm64Class::Literal => Effect::None,
    }
}

/// Returns the index of the load-exclusive because of which the kernel refuses a probe at
/// the word `index`; `None` if it does not refuse.
///
/// The kernel walks back at most [`KERNEL_SCAN_WORDS`], or to the start of the function. If
/// it first meets a store-exclusive it accepts the probe, if it first meets a
/// load-exclusive it refuses it. Its masks match `casp` as either.
pub fn kernel_scan(words: &dyn CodeWords, index: usize) -> Option<usize> {
    const MASK: u32 = 0x3fc0_0000;
    const LOAD: u32 = 0x0840_0000;
    const STORE: u32 = 0x0800_0000;

    for at in (index.saturating_sub(KERNEL_SCAN_WORDS)..index).rev() {
        match words.word(at)? & MASK {
            STORE => return None,
            LOAD => return Some(at),
            _ => {}
        }
    }
    None
}
