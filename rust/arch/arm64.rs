// SPDX-License-Identifier: GPL-2.0

//! The architecture-dependent part for arm64.

use super::super::{bindings as extra, context::EntryWay};
use core::arch::asm;
use core::sync::atomic::{compiler_fence, Ordering};
use kernel::{bindings, str::CStr};

/// Number of arguments that a function receives in registers.
pub(in super::super) const REGISTER_ARGUMENTS: usize = 8;

/// The symbol to which functions return while a kretprobe follows them.
pub(in super::super) const RETURN_TRAMPOLINE: &CStr = c"__kretprobe_trampoline";

/// The number of a tracepoint's arguments in registers, besides the pointer for the probe.
pub(in super::super) const TRACEPOINT_ARGUMENTS: usize = 7;

/// Calls a macro with a name for each argument in a register.
macro_rules! with_tracepoint_arguments {
    ($call:ident) => {
        $call! { a b c d e f g }
    };
}
pub(in super::super) use with_tracepoint_arguments;

/// Bit of `PSTATE` that masks IRQs.
const PSR_I_BIT: u64 = 1 << 7;

/// Returns whether `instruction` is a breakpoint.
pub(in super::super) const fn is_trap(instruction: [u8; 4]) -> bool {
    u32::from_le_bytes(instruction) & 0xffe0_001f == 0xd420_0000
}

/// Returns the task that runs on this CPU.
#[inline(always)]
pub(in super::super) fn current() -> *const bindings::task_struct {
    let task: *const bindings::task_struct;
    // SAFETY: Reads the register in which the kernel keeps the current task; accesses no
    // memory.
    unsafe {
        asm!(
            "mrs {task}, sp_el0",
            task = out(reg) task,
            options(nomem, nostack, pure, preserves_flags),
        );
    }
    task
}

/// Returns the number of this CPU.
#[inline(always)]
pub(in super::super) fn cpu() -> u32 {
    // SAFETY: The current task exists while code runs on its behalf, and only this CPU
    // writes the number.
    unsafe { (&raw const (*current()).thread_info.cpu).read_volatile() }
}

/// What a CPU needs to find its instance of per-CPU memory: the offset.
pub(in super::super) type PerCpuBase = usize;

#[inline(always)]
pub(in super::super) fn per_cpu_base() -> PerCpuBase {
    per_cpu_offset()
}

/// Returns the per-CPU offset of the CPU that `base` belongs to, which is this CPU.
#[inline(always)]
pub(in super::super) fn offset_from(base: PerCpuBase) -> usize {
    base
}

/// Returns the offset of this CPU's instance of per-CPU memory.
///
/// Reads the kernel's table instead of TPIDR_EL1: with VHE the kernel keeps the offset in
/// TPIDR_EL2, and only code that the kernel patches at boot can select the register.
#[inline(always)]
pub(in super::super) fn per_cpu_offset() -> usize {
    let table = (&raw const bindings::__per_cpu_offset).cast::<usize>();
    // SAFETY: The kernel's table has an entry for the number of every CPU that runs, and
    // is constant after boot.
    unsafe { table.add(cpu() as usize).read() }
}

/// Returns what the path from the probed code to a handler adds to the preemption counter.
///
/// A trap disables preemption. The trampoline of a return is also entered by a trap, and disables
/// preemption once more to exclude other probes. If functions have no room for a pointer to their
/// tracer, ftrace calls handlers from its list, with preemption disabled.
#[inline(always)]
pub(in super::super) fn added_by(entry: EntryWay) -> u32 {
    match entry {
        EntryWay::Call if cfg!(not(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS)) => {
            extra::FERROPROBE_PREEMPT_OFFSET.wrapping_mul(2)
        }
        EntryWay::Trap | EntryWay::Jump | EntryWay::Call | EntryWay::Program => {
            extra::FERROPROBE_PREEMPT_OFFSET
        }
        EntryWay::Tracepoint => {
            extra::FERROPROBE_PREEMPT_OFFSET.wrapping_add(extra::FERROPROBE_TRACEPOINT_OFFSET)
        }
        EntryWay::Return | EntryWay::Followed => extra::FERROPROBE_PREEMPT_OFFSET.wrapping_mul(2),
        EntryWay::Interrupt => extra::FERROPROBE_HARDIRQ_OFFSET,
    }
}

