// SPDX-License-Identifier: GPL-2.0

//! Kretprobes: code that runs when a function returns.
//!
//! C header: [`include/linux/kprobes.h`](srctree/include/linux/kprobes.h)

use super::{
    bindings as extra,
    context::OnCpu,
    kprobe::{fill, zero, First, Left, Place},
    regs::Regs,
    word,
};
use core::{
    marker::PhantomPinned,
    mem,
    pin::Pin,
    slice,
    sync::atomic::{AtomicBool, Ordering},
};
use kernel::{bindings, container_of, error::to_result, prelude::*, str::CString, types::Opaque};

/// Most words of data that one call of a function keeps.
pub const MAX_WORDS: usize = extra::FERROPROBE_MAX_DATA_SIZE as usize / mem::size_of::<u64>();

/// What a return probe does.
pub trait Handler: Send + Sync {
    /// Called at the function's entry, with room for what is to be known at its
    /// return; the room holds what an earlier call left there.
    ///
    /// Contexts: as for a kprobe's handler.
    fn entry(&self, regs: &Regs, data: &mut [u64], here: &OnCpu);

    /// What is to be called first when the function has returned; see
    /// [`Registration::follow`].
    fn first(&self) -> First;

    /// Called when the function has returned, as a kprobe's handler is.
    ///
    /// Contexts: as for a kprobe's handler.
    fn returned<const REGISTER: bool>(&self, regs: &Regs, call: Call<'_>, here: &OnCpu) -> Left;

    /// Called first, or where `returned` has left [`Left::Verdict`]: whether there is
    /// nothing more to do. Otherwise `returned_slowly` is called.
    fn is_refused(&self, regs: &Regs, here: &OnCpu) -> bool;

    /// Called first, or where `returned` has left [`Left::All`].
    fn returned_slowly(&self, regs: &Regs, call: Call<'_>, here: &OnCpu);

    /// Called next where `returned` has left [`Left::Rest`].
    fn finish(&self, here: &OnCpu);
}

/// A call of the function that has returned.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    instance: &'a Opaque<extra::kretprobe_instance>,
    words: usize,
}

impl<'a> Call<'a> {
    /// Where it has returned to.
    #[inline(always)]
    pub fn return_address(self) -> u64 {
        // SAFETY: A reference is valid; the kernel hands it to the handler alone.
        unsafe { return_address(self.instance.get()) }
    }

    /// What was kept at its entry.
    #[inline(always)]
    pub fn data(self) -> &'a [u64] {
        // SAFETY: As in `entry_handler`, which comes before; so many are there.
        unsafe { slice::from_raw_parts((*self.instance.get()).data.as_ptr().cast(), self.words) }
    }
}

/// A function that the kernel calls.
type ReturnHandler = unsafe extern "C" fn(
    *mut extra::kretprobe_instance,
    *mut bindings::pt_regs,
) -> kernel::ffi::c_int;

/// A registered kretprobe.
///
/// # Invariants
///
/// `probe` is registered with the kernel where `registered` says so, as it does from the
/// end of `new` to the drop; `handler` is valid until then;
/// each of its instances has `words` words of data.
#[pin_data(PinnedDrop)]
pub struct Registration<T: Handler> {
    #[pin]
    probe: Opaque<extra::kretprobe>,
    handler: T,
    words: usize,
    registered: AtomicBool,
    /// The text that `probe` points to, if any.
    name: Option<CString>,
    #[pin]
    _pinned: PhantomPinned,
}

// SAFETY: The kernel locks what it changes in the probe, and `T` may be shared.
unsafe impl<T: Handler> Sync for Registration<T> {}
// SAFETY: A probe can be unregistered by any thread, and `T` may be sent.
unsafe impl<T: Handler> Send for Registration<T> {}

