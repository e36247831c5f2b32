// SPDX-License-Identifier: GPL-2.0

//! The functions that the kernel calls on a hit.
//!
//! The arguments that a handler uses determine which one is registered: a function need not save
//! unused arguments, which saves most of the registers.

use super::{
    handler::{Any, Listener, Only, PointArguments, Use, MAX_ARGUMENTS},
    registration::PointRegistration,
};
use crate::kapi::{
    arch,
    context::{OnCpu, Unpreempted},
    handler::{
        Handler, Next, BARE, EACH_BARE, EACH_NO_MEMORY, EACH_SHORT, EACH_WORD, FILTER, NO_MEMORY,
        SERVE, STACK, WORD,
    },
};
use kernel::ffi::c_void;

/// Returns the first arguments, of which only `N` is valid.
fn only<const N: usize>(argument: u64) -> [u64; 3] {
    let mut arguments = [0; 3];
    if let Some(to) = arguments.get_mut(N) {
        *to = argument;
    }
    arguments
}

/// Defines the probe for arguments in registers.
macro_rules! few {
    ($($name:ident)*) => {
        /// The probe if all used arguments are in registers; `READS_NO_MEMORY` for
        /// [`Use::NoMemory`].
        ///
        /// # Safety
        ///
        /// As for `none`.
        unsafe extern "C" fn few<const READS_NO_MEMORY: bool>(data: *mut c_void, $($name: u64),*) {
            let arguments: [u64; arch::TRACEPOINT_ARGUMENTS] = [$($name),*];
            let arguments = PointArguments(&arguments);
            // SAFETY: As in `none`.
            let this = unsafe { &*data.cast::<Self>() };
            let on_cpu = Unpreempted::begin();
            match READS_NO_MEMORY {
                true => this.any::<NO_MEMORY>(arguments, on_cpu),
                false => match this.handler.begins_with() {
                    EACH_SHORT => this.for_each_any::<EACH_SHORT>(arguments, on_cpu),
                    STACK => this.with_stack(arguments, on_cpu),
                    _ => this.last(arguments, on_cpu),
                },
            }
        }
    };
}

impl<H: Listener> PointRegistration<H> {
    /// Returns the function to register.
    pub(super) fn probe(uses: Use) -> *mut c_void {
        const IN_REGISTERS: usize = arch::TRACEPOINT_ARGUMENTS;
        match uses {
            Use::Nothing => Self::none as *mut c_void,
            Use::One(0) => Self::one::<0> as *mut c_void,
            Use::One(1) => Self::one::<1> as *mut c_void,
            Use::One(2) => Self::one::<2> as *mut c_void,
            Use::One(index) if index < IN_REGISTERS => Self::few::<true> as *mut c_void,
            Use::NoMemory(count) if count <= IN_REGISTERS => Self::few::<true> as *mut c_void,
            Use::First(count) if count <= IN_REGISTERS => Self::few::<false> as *mut c_void,
            Use::One(_) | Use::NoMemory(_) | Use::First(_) => Self::many as *mut c_void,
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
        match Handler::<Only>::run::<BARE>(&this.handler, 0, &on_cpu.here()) {
            Next::Done => on_cpu.end(),
            Next::Stage(EACH_BARE) => this.for_each::<EACH_BARE, 0>(0, on_cpu),
            Next::Stage(FILTER) => this.none_next::<FILTER>(on_cpu),
            Next::Stage(STACK) => this.none_next::<STACK>(on_cpu),
            Next::Stage(_) => this.none_next::<SERVE>(on_cpu),
        }
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
        match Handler::<Only>::run::<WORD>(&this.handler, argument, &on_cpu.here()) {
            Next::Done => on_cpu.end(),
            Next::Stage(EACH_WORD) => this.for_each::<EACH_WORD, N>(argument, on_cpu),
            Next::Stage(FILTER) => this.one_next::<N, FILTER>(argument, on_cpu),
            Next::Stage(STACK) => this.one_next::<N, STACK>(argument, on_cpu),
            Next::Stage(_) => this.one_next::<N, SERVE>(argument, on_cpu),
        }
    }

    arch::with_tracepoint_arguments!(few);

    /// The probe for any arguments. Those that the tracepoint does not have are arbitrary words of
    /// the kernel's stack.
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
        let (arguments, on_cpu) = (PointArguments(&arguments), Unpreempted::begin());
        match this.handler.begins_with() {
            FILTER => this.next::<FILTER>(arguments, on_cpu),
            STACK => this.with_stack(arguments, on_cpu),
            EACH_SHORT => this.for_each_any::<EACH_SHORT>(arguments, on_cpu),
            _ => this.last(arguments, on_cpu),
        }
    }

