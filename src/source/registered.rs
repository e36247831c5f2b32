// SPDX-License-Identifier: GPL-2.0

//! The kernel's mechanisms as sources of hits, each registered for one probe.
//!
//! Only this file distinguishes the mechanisms. A new one is a variant of [`Mechanism`], a row of
//! `mechanisms!` whose registration implements [`ProbeSource`], and an arm of [`Registered::new`].

use crate::{
    engine::definition::{
        ast::Definition,
        kind::{Mechanism, ProbeKind},
    },
    hit::{
        calls::{CallRecorder, WholeCallRecorder},
        caused_event::CausedEvent,
        recorder::Recorder,
        recorder_builder::RecorderBuilder,
    },
    kapi::{
        batch::{Batch, Batched},
        functions::{self, Functions, ProbedFunctions},
        handler::{Handler, HandlerByStage},
        interrupt::InterruptRegistration,
        kprobe, kretprobe,
        registration::{self, Registration},
        stack::StackFunction,
        tracepoint::{
            self,
            syscall::{self, Calls, When},
        },
        uprobe,
    },
    source::{location::Found, watched},
};
use core::pin::Pin;
use kernel::{alloc::KVVec, prelude::*, sync::Arc};

/// A registered mechanism, as its probe uses it.
pub(crate) trait ProbeSource: Send + Sync {
    /// Returns the recorder.
    fn recorder(&self) -> &Recorder;

    /// Arms or disarms it.
    ///
    /// # Errors
    ///
    /// The errors of the kernel.
    ///
    /// Context: process, may sleep.
    fn set_armed(&self, armed: bool) -> Result;

    /// Makes the kernel call the first stage for the recorder's new stage.
    ///
    /// Context: process.
    fn update_callback(&self) {}

    /// Returns whether the kernel has given the probe up, because the probed code is gone.
    fn is_gone(&self) -> bool {
        false
    }

    /// Returns the number of misses.
    fn missed(&self) -> u64 {
        self.recorder().totals().missed
    }

    /// Returns the function probe, if it is one.
    fn functions(&self) -> Option<&dyn ProbedFunctions> {
        None
    }

    /// Returns the tracepoint probe, if it is one.
    fn tracepoint(&self) -> Option<&tracepoint::PointRegistration<Recorder>> {
        None
    }

    /// Returns the caused event, if other events cause the hits.
    fn caused_event(&self) -> Option<&Arc<CausedEvent>> {
        None
    }

    /// Returns whether a hit takes a breakpoint; true if unknown.
    ///
    /// Context: process.
    fn is_breakpoint(&self) -> bool {
        false
    }
}

impl<M: registration::KernelProbe> ProbeSource for Registration<M, Recorder>
where
    Recorder: HandlerByStage<M>,
{
    fn recorder(&self) -> &Recorder {
        self.handler()
    }

    fn set_armed(&self, armed: bool) -> Result {
        self.set_enabled(armed)
    }

    fn update_callback(&self) {
        Self::update_callback(self);
    }

    fn is_gone(&self) -> bool {
        Self::is_gone(self)
    }

    fn missed(&self) -> u64 {
        let missed = self.recorder().totals().missed;
        missed.wrapping_add(Self::missed(self))
    }

    fn is_breakpoint(&self) -> bool {
        kprobe::is_breakpoint(self.address())
    }
}

/// A handler of system calls.
trait RecordsCalls: syscall::CallHandler {
    /// Returns the recorder.
    fn recorder(&self) -> &Recorder;
}

impl RecordsCalls for CallRecorder {
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }
}

impl RecordsCalls for WholeCallRecorder {
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }
}

impl<H: RecordsCalls> ProbeSource for syscall::CallRegistration<H> {
    fn recorder(&self) -> &Recorder {
        self.handler().recorder()
    }

    fn set_armed(&self, armed: bool) -> Result {
        self.set_enabled(armed)
    }
}

impl ProbeSource for tracepoint::PointRegistration<Recorder> {
    fn recorder(&self) -> &Recorder {
        self.handler()
    }

    fn set_armed(&self, armed: bool) -> Result {
        self.set_enabled(armed)
    }

    fn is_gone(&self) -> bool {
        Self::is_gone(self)
    }

    fn tracepoint(&self) -> Option<&tracepoint::PointRegistration<Recorder>> {
        Some(self)
    }
}

/// An event that other events cause. The actions that send them have been removed, and a grace
/// period has passed, before it is dropped.
pub(crate) struct CausedEventRegistration(Arc<CausedEvent>);

impl Batched for CausedEventRegistration {
    type Probe = CausedEvent;

    fn end_all(_: &mut [Pin<KBox<Self>>], _: &mut KVVec<*mut CausedEvent>) {}
}

impl ProbeSource for CausedEventRegistration {
    fn recorder(&self) -> &Recorder {
        self.0.recorder()
    }

    fn set_armed(&self, armed: bool) -> Result {
        self.0.set_armed(armed);
        Ok(())
    }

    fn caused_event(&self) -> Option<&Arc<CausedEvent>> {
        Some(&self.0)
    }
}