impl<T: Handler> Registration<T> {
    /// Registers a return probe, disabled until [`enable`](Self::enable).
    ///
    /// `max_active` calls can be followed at a time; 0 is the kernel's default.
    /// Each has `words` words of data, at most [`MAX_WORDS`].
    ///
    /// # Errors
    ///
    /// As for a kprobe; also `EINVAL` where no function begins.
    ///
    /// Context: process, may sleep.
    pub fn new(
        place: Place<'_>,
        max_active: i32,
        words: usize,
        handler: T,
    ) -> Result<Pin<KBox<Self>>> {
        if words > MAX_WORDS {
            return Err(E2BIG);
        }
        let name = match place {
            Place::Symbol { name, .. } => Some(CString::try_from(name)?),
            Place::Address(_) => None,
        };
        let mut probe: extra::kretprobe = pin_init::zeroed();
        fill(&mut probe.kp, place, name.as_deref());
        probe.handler = Some(Self::first(&handler));
        if words > 0 {
            probe.entry_handler = Some(Self::entry_handler);
        }
        probe.maxactive = max_active;
        probe.data_size = words.wrapping_mul(mem::size_of::<u64>());
        let this = KBox::pin_init(
            pin_init!(Self {
                probe: Opaque::new(probe),
                handler,
                words,
                registered: AtomicBool::new(false),
                name,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )?;
        // SAFETY: The probe is pinned, and unregistered before it is freed; on
        // failure nothing refers to it.
        to_result(unsafe { extra::register_kretprobe(this.probe.get()) })?;
        // INVARIANT: Registered above, with room for the words.
        this.registered.store(true, Ordering::Relaxed);
        Ok(this)
    }

    /// What the kernel is to call at a return.
    fn first(handler: &T) -> ReturnHandler {
        match handler.first() {
            First::Bare => Self::quick_handler::<false>,
            First::Register => Self::quick_handler::<true>,
            First::Verdict => Self::judging_handler,
            First::All => Self::slow_handler,
        }
    }

    /// Asks [`Handler::first`] again, and has the kernel call that from now on. Two must
    /// not call at the same time.
    pub fn follow(&self) {
        let first = Some(Self::first(&self.handler));
        // SAFETY: An aligned word, which the kernel reads once for each return.
        // Whatever it finds is a function that serves any.
        unsafe { (&raw mut (*self.probe.get()).handler).write_volatile(first) };
    }

    /// Unregisters all of `probes` and frees them, and waits only once for the
    /// handlers of all. Without memory it does so for one after the other.
    ///
    /// Context: process, may sleep.
    pub fn drop_all(probes: KVec<Pin<KBox<Self>>>) {
        let mut pointers = KVec::new();
        for probe in &probes {
            if pointers.push(probe.probe.get(), GFP_KERNEL).is_err() {
                return;
            }
        }
        let Ok(count) = i32::try_from(pointers.len()) else {
            return;
        };
        // SAFETY: By the type invariant all are registered. It waits until no
        // handler runs any more.
        unsafe { extra::unregister_kretprobes(pointers.as_mut_ptr(), count) };
        for probe in &probes {
            // INVARIANT: They are not any more.
            probe.registered.store(false, Ordering::Relaxed);
        }
    }

    /// Arms the probe.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the probed code is gone.
    ///
    /// Context: process, may sleep.
    pub fn enable(&self) -> Result {
        // SAFETY: By the type invariant registered.
        to_result(unsafe { extra::enable_kprobe(&raw mut (*self.probe.get()).kp) })
    }

    /// Disarms the probe. A handler may still run on another CPU, also for
    /// calls that began before.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the probed code is gone.
    ///
    /// Context: process, may sleep.
    pub fn disable(&self) -> Result {
        // SAFETY: By the type invariant registered.
        to_result(unsafe { extra::disable_kprobe(&raw mut (*self.probe.get()).kp) })
    }

    /// The address at which the function is probed.
    pub fn address(&self) -> u64 {
        // SAFETY: Constant while registered.
        word(unsafe { (*self.probe.get()).kp.addr }.addr())
    }

    /// Calls whose return was not followed: no instance was free, or the kernel
    /// could not call the handler.
    pub fn missed(&self) -> u64 {
        let probe = self.probe.get();
        // SAFETY: Aligned words that the kernel increments.
        let (returns, entries) = unsafe {
            (
                (&raw const (*probe).nmissed).read_volatile(),
                (&raw const (*probe).kp.nmissed).read_volatile(),
            )
        };
        // CAST: Counts up; an int in the kernel.
        word(entries).wrapping_add(u64::from(returns as u32))
    }

    /// What is called on a return.
    pub fn handler(&self) -> &T {
        &self.handler
    }

    /// The registration that `instance` belongs to, if it still exists.
    ///
    /// # Safety
    ///
    /// `instance` must come from the kernel's call of a handler of `Self`.
    #[inline(always)]
    unsafe fn from_instance<'a>(instance: *mut extra::kretprobe_instance) -> Option<&'a Self> {
        // SAFETY: Valid during the call of the handler.
        let probe: *mut extra::kretprobe = unsafe { owner(instance) };
        if probe.is_null() {
            return None;
        }
        // SAFETY: The probe was registered in `new` and lies in a `Self`, which
        // is not freed while a handler runs.
        Some(unsafe { &*container_of!(Opaque::cast_from(probe), Self, probe) })
    }

    /// # Safety
    ///
    /// Called by the kernel only, for an instance of a `Registration<T>`.
    unsafe extern "C" fn entry_handler(
        instance: *mut extra::kretprobe_instance,
        regs: *mut bindings::pt_regs,
    ) -> kernel::ffi::c_int {
        // SAFETY: Called by the kernel.
        let Some((this, regs, call, here)) = (unsafe { Self::called(instance, regs) }) else {
            return 1;
        };
        // SAFETY: The instance is this call's own; by the type invariant its
        // data has that size, is aligned as the list node before it is, and was
        // zeroed when allocated.
        let data =
            unsafe { slice::from_raw_parts_mut((*instance).data.as_mut_ptr().cast(), call.words) };
        this.handler.entry(regs, data, &here);
        0
    }

    /// # Safety
    ///
    /// Called by the kernel only, for an instance of a `Registration<T>`.
    unsafe extern "C" fn quick_handler<const REGISTER: bool>(
        instance: *mut extra::kretprobe_instance,
        regs: *mut bindings::pt_regs,
    ) -> kernel::ffi::c_int {
        // SAFETY: Called by the kernel.
        let Some((this, given, call, here)) = (unsafe { Self::called(instance, regs) }) else {
            return 0;
        };
        let left = this.handler.returned::<REGISTER>(given, call, &here);
        // SAFETY: Called by the kernel.
        unsafe {
            match left {
                Left::Nothing => 0,
                Left::Verdict => Self::judging_handler(instance, regs),
                Left::All => Self::slow_handler(instance, regs),
                Left::Rest => Self::finish_handler(instance, regs),
            }
        }
    }

    /// # Safety
    ///
    /// As for `quick_handler`, by which it is called too.
    #[inline(never)]
    unsafe extern "C" fn judging_handler(
        instance: *mut extra::kretprobe_instance,
        regs: *mut bindings::pt_regs,
    ) -> kernel::ffi::c_int {
        // SAFETY: Called by the kernel.
        if let Some((this, given, _, here)) = unsafe { Self::called(instance, regs) } {
            if this.handler.is_refused(given, &here) {
                return 0;
            }
        }
        // SAFETY: As above.
        unsafe { Self::slow_handler(instance, regs) }
    }

    /// # Safety
    ///
    /// As for `quick_handler`; it is called by that and by `judging_handler` too.
    #[inline(never)]
    unsafe extern "C" fn slow_handler(
        instance: *mut extra::kretprobe_instance,
        regs: *mut bindings::pt_regs,
    ) -> kernel::ffi::c_int {
        // SAFETY: Called by the kernel.
        if let Some((this, regs, call, here)) = unsafe { Self::called(instance, regs) } {
            this.handler.returned_slowly(regs, call, &here);
        }
        zero()
    }

    /// # Safety
    ///
    /// As for `quick_handler`, by which it is called.
    #[cold]
    #[inline(never)]
    unsafe extern "C" fn finish_handler(
        instance: *mut extra::kretprobe_instance,
        regs: *mut bindings::pt_regs,
    ) -> kernel::ffi::c_int {
        // SAFETY: Called by the kernel.
        if let Some((this, _, _, here)) = unsafe { Self::called(instance, regs) } {
            this.handler.finish(&here);
        }
        zero()
    }

    /// What the kernel hands to a handler, and whose it is, if that still exists.
    ///
    /// # Safety
    ///
    /// As for `entry_handler` and `quick_handler`; for use during their calls.
    #[inline(always)]
    unsafe fn called<'a>(
        instance: *mut extra::kretprobe_instance,
        regs: *mut bindings::pt_regs,
    ) -> Option<(&'a Self, &'a Regs, Call<'a>, OnCpu)> {
        // SAFETY: By the function's requirements.
        let this = unsafe { Self::from_instance(instance) }?;
        let call = Call {
            // SAFETY: The instance is this call's own.
            instance: unsafe { &*Opaque::cast_from(instance) },
            words: this.words,
        };
        // SAFETY: The registers are valid, and preemption is disabled, during the
        // call.
        let (regs, here) = unsafe { (Regs::from_raw(regs), OnCpu::new()) };
        Some((this, regs, call, here))
    }
}

#[pinned_drop]
impl<T: Handler> PinnedDrop for Registration<T> {
    fn drop(self: Pin<&mut Self>) {
        if self.registered.load(Ordering::Relaxed) {
            // SAFETY: By the type invariant registered. It waits until no
            // handler runs any more; calls not yet returned are let go.
            unsafe { extra::unregister_kretprobe(self.probe.get()) };
        }
    }
}

/// The kretprobe of an instance; null if it was unregistered meanwhile.
///
/// # Safety
///
/// `instance` must be valid.
#[cfg(CONFIG_KRETPROBE_ON_RETHOOK)]
#[inline(always)]
unsafe fn owner(instance: *mut extra::kretprobe_instance) -> *mut extra::kretprobe {
    // SAFETY: A valid instance has a rethook, whose data is the kretprobe.
    unsafe { (*(*instance).node.rethook).data.cast() }
}

/// The address to which the probed function returns.
///
/// # Safety
///
/// `instance` must be valid.
#[cfg(CONFIG_KRETPROBE_ON_RETHOOK)]
#[inline(always)]
unsafe fn return_address(instance: *mut extra::kretprobe_instance) -> u64 {
    // SAFETY: By the function's requirements.
    word(unsafe { (*instance).node.ret_addr })
}

/// The kretprobe of an instance; null if it was unregistered meanwhile.
///
/// # Safety
///
/// `instance` must be valid.
#[cfg(not(CONFIG_KRETPROBE_ON_RETHOOK))]
#[inline(always)]
unsafe fn owner(instance: *mut extra::kretprobe_instance) -> *mut extra::kretprobe {
    // SAFETY: A valid instance has a holder; its pointer is under RCU.
    unsafe { (&raw const (*(*instance).rph).rp).read_volatile() }
}

/// The address to which the probed function returns.
///
/// # Safety
///
/// `instance` must be valid.
#[cfg(not(CONFIG_KRETPROBE_ON_RETHOOK))]
#[inline(always)]
unsafe fn return_address(instance: *mut extra::kretprobe_instance) -> u64 {
    // SAFETY: By the function's requirements.
    word(unsafe { (*instance).ret_addr }.addr())
}
