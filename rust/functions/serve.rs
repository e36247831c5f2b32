// SPDX-License-Identifier: GPL-2.0

//! The callback of ftrace.

use super::{
    entry::{Entry, EntryRegs},
    handler::Handler,
    link::{Link, Server, COUNTED, NOTHING, OTHER, REGISTER, SEVERAL, SHARED},
    Functions,
};
use crate::kapi::{
    bindings as extra,
    context::{OnCpu, Unpreempted},
    registration::Next,
};
use core::{convert::Infallible, sync::atomic::Ordering};
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
            Some(first) => Self::serve_from(first, regs, on_cpu),
            None => this.search(site as u64, regs, on_cpu),
        }
    }

    /// Serves the hit of a site that is not in the slot in which it is looked for first.
    #[cold]
    #[inline(never)]
    fn search(&self, site: u64, regs: &EntryRegs, on_cpu: Unpreempted) {
        let first = self.table.get(&on_cpu.here()).search(site);
        Self::serve_from(first, regs, on_cpu);
    }

    #[inline(always)]
    fn serve_from(first: *mut Link<H>, regs: &EntryRegs, on_cpu: Unpreempted) {
        // SAFETY: By the table's invariant the link exists until a grace period has passed,
        // which cannot be while preemption is disabled.
        let Some(link) = (unsafe { first.as_ref() }) else {
            return on_cpu.end();
        };
        // The cheapest hits have the fewest comparisons and jumps. Whatever is loaded below,
        // the hit is served.
        if link.way.load(Ordering::Relaxed) == NOTHING {
            return serve_here::<false, H>(link, regs, on_cpu);
        }
        if link.way.load(Ordering::Relaxed) == OTHER {
            return serve(link, regs, on_cpu, true);
        }
        match link.way.load(Ordering::Relaxed) {
            REGISTER => serve_one::<true, H>(link, regs, on_cpu),
            OTHER => serve(link, regs, on_cpu, true),
            SEVERAL => serve_several(link, regs, on_cpu),
            SHARED => serve_shared::<0, H>(link, regs, on_cpu),
            SHARED_1 => serve_shared::<1, H>(link, regs, on_cpu),
            way if way > SHARED => serve_shared::<2, H>(link, regs, on_cpu),
            way => serve_counted(link, way, regs, on_cpu),
        }
    }
}

/// Counts a hit of the site, and serves it by the only handler.
#[inline(never)]
fn serve_counted<H: Handler>(link: &Link<H>, way: u32, regs: &EntryRegs, on_cpu: Unpreempted) {
    count(link, &on_cpu.here());
    match way & !COUNTED {
        NOTHING => serve_one::<false, H>(link, regs, on_cpu),
        REGISTER => serve_one::<true, H>(link, regs, on_cpu),
        _ => serve(link, regs, on_cpu, true),
    }
}

/// Serves a hit of the only handler.
#[inline(never)]
fn serve_one<const REGISTER: bool, H: Handler>(
    link: &Link<H>,
    regs: &EntryRegs,
    on_cpu: Unpreempted,
) {
    serve_here::<REGISTER, H>(link, regs, on_cpu);
}

#[inline(always)]
fn serve_here<const REGISTER: bool, H: Handler>(
    link: &Link<H>,
    regs: &EntryRegs,
    on_cpu: Unpreempted,
) {
    let server = link.server();
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
                settle_and_serve(server, unsettled, (link, regs), on_cpu);
                Step::Ended
            }
            Next::SettleThenFinish(unsettled) => {
                // SAFETY: As above.
                let on_cpu = unsafe { on_cpu.handed_over() };
                settle_and_finish(server, unsettled, on_cpu);
                Step::Ended
            }
        }
    };
    match next {
        Step::Done => on_cpu.end(),
        Step::Ended => {}
        Step::Slow => serve(link, regs, on_cpu, true),
        Step::Finish => finish(server, on_cpu),
    }
}

/// Counts a hit of the site, and serves it by the only handler for several users.
#[inline(never)]
fn serve_shared<const NUMBER: u8, H: Handler>(
    link: &Link<H>,
    regs: &EntryRegs,
    on_cpu: Unpreempted,
) {
    count(link, &on_cpu.here());
    let server = link.server();
    let place = &link.place;
    let next = {
        let here = on_cpu.here();
        let entry = Entry { regs, place };
        server.handler.serve_shared::<NUMBER>(entry, &here)
    };
    proceed(next, (server, link), regs, &on_cpu.here());
    on_cpu.end();
}

