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

/// The value of this CPU's instance of `$variable`, by an instruction for its size.
macro_rules! this_cpu {
    ($load:literal, $variable:path) => {{
        let value;
        // SAFETY: Reads a per-CPU variable of the kernel through the segment base
        // that the kernel sets for it; touches nothing else.
        unsafe {
            asm!(
                $load,
                value = out(reg) value,
                variable = sym $variable,
                options(nostack, readonly, preserves_flags),
            );
        }
        value
    }};
}

/// The task that runs on this CPU.
///
/// Read each time: to keep it in a register costs more where registers are few.
#[inline(always)]
pub(super) fn current() -> *const bindings::task_struct {
    this_cpu!("mov {value}, gs:[rip + {variable}]", bindings::current_task)
}

/// The number of this CPU.
#[inline(always)]
pub(super) fn cpu() -> u32 {
    this_cpu!("mov {value:e}, gs:[rip + {variable}]", bindings::cpu_number)
}

/// What a CPU needs to know to find its instance of per-CPU memory: nothing, a
/// segment register leads there.
#[derive(Clone, Copy)]
pub(super) struct PerCpuBase;

/// That of this CPU.
#[inline(always)]
pub(super) fn per_cpu_base() -> PerCpuBase {
    PerCpuBase
}

/// The offset of the instances of per-CPU memory on the CPU with that base, which is
/// this one.
#[inline(always)]
pub(super) fn offset_from(_: PerCpuBase) -> usize {
    per_cpu_offset()
}

/// The offset of this CPU's instance of per-CPU memory.
#[inline(always)]
pub(super) fn per_cpu_offset() -> usize {
    this_cpu!("mov {value}, gs:[rip + {variable}]", bindings::this_cpu_off)
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
    let now = raw_preempt_count();
    let plain = |count: u32| RawCount::from(count) | PREEMPT_NEED_RESCHED;
    let trap = extra::FERROPROBE_NMI_OFFSET.wrapping_add(extra::FERROPROBE_HARDIRQ_OFFSET);
    // First what is usual.
    now == plain(extra::FERROPROBE_PREEMPT_OFFSET) || (now == plain(trap) && entry() == Entry::Trap)
}

/// The preemption counter of this CPU, and whether rescheduling is needed.
#[inline(always)]
pub(super) fn preempt_count() -> (u32, bool) {
    let raw = raw_preempt_count();
    // CAST: The counter is in the lower half.
    (
        (raw & !PREEMPT_NEED_RESCHED) as u32,
        raw & PREEMPT_NEED_RESCHED == 0,
    )
}

/// The kernel's word with the preemption counter.
#[cfg(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS)]
type RawCount = u64;
/// The kernel's word with the preemption counter.
#[cfg(not(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS))]
type RawCount = u32;

/// The highest bit of the word: clear when rescheduling is needed.
const PREEMPT_NEED_RESCHED: RawCount = 1 << (RawCount::BITS - 1);

/// The word with the preemption counter of this CPU.
#[cfg(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS)]
#[inline(always)]
fn raw_preempt_count() -> RawCount {
    this_cpu!(
        "mov {value}, gs:[rip + {variable}]",
        bindings::__preempt_count
    )
}

