// SPDX-License-Identifier: GPL-2.0

//! The room left on the kernel's stack on x86-64.

use super::{
    super::{bindings as extra, symbol, word},
    machine::current,
};
use core::arch::asm;

/// Number of bytes that an interrupt takes on a task's stack, beyond what is reserved for faults:
/// none, as it has its own stack.
pub(in super::super) const STACK_OF_INTERRUPT: usize = 0;

/// Returns whether `needed` bytes are left on the current stack; false for an unknown stack.
#[inline(always)]
pub(in super::super) fn has_stack(needed: usize) -> bool {
    stack_left() >= needed
}

/// Returns the bytes left on the current stack; 0 for an unknown stack.
#[inline(always)]
fn stack_left() -> usize {
    let here: usize;
    // SAFETY: Reads a register; accesses no memory.
    unsafe {
        asm!(
            "mov {here}, rsp",
            here = out(reg) here,
            options(nomem, nostack, preserves_flags),
        );
    }
    // SAFETY: The current task exists while code runs on its behalf, and its stack does not move.
    let task = unsafe { (&raw const (*current()).stack).read() };
    let left = here.wrapping_sub(task.addr());
    if word(left) < extra::FERROPROBE_THREAD_SIZE {
        left
    } else {
        // SAFETY: Code on another stack than that of its task does not move to another CPU.
        unsafe { extra::ferroprobe_stack_left(here) }
    }
}

/// Looks up the interrupt stacks.
pub(in super::super) fn learn_stacks() {
    let variable = symbol::lookup(c"hardirq_stack_ptr");
    // SAFETY: At that address the kernel has the variable.
    unsafe { extra::ferroprobe_stack_learn_irqs(variable.unwrap_or(0)) };
}