/// Returns whether ftrace may call a handler, entered in this way, from its list, which adds more
/// to the preemption counter than [`added_by`] returns.
#[inline(always)]
pub(in super::super) fn may_be_listed(entry: EntryWay) -> bool {
    cfg!(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS) && entry == EntryWay::Call
}

/// [`is_plain`] for [`EntryWay::Followed`].
#[inline(always)]
pub(in super::super) fn is_plain_followed() -> bool {
    is_plain(|| EntryWay::Followed)
}

/// Returns whether [`preempt_count`] holds only what the path from the probed code added.
#[inline(always)]
pub(in super::super) fn is_plain(entry: impl Fn() -> EntryWay) -> bool {
    raw_preempt_count() == u64::from(added_by(entry())) | NO_RESCHED
}

/// Returns the value of [`raw_preempt_count`] in a handler with a plain context.
#[inline(always)]
pub(in super::super) fn plain_count(entry: EntryWay) -> RawCount {
    u64::from(added_by(entry)) | NO_RESCHED
}

/// Returns the preemption counter of this CPU, and whether rescheduling is needed.
#[inline(always)]
pub(in super::super) fn preempt_count() -> (u32, bool) {
    let raw = raw_preempt_count();
    // CAST: The counter is the lower half.
    (raw as u32, raw & NO_RESCHED == 0)
}

/// The bit in the upper half of the counter's word that is clear if rescheduling is
/// needed.
const NO_RESCHED: u64 = 1 << 32;

/// The word that holds the preemption counter.
pub(in super::super) type RawCount = u64;

/// Returns the word that holds the preemption counter.
#[inline(always)]
pub(in super::super) fn raw_preempt_count() -> RawCount {
    // SAFETY: As in `cpu`.
    unsafe { (&raw const (*current()).thread_info.__bindgen_anon_1.preempt_count).read_volatile() }
}

/// Adds `delta` to the preemption counter, the lower half of its word, if the kernel has
/// one.
///
/// # Safety
///
/// Preemption must not become enabled while a caller relies on its being disabled.
#[inline(always)]
unsafe fn add_to_preempt_count(delta: u32) {
    if cfg!(CONFIG_PREEMPT_COUNT) {
        compiler_fence(Ordering::SeqCst);
        // SAFETY: As in `cpu`; the kernel is little-endian. Only this task and its interrupts
        // change the counter, and these leave it as it was.
        unsafe {
            let word = &raw const (*current()).thread_info.__bindgen_anon_1.preempt_count;
            let count = word.cast_mut().cast::<u32>();
            count.write_volatile(count.read_volatile().wrapping_add(delta));
        }
        compiler_fence(Ordering::SeqCst);
    }
}

/// Increments the preemption counter of this CPU, if the kernel has one.
#[inline(always)]
pub(in super::super) fn increment_preempt_count() {
    // SAFETY: Preemption becomes or stays disabled.
    unsafe { add_to_preempt_count(1) };
}

/// Undoes [`increment_preempt_count`]. Returns whether preemption is enabled now and
/// rescheduling is needed: then the whole word is 0.
///
/// # Safety
///
/// The caller must have incremented the counter, and no longer rely on that.
#[inline(always)]
pub(in super::super) unsafe fn decrement_preempt_count() -> bool {
    // SAFETY: By the requirement of this function.
    unsafe { add_to_preempt_count(u32::MAX) };
    cfg!(CONFIG_PREEMPT_COUNT) && raw_preempt_count() == 0
}

