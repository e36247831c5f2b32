// SPDX-License-Identifier: GPL-2.0

//! Calls that keep all registers on x86-64.

/// Calls `$function`, which takes the pointer `$argument + $offset` and returns nothing, and keeps
/// all registers. To be used in unsafe code; the caller answers for the call.
///
/// The caller may be a leaf function: the kernel's code has no red zone, and objtool follows the
/// stack here.
macro_rules! call_keeping_registers {
    ($function:path, $argument:expr, $offset:expr) => {
        core::arch::asm!(
            "push r11", "push r10", "push r9", "push r8",
            "push rdi", "push rsi", "push rdx", "push rcx", "push rax",
            "lea rdi, [{argument} + {offset}]",
            "call {function}",
            "pop rax", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
            "pop r8", "pop r9", "pop r10", "pop r11",
            argument = in(reg) $argument,
            offset = const $offset,
            function = sym $function,
            options(nostack),
        )
    };
}
pub(in super::super) use call_keeping_registers;
