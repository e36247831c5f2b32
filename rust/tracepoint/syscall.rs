// SPDX-License-Identifier: GPL-2.0

//! System calls: handlers by call number, on the tracepoints `sys_enter` and `sys_exit`.
//!
//! One probe of each tracepoint serves all system calls. So an untraced call costs a few
//! instructions, and arming a handler stores a pointer. 32-bit calls have other numbers; they are
//! counted, not traced. The metadata of calls comes from the table of the kernel's own tracer.
//!
//! C header: [`include/trace/syscall.h`](srctree/include/trace/syscall.h)

use super::{link::PointLink, skipped::SkippedCalls, stub::IfTyped, synchronize, Tracepoints};
use crate::kapi::{
    batch::Batched,
    bindings as extra, calls,
    context::{self, Unpreempted},
    local::Counter,
    percpu::PerCpu,
    regs::Regs,
};
use core::{
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

/// The kernel's metadata of a system call.
pub use extra::ferroprobe_syscall as Description;

/// Whether the kernel's metadata say which arguments point to user memory that is recorded.
pub const KNOWS_TEXTS: bool = cfg!(have_syscall_user_mask);

/// Returns the metadata of call `number` from the kernel's table at the address `table`; `None` if
/// there is no such call.
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

/// Serves the system calls of one number.
pub trait CallHandler: Send + Sync {
    /// The state of calls in progress.
    type Begun: Begun;

    /// Acquires what serving calls needs, before the handler is armed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    fn prepare(&self) -> Result {
        Ok(())
    }

    /// Undoes [`CallHandler::prepare`]. The handler is disarmed, but may still run.
    ///
    /// Context: process.
    fn retire(&self) {}

    /// Serves a call.
    ///
    /// Context: process; must not sleep, because removing handlers waits for them.
    fn serve(&self, regs: &Regs, when: When, shared: &CallsShared);

    /// Serves the return of a call. Returns false if the handler did not see the current task begin
    /// it. The task may be in a 32-bit call.
    ///
    /// Context: as for [`serve`](Self::serve).
    fn serve_end(&self, _regs: &Regs, _shared: &CallsShared) -> bool {
        false
    }

    /// Serves a 32-bit call that is equivalent to the calls of this number.
    ///
    /// Context: as for [`serve`](Self::serve).
    fn serve_compat(&self, _regs: &Regs, _when: When, _shared: &CallsShared) {}
}

/// The calls in progress.
pub trait Begun: Send + Sync {
    /// Returns the number of the call that the current task is in, if known.
    ///
    /// Context: process.
    fn number(&self) -> Option<u32>;
}

impl Begun for () {
    fn number(&self) -> Option<u32> {
        None
    }
}

/// When a handler is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When a call begins.
    Enter,
    /// When it returns.
    Exit,
}

/// The state that the handlers of a table share.
pub struct CallsShared {
    /// Maximum number of bytes of user memory to copy per argument.
    limit: AtomicU32,
    /// Arguments with unreadable memory.
    unread: PerCpu<[Counter; 1]>,
}

impl CallsShared {
    fn new(limit: u32) -> Result<Self> {
        Ok(Self {
            limit: AtomicU32::new(limit),
            unread: PerCpu::new(|_| Ok(Default::default()))?,
        })
    }

    /// Returns the most bytes of user memory to copy per argument.
    #[inline(always)]
    pub fn limit(&self) -> usize {
        // CAST: Lossless.
        self.limit.load(Ordering::Relaxed) as usize
    }

    /// Counts a call with an argument whose memory could not be read.
    #[cold]
    #[inline(never)]
    pub fn count_unread(&self) {
        let on_cpu = Unpreempted::begin();
        self.unread.increment(0, &on_cpu.here());
        on_cpu.end();
    }
}

/// Limit of the numbers of 32-bit calls.
const COMPAT: usize = 512;

/// A number that no 64-bit call has.
const NO_CALL: u32 = u32::MAX;

