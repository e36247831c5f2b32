// SPDX-License-Identifier: GPL-2.0

//! The room left on the kernel's stack on arm64.

use super::{super::bindings as extra, machine::current};
use core::arch::asm;

/// Number of bytes that an interrupt takes on a task's stack, before it switches to its own stack
/// and when it returns.
pub(in super::super) const STACK_OF_INTERRUPT: usize = 1536;

/// Further bytes that a nested interrupt takes on the interrupt stack, on top of a softirq,
/// including its own hits.
const STACK_OF_NESTED: usize = 1536;

/// Returns whether `needed` bytes are left on the current stack.
///
/// All kernel stacks have the size of a task's, and are aligned to it: the kernel itself detects
/// overflows by one bit.
#[inline(always)]
pub(in super::super) fn has_stack(needed: usize) -> bool {
    const { assert!(cfg!(CONFIG_VMAP_STACK)) };
    let here: usize;
    // SAFETY: Reads a register; accesses no memory.
    unsafe {
        asm!(
            "mov {here}, sp",
            here = out(reg) here,
            options(nomem, nostack, preserves_flags),
        );
    }
    // CAST: Lossless.
    let left = here & (extra::FERROPROBE_THREAD_SIZE as usize).wrapping_sub(1);
    let is_of_task = || {
        // SAFETY: The current task exists while code runs on its behalf, and its stack does not
        // move.
        let task = unsafe { (&raw const (*current()).stack).read() };
        here.wrapping_sub(task.addr()) == left
    };
    // Usually this suffices for any stack.
    left >= needed.wrapping_add(STACK_OF_NESTED) || left >= needed && is_of_task()
}

/// Does nothing: [`has_stack`] needs no addresses.
pub(in super::super) fn learn_stacks() {}
