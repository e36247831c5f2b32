// SPDX-License-Identifier: GPL-2.0

//! Waking readers from code that may run in any context.
//!
//! C headers: [`include/linux/irq_work.h`](srctree/include/linux/irq_work.h),
//! [`include/linux/wait.h`](srctree/include/linux/wait.h)

use super::{bindings as extra, calls, debugfs::OpenFile, rcu};
use core::{
    mem::MaybeUninit,
    pin::Pin,
    sync::atomic::{fence, AtomicBool, Ordering},
};
use kernel::{
    bindings, container_of, ffi::c_long, prelude::*, time::msecs_to_jiffies, types::Opaque,
};

/// A queue of sleeping readers that a writer in any context can wake.
///
/// # Invariants
///
/// `work` is initialised with [`Waker::run`], `queue` as a wait queue.
#[pin_data(PinnedDrop)]
pub struct Waker {
    #[pin]
    work: Opaque<bindings::irq_work>,
    #[pin]
    queue: Opaque<bindings::wait_queue_head_t>,
    /// Somebody sleeps, or is about to.
    wanted: AtomicBool,
}

// SAFETY: Both structures are made to be used by many threads.
unsafe impl Sync for Waker {}
// SAFETY: Nothing in them belongs to a thread.
unsafe impl Send for Waker {}

impl Waker {
    /// Initialises a queue without readers.
    pub fn new() -> impl PinInit<Self> {
        // INVARIANT: Both are initialised as asked for.
        pin_init!(Self {
            work <- Opaque::ffi_init(|work| {
                // SAFETY: `work` is the place of the structure.
                unsafe { extra::ferroprobe_init_irq_work(work, Some(Self::run)) }
            }),
            queue <- Opaque::ffi_init(|queue| {
                // SAFETY: `queue` is the place of the structure.
                unsafe { extra::ferroprobe_init_waitqueue_head(queue) }
            }),
            wanted: AtomicBool::new(false),
        })
    }

    /// Wakes the readers, if there are any, soon after the caller's context
    /// ends.
    ///
    /// What the caller wrote before is visible to the readers it wakes.
    ///
    /// Contexts: any, NMI included.
    #[inline(always)]
    pub fn wake(&self) {
        // A reader that sets the flag right after this looks at the buffer
        // after that, see `wait`; the writer's commit comes before. On the path
        // of every event a full barrier is too dear, so a reader may be late by
        // one event; its sleep is bounded.
        if self.is_wanted() {
            self.wake_slow();
        }
    }

    /// Whether [`Waker::wake`] would wake anybody.
    ///
    /// Contexts: any.
    #[inline(always)]
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    #[cold]
    fn wake_slow(&self) {
        self.wanted.store(false, Ordering::Relaxed);
        // SAFETY: By the type invariant initialised.
        unsafe { bindings::irq_work_queue(self.work.get()) };
    }

    /// Wakes the readers now.
    ///
    /// Context: process.
    pub fn wake_now(&self) {
        self.wanted.store(false, Ordering::Relaxed);
        self.notify();
    }

    fn notify(&self) {
        // SAFETY: By the type invariant initialised.
        unsafe {
            bindings::__wake_up(
                self.queue.get(),
                bindings::TASK_NORMAL,
                0,
                core::ptr::null_mut(),
            );
        }
    }

    /// # Safety
    ///
    /// Called by the kernel only, for the work of a [`Waker`].
    unsafe extern "C" fn run(work: *mut bindings::irq_work) {
        // SAFETY: Queued by `wake_slow` only, and waited for by the drop.
        let this = unsafe { &*container_of!(Opaque::cast_from(work), Self, work) };
        this.notify();
    }

    /// Sleeps until `ready`, which is asked again after each wake-up.
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal.
    ///
    /// Context: process.
    pub fn wait(&self, ready: impl FnMut() -> bool) -> Result {
        self.sleep(true, 100, ready)
    }

    /// Sleeps until `ready`, which is asked every ten milliseconds, and when
    /// [`Waker::wake_now`] is called: for one who waits for more than the next
    /// event, and whom not every event should wake.
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal.
    ///
    /// Context: process.
    pub fn wait_for_many(&self, ready: impl FnMut() -> bool) -> Result {
        self.sleep(false, 10, ready)
    }

    fn sleep(&self, wanted: bool, millis: u32, mut ready: impl FnMut() -> bool) -> Result {
        let mut entry = MaybeUninit::<bindings::wait_queue_entry>::zeroed();
        // SAFETY: The entry is on the stack of the sleeping task and is taken
        // off the queue below.
        unsafe { bindings::init_wait_entry(entry.as_mut_ptr(), 0) };
        let result = loop {
            // SAFETY: By the type invariant the queue is initialised.
            let signal = unsafe {
                bindings::prepare_to_wait_event(
                    self.queue.get(),
                    entry.as_mut_ptr(),
                    bindings::TASK_INTERRUPTIBLE as kernel::ffi::c_int,
                )
            };
            if wanted {
                self.wanted.store(true, Ordering::Relaxed);
            }
            fence(Ordering::SeqCst);
            if ready() {
                break Ok(());
            }
            if signal != 0 {
                break Err(ERESTARTSYS);
            }
            // CAST: At most a tenth of a second, which is few ticks.
            let ticks = msecs_to_jiffies(millis) as c_long;
            // The state was set above; without a wake-up the task looks again after
            // that time, see `wake`.
            calls::schedule_timeout(ticks);
        };
        // SAFETY: The entry was prepared for this queue.
        unsafe { bindings::finish_wait(self.queue.get(), entry.as_mut_ptr()) };
        result
    }

    /// Tells `poll` that this queue will say when to ask again.
    pub fn register(&self, file: &OpenFile, table: &PollTable) {
        self.wanted.store(true, Ordering::Relaxed);
        // SAFETY: File and table are valid during the call of `poll`; the queue
        // lives until the drop, which ends all polling.
        unsafe { bindings::poll_wait(file.as_ptr(), self.queue.get(), table.0) };
        fence(Ordering::SeqCst);
    }
}

#[pinned_drop]
impl PinnedDrop for Waker {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: By the type invariant initialised; waits for `run`.
        unsafe { bindings::irq_work_sync(self.work.get()) };
        // SAFETY: As above. Ends what still polls, which RCU protects.
        unsafe { bindings::__wake_up_pollfree(self.queue.get()) };
        rcu::synchronize();
    }
}

/// What `poll` hands down.
///
/// # Invariants
///
/// Null, or valid for the duration of a call of `poll`.
pub struct PollTable(pub(super) *mut bindings::poll_table_struct);
