// SPDX-License-Identifier: GPL-2.0

//! The context in which code runs: its task, its CPU, and what is disabled.
//!
//! A record describes the probed code, while the kernel's `in_nmi()` and the like describe the
//! handler: ftrace shows an NMI and a preemption depth of 15 for a probe that is reached by a
//! breakpoint on x86. What the way to the handler adds is known ([`EntryWay`]) and subtracted.

use super::{arch, bindings as extra, calls, nofault, word};
use core::{marker::PhantomData, mem, ops::Deref};
use kernel::bindings;

/// Length of a task's name, including the NUL.
pub const TASK_COMM_LEN: usize = 16;

/// Returns whether a fatal signal is pending for the current task.
///
/// Context: process.
pub fn is_being_killed() -> bool {
    calls::ferroprobe_fatal_signal_pending()
}

/// Lets another task run if one waits for the CPU.
///
/// Context: process, may sleep.
pub fn cond_resched() {
    calls::ferroprobe_cond_resched();
}

/// Proof that preemption is disabled, and thus that the caller stays on its CPU, for as
/// long as it is borrowed.
///
/// [`rcu::synchronize`](super::rcu::synchronize) does not return while it is borrowed.
///
/// A borrower of the proof must not sleep. The compiler cannot check this, nor can it for
/// the guards of RCU and of spinlocks in the `kernel` crate: that safe code does not
/// sleep with preemption disabled is a rule of the kernel, and the scheduler reports
/// violations ("scheduling while atomic"). Proofs are therefore lent to two kinds of code
/// only: handlers of probes, and closures passed to [`on_this_cpu`].
///
/// # Invariants
///
/// The base belongs to the CPU.
pub struct OnCpu(arch::PerCpuBase, PhantomData<*const ()>);

impl OnCpu {
    /// Creates a proof for the caller's context.
    ///
    /// # Safety
    ///
    /// Preemption must stay disabled for as long as the value lives.
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        // INVARIANT: The caller stays on this CPU.
        Self(arch::per_cpu_base(), PhantomData)
    }

    /// Returns the base from which this CPU's instances of per-CPU memory are found.
    #[inline(always)]
    pub(super) fn base(&self) -> arch::PerCpuBase {
        self.0
    }

    /// Returns the number of the CPU.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn number(&self) -> u32 {
        arch::cpu()
    }
}

/// Calls `work` with preemption disabled; `work` must not sleep, see [`OnCpu`].
///
/// Context: any.
pub fn on_this_cpu<R>(work: impl FnOnce(&OnCpu) -> R) -> R {
    calls::ferroprobe_preempt_disable();
    // SAFETY: Preemption is disabled by the call above until the call below, which undoes
    // it; `work` has returned the proof by then.
    unsafe {
        let result = work(&OnCpu::new());
        extra::ferroprobe_preempt_enable();
        result
    }
}

/// Preemption that is disabled until [`end`](Self::end), without the kernel's tracing.
pub struct Unpreempted(PhantomData<*const ()>);

impl Unpreempted {
    /// Disables preemption. Unless [`end`](Self::end) is called it stays disabled.
    #[inline(always)]
    pub fn begin() -> Self {
        arch::increment_preempt_count();
        Self(PhantomData)
    }

    /// Returns the proof that preemption is disabled.
    #[inline(always)]
    pub fn here(&self) -> Here<'_> {
        // SAFETY: Disabled by `begin`; `end` consumes this, which the value borrows.
        Here(unsafe { OnCpu::new() }, PhantomData)
    }

    /// Returns a second value for this section, which ends it in place of `self`.
    ///
    /// # Safety
    ///
    /// The caller must not use `self` any more.
    #[inline(always)]
    pub(super) unsafe fn handed_over(&self) -> Self {
        Self(PhantomData)
    }

    /// Enables preemption, and calls the scheduler if it must run.
    #[inline(always)]
    pub fn end(self) {
        // SAFETY: By `begin` the counter was incremented, and no proof is left. If the
        // scheduler must run, the helper gets the state before.
        unsafe {
            if arch::decrement_preempt_count() {
                arch::increment_preempt_count();
                extra::ferroprobe_preempt_enable_notrace();
            }
        }
    }
}

/// Returns whether interrupts are disabled on this CPU.
///
/// Context: any.
#[inline(always)]
pub fn irqs_disabled() -> bool {
    arch::irqs_disabled_here()
}

/// A proof that an [`Unpreempted`] lends.
pub struct Here<'a>(OnCpu, PhantomData<&'a Unpreempted>);

