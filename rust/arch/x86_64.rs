// SPDX-License-Identifier: GPL-2.0

//! What differs between architectures: x86-64.

use super::{bindings as extra, context::Entry, word};
use core::arch::asm;
use kernel::bindings;

/// Number of arguments that a function receives in registers.
pub(super) const REGISTER_ARGUMENTS: usize = 6;

/// Flag bit of `EFLAGS` that is set while interrupts are enabled.
const X86_EFLAGS_IF: u64 = 1 << 9;

/// Whether the instruction whose first byte is `byte` is a breakpoint. A call of
/// ftrace's or a jump may stand where a probe is armed as well.
pub(super) const fn is_trap([byte, ..]: [u8; 4]) -> bool {
    byte == 0xcc
}

/// The task that runs on this CPU.
#[inline(always)]
pub(super) fn current() -> *const bindings::task_struct {
    let task: *const bindings::task_struct;
    // SAFETY: Reads a per-CPU variable of the kernel through the segment base
    // that the kernel sets for it; touches nothing else.
    unsafe {
        asm!(
            "mov {task}, qword ptr gs:[rip + {current_task}]",
            task = out(reg) task,
            current_task = sym bindings::current_task,
            options(nostack, readonly, pure, preserves_flags),
        );
    }
    task
}

/// The number of this CPU.
#[inline(always)]
pub(super) fn cpu() -> u32 {
    let cpu: u32;
    // SAFETY: As in `current`.
    unsafe {
        asm!(
            "mov {cpu:e}, dword ptr gs:[rip + {cpu_number}]",
            cpu = out(reg) cpu,
            cpu_number = sym bindings::cpu_number,
            options(nostack, readonly, preserves_flags),
        );
    }
    cpu
}

/// The offset of this CPU's instance of per-CPU memory.
#[inline(always)]
pub(super) fn per_cpu_offset() -> usize {
    let offset: usize;
    // SAFETY: As in `current`.
    unsafe {
        asm!(
            "mov {offset}, qword ptr gs:[rip + {this_cpu_off}]",
            offset = out(reg) offset,
            this_cpu_off = sym bindings::this_cpu_off,
            options(nostack, readonly, preserves_flags),
        );
    }
    offset
}

/// What the way from the probed code to a handler adds to `count`, which is the
/// preemption counter in the handler.
///
/// A trap is entered as an NMI is. Everything else, an optimised probe's jump
/// included, just disables preemption.
#[inline(always)]
pub(super) fn added_by(entry: Entry, count: u32) -> u32 {
    if entry == Entry::Trap && count & extra::FERROPROBE_NMI_MASK != 0 {
        extra::FERROPROBE_NMI_OFFSET.wrapping_add(extra::FERROPROBE_HARDIRQ_OFFSET)
    } else {
        extra::FERROPROBE_PREEMPT_OFFSET
    }
}

/// Whether [`preempt_count`] tells of nothing but what the way from the probed
/// code added.
#[inline(always)]
pub(super) fn is_plain(entry: impl Fn() -> Entry) -> bool {
    let now = preempt_count();
    let trap = extra::FERROPROBE_NMI_OFFSET.wrapping_add(extra::FERROPROBE_HARDIRQ_OFFSET);
    // First what is usual.
    now == (extra::FERROPROBE_PREEMPT_OFFSET, false)
        || (now == (trap, false) && entry() == Entry::Trap)
}

/// The preemption counter of this CPU, and whether rescheduling is needed.
#[cfg(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS)]
#[inline(always)]
pub(super) fn preempt_count() -> (u32, bool) {
    let both: u64;
    // SAFETY: As in `current`.
    unsafe {
        asm!(
            "mov {both}, qword ptr gs:[rip + {preempt_count}]",
            both = out(reg) both,
            preempt_count = sym bindings::__preempt_count,
            options(nostack, readonly, preserves_flags),
        );
    }
    // CAST: The counter is the lower half; the highest bit is clear when
    // rescheduling is needed.
    (both as u32, both >> 63 == 0)
}

/// The preemption counter of this CPU, and whether rescheduling is needed.
#[cfg(not(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS))]
#[inline(always)]
pub(super) fn preempt_count() -> (u32, bool) {
    // Clear when rescheduling is needed.
    const PREEMPT_NEED_RESCHED: u32 = 1 << 31;

    let count: u32;
    // SAFETY: As in `current`.
    unsafe {
        asm!(
            "mov {count:e}, dword ptr gs:[rip + {preempt_count}]",
            count = out(reg) count,
            preempt_count = sym bindings::__preempt_count,
            options(nostack, readonly, preserves_flags),
        );
    }
    (
        count & !PREEMPT_NEED_RESCHED,
        count & PREEMPT_NEED_RESCHED == 0,
    )
}