/// Returns whether interrupts are disabled on this CPU.
#[inline(always)]
pub(in super::super) fn irqs_disabled_here() -> bool {
    let mask: u64;
    // SAFETY: Reads a register of the processor's state.
    unsafe {
        asm!("mrs {mask}, daif", mask = out(reg) mask, options(nomem, nostack, preserves_flags))
    };
    mask & PSR_I_BIT != 0
}

/// Returns the registers by their architectural names.
#[inline(always)]
fn user_regs(regs: &bindings::pt_regs) -> &bindings::user_pt_regs {
    // SAFETY: Both members of the union have the same layout, and any bits are valid in
    // either.
    unsafe { &regs.__bindgen_anon_1.user_regs }
}

/// Returns whether the interrupted code had interrupts disabled.
#[inline(always)]
pub(in super::super) fn irqs_disabled(regs: &bindings::pt_regs) -> bool {
    user_regs(regs).pstate & PSR_I_BIT != 0
}

#[inline(always)]
pub(in super::super) fn instruction_pointer(regs: &bindings::pt_regs) -> u64 {
    user_regs(regs).pc
}

/// Returns the address of a kprobe whose registers name the instruction `ip`: the same.
pub(in super::super) fn probed_address(ip: u64, _entry: EntryWay) -> u64 {
    ip
}

/// Returns the stack pointer of the interrupted code.
#[inline(always)]
pub(in super::super) fn stack_pointer(regs: &bindings::pt_regs) -> u64 {
    user_regs(regs).sp
}

/// Returns the register that holds a function's return value.
#[inline(always)]
pub(in super::super) fn return_value(regs: &bindings::pt_regs) -> u64 {
    argument_register(regs, 0)
}

/// Returns how a kprobe that ftrace does not call was entered. Always a trap: there are no
/// optimised kprobes.
#[inline(always)]
pub(in super::super) fn trap_or_jump(_regs: &bindings::pt_regs) -> EntryWay {
    EntryWay::Trap
}

/// Returns the number of the current system call; negative outside of one.
#[inline(always)]
pub(in super::super) fn call_number(regs: &bindings::pt_regs) -> i32 {
    regs.syscallno
}

/// Returns the arguments of the current system call.
#[inline(always)]
pub(in super::super) fn call_arguments(regs: &bindings::pt_regs) -> [u64; 6] {
    // The kernel passes the result in the register of the first argument.
    let mut arguments = [regs.orig_x0; 6];
    for (n, argument) in arguments.iter_mut().enumerate().skip(1) {
        *argument = argument_register(regs, n);
    }
    arguments
}

/// Returns the arguments of the current 32-bit system call, in the low halves.
pub(in super::super) fn compat_call_arguments(regs: &bindings::pt_regs) -> [u64; 6] {
    call_arguments(regs)
}

/// Returns whether the current task is in a 32-bit system call.
#[inline(always)]
pub(in super::super) fn is_in_compat_call() -> bool {
    // SAFETY: The current task exists while it runs.
    let flags = unsafe { (&raw const (*current()).thread_info.flags).read_volatile() };
    // CAST: The bit is among the low ones.
    flags as u32 & extra::FERROPROBE_COMPAT_CALL != 0
}

/// Returns argument register `n`; 0 if `n` is [`REGISTER_ARGUMENTS`] or more.
#[inline(always)]
pub(in super::super) fn argument_register(regs: &bindings::pt_regs, n: usize) -> u64 {
    if n < REGISTER_ARGUMENTS {
        user_regs(regs).regs.get(n).copied().unwrap_or(0)
    } else {
        0
    }
}

/// Index of the first stack argument at a function's entry, in words from the stack
/// pointer.
pub(in super::super) const STACK_ARGUMENT_INDEX: u64 = 0;

/// Returns the return address at a function's entry if a register holds it.
#[inline(always)]
pub(in super::super) fn return_address_register(regs: &bindings::pt_regs) -> Option<u64> {
    user_regs(regs).regs.get(30).copied()
}