impl ProbeSource for functions::FunctionRegistration<Recorder> {
    fn recorder(&self) -> &Recorder {
        self.handler()
    }

    fn set_armed(&self, armed: bool) -> Result {
        self.set_enabled(armed)
    }

    fn update_callback(&self) {
        Self::update_callback(self);
    }

    fn functions(&self) -> Option<&dyn ProbedFunctions> {
        Some(self)
    }
}

impl ProbeSource for InterruptRegistration<Recorder> {
    fn recorder(&self) -> &Recorder {
        self.handler()
    }

    fn set_armed(&self, armed: bool) -> Result {
        self.set_enabled(armed)
    }

    fn missed(&self) -> u64 {
        let missed = self.recorder().totals().missed;
        missed.wrapping_add(Self::missed(self))
    }

    fn is_breakpoint(&self) -> bool {
        self.is_trap()
    }
}

impl ProbeSource for functions::ReturnRegistration<Recorder> {
    fn recorder(&self) -> &Recorder {
        self.handler()
    }

    fn set_armed(&self, armed: bool) -> Result {
        self.set_enabled(armed)
    }

    fn update_callback(&self) {
        Self::update_callback(self);
    }

    fn missed(&self) -> u64 {
        let missed = self.recorder().totals().missed;
        missed.wrapping_add(Self::missed(self))
    }

    fn functions(&self) -> Option<&dyn ProbedFunctions> {
        Some(self)
    }
}

impl<S: uprobe::UserSide> ProbeSource for uprobe::UserRegistration<S, Recorder>
where
    Recorder: Handler<S>,
{
    fn recorder(&self) -> &Recorder {
        self.handler()
    }

    fn set_armed(&self, armed: bool) -> Result {
        self.set_enabled(armed)
    }

    fn is_breakpoint(&self) -> bool {
        true
    }
}

/// What registering a probe needs from the tracer.
pub(crate) struct Sources<'a> {
    pub(crate) points: &'a Arc<tracepoint::Tracepoints>,
    pub(crate) functions: &'a Arc<Functions<Recorder>>,
}