/// Whether the interrupted code had interrupts disabled.
#[inline(always)]
pub(super) fn irqs_disabled(regs: &bindings::pt_regs) -> bool {
    word(regs.flags) & X86_EFLAGS_IF == 0
}

/// The instruction pointer.
#[inline(always)]
pub(super) fn instruction_pointer(regs: &bindings::pt_regs) -> u64 {
    word(regs.ip)
}

/// The stack pointer of the interrupted code.
#[inline(always)]
pub(super) fn stack_pointer(regs: &bindings::pt_regs) -> u64 {
    word(regs.sp)
}

/// The value that a function returns.
#[inline(always)]
pub(super) fn return_value(regs: &bindings::pt_regs) -> u64 {
    word(regs.ax)
}

/// The argument register number `n`; 0 from [`REGISTER_ARGUMENTS`] on.
#[inline(always)]
pub(super) fn argument_register(regs: &bindings::pt_regs, n: usize) -> u64 {
    word(match n {
        0 => regs.di,
        1 => regs.si,
        2 => regs.dx,
        3 => regs.cx,
        4 => regs.r8,
        5 => regs.r9,
        _ => 0,
    })
}

/// Index, in words from the stack pointer, of the first argument on the stack
/// at a function's entry: the return address lies below it.
pub(super) const STACK_ARGUMENT_INDEX: u64 = 1;

/// The return address at a function's entry, when a register holds it.
#[inline(always)]
pub(super) fn return_address_register(_regs: &bindings::pt_regs) -> Option<u64> {
    None
}

/// Replaces the pair at `pair` by `new` if it equals `old`, in one instruction.
///
/// Atomic against interrupts on this CPU, not against other CPUs: there is no
/// lock prefix, which would cost many times as much.
///
/// # Safety
///
/// `pair` must be valid for reads and writes, and aligned to 16 bytes.
#[inline(always)]
pub(super) unsafe fn compare_exchange_pair(
    pair: *mut u64,
    old: (u64, u64),
    new: (u64, u64),
) -> bool {
    let equal: u64;
    // SAFETY: The caller promises that `pair` can be accessed. The instruction
    // takes half of the new pair in rbx, which LLVM keeps to itself: so rbx is
    // exchanged around it, and all operands have registers that are not rbx.
    unsafe {
        asm!(
            "xchg rsi, rbx",
            "cmpxchg16b xmmword ptr [rdi]",
            "sete al",
            "mov rbx, rsi",
            inout("rsi") new.0 => _,
            in("rdi") pair,
            inout("rax") old.0 => equal,
            inout("rdx") old.1 => _,
            in("rcx") new.1,
            options(nostack),
        );
    }
    equal & 0xff != 0
}

/// The name of the counter among the clocks of tracing.
pub(super) const COUNTER_NAME: &str = "x86-tsc";

/// The processor's counter: of time stamps.
///
/// Not ordered with what stands before and behind it, as the scheduler's clock
/// is not either; that would cost more than all else that a hit does.
#[inline(always)]
pub(super) fn counter() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: The instruction exists on every 64-bit processor, and touches no
    // memory.
    unsafe {
        asm!(
            "rdtsc",
            out("rax") low,
            out("rdx") high,
            options(nomem, nostack, preserves_flags),
        );
    }
    high << 32 | low
}

/// Whether [`compare_exchange_pair`] works on this machine.
pub(super) fn has_compare_exchange_pair() -> bool {
    // CPUID leaf 1, ECX bit 13: CMPXCHG16B.
    // SAFETY: CPUID exists on every 64-bit processor.
    let leaf = unsafe { core::arch::x86_64::__cpuid(1) };
    leaf.ecx & (1 << 13) != 0
}

/// Adds 1 to `counter` in one instruction.
///
/// Atomic against interrupts on this CPU, not against other CPUs.
///
/// # Safety
///
/// `counter` must be valid for reads and writes, and aligned.
#[inline(always)]
pub(super) unsafe fn local_increment(counter: *mut u64) {
    // SAFETY: The caller promises that `counter` can be accessed.
    unsafe {
        asm!(
            "inc qword ptr [{counter}]",
            counter = in(reg) counter,
            options(nostack),
        );
    }
}

/// Adds `value` to `counter` in one instruction.
///
/// Atomic against interrupts on this CPU, not against other CPUs.
///
/// # Safety
///
/// `counter` must be valid for reads and writes, and aligned.
#[inline(always)]
pub(super) unsafe fn local_add(counter: *mut u64, value: u64) {
    // SAFETY: The caller promises that `counter` can be accessed.
    unsafe {
        asm!(
            "add qword ptr [{counter}], {value}",
            counter = in(reg) counter,
            value = in(reg) value,
            options(nostack),
        );
    }
}
