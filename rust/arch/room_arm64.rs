// SPDX-License-Identifier: GPL-2.0

//! How much of the kernel's stack is left on arm64.

use super::{super::bindings as extra, machine::current};
use core::arch::asm;

/// Bytes of a task's stack that an interrupt takes, before it goes to a stack of its own, and when
/// it returns.
pub(in super::super) const STACK_OF_INTERRUPT: usize = 1536;

/// Bytes that one takes more on the stack of interrupts, on top of a softirq: all of it, with the
/// hits that it has itself.
const STACK_OF_NESTED: usize = 1536;

/// Returns whether `needed` bytes of the stack are left on which the caller runs.
///
/// All stacks of the kernel have the size of a task's, and begin at a multiple of that: the
/// kernel itself finds by one bit that one overflows.
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
        // SAFETY: The current task exists while code runs on its behalf, and its stack does not move.
        let task = unsafe { (&raw const (*current()).stack).read() };
        here.wrapping_sub(task.addr()) == left
    };
    // Enough on any stack, as it mostly is.
    left >= needed.wrapping_add(STACK_OF_NESTED) || left >= needed && is_of_task()
}

/// Does nothing: [`has_stack`] knows all stacks.
pub(in super::super) fn learn_stacks() {}
