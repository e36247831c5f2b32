// SPDX-License-Identifier: GPL-2.0

//! Registered probes, of any mechanism: what kprobes and kretprobes have in common.
//!
//! C header: [`include/linux/kprobes.h`](srctree/include/linux/kprobes.h)

use super::{
    batch::Batched,
    bindings as extra,
    context::OnCpu,
    handler::{Callbacks, HandlerByStage, Hits, Next, FILTER, SERVE},
    rcu::synchronize_hotplug,
    regs::Regs,
    word,
};
use core::{
    arch::asm,
    marker::PhantomPinned,
    pin::Pin,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};
use kernel::{
    alloc::KVVec,
    bindings, container_of,
    error::to_result,
    ffi::{c_int, c_void},
    prelude::*,
    str::CString,
    types::Opaque,
};

/// A function that the kernel calls on a hit.
pub type Callback<M> =
    unsafe extern "C" fn(*mut <M as KernelProbe>::Argument, *mut bindings::pt_regs) -> c_int;

/// Only this folder implements [`KernelProbe`].
pub(super) mod sealed {
    /// Implemented by mechanisms only.
    pub trait Sealed {}
}

/// A mechanism of the kernel that calls a function when the CPU reaches an instruction.
///
/// # Safety
///
/// Each constant must be as documented. [`probe`](Self::probe) must return the structure
/// for which the kernel has called.
pub unsafe trait KernelProbe: sealed::Sealed + Hits + Sized {
    /// The kernel's structure of a probe.
    type Probe;
    /// What the kernel passes to a [`Callback`], besides the registers.
    type Argument;
    /// What a registration keeps for all its calls.
    type Data: Copy + Send + Sync;
    /// What a handler gets of a call, besides the registers.
    type Call<'a>;

    /// The kernel's function that registers a valid structure. The kernel uses it until it
    /// is unregistered, or not at all if the function fails.
    const REGISTER: unsafe extern "C" fn(*mut Self::Probe) -> c_int;
    /// The kernel's function that unregisters structures, which must be registered, and
    /// waits until none of their handlers runs. Its second argument is their number.
    const UNREGISTER: unsafe extern "C" fn(*mut *mut Self::Probe, c_int);
    /// The offset in [`Probe`](Self::Probe) of an `Option` of [`Callback`], which the
    /// kernel reads once for each hit.
    const CALLBACK: usize;
    /// The offset in [`Probe`](Self::Probe) of a `struct kprobe`, which is registered
    /// with it.
    const KPROBE: usize;

    /// Returns the structure that `hit` belongs to; `None` if it was unregistered
    /// meanwhile.
    ///
    /// Context: any.
    fn probe(hit: KernelHit<'_, Self>) -> Option<*mut Self::Probe>;

    /// Returns what a handler gets of `hit`; `data` is the registration's.
    ///
    /// Context: any.
    fn call(hit: KernelHit<'_, Self>, data: Self::Data) -> Self::Call<'_>;

    /// Returns both.
    fn hit<'a>(regs: &'a Regs, call: Self::Call<'a>) -> <Self as Hits>::Hit<'a>;

    /// Returns the hits that the mechanism itself could not follow, besides those that
    /// the `struct kprobe` counts.
    ///
    /// # Safety
    ///
    /// `probe` must be valid.
    unsafe fn missed(_probe: *const Self::Probe) -> u64 {
        0
    }
}

/// What the kernel has passed to a [`Callback`], during the call.
///
/// # Invariants
///
/// The kernel has passed it to a callback of a [`Registration`] that has not returned.
pub struct KernelHit<'a, M: KernelProbe>(&'a Opaque<M::Argument>);

// Not derived, as the derived one would require that the argument is `Clone`.
impl<M: KernelProbe> Clone for KernelHit<'_, M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: KernelProbe> Copy for KernelHit<'_, M> {}

impl<M: KernelProbe> KernelHit<'_, M> {
    /// Returns a pointer to the kernel's structure.
    #[inline(always)]
    pub(super) fn as_ptr(self) -> *mut M::Argument {
        self.0.get()
    }
}

/// A probe that can be registered.
///
/// # Invariants
///
/// `probe` is zeroed, except for a location and for the fields of the mechanism, which are
/// consistent with `data`. If it has a name, that is `name`; if it has functions, they
/// belong to the [`Registration`] that is made of it.
pub(super) struct ProbeBuilder<M: KernelProbe> {
    pub(super) probe: M::Probe,
    pub(super) data: M::Data,
    pub(super) name: Option<CString>,
}

/// The kernel's state of a probe.
struct KernelState {
    address: u64,
    flags: u32,
    /// Hits on which it could not call the handler.
    missed: u64,
}

