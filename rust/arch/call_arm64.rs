// SPDX-License-Identifier: GPL-2.0

//! Calls that keep all registers on arm64.

/// Calls `$function`, which takes the pointer `$argument + $offset` and returns nothing, and keeps
/// all registers. To be used in unsafe code; the caller answers for the call.
///
/// The caller may be a leaf function, which has its return address in `x30`. The callee keeps
/// `x18`, the stack of return addresses, itself.
macro_rules! call_keeping_registers {
    ($function:path, $argument:expr, $offset:expr) => {
        core::arch::asm!(
            "stp x0, x1, [sp, #-160]!",
            "stp x2, x3, [sp, #16]",
            "stp x4, x5, [sp, #32]",
            "stp x6, x7, [sp, #48]",
            "stp x8, x9, [sp, #64]",
            "stp x10, x11, [sp, #80]",
            "stp x12, x13, [sp, #96]",
            "stp x14, x15, [sp, #112]",
            "stp x16, x17, [sp, #128]",
            "str x30, [sp, #144]",
            "add x0, {argument}, {offset}",
            "bl {function}",
            "ldr x30, [sp, #144]",
            "ldp x16, x17, [sp, #128]",
            "ldp x14, x15, [sp, #112]",
            "ldp x12, x13, [sp, #96]",
            "ldp x10, x11, [sp, #80]",
            "ldp x8, x9, [sp, #64]",
            "ldp x6, x7, [sp, #48]",
            "ldp x4, x5, [sp, #32]",
            "ldp x2, x3, [sp, #16]",
            "ldp x0, x1, [sp], #160",
            argument = in(reg) $argument,
            offset = const $offset,
            function = sym $function,
            options(nostack),
        )
    };
}
pub(in super::super) use call_keeping_registers;
