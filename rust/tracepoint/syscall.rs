// SPDX-License-Identifier: GPL-2.0

//! System calls: handlers by the number of the call, behind the tracepoints `sys_enter` and
//! `sys_exit`.
//!
//! C header: [`include/trace/syscall.h`](srctree/include/trace/syscall.h)

use super::{link::Link, Tracepoints};
use crate::kapi::{
    batch::Registered,
    bindings as extra, calls,
    context::{self, OnCpu, Unpreempted},
    local::Counter,
    percpu::PerCpu,
    registration::Next,
    regs::Regs,
};
use core::{
    convert::Infallible,
    marker::PhantomPinned,
    mem::MaybeUninit,
    pin::Pin,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering},
};
use kernel::{
    alloc::KVVec,
    bindings,
    error::to_result,
    ffi::{c_long, c_void},
    new_mutex,
    prelude::*,
    sync::{Arc, Mutex},
};

/// What the kernel knows of a system call.
pub use extra::ferroprobe_syscall as Description;

/// Returns what the kernel's table of system calls, at the address `table`, has for
/// `number`; `None` if that is no system call.
///
/// # Errors
///
/// `EFAULT` if the table cannot be read.
pub fn describe(table: u64, number: u32) -> Result<Option<Description>> {
    let mut call = MaybeUninit::uninit();
    // SAFETY: The function survives faults of its reads, and writes within `call` only.
    let result = unsafe { extra::ferroprobe_syscall(table, number, call.as_mut_ptr()) };
    if result == ENOENT.to_errno() {
        return Ok(None);
    }
    to_result(result)?;
    // SAFETY: The function has succeeded, and then has written all of it.
    Ok(Some(unsafe { call.assume_init() }))
}

/// Returns the number of system calls; 0 if the kernel has no events for them.
pub fn count() -> u32 {
    calls::ferroprobe_syscalls()
}

/// Most copies of user memory that are made for a call.
pub const MAX_COPIES: usize = 3;

/// What serves the system calls of one number.
///
/// A step is a function of its own, and the last thing that the step before it calls.
/// [`Next::Stage`] leads from a step to the next one.
pub trait Handler: Send + Sync {
    /// `COUNT` copies of user memory, which are made before a call is served.
    type Copies<const COUNT: usize>;

    /// Returns the number of copies to make.
    fn copies(&self) -> usize;

    /// Returns room for copies.
    fn no_copies<const COUNT: usize>() -> Self::Copies<COUNT>;

    /// Makes the copies, of at most `limit` bytes of each argument.
    ///
    /// Context: process, may sleep and fault; must not wait for what removes handlers.
    fn copy<const COUNT: usize>(&self, regs: &Regs, limit: usize, to: &mut Self::Copies<COUNT>);

    /// The first step, if there are no copies.
    ///
    /// Context: process, with preemption disabled.
    fn serve_quietly(&self, regs: &Regs, when: When, here: &OnCpu) -> Next<Infallible>;

    /// The first step for a call that begins, with copies.
    ///
    /// Context: process, with preemption disabled.
    fn serve_copies<const COUNT: usize>(
        &self,
        regs: &Regs,
        copies: &Self::Copies<COUNT>,
        here: &OnCpu,
    ) -> Next<Infallible>;

    /// The last step, which serves any call.
    ///
    /// Context: process, with preemption disabled.
    fn serve<const COUNT: usize>(
        &self,
        regs: &Regs,
        copies: Option<&Self::Copies<COUNT>>,
        here: &OnCpu,
    );

    /// Called after a step that returns [`Next::Finish`].
    ///
    /// Context: process, with preemption disabled.
    fn finish(&self, here: &OnCpu);
}

/// When a handler is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When a call begins.
    Enter,
    /// When it returns.
    Exit,
}

/// The handlers of all system calls.
///
/// # Invariants
///
/// If the probe of a side is registered, it has a pointer to this, which is pinned. The
/// handlers are of registrations that are armed.
#[pin_data]
pub struct Calls<H: Handler> {
    enter: Side<H>,
    exit: Side<H>,
    #[pin]
    lock: Mutex<()>,
    /// Most bytes of user memory that are wanted of an argument.
    limit: AtomicU32,
    /// 32-bit calls that began, and that returned: they have no handlers.
    skipped: PerCpu<[Counter; 2]>,
    #[pin]
    _pinned: PhantomPinned,
}

/// The handlers of calls that begin, or of calls that return.
struct Side<H> {
    link: Link,
    /// The number of handlers.
    armed: AtomicU32,
    handlers: KVVec<AtomicPtr<H>>,
}

// SAFETY: The links change with the lock held only; handlers are `Sync`.
unsafe impl<H: Handler> Sync for Calls<H> {}
// SAFETY: Any thread can unregister a probe; handlers are `Send`.
unsafe impl<H: Handler> Send for Calls<H> {}

