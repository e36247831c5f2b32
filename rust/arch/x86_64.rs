// SPDX-License-Identifier: GPL-2.0

//! The architecture-dependent part for x86-64.

use super::super::{bindings as extra, context::EntryWay, word};
use core::{arch::asm, mem, ptr};
use kernel::{bindings, str::CStr};
use pin_init::Zeroable;

/// Variables of each CPU: in symbols of their own, or together in one, see `rust/series`.
mod per_cpu {
    #[cfg(not(have_pcpu_hot))]
    pub(super) use kernel::bindings::{
        __preempt_count as COUNT, cpu_number as CPU, current_task as TASK,
    };
    #[cfg(have_pcpu_hot)]
    pub(super) use kernel::bindings::{pcpu_hot as COUNT, pcpu_hot as CPU, pcpu_hot as TASK};
}

/// Number of arguments that a function receives in registers.
pub(in super::super) const REGISTER_ARGUMENTS: usize = 6;

/// The symbol to which functions return while a kretprobe follows them.
pub(in super::super) const RETURN_TRAMPOLINE: &CStr = c"arch_rethook_trampoline";

/// The number of a tracepoint's arguments in registers, besides the pointer for the probe.
pub(in super::super) const TRACEPOINT_ARGUMENTS: usize = 5;

/// Calls a macro with a name for each argument in a register.
macro_rules! with_tracepoint_arguments {
    ($call:ident) => {
        $call! { a b c d e }
    };
}
pub(in super::super) use with_tracepoint_arguments;

/// Bit of `EFLAGS` that is set while interrupts are enabled.
const X86_EFLAGS_IF: u64 = 1 << 9;

/// Returns whether the instruction with the first `byte` is a breakpoint. An armed probe may also
/// be a call of ftrace or a jump.
pub(in super::super) const fn is_trap([byte, ..]: [u8; 4]) -> bool {
    byte == 0xcc
}

/// Reads this CPU's instance of `$variable`, by an instruction for its size.
macro_rules! this_cpu {
    ($load:literal, $variable:path) => { this_cpu!($load, $variable, 0) };
    ($load:literal, $variable:path, $at:expr) => {{
        let value;
        // SAFETY: Reads a per-CPU variable of the kernel through the segment base that
        // the kernel sets for it; accesses nothing else.
        unsafe {
            asm!(
                $load,
                value = out(reg) value,
                variable = sym $variable,
                at = const $at,
                options(nostack, readonly, preserves_flags),
            );
        }
        value
    }};
}

/// Returns the task that runs on this CPU.
///
/// Read again on each call: keeping it in a register costs more if registers are scarce.
#[inline(always)]
pub(in super::super) fn current() -> *const bindings::task_struct {
    this_cpu!(
        "mov {value}, gs:[rip + {variable} + {at}]",
        per_cpu::TASK,
        extra::FERROPROBE_TASK_AT
    )
}

/// Returns the number of this CPU.
#[inline(always)]
pub(in super::super) fn cpu() -> u32 {
    this_cpu!(
        "mov {value:e}, gs:[rip + {variable} + {at}]",
        per_cpu::CPU,
        extra::FERROPROBE_CPU_AT
    )
}

/// What a CPU needs to find its instance of per-CPU memory: nothing, as a segment register has the
/// base.
#[derive(Clone, Copy)]
pub(in super::super) struct PerCpuBase;

#[inline(always)]
pub(in super::super) fn per_cpu_base() -> PerCpuBase {
    PerCpuBase
}

/// Returns the per-CPU offset of the CPU that the base belongs to, which is this CPU.
#[inline(always)]
pub(in super::super) fn offset_from(_: PerCpuBase) -> usize {
    per_cpu_offset()
}

/// Returns the offset of this CPU's instance of per-CPU memory.
#[inline(always)]
pub(in super::super) fn per_cpu_offset() -> usize {
    this_cpu!(
        "mov {value}, gs:[rip + {variable} + {at}]",
        bindings::this_cpu_off
    )
}

/// Returns how a kprobe that ftrace does not call was entered: by a trap, or by the jump of an
/// optimised one.
///
/// The jump leads to code that saves the registers right on top of the probed code's stack. The
/// kernel enters a trap with a gap between the two, for an instruction that it emulates.
#[inline(always)]
pub(in super::super) fn trap_or_jump(regs: &bindings::pt_regs) -> EntryWay {
    let end = ptr::from_ref(regs).wrapping_add(1);
    if word(end.addr()) == stack_pointer(regs) {
        EntryWay::Jump
    } else {
        EntryWay::Trap
    }
}

