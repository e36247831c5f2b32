// SPDX-License-Identifier: GPL-2.0

//! The kernel's mechanisms as sources of hits, each registered for one probe.
//!
//! What tells the mechanisms apart is decided in this file only. A new one is a variant
//! of [`Registered`] that implements [`Source`].

use crate::{
    engine::ast::ProbeKind,
    hit::{
        calls::CallRecorder, prepared::Prepared, recorder::Recorder, whole_calls::WholeCallRecorder,
    },
    kapi::{
        batch::Batch,
        functions::{self, Functions},
        kprobe, kretprobe,
        registration::{Handler, Mechanism, Registration},
        stack::Function,
        tracepoint::{
            self,
            syscall::{self, Calls, When},
        },
    },
    source::location::Found,
};
use core::pin::Pin;
use kernel::{prelude::*, sync::Arc};

/// What a registered mechanism does for its probe.
pub(crate) trait Source: Send + Sync {
    /// Returns what serves the hits.
    fn recorder(&self) -> &Recorder;

    /// Arms or disarms it.
    ///
    /// # Errors
    ///
    /// The errors of the kernel.
    ///
    /// Context: process, may sleep.
    fn set_armed(&self, armed: bool) -> Result;

    /// Makes the kernel call what suits the recorder's tier, which has changed.
    ///
    /// Context: process.
    fn follow(&self) {}

    /// Returns whether the kernel has given it up, because the probed code is gone.
    fn is_gone(&self) -> bool {
        false
    }

    /// Returns the hits on which the recorder was not called to serve them.
    fn missed(&self) -> u64 {
        self.recorder().totals().missed
    }

    /// Returns it as a handler of functions' entries, if it is one.
    fn functions(&self) -> Option<&functions::Registration<Recorder>> {
        None
    }

    /// Returns whether a hit takes a breakpoint, also if that is not known.
    ///
    /// Context: process.
    fn is_breakpoint(&self) -> bool {
        false
    }
}

impl<M: Mechanism> Source for Registration<M, Recorder>
where
    Recorder: Handler<M>,
{
    fn recorder(&self) -> &Recorder {
        self.handler()
    }

    fn set_armed(&self, armed: bool) -> Result {
        self.set_enabled(armed)
    }

    fn follow(&self) {
        Self::follow(self);
    }

    fn is_gone(&self) -> bool {
        Self::is_gone(self)
    }

    fn missed(&self) -> u64 {
        Self::missed(self)
    }

    fn is_breakpoint(&self) -> bool {
        kprobe::is_breakpoint(self.address())
    }
}

/// What records system calls.
trait RecordsCalls: syscall::Handler {
    /// Returns what serves the hits.
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

impl<H: RecordsCalls> Source for syscall::Registration<H> {
    fn recorder(&self) -> &Recorder {
        self.handler().recorder()
    }

    fn set_armed(&self, armed: bool) -> Result {
        self.set_enabled(armed)
    }
}

impl Source for tracepoint::Registration<Recorder> {
    fn recorder(&self) -> &Recorder {
        self.handler()
    }

    fn set_armed(&self, armed: bool) -> Result {
        self.set_enabled(armed)
    }

    fn is_gone(&self) -> bool {
        Self::is_gone(self)
    }
}

impl Source for functions::Registration<Recorder> {
    fn recorder(&self) -> &Recorder {
        self.handler()
    }

    fn set_armed(&self, armed: bool) -> Result {
        self.set_enabled(armed)
    }

    fn follow(&self) {
        Self::follow(self);
    }

    fn functions(&self) -> Option<&functions::Registration<Recorder>> {
        Some(self)
    }
}

/// What registering a mechanism needs of the tracer.
pub(crate) struct Sources<'a> {
    pub(crate) points: &'a Arc<tracepoint::Tracepoints>,
    pub(crate) functions: &'a Arc<Functions<Recorder>>,
}

/// A registered mechanism. Its drop unregisters it, and waits until no hit is served.
pub(crate) enum Registered {
    /// A kprobe.
    Entry(Pin<KBox<kprobe::Registration<Recorder>>>),
    /// A kretprobe.
    Return(Pin<KBox<kretprobe::Registration<Recorder>>>),
    /// A probe of a tracepoint.
    Tracepoint(Pin<KBox<tracepoint::Registration<Recorder>>>),
    /// A handler of functions' entries.
    Function(Pin<KBox<functions::Registration<Recorder>>>),
    /// A handler of system calls.
    Call(Pin<KBox<syscall::Registration<CallRecorder>>>),
    /// A handler of whole system calls.
    WholeCall(Pin<KBox<syscall::Registration<WholeCallRecorder>>>),
}

