// SPDX-License-Identifier: GPL-2.0

//! On whose behalf, and in which context, code runs.

use super::{arch, bindings as extra, calls, word};
use core::{marker::PhantomData, mem};
use kernel::bindings;

/// Length of a task's name, with its NUL.
pub const TASK_COMM_LEN: usize = 16;

/// Proof that preemption is disabled, and so that the caller stays on its CPU,
/// for as long as it is borrowed.
///
/// An RCU grace period does not end before that.
///
/// # Invariants
///
/// The base is that of the CPU.
pub struct OnCpu(arch::PerCpuBase, PhantomData<*const ()>);

impl OnCpu {
    /// A proof for the caller's context.
    ///
    /// # Safety
    ///
    /// Preemption must stay disabled for as long as the value lives.
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        // INVARIANT: The caller stays here.
        Self(arch::per_cpu_base(), PhantomData)
    }

    /// From where this CPU's instances of per-CPU memory are found.
    #[inline(always)]
    pub(super) fn base(&self) -> arch::PerCpuBase {
        self.0
    }

    /// The number of the CPU.
    ///
    /// Contexts: any.
    #[inline(always)]
    pub fn number(&self) -> u32 {
        arch::cpu()
    }
}

/// Calls `work` with preemption disabled.
///
/// Context: process.
pub fn on_this_cpu<R>(work: impl FnOnce(&OnCpu) -> R) -> R {
    calls::ferroprobe_preempt_disable();
    // SAFETY: Disabled above, until after the last use.
    let result = work(&unsafe { OnCpu::new() });
    // SAFETY: Undoes the call above.
    unsafe { extra::ferroprobe_preempt_enable() };
    result
}

/// The task that runs on this CPU, for as long as the caller runs.
#[derive(Clone, Copy)]
pub struct Current(*const bindings::task_struct);

/// The task that runs on this CPU.
///
/// Contexts: any.
#[inline(always)]
pub fn current() -> Current {
    Current(arch::current())
}

/// The address of this CPU's instance of the per-CPU variable at `address`.
///
/// Contexts: any.
#[inline(always)]
pub fn this_cpu_address(address: u64) -> u64 {
    address.wrapping_add(word(arch::per_cpu_offset()))
}

impl Current {
    /// The thread's number in the first pid namespace.
    #[inline(always)]
    pub fn pid(self) -> i32 {
        // SAFETY: The running task exists while the caller runs.
        unsafe { (&raw const (*self.0).pid).read() }
    }

    /// The thread's name, padded with zeros.
    ///
    /// Another CPU may be changing it: then the bytes are a mixture.
    #[inline(always)]
    pub fn comm(self) -> [u8; TASK_COMM_LEN] {
        // As one number, which is little-endian, it stays in two registers.
        (u128::from(self.half_comm(0)) | u128::from(self.half_comm(1)) << 64).to_le_bytes()
    }

    /// Half `n`, 0 or 1, of [`comm`](Self::comm).
    #[inline(always)]
    pub fn half_comm(self, n: usize) -> u64 {
        const OFFSET: usize = mem::offset_of!(bindings::task_struct, comm);
        const { assert!(OFFSET % mem::align_of::<u64>() == 0 && TASK_COMM_LEN == 16) };
        let name = self.0.wrapping_byte_add(OFFSET).cast::<u64>();
        // SAFETY: The running task exists while the caller runs; its name is as
        // long and aligned as asserted above, and any bytes are valid.
        unsafe { name.add(n & 1).read() }
    }

    /// The address of its `struct task_struct`.
    #[inline(always)]
    pub fn address(self) -> u64 {
        word(self.0.addr())
    }