/// What a tracepoint and the entry to its handler add to the preemption counter.
const AT_TRACEPOINT: u32 = extra::FERROPROBE_PREEMPT_OFFSET + extra::FERROPROBE_TRACEPOINT_OFFSET;

/// Returns what the path from the probed code to a handler adds to the preemption counter.
///
/// A trap is entered in the same way as an NMI. Everything else only disables preemption.
#[inline(always)]
pub(in super::super) fn added_by(entry: EntryWay) -> u32 {
    match entry {
        EntryWay::Trap => {
            extra::FERROPROBE_NMI_OFFSET.wrapping_add(extra::FERROPROBE_HARDIRQ_OFFSET)
        }
        EntryWay::Followed => extra::FERROPROBE_PREEMPT_OFFSET.wrapping_mul(2),
        EntryWay::Jump | EntryWay::Call | EntryWay::Return | EntryWay::Program => {
            extra::FERROPROBE_PREEMPT_OFFSET
        }
        EntryWay::Tracepoint => AT_TRACEPOINT,
        EntryWay::Interrupt => extra::FERROPROBE_HARDIRQ_OFFSET,
    }
}

/// Returns whether ftrace may call a handler, entered in this way, from its list, which adds more
/// to the preemption counter than [`added_by`] returns. A kprobe that ftrace calls counts as a
/// jump.
#[inline(always)]
pub(in super::super) fn may_be_listed(entry: EntryWay) -> bool {
    matches!(entry, EntryWay::Call | EntryWay::Jump)
}

/// [`is_plain`] for [`EntryWay::Followed`].
#[inline(always)]
pub(in super::super) fn is_plain_followed() -> bool {
    let count = extra::FERROPROBE_PREEMPT_OFFSET.wrapping_mul(2);
    raw_preempt_count() == RawCount::from(count) | PREEMPT_NEED_RESCHED
}

/// Returns whether [`preempt_count`] holds only what the path from the probed code added. `entry`
/// may report a jump as a trap.
#[inline(always)]
pub(in super::super) fn is_plain(entry: impl Fn() -> EntryWay) -> bool {
    let now = raw_preempt_count();
    let plain = |entry| RawCount::from(added_by(entry)) | PREEMPT_NEED_RESCHED;
    // The most frequent case first. After a jump, preemption is disabled, even in an NMI.
    now == plain(EntryWay::Jump)
        || (now == plain(EntryWay::Trap) && entry() == EntryWay::Trap)
        || (extra::FERROPROBE_TRACEPOINT_OFFSET != 0
            && now == plain(EntryWay::Tracepoint)
            && entry() == EntryWay::Tracepoint)
}

/// Returns the value of [`raw_preempt_count`] in a handler with a plain context.
#[inline(always)]
pub(in super::super) fn plain_count(entry: EntryWay) -> RawCount {
    RawCount::from(added_by(entry)) | PREEMPT_NEED_RESCHED
}

/// Returns the preemption counter of this CPU, and whether rescheduling is needed.
#[inline(always)]
pub(in super::super) fn preempt_count() -> (u32, bool) {
    let raw = raw_preempt_count();
    // CAST: The counter is in the lower half.
    (
        (raw & !PREEMPT_NEED_RESCHED) as u32,
        raw & PREEMPT_NEED_RESCHED == 0,
    )
}

/// Increments the preemption counter of this CPU, if the kernel has one.
#[inline(always)]
pub(in super::super) fn increment_preempt_count() {
    #[cfg(CONFIG_PREEMPT_COUNT)]
    // SAFETY: Increments the counter in one instruction; a counter that is too high makes
    // nothing unsafe.
    unsafe {
        asm!(
            "inc dword ptr gs:[rip + {count} + {at}]",
            count = sym per_cpu::COUNT,
            at = const extra::FERROPROBE_COUNT_AT,
            options(nostack),
        );
    }
}

