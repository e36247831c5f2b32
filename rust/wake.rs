// SPDX-License-Identifier: GPL-2.0

//! Waking readers from code that may run in any context.
//!
//! A writer notifies readers of an event through `irq_work` on its own CPU. A
//! notification may be missed for two reasons: the CPU is going offline or coming online,
//! and runs no `irq_work`; or the writer, which has no full barrier between its commit
//! and its read of the flag, did not see a flag that a reader had just set. Therefore no
//! reader sleeps for more than a tenth of a second without checking again: a blocked
//! reader has a timeout, and polling readers are woken by delayed work, which is pending
//! as long as they poll. Both cost nothing on a hit; a barrier on the reader's side,
//! which interrupts all CPUs, would cost every call of `poll`.
//!
//! C headers: [`include/linux/irq_work.h`](srctree/include/linux/irq_work.h),
//! [`include/linux/wait.h`](srctree/include/linux/wait.h),
//! [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h)

use super::{bindings as extra, context, file::OpenFile, percpu, work::DelayedWork};
use core::{
    marker::PhantomData,
    mem::MaybeUninit,
    pin::Pin,
    ptr,
    sync::atomic::{fence, AtomicBool, Ordering},
};
use kernel::{
    bindings, container_of, current, ffi::c_long, prelude::*, time::msecs_to_jiffies, types::Opaque,
};

/// The longest time that a reader sleeps without checking again, in milliseconds.
const LONGEST: u32 = 100;

/// The longest time that a reader sleeps if it waits for several events, in milliseconds.
const LONGEST_FOR_MANY: u32 = 10;

/// A queue of sleeping readers that a writer in any context can wake.
///
/// # Invariants
///
/// `irq_work` is initialised with [`Waker::interrupt`], `queue` as a wait queue.
#[pin_data(PinnedDrop)]
pub struct Waker {
    #[pin]
    irq_work: Opaque<bindings::irq_work>,
    /// Wakes the readers later, if no event has.
    #[pin]
    later: DelayedWork,
    #[pin]
    queue: Opaque<bindings::wait_queue_head_t>,
    /// Whether a reader sleeps, or is about to.
    wanted: AtomicBool,
}

// SAFETY: The kernel's structures are designed for use by many threads.
unsafe impl Sync for Waker {}
// SAFETY: The structures are bound to no thread.
unsafe impl Send for Waker {}

impl Waker {
    /// Initialises a queue without readers.
    pub fn new() -> impl PinInit<Self> {
        // INVARIANT: All fields are initialised as the invariant requires.
        pin_init!(Self {
            irq_work <- Opaque::ffi_init(|work| {
                // SAFETY: `work` is the memory of the structure.
                unsafe { extra::ferroprobe_init_hard_irq_work(work, Some(Self::interrupt)) }
            }),
            // SAFETY: The work belongs to a `Waker`, as `run` requires. The fields that `run` uses
            // exist until `later` is dropped.
            later <- unsafe { DelayedWork::new(Self::run) },
            queue <- Opaque::ffi_init(|queue| {
                // SAFETY: `queue` is the memory of the structure.
                unsafe { extra::ferroprobe_init_waitqueue_head(queue) }
            }),
            wanted: AtomicBool::new(false),
        })
    }

    /// Wakes the readers, if there are any, soon after the caller's context ends.
    ///
    /// The readers see what the caller wrote before the call.
    ///
    /// Context: any, NMI included.
    #[inline(always)]
    pub fn wake(&self) {
        // A reader that sets the flag after this load checks the buffer after setting it,
        // see `wait`; the writer's commit precedes this load. A full barrier is too
        // expensive on this path, so a reader may miss one event; its sleep is bounded.
        if self.is_wanted() {
            self.wake_slow();
        }
    }

    /// Returns whether [`Waker::wake`] would wake a reader.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    #[cold]
    fn wake_slow(&self) {
        context::on_this_cpu(|here| {
            // After a CPU has left the mask of online CPUs, it runs its `irq_work` once more. Work
            // queued later would stay queued, and block all work queued behind it when the CPU is
            // back. This CPU cannot go offline meanwhile. The flag stays set, so the next event of
            // another CPU wakes the readers.
            if percpu::is_online(here.number()) {
                self.wanted.store(false, Ordering::Relaxed);
                // SAFETY: `irq_work` is initialised by the type invariant.
                unsafe { bindings::irq_work_queue(self.irq_work.get()) };
            }
        });
    }

    /// Wakes the readers now.
    ///
    /// Context: process.
    pub fn wake_now(&self) {
        self.wanted.store(false, Ordering::Relaxed);
        self.notify();
    }

    fn notify(&self) {
        // SAFETY: `queue` is initialised by the type invariant.
        unsafe {
            bindings::__wake_up(self.queue.get(), bindings::TASK_NORMAL, 0, ptr::null_mut());
        }
    }

    /// Wakes the readers from the interrupt.
    ///
    /// With `PREEMPT_RT` the lock of a wait queue sleeps, so delayed work wakes them
    /// instead. The kernel would run `irq_work` that is not for hard interrupt context in
    /// a per-CPU thread, but that thread stops when its CPU goes offline, even if work is
    /// queued.
    ///
    /// # Safety
    ///
    /// Called by the kernel only, for the `irq_work` of a [`Waker`].
    unsafe extern "C" fn interrupt(work: *mut bindings::irq_work) {
        // SAFETY: The work is queued by `wake_slow` only, and the drop waits for it.
        let this = unsafe { &*container_of!(Opaque::cast_from(work), Self, irq_work) };
        if cfg!(CONFIG_PREEMPT_RT) {
            this.later.start(0, true);
        } else {
            this.notify();
        }
    }