    /// What the preemption counter says of softirqs, where it does not: with
    /// `PREEMPT_RT` they belong to a task.
    #[cfg(CONFIG_PREEMPT_RT)]
    #[inline(always)]
    fn softirq_count(self) -> u32 {
        // SAFETY: The running task exists while the caller runs, and only it changes
        // the aligned word.
        let count = unsafe { (&raw const (*self.0).softirq_disable_cnt).read_volatile() };
        // CAST: The bits are meant.
        count as u32 & extra::FERROPROBE_SOFTIRQ_MASK
    }

    /// What the preemption counter says of softirqs, where it does not.
    #[cfg(not(CONFIG_PREEMPT_RT))]
    #[inline(always)]
    fn softirq_count(self) -> u32 {
        0
    }

    /// The flags of its `struct thread_info`.
    #[inline(always)]
    fn thread_flags(self) -> u64 {
        // SAFETY: The running task exists while the caller runs; the word is
        // aligned and changes atomically.
        word(unsafe { (&raw const (*self.0).thread_info.flags).read_volatile() })
    }
}

/// How the CPU came from the probed code to a probe's handler.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// By a trap, or a jump that took its place.
    Trap,
    /// By the call at the function's entry that ftrace put there.
    Call,
    /// By the trampoline to which a function returns.
    Return,
}

/// The state of this CPU as the kernel's counters tell it.
#[derive(Clone, Copy)]
pub struct Level {
    count: u32,
    /// The counter asks for a reschedule as soon as it reaches 0.
    pub preempt_need_resched: bool,
    /// The task is to be rescheduled.
    pub need_resched: bool,
    /// The task is to be rescheduled when it next enters user space.
    pub need_resched_lazy: bool,
}

/// The state of this CPU in the probed code: without what the way from there to
/// the handler added.
///
/// Contexts: handlers of probes.
#[inline(always)]
pub fn level(entry: Entry) -> Level {
    let (count, preempt_need_resched) = arch::preempt_count();
    let task = current();
    let flags = task.thread_flags();
    Level {
        count: count.wrapping_sub(arch::added_by(entry, count)) | task.softirq_count(),
        preempt_need_resched,
        need_resched: flags & extra::FERROPROBE_NEED_RESCHED != 0,
        need_resched_lazy: flags & extra::FERROPROBE_NEED_RESCHED_LAZY != 0,
    }
}

/// Whether the probed code runs with nothing disabled or asked for that
/// [`level`] could tell of: most hits.
///
/// Contexts: handlers of probes.
#[inline(always)]
pub fn is_plain(entry: impl Fn() -> Entry) -> bool {
    const RESCHED: u64 = extra::FERROPROBE_NEED_RESCHED | extra::FERROPROBE_NEED_RESCHED_LAZY;
    let task = current();
    arch::is_plain(entry) && task.softirq_count() == 0 && task.thread_flags() & RESCHED == 0
}

impl Level {
    /// Whether all that follows is false or 0: most hits.
    #[inline(always)]
    pub fn is_plain(self) -> bool {
        self.count == 0 && !(self.preempt_need_resched | self.need_resched | self.need_resched_lazy)
    }

    /// How deep preemption is disabled.
    #[inline(always)]
    pub fn preempt_depth(self) -> u32 {
        self.count & extra::FERROPROBE_PREEMPT_MASK
    }

    /// Handling an NMI.
    #[inline(always)]
    pub fn in_nmi(self) -> bool {
        self.count & extra::FERROPROBE_NMI_MASK != 0
    }

    /// Handling an interrupt.
    #[inline(always)]
    pub fn in_hardirq(self) -> bool {
        self.count & extra::FERROPROBE_HARDIRQ_MASK != 0
    }

    /// Serving a softirq.
    #[inline(always)]
    pub fn in_softirq(self) -> bool {
        self.count & extra::FERROPROBE_SOFTIRQ_OFFSET != 0
    }

    /// Softirqs are disabled.
    #[inline(always)]
    pub fn bh_disabled(self) -> bool {
        self.count & extra::FERROPROBE_SOFTIRQ_MASK & !extra::FERROPROBE_SOFTIRQ_OFFSET != 0
    }
}