/// Undoes [`increment_preempt_count`]. Returns whether preemption is enabled now and
/// rescheduling is needed: then the whole word is 0.
///
/// # Safety
///
/// The caller must have incremented the counter, and no longer rely on that.
#[inline(always)]
pub(in super::super) unsafe fn decrement_preempt_count() -> bool {
    macro_rules! decrement {
        ($instruction:literal) => {
            // SAFETY: By the requirement of this function.
            unsafe {
                asm!(
                    $instruction,
                    "jz {resched}",
                    count = sym per_cpu::COUNT,
                    at = const extra::FERROPROBE_COUNT_AT,
                    resched = label { return true },
                    options(nostack),
                );
            }
        };
    }
    #[cfg(all(CONFIG_PREEMPT_COUNT, CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS))]
    decrement!("dec qword ptr gs:[rip + {count} + {at}]");
    #[cfg(all(CONFIG_PREEMPT_COUNT, not(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS)))]
    decrement!("dec dword ptr gs:[rip + {count} + {at}]");
    false
}

/// Returns whether interrupts are disabled on this CPU.
#[inline(always)]
pub(in super::super) fn irqs_disabled_here() -> bool {
    let flags: u64;
    // SAFETY: Reads the flags by way of the stack.
    unsafe { asm!("pushfq", "pop {flags}", flags = out(reg) flags, options(preserves_flags)) };
    flags & X86_EFLAGS_IF == 0
}

/// The type of the kernel's word that holds the preemption counter.
#[cfg(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS)]
pub(in super::super) type RawCount = u64;
/// The type of the kernel's word that holds the preemption counter.
#[cfg(not(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS))]
pub(in super::super) type RawCount = u32;

/// The highest bit of the word: clear if rescheduling is needed.
const PREEMPT_NEED_RESCHED: RawCount = 1 << (RawCount::BITS - 1);

/// Returns the word that holds the preemption counter of this CPU.
#[cfg(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS)]
#[inline(always)]
pub(in super::super) fn raw_preempt_count() -> RawCount {
    this_cpu!(
        "mov {value}, gs:[rip + {variable} + {at}]",
        per_cpu::COUNT,
        extra::FERROPROBE_COUNT_AT
    )
}

/// Returns the word that holds the preemption counter of this CPU.
#[cfg(not(CONFIG_HAS_SEPARATE_PREEMPT_RESCHED_BITS))]
#[inline(always)]
pub(in super::super) fn raw_preempt_count() -> RawCount {
    this_cpu!(
        "mov {value:e}, gs:[rip + {variable} + {at}]",
        per_cpu::COUNT,
        extra::FERROPROBE_COUNT_AT
    )
}

/// Returns whether the interrupted code had interrupts disabled.
#[inline(always)]
pub(in super::super) fn irqs_disabled(regs: &bindings::pt_regs) -> bool {
    word(regs.flags) & X86_EFLAGS_IF == 0
}

#[inline(always)]
pub(in super::super) fn instruction_pointer(regs: &bindings::pt_regs) -> u64 {
    word(regs.ip)
}

/// Returns the address of a kprobe entered as `entry` says, whose registers name the instruction
/// `ip`: behind the breakpoint, or as if there were one.
pub(in super::super) fn probed_address(ip: u64, entry: EntryWay) -> u64 {
    match entry {
        EntryWay::Trap | EntryWay::Jump | EntryWay::Call => ip.wrapping_sub(1),
        EntryWay::Return | EntryWay::Followed | EntryWay::Tracepoint => ip,
        EntryWay::Program | EntryWay::Interrupt => ip,
    }
}

/// Returns the stack pointer of the interrupted code.
#[inline(always)]
pub(in super::super) fn stack_pointer(regs: &bindings::pt_regs) -> u64 {
    word(regs.sp)
}

/// Returns the register that holds a function's return value.
#[inline(always)]
pub(in super::super) fn return_value(regs: &bindings::pt_regs) -> u64 {
    word(regs.ax)
}

/// Returns the number of the current system call; negative outside of one.
#[inline(always)]
pub(in super::super) fn call_number(regs: &bindings::pt_regs) -> i32 {
    // CAST: The number is the low half, as the kernel takes it.
    regs.orig_ax as i32
}

/// Returns the arguments of the current system call.
#[inline(always)]
pub(in super::super) fn call_arguments(regs: &bindings::pt_regs) -> [u64; 6] {
    [
        word(regs.di),
        word(regs.si),
        word(regs.dx),
        word(regs.r10),
        word(regs.r8),
        word(regs.r9),
    ]
}

/// Returns the arguments of the current 32-bit system call, in the low halves.
pub(in super::super) fn compat_call_arguments(regs: &bindings::pt_regs) -> [u64; 6] {
    [
        word(regs.bx),
        word(regs.cx),
        word(regs.dx),
        word(regs.si),
        word(regs.di),
        word(regs.bp),
    ]
}

