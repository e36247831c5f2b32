// SPDX-License-Identifier: GPL-2.0

//! The callback of ftrace.

use super::{
    entry::{Entry, Function, FunctionRegs},
    link::{Link, COUNTED, SEVERAL},
    Functions,
};
use crate::kapi::{
    bindings as extra,
    context::{OnCpu, Unpreempted},
    handler::{Handler, Next, BARE, EACH_BARE, EACH_SHORT, EACH_WORD, SHORT, SLOW, STACK, WORD},
};
use core::sync::atomic::Ordering;
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
        // Each call is a tail call: anything needed after it would have to be saved on the stack.
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
        if link.way.load(Ordering::Relaxed) == BARE {
            return serve_here::<BARE, H>(link, regs, on_cpu);
        }
        if link.way.load(Ordering::Relaxed) == SHORT {
            return serve(link, regs, on_cpu, true);
        }
        match link.way.load(Ordering::Relaxed) {
            WORD => serve_one::<WORD, H>(link, regs, on_cpu),
            SHORT => serve(link, regs, on_cpu, true),
            SEVERAL => serve_several(link, regs, on_cpu),
            EACH_BARE => serve_for_each::<EACH_BARE, H>(link, regs, on_cpu),
            EACH_WORD => serve_for_each::<EACH_WORD, H>(link, regs, on_cpu),
            EACH_SHORT => serve_for_each::<EACH_SHORT, H>(link, regs, on_cpu),
            STACK => serve_one::<STACK, H>(link, regs, on_cpu),
            way => serve_counted(link, way, regs, on_cpu),
        }
    }
}

/// Counts a hit of the site, and serves it by the only handler.
#[inline(never)]
fn serve_counted<H: Handler<Function>>(
    link: &Link<H>,
    way: u8,
    regs: &FunctionRegs,
    on_cpu: Unpreempted,
) {
    count(link, &on_cpu.here());
    match way & !COUNTED {
        BARE => serve_one::<BARE, H>(link, regs, on_cpu),
        WORD => serve_one::<WORD, H>(link, regs, on_cpu),
        STACK => serve_one::<STACK, H>(link, regs, on_cpu),
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
    let place = &link.place;
    match link
        .server()
        .handler
        .run::<STAGE>(Entry { regs, place }, &on_cpu.here())
    {
        Next::Done => on_cpu.end(),
        Next::Stage(_) => serve(link, regs, on_cpu, true),
    }
}

/// Counts a hit of the site, and serves it by the only handler for several users.
#[inline(never)]
fn serve_for_each<const STAGE: u8, H: Handler<Function>>(
    link: &Link<H>,
    regs: &FunctionRegs,
    on_cpu: Unpreempted,
) {
    count(link, &on_cpu.here());
    run::<STAGE, H>(link, regs, &on_cpu.here());
    on_cpu.end();
}

/// Serves a hit of all handlers of a site.
#[inline(never)]
fn serve_several<H: Handler<Function>>(first: &Link<H>, regs: &FunctionRegs, on_cpu: Unpreempted) {
    let mut link = Some(first);
    while let Some(this) = link {
        count(this, &on_cpu.here());
        // SAFETY: With `false`, the call does not end `on_cpu`.
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
    run::<SHORT, H>(link, regs, &on_cpu.here());
    if is_last {
        on_cpu.end();
    }
}

/// Runs a stage of the handler of `link`, and the last one if that leaves the hit to it.
#[inline(always)]
fn run<const STAGE: u8, H: Handler<Function>>(link: &Link<H>, regs: &FunctionRegs, here: &OnCpu) {
    let place = &link.place;
    match link
        .server()
        .handler
        .run::<STAGE>(Entry { regs, place }, here)
    {
        Next::Done => {}
        Next::Stage(_) => serve_guarded(link, regs, here),
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
    server.handler.run::<SLOW>(Entry { regs, place }, here);
}

/// Counts a hit of the site, if its hits are counted.
#[inline(always)]
fn count<H: Handler<Function>>(link: &Link<H>, here: &OnCpu) {
    if let Some(hits) = link.hits {
        // SAFETY: A link is freed before its counter.
        unsafe { hits.increment(here) };
    }
}
