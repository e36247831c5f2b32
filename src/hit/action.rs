// SPDX-License-Identifier: GPL-2.0

//! What a trigger does on a hit.
//!
//! A trigger acts on the hits that its own filter accepts, whether or not the event is
//! enabled and its filter accepts them. It acts before the hit is recorded, so that the hit
//! that enables recording is recorded; only `traceoff` and `stacktrace` act
//! afterwards, as in the kernel.

use crate::{
    buffer::Buffer,
    engine::{
        filter::{self, Filter},
        hist::Histogram,
        language::trigger,
        program::fetch::Program,
        util::text::Plain,
    },
    formats::Format,
    hit::{
        histograms::Histograms,
        inter_event::InterEventHistogram,
        open_pairs::OpenPairs,
        sample::{Sample, SentHit},
        sinks::HitSink,
        snapshots::Snapshots,
    },
    kapi::context::OnCpu,
};
use core::{
    fmt,
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
};
use kernel::{prelude::*, sync::Arc};

/// Whether an event is enabled; triggers switch it where they are hit.
pub(crate) struct Switch(AtomicBool);

impl Switch {
    /// Makes the switch of a disabled event.
    pub(crate) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Returns whether the event is enabled.
    ///
    /// Context: any.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Enables or disables the event.
    ///
    /// Context: any.
    pub(crate) fn set(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }

    /// Enables or disables the event; returns whether that changed it.
    fn change(&self, on: bool) -> bool {
        self.0.swap(on, Ordering::Relaxed) != on
    }
}

/// What is done on a hit.
pub(crate) enum ActionKind {
    /// Switches recording on or off.
    Trace {
        /// Whether it switches it on.
        on: bool,
    },
    /// Enables or disables an event.
    Event {
        /// Whether it enables it.
        on: bool,
        /// The event.
        target: ActionTarget,
    },
    /// Counts the hit in a histogram.
    Count(Arc<Histogram>),
    /// Counts the hit in an inter-event histogram.
    InterEvent(Arc<InterEventHistogram>),
    /// Sends the hit to an event probe, or to a pair. No `trigger` file shows it.
    Send(Arc<SendTo>),
    /// Makes the histograms of an event count, or pauses them.
    Histograms {
        /// Whether they count.
        on: bool,
        /// The event.
        target: ActionTarget<Histograms>,
    },
    /// Requests a snapshot, which is taken right after the hit.
    Snapshot(Arc<Snapshots>),
    /// Records the stack of the kernel.
    Stack,
}

/// The sole action of a disabled event.
pub(super) enum Sole {
    /// It switches recording on or off.
    Trace(bool),
    /// It enables or disables an event.
    Event(Arc<Switch>, bool),
    /// It counts in a histogram.
    Count(Arc<Histogram>),
    /// It counts in a histogram whose key is the stack.
    CountStack(Arc<Histogram>),
    /// It records the stack.
    RecordStack,
    /// It saves the time in a variable of an inter-event histogram, and does nothing else.
    SaveTimestamp(Arc<InterEventHistogram>),
    /// It counts in an inter-event histogram.
    InterEvent(Arc<InterEventHistogram>),
    /// It sends the hit to an event probe.
    Send(Arc<SendTo>),
    /// It notes that a pair begins.
    Begin(Arc<OpenPairs>),
}

/// The receiver of the hits that an action sends.
pub(crate) struct SendTo {
    pub(crate) to: KBox<dyn HitSink>,
    /// The pairs that the hits begin, if the receiver does nothing else.
    pub(crate) begins: Option<Arc<OpenPairs>>,
}

/// The event that a trigger changes, and what it changes. It is not removed before the
/// trigger.
pub(crate) struct ActionTarget<T = Switch> {
    pub(crate) format: Arc<Format>,
    pub(crate) changes: Arc<T>,
}

/// What an action sees of a hit.
pub(super) struct OnHit<'a> {
    /// The program of the probe, which fetches the arguments.
    pub(super) program: &'a Program,
    pub(super) sample: &'a Sample<'a>,
    /// What is known without fetching.
    pub(super) filter_hit: &'a filter::Hit,
}

/// A trigger that is set.
pub(crate) struct Action {
    kind: ActionKind,
    filter: Option<Arc<Filter>>,
    count: TimesLeft,
}

/// How often a trigger may still act.
struct TimesLeft {
    is_limited: bool,
    left: AtomicI64,
}

impl TimesLeft {
    fn new(count: trigger::Count) -> Self {
        let (is_limited, left) = match count {
            trigger::Count::Unlimited => (false, 0),
            // A larger limit has the same effect: no event is hit that often.
            trigger::Count::Times(times) => (true, i64::try_from(times).unwrap_or(i64::MAX)),
        };
        Self {
            is_limited,
            left: AtomicI64::new(left),
        }
    }

    /// Returns the number of times that are left; `None` without a limit.
    fn left(&self) -> Option<i64> {
        let left = || self.left.load(Ordering::Relaxed).max(0);
        self.is_limited.then(left)
    }

