// SPDX-License-Identifier: GPL-2.0

//! How much of the kernel's stack is left.
//!
//! Code that is hit may be deep already, an interrupt may have come on top of it, and an event
//! that a hit causes takes 1.3 to 3 KiB. A limit of nested events alone would have to suit the
//! worst of them in the worst place. So a hit asks how many bytes are left, in five instructions,
//! before the slow stage serves it, and before it causes another event. The fast stages do not
//! ask: they take 2 KiB at most.
//!
//! C header: [`include/linux/sched/task_stack.h`](srctree/include/linux/sched/task_stack.h)

use super::{arch, bindings as extra};

/// The smallest stack of a task, in bytes.
const SMALLEST: u64 = 16 << 10;

/// Bytes that must be left, besides those of an interrupt. What a hit takes until it looks again is
/// less by 1.75 KiB, for the functions of the kernel that it calls and a fault there:
/// `qemu/stack-depth` checks that.
const NEEDED: usize = (5 << 10) + arch::STACK_OF_INTERRUPT;

/// How much larger stacks are where frames are larger.
// CAST: Lossless.
const SCALE: usize = (extra::FERROPROBE_THREAD_SIZE / SMALLEST) as usize;

/// Returns whether enough of the stack is left on which the caller runs to serve a hit. On a stack
/// that is not known it is not.
///
/// Context: any.
#[inline(always)]
pub fn suffices() -> bool {
    arch::has_stack(NEEDED * SCALE)
}

/// Looks up where the stacks are. Until then none suffices but those of tasks.
///
/// Context: process, may sleep.
pub fn prepare() {
    arch::learn_stacks();
}
