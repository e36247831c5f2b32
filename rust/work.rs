// SPDX-License-Identifier: GPL-2.0

//! Work that runs after a delay, and maybe repeatedly.
//!
//! C header: [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h)

use super::bindings as extra;
use core::{marker::PhantomPinned, pin::Pin, ptr};
use kernel::{
    bindings, container_of, ffi::c_int, prelude::*, sync::Arc, time::msecs_to_jiffies,
    types::Opaque,
};

/// The function of the work.
pub trait RunDelayed: Send + Sync + 'static {
    /// Runs the work. Returns the delay until the next run in milliseconds, or `None` for
    /// no further run.
    ///
    /// Context: process, may sleep.
    fn run(&self) -> Option<u32>;
}

/// Delayed work. The drop cancels it, and waits until it does not run.
///
/// # Invariants
///
/// `work` is initialised.
#[pin_data(PinnedDrop)]
pub(super) struct DelayedWork {
    #[pin]
    work: Opaque<bindings::delayed_work>,
}

// SAFETY: The kernel locks what it changes in the work.
unsafe impl Sync for DelayedWork {}
// SAFETY: Work can be cancelled by any thread.
unsafe impl Send for DelayedWork {}

impl DelayedWork {
    /// Creates work that calls `run`, and that is not queued yet.
    ///
    /// # Safety
    ///
    /// From the first [`DelayedWork::start`] until the drop, it must be sound to call `run` in
    /// a context that may sleep, with the work from which [`DelayedWork::of`] finds this value.
    pub(super) unsafe fn new(
        run: unsafe extern "C" fn(*mut bindings::work_struct),
    ) -> impl PinInit<Self> {
        // INVARIANT: `work` is initialised here.
        pin_init!(Self {
            work <- Opaque::ffi_init(move |work| {
                // SAFETY: `work` is the memory of the structure.
                unsafe { extra::ferroprobe_init_delayed_work(work, Some(run)) }
            }),
        })
    }

    /// Returns the value whose work is running.
    ///
    /// # Safety
    ///
    /// `work` must be the argument with which the function of a value was called.
    pub(super) unsafe fn of(work: *mut bindings::work_struct) -> *const Self {
        // SAFETY: `work` is a member of a delayed work, which is a member of a value.
        unsafe {
            let delayed = container_of!(work, bindings::delayed_work, work);
            container_of!(Opaque::cast_from(delayed), Self, work)
        }
    }

    /// Queues the work to run after `millis` milliseconds. If it is already queued,
    /// `millis` replaces its delay if `instead` is true, and has no effect otherwise.
    ///
    /// Context: any but NMI.
    pub(super) fn start(&self, millis: u32, instead: bool) {
        // CAST: The kernel's number for no CPU is small.
        const ANY: c_int = bindings::wq_misc_consts_WORK_CPU_UNBOUND as c_int;
        let start = if instead {
            bindings::mod_delayed_work_on
        } else {
            bindings::queue_delayed_work_on
        };
        // SAFETY: The work is initialised by the type invariant, and the queue exists
        // from boot on. The drop cancels the work.
        unsafe {
            let queue = ptr::read(&raw const bindings::system_dfl_wq);
            start(ANY, queue, self.work.get(), msecs_to_jiffies(millis));
        }
    }
}

#[pinned_drop]
impl PinnedDrop for DelayedWork {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: The work is initialised by the type invariant. The call waits for the
        // function, and prevents it from starting again.
        unsafe { bindings::cancel_delayed_work_sync(self.work.get()) };
    }
}

/// Work that the kernel runs until it is dropped. The drop waits until the work does not
/// run; the caller must not hold a lock that the work takes.
#[pin_data]
pub struct Delayed<T: RunDelayed> {
    /// Dropped first, because it uses the handler.
    #[pin]
    timed: DelayedWork,
    handler: T,
    #[pin]
    _pinned: PhantomPinned,
}

impl<T: RunDelayed> Delayed<T> {
    /// Creates work that is not queued yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(handler: T) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                // SAFETY: `run` requires no more, and `timed` is dropped first.
                timed <- unsafe { DelayedWork::new(Self::run) },
                handler,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )
    }

    /// Queues the work to run after `millis` milliseconds, unless it is already queued.
    ///
    /// Context: process.
    pub fn start(&self, millis: u32) {
        self.timed.start(millis, false);
    }

    /// # Safety
    ///
    /// Called by the kernel only, for the work of a `Delayed<T>`.
    unsafe extern "C" fn run(work: *mut bindings::work_struct) {
        // SAFETY: The work is queued by `start` only, and the drop of `timed` waits for
        // it.
        let this = unsafe { &*container_of!(DelayedWork::of(work), Self, timed) };
        if let Some(millis) = this.handler.run() {
            this.start(millis);
        }
    }
}