/// The name of the counter among the trace clocks.
pub(in super::super) const COUNTER_NAME: &str = "cntvct";

/// The shifts that convert the counter to nanoseconds: to the left before the
/// multiplication by nanoseconds per count, to the right after it.
///
/// The right shift selects the upper half of the product. The counter counts at least
/// once in 64 ns and at most once in 1 ns; shifted by 6 bits it wraps after 9 years.
pub(in super::super) const SCALE: (u32, u32) = (6, 64);

/// Returns the processor's counter: the virtual timer's.
///
/// Not ordered with the surrounding instructions: a barrier would cost more than the rest
/// of a hit.
#[inline(always)]
pub(in super::super) fn counter() -> u64 {
    let count: u64;
    // SAFETY: Reads a register that every kernel may read.
    unsafe {
        asm!(
            "mrs {count}, cntvct_el0",
            count = out(reg) count,
            options(nomem, nostack, preserves_flags),
        );
    }
    count
}

/// Replaces `*word` by `new` if it equals `old`, and returns whether it did.
///
/// Atomic against interrupts on this CPU, not against other CPUs, and therefore without
/// ordering. Uses exclusives, because not every processor has CAS.
///
/// # Safety
///
/// `word` must be valid for reads and writes, and aligned.
#[inline(always)]
pub(in super::super) unsafe fn local_compare_exchange(word: *mut u64, old: u64, new: u64) -> bool {
    // SAFETY: The caller guarantees that `word` can be accessed. An interrupt between the
    // exclusives clears the monitor, so the store fails and the loop compares again; it
    // ends unless interrupts come without end. Leaving with the monitor set is allowed.
    unsafe {
        asm!(
            "2:",
            "ldxr {found}, [{word}]",
            "cmp {found}, {old}",
            "b.ne {differs}",
            "stxr {failed:w}, {new}, [{word}]",
            "cbnz {failed:w}, 2b",
            found = out(reg) _,
            failed = out(reg) _,
            word = in(reg) word,
            old = in(reg) old,
            new = in(reg) new,
            differs = label { return false },
            options(nostack),
        );
    }
    true
}

/// Stores `from` at `to`, in one instruction if there is one for `N` bytes.
///
/// The compiler targets strict alignment and would store byte by byte, but the kernel
/// enables unaligned accesses to normal memory.
#[inline(always)]
pub(in super::super) fn store<const N: usize>(to: &mut [u8; N], from: [u8; N]) {
    let at = to.as_mut_ptr();
    let word = |n: usize| {
        let bytes = from.get(n..).and_then(|from| from.first_chunk());
        u64::from_le_bytes(bytes.copied().unwrap_or([0; 8]))
    };
    let half = || u32::from_le_bytes(from.first_chunk().copied().unwrap_or([0; 4]));
    // SAFETY: Each instruction writes as many bytes as `to` has; `to` is memory of Rust,
    // and thus normal memory.
    unsafe {
        match N {
            16 => asm!(
                "stp {low}, {high}, [{at}]",
                at = in(reg) at,
                low = in(reg) word(0),
                high = in(reg) word(8),
                options(nostack, preserves_flags),
            ),
            8 => asm!(
                "str {value}, [{at}]",
                at = in(reg) at,
                value = in(reg) word(0),
                options(nostack, preserves_flags),
            ),
            4 => asm!(
                "str {value:w}, [{at}]",
                at = in(reg) at,
                value = in(reg) half(),
                options(nostack, preserves_flags),
            ),
            _ => *to = from,
        }
    }
}

