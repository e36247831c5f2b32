// SPDX-License-Identifier: GPL-2.0

//! The functions that the kernel calls on a hit.
//!
//! Which of them is registered depends on the arguments that the handler uses. A function
//! whose arguments are not used need not keep them, which saves most of the registers.

use super::{
    handler::{Arguments, Handler, Use, FILTER, IN_REGISTERS, MAX_ARGUMENTS, SHARED},
    registration::Registration,
};
use crate::kapi::{context::Unpreempted, registration::Next};
use kernel::ffi::c_void;

/// Returns the first arguments, of which only argument `N` is used.
fn only<const N: usize>(argument: u64) -> [u64; 3] {
    let mut arguments = [0; 3];
    if let Some(to) = arguments.get_mut(N) {
        *to = argument;
    }
    arguments
}

/// What comes after the first step of a hit.
enum Step {
    /// Nothing, but preemption is still disabled.
    Done,
    /// Nothing.
    Ended,
    Shared,
    Filter,
    Last,
    Finish,
}

impl<H: Handler> Registration<H> {
    /// Returns the function that the kernel calls.
    pub(super) fn probe(uses: Use) -> *mut c_void {
        match uses {
            Use::Nothing => Self::none as *mut c_void,
            Use::One(0) => Self::one::<0> as *mut c_void,
            Use::One(1) => Self::one::<1> as *mut c_void,
            Use::One(2) => Self::one::<2> as *mut c_void,
            Use::One(index) if index < IN_REGISTERS => Self::few::<true> as *mut c_void,
            Use::Quietly(count) if count <= IN_REGISTERS => Self::few::<true> as *mut c_void,
            Use::Some(count) if count <= IN_REGISTERS => Self::few::<false> as *mut c_void,
            Use::One(_) | Use::Quietly(_) | Use::Some(_) => Self::many as *mut c_void,
        }
    }

    /// The probe if no argument is used.
    ///
    /// # Safety
    ///
    /// Called by the kernel only, with the pointer to a `Registration<H>`.
    unsafe extern "C" fn none(data: *mut c_void) {
        // SAFETY: The kernel calls a probe only between its registration and the end of the
        // wait behind its removal.
        let this = unsafe { &*data.cast::<Self>() };
        let on_cpu = Unpreempted::begin();
        match this.first_step::<0>(None, &on_cpu) {
            Step::Done => on_cpu.end(),
            Step::Ended => {}
            Step::Shared => this.shared::<0>(None, on_cpu),
            Step::Filter => this.none_next::<true>(on_cpu),
            Step::Last => this.none_next::<false>(on_cpu),
            Step::Finish => this.finish(on_cpu),
        }
    }

