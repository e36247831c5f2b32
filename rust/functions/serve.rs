// SPDX-License-Identifier: GPL-2.0

//! The callback of ftrace.

use super::{
    entry::{Entry, EntryRegs},
    registration::{Link, Registration},
    Functions,
};
use crate::kapi::{
    bindings as extra,
    context::{OnCpu, Unpreempted},
    registration::Next,
};
use core::sync::atomic::Ordering;
use kernel::ffi::{c_ulong, c_void};

/// What serves the entries of functions, in steps.
///
/// A step is a function of its own, and the last thing that the step before it calls; see
/// [`registration::Handler`](crate::kapi::registration::Handler). [`Next::Stage`] leads from
/// the first step to the last one.
pub trait Handler: Send + Sync {
    /// What [`serve_fast`](Self::serve_fast) passes on to be settled before the next step.
    type Unsettled<'a>
    where
        Self: 'a;

    /// Returns what is fetched, as far as that selects the first step. It is always the same.
    fn fetches(&self) -> Fetches;

    /// The first step, if one register is fetched or nothing; in other cases it leads to the
    /// last step. Must not call a function of
    /// the kernel.
    ///
    /// Context: any, NMI included, with preemption disabled: it must not sleep, lock,
    /// allocate or fault.
    fn serve_fast<'a, const REGISTER: bool>(
        &'a self,
        entry: Entry<'_>,
        here: &'a OnCpu,
    ) -> Next<Self::Unsettled<'a>>;

    /// The last step, which serves any hit. It is not called on a CPU in a context in which
    /// it runs already: such a hit counts as missed.
    ///
    /// Context: as for [`serve_fast`](Self::serve_fast).
    fn serve(&self, entry: Entry<'_>, here: &OnCpu);

    /// Settles what [`serve_fast`](Self::serve_fast) has passed on.
    ///
    /// Context: as for [`serve_fast`](Self::serve_fast).
    fn settle(&self, unsettled: Self::Unsettled<'_>);

    /// Called after a step that returns [`Next::Finish`].
    ///
    /// Context: as for [`serve`](Self::serve).
    fn finish(&self, here: &OnCpu);
}

/// What a handler fetches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fetches {
    /// Nothing.
    Nothing,
    /// One register.
    Register,
    /// Something else.
    Other,
}

impl<H: Handler> Functions<H> {
    /// # Safety
    ///
    /// Called by ftrace only, whose ops have a pointer to a `Functions<H>`.
    pub(super) unsafe extern "C" fn entered(
        site: c_ulong,
        _caller: c_ulong,
        ops: *const c_void,
        regs: *const c_void,
    ) {
        // CAST: Lossless.
        const DATA: usize = extra::FERROPROBE_OPS_PRIVATE as usize;
        // SAFETY: ftrace calls this only between the registration of the ops and their
        // removal, with the pointer that was registered, and with registers that do not
        // change meanwhile.
        let (this, regs) = unsafe {
            let data = ops.byte_add(DATA).cast::<*const Self>().read();
            (&*data, &*regs.cast::<EntryRegs>())
        };
        let on_cpu = Unpreempted::begin();
        // What is needed behind a call would have to be saved: so each call is the last.
        match this.table.get(&on_cpu.here()).find(site as u64) {
            Some(first) => this.serve_from(first, regs, on_cpu),
            None => this.search(site as u64, regs, on_cpu),
        }
    }

    /// Serves the hit of a site that is not in the slot in which it is looked for first.
    #[cold]
    #[inline(never)]
    fn search(&self, site: u64, regs: &EntryRegs, on_cpu: Unpreempted) {
        let first = self.table.get(&on_cpu.here()).search(site);
        self.serve_from(first, regs, on_cpu);
    }

    #[inline(always)]
    fn serve_from(&self, first: *mut Link<H>, regs: &EntryRegs, on_cpu: Unpreempted) {
        // SAFETY: By the table's invariant the link exists until a grace period has passed,
        // which cannot be while preemption is disabled.
        let Some(link) = (unsafe { first.as_ref() }) else {
            return on_cpu.end();
        };
        match link.way.load(Ordering::Relaxed) {
            NOTHING => self.serve_one::<false>(link, regs, on_cpu),
            REGISTER => self.serve_one::<true>(link, regs, on_cpu),
            OTHER => self.serve_slowly(link, regs, on_cpu),
            _ => self.serve_several(link, regs, on_cpu),
        }
    }