    /// Takes one of the times that are left; returns false if there is none.
    fn take(&self) -> bool {
        if !self.is_limited {
            return true;
        }
        // Most hits of a trigger that is used up write nothing.
        let has_left = self.left.load(Ordering::Relaxed) > 0;
        if has_left && self.left.fetch_sub(1, Ordering::Relaxed) > 0 {
            return true;
        }
        if has_left {
            // Another CPU was faster.
            self.give_back();
        }
        false
    }

    fn give_back(&self) {
        if self.is_limited {
            self.left.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Calls `act` if there are times left; one is used up if it returns true.
    #[inline]
    fn use_for(&self, act: impl FnOnce() -> bool) {
        if self.take() && !act() {
            self.give_back();
        }
    }
}

impl Action {
    /// Makes a trigger that acts on the hits that `filter` accepts, `count` times.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        kind: ActionKind,
        filter: Option<Filter>,
        count: trigger::Count,
    ) -> Result<Arc<Self>> {
        let filter = filter.map(|filter| Arc::new(filter, GFP_KERNEL));
        let action = Self {
            kind,
            filter: filter.transpose()?,
            count: TimesLeft::new(count),
        };
        Ok(Arc::new(action, GFP_KERNEL)?)
    }

    /// Returns the histogram in which it counts, of any kind.
    pub(crate) fn counts(&self) -> Option<&Arc<Histogram>> {
        let inter_event = self.inter_event().map(|inter_event| &inter_event.histogram);
        self.histogram().or(inter_event)
    }

    /// Returns the inter-event histogram in which it counts.
    pub(crate) fn inter_event(&self) -> Option<&Arc<InterEventHistogram>> {
        match &self.kind {
            ActionKind::InterEvent(inter_event) => Some(inter_event),
            _ => None,
        }
    }

    /// Returns the plain histogram in which it counts.
    #[inline(always)]
    pub(crate) fn histogram(&self) -> Option<&Arc<Histogram>> {
        match &self.kind {
            ActionKind::Count(histogram) => Some(histogram),
            _ => None,
        }
    }

    /// Returns an action that counts in `histogram` the hits on which this one acts.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn with_histogram(&self, histogram: &Arc<Histogram>) -> Result<Arc<Self>> {
        let action = Self {
            kind: ActionKind::Count(histogram.clone()),
            filter: self.filter.clone(),
            count: TimesLeft::new(trigger::Count::Unlimited),
        };
        Ok(Arc::new(action, GFP_KERNEL)?)
    }

    /// Returns the event probe or the pair to which it sends hits, if it does.
    #[inline(always)]
    pub(crate) fn sink(&self) -> Option<&dyn HitSink> {
        match &self.kind {
            ActionKind::Send(send) => Some(&*send.to),
            _ => None,
        }
    }

    /// Returns it as a sole action; `None` if no fast stage runs such an action.
    pub(super) fn as_sole(&self) -> Option<Sole> {
        Some(match &self.kind {
            ActionKind::Trace { on } => Sole::Trace(*on),
            ActionKind::Event { on, target } => Sole::Event(target.changes.clone(), *on),
            ActionKind::Count(histogram) => match histogram.spec().is_by_stack() {
                true => Sole::CountStack(histogram.clone()),
                false => Sole::Count(histogram.clone()),
            },
            ActionKind::Stack if !self.count.is_limited => Sole::RecordStack,
            ActionKind::InterEvent(inter_event) if inter_event.histogram.is_stamp() => {
                Sole::SaveTimestamp(inter_event.clone())
            }
            ActionKind::InterEvent(inter_event) => Sole::InterEvent(inter_event.clone()),
            ActionKind::Send(send) => match &send.begins {
                Some(open) => Sole::Begin(open.clone()),
                None => Sole::Send(send.clone()),
            },
            _ => return None,
        })
    }

    /// Returns the filter that decides on which hits it acts.
    pub(crate) fn filter(&self) -> Option<&Filter> {
        self.filter.as_deref()
    }

    /// Returns the format of the event that it changes, if it changes one.
    pub(crate) fn target(&self) -> Option<&Arc<Format>> {
        match &self.kind {
            ActionKind::Event { target, .. } => Some(&target.format),
            ActionKind::Histograms { target, .. } => Some(&target.format),
            _ => None,
        }
    }

    /// Returns whether it changes `switch`.
    pub(crate) fn switches(&self, switch: &Arc<Switch>) -> bool {
        match &self.kind {
            ActionKind::Event { target, .. } => Arc::ptr_eq(&target.changes, switch),
            _ => false,
        }
    }