/// A registered probe.
///
/// # Invariants
///
/// `probe` and `data` come from a [`ProbeBuilder`]. `probe` is registered with the kernel if
/// `registered` is true, which it is from the end of `register` to the drop; `handler` is
/// valid until then.
#[pin_data(PinnedDrop)]
pub struct Registration<M: KernelProbe, H: HandlerByStage<M>> {
    #[pin]
    probe: Opaque<M::Probe>,
    handler: H,
    data: M::Data,
    registered: AtomicBool,
    /// The text that `probe` points to, if any.
    name: Option<CString>,
    #[pin]
    _pinned: PhantomPinned,
}

// SAFETY: The kernel locks what it changes in the probe; `H` and the data are `Sync`.
unsafe impl<M: KernelProbe, H: HandlerByStage<M>> Sync for Registration<M, H> {}
// SAFETY: Any thread can unregister a probe; `H` and the data are `Send`.
unsafe impl<M: KernelProbe, H: HandlerByStage<M>> Send for Registration<M, H> {}

impl<M: KernelProbe, H: HandlerByStage<M>> Registration<M, H> {
    /// Registers a probe, disabled: it counts and calls nothing until
    /// [`set_enabled`](Self::set_enabled).
    ///
    /// # Errors
    ///
    /// The errors of the kernel, for the location; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(super) fn register(
        builder: ProbeBuilder<M>,
        handler: impl Init<H>,
    ) -> Result<Pin<KBox<Self>>> {
        let ProbeBuilder { probe, data, name } = builder;
        let this = KBox::pin_init(
            pin_init!(Self {
                probe: Opaque::new(probe),
                handler <- handler,
                data,
                registered: AtomicBool::new(false),
                name,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )?;
        this.update_callback();
        // SAFETY: The probe is valid by the invariants of `ProbeBuilder`. It is pinned, and
        // unregistered before it is freed; on failure nothing refers to it.
        to_result(unsafe { (M::REGISTER)(this.probe.get()) })?;
        // INVARIANT: Registered above.
        this.registered.store(true, Ordering::Relaxed);
        Ok(this)
    }

    /// Makes the kernel call the stage that [`Handler::first`] returns now. After several
    /// calls at the same time, the stage of any of them remains: each stage serves all
    /// hits, but some are slower.
    ///
    /// [`Handler::first`]: super::handler::Handler::first
    ///
    /// Context: process.
    pub fn update_callback(&self) {
        let first = H::callback::<Self>(self.handler.first());
        let callback = self.probe.get().wrapping_byte_add(M::CALLBACK);
        // SAFETY: By the contract of `KernelProbe` this is an aligned word, which is valid as
        // long as `self`, and which nothing else changes; the kernel reads it once for each
        // hit.
        let word = unsafe { AtomicPtr::from_ptr(callback.cast::<*mut c_void>()) };
        word.store(first as *mut c_void, Ordering::Relaxed);
    }

    /// Arms or disarms the probe. A handler may still run on another CPU when it is
    /// disarmed.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the probed code is gone.
    ///
    /// Context: process, may sleep.
    pub fn set_enabled(&self, enabled: bool) -> Result {
        let set = if enabled {
            extra::enable_kprobe
        } else {
            extra::disable_kprobe
        };
        // SAFETY: The probe is registered by the type invariant, and with it the kprobe in
        // it by the contract of `KernelProbe`.
        to_result(unsafe { set(self.kprobe()) })
    }

    /// Returns whether the kernel has given the probe up, because the probed code is gone.
    ///
    /// Context: any.
    pub fn is_gone(&self) -> bool {
        self.known().flags & extra::KPROBE_FLAG_GONE != 0
    }

    /// Returns the address of the probed instruction.
    ///
    /// Context: any.
    pub fn address(&self) -> u64 {
        self.known().address
    }

    /// Returns the hits on which the kernel could not call the handler.
    ///
    /// Context: any.
    pub fn missed(&self) -> u64 {
        self.known().missed
    }

    /// Returns the `struct kprobe` that is registered with the probe.
    fn kprobe(&self) -> *mut extra::kprobe {
        self.probe.get().wrapping_byte_add(M::KPROBE).cast()
    }

    fn known(&self) -> KernelState {
        let kprobe = self.kprobe();
        // SAFETY: The probe is valid by the type invariant, and the kprobe in it by the
        // contract of `KernelProbe`. The address is constant, the others are aligned words that
        // the kernel changes.
        let (address, flags, missed, more) = unsafe {
            (
                (*kprobe).addr,
                (&raw const (*kprobe).flags).read_volatile(),
                (&raw const (*kprobe).nmissed).read_volatile(),
                M::missed(self.probe.get()),
            )
        };
        KernelState {
            address: word(address.addr()),
            flags,
            missed: word(missed).wrapping_add(more),
        }
    }

    /// Returns what serves the hits.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// # Safety
    ///
    /// Called by the kernel for the probe of a `Registration<M, H>`, or by a stage that it
    /// has called.
    #[inline(never)]
    unsafe extern "C" fn stage<const STAGE: u8>(
        argument: *mut M::Argument,
        regs: *mut bindings::pt_regs,
    ) -> c_int {
        // SAFETY: Called by the kernel, with valid registers; so are the stages that follow.
        let result = unsafe {
            Self::called(argument, |this, call, here| {
                let hit = M::hit(Regs::from_raw(regs), call);
                match this.handler.run::<STAGE>(hit, here) {
                    Next::Done if matches!(STAGE, FILTER | SERVE) => zero(),
                    Next::Done => 0,
                    Next::Stage(FILTER) => Self::stage::<FILTER>(argument, regs),
                    Next::Stage(_) => Self::stage::<SERVE>(argument, regs),
                }
            })
        };
        result.unwrap_or(0)
    }

    /// Calls `serve` with the registration and with what a handler is told of the call;
    /// returns `None` instead if the registration has ended meanwhile.
    ///
    /// If it returned them in an `Option`, a kprobe's hit would take one comparison more:
    /// the compiler does not know that the reference, made of a pointer, is not the null
    /// that stands for `None`.
    ///
    /// # Safety
    ///
    /// The kernel must have called a callback of a `Registration<M, H>` with `argument`,
    /// and that must not have returned.
    #[inline(always)]
    pub(super) unsafe fn called<R>(
        argument: *mut M::Argument,
        serve: impl for<'a> FnOnce(&'a Self, M::Call<'_>, &'a OnCpu) -> R,
    ) -> Option<R> {
        // SAFETY: What the kernel passes is valid during the call.
        let hit = KernelHit(unsafe { &*Opaque::cast_from(argument) });
        let probe = M::probe(hit)?;
        // SAFETY: The kernel calls for the probe that `register` has registered, which is a
        // field of a `Self` that is not freed while a handler runs.
        let this = unsafe { &*container_of!(Opaque::cast_from(probe), Self, probe) };
        // SAFETY: The kernel calls with preemption disabled.
        let here = unsafe { OnCpu::new() };
        Some(serve(this, M::call(hit, this.data), &here))
    }
}