/// The handlers of all system calls.
///
/// # Invariants
///
/// If the probe of a side is registered, it has a pointer to this pinned value. The handlers belong
/// to armed registrations.
#[pin_data]
pub struct Calls<H: CallHandler> {
    enter: CallSide<H>,
    exit: CallSide<H>,
    #[pin]
    lock: Mutex<()>,
    shared: CallsShared,
    /// For each 32-bit call, the number of the equivalent 64-bit call, or [`NO_CALL`].
    compat: [AtomicU32; COMPAT],
    begun: Arc<H::Begun>,
    #[pin]
    _pinned: PhantomPinned,
}

/// The handlers of entries, or of returns.
///
/// # Invariants
///
/// The number of `handlers` is a power of two.
struct CallSide<H> {
    link: PointLink,
    /// The number of handlers.
    armed: AtomicU32,
    handlers: KVVec<AtomicPtr<H>>,
    skipped: Arc<SkippedCalls>,
    /// The number of the probe in `skipped`.
    number: usize,
}

// SAFETY: The links change with the lock held only; handlers are `Sync`.
unsafe impl<H: CallHandler> Sync for Calls<H> {}
// SAFETY: Any thread can unregister a probe; handlers are `Send`.
unsafe impl<H: CallHandler> Send for Calls<H> {}

impl<H: CallHandler> CallSide<H> {
    fn new(
        points: &Tracepoints,
        name: &[u8],
        (skipped, number): (&Arc<SkippedCalls>, usize),
    ) -> Result<Self> {
        let point = points.find(name)?.ok_or(ENOENT)?.point;
        let mut handlers = KVVec::new();
        for _ in 0..count().next_power_of_two() {
            handlers.push(AtomicPtr::new(ptr::null_mut()), GFP_KERNEL)?;
        }
        Ok(Self {
            link: PointLink::new(point, None, IfTyped::NONE),
            armed: AtomicU32::new(0),
            handlers,
            skipped: skipped.clone(),
            number,
        })
    }

    /// Returns the handler of the calls with this number, which user space controls.
    #[inline(always)]
    fn handler(&self, number: usize) -> Option<&H> {
        let handlers = &*self.handlers;
        let mask = handlers.len().wrapping_sub(1);
        // Masking does not change a valid index. It keeps a processor that speculates on the number
        // from reading behind the table.
        let handler = handlers
            .get(number)
            .and_then(|_| handlers.get(number & mask))?;
        // As in rcu_dereference(), the address dependency orders accesses to the handler.
        let handler = handler.load(Ordering::Relaxed);
        // SAFETY: By the invariant of `Calls` this is the handler of a registration that was
        // armed a moment ago. Its memory is freed only after a wait for all probes.
        unsafe { handler.as_ref() }
    }

    /// Adds the handler of the calls with this number. The caller holds the lock of the table.
    ///
    /// # Errors
    ///
    /// `EEXIST` if there is one; `EINVAL` if there is no such number; `ENOMEM`.
    ///
    /// # Safety
    ///
    /// Handler and table must exist until the handler was removed and all probes of
    /// tracepoints were waited for.
    unsafe fn add(&self, number: u32, served_by: &H) -> Result {
        // CAST: Lossless.
        let handler = self.handlers.get(number as usize).ok_or(EINVAL)?;
        if !handler.load(Ordering::Relaxed).is_null() {
            return Err(EEXIST);
        }
        let others = self.armed.load(Ordering::Relaxed);
        if others == 0 {
            self.skipped.settle();
            // SAFETY: The tracepoints are the kernel's. The probe is removed with the last
            // handler, and by this function's contract the table exists until then and
            // longer.
            unsafe { self.link.register() }?;
        }
        self.armed.store(others.wrapping_add(1), Ordering::Relaxed);
        let pointer = ptr::from_ref(served_by).cast_mut();
        handler.store(pointer, Ordering::Release);
        Ok(())
    }