    /// Returns whether an event can have only one of the two. As in ftrace, two triggers that undo
    /// each other count as the same.
    pub(crate) fn excludes(&self, other: &ActionKind) -> bool {
        match (&self.kind, other) {
            (ActionKind::Trace { .. }, ActionKind::Trace { .. })
            | (ActionKind::Snapshot(_), ActionKind::Snapshot(_))
            | (ActionKind::Stack, ActionKind::Stack) => true,
            (ActionKind::Event { .. }, ActionKind::Event { target, .. }) => {
                self.switches(&target.changes)
            }
            (ActionKind::Histograms { target: own, .. }, ActionKind::Histograms { target, .. }) => {
                Arc::ptr_eq(&own.changes, &target.changes)
            }
            _ => false,
        }
    }

    /// Returns whether it acts on `hit`.
    ///
    /// Context: any.
    #[inline]
    pub(super) fn accepts(&self, hit: &OnHit<'_>) -> bool {
        let Some(filter) = &self.filter else {
            return true;
        };
        match filter.decide_fast(hit.program, hit.sample) {
            Some(accepted) => accepted,
            None => filter.matches(hit.program, hit.sample, hit.filter_hit),
        }
    }

    /// Returns whether it acts once the hit has been recorded.
    #[inline]
    pub(super) fn is_last(&self) -> bool {
        matches!(self.kind, ActionKind::Trace { on: false })
    }

    /// Returns whether it runs without the header of the hit's record.
    pub(super) fn needs_no_header(&self) -> bool {
        self.acts_always() && !self.is_stack()
    }

    /// Returns whether it acts on each hit.
    pub(super) fn acts_always(&self) -> bool {
        self.filter.is_none()
    }

    /// Returns whether it records the stack of the hit.
    pub(super) fn is_stack(&self) -> bool {
        matches!(self.kind, ActionKind::Stack)
    }

    /// Returns whether it may still act.
    ///
    /// Context: any.
    pub(super) fn is_left(&self) -> bool {
        self.count.left() != Some(0)
    }

    /// If there are times left, calls `act`, which runs the action and returns whether that uses up
    /// one of them.
    ///
    /// Context: any.
    pub(super) fn act_by(&self, act: impl FnOnce() -> bool) {
        self.count.use_for(act);
    }

    /// Acts on a hit, without a histogram and without what filters need to know.
    ///
    /// Context: any, with preemption disabled.
    #[inline(never)]
    pub(super) fn act(&self, hit: &SentHit<'_>, buffer: &Buffer, here: &OnCpu) {
        match &self.kind {
            ActionKind::Trace { on } if buffer.is_on() != *on => {
                self.count.use_for(|| buffer.switch_in_hit(*on, here));
            }
            ActionKind::Event { on, target } if target.changes.is_on() != *on => {
                self.count.use_for(|| target.changes.change(*on));
            }
            // As on most hits, it is in that state already: write nothing.
            ActionKind::Trace { .. } | ActionKind::Event { .. } => {}
            // The recorder does it.
            ActionKind::Count(_) | ActionKind::InterEvent(_) | ActionKind::Stack => {}
            ActionKind::Send(send) => send.to.receive_hit(hit, here),
            ActionKind::Snapshot(snapshots) => self.count.use_for(|| snapshots.request(buffer)),
            // As in the kernel, a hit that changes nothing uses up one of the times, too.
            ActionKind::Histograms { on, target } => self.count.use_for(|| {
                target.changes.set_paused(!*on, here);
                true
            }),
        }
    }

    /// Writes it as `trigger` shows it.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub(crate) fn write(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        match &self.kind {
            ActionKind::Trace { on: true } => out.write_str("traceon")?,
            ActionKind::Trace { on: false } => out.write_str("traceoff")?,
            ActionKind::Snapshot(_) => out.write_str("snapshot")?,
            ActionKind::Stack => out.write_str("stacktrace")?,
            ActionKind::Send(_) => return Ok(()),
            ActionKind::Histograms { on, target } => {
                write_target(out, (*on, "hist"), &target.format)?;
            }
            ActionKind::Count(histogram) => return self.write_histogram(out, histogram),
            ActionKind::InterEvent(inter_event) => {
                return self.write_histogram(out, &inter_event.histogram);
            }
            ActionKind::Event { on, target } => write_target(out, (*on, "event"), &target.format)?,
        }
        match self.count.left() {
            None => out.write_str(":unlimited")?,
            Some(left) => write!(out, ":count={left}")?,
        }
        if let Some(filter) = &self.filter {
            write!(out, " if {}", Plain(filter.text()))?;
        }
        out.write_str("\n")
    }
}

impl Action {
    fn write_histogram(&self, out: &mut dyn fmt::Write, histogram: &Histogram) -> fmt::Result {
        let filter = self.filter().map(Filter::text);
        let spec = histogram.spec();
        spec.write_line(out, filter, histogram.is_paused())
    }
}

/// Writes a trigger that changes the event of `format`.
fn write_target(
    out: &mut dyn fmt::Write,
    (on, what): (bool, &str),
    format: &Format,
) -> fmt::Result {
    let verb = if on { "enable" } else { "disable" };
    let group = Plain(format.group.to_bytes());
    write!(out, "{verb}_{what}:{group}:{}", format.name())
}