impl Registered {
    /// Registers the mechanism of `kind`, disarmed, at the location `found`; `recorder` is
    /// made to serve its hits.
    ///
    /// # Errors
    ///
    /// The errors of the kernel.
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(
        kind: ProbeKind,
        found: &Found,
        sources: &Sources<'_>,
        mut recorder: Prepared,
    ) -> Result<Self> {
        recorder.set_function(match (kind, found.tracepoint()) {
            (ProbeKind::Probe, _) => Function::of_probe(found.address),
            (ProbeKind::Tracepoint, Some(point)) => Function::at(point.iterator()),
            _ => Function::default(),
        });
        let at = kprobe::Place::Address(found.address);
        let kretprobe = |recorder: Prepared, maxactive| {
            let words = recorder.entry_words();
            kretprobe::Registration::new(at, maxactive, words, recorder.init()).map(Self::Return)
        };
        match kind {
            ProbeKind::Probe => kprobe::Registration::new(at, recorder.init()).map(Self::Entry),
            ProbeKind::Return { maxactive } => {
                let maxactive = i32::try_from(maxactive).unwrap_or(i32::MAX);
                kretprobe(recorder, maxactive)
            }
            ProbeKind::Function { returns: true } => kretprobe(recorder, 0),
            ProbeKind::Function { returns: false } => {
                let groups = found.groups();
                let functions = sources.functions.clone();
                // The hits of one function are counted by its recorder.
                let counts = groups.is_some();
                let functions = functions::Registration::new(functions, counts, recorder.init())?;
                for group in groups.unwrap_or_default() {
                    functions.add(group.owner(), &group.sites)?;
                }
                if let Some(site) = found.site() {
                    functions.add(functions::Owner::KERNEL, &[site])?;
                }
                Ok(Self::Function(functions))
            }
            ProbeKind::Tracepoint => {
                let point = found.tracepoint().ok_or(EINVAL)?;
                tracepoint::Registration::new(sources.points.clone(), point, recorder.init())
                    .map(Self::Tracepoint)
            }
            // See `of_call` and `of_whole_call`.
            ProbeKind::Enter | ProbeKind::Exit | ProbeKind::Call => Err(EINVAL),
        }
    }

    /// Makes a handler of the system calls with the number `number`, disarmed.
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
        syscall::Registration::new(table.clone(), (number, sides), recorder).map(Self::Call)
    }

    /// As [`Registered::of_call`], for whole calls.
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
        syscall::Registration::new(table.clone(), (number, sides), recorder).map(Self::WholeCall)
    }

    /// Returns it as a source.
    pub(crate) fn source(&self) -> &dyn Source {
        match self {
            Self::Entry(probe) => &**probe,
            Self::Return(probe) => &**probe,
            Self::Tracepoint(probe) => &**probe,
            Self::Function(probe) => &**probe,
            Self::Call(probe) => &**probe,
            Self::WholeCall(probe) => &**probe,
        }
    }
}

/// For how many of each mechanism there is room.
type Expected = [usize; 6];

/// Mechanisms that are unregistered together: the drop waits for their hits once.
///
/// Context of the drop: process, may sleep.
pub(crate) struct Removal {
    entries: Batch<kprobe::Registration<Recorder>>,
    returns: Batch<kretprobe::Registration<Recorder>>,
    tracepoints: Batch<tracepoint::Registration<Recorder>>,
    functions: Batch<functions::Registration<Recorder>>,
    calls: Batch<syscall::Registration<CallRecorder>>,
    whole_calls: Batch<syscall::Registration<WholeCallRecorder>>,
    /// For how many of each there is room.
    expected: Expected,
}

impl Removal {
    /// Makes an empty removal.
    pub(crate) const fn new() -> Self {
        Self {
            entries: Batch::new(),
            returns: Batch::new(),
            tracepoints: Batch::new(),
            functions: Batch::new(),
            calls: Batch::new(),
            whole_calls: Batch::new(),
            expected: [0; 6],
        }
    }

    /// Makes room for one more mechanism of `kind`: its removal then needs no memory.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then it is not expected.
    pub(crate) fn expect(&mut self, kind: ProbeKind) -> Result {
        let index: usize = match kind {
            ProbeKind::Probe => 0,
            ProbeKind::Return { .. } | ProbeKind::Function { returns: true } => 1,
            ProbeKind::Tracepoint => 2,
            ProbeKind::Function { returns: false } => 3,
            ProbeKind::Enter | ProbeKind::Exit => 4,
            ProbeKind::Call => 5,
        };
        let Some(expected) = self.expected.get_mut(index) else {
            return Ok(());
        };
        let count = expected.saturating_add(1);
        match index {
            0 => self.entries.make_room(count)?,
            1 => self.returns.make_room(count)?,
            2 => self.tracepoints.make_room(count)?,
            3 => self.functions.make_room(count)?,
            4 => self.calls.make_room(count)?,
            _ => self.whole_calls.make_room(count)?,
        }
        *expected = count;
        Ok(())
    }

    /// Makes room for mechanisms of `kinds`, and expects no others.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; then some of these are not expected.
    pub(crate) fn expect_only(&mut self, mut kinds: impl Iterator<Item = ProbeKind>) -> Result {
        self.expected = [0; 6];
        kinds.try_for_each(|kind| self.expect(kind))
    }

    /// Takes `registered`, which may be hit until [`Removal::end`] or the drop. The
    /// latest must be taken first, see [`Batch::push`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn take(&mut self, registered: Registered) {
        match registered {
            Registered::Entry(probe) => self.entries.push(probe),
            Registered::Return(probe) => self.returns.push(probe),
            Registered::Tracepoint(probe) => self.tracepoints.push(probe),
            Registered::Function(probe) => self.functions.push(probe),
            Registered::Call(probe) => self.calls.push(probe),
            Registered::WholeCall(probe) => self.whole_calls.push(probe),
        }
    }

    /// Unregisters what was taken, waits until no hit is served, and frees it.
    ///
    /// Context: process, may sleep.
    pub(crate) fn end(&mut self) {
        self.entries.end();
        self.returns.end();
        self.tracepoints.end();
        self.functions.end();
        self.calls.end();
        self.whole_calls.end();
    }
}