macro_rules! mechanisms {
    ($($(#[$doc:meta])* $mechanism:ident, $batch:ident: $registration:ty;)*) => {
        /// A registered mechanism. Its drop unregisters it, and waits until no hit is being served.
        pub(crate) enum Registered {
            $($(#[$doc])* $mechanism(Pin<KBox<$registration>>),)*
        }

        impl Registered {
            pub(crate) fn source(&self) -> &dyn ProbeSource {
                match self {
                    $(Self::$mechanism(probe) => &**probe,)*
                }
            }
        }

        /// Probes that are unregistered together, with one wait for their hits.
        ///
        /// Context of the drop: process, may sleep.
        pub(crate) struct Removal {
            $($batch: Expecting<$registration>,)*
        }

        impl Removal {
            /// Makes an empty removal.
            pub(crate) const fn new() -> Self {
                Self {
                    $($batch: Expecting::new(),)*
                }
            }

            /// Reserves memory for one more probe of `kind`: its removal then needs none.
            ///
            /// # Errors
            ///
            /// `ENOMEM`; no memory is reserved.
            pub(crate) fn expect(&mut self, kind: ProbeKind) -> Result {
                match kind.mechanism {
                    $(Mechanism::$mechanism => self.$batch.expect(),)*
                }
            }

            /// Releases the reservation, but keeps the memory.
            fn expect_none(&mut self) {
                $(self.$batch.expected = 0;)*
            }

            /// Takes `registered`, which may be hit until [`Removal::end`] or the drop. The latest
            /// must be taken first, see [`Batch::push`].
            ///
            /// Context: process, may sleep.
            pub(crate) fn take(&mut self, registered: Registered) {
                match registered {
                    $(Registered::$mechanism(probe) => self.$batch.batch.push(probe),)*
                }
            }

            /// Unregisters what was taken, waits until no hit is being served, and frees it.
            ///
            /// Context: process, may sleep.
            pub(crate) fn end(&mut self) {
                $(self.$batch.batch.end();)*
            }
        }
    };
}

mechanisms! {
    Entry, entries: kprobe::Registration<Recorder>;
    Return, returns: kretprobe::Registration<Recorder>;
    /// A probe of a tracepoint.
    Tracepoint, tracepoints: tracepoint::PointRegistration<Recorder>;
    /// A handler of functions' entries.
    Function, functions: functions::FunctionRegistration<Recorder>;
    /// A handler of functions' returns.
    FunctionReturn, function_returns: functions::ReturnRegistration<Recorder>;
    /// A uprobe.
    User, users: uprobe::UserRegistration<uprobe::ProgramCode, Recorder>;
    /// A uprobe of returns.
    UserReturn, user_returns: uprobe::UserRegistration<uprobe::ProgramReturns, Recorder>;
    /// A handler of system calls.
    Call, calls: syscall::CallRegistration<CallRecorder>;
    /// A handler of whole system calls.
    WholeCall, whole_calls: syscall::CallRegistration<WholeCallRecorder>;
    /// A handler of interrupts.
    Interrupt, interrupts: InterruptRegistration<Recorder>;
    /// An event that other events cause.
    Sender, caused_events: CausedEventRegistration;
}

impl Registered {
    /// Registers the mechanism for `definition`, disarmed, at the location `found`. `recorder`
    /// builds the recorder of its hits.
    ///
    /// # Errors
    ///
    /// The errors of the kernel.
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(
        definition: &Definition,
        found: &Found,
        sources: &Sources<'_>,
        mut recorder: RecorderBuilder,
    ) -> Result<Self> {
        let mechanism = definition.kind.mechanism;
        recorder.set_function(match (mechanism, found.tracepoint()) {
            (Mechanism::Entry, _) => StackFunction::of_probe(found.address),
            (Mechanism::Tracepoint, Some(point)) => point.callers(),
            _ => StackFunction::default(),
        });
        let at = kprobe::ProbePlace::Address(found.address);
        match mechanism {
            Mechanism::Entry => kprobe::Registration::new(at, recorder.init()).map(Self::Entry),
            Mechanism::Return => {
                let maxactive = i32::try_from(definition.maxactive).unwrap_or(i32::MAX);
                let words = recorder.entry_words();
                kretprobe::Registration::new(at, maxactive, words, recorder.init())
                    .map(Self::Return)
            }
            Mechanism::Function => {
                let groups = found.groups();
                let functions = sources.functions.clone();
                // With one function, its recorder counts the hits.
                let counts = groups.is_some();
                let functions =
                    functions::FunctionRegistration::new(functions, counts, recorder.init())?;
                for group in groups.unwrap_or_default() {
                    functions.add(group.owner(), &group.sites)?;
                }
                if let Some(site) = found.site() {
                    functions.add(functions::SitesOwner::KERNEL, &[site])?;
                }
                Ok(Self::Function(functions))
            }
            Mechanism::FunctionReturn => {
                let words = recorder.entry_words();
                let functions = sources.functions.returns(words, recorder.init())?;
                for group in found.groups().unwrap_or_default() {
                    functions.add(group.owner(), &group.sites)?;
                }
                Ok(Self::FunctionReturn(functions))
            }
            Mechanism::Tracepoint => {
                let point = found.tracepoint().ok_or(EINVAL)?;
                tracepoint::PointRegistration::new(sources.points.clone(), point, recorder.init())
                    .map(Self::Tracepoint)
            }
            Mechanism::User => {
                let (program, at) = found.program().ok_or(EINVAL)?;
                uprobe::UserRegistration::new(program, at, recorder.init()).map(Self::User)
            }
            Mechanism::UserReturn => {
                let (program, at) = found.program().ok_or(EINVAL)?;
                uprobe::UserRegistration::new(program, at, recorder.init()).map(Self::UserReturn)
            }
            Mechanism::Interrupt => {
                let cause = watched::cause_of(definition, found.address).ok_or(EINVAL)?;
                InterruptRegistration::new(&cause, recorder.init()).map(Self::Interrupt)
            }
            // See `of_call`, `of_whole_call` and `of_caused_event`.
            Mechanism::Call | Mechanism::WholeCall | Mechanism::Sender => Err(EINVAL),
        }
    }

    /// Registers a handler of system calls with number `number`, disarmed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn of_call(
        table: &Arc<Calls<CallRecorder>>,
        (number, sides): (u32, &'static [When]),
        recorder: impl Init<CallRecorder>,
    ) -> Result<Self> {
        syscall::CallRegistration::new(table.clone(), (number, sides), recorder).map(Self::Call)
    }

    /// Makes a caused event the mechanism, disarmed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn of_caused_event(caused_event: Arc<CausedEvent>) -> Result<Self> {
        let registration = KBox::pin(CausedEventRegistration(caused_event), GFP_KERNEL)?;
        Ok(Self::Sender(registration))
    }

    /// [`Registered::of_call`] for whole calls.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn of_whole_call(
        table: &Arc<Calls<WholeCallRecorder>>,
        (number, sides): (u32, &'static [When]),
        recorder: impl Init<WholeCallRecorder>,
    ) -> Result<Self> {
        syscall::CallRegistration::new(table.clone(), (number, sides), recorder)
            .map(Self::WholeCall)
    }
}

/// Registrations of one mechanism, and the number for which memory is reserved.
struct Expecting<R: Batched> {
    batch: Batch<R>,
    expected: usize,
}

impl<R: Batched> Expecting<R> {
    const fn new() -> Self {
        Self {
            batch: Batch::new(),
            expected: 0,
        }
    }

    fn expect(&mut self) -> Result {
        let count = self.expected.saturating_add(1);
        self.batch.make_room(count)?;
        self.expected = count;
        Ok(())
    }
}

impl Removal {
    /// Reserves memory for probes of `kinds`, and no others.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then memory is reserved for some of them only.
    pub(crate) fn expect_only(&mut self, mut kinds: impl Iterator<Item = ProbeKind>) -> Result {
        self.expect_none();
        kinds.try_for_each(|kind| self.expect(kind))
    }
}