impl Deref for Here<'_> {
    type Target = OnCpu;

    #[inline(always)]
    fn deref(&self) -> &OnCpu {
        &self.0
    }
}

/// The current task, for as long as the caller runs.
#[derive(Clone, Copy)]
pub struct Current(*const bindings::task_struct);

/// Returns whether the current task is in a 32-bit system call, whose number has another meaning.
///
/// Context: process.
#[inline(always)]
pub fn is_in_compat_call() -> bool {
    arch::is_in_compat_call()
}

/// Returns the current task.
///
/// Context: any.
#[inline(always)]
pub fn current() -> Current {
    Current(arch::current())
}

/// Returns the pid of the thread whose `struct task_struct` is at `address`, and the pid of its
/// process, in the initial pid namespace; `None` if these cannot be read.
///
/// Context: any.
#[inline]
pub fn ids_of(address: u64) -> Option<(u32, u32)> {
    let id = |offset: usize| {
        let mut id = [0; 4];
        let at = address.wrapping_add(word(offset));
        nofault::read_kernel(at, &mut id).then_some(u32::from_ne_bytes(id))
    };
    let pid = id(mem::offset_of!(bindings::task_struct, pid))?;
    Some((pid, id(mem::offset_of!(bindings::task_struct, tgid))?))
}

/// Returns the pid of the thread whose `struct task_struct` is at `address`, in its own, innermost
/// pid namespace. `None` if it cannot be read.
fn own_pid_of(address: u64) -> Option<u32> {
    let pid = read_word(address, mem::offset_of!(bindings::task_struct, thread_pid))?;
    let number = |offset: usize| {
        let mut number = [0; 4];
        let at = pid.wrapping_add(word(offset));
        nofault::read_kernel(at, &mut number).then_some(u32::from_ne_bytes(number))
    };
    let level = number(mem::offset_of!(bindings::pid, level))?;
    // CAST: Lossless.
    let above = (level as usize).wrapping_mul(mem::size_of::<bindings::upid>());
    let own = mem::offset_of!(bindings::pid, numbers).wrapping_add(above);
    number(own.wrapping_add(mem::offset_of!(bindings::upid, nr)))
}

/// Reads the word `offset` bytes from `address`.
fn read_word(address: u64, offset: usize) -> Option<u64> {
    let mut bytes = [0; 8];
    let at = address.wrapping_add(word(offset));
    nofault::read_kernel(at, &mut bytes).then_some(u64::from_ne_bytes(bytes))
}

/// Returns the address of this CPU's instance of the per-CPU variable at `address`.
///
/// Context: any.
#[inline(always)]
pub fn this_cpu_address(address: u64) -> u64 {
    address.wrapping_add(word(arch::per_cpu_offset()))
}

impl Current {
    /// Returns the thread's pid in the initial pid namespace.
    #[inline(always)]
    pub fn pid(self) -> i32 {
        // SAFETY: The current task exists while the caller runs.
        unsafe { (&raw const (*self.0).pid).read() }
    }

    /// Returns the thread's pid and its process's, in the initial pid namespace.
    ///
    /// Context: any, with preemption disabled or not.
    #[inline]
    pub fn ids(self) -> (u32, u32) {
        ids_of(self.address()).unwrap_or_default()
    }

    /// Returns the thread's pid in its own pid namespace; 0 if it cannot be read.
    ///
    /// Context: any, with preemption disabled or not.
    #[inline(never)]
    pub fn own_pid(self) -> u32 {
        own_pid_of(self.address()).unwrap_or(0)
    }

    /// Returns the pid of the thread's process in its own pid namespace; 0 if it cannot be read.
    ///
    /// Context: any, with preemption disabled or not.
    #[inline(never)]
    pub fn own_tgid(self) -> u32 {
        let leader = mem::offset_of!(bindings::task_struct, group_leader);
        let leader = read_word(self.address(), leader);
        leader.and_then(own_pid_of).unwrap_or(0)
    }

    /// Returns the thread's name, padded with zeros.
    ///
    /// If another CPU changes the name meanwhile, the bytes are a mixture of both names.
    #[inline(always)]
    pub fn comm(self) -> [u8; TASK_COMM_LEN] {
        // As one little-endian number, the name stays in two registers.
        (u128::from(self.half_comm(0)) | u128::from(self.half_comm(1)) << 64).to_le_bytes()
    }