    /// Serves a hit of `this`, a `PointRegistration<H>`, which was reported at the entry of the
    /// tracepoint's stub.
    ///
    /// # Safety
    ///
    /// `this` must exist during the call.
    pub(super) unsafe fn at_stub(this: *const c_void, arguments: PointArguments<'_>, here: &OnCpu) {
        // SAFETY: By the requirement of this function.
        let this = unsafe { &*this.cast::<Self>() };
        let handler = &this.handler;
        let next = match handler.uses() {
            Use::Nothing => this.first_at_stub::<BARE, EACH_BARE>(0, here),
            Use::One(index) => this.first_at_stub::<WORD, EACH_WORD>(arguments.get(index), here),
            Use::First(_) | Use::NoMemory(_) => Next::Stage(handler.begins_with()),
        };
        let next = match next {
            Next::Stage(FILTER) => Handler::<Any>::run::<FILTER>(handler, arguments, here),
            Next::Stage(EACH_SHORT) => Handler::<Any>::run::<EACH_SHORT>(handler, arguments, here),
            Next::Stage(STACK) => Handler::<Any>::run::<STACK>(handler, arguments, here),
            next => next,
        };
        if let Next::Stage(_) = next {
            this.serve_last(arguments, here);
        }
    }

    /// Runs the first stage with a word, and that for several users.
    fn first_at_stub<const STAGE: u8, const EACH: u8>(&self, word: u64, here: &OnCpu) -> Next {
        let handler = &self.handler;
        match Handler::<Only>::run::<STAGE>(handler, word, here) {
            Next::Stage(stage) if stage == EACH => {
                match Handler::<Only>::run::<EACH>(handler, word, here) {
                    Next::Stage(_) => Next::Stage(SERVE),
                    Next::Done => Next::Done,
                }
            }
            Next::Stage(FILTER) => Next::Stage(FILTER),
            Next::Stage(STACK) => Next::Stage(STACK),
            Next::Stage(_) => Next::Stage(SERVE),
            Next::Done => Next::Done,
        }
    }

    #[inline(never)]
    fn none_next<const STAGE: u8>(&self, on_cpu: Unpreempted) {
        self.next::<STAGE>(PointArguments(&[]), on_cpu);
    }

    #[inline(never)]
    fn one_next<const N: usize, const STAGE: u8>(&self, word: u64, on_cpu: Unpreempted) {
        self.next::<STAGE>(PointArguments(&only::<N>(word)), on_cpu);
    }

    /// Serves a hit for several users, with a word, argument `N` if one is used.
    #[inline(never)]
    fn for_each<const STAGE: u8, const N: usize>(&self, word: u64, on_cpu: Unpreempted) {
        match Handler::<Only>::run::<STAGE>(&self.handler, word, &on_cpu.here()) {
            Next::Done => on_cpu.end(),
            Next::Stage(_) => self.last(PointArguments(&only::<N>(word)), on_cpu),
        }
    }

    /// Serves a hit for several users, with any arguments.
    #[inline(never)]
    fn for_each_any<const STAGE: u8>(&self, arguments: PointArguments<'_>, on_cpu: Unpreempted) {
        self.any::<STAGE>(arguments, on_cpu);
    }

    /// Runs a stage with any arguments, and those to which it leads.
    #[inline(always)]
    fn any<const STAGE: u8>(&self, arguments: PointArguments<'_>, on_cpu: Unpreempted) {
        match Handler::<Any>::run::<STAGE>(&self.handler, arguments, &on_cpu.here()) {
            Next::Done => on_cpu.end(),
            Next::Stage(EACH_SHORT) if STAGE == NO_MEMORY => {
                self.for_each_any::<EACH_NO_MEMORY>(arguments, on_cpu);
            }
            Next::Stage(STACK) if STAGE == NO_MEMORY => self.with_stack(arguments, on_cpu),
            Next::Stage(_) => self.last(arguments, on_cpu),
        }
    }

    /// Serves a hit of which the stack is used: here the unwinder begins.
    #[inline(never)]
    fn with_stack(&self, arguments: PointArguments<'_>, on_cpu: Unpreempted) {
        self.any::<STACK>(arguments, on_cpu);
    }

    /// The stages behind the first one: all from `STAGE`, which is [`FILTER`], [`STACK`] or
    /// [`SERVE`].
    #[inline(always)]
    fn next<const STAGE: u8>(&self, arguments: PointArguments<'_>, on_cpu: Unpreempted) {
        match STAGE {
            FILTER => self.any::<FILTER>(arguments, on_cpu),
            STACK => self.any::<STACK>(arguments, on_cpu),
            _ => self.last(arguments, on_cpu),
        }
    }

    #[inline(never)]
    fn last(&self, arguments: PointArguments<'_>, on_cpu: Unpreempted) {
        self.serve_last(arguments, &on_cpu.here());
        on_cpu.end();
    }

    #[inline(always)]
    fn serve_last(&self, arguments: PointArguments<'_>, here: &OnCpu) {
        self.unless_serving(here, || {
            // No stage comes after the last one.
            Handler::<Any>::run::<SERVE>(&self.handler, arguments, here);
        });
    }
}