/// The word with the preemption counter of this CPU.
#[cfg(not(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS))]
#[inline(always)]
fn raw_preempt_count() -> RawCount {
    this_cpu!(
        "mov {value:e}, gs:[rip + {variable}]",
        bindings::__preempt_count
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

/// Replaces `word` by `new` if it equals `old`, and says whether it did.
///
/// Atomic against interrupts on this CPU, not against other CPUs: there is no
/// lock prefix, which would cost many times as much.
///
/// # Safety
///
/// `word` must be valid for reads and writes, and aligned.
#[inline(always)]
pub(super) unsafe fn local_compare_exchange(word: *mut u64, old: u64, new: u64) -> bool {
    // SAFETY: The caller promises that `word` can be accessed.
    unsafe {
        asm!(
            "cmpxchg qword ptr [{word}], {new}",
            "jne {differs}",
            word = in(reg) word,
            new = in(reg) new,
            inout("rax") old => _,
            differs = label { return false },
            options(nostack),
        );
    }
    true
}

/// Stores `from` at `to`.
#[inline(always)]
pub(super) fn store<const N: usize>(to: &mut [u8; N], from: [u8; N]) {
    *to = from;
}

/// Whether a read at `address` touches nothing but what only the kernel can map, so
/// that a fault is that of [`read_nofault`] alone.
///
/// The page of `vsyscall` lies in the kernel's half, and faults as one of user space.
#[inline(always)]
pub(super) fn is_kernel_only(address: u64) -> bool {
    // With what begins before the page and ends in it.
    const BEFORE: u64 = 7;
    let into_vsyscall = address.wrapping_add(extra::FERROPROBE_VSYSCALL_TO_TOP + BEFORE);
    address >> 63 != 0 && into_vsyscall >= 4096 + BEFORE
}

/// Copies `N` bytes at `from`, 1, 2, 4 or 8, in one access; `false` where there is no
/// memory.
///
/// # Safety
///
/// [`is_kernel_only`] must say so of `from`.
#[inline(always)]
pub(super) unsafe fn read_nofault<const N: usize>(from: u64, to: &mut [u8; N]) -> bool {
    // Unlike the kernel's reads of user memory it may meet an address that is not
    // canonical, so its entry in the table of exceptions has the type that makes
    // nothing of that.
    macro_rules! copy {
        ($load:literal, $store:literal) => {
            // SAFETY: Writes the bytes of `to` only. Memory that is not there makes the
            // kernel go on at `fault`.
            unsafe {
                asm!(
                    concat!("2: ", $load),
                    $store,
                    ".pushsection __ex_table, \"aM\", @progbits, 12",
                    ".balign 4",
                    ".long 2b - .",
                    ".long {fault} - .",
                    ".long {kind}",
                    ".popsection",
                    value = out(reg) _,
                    from = in(reg) from,
                    to = in(reg) to.as_mut_ptr(),
                    fault = label { return false },
                    kind = const extra::FERROPROBE_EX_TYPE,
                    options(nostack, preserves_flags),
                )
            }
        };
    }
    match N {
        8 => copy!(
            "mov {value}, qword ptr [{from}]",
            "mov qword ptr [{to}], {value}"
        ),
        4 => copy!(
            "mov {value:e}, dword ptr [{from}]",
            "mov dword ptr [{to}], {value:e}"
        ),
        2 => copy!(
            "movzx {value:e}, word ptr [{from}]",
            "mov word ptr [{to}], {value:x}"
        ),
        _ => copy!(
            "movzx {value:e}, byte ptr [{from}]",
            "mov byte ptr [{to}], {value:l}"
        ),
    }
    true
}

/// Copies `from` to `to`: 32 bytes by hand, as the compiler takes a loop of them for a
/// call of `memcpy()`.
#[inline(always)]
pub(super) fn copy<const N: usize>(to: &mut [u8; N], from: &[u8; N]) {
    if N != 32 {
        *to = *from;
        return;
    }
    // SAFETY: Reads as many bytes as `from` has and writes as many as `to` has.
    unsafe {
        asm!(
            "mov {a}, [{from}]",
            "mov {b}, [{from} + 8]",
            "mov {c}, [{from} + 16]",
            "mov {d}, [{from} + 24]",
            "mov [{to}], {a}",
            "mov [{to} + 8], {b}",
            "mov [{to} + 16], {c}",
            "mov [{to} + 24], {d}",
            from = in(reg) from.as_ptr(),
            to = in(reg) to.as_mut_ptr(),
            a = out(reg) _,
            b = out(reg) _,
            c = out(reg) _,
            d = out(reg) _,
            options(nostack, preserves_flags),
        );
    }
}

/// The name of the counter among the clocks of tracing.
pub(super) const COUNTER_NAME: &str = "x86-tsc";

/// By how many bits the counter is shifted to the left before it is multiplied by
/// nanoseconds for each count, and the product to the right.
pub(super) const SCALE: (u32, u32) = (0, 32);

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

/// Adds 1 to this CPU's instance of the per-CPU word at `counter`, in one
/// instruction; see [`local_increment`].
///
/// # Safety
///
/// `counter` must be per-CPU memory, and aligned.
#[inline(always)]
pub(super) unsafe fn this_cpu_increment(counter: *mut u64, _: PerCpuBase) {
    // SAFETY: The kernel's segment base leads to this CPU's instance, of what the
    // caller promises to be per-CPU memory.
    unsafe {
        asm!(
            "inc qword ptr gs:[{counter}]",
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