    /// Removes the handler of the calls with this number; it may still run on another CPU. The
    /// caller holds the lock of the table.
    fn remove(&self, number: u32) {
        // CAST: Lossless.
        if let Some(handler) = self.handlers.get(number as usize) {
            handler.store(ptr::null_mut(), Ordering::Relaxed);
            let others = self.armed.load(Ordering::Relaxed).wrapping_sub(1);
            self.armed.store(others, Ordering::Relaxed);
            if others == 0 {
                self.link.unregister();
                self.skipped.settle();
            }
        }
    }
}

impl<H: CallHandler> Calls<H> {
    /// Makes a table without handlers. `begun` has the calls in progress; at most `limit` bytes of
    /// user memory are copied per argument. The probes that count in `skipped` have the numbers
    /// `first` and the next.
    ///
    /// # Errors
    ///
    /// `ENOENT` if the kernel has no such tracepoints; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(
        points: &Tracepoints,
        limit: u32,
        begun: Arc<H::Begun>,
        (skipped, first): (&Arc<SkippedCalls>, usize),
    ) -> Result<Arc<Self>> {
        let enter = CallSide::new(points, b"sys_enter", (skipped, first))?;
        let exit = CallSide::new(points, b"sys_exit", (skipped, first.wrapping_add(1)))?;
        let shared = CallsShared::new(limit)?;
        let this = Arc::pin_init(
            pin_init!(Self {
                enter,
                exit,
                lock <- new_mutex!(()),
                shared,
                compat: [const { AtomicU32::new(NO_CALL) }; COMPAT],
                begun,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )?;
        let data: *mut c_void = ptr::from_ref(&*this).cast_mut().cast();
        // CFI is no problem: the probes have the type of these tracepoints.
        let (entered, returns) = (Self::entered as *mut c_void, Self::returns as *mut c_void);
        this.enter.link.set_probe(entered, data);
        this.exit.link.set_probe(returns, data);
        Ok(this)
    }

    /// Lets the handler of calls `number` also serve the 32-bit calls `compat`.
    pub fn add_compat(&self, compat: u32, number: u32) {
        // CAST: Lossless.
        if let Some(to) = self.compat.get(compat as usize) {
            to.store(number, Ordering::Relaxed);
        }
    }

    /// Returns the number of the 64-bit call equivalent to the 32-bit call `compat`, which user
    /// space controls; `None` if there is none.
    fn native(&self, compat: usize) -> Option<usize> {
        // As in `CallSide::handler`.
        const { assert!(COMPAT.is_power_of_two()) };
        let known = self.compat.get(compat);
        let number = known.and_then(|_| self.compat.get(compat & (COMPAT - 1)))?;
        let number = number.load(Ordering::Relaxed);
        // CAST: Lossless.
        (number != NO_CALL).then_some(number as usize)
    }

    /// Returns the most bytes of user memory to copy per argument.
    pub fn limit(&self) -> u32 {
        self.shared.limit.load(Ordering::Relaxed)
    }

    /// Sets it.
    pub fn set_limit(&self, limit: u32) {
        self.shared.limit.store(limit, Ordering::Relaxed);
    }

    /// Returns the number of calls with an argument whose memory could not be read.
    pub fn unread(&self) -> u64 {
        let counts = self.shared.unread.iter();
        let counts = counts.map(|(_, [count])| count.get());
        counts.fold(0, u64::wrapping_add)
    }

    #[inline(always)]
    fn side(&self, when: When) -> &CallSide<H> {
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
            return self.serve_other(when, regs);
        }
        let number = regs.call_number();
        match self.side(when).handler(number) {
            Some(handler) => handler.serve(regs, when, &self.shared),
            None if is_x32(number) => self.serve_other(when, regs),
            None => {}
        }
    }

    /// Serves or skips a call of a 32-bit program. An `execve` of a 32-bit program began as a
    /// 64-bit call.
    #[cold]
    #[inline(never)]
    fn serve_other(&self, when: When, regs: &Regs) {
        if when == When::Exit {
            let number = self.begun.number();
            // CAST: Lossless.
            let handler = number.and_then(|number| self.exit.handler(number as usize));
            if handler.is_some_and(|handler| handler.serve_end(regs, &self.shared)) {
                return;
            }
        }
        let native = match context::is_in_compat_call() {
            true => self.native(regs.call_number()),
            false => None,
        };
        match native {
            Some(number) => {
                if let Some(handler) = self.side(when).handler(number) {
                    handler.serve_compat(regs, when, &self.shared);
                }
            }
            None => {
                let side = self.side(when);
                side.skipped.count(side.number);
            }
        }
    }
}

