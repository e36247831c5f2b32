// SPDX-License-Identifier: GPL-2.0

//! Our refusals beside the verdicts of the kernel's kprobes.

use crate::{compare, kernel};
use ferroprobe_engine::engine::code::insn::x86::{decode, X86Class, X86Insn, X86Refusal};

// Errors of the kernel, and its emulations as oracle.c numbers them.
const EINVAL: i32 = -22;
const ENOSPC: i32 = -28;
const EILSEQ: i32 = -84;
const EOPNOTSUPP: i32 = -95;
const STEP: i32 = 0;
const FLAGS: i32 = 1;
const RETURN: i32 = 2;
const CALL: i32 = 3;
const JUMP: i32 = 4;
const CONDITIONAL: i32 = 5;
const LOOP: i32 = 6;
const CALL_INDIRECT: i32 = 7;
const JUMP_INDIRECT: i32 = 8;

/// Compares what becomes of a kprobe on the instruction at `bytes`.
///
/// # Errors
///
/// The two answers, where they do not agree.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let Some(bytes) = bytes.first_chunk::<15>() else {
        return Ok(());
    };
    // Where the lengths differ on purpose, so may the verdicts.
    if !compare::expected(bytes).1.is_empty() {
        return Ok(());
    }
    let theirs = kernel::verdict(bytes);
    let Ok(insn) = decode(bytes) else {
        return agree(theirs == EILSEQ, "undecodable", theirs);
    };
    let refusal = insn.refusal();
    let agreed = match refusal {
        Some(X86Refusal::Trap) => theirs == EILSEQ,
        Some(X86Refusal::EmulatePrefix | X86Refusal::MasksException) => theirs == EINVAL,
        Some(
            X86Refusal::FarBranch
            | X86Refusal::InterruptReturn
            | X86Refusal::IndirectMemory
            | X86Refusal::AddressSize
            | X86Refusal::VmExtension,
        ) => theirs == EOPNOTSUPP,
        Some(X86Refusal::TooLong) => theirs == ENOSPC,
        Some(X86Refusal::MistakenForTrap) => theirs < 0,
        // What the kernel would refuse for another reason is not its mistake.
        Some(X86Refusal::Mistaken | X86Refusal::FarReturn) => theirs > STEP,
        Some(X86Refusal::UnseenTrap | X86Refusal::LeavesCopy) => theirs == STEP,
        Some(X86Refusal::Nonexistent) => true,
        None => theirs == expected(&insn),
    };
    agree(agreed, &format!("{insn:?} {refusal:?}"), theirs)
}

fn agree(agreed: bool, ours: &str, theirs: i32) -> Result<(), String> {
    agreed
        .then_some(())
        .ok_or_else(|| format!("{ours}, kernel {theirs}"))
}

/// How the kernel should execute an instruction that may be probed.
fn expected(insn: &X86Insn) -> i32 {
    match (insn.class(), insn.mnemonic()) {
        (X86Class::Call, _) => CALL,
        (X86Class::Jump, _) => JUMP,
        (X86Class::ConditionalJump, "loop" | "loope" | "loopne" | "jrcxz") => LOOP,
        (X86Class::ConditionalJump, _) => CONDITIONAL,
        (X86Class::Return, _) => RETURN,
        (X86Class::IndirectCall, _) => CALL_INDIRECT,
        (X86Class::IndirectJump, _) => JUMP_INDIRECT,
        (_, "cli" | "sti" | "pushf" | "popf") => FLAGS,
        _ => STEP,
    }
}
