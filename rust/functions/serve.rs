// SPDX-License-Identifier: GPL-2.0

//! The callback of ftrace.

use super::{
    entry::{Entry, EntryRegs},
    handler::Handler,
    link::{Link, Server, NOTHING, OTHER, REGISTER},
    Functions,
};
use crate::kapi::{
    bindings as extra,
    context::{OnCpu, Unpreempted},
    registration::Next,
};
use core::sync::atomic::Ordering;
use kernel::ffi::{c_ulong, c_void};

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
        let server = unsafe { &*link.server.load(Ordering::Relaxed) };
        let place = &link.place;
        let next = {
            let here = on_cpu.here();
            let entry = Entry { regs, place };
            let next = server.handler.serve_fast::<REGISTER>(entry, &here);
            match next {
                Next::Done => Step::Done,
                Next::Stage(_) => Step::Slow,
                Next::Finish => Step::Finish,
                // Nothing is needed behind these calls, so that nothing has to be saved.
                Next::SettleThenStage(unsettled, _) => {
                    // SAFETY: On `Step::Ended` this one is not used any more.
                    let on_cpu = unsafe { on_cpu.handed_over() };
                    self.settle_and_serve(server, unsettled, (link, regs), on_cpu);
                    Step::Ended
                }
                Next::SettleThenFinish(unsettled) => {
                    // SAFETY: As above.
                    let on_cpu = unsafe { on_cpu.handed_over() };
                    self.settle_and_finish(server, unsettled, on_cpu);
                    Step::Ended
                }
            }
        };
        match next {
            Step::Done => on_cpu.end(),
            Step::Ended => {}
            Step::Slow => self.serve_slowly(link, regs, on_cpu),
            Step::Finish => self.finish(server, on_cpu),
        }
    }

    /// Serves a hit of all handlers of a site.
    #[inline(never)]
    fn serve_several(&self, first: &Link<H>, regs: &EntryRegs, on_cpu: Unpreempted) {
        let mut link = Some(first);
        while let Some(this) = link {
            // SAFETY: As in `entered`: a link is part of its registration.
            let server = unsafe { &*this.server.load(Ordering::Relaxed) };
            self.serve_last(server, this, regs, &on_cpu.here());
            // SAFETY: As in `entered`.
            link = unsafe { this.next.load(Ordering::Relaxed).as_ref() };
        }
        on_cpu.end();
    }

    #[inline(never)]
    fn serve_slowly(&self, link: &Link<H>, regs: &EntryRegs, on_cpu: Unpreempted) {
        // SAFETY: As in `entered`: a link is part of its registration.
        let server = unsafe { &*link.server.load(Ordering::Relaxed) };
        self.serve_last(server, link, regs, &on_cpu.here());
        on_cpu.end();
    }

    #[inline(always)]
    fn serve_last(&self, server: &Server<H>, link: &Link<H>, regs: &EntryRegs, here: &OnCpu) {
        let place = &link.place;
        self.serving.unless(
            here,
            || server.missed.increment(0, here),
            || server.handler.serve(Entry { regs, place }, here),
        );
    }

    #[cold]
    #[inline(never)]
    fn settle_and_serve(
        &self,
        server: &Server<H>,
        unsettled: H::Unsettled<'_>,
        (link, regs): (&Link<H>, &EntryRegs),
        on_cpu: Unpreempted,
    ) {
        server.handler.settle(unsettled);
        self.serve_last(server, link, regs, &on_cpu.here());
        on_cpu.end();
    }

    #[cold]
    #[inline(never)]
    fn settle_and_finish(
        &self,
        server: &Server<H>,
        unsettled: H::Unsettled<'_>,
        on_cpu: Unpreempted,
    ) {
        server.handler.settle(unsettled);
        self.finish(server, on_cpu);
    }

    #[cold]
    #[inline(never)]
    fn finish(&self, server: &Server<H>, on_cpu: Unpreempted) {
        let here = &*on_cpu.here();
        // A hit is not missed if the readers are woken by another one.
        self.serving
            .unless(here, || {}, || server.handler.finish(here));
        on_cpu.end();
    }
}

/// What comes after the first step of a hit.
enum Step {
    /// Nothing, but preemption is still disabled.
    Done,
    /// Nothing.
    Ended,
    Slow,
    Finish,
}