    /// Returns half `n`, 0 or 1, of [`comm`](Self::comm).
    #[inline(always)]
    pub fn half_comm(self, n: usize) -> u64 {
        const OFFSET: usize = mem::offset_of!(bindings::task_struct, comm);
        const { assert!(OFFSET % mem::align_of::<u64>() == 0 && TASK_COMM_LEN == 16) };
        let name = self.0.wrapping_byte_add(OFFSET).cast::<u64>();
        // SAFETY: The current task exists while the caller runs; its name is as long and
        // aligned as asserted above. Another task may change the aligned word meanwhile, and
        // any bytes are valid.
        unsafe { name.add(n & 1).read_volatile() }
    }

    /// Returns the address of the task's `struct task_struct`.
    #[inline(always)]
    pub fn address(self) -> u64 {
        word(self.0.addr())
    }

    /// Returns the address of the task's `struct mm_struct`; 0 if it has none.
    #[inline(always)]
    pub fn address_space(self) -> u64 {
        // SAFETY: The current task exists while the caller runs, and only it changes the
        // aligned word.
        word(unsafe { (&raw const (*self.0).mm).read() }.addr())
    }

    /// Returns the softirq bits that the preemption counter lacks: with `PREEMPT_RT` the
    /// task holds them.
    #[cfg(CONFIG_PREEMPT_RT)]
    #[inline(always)]
    fn softirq_count(self) -> u32 {
        // SAFETY: The current task exists while the caller runs, and only it changes the
        // aligned word.
        let count = unsafe { (&raw const (*self.0).softirq_disable_cnt).read_volatile() };
        // CAST: Keeps the bits of the mask.
        count as u32 & extra::FERROPROBE_SOFTIRQ_MASK
    }

    /// Returns the softirq bits that the preemption counter lacks: none.
    #[cfg(not(CONFIG_PREEMPT_RT))]
    #[inline(always)]
    fn softirq_count(self) -> u32 {
        0
    }

    /// Returns the bits with which tracers mark that they run, one for each kind and context.
    fn trace_recursion(self) -> u64 {
        #[cfg(CONFIG_TRACING)]
        let bits = read_word(
            self.address(),
            mem::offset_of!(bindings::task_struct, trace_recursion),
        );
        #[cfg(not(CONFIG_TRACING))]
        let bits = None;
        bits.unwrap_or(0)
    }

    /// Returns the flags of the task's `struct thread_info`.
    #[inline(always)]
    fn thread_flags(self) -> u64 {
        // SAFETY: The current task exists while the caller runs; the word is aligned and
        // changes atomically.
        word(unsafe { (&raw const (*self.0).thread_info.flags).read_volatile() })
    }
}

/// How the CPU reached a probe's handler from the probed code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum EntryWay {
    /// By a trap.
    Trap,
    /// The jump of an optimised kprobe, to code that disables preemption.
    #[cfg_attr(not(CONFIG_OPTPROBES), allow(dead_code))]
    Jump,
    /// ftrace's call at the function's entry, and [`Unpreempted`] except for kprobes.
    Call,
    /// The trampoline that a probed function returns to.
    Return,
    /// The trampoline for functions that ftrace follows, which disables preemption against
    /// recursion, and the fprobe, which does so for RCU.
    Followed,
    /// A tracepoint's call, and [`Unpreempted`].
    Tracepoint,
    /// A uprobe's call, and [`Unpreempted`].
    Program,
    /// A hard interrupt.
    Interrupt,
}

/// The state of this CPU according to the kernel's counters and flags.
#[derive(Clone, Copy)]
pub struct Level {
    count: u32,
    /// The counter requests rescheduling as soon as it reaches 0.
    pub preempt_need_resched: bool,
    /// The task must be rescheduled.
    pub need_resched: bool,
    /// The task must be rescheduled when it next enters user space.
    pub need_resched_lazy: bool,
}

/// Returns the state of this CPU in the probed code, without what the path to the handler
/// added.
///
/// Context: handlers of probes.
#[inline(always)]
pub fn level(entry: EntryWay) -> Level {
    let (count, preempt_need_resched) = arch::preempt_count();
    let task = current();
    let flags = task.thread_flags();
    let mut count = count.wrapping_sub(arch::added_by(entry));
    if count & extra::FERROPROBE_PREEMPT_MASK != 0 && arch::may_be_listed(entry) && is_listed(count)
    {
        count = count.wrapping_sub(extra::FERROPROBE_PREEMPT_OFFSET);
    }
    Level {
        count: count | task.softirq_count(),
        preempt_need_resched,
        need_resched: flags & extra::FERROPROBE_NEED_RESCHED != 0,
        need_resched_lazy: flags & extra::FERROPROBE_NEED_RESCHED_LAZY != 0,
    }
}

