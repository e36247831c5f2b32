// SPDX-License-Identifier: GPL-2.0

//! The room left on the kernel's stack.
//!
//! Code that is hit may already be deep on the stack, an interrupt may be on top of it, and each
//! event that a hit causes takes 1.3 to 3 KiB. A limit on nesting alone would have to assume the
//! worst case everywhere. So the remaining bytes are checked, in five instructions, before the slow
//! stage serves a hit, and before a hit causes another event. Fast stages do not check: they take
//! at most 2 KiB.
//!
//! C header: [`include/linux/sched/task_stack.h`](srctree/include/linux/sched/task_stack.h)

use super::{arch, bindings as extra};

/// The smallest stack of a task, in bytes.
const SMALLEST: u64 = 16 << 10;

/// Number of bytes that must be left, besides those for an interrupt. A hit takes at least 1.75 KiB
/// less until the next check; the rest is for kernel functions that it calls, and a fault there.
/// `qemu/stack-depth` checks that.
const NEEDED: usize = (5 << 10) + arch::STACK_OF_INTERRUPT;

/// The factor by which stacks are larger, on kernels with larger frames.
// CAST: Lossless.
const SCALE: usize = (extra::FERROPROBE_THREAD_SIZE / SMALLEST) as usize;

/// Returns whether the current stack has enough room to serve a hit; false for an unknown stack.
///
/// Context: any.
#[inline(always)]
pub fn suffices() -> bool {
    arch::has_stack(NEEDED * SCALE)
}

/// Looks up the kernel's stacks. Until then only task stacks are known.
///
/// Context: process, may sleep.
pub fn prepare() {
    arch::learn_stacks();
}
