// SPDX-License-Identifier: GPL-2.0

//! The callback of ftrace.

use super::{
    entry::{Entry, Function, FunctionRegs},
    link::{Link, Server, COUNTED, SEVERAL},
    Functions,
};
use crate::kapi::{
    bindings as extra,
    context::{OnCpu, Unpreempted},
    handler::{Handler, Next, NOTHING, REST, SHARED, SHARED_ANY, USUAL, WORD},
};
use core::{convert::Infallible, sync::atomic::Ordering};
use kernel::ffi::c_ulong;

impl<H: Handler<Function>> Functions<H> {
    /// # Safety
    ///
    /// Called by ftrace only, whose ops have a pointer to a `Functions<H>`.
    pub(super) unsafe extern "C" fn entered(
        site: c_ulong,
        _caller: c_ulong,
        ops: *mut extra::ftrace_ops,
        regs: *mut extra::ftrace_regs,
    ) {
        // CAST: Lossless.
        const DATA: usize = extra::FERROPROBE_OPS_PRIVATE as usize;
        // SAFETY: ftrace calls this only between the registration of the ops and their
        // removal, with the pointer that was registered, and with registers that do not
        // change meanwhile.
        let (this, regs) = unsafe {
            let data = ops.byte_add(DATA).cast::<*const Self>().read();
            (&*data, &*regs.cast::<FunctionRegs>())
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
    fn search(&self, site: u64, regs: &FunctionRegs, on_cpu: Unpreempted) {
        let first = self.table.get(&on_cpu.here()).search(site);
        Self::serve_from(first, regs, on_cpu);
    }

    #[inline(always)]
    fn serve_from(first: *mut Link<H>, regs: &FunctionRegs, on_cpu: Unpreempted) {
        // SAFETY: By the table's invariant the link exists until a grace period has passed,
        // which cannot be while preemption is disabled.
        let Some(link) = (unsafe { first.as_ref() }) else {
            return on_cpu.end();
        };
        // The cheapest hits have the fewest comparisons and jumps. Whatever is loaded below,
        // the hit is served.
        if link.way.load(Ordering::Relaxed) == FIRST_NOTHING {
            return serve_here::<NOTHING, H>(link, regs, on_cpu);
        }
        if link.way.load(Ordering::Relaxed) == FIRST_USUAL {
            return serve(link, regs, on_cpu, true);
        }
        match link.way.load(Ordering::Relaxed) {
            FIRST_WORD => serve_one::<WORD, H>(link, regs, on_cpu),
            FIRST_USUAL => serve(link, regs, on_cpu, true),
            SEVERAL => serve_several(link, regs, on_cpu),
            SHARED_NOTHING => serve_shared::<SHARED, H>(link, regs, on_cpu),
            SHARED_WORD => serve_shared::<{ SHARED + WORD }, H>(link, regs, on_cpu),
            SHARED_MORE => serve_shared::<SHARED_ANY, H>(link, regs, on_cpu),
            way => serve_counted(link, way, regs, on_cpu),
        }
    }
}

/// Stages as [ways](Link::way).
// CAST: Lossless.
const FIRST_NOTHING: u32 = NOTHING as u32;
const FIRST_WORD: u32 = WORD as u32;
const FIRST_USUAL: u32 = USUAL as u32;
const SHARED_NOTHING: u32 = SHARED as u32;
const SHARED_WORD: u32 = (SHARED + WORD) as u32;
const SHARED_MORE: u32 = SHARED_ANY as u32;

/// Counts a hit of the site, and serves it by the only handler.
#[inline(never)]
fn serve_counted<H: Handler<Function>>(
    link: &Link<H>,
    way: u32,
    regs: &FunctionRegs,
    on_cpu: Unpreempted,
) {
    count(link, &on_cpu.here());
    match way & !COUNTED {
        FIRST_NOTHING => serve_one::<NOTHING, H>(link, regs, on_cpu),
        FIRST_WORD => serve_one::<WORD, H>(link, regs, on_cpu),
        _ => serve(link, regs, on_cpu, true),
    }
}

/// Serves a hit of the only handler.
#[inline(never)]
fn serve_one<const STAGE: u8, H: Handler<Function>>(
    link: &Link<H>,
    regs: &FunctionRegs,
    on_cpu: Unpreempted,
) {
    serve_here::<STAGE, H>(link, regs, on_cpu);
}

#[inline(always)]
fn serve_here<const STAGE: u8, H: Handler<Function>>(
    link: &Link<H>,
    regs: &FunctionRegs,
    on_cpu: Unpreempted,
) {
    let server = link.server();
    let place = &link.place;
    let next = {
        let here = on_cpu.here();
        let entry = Entry { regs, place };
        let next = server.handler.run::<STAGE>(entry, &here);
        match next {
            Next::Done => AfterStage::Done,
            Next::Stage(_) => AfterStage::Slow,
            Next::Finish => AfterStage::Finish,
            // Nothing is needed behind these calls, so that nothing has to be saved.
            Next::SettleThenStage(unsettled, _) => {
                // SAFETY: On `AfterStage::Ended` this one is not used any more.
                let on_cpu = unsafe { on_cpu.handed_over() };
                settle_and_serve(server, unsettled, (link, regs), on_cpu);
                AfterStage::Ended
            }
            Next::SettleThenFinish(unsettled) => {
                // SAFETY: As above.
                let on_cpu = unsafe { on_cpu.handed_over() };
                settle_and_finish(server, unsettled, on_cpu);
                AfterStage::Ended
            }
        }
    };
    match next {
        AfterStage::Done => on_cpu.end(),
        AfterStage::Ended => {}
        AfterStage::Slow => serve(link, regs, on_cpu, true),
        AfterStage::Finish => finish(server, on_cpu),
    }
}

/// Counts a hit of the site, and serves it by the only handler for several users.
#[inline(never)]
fn serve_shared<const STAGE: u8, H: Handler<Function>>(
    link: &Link<H>,
    regs: &FunctionRegs,
    on_cpu: Unpreempted,
) {
    count(link, &on_cpu.here());
    let server = link.server();
    let place = &link.place;
    let next = {
        let here = on_cpu.here();
        let next = server.handler.run::<STAGE>(Entry { regs, place }, &here);
        next.settled(|unsettled| server.handler.settle(unsettled))
    };
    proceed(next, (server, link), regs, &on_cpu.here());
    on_cpu.end();
}

/// Serves a hit of all handlers of a site.
#[inline(never)]
fn serve_several<H: Handler<Function>>(first: &Link<H>, regs: &FunctionRegs, on_cpu: Unpreempted) {
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
fn serve<H: Handler<Function>>(
    link: &Link<H>,
    regs: &FunctionRegs,
    on_cpu: Unpreempted,
    is_last: bool,
) {
    let server = link.server();
    let place = &link.place;
    let next = {
        let here = on_cpu.here();
        let next = server.handler.run::<USUAL>(Entry { regs, place }, &here);
        next.settled(|unsettled| server.handler.settle(unsettled))
    };
    proceed(next, (server, link), regs, &on_cpu.here());
    if is_last {
        on_cpu.end();
    }
}

/// Does what comes after a stage of the handler of `link`.
#[inline(always)]
fn proceed<H: Handler<Function>>(
    next: Next<Infallible>,
    (server, link): (&Server<H>, &Link<H>),
    regs: &FunctionRegs,
    here: &OnCpu,
) {
    match next {
        Next::Done => {}
        Next::Stage(_) => serve_guarded(link, regs, here),
        Next::Finish => wake(server, here),
    }
}

/// Serves a hit by the handler of `link`, whatever is unusual about it. A hit in the middle of
/// that, in the same context, is missed.
#[inline(never)]
fn serve_guarded<H: Handler<Function>>(link: &Link<H>, regs: &FunctionRegs, here: &OnCpu) {
    let server = link.server();
    let place = &link.place;
    let Some(_turn) = server.serving.begin(here) else {
        return server.handler.count_missed(here);
    };
    // The last stage: nothing comes after it.
    let next = server.handler.run::<REST>(Entry { regs, place }, here);
    next.settled(|unsettled| server.handler.settle(unsettled));
}

#[cold]
#[inline(never)]
fn settle_and_serve<H: Handler<Function>>(
    server: &Server<H>,
    unsettled: H::Unsettled<'_>,
    (link, regs): (&Link<H>, &FunctionRegs),
    on_cpu: Unpreempted,
) {
    server.handler.settle(unsettled);
    serve_guarded(link, regs, &on_cpu.here());
    on_cpu.end();
}

#[cold]
#[inline(never)]
fn settle_and_finish<H: Handler<Function>>(
    server: &Server<H>,
    unsettled: H::Unsettled<'_>,
    on_cpu: Unpreempted,
) {
    server.handler.settle(unsettled);
    finish(server, on_cpu);
}

#[cold]
#[inline(never)]
fn finish<H: Handler<Function>>(server: &Server<H>, on_cpu: Unpreempted) {
    wake(server, &on_cpu.here());
    on_cpu.end();
}

/// Finishes a hit, unless it is in the middle of another one: then that one does.
#[cold]
#[inline(never)]
fn wake<H: Handler<Function>>(server: &Server<H>, here: &OnCpu) {
    let turn = server.serving.begin(here);
    if turn.is_some() {
        server.handler.finish(here);
    }
}

/// Counts a hit of the site, if its hits are counted.
#[inline(always)]
fn count<H: Handler<Function>>(link: &Link<H>, here: &OnCpu) {
    if let Some(hits) = link.hits {
        // SAFETY: A link is freed before its counter.
        unsafe { hits.increment(here) };
    }
}

/// What comes after the first step of a hit.
enum AfterStage {
    /// Nothing, but preemption is still disabled.
    Done,
    /// Nothing.
    Ended,
    Slow,
    Finish,
}