impl<H: Handler> Side<H> {
    fn new(points: &Tracepoints, name: &[u8], probe: *mut c_void) -> Result<Self> {
        let point = points.find(name)?.ok_or(ENOENT)?.point;
        let mut handlers = KVVec::new();
        for _ in 0..count() {
            handlers.push(AtomicPtr::new(ptr::null_mut()), GFP_KERNEL)?;
        }
        Ok(Self {
            link: Link {
                point,
                module: None,
                probe,
                data: AtomicPtr::new(ptr::null_mut()),
                armed: AtomicBool::new(false),
                gone: AtomicBool::new(false),
                used: AtomicBool::new(false),
            },
            armed: AtomicU32::new(0),
            handlers,
        })
    }
}

impl<H: Handler> Calls<H> {
    /// Makes a table without handlers. At most `limit` bytes of user memory are wanted of an
    /// argument.
    ///
    /// # Errors
    ///
    /// `ENOENT` if the kernel has no such tracepoints, or they cannot be probed; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(points: &Tracepoints, limit: u32) -> Result<Arc<Self>> {
        super::support().map_err(|_| ENOENT)?;
        let enter = Side::new(points, b"sys_enter", Self::entered as *mut c_void)?;
        let exit = Side::new(points, b"sys_exit", Self::returns as *mut c_void)?;
        let skipped = PerCpu::new(|_| Ok(Default::default()))?;
        let this = Arc::pin_init(
            pin_init!(Self {
                enter,
                exit,
                lock <- new_mutex!(()),
                limit: AtomicU32::new(limit),
                skipped,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )?;
        let data: *mut c_void = ptr::from_ref(&*this).cast_mut().cast();
        for side in [&this.enter, &this.exit] {
            side.link.data.store(data, Ordering::Relaxed);
        }
        Ok(this)
    }

    /// Returns the number of bytes of user memory that are wanted of an argument.
    pub fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Sets it.
    pub fn set_limit(&self, limit: u32) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Returns the number of 32-bit calls while there were handlers; these are not served.
    pub fn skipped(&self) -> u64 {
        let mut sums = [0; 2];
        for (_, counters) in self.skipped.iter() {
            for (sum, counter) in sums.iter_mut().zip(counters) {
                *sum = u64::wrapping_add(*sum, counter.get());
            }
        }
        let [begun, returned] = sums;
        begun.max(returned)
    }

    #[inline(always)]
    fn side(&self, when: When) -> &Side<H> {
        match when {
            When::Enter => &self.enter,
            When::Exit => &self.exit,
        }
    }

    /// # Safety
    ///
    /// Called by the kernel only, with a pointer to a `Calls<H>`.
    unsafe extern "C" fn entered(data: *mut c_void, regs: *mut bindings::pt_regs, _: c_long) {
        // SAFETY: The kernel calls a probe only between its registration and the end of the
        // wait behind its removal, with the registers of the current task.
        let (this, regs) = unsafe { (&*data.cast::<Self>(), Regs::from_raw(regs)) };
        this.serve(When::Enter, regs);
    }

    /// # Safety
    ///
    /// As for `entered`.
    unsafe extern "C" fn returns(data: *mut c_void, regs: *mut bindings::pt_regs, _: c_long) {
        // SAFETY: As in `entered`.
        let (this, regs) = unsafe { (&*data.cast::<Self>(), Regs::from_raw(regs)) };
        this.serve(When::Exit, regs);
    }

    #[inline(always)]
    fn serve(&self, when: When, regs: &Regs) {
        if context::is_in_compat_call() {
            return self.skip(when);
        }
        let number = regs.call_number();
        let Some(handler) = self.side(when).handlers.get(number) else {
            if is_x32(number) {
                self.skip(when);
            }
            return;
        };
        // As in rcu_dereference(), the address dependency orders accesses to the handler.
        let handler = handler.load(Ordering::Relaxed);
        if handler.is_null() {
            return;
        }
        // SAFETY: By the type invariant this is the handler of a registration that was armed
        // a moment ago. Its memory is freed only after a wait for all probes.
        let handler = unsafe { &*handler };
        // CAST: Lossless.
        let limit = || self.limit() as usize;
        match handler.copies() {
            0 => {}
            1 => return copy_and_serve::<H, 1>(handler, regs, limit()),
            _ => return copy_and_serve::<H, MAX_COPIES>(handler, regs, limit()),
        }
        let on_cpu = Unpreempted::begin();
        match handler.serve_quietly(regs, when, &on_cpu.here()) {
            Next::Done => on_cpu.end(),
            Next::Finish => finish(handler, on_cpu),
            Next::Stage(_) => last::<H, 1>(handler, regs, None, on_cpu),
            Next::SettleThenStage(never, _) | Next::SettleThenFinish(never) => match never {},
        }
    }

    #[cold]
    #[inline(never)]
    fn skip(&self, when: When) {
        let on_cpu = Unpreempted::begin();
        let index = usize::from(when == When::Exit);
        self.skipped.increment(index, &on_cpu.here());
        on_cpu.end();
    }
}

/// Returns whether `number` belongs to a 32-bit call in 64-bit mode.
fn is_x32(number: usize) -> bool {
    // CAST: Lossless.
    number & extra::FERROPROBE_X32_CALL as usize != 0
}

#[inline(never)]
fn copy_and_serve<H: Handler, const COUNT: usize>(handler: &H, regs: &Regs, limit: usize) {
    let mut copies = H::no_copies::<COUNT>();
    handler.copy(regs, limit, &mut copies);
    let on_cpu = Unpreempted::begin();
    match handler.serve_copies(regs, &copies, &on_cpu.here()) {
        Next::Done => on_cpu.end(),
        Next::Finish => finish(handler, on_cpu),
        Next::Stage(_) => last(handler, regs, Some(&copies), on_cpu),
        Next::SettleThenStage(never, _) | Next::SettleThenFinish(never) => match never {},
    }
}

#[inline(never)]
fn last<H: Handler, const COUNT: usize>(
    handler: &H,
    regs: &Regs,
    copies: Option<&H::Copies<COUNT>>,
    on_cpu: Unpreempted,
) {
    handler.serve(regs, copies, &on_cpu.here());
    on_cpu.end();
}

#[cold]
#[inline(never)]
fn finish<H: Handler>(handler: &H, on_cpu: Unpreempted) {
    handler.finish(&on_cpu.here());
    on_cpu.end();
}

/// A handler of the system calls of one number.
///
/// # Invariants
///
/// If `armed` is true, the table has a pointer to the handler.
#[pin_data(PinnedDrop)]
pub struct Registration<H: Handler> {
    handler: H,
    calls: Arc<Calls<H>>,
    number: u32,
    when: When,
    armed: AtomicBool,
    /// It was armed, and nothing has waited for its hits since.
    used: AtomicBool,
    #[pin]
    _pinned: PhantomPinned,
}

impl<H: Handler> Registration<H> {
    /// Makes a registration for the calls of `number`, disarmed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` if there is no such number.
    ///
    /// Context: process, may sleep.
    pub fn new(
        calls: Arc<Calls<H>>,
        (number, when): (u32, When),
        handler: H,
    ) -> Result<Pin<KBox<Self>>> {
        if number >= count() {
            return Err(EINVAL);
        }
        KBox::pin_init(
            pin_init!(Self {
                handler,
                calls,
                number,
                when,
                armed: AtomicBool::new(false),
                used: AtomicBool::new(false),
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )
    }

    /// Arms or disarms the handler. It may still run on another CPU when it is disarmed.
    ///
    /// # Errors
    ///
    /// `EEXIST` if another one is armed for these calls; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn set_enabled(&self, enabled: bool) -> Result {
        let side = self.calls.side(self.when);
        let _locked = self.calls.lock.lock();
        if self.armed.load(Ordering::Relaxed) == enabled {
            return Ok(());
        }
        // CAST: Lossless.
        let handler = side.handlers.get(self.number as usize).ok_or(EINVAL)?;
        let others = side.armed.load(Ordering::Relaxed);
        if !enabled {
            handler.store(ptr::null_mut(), Ordering::Relaxed);
            side.armed.store(others.wrapping_sub(1), Ordering::Relaxed);
            self.armed.store(false, Ordering::Relaxed);
            if others == 1 {
                side.link.unregister();
            }
            return Ok(());
        }
        if !handler.load(Ordering::Relaxed).is_null() {
            return Err(EEXIST);
        }
        if others == 0 {
            let link = &side.link;
            let data = link.data.load(Ordering::Relaxed);
            // SAFETY: The tracepoints are the kernel's. The probe is removed with the last
            // handler, and each waits for it before it drops its reference to the table.
            to_result(unsafe {
                extra::ferroprobe_tracepoint_register(link.point, link.probe, data)
            })?;
            link.armed.store(true, Ordering::Relaxed);
        }
        self.used.store(true, Ordering::Relaxed);
        // INVARIANT: The pointer is stored below.
        self.armed.store(true, Ordering::Relaxed);
        side.armed.store(others.wrapping_add(1), Ordering::Relaxed);
        let pointer = ptr::from_ref(&self.handler).cast_mut();
        handler.store(pointer, Ordering::Release);
        Ok(())
    }

    /// Returns what serves the calls.
    pub fn handler(&self) -> &H {
        &self.handler
    }
}

impl<H: Handler> Registered for Registration<H> {
    type Probe = c_void;

    fn end_all(all: &mut [Pin<KBox<Self>>], _pointers: &mut KVVec<*mut c_void>) {
        let mut used = false;
        for this in all.iter() {
            // Disarming does not fail.
            let _ = this.set_enabled(false);
            used |= this.used.swap(false, Ordering::Relaxed);
        }
        if used {
            calls::ferroprobe_tracepoints_synchronize();
        }
    }
}

#[pinned_drop]
impl<H: Handler> PinnedDrop for Registration<H> {
    fn drop(self: Pin<&mut Self>) {
        // Disarming does not fail.
        let _ = self.set_enabled(false);
        if self.used.load(Ordering::Relaxed) {
            calls::ferroprobe_tracepoints_synchronize();
        }
    }
}