/// Returns whether the current task is in a 32-bit system call.
#[inline(always)]
pub(in super::super) fn is_in_compat_call() -> bool {
    // SAFETY: The current task exists while it runs.
    let status = unsafe { (&raw const (*current()).thread_info.status).read_volatile() };
    // CAST: The bit is among the low ones.
    status as u32 & extra::FERROPROBE_COMPAT_CALL != 0
}

/// Returns argument register `n`; 0 if `n` is [`REGISTER_ARGUMENTS`] or more.
#[inline(always)]
pub(in super::super) fn argument_register(regs: &bindings::pt_regs, n: usize) -> u64 {
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

/// Index of the first stack argument at a function's entry, in words from the stack
/// pointer: the return address lies below it.
pub(in super::super) const STACK_ARGUMENT_INDEX: u64 = 1;

/// Returns the return address at a function's entry if a register holds it.
#[inline(always)]
pub(in super::super) fn return_address_register(_regs: &bindings::pt_regs) -> Option<u64> {
    None
}

/// Replaces `*word` by `new` if it equals `old`, and returns whether it did.
///
/// Atomic against interrupts on this CPU, not against other CPUs: it has no lock prefix,
/// which would cost many times as much.
///
/// # Safety
///
/// `word` must be valid for reads and writes, and aligned.
#[inline(always)]
pub(in super::super) unsafe fn local_compare_exchange(word: *mut u64, old: u64, new: u64) -> bool {
    // SAFETY: The caller guarantees that `word` can be accessed.
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
pub(in super::super) fn store<const N: usize>(to: &mut [u8; N], from: [u8; N]) {
    *to = from;
}

/// Stores `from` at the offset `at` of `to`. Returns false if it does not fit.
#[inline(always)]
pub(in super::super) fn store_at<const N: usize>(to: &mut [u8], at: usize, from: [u8; N]) -> bool {
    let place = to.get_mut(at..at.wrapping_add(N));
    match place.and_then(|place| place.first_chunk_mut()) {
        Some(place) => *place = from,
        None => return false,
    }
    true
}

/// Bytes: more than any read covers.
const FAR: u64 = 1 << 17;

/// Returns whether a read at `address` touches only memory that only the kernel can map,
/// so that [`read_nofault`] alone handles its faults.
///
/// The `vsyscall` page lies in the kernel's half, but faults like a page of user space.
#[inline(always)]
pub(in super::super) fn is_kernel_only(address: u64) -> bool {
    // Covers an access that begins before the page and ends in it.
    const BEFORE: u64 = 7;
    let into_vsyscall = address.wrapping_add(extra::FERROPROBE_VSYSCALL_TO_TOP + BEFORE);
    address >> 63 != 0 && into_vsyscall >= 4096 + BEFORE
}

/// Copies the `N` bytes at `from`, 1, 2, 4 or 8, in one access; returns `false` if the
/// memory is not mapped.
///
/// # Safety
///
/// [`is_kernel_only`] must be true for `from`.
#[inline(always)]
pub(in super::super) unsafe fn read_nofault<const N: usize>(from: u64, to: &mut [u8; N]) -> bool {
    // Unlike the kernel's reads of user memory, this read may meet an address that is not
    // canonical. The exception table entry therefore has a type that does not warn about
    // one.
    macro_rules! copy {
        ($load:literal, $store:literal) => {
            // SAFETY: Writes the bytes of `to` only. If the memory is not mapped, the
            // kernel continues at `fault`.
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

/// Returns whether reads of up to [`FAR`] bytes from `address` touch only memory that only the
/// kernel can map; false also at the end of the address space, behind the `vsyscall` page.
#[inline(always)]
pub(in super::super) fn is_kernel_only_far(address: u64) -> bool {
    const HALF: u64 = 1 << 63;
    const LIMIT: u64 = extra::FERROPROBE_VSYSCALL_TO_TOP.wrapping_neg() - HALF - FAR;
    address.wrapping_sub(HALF) < LIMIT
}

/// [`is_kernel_only_far`] for reads that begin up to seven bytes before `address`.
#[inline(always)]
pub(in super::super) fn is_kernel_only_around(address: u64) -> bool {
    // Addresses before the kernel's half are not canonical; reads of them fault as well.
    is_kernel_only_far(address)
}

/// An exception table entry for the instruction at a local label; its fault continues at the
/// operand `fault`.
macro_rules! exception {
    ($at:literal) => {
        concat!(
            ".pushsection __ex_table, \"aM\", @progbits, 12\n",
            ".balign 4\n.long ",
            $at,
            "b - .\n.long {fault} - .\n.long {kind}\n.popsection"
        )
    };
}

/// Reads two words and the low half of a third, at `offsets` from `from`; returns `false` if one is
/// not mapped.
///
/// # Safety
///
/// [`is_kernel_only_far`] must be true for `from`.
#[inline(always)]
pub(in super::super) unsafe fn read_three_nofault(
    from: u64,
    offsets: [u16; 3],
    to: &mut [u64; 3],
) -> bool {
    let [first, second, third] = offsets.map(u64::from);
    // SAFETY: Reads less than `FAR` bytes behind `from`, and writes the words of `to` only. If the
    // memory is not mapped, the kernel continues at `fault`.
    unsafe {
        asm!(
            "2: mov {value}, qword ptr [{from} + {first}]",
            "mov qword ptr [{to}], {value}",
            "3: mov {value}, qword ptr [{from} + {second}]",
            "mov qword ptr [{to} + 8], {value}",
            "4: mov {value:e}, dword ptr [{from} + {third}]",
            "mov qword ptr [{to} + 16], {value}",
            exception!("2"),
            exception!("3"),
            exception!("4"),
            value = out(reg) _,
            from = in(reg) from,
            first = in(reg) first,
            second = in(reg) second,
            third = in(reg) third,
            to = in(reg) to.as_mut_ptr(),
            fault = label { return false },
            kind = const extra::FERROPROBE_EX_TYPE,
            options(nostack, preserves_flags),
        );
    }
    true
}

/// Copies the `length` bytes at `from`, extended downwards to whole words, from the last word to
/// the first; returns `false` if the memory is not mapped.
///
/// # Safety
///
/// There must be one of them at least, and at most 64 KiB. [`is_kernel_only_around`] must be true
/// for `from`; [`is_kernel_only_far`] suffices for whole words. As many bytes must be valid for
/// writes at `to`, and before it.
#[inline(always)]
pub(in super::super) unsafe fn read_words_nofault(from: u64, to: *mut u8, length: usize) -> bool {
    // SAFETY: Reads and writes whole words that end with the last of the `length` bytes, as the
    // caller guarantees is allowed. If the memory is not mapped, the kernel continues at `fault`.
    unsafe {
        asm!(
            "2: mov {value}, qword ptr [{from} + {left} - 8]",
            "mov qword ptr [{to} + {left} - 8], {value}",
            "sub {left}, 8",
            "ja 2b",
            exception!("2"),
            value = out(reg) _,
            from = in(reg) from,
            left = inout(reg) length => _,
            to = in(reg) to,
            fault = label { return false },
            kind = const extra::FERROPROBE_EX_TYPE,
            options(nostack),
        );
    }
    true
}

/// Copies `count` times sixteen bytes, in ascending order.
///
/// # Safety
///
/// They must be valid for reads at `from` and for writes at `to`, and be one time at least. Where
/// both overlap, `to` must be below `from`.
#[inline(always)]
pub(in super::super) unsafe fn copy_up(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: The caller guarantees that the memory can be accessed. Each sixteen bytes are loaded
    // before anything is stored there or behind.
    unsafe {
        asm!(
            "2: mov {a}, qword ptr [{from}]",
            "mov {b}, qword ptr [{from} + 8]",
            "mov qword ptr [{to}], {a}",
            "mov qword ptr [{to} + 8], {b}",
            "add {from}, 16",
            "add {to}, 16",
            "dec {count}",
            "jnz 2b",
            a = out(reg) _,
            b = out(reg) _,
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            count = inout(reg) count => _,
            options(nostack),
        );
    }
}

/// Copies `from` to `to`. 32 bytes are copied by explicit instructions, because the
/// compiler turns a loop into a call of `memcpy()`.
#[inline(always)]
pub(in super::super) fn copy<const N: usize>(to: &mut [u8; N], from: &[u8; N]) {
    if N != 32 {
        *to = *from;
        return;
    }
    // SAFETY: Reads as many bytes as `from` has and writes as many as `to` has.
    unsafe {
        asm!(
            "mov {a}, [{from}]",
            "mov {b}, [{from} + 8]",
            "mov [{to}], {a}",
            "mov [{to} + 8], {b}",
            "mov {a}, [{from} + 16]",
            "mov {b}, [{from} + 24]",
            "mov [{to} + 16], {a}",
            "mov [{to} + 24], {b}",
            from = in(reg) from.as_ptr(),
            to = in(reg) to.as_mut_ptr(),
            a = out(reg) _,
            b = out(reg) _,
            options(nostack, preserves_flags),
        );
    }
}

/// The name of the counter among the trace clocks.
pub(in super::super) const COUNTER_NAME: &str = "x86-tsc";

/// The shifts that convert the counter to nanoseconds: to the left before the
/// multiplication by nanoseconds per count, to the right after it.
pub(in super::super) const SCALE: (u32, u32) = (0, 32);

/// Returns the processor's counter: the time stamp counter.
///
/// Not ordered with the surrounding instructions, as in the scheduler's clock; a barrier
/// would cost more than the rest of a hit.
#[inline(always)]
pub(in super::super) fn counter() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: The instruction exists on every 64-bit processor, and accesses no memory.
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

/// Adds 1 to `*counter` in one instruction.
///
/// Atomic against interrupts on this CPU, not against other CPUs.
///
/// # Safety
///
/// `counter` must be valid for reads and writes, and aligned.
#[inline(always)]
pub(in super::super) unsafe fn local_increment(counter: *mut u64) {
    // SAFETY: The caller guarantees that `counter` can be accessed.
    unsafe {
        asm!(
            "inc qword ptr [{counter}]",
            counter = in(reg) counter,
            options(nostack),
        );
    }
}

/// Adds 1 to this CPU's instance of the per-CPU word at `counter`, in one instruction;
/// see [`local_increment`].
///
/// # Safety
///
/// `counter` must be per-CPU memory, and aligned.
#[inline(always)]
pub(in super::super) unsafe fn this_cpu_increment(counter: *mut u64, _: PerCpuBase) {
    // SAFETY: The caller guarantees that `counter` is per-CPU memory; the kernel's
    // segment base leads to this CPU's instance of it.
    unsafe {
        asm!(
            "inc qword ptr gs:[{counter}]",
            counter = in(reg) counter,
            options(nostack),
        );
    }
}

/// Adds `value` to `*counter` in one instruction.
///
/// Atomic against interrupts on this CPU, not against other CPUs.
///
/// # Safety
///
/// `counter` must be valid for reads and writes, and aligned.
#[inline(always)]
pub(in super::super) unsafe fn local_add(counter: *mut u64, value: u64) {
    // SAFETY: The caller guarantees that `counter` can be accessed.
    unsafe {
        asm!(
            "add qword ptr [{counter}], {value}",
            counter = in(reg) counter,
            value = in(reg) value,
            options(nostack),
        );
    }
}

/// What ftrace saves at a function's entry: `struct pt_regs`, mostly unset.
pub(in super::super) type EntryRegs = bindings::pt_regs;

/// Returns register `index` of `struct pt_regs`; 0 if there is none, and an arbitrary number if
/// ftrace does not save it.
#[inline(always)]
pub(in super::super) fn entry_word(regs: &EntryRegs, index: usize) -> u64 {
    /// The number of registers.
    const COUNT: usize = mem::size_of::<EntryRegs>() / mem::size_of::<u64>();

    if index >= COUNT {
        return 0;
    }
    // SAFETY: The structure consists of words, and this one is in it. ftrace reserves memory
    // of the stack for all of them; what is not saved has the value that was there before.
    unsafe { ptr::from_ref(regs).cast::<u64>().add(index).read() }
}

/// Returns argument register `n`; 0 if `n` is [`REGISTER_ARGUMENTS`] or more.
#[cfg(CONFIG_CFI)]
pub(in super::super) fn entry_argument(regs: &EntryRegs, n: usize) -> u64 {
    argument_register(regs, n)
}

/// Returns the stack pointer, which points to the return address.
#[inline(always)]
pub(in super::super) fn entry_stack_pointer(regs: &EntryRegs) -> u64 {
    word(regs.sp)
}

/// Returns the stack pointer after a function's return.
#[inline(always)]
pub(in super::super) fn exit_stack_pointer(regs: &EntryRegs) -> u64 {
    word(regs.sp)
}

/// Returns the address to which a function returns.
#[inline(always)]
pub(in super::super) fn exit_address(regs: &EntryRegs) -> u64 {
    word(regs.ip)
}

// Only on x86 the generated structures have bit fields.
// SAFETY: The type is a new name for its storage.
unsafe impl<Storage: Zeroable> Zeroable for extra::__BindgenBitfieldUnit<Storage> {}