impl<M: KernelProbe, H: HandlerByStage<M>> Callbacks for Registration<M, H> {
    type Callback = Callback<M>;

    fn of<const STAGE: u8>() -> Callback<M> {
        Self::stage::<STAGE>
    }
}

impl<M: KernelProbe, H: HandlerByStage<M>> Batched for Registration<M, H> {
    type Probe = M::Probe;

    fn end_all(all: &mut [Pin<KBox<Self>>], pointers: &mut KVVec<*mut M::Probe>) {
        pointers.clear();
        for this in all
            .iter()
            .filter(|this| this.registered.load(Ordering::Relaxed))
        {
            if pointers.push_within_capacity(this.probe.get()).is_err() {
                return;
            }
        }
        let Ok(count) = i32::try_from(pointers.len()) else {
            return;
        };
        // SAFETY: These are registered by the type invariant, and no one else has them. The
        // function waits until no handler runs.
        unsafe { (M::UNREGISTER)(pointers.as_mut_ptr(), count) };
        synchronize_hotplug();
        for this in all {
            // INVARIANT: They were unregistered above.
            this.registered.store(false, Ordering::Relaxed);
        }
    }
}

#[pinned_drop]
impl<M: KernelProbe, H: HandlerByStage<M>> PinnedDrop for Registration<M, H> {
    fn drop(self: Pin<&mut Self>) {
        if self.registered.load(Ordering::Relaxed) {
            // SAFETY: The probe is registered by the type invariant. The function waits until
            // no handler runs; returns of calls that have not returned are not followed.
            unsafe { (M::UNREGISTER)(&mut self.probe.get(), 1) };
            synchronize_hotplug();
        }
    }
}

/// Returns 0, the result of a stage to which another stage leads.
///
/// The compiler must not know that it is 0: it would then call the next stage and return a
/// 0 of its own, instead of jumping to it.
#[inline(always)]
fn zero() -> c_int {
    let mut zero: usize = 0;
    // SAFETY: The template has no instruction.
    unsafe {
        asm!("/* {0} */", inout(reg) zero, options(pure, nomem, nostack, preserves_flags));
    }
    // CAST: 0 in any type.
    zero as c_int
}
