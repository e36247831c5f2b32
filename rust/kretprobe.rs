// SPDX-License-Identifier: GPL-2.0

//! Kretprobes: code that runs when a function returns.
//!
//! C header: [`include/linux/kprobes.h`](srctree/include/linux/kprobes.h)

use super::{
    bindings as extra,
    context::OnCpu,
    handler::{HandlerByStage, Hits},
    probe_place::{fill, ProbePlace},
    registration::{self, KernelHit, KernelProbe, ProbeBuilder},
    regs::Regs,
};
use core::{mem, pin::Pin, slice};
use kernel::{bindings, ffi::c_int, prelude::*};

/// Maximum number of words of data that one call of a function keeps.
pub const MAX_WORDS: usize = extra::FERROPROBE_MAX_DATA_SIZE as usize / mem::size_of::<u64>();

/// Kretprobes as a [`KernelProbe`]; a hit is a return.
pub enum Kretprobe {}

/// A registered kretprobe.
pub type Registration<H> = registration::Registration<Kretprobe, H>;

/// Serves a return probe at the function's entry, too.
pub trait EntryHandler: HandlerByStage<Kretprobe> {
    /// Called at the function's entry. The words that it stores in `data` are passed to the handler
    /// of the return. At the call, `data` has the contents of an earlier call.
    ///
    /// Context: as for a hit.
    fn entry(&self, regs: &Regs, data: &mut [u64], here: &OnCpu);
}

/// A call of the function that has returned.
///
/// # Invariants
///
/// `instance` has `words` words of data, which are initialised.
#[derive(Clone, Copy)]
pub struct FollowedCall<'a> {
    instance: KernelHit<'a, Kretprobe>,
    words: usize,
}

impl<'a> FollowedCall<'a> {
    /// Returns the return address; `regs` are those passed to the handler.
    ///
    /// The instance may have the address of the kernel's trampoline: if several return probes
    /// follow the call, only the first one to be hit at the entry has found the caller's address.
    /// The kernel puts that into the registers.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn return_address(self, regs: &Regs) -> u64 {
        regs.instruction_pointer()
    }

    /// Returns the words that were stored at the entry.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn data(self) -> &'a [u64] {
        // SAFETY: By the type invariant there are that many initialised words. `entry_handler` has
        // ended, and no other call has this instance.
        unsafe { slice::from_raw_parts((*self.instance.as_ptr()).data.as_ptr().cast(), self.words) }
    }
}

/// The argument of a return probe's handler.
#[derive(Clone, Copy)]
pub struct Returned<'a> {
    /// The registers.
    pub regs: &'a Regs,
    /// The call that returns.
    pub call: FollowedCall<'a>,
}

impl Hits for Kretprobe {
    type Hit<'a> = Returned<'a>;
}

impl registration::sealed::Sealed for Kretprobe {}

// SAFETY: These are the kernel's functions for kretprobes. The kprobe of a kretprobe is in
// `kp`, and the kernel calls `handler` with an instance of the kretprobe.
unsafe impl KernelProbe for Kretprobe {
    type Probe = extra::kretprobe;
    type Argument = extra::kretprobe_instance;
    /// Words of data that each instance has.
    type Data = usize;
    type Call<'a> = FollowedCall<'a>;

    const REGISTER: unsafe extern "C" fn(*mut extra::kretprobe) -> c_int =
        extra::register_kretprobe;
    const UNREGISTER: unsafe extern "C" fn(*mut *mut extra::kretprobe, c_int) =
        extra::unregister_kretprobes;
    const CALLBACK: usize = mem::offset_of!(extra::kretprobe, handler);
    const KPROBE: usize = mem::offset_of!(extra::kretprobe, kp);

    #[inline(always)]
    fn probe(hit: KernelHit<'_, Self>) -> Option<*mut extra::kretprobe> {
        let probe = owner(hit);
        (!probe.is_null()).then_some(probe)
    }

