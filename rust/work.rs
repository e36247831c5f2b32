// SPDX-License-Identifier: GPL-2.0

//! Work that is done after a while, and again as often as it asks for.
//!
//! C header: [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h)

use super::bindings as extra;
use core::{marker::PhantomPinned, pin::Pin, ptr};
use kernel::{
    bindings, container_of, prelude::*, sync::Arc, time::msecs_to_jiffies, types::Opaque,
};

/// What is done.
pub trait Handler: Send + Sync + 'static {
    /// Does it; returns after how many milliseconds it is to be done again, if
    /// it is.
    ///
    /// Context: process, may sleep.
    fn run(&self) -> Option<u32>;
}

/// Work that the kernel does, until it is dropped; which waits until it is not
/// being done. It must therefore not be dropped by a holder of a lock that the
/// work takes.
///
/// # Invariants
///
/// `work` is initialised with [`Delayed::run`].
#[pin_data(PinnedDrop)]
pub struct Delayed<T: Handler> {
    #[pin]
    work: Opaque<bindings::delayed_work>,
    handler: T,
    #[pin]
    _pinned: PhantomPinned,
}

// SAFETY: The kernel locks what it changes in the work, and `T` may be shared.
unsafe impl<T: Handler> Sync for Delayed<T> {}
// SAFETY: Work can be cancelled by any thread, and `T` may be sent.
unsafe impl<T: Handler> Send for Delayed<T> {}

impl<T: Handler> Delayed<T> {
    /// Work that is not to be done yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(handler: T) -> Result<Arc<Self>> {
        // INVARIANT: Initialised as asked for.
        Arc::pin_init(
            pin_init!(Self {
                work <- Opaque::ffi_init(|work| {
                    // SAFETY: `work` is the place of the structure.
                    unsafe { extra::ferroprobe_init_delayed_work(work, Some(Self::run)) }
                }),
                handler,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )
    }

    /// Does it after `millis` milliseconds, unless it is to be done already.
    ///
    /// Context: process.
    pub fn start(&self, millis: u32) {
        // CAST: The kernel's number for no CPU is small.
        const ANY: kernel::ffi::c_int =
            bindings::wq_misc_consts_WORK_CPU_UNBOUND as kernel::ffi::c_int;
        // SAFETY: By the type invariant initialised, and the queue is there from
        // the kernel's start on. The drop ends it.
        unsafe {
            let queue = ptr::read(&raw const bindings::system_dfl_wq);
            bindings::queue_delayed_work_on(ANY, queue, self.work.get(), msecs_to_jiffies(millis));
        }
    }

    /// # Safety
    ///
    /// Called by the kernel only, for the work of a `Delayed<T>`.
    unsafe extern "C" fn run(work: *mut bindings::work_struct) {
        // SAFETY: The work is the member of a delayed one.
        let delayed = unsafe { container_of!(work, bindings::delayed_work, work) };
        // SAFETY: Queued by `start` only, and waited for by the drop.
        let this = unsafe { &*container_of!(Opaque::cast_from(delayed), Self, work) };
        if let Some(millis) = this.handler.run() {
            this.start(millis);
        }
    }
}

#[pinned_drop]
impl<T: Handler> PinnedDrop for Delayed<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: By the type invariant initialised. Waits for `run`, and keeps
        // it from starting again.
        unsafe { bindings::cancel_delayed_work_sync(self.work.get()) };
    }
}