    /// Runs the first step with argument `N`, if one is used.
    #[inline(always)]
    fn first_step<const N: usize>(&self, argument: Option<u64>, on_cpu: &Unpreempted) -> Step {
        let here = on_cpu.here();
        let next = self.handler.serve_fast(argument, &here);
        match next {
            Next::Done => Step::Done,
            Next::Stage(SHARED) => Step::Shared,
            Next::Stage(FILTER) => Step::Filter,
            Next::Stage(_) => Step::Last,
            Next::Finish => Step::Finish,
            // Nothing is needed behind these calls, so that nothing has to be saved for them.
            Next::SettleThenStage(unsettled, _) => {
                // SAFETY: On `Step::Ended` the callers do not use theirs any more.
                let on_cpu = unsafe { on_cpu.handed_over() };
                self.settle_and_serve::<N>(unsettled, argument, on_cpu);
                Step::Ended
            }
            Next::SettleThenFinish(unsettled) => {
                // SAFETY: As above.
                let on_cpu = unsafe { on_cpu.handed_over() };
                self.settle_and_finish(unsettled, on_cpu);
                Step::Ended
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_and_serve<const N: usize>(
        &self,
        unsettled: H::Unsettled<'_>,
        argument: Option<u64>,
        on_cpu: Unpreempted,
    ) {
        self.handler.settle(unsettled);
        self.last(Arguments(&only::<N>(argument.unwrap_or(0))), on_cpu);
    }

    #[cold]
    #[inline(never)]
    fn settle_and_finish(&self, unsettled: H::Unsettled<'_>, on_cpu: Unpreempted) {
        self.handler.settle(unsettled);
        self.finish(on_cpu);
    }

    #[inline(never)]
    fn none_next<const FILTERED: bool>(&self, on_cpu: Unpreempted) {
        self.next::<FILTERED>(Arguments(&[]), on_cpu);
    }

    /// The probe if argument `N` is the only one used.
    ///
    /// # Safety
    ///
    /// As for `none`.
    unsafe extern "C" fn one<const N: usize>(data: *mut c_void, a: u64, b: u64, c: u64) {
        let argument = match N {
            0 => a,
            1 => b,
            _ => c,
        };
        // SAFETY: As in `none`.
        let this = unsafe { &*data.cast::<Self>() };
        let on_cpu = Unpreempted::begin();
        match this.first_step::<N>(Some(argument), &on_cpu) {
            Step::Done => on_cpu.end(),
            Step::Ended => {}
            Step::Shared => this.shared::<N>(Some(argument), on_cpu),
            Step::Filter => this.one_next::<N, true>(argument, on_cpu),
            Step::Last => this.one_next::<N, false>(argument, on_cpu),
            Step::Finish => this.finish(on_cpu),
        }
    }

    #[inline(never)]
    fn one_next<const N: usize, const FILTERED: bool>(&self, argument: u64, on_cpu: Unpreempted) {
        self.next::<FILTERED>(Arguments(&only::<N>(argument)), on_cpu);
    }

    /// The probe if only arguments are used that the kernel passes in registers; `QUIETLY` as
    /// [`Use::Quietly`].
    ///
    /// # Safety
    ///
    /// As for `none`.
    unsafe extern "C" fn few<const QUIETLY: bool>(
        data: *mut c_void,
        a: u64,
        b: u64,
        c: u64,
        d: u64,
        e: u64,
        #[cfg(target_arch = "aarch64")] f: u64,
        #[cfg(target_arch = "aarch64")] g: u64,
    ) {
        let arguments: [u64; IN_REGISTERS] = [
            a,
            b,
            c,
            d,
            e,
            #[cfg(target_arch = "aarch64")]
            f,
            #[cfg(target_arch = "aarch64")]
            g,
        ];
        let arguments = Arguments(&arguments);
        // SAFETY: As in `none`.
        let this = unsafe { &*data.cast::<Self>() };
        let on_cpu = Unpreempted::begin();
        let next = match QUIETLY {
            true => this.handler.serve_quietly(arguments, &on_cpu.here()),
            false => Next::Stage(this.handler.begins_with()),
        };
        match next {
            Next::Done => on_cpu.end(),
            Next::Finish => this.finish(on_cpu),
            Next::Stage(SHARED) => this.shared_any::<QUIETLY>(arguments, on_cpu),
            Next::Stage(_) => this.last(arguments, on_cpu),
            Next::SettleThenStage(never, _) | Next::SettleThenFinish(never) => match never {},
        }
    }

    /// The probe for any arguments. Those that the tracepoint does not have are words of the
    /// kernel's stack.
    ///
    /// # Safety
    ///
    /// As for `none`.
    unsafe extern "C" fn many(
        data: *mut c_void,
        a: u64,
        b: u64,
        c: u64,
        d: u64,
        e: u64,
        f: u64,
        g: u64,
        h: u64,
        i: u64,
        j: u64,
        k: u64,
        l: u64,
    ) {
        let arguments: [u64; MAX_ARGUMENTS] = [a, b, c, d, e, f, g, h, i, j, k, l];
        // SAFETY: As in `none`.
        let this = unsafe { &*data.cast::<Self>() };
        let (arguments, on_cpu) = (Arguments(&arguments), Unpreempted::begin());
        match this.handler.begins_with() {
            FILTER => this.next::<true>(arguments, on_cpu),
            SHARED => this.shared_any::<false>(arguments, on_cpu),
            _ => this.next::<false>(arguments, on_cpu),
        }
    }

    /// Serves a hit for several users, with argument `N` if one is used.
    #[inline(never)]
    fn shared<const N: usize>(&self, argument: Option<u64>, on_cpu: Unpreempted) {
        let next = self.handler.serve_shared(argument, &on_cpu.here());
        match next {
            Next::Done => on_cpu.end(),
            Next::Finish => self.finish(on_cpu),
            Next::Stage(_) => self.last(Arguments(&only::<N>(argument.unwrap_or(0))), on_cpu),
            Next::SettleThenStage(never, _) | Next::SettleThenFinish(never) => match never {},
        }
    }

    /// Serves a hit for several users, with any arguments.
    #[inline(never)]
    fn shared_any<const QUIETLY: bool>(&self, arguments: Arguments<'_>, on_cpu: Unpreempted) {
        let here = &on_cpu.here();
        let next = self.handler.serve_shared_any::<QUIETLY>(arguments, here);
        match next {
            Next::Done => on_cpu.end(),
            Next::Finish => self.finish(on_cpu),
            Next::Stage(_) => self.last(arguments, on_cpu),
            Next::SettleThenStage(never, _) | Next::SettleThenFinish(never) => match never {},
        }
    }

    /// The steps behind the first one, with a filter or without.
    #[inline(always)]
    fn next<const FILTERED: bool>(&self, arguments: Arguments<'_>, on_cpu: Unpreempted) {
        if FILTERED && self.handler.rejects(arguments, &on_cpu.here()) {
            on_cpu.end();
        } else {
            self.last(arguments, on_cpu);
        }
    }

    #[inline(never)]
    fn last(&self, arguments: Arguments<'_>, on_cpu: Unpreempted) {
        let here = &*on_cpu.here();
        self.unless_serving(here, || self.handler.serve(arguments, here));
        on_cpu.end();
    }

    #[cold]
    #[inline(never)]
    fn finish(&self, on_cpu: Unpreempted) {
        let here = &*on_cpu.here();
        self.unless_serving(here, || self.handler.finish(here));
        on_cpu.end();
    }
}