/// Stores `from` at offset `at` of `to` like [`store`], without computing the address. Returns
/// false if it does not fit.
#[inline(always)]
pub(in super::super) fn store_at<const N: usize>(to: &mut [u8], at: usize, from: [u8; N]) -> bool {
    let base = to.as_mut_ptr();
    let place = to.get_mut(at..at.wrapping_add(N));
    let Some(place) = place.and_then(|place| place.first_chunk_mut::<N>()) else {
        return false;
    };
    let word = || u64::from_le_bytes(from.first_chunk().copied().unwrap_or([0; 8]));
    let half = || u32::from_le_bytes(from.first_chunk().copied().unwrap_or([0; 4]));
    // SAFETY: Each instruction writes the bytes of `place`, which is memory of Rust, and thus
    // normal memory.
    unsafe {
        match N {
            8 => asm!(
                "str {value}, [{base}, {at}]",
                base = in(reg) base,
                at = in(reg) at,
                value = in(reg) word(),
                options(nostack, preserves_flags),
            ),
            4 => asm!(
                "str {value:w}, [{base}, {at}]",
                base = in(reg) base,
                at = in(reg) at,
                value = in(reg) half(),
                options(nostack, preserves_flags),
            ),
            _ => store(place, from),
        }
    }
    true
}

/// Bytes: more than any read covers.
const FAR: u64 = 1 << 17;

/// Returns whether a read at `address` touches only memory that only the kernel can map,
/// so that [`read_nofault`] alone handles its faults.
///
/// Bit 55 selects one of the two translation tables; the bits above it may be a tag.
#[inline(always)]
pub(in super::super) fn is_kernel_only(address: u64) -> bool {
    address & 1 << 55 != 0
}

/// Copies the `N` bytes at `from`, 1, 2, 4 or 8, in one access; returns `false` if the
/// memory is not mapped.
///
/// # Safety
///
/// [`is_kernel_only`] must be true for `from`.
#[inline(always)]
pub(in super::super) unsafe fn read_nofault<const N: usize>(from: u64, to: &mut [u8; N]) -> bool {
    macro_rules! copy {
        ($load:literal, $store:literal) => {
            // SAFETY: Writes the bytes of `to` only. If the memory is not mapped, the
            // kernel continues at `fault`; its fixup may clear the zero register.
            unsafe {
                asm!(
                    concat!("2: ", $load),
                    $store,
                    ".pushsection __ex_table, \"a\"",
                    ".balign 4",
                    ".long 2b - .",
                    ".long {fault} - .",
                    ".short {kind}",
                    ".short {registers}",
                    ".popsection",
                    value = out(reg) _,
                    from = in(reg) from,
                    to = in(reg) to.as_mut_ptr(),
                    fault = label { return false },
                    kind = const extra::FERROPROBE_EX_TYPE,
                    registers = const 31 | 31 << 5,
                    options(nostack, preserves_flags),
                )
            }
        };
    }
    match N {
        8 => copy!("ldr {value}, [{from}]", "str {value}, [{to}]"),
        4 => copy!("ldr {value:w}, [{from}]", "str {value:w}, [{to}]"),
        2 => copy!("ldrh {value:w}, [{from}]", "strh {value:w}, [{to}]"),
        _ => copy!("ldrb {value:w}, [{from}]", "strb {value:w}, [{to}]"),
    }
    true
}

/// Returns whether reads of up to [`FAR`] bytes from `address` touch only memory that only the
/// kernel can map.
#[inline(always)]
pub(in super::super) fn is_kernel_only_far(address: u64) -> bool {
    is_kernel_only(address & address.wrapping_add(FAR))
}

/// [`is_kernel_only_far`] for reads that begin up to seven bytes before `address`.
#[inline(always)]
pub(in super::super) fn is_kernel_only_around(address: u64) -> bool {
    is_kernel_only_far(address.wrapping_sub(8))
}