/// Returns whether `number` belongs to a 32-bit call in 64-bit mode.
fn is_x32(number: usize) -> bool {
    // CAST: Lossless.
    number & extra::FERROPROBE_X32_CALL as usize != 0
}

/// A handler of the system calls of one number.
///
/// # Invariants
///
/// If `armed` is true, the table has a pointer to the handler for each of the sides.
#[pin_data(PinnedDrop)]
pub struct CallRegistration<H: CallHandler> {
    handler: H,
    calls: Arc<Calls<H>>,
    number: u32,
    sides: &'static [When],
    armed: AtomicBool,
    /// Whether the handler was armed after the last wait for its calls.
    used: AtomicBool,
    #[pin]
    _pinned: PhantomPinned,
}

impl<H: CallHandler> CallRegistration<H> {
    /// Makes a disarmed registration for the calls of `number`; it serves `sides`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` if there is no such number.
    ///
    /// Context: process, may sleep.
    pub fn new(
        calls: Arc<Calls<H>>,
        (number, sides): (u32, &'static [When]),
        handler: impl Init<H>,
    ) -> Result<Pin<KBox<Self>>> {
        if number >= count() {
            return Err(EINVAL);
        }
        KBox::pin_init(
            pin_init!(Self {
                handler <- handler,
                calls,
                number,
                sides,
                armed: AtomicBool::new(false),
                used: AtomicBool::new(false),
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )
    }

    /// Arms or disarms the handler. After disarming it may still run on another CPU.
    ///
    /// # Errors
    ///
    /// `EEXIST` if another handler is armed for these calls; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn set_enabled(&self, enabled: bool) -> Result {
        let _locked = self.calls.lock.lock();
        if self.armed.load(Ordering::Relaxed) == enabled {
            return Ok(());
        }
        if !enabled {
            self.armed.store(false, Ordering::Relaxed);
            for when in self.sides {
                self.calls.side(*when).remove(self.number);
            }
            self.handler.retire();
            return Ok(());
        }
        self.handler.prepare()?;
        self.used.store(true, Ordering::Relaxed);
        // INVARIANT: The pointers are stored below, or it is set to false.
        self.armed.store(true, Ordering::Relaxed);
        for (index, when) in self.sides.iter().enumerate() {
            // SAFETY: The handler is pinned. Its drop, and what else frees it, removes it and
            // waits before the handler and the reference to the table go.
            let added = unsafe { self.calls.side(*when).add(self.number, &self.handler) };
            if added.is_err() {
                self.armed.store(false, Ordering::Relaxed);
                for when in self.sides.get(..index).unwrap_or_default() {
                    self.calls.side(*when).remove(self.number);
                }
                self.handler.retire();
                return added;
            }
        }
        Ok(())
    }

    /// Returns the handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }
}

impl<H: CallHandler> Batched for CallRegistration<H> {
    type Probe = c_void;

    fn end_all(all: &mut [Pin<KBox<Self>>], _pointers: &mut KVVec<*mut c_void>) {
        let mut used = false;
        for this in all.iter() {
            // Disarming does not fail.
            let _ = this.set_enabled(false);
            used |= this.used.swap(false, Ordering::Relaxed);
        }
        if used {
            synchronize(true);
        }
    }
}

#[pinned_drop]
impl<H: CallHandler> PinnedDrop for CallRegistration<H> {
    fn drop(self: Pin<&mut Self>) {
        // Disarming does not fail.
        let _ = self.set_enabled(false);
        if self.used.load(Ordering::Relaxed) {
            synchronize(true);
        }
    }
}
