// SPDX-License-Identifier: GPL-2.0

//! The kernel's C interface, generated from its headers.

#![allow(
    clippy::all,
    dead_code,
    improper_ctypes,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    unused_imports,
    reason = "generated from C headers"
)]

use pin_init::MaybeZeroable;

include!(env!("FERROPROBE_KERNEL_BINDINGS"));

pub const GFP_KERNEL: gfp_t = FERROPROBE_GFP_KERNEL;

/// Registers for wake-ups; an inline function of C.
///
/// # Safety
///
/// `file` and `table` are the arguments of the file's `poll`; the queue outlives the file.
pub unsafe fn poll_wait(
    file: *mut file,
    queue: *mut wait_queue_head_t,
    table: *mut poll_table_struct,
) {
    // SAFETY: By the promise of the caller.
    unsafe { ferroprobe_poll_wait(file, queue, table) }
}
