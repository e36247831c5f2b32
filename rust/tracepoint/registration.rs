// SPDX-License-Identifier: GPL-2.0

//! A probe of a tracepoint.

use super::{
    handler::{Any, Listener},
    link::PointLink,
    remove_first,
    stub::{IfTyped, Stub, Stubs, IS_TYPED},
    synchronize, PointsState, Tracepoint, Tracepoints,
};
use crate::kapi::{batch::Batched, context::OnCpu, errno::eopnotsupp, handler::Handler, rcu};
use core::{marker::PhantomPinned, pin::Pin, ptr, sync::atomic::Ordering};
use kernel::{alloc::KVVec, ffi::c_void, prelude::*, sync::Arc};

/// A probe of a tracepoint.
///
/// # Invariants
///
/// If `link.armed` is true, the kernel calls the probe in the link with a pointer to this
/// registration.
#[pin_data(PinnedDrop)]
pub struct PointRegistration<H: Listener> {
    link: PointLink,
    pub(super) handler: H,
    points: Arc<Tracepoints>,
    #[pin]
    _pinned: PhantomPinned,
}

// SAFETY: What changes in the link is atomic; `H` is `Sync`.
unsafe impl<H: Listener> Sync for PointRegistration<H> {}
// SAFETY: Any thread can unregister a probe; `H` is `Send`.
unsafe impl<H: Listener> Send for PointRegistration<H> {}

impl<H: Listener> PointRegistration<H> {
    /// Makes a disarmed probe of `point`, one of `points`. `handler` serves its hits.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EOPNOTSUPP` if the kernel checks the types of probes, and ftrace does not report
    /// the tracepoint's stub.
    ///
    /// Context: process, may sleep.
    pub fn new(
        points: Arc<Tracepoints>,
        point: &Tracepoint,
        handler: impl Init<H>,
    ) -> Result<Pin<KBox<Self>>> {
        let stub = IfTyped::new(|| Self::stub(&points, point.stub))?;
        let this = KBox::pin_init(
            pin_init!(Self {
                handler <- handler,
                link: PointLink::new(
                    point.point,
                    point.module.as_ref().map(|(number, _)| *number),
                    stub,
                ),
                points,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )?;
        let probe = match IS_TYPED {
            // CAST: An address.
            true => ptr::without_provenance_mut(point.stub as usize),
            false => Self::probe(this.handler.uses()),
        };
        let data = ptr::from_ref(&*this).cast_mut().cast();
        this.link.set_probe(probe, data);
        Ok(this)
    }

    /// Registers for reports of the stub at the address `function`.
    fn stub(points: &Tracepoints, function: u64) -> Result<Stub> {
        let stubs: &Arc<Stubs> = points.stubs.get().ok_or_else(eopnotsupp)?;
        Stub::new(stubs, function, Self::at_stub)
    }

    /// Arms or disarms the probe. After disarming it may still run on another CPU.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the module of the tracepoint has gone; `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn set_enabled(&self, enabled: bool) -> Result {
        let link = &self.link;
        let mut state = self.points.state.lock();
        if link.armed.load(Ordering::Relaxed) == enabled {
            return Ok(());
        }
        if !enabled {
            self.disarm(&mut state);
            return Ok(());
        }
        if let Some(number) = link.module {
            if !state.modules.iter().any(|module| module.number == number) {
                link.gone.store(true, Ordering::Relaxed);
                return Err(EINVAL);
            }
            state.armed.reserve(1, GFP_KERNEL)?;
        }
        link.used.store(true, Ordering::Relaxed);
        // SAFETY: The tracepoint exists: it is the kernel's, or its module is loaded as long
        // as the state is locked. The probe is disarmed and waited for before the
        // registration is freed, and disarmed before the module goes.
        unsafe { link.register() }?;
        if link.module.is_some() {
            // INVARIANT: The drop takes it out again. There is room.
            let _ = state.armed.push_within_capacity(link);
        }
        Ok(())
    }

    /// Disarms the probe, with the state locked.
    fn disarm(&self, state: &mut PointsState) {
        self.link.unregister();
        if self.link.module.is_some() {
            let link = ptr::from_ref(&self.link);
            remove_first(&mut state.armed, |armed| *armed == link);
        }
    }

    /// Returns whether the module of the tracepoint has been unloaded.
    pub fn is_gone(&self) -> bool {
        self.link.gone.load(Ordering::Relaxed)
    }

    /// Returns whether waiting for its hits, after it was disarmed, may mean waiting for user
    /// space; see [`wait_for_syscall_probes`](super::wait_for_syscall_probes).
    pub fn may_still_run(&self) -> bool {
        let link = &self.link;
        link.is_faultable
            && link.used.load(Ordering::Relaxed)
            && !link.armed.load(Ordering::Relaxed)
    }

    /// Notes that its hits have been waited for since it was disarmed.
    pub fn set_waited(&self) {
        self.link.used.store(false, Ordering::Relaxed);
    }

    /// Returns the handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// Calls `work`, or counts a miss if this CPU already serves a hit in this context.
    #[inline(always)]
    pub(super) fn unless_serving(&self, here: &OnCpu, work: impl FnOnce()) {
        match self.points.serving.begin(here) {
            Some(_turn) => work(),
            None => Handler::<Any>::count_missed(&self.handler, here),
        }
    }
}

impl<H: Listener> Batched for PointRegistration<H> {
    type Probe = c_void;

    fn end_all(all: &mut [Pin<KBox<Self>>], _pointers: &mut KVVec<*mut c_void>) {
        let (mut used, mut faultable, mut reported) = (false, false, false);
        let points = all.first().map(|first| first.points.clone());
        if let Some(points) = &points {
            points.hold();
        }
        for this in all.iter() {
            this.disarm(&mut this.points.state.lock());
            if this.link.used.load(Ordering::Relaxed) {
                used = true;
                faultable |= this.link.is_faultable;
            }
            reported |= this.link.end_stub();
        }
        if let Some(points) = &points {
            // Removal cannot fail.
            let _ = points.apply();
        }
        if used {
            synchronize(faultable);
        }
        if reported {
            rcu::synchronize();
        }
        for this in all {
            this.link.used.store(false, Ordering::Relaxed);
        }
    }
}

#[pinned_drop]
impl<H: Listener> PinnedDrop for PointRegistration<H> {
    fn drop(self: Pin<&mut Self>) {
        self.disarm(&mut self.points.state.lock());
        if self.link.used.load(Ordering::Relaxed) {
            synchronize(self.link.is_faultable);
        }
        if self.link.end_stub() {
            rcu::synchronize();
        }
    }
}