    /// Wakes the readers from a workqueue.
    ///
    /// # Safety
    ///
    /// Called by the kernel only, for the work of a [`Waker`].
    unsafe extern "C" fn run(work: *mut bindings::work_struct) {
        // SAFETY: The work is queued by `interrupt` and `register` only, and the drop of
        // `later` waits for it.
        let this = unsafe { &*container_of!(DelayedWork::of(work), Self, later) };
        this.wake_now();
    }

    /// Sleeps until `attempt` returns a value. Calls it at once, after each wake-up, and
    /// at least every tenth of a second.
    ///
    /// `attempt` may sleep. A signal ends the wait, however often `attempt` returns
    /// `None`.
    ///
    /// # Errors
    ///
    /// `ERESTARTSYS` on a signal; the errors of `attempt`.
    ///
    /// Context: process, may sleep.
    pub fn wait<R>(&self, attempt: impl FnMut() -> Result<Option<R>>) -> Result<R> {
        self.sleep(true, LONGEST, attempt)
    }

    /// Like [`Waker::wait`], but calls `attempt` every ten milliseconds and after each
    /// [`Waker::wake_now`]. For a caller that waits for more than the next event, and
    /// that should not be woken by every event.
    ///
    /// # Errors
    ///
    /// As for [`Waker::wait`].
    ///
    /// Context: process, may sleep.
    pub fn wait_for_many<R>(&self, attempt: impl FnMut() -> Result<Option<R>>) -> Result<R> {
        self.sleep(false, LONGEST_FOR_MANY, attempt)
    }

    fn sleep<R>(
        &self,
        wanted: bool,
        millis: u32,
        mut attempt: impl FnMut() -> Result<Option<R>>,
    ) -> Result<R> {
        if let Some(found) = attempt()? {
            return Ok(found);
        }
        let mut entry = MaybeUninit::<bindings::wait_queue_entry>::zeroed();
        let entry = entry.as_mut_ptr();
        // SAFETY: The entry is on the stack of the sleeping task, is initialised before
        // it is queued, and is removed from the queue below. The queue is initialised by
        // the type invariant.
        unsafe {
            bindings::init_wait_entry(entry, 0);
            (*entry).func = Some(bindings::woken_wake_function);
            bindings::add_wait_queue(self.queue.get(), entry);
        }
        let result = loop {
            if wanted {
                self.wanted.store(true, Ordering::Relaxed);
            }
            fence(Ordering::SeqCst);
            // The task stays runnable here: a wake-up is recorded in the entry, not in
            // the state of the task. `attempt` may therefore sleep.
            match attempt() {
                Ok(None) => {}
                Ok(Some(found)) => break Ok(found),
                Err(error) => break Err(error),
            }
            if current!().signal_pending() {
                break Err(ERESTARTSYS);
            }
            // CAST: At most a tenth of a second, which is few ticks.
            let ticks = msecs_to_jiffies(millis) as c_long;
            // SAFETY: The entry is queued, and was made for this function.
            unsafe { bindings::wait_woken(entry, bindings::TASK_INTERRUPTIBLE, ticks) };
        };
        // SAFETY: The entry was added to this queue.
        unsafe { bindings::remove_wait_queue(self.queue.get(), entry) };
        result
    }

    /// Registers this queue with `poll`. It is woken at least every tenth of a second.
    pub fn register<'open>(&'open self, file: &OpenFile, table: &PollTable<'open>) {
        self.wanted.store(true, Ordering::Relaxed);
        self.register_until(LONGEST, file, table);
    }

    /// Like [`Waker::register`], but the queue is only woken as for [`Waker::wait_for_many`]. If
    /// other readers poll for single events, it may take as long as for them.
    pub fn register_for_many<'open>(&'open self, file: &OpenFile, table: &PollTable<'open>) {
        self.register_until(LONGEST_FOR_MANY, file, table);
    }

    fn register_until<'open>(&'open self, millis: u32, file: &OpenFile, table: &PollTable<'open>) {
        // SAFETY: File and table are valid during the call of `poll`. The queue exists as
        // long as the file is open, which is longer than the file is polled.
        unsafe { bindings::poll_wait(file.as_ptr(), self.queue.get(), table.table) };
        self.later.start(millis, false);
        fence(Ordering::SeqCst);
    }
}

#[pinned_drop]
impl PinnedDrop for Waker {
    fn drop(self: Pin<&mut Self>) {
        // The queue is empty: a sleeping reader borrows it, and a polling reader keeps
        // open the file that borrows it.
        // SAFETY: `irq_work` is initialised by the type invariant. The call waits for
        // `interrupt`, which an online CPU will run. The drop of `later` then waits for
        // `run`.
        unsafe { bindings::irq_work_sync(self.irq_work.get()) };
    }
}

/// The poll table that the kernel passes to `poll`, for queues that live as long as the
/// file is open.
///
/// Select, poll, epoll and io_uring leave their entries on a queue after `poll` has
/// returned, and remove them before they release the file. A queue must therefore live
/// for `'open`: as long as the state of the file's opening.
///
/// # Invariants
///
/// The pointer is null, or valid for the duration of a call of `poll`; `'open` lasts
/// until the file's release.
pub struct PollTable<'open> {
    pub(super) table: *mut bindings::poll_table_struct,
    /// Makes the type invariant in `'open`: a shorter lifetime is not accepted.
    pub(super) open: PhantomData<fn(&'open ()) -> &'open ()>,
}