/// An exception table entry for the instruction at a local label; its fault continues at the
/// operand `fault`.
macro_rules! exception {
    ($at:literal) => {
        concat!(
            ".pushsection __ex_table, \"a\"\n.balign 4\n.long ",
            $at,
            "b - .\n.long {fault} - .\n.short {kind}\n.short {registers}\n.popsection"
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
    // memory is not mapped, the kernel continues at `fault`; its fixup may clear the zero register.
    unsafe {
        asm!(
            "2: ldr {value}, [{from}, {first}]",
            "str {value}, [{to}]",
            "3: ldr {value}, [{from}, {second}]",
            "str {value}, [{to}, #8]",
            "4: ldr {value:w}, [{from}, {third}]",
            "str {value}, [{to}, #16]",
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
            registers = const 31 | 31 << 5,
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
    // caller guarantees is allowed. If the memory is not mapped, the kernel continues at `fault`;
    // its fixup may clear the zero register.
    unsafe {
        asm!(
            "3: subs {left}, {left}, #8",
            "2: ldr {value}, [{from}, {left}]",
            "str {value}, [{to}, {left}]",
            "b.hi 3b",
            exception!("2"),
            value = out(reg) _,
            from = in(reg) from,
            left = inout(reg) length => _,
            to = in(reg) to,
            fault = label { return false },
            kind = const extra::FERROPROBE_EX_TYPE,
            registers = const 31 | 31 << 5,
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
            "2: ldp {a}, {b}, [{from}], #16",
            "stp {a}, {b}, [{to}], #16",
            "subs {count}, {count}, #1",
            "b.ne 2b",
            a = out(reg) _,
            b = out(reg) _,
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            count = inout(reg) count => _,
            options(nostack),
        );
    }
}

/// Copies `from` to `to`, eight or sixteen bytes at a time if there are as many, for the
/// same reason as [`store`].
#[inline(always)]
pub(in super::super) fn copy<const N: usize>(to: &mut [u8; N], from: &[u8; N]) {
    let (to_bytes, from_bytes) = (to.as_mut_ptr(), from.as_ptr());
    // SAFETY: Each instruction sequence reads as many bytes as `from` has and writes as
    // many as `to` has; both are memory of Rust, and thus normal memory.
    unsafe {
        match N {
            32 => asm!(
                "ldp {a}, {b}, [{from}]",
                "ldp {c}, {d}, [{from}, #16]",
                "stp {a}, {b}, [{to}]",
                "stp {c}, {d}, [{to}, #16]",
                from = in(reg) from_bytes,
                to = in(reg) to_bytes,
                a = out(reg) _,
                b = out(reg) _,
                c = out(reg) _,
                d = out(reg) _,
                options(nostack, preserves_flags),
            ),
            16 => asm!(
                "ldp {a}, {b}, [{from}]",
                "stp {a}, {b}, [{to}]",
                from = in(reg) from_bytes,
                to = in(reg) to_bytes,
                a = out(reg) _,
                b = out(reg) _,
                options(nostack, preserves_flags),
            ),
            8 => asm!(
                "ldr {a}, [{from}]",
                "str {a}, [{to}]",
                from = in(reg) from_bytes,
                to = in(reg) to_bytes,
                a = out(reg) _,
                options(nostack, preserves_flags),
            ),
            4 => asm!(
                "ldr {a:w}, [{from}]",
                "str {a:w}, [{to}]",
                from = in(reg) from_bytes,
                to = in(reg) to_bytes,
                a = out(reg) _,
                options(nostack, preserves_flags),
            ),
            _ => *to = *from,
        }
    }
}

/// Adds 1 to `*counter`.
///
/// Atomic against interrupts on this CPU, not against other CPUs.
///
/// # Safety
///
/// `counter` must be valid for reads and writes, and aligned.
#[inline(always)]
pub(in super::super) unsafe fn local_increment(counter: *mut u64) {
    // SAFETY: The caller guarantees that `counter` can be accessed. An interrupt between
    // the exclusives makes the store fail, and the addition is redone.
    unsafe {
        asm!(
            "2:",
            "ldxr {sum}, [{counter}]",
            "add {sum}, {sum}, #1",
            "stxr {failed:w}, {sum}, [{counter}]",
            "cbnz {failed:w}, 2b",
            sum = out(reg) _,
            failed = out(reg) _,
            counter = in(reg) counter,
            options(nostack, preserves_flags),
        );
    }
}

/// Adds 1 to this CPU's instance of the per-CPU word at `counter`; see
/// [`local_increment`].
///
/// # Safety
///
/// `counter` must be per-CPU memory, and aligned; `base` must be the base of this CPU.
#[inline(always)]
pub(in super::super) unsafe fn this_cpu_increment(counter: *mut u64, base: PerCpuBase) {
    // SAFETY: The caller guarantees that `counter` is per-CPU memory; the offset leads to
    // this CPU's instance of it.
    unsafe { local_increment(counter.wrapping_byte_add(base)) }
}

/// Adds `value` to `*counter`.
///
/// Atomic against interrupts on this CPU, not against other CPUs.
///
/// # Safety
///
/// `counter` must be valid for reads and writes, and aligned.
#[inline(always)]
pub(in super::super) unsafe fn local_add(counter: *mut u64, value: u64) {
    // SAFETY: The caller guarantees that `counter` can be accessed. An interrupt between
    // the exclusives makes the store fail, and the addition is redone.
    unsafe {
        asm!(
            "2:",
            "ldxr {sum}, [{counter}]",
            "add {sum}, {sum}, {value}",
            "stxr {failed:w}, {sum}, [{counter}]",
            "cbnz {failed:w}, 2b",
            sum = out(reg) _,
            failed = out(reg) _,
            counter = in(reg) counter,
            value = in(reg) value,
            options(nostack),
        );
    }
}

/// What ftrace saves at a function's entry: `struct __arch_ftrace_regs`.
#[repr(C)]
pub(in super::super) struct EntryRegs {
    regs: [u64; 9],
    _unused: u64,
    /// The frame pointer, the link register, the stack pointer and the program counter.
    behind: [u64; 4],
}

/// Returns the register with this index in `struct pt_regs`, 0 if ftrace does not save it.
#[inline(always)]
pub(in super::super) fn entry_word(regs: &EntryRegs, index: usize) -> u64 {
    /// The index of the frame pointer in `struct pt_regs`.
    const BEHIND: usize = 29;

    /// Keeps the common case free of jumps.
    #[cold]
    #[inline(always)]
    fn rarely() {}

    if let Some(word) = regs.regs.get(index) {
        return *word;
    }
    rarely();
    let behind = regs.behind.get(index.wrapping_sub(BEHIND));
    let mut word = behind.copied().unwrap_or(0);
    // Otherwise the compiler would use one load for both cases, and compute its address even in the
    // common one.
    // SAFETY: There is no instruction.
    unsafe {
        asm!("/* {0} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags));
    }
    word
}

/// Returns argument register `n`; 0 if `n` is [`REGISTER_ARGUMENTS`] or more.
#[cfg(CONFIG_CFI)]
pub(in super::super) fn entry_argument(regs: &EntryRegs, n: usize) -> u64 {
    match n < REGISTER_ARGUMENTS {
        true => regs.regs.get(n).copied().unwrap_or(0),
        false => 0,
    }
}

#[inline(always)]
pub(in super::super) fn entry_stack_pointer(regs: &EntryRegs) -> u64 {
    let [_, _, sp, _] = regs.behind;
    sp
}

/// Returns the stack pointer after a function's return. The kernel does not save it, but the
/// registers lie on top of the stack.
#[inline(always)]
pub(in super::super) fn exit_stack_pointer(regs: &EntryRegs) -> u64 {
    // CAST: An address.
    core::ptr::from_ref(regs).wrapping_add(1) as u64
}

/// Returns the address to which a function returns.
#[inline(always)]
pub(in super::super) fn exit_address(regs: &EntryRegs) -> u64 {
    let [.., pc] = regs.behind;
    pc
}