    /// Serves a hit of the only handler.
    #[inline(never)]
    fn serve_one<const REGISTER: bool>(
        &self,
        link: &Link<H>,
        regs: &EntryRegs,
        on_cpu: Unpreempted,
    ) {
        // SAFETY: As in `entered`: a link is part of its registration.
        let registration = unsafe { &*link.registration.load(Ordering::Relaxed) };
        let place = &link.place;
        let next = {
            let here = on_cpu.here();
            let entry = Entry { regs, place };
            let next = registration.handler.serve_fast::<REGISTER>(entry, &here);
            match next {
                Next::Done => Step::Done,
                Next::Stage(_) => Step::Slow,
                Next::Finish => Step::Finish,
                // Nothing is needed behind these calls, so that nothing has to be saved.
                Next::SettleThenStage(unsettled, _) => {
                    // SAFETY: On `Step::Ended` this one is not used any more.
                    let on_cpu = unsafe { on_cpu.handed_over() };
                    self.settle_and_serve(registration, unsettled, (link, regs), on_cpu);
                    Step::Ended
                }
                Next::SettleThenFinish(unsettled) => {
                    // SAFETY: As above.
                    let on_cpu = unsafe { on_cpu.handed_over() };
                    self.settle_and_finish(registration, unsettled, on_cpu);
                    Step::Ended
                }
            }
        };
        match next {
            Step::Done => on_cpu.end(),
            Step::Ended => {}
            Step::Slow => self.serve_slowly(link, regs, on_cpu),
            Step::Finish => self.finish(registration, on_cpu),
        }
    }

    /// Serves a hit of all handlers of a site.
    #[inline(never)]
    fn serve_several(&self, first: &Link<H>, regs: &EntryRegs, on_cpu: Unpreempted) {
        let mut link = Some(first);
        while let Some(this) = link {
            // SAFETY: As in `entered`: a link is part of its registration.
            let registration = unsafe { &*this.registration.load(Ordering::Relaxed) };
            self.serve_last(registration, this, regs, &on_cpu.here());
            // SAFETY: As in `entered`.
            link = unsafe { this.next.load(Ordering::Relaxed).as_ref() };
        }
        on_cpu.end();
    }

    #[inline(never)]
    fn serve_slowly(&self, link: &Link<H>, regs: &EntryRegs, on_cpu: Unpreempted) {
        // SAFETY: As in `entered`: a link is part of its registration.
        let registration = unsafe { &*link.registration.load(Ordering::Relaxed) };
        self.serve_last(registration, link, regs, &on_cpu.here());
        on_cpu.end();
    }

    #[inline(always)]
    fn serve_last(
        &self,
        registration: &Registration<H>,
        link: &Link<H>,
        regs: &EntryRegs,
        here: &OnCpu,
    ) {
        let place = &link.place;
        self.serving.unless(
            here,
            || registration.missed.increment(0, here),
            || registration.handler.serve(Entry { regs, place }, here),
        );
    }

    #[cold]
    #[inline(never)]
    fn settle_and_serve(
        &self,
        registration: &Registration<H>,
        unsettled: H::Unsettled<'_>,
        (link, regs): (&Link<H>, &EntryRegs),
        on_cpu: Unpreempted,
    ) {
        registration.handler.settle(unsettled);
        self.serve_last(registration, link, regs, &on_cpu.here());
        on_cpu.end();
    }

    #[cold]
    #[inline(never)]
    fn settle_and_finish(
        &self,
        registration: &Registration<H>,
        unsettled: H::Unsettled<'_>,
        on_cpu: Unpreempted,
    ) {
        registration.handler.settle(unsettled);
        self.finish(registration, on_cpu);
    }

    #[cold]
    #[inline(never)]
    fn finish(&self, registration: &Registration<H>, on_cpu: Unpreempted) {
        let here = &*on_cpu.here();
        // A hit is not missed if the readers are woken by another one.
        self.serving
            .unless(here, || {}, || registration.handler.finish(here));
        on_cpu.end();
    }
}

/// The ways in which hits are served, see [`Link::way`].
pub(super) const NOTHING: u8 = 0;
pub(super) const REGISTER: u8 = 1;
pub(super) const OTHER: u8 = 2;
pub(super) const SEVERAL: u8 = 3;

/// What comes after the first step of a hit.
enum Step {
    /// Nothing, but preemption is still disabled.
    Done,
    /// Nothing.
    Ended,
    Slow,
    Finish,
}
