// SPDX-License-Identifier: GPL-2.0

//! Interrupts that report what they interrupt: timers on all CPUs, and watchpoints.
//!
//! C headers: [`include/linux/hrtimer.h`](srctree/include/linux/hrtimer.h),
//! [`include/linux/hw_breakpoint.h`](srctree/include/linux/hw_breakpoint.h)

use super::{
    batch::Batched,
    bindings as extra,
    context::{EntryWay, OnCpu},
    handler::{Handler, Hits, SERVE},
    regs::Regs,
};
use core::{
    marker::PhantomPinned,
    pin::Pin,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};
use kernel::{
    alloc::KVVec,
    bindings,
    error::to_result,
    ffi::{c_int, c_void},
    prelude::*,
};

/// Interrupts as a mechanism.
pub enum Interruption {}

impl Hits for Interruption {
    type Hit<'a> = &'a Interrupted<'a>;
}

/// What was interrupted.
pub struct Interrupted<'a> {
    /// The registers, in kernel or user space.
    pub regs: &'a Regs,
    /// The address of the next instruction, the low half first.
    pub ip: [u32; 2],
    /// Whether they are of user space.
    pub is_user: bool,
    /// How the handler was entered.
    pub way: EntryWay,
    /// What the mechanism tells besides: of a timer whether user space was interrupted, and whether
    /// the idle task; of a watchpoint its address, and what is there.
    pub values: [u64; 2],
}

/// An access that is watched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WatchedAccess {
    /// Reads and writes.
    Both,
    /// Writes.
    Write,
    /// The execution of an instruction.
    Execute,
}

/// What causes the interrupts.
pub enum InterruptCause {
    /// A timer on each CPU, with this period in nanoseconds.
    Timer(u64),
    /// An access to so many bytes at an address.
    Watchpoint(WatchedAccess, u64, u8),
}

/// A handler of interrupts.
///
/// # Invariants
///
/// `interrupts` is null, or a valid pointer that only this value has; then the interrupts have a
/// pointer to this pinned value.
#[pin_data(PinnedDrop)]
pub struct InterruptRegistration<H: Handler<Interruption>> {
    handler: H,
    interrupts: AtomicPtr<extra::ferroprobe_interrupts>,
    way: EntryWay,
    #[pin]
    _pinned: PhantomPinned,
}

impl<H: Handler<Interruption>> InterruptRegistration<H> {
    /// Makes a handler, disarmed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; for a watchpoint `ENOSPC` if all are taken, `EOPNOTSUPP` if the kernel has none,
    /// and others of the kernel.
    ///
    /// Context: process, may sleep.
    pub fn new(cause: &InterruptCause, handler: impl Init<H>) -> Result<Pin<KBox<Self>>> {
        let this = KBox::pin_init(
            pin_init!(Self {
                handler <- handler,
                interrupts: AtomicPtr::new(ptr::null_mut()),
                way: match cause {
                    InterruptCause::Timer(_) => EntryWay::Interrupt,
                    InterruptCause::Watchpoint(..) => EntryWay::Trap,
                },
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )?;
        let data: *mut c_void = ptr::from_ref(&*this).cast_mut().cast();
        let hit: extra::ferroprobe_interrupt_fn = Some(Self::hit);
        let mut error: c_int = ENOMEM.to_errno();
        // SAFETY: `hit` is called with `data`, which lives until the drop, and the drop frees the
        // interrupts first.
        let interrupts = unsafe {
            match *cause {
                InterruptCause::Timer(period) => extra::ferroprobe_ticks(period, hit, data),
                InterruptCause::Watchpoint(access, address, length) => {
                    let access = match access {
                        WatchedAccess::Both => extra::FERROPROBE_WATCH_BOTH,
                        WatchedAccess::Write => extra::FERROPROBE_WATCH_WRITE,
                        WatchedAccess::Execute => extra::FERROPROBE_WATCH_EXECUTE,
                    };
                    let length = length.into();
                    extra::ferroprobe_watch(address, length, access, hit, data, &mut error)
                }
            }
        };
        if interrupts.is_null() {
            to_result(error)?;
        }
        // INVARIANT: Made above for this value.
        this.interrupts.store(interrupts, Ordering::Relaxed);
        Ok(this)
    }

    /// Arms or disarms it. The caller makes sure that only one call runs at a time.
    ///
    /// # Errors
    ///
    /// The errors of the kernel; none for disarming.
    ///
    /// Context: process, may sleep.
    pub fn set_enabled(&self, enabled: bool) -> Result {
        let interrupts = self.interrupts.load(Ordering::Relaxed);
        // SAFETY: Valid by the type invariant.
        to_result(unsafe { extra::ferroprobe_interrupts_arm(interrupts, enabled) })
    }

    /// Returns whether a hit is an exception of the processor, which takes longer than an interrupt's
    /// call.
    pub fn is_trap(&self) -> bool {
        self.way == EntryWay::Trap
    }

    /// Returns the number of hits that could not be reported.
    pub fn missed(&self) -> u64 {
        // SAFETY: Valid by the type invariant.
        unsafe { extra::ferroprobe_interrupts_missed(self.interrupts.load(Ordering::Relaxed)) }
    }

    /// Returns the handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// Serves a hit.
    ///
    /// # Safety
    ///
    /// Called by the interrupts of an `InterruptRegistration<H>` only, with it as `data`.
    unsafe extern "C" fn hit(data: *mut c_void, regs: *mut bindings::pt_regs, one: u64, two: u64) {
        // SAFETY: By the type invariant and this function's contract; the registers are what the
        // interrupt has saved, and interrupts are disabled.
        let (this, regs, here) =
            unsafe { (&*data.cast::<Self>(), Regs::from_raw(regs), OnCpu::new()) };
        let ip = regs.instruction_pointer();
        let hit = Interrupted {
            regs,
            // CAST: The halves.
            ip: [ip as u32, (ip >> 32) as u32],
            // A watchpoint reports the kernel's accesses only.
            is_user: this.way == EntryWay::Interrupt && one != 0,
            way: this.way,
            values: [one, two],
        };
        this.handler.run::<SERVE>(&hit, &here);
    }
}

impl<H: Handler<Interruption>> Batched for InterruptRegistration<H> {
    type Probe = c_void;

    fn end_all(all: &mut [Pin<KBox<Self>>], _pointers: &mut KVVec<*mut c_void>) {
        // Their drops wait.
        all.iter().for_each(|this| {
            // Disarming does not fail.
            let _ = this.set_enabled(false);
        });
    }
}

#[pinned_drop]
impl<H: Handler<Interruption>> PinnedDrop for InterruptRegistration<H> {
    fn drop(self: Pin<&mut Self>) {
        let interrupts = self.interrupts.load(Ordering::Relaxed);
        if !interrupts.is_null() {
            // SAFETY: Valid by the type invariant, and not used any more.
            unsafe { extra::ferroprobe_interrupts_free(interrupts) };
        }
    }
}