/// Returns whether ftrace calls handlers from its list, with preemption disabled, as it does if a
/// function has several. `count` is the preemption counter of the probed code.
#[cold]
#[inline(never)]
fn is_listed(count: u32) -> bool {
    // CAST: At most 3.
    let level = Interrupts(count & Interrupts::MASK).depth() as u32;
    let bit = extra::FERROPROBE_TRACE_LIST_BIT.wrapping_sub(level);
    current().trace_recursion().wrapping_shr(bit) & 1 != 0
}

/// The interrupts that a CPU serves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Interrupts(u32);

impl Interrupts {
    /// The interrupt bits of the preemption counter.
    const MASK: u32 = extra::FERROPROBE_NMI_MASK
        | extra::FERROPROBE_HARDIRQ_MASK
        | extra::FERROPROBE_SOFTIRQ_OFFSET;

    /// Returns the interrupts that this CPU serves.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn now() -> Self {
        let (count, _) = arch::preempt_count();
        Self((count | current().softirq_count()) & Self::MASK)
    }

    /// Returns the depth of the innermost interrupt: 0 for none, 1 for a softirq, 2 for a hard
    /// interrupt, 3 for an NMI.
    #[inline(always)]
    pub fn depth(self) -> usize {
        if self.0 == 0 {
            0
        } else {
            self.deep()
        }
    }

    #[cold]
    #[inline(never)]
    fn deep(self) -> usize {
        if self.0 & extra::FERROPROBE_NMI_MASK != 0 {
            3
        } else if self.0 & extra::FERROPROBE_HARDIRQ_MASK != 0 {
            2
        } else {
            1
        }
    }
}

/// Returns whether [`level`] would return a plain state, as on most hits; see [`Level::is_plain`].
/// `entry` may report a jump as a trap.
///
/// Context: handlers of probes.
#[inline(always)]
pub fn is_plain(entry: impl Fn() -> EntryWay) -> bool {
    arch::is_plain(entry) && is_task_plain()
}

/// [`is_plain`] for [`EntryWay::Followed`].
///
/// Context: handlers of functions' returns.
#[inline(always)]
pub fn is_plain_followed() -> bool {
    arch::is_plain_followed() && is_task_plain()
}

/// The value of the kernel's counter in a plain context.
#[derive(Clone, Copy)]
pub struct PlainCount(arch::RawCount);

impl PlainCount {
    /// Returns it for a handler that is entered in this way.
    ///
    /// Context: that handler.
    #[inline(always)]
    pub fn of(entry: EntryWay) -> Self {
        Self(arch::plain_count(entry))
    }

    /// Returns whether the context is plain.
    ///
    /// Context: the handler for which [`Self::of`] was called.
    #[inline(always)]
    pub fn is_plain(self) -> bool {
        arch::raw_preempt_count() == self.0 && is_task_plain()
    }
}

/// Returns whether the current task is plain, not considering the preemption counter.
#[inline(always)]
fn is_task_plain() -> bool {
    const RESCHED: u64 = extra::FERROPROBE_NEED_RESCHED | extra::FERROPROBE_NEED_RESCHED_LAZY;
    let task = current();
    task.softirq_count() == 0 && task.thread_flags() & RESCHED == 0
}

impl Level {
    /// Returns whether all of the following are false or 0, as on most hits.
    #[inline(always)]
    pub fn is_plain(self) -> bool {
        self.count == 0 && !(self.preempt_need_resched | self.need_resched | self.need_resched_lazy)
    }

    /// Returns how often preemption is disabled.
    #[inline(always)]
    pub fn preempt_depth(self) -> u32 {
        self.count & extra::FERROPROBE_PREEMPT_MASK
    }

    /// Returns whether the CPU handles an NMI.
    #[inline(always)]
    pub fn in_nmi(self) -> bool {
        self.count & extra::FERROPROBE_NMI_MASK != 0
    }

    /// Returns whether the CPU handles a hard interrupt.
    #[inline(always)]
    pub fn in_hardirq(self) -> bool {
        self.count & extra::FERROPROBE_HARDIRQ_MASK != 0
    }

    /// Returns whether the CPU serves a softirq.
    #[inline(always)]
    pub fn in_softirq(self) -> bool {
        self.count & extra::FERROPROBE_SOFTIRQ_OFFSET != 0
    }

    /// Returns whether softirqs are disabled.
    #[inline(always)]
    pub fn bh_disabled(self) -> bool {
        self.count & extra::FERROPROBE_SOFTIRQ_MASK & !extra::FERROPROBE_SOFTIRQ_OFFSET != 0
    }
}
