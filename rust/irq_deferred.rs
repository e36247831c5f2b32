// SPDX-License-Identifier: GPL-2.0

//! Work that code in any context can start.
//!
//! C headers: [`include/linux/irq_work.h`](srctree/include/linux/irq_work.h),
//! [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h)

use super::{bindings as extra, context, percpu, work::DelayedWork};
use core::{
    marker::PhantomPinned,
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
};
use kernel::{bindings, container_of, prelude::*, sync::Arc, types::Opaque};

/// The function of the work.
pub trait RunDeferred: Send + Sync + 'static {
    /// Runs the work.
    ///
    /// Context: process, may sleep.
    fn run(&self);
}

/// Queues work by way of an interrupt.
///
/// # Invariants
///
/// `irq_work` is initialised with [`Interrupt::interrupt`].
#[pin_data(PinnedDrop)]
struct Interrupt {
    #[pin]
    irq_work: Opaque<bindings::irq_work>,
    /// Dropped after the interrupt has been waited for.
    #[pin]
    timed: DelayedWork,
}

// SAFETY: The kernel's structures are designed for use by many threads.
unsafe impl Sync for Interrupt {}
// SAFETY: The structures are bound to no thread.
unsafe impl Send for Interrupt {}

impl Interrupt {
    /// # Safety
    ///
    /// As for [`DelayedWork::new`].
    unsafe fn new(run: unsafe extern "C" fn(*mut bindings::work_struct)) -> impl PinInit<Self> {
        // INVARIANT: `irq_work` is initialised as the invariant requires.
        pin_init!(Self {
            irq_work <- Opaque::ffi_init(|work| {
                // SAFETY: `work` is the memory of the structure.
                unsafe { extra::ferroprobe_init_hard_irq_work(work, Some(Self::interrupt)) }
            }),
            // SAFETY: The caller's promise.
            timed <- unsafe { DelayedWork::new(run) },
        })
    }

    /// # Safety
    ///
    /// Called by the kernel only, for the `irq_work` of an [`Interrupt`].
    unsafe extern "C" fn interrupt(work: *mut bindings::irq_work) {
        // SAFETY: The work is queued by `kick` only, and the drop waits for it.
        let this = unsafe { &*container_of!(Opaque::cast_from(work), Self, irq_work) };
        this.timed.start(0, false);
    }
}

#[pinned_drop]
impl PinnedDrop for Interrupt {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: `irq_work` is initialised by the type invariant. The call waits for
        // `interrupt`, which an online CPU will run. The drop of `timed` then waits for
        // the work.
        unsafe { bindings::irq_work_sync(self.irq_work.get()) };
    }
}

/// Work that code in any context can start. The drop waits until it does not run; the
/// caller must not hold a lock that the work takes.
#[pin_data]
pub struct IrqDeferred<T: RunDeferred> {
    /// Dropped first, because its work uses the handler.
    #[pin]
    interrupt: Interrupt,
    /// Whether the work was requested, and has not begun since.
    is_asked: AtomicBool,
    handler: T,
    #[pin]
    _pinned: PhantomPinned,
}

impl<T: RunDeferred> IrqDeferred<T> {
    /// Creates work that is not queued yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(handler: T) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                // SAFETY: `run` requires no more, and `interrupt` is dropped first.
                interrupt <- unsafe { Interrupt::new(Self::run) },
                is_asked: AtomicBool::new(false),
                handler,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )
    }

    /// Queues the work to run soon after the caller's context ends, unless it is queued already.
    ///
    /// Raises no interrupt until the work has begun: the caller may be code that the interrupt, or
    /// the queuing of work, runs through. The work sees what the caller wrote before.
    ///
    /// Does nothing on a CPU that is not online, because `irq_work` queued there would block all
    /// later `irq_work`, see [`wake`](super::wake). The caller must note the work elsewhere, and
    /// call again.
    ///
    /// Context: any, NMI included.
    pub fn kick(&self) {
        // Ordered with the store in `run`: a caller that finds a request has written before the
        // work begins.
        if self.is_asked.load(Ordering::SeqCst) {
            return;
        }
        context::on_this_cpu(|here| {
            // This CPU cannot go offline meanwhile.
            if percpu::is_online(here.number()) && !self.is_asked.swap(true, Ordering::SeqCst) {
                // SAFETY: `irq_work` is initialised by the type invariant.
                unsafe { bindings::irq_work_queue(self.interrupt.irq_work.get()) };
            }
        });
    }

    /// # Safety
    ///
    /// Called by the kernel only, for the work of a `IrqDeferred<T>`.
    unsafe extern "C" fn run(work: *mut bindings::work_struct) {
        // SAFETY: The work is queued by `Interrupt::interrupt` only, and the drop of `timed`
        // waits for it.
        let interrupt = unsafe { &*container_of!(DelayedWork::of(work), Interrupt, timed) };
        // SAFETY: The work is the work of a `IrqDeferred<T>`, whose `interrupt` is that one.
        let this = unsafe { &*container_of!(core::ptr::from_ref(interrupt), Self, interrupt) };
        this.is_asked.store(false, Ordering::SeqCst);
        this.handler.run();
    }
}