/// Serves a hit of all handlers of a site.
#[inline(never)]
fn serve_several<H: Handler>(first: &Link<H>, regs: &EntryRegs, on_cpu: Unpreempted) {
    let mut link = Some(first);
    while let Some(this) = link {
        count(this, &on_cpu.here());
        // SAFETY: With `false` it is not ended.
        serve(this, regs, unsafe { on_cpu.handed_over() }, false);
        // SAFETY: As in `entered`.
        link = unsafe { this.next.load(Ordering::Relaxed).as_ref() };
    }
    on_cpu.end();
}

/// Serves a hit by the handler of `link`, and then ends `on_cpu` if `is_last`; else the caller
/// does.
///
/// There is one copy of it, into which all of the step is inlined, and the end: a function
/// around it would have to save registers of its own.
#[inline(never)]
fn serve<H: Handler>(link: &Link<H>, regs: &EntryRegs, on_cpu: Unpreempted, is_last: bool) {
    let server = link.server();
    let place = &link.place;
    let next = {
        let here = on_cpu.here();
        server.handler.serve_usual(Entry { regs, place }, &here)
    };
    proceed(next, (server, link), regs, &on_cpu.here());
    if is_last {
        on_cpu.end();
    }
}

/// Does what comes after a step by the handler of `link`.
#[inline(always)]
fn proceed<H: Handler>(
    next: Next<Infallible>,
    (server, link): (&Server<H>, &Link<H>),
    regs: &EntryRegs,
    here: &OnCpu,
) {
    match next {
        Next::Done => {}
        Next::Stage(_) => serve_guarded(link, regs, here),
        Next::Finish => wake(server, here),
        Next::SettleThenStage(never, _) | Next::SettleThenFinish(never) => match never {},
    }
}

/// Serves a hit by the handler of `link`, whatever is unusual about it. A hit in the middle of
/// that, in the same context, is missed.
#[inline(never)]
fn serve_guarded<H: Handler>(link: &Link<H>, regs: &EntryRegs, here: &OnCpu) {
    let server = link.server();
    let place = &link.place;
    let turn = server.serving.begin(here);
    match turn {
        Some(_) => server.handler.serve(Entry { regs, place }, here),
        None => server.handler.count_missed(here),
    }
}

#[cold]
#[inline(never)]
fn settle_and_serve<H: Handler>(
    server: &Server<H>,
    unsettled: H::Unsettled<'_>,
    (link, regs): (&Link<H>, &EntryRegs),
    on_cpu: Unpreempted,
) {
    server.handler.settle(unsettled);
    serve_guarded(link, regs, &on_cpu.here());
    on_cpu.end();
}

#[cold]
#[inline(never)]
fn settle_and_finish<H: Handler>(
    server: &Server<H>,
    unsettled: H::Unsettled<'_>,
    on_cpu: Unpreempted,
) {
    server.handler.settle(unsettled);
    finish(server, on_cpu);
}

#[cold]
#[inline(never)]
fn finish<H: Handler>(server: &Server<H>, on_cpu: Unpreempted) {
    wake(server, &on_cpu.here());
    on_cpu.end();
}

/// Finishes a hit, unless it is in the middle of another one: then that one does.
#[cold]
#[inline(never)]
fn wake<H: Handler>(server: &Server<H>, here: &OnCpu) {
    let turn = server.serving.begin(here);
    if turn.is_some() {
        server.handler.finish(here);
    }
}

/// Counts a hit of the site, if its hits are counted.
#[inline(always)]
fn count<H: Handler>(link: &Link<H>, here: &OnCpu) {
    if let Some(hits) = link.hits {
        // SAFETY: A link is freed before its counter.
        unsafe { hits.increment(here) };
    }
}

/// [`SHARED`], with the number 1.
const SHARED_1: u32 = SHARED | 1;

/// What comes after the first step of a hit.
enum Step {
    /// Nothing, but preemption is still disabled.
    Done,
    /// Nothing.
    Ended,
    Slow,
    Finish,
}
