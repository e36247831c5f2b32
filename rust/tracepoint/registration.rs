// SPDX-License-Identifier: GPL-2.0

//! A probe of a tracepoint.

use super::{handler::Handler, link::Link, remove_first, State, Tracepoint, Tracepoints};
use crate::kapi::{batch::Registered, bindings as extra, calls, context::OnCpu};
use core::{
    marker::PhantomPinned,
    pin::Pin,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};
use kernel::{alloc::KVVec, error::to_result, ffi::c_void, prelude::*, sync::Arc};

/// A probe of a tracepoint.
///
/// # Invariants
///
/// If `link.armed` is true, the kernel calls the probe in the link with a pointer to this
/// registration.
#[pin_data(PinnedDrop)]
pub struct Registration<H: Handler> {
    link: Link,
    pub(super) handler: H,
    points: Arc<Tracepoints>,
    #[pin]
    _pinned: PhantomPinned,
}

// SAFETY: What changes in the link is atomic; `H` is `Sync`.
unsafe impl<H: Handler> Sync for Registration<H> {}
// SAFETY: Any thread can unregister a probe; `H` is `Send`.
unsafe impl<H: Handler> Send for Registration<H> {}

impl<H: Handler> Registration<H> {
    /// Makes a probe of `point`, one of `points`, disarmed. `handler` serves its hits.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub fn new(
        points: Arc<Tracepoints>,
        point: &Tracepoint,
        handler: impl Init<H>,
    ) -> Result<Pin<KBox<Self>>> {
        let this = KBox::pin_init(
            pin_init!(Self {
                handler <- handler,
                link: Link {
                    point: point.point,
                    module: point.module.as_ref().map(|(number, _)| *number),
                    probe: Self::probe(handler.uses()),
                    data: AtomicPtr::new(ptr::null_mut()),
                    armed: AtomicBool::new(false),
                    gone: AtomicBool::new(false),
                    used: AtomicBool::new(false),
                },
                points,
                _pinned: PhantomPinned,
            }),
            GFP_KERNEL,
        )?;
        let data = ptr::from_ref(&*this).cast_mut().cast();
        this.link.data.store(data, Ordering::Relaxed);
        Ok(this)
    }

    /// Arms or disarms the probe. It may still run on another CPU when it is disarmed.
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
        let data = link.data.load(Ordering::Relaxed);
        // SAFETY: The tracepoint exists: it is the kernel's, or its module is loaded as long
        // as the state is locked. The probe is disarmed and waited for before the
        // registration is freed, and disarmed before the module goes.
        to_result(unsafe { extra::ferroprobe_tracepoint_register(link.point, link.probe, data) })?;
        // INVARIANT: Registered above.
        link.armed.store(true, Ordering::Relaxed);
        if link.module.is_some() {
            // INVARIANT: The drop takes it out again. There is room.
            let _ = state.armed.push_within_capacity(link);
        }
        Ok(())
    }

    /// Disarms the probe, with the state locked.
    fn disarm(&self, state: &mut State) {
        self.link.unregister();
        if self.link.module.is_some() {
            let link = ptr::from_ref(&self.link);
            remove_first(&mut state.armed, |armed| *armed == link);
        }
    }

    /// Returns whether the module of the tracepoint has gone.
    pub fn is_gone(&self) -> bool {
        self.link.gone.load(Ordering::Relaxed)
    }

    /// Returns what serves the hits.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// Calls `work`, or counts a missed hit if this CPU serves one in this context.
    #[inline(always)]
    pub(super) fn unless_serving(&self, here: &OnCpu, work: impl FnOnce()) {
        match self.points.serving.begin(here) {
            Some(_turn) => work(),
            None => self.handler.count_missed(here),
        }
    }
}

impl<H: Handler> Registered for Registration<H> {
    type Probe = c_void;

    fn end_all(all: &mut [Pin<KBox<Self>>], _pointers: &mut KVVec<*mut c_void>) {
        let mut used = false;
        for this in all.iter() {
            this.disarm(&mut this.points.state.lock());
            used |= this.link.used.load(Ordering::Relaxed);
        }
        if used {
            calls::ferroprobe_tracepoints_synchronize();
        }
        for this in all {
            this.link.used.store(false, Ordering::Relaxed);
        }
    }
}

#[pinned_drop]
impl<H: Handler> PinnedDrop for Registration<H> {
    fn drop(self: Pin<&mut Self>) {
        self.disarm(&mut self.points.state.lock());
        if self.link.used.load(Ordering::Relaxed) {
            calls::ferroprobe_tracepoints_synchronize();
        }
    }
}