    #[inline(always)]
    fn call(hit: KernelHit<'_, Self>, words: usize) -> FollowedCall<'_> {
        // INVARIANT: `words` is the registration's, and the kernel has zeroed the words.
        FollowedCall {
            instance: hit,
            words,
        }
    }

    #[inline(always)]
    fn hit<'a>(regs: &'a Regs, call: FollowedCall<'a>) -> Returned<'a> {
        Returned { regs, call }
    }

    /// Returns the number of calls that were not followed, because no instance was free.
    ///
    /// # Safety
    ///
    /// `probe` must be valid.
    unsafe fn missed(probe: *const extra::kretprobe) -> u64 {
        // SAFETY: `probe` is valid by the function's requirements; the number is an aligned
        // word that the kernel increments.
        let missed = unsafe { (&raw const (*probe).nmissed).read_volatile() };
        // CAST: It only counts up, but the kernel declares it as an int.
        u64::from(missed as u32)
    }
}

impl<H: EntryHandler> Registration<H> {
    /// Registers a return probe, disabled until [`set_enabled`](Self::set_enabled).
    ///
    /// `max_active` calls can be followed at a time; 0 is the kernel's default.
    /// Each has `words` words of data, at most [`MAX_WORDS`].
    ///
    /// # Errors
    ///
    /// As for a kprobe; also `EINVAL` if no function begins there, and `E2BIG` for too many
    /// words.
    ///
    /// Context: process, may sleep.
    pub fn new(
        place: ProbePlace<'_>,
        max_active: i32,
        words: usize,
        handler: impl Init<H>,
    ) -> Result<Pin<KBox<Self>>> {
        if words > MAX_WORDS {
            return Err(E2BIG);
        }
        let name = place.name()?;
        let mut probe: extra::kretprobe = pin_init::zeroed();
        fill(&mut probe.kp, place, name.as_deref());
        if words > 0 {
            probe.entry_handler = Some(Self::entry_handler);
        }
        probe.maxactive = max_active;
        probe.data_size = words.wrapping_mul(mem::size_of::<u64>());
        // INVARIANT: Zeroed except for the location and these; it has room for the words.
        let data = words;
        Self::register(ProbeBuilder { probe, data, name }, handler)
    }

    /// # Safety
    ///
    /// Called by the kernel only, for an instance of a `Registration<H>`.
    unsafe extern "C" fn entry_handler(
        instance: *mut extra::kretprobe_instance,
        regs: *mut bindings::pt_regs,
    ) -> c_int {
        // SAFETY: Called by the kernel, with valid registers. No other call has this
        // instance; by the invariant of `FollowedCall` its data has that size. It is aligned as the
        // list node before it, and was zeroed when it was allocated.
        let served = unsafe {
            Self::called(instance, |this, call, here| {
                let data = (*instance).data.as_mut_ptr().cast();
                let data = slice::from_raw_parts_mut(data, call.words);
                this.handler().entry(Regs::from_raw(regs), data, here);
            })
        };
        // On 1 the kernel does not follow the return.
        served.map_or(1, |()| 0)
    }
}

/// Returns the kretprobe of an instance; null if it was unregistered meanwhile.
#[cfg(CONFIG_KRETPROBE_ON_RETHOOK)]
#[inline(always)]
fn owner(instance: KernelHit<'_, Kretprobe>) -> *mut extra::kretprobe {
    // SAFETY: The instance is valid by the invariant of `KernelHit`, so it has a rethook, whose
    // data is the kretprobe.
    unsafe { (*(*instance.as_ptr()).node.rethook).data.cast() }
}

/// Returns the kretprobe of an instance; null if it was unregistered meanwhile.
#[cfg(not(CONFIG_KRETPROBE_ON_RETHOOK))]
#[inline(always)]
fn owner(instance: KernelHit<'_, Kretprobe>) -> *mut extra::kretprobe {
    // SAFETY: The instance is valid by the invariant of `KernelHit`, so it has a holder, whose
    // pointer is protected by RCU.
    unsafe { (&raw const (*(*instance.as_ptr()).rph).rp).read_volatile() }
}
