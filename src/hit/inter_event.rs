// SPDX-License-Identifier: GPL-2.0

//! Counts in an inter-event histogram, and does what its actions say.

use crate::{
    buffer::Buffer,
    engine::hist::{ActionSort, Emit, EmittedValues, Histogram, InterEventRoom, Values},
    hit::{nesting::Nesting, sample::SentHit, sinks::ValueSink, snapshots::Snapshots},
    kapi::context::OnCpu,
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// An inter-event histogram, with what its actions need.
pub(crate) struct InterEventHistogram {
    pub(crate) histogram: Arc<Histogram>,
    /// For each action the synthetic event that it emits, if it emits one. It is not deleted while
    /// a plan has the action, which [`InterEventHistogram::count_use`] tells.
    sinks: Vec<Option<Arc<dyn ValueSink>>>,
    /// Takes snapshots of the instance's buffer.
    snapshots: Arc<Snapshots>,
    /// Lends memory to hits.
    nesting: Arc<Nesting>,
    /// Whether it exists for the sake of another one, which refers to it.
    pub(crate) is_of_field: bool,
}

impl InterEventHistogram {
    /// Makes the action that counts in `histogram`; `sink` finds the synthetic event with a
    /// name.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        histogram: Arc<Histogram>,
        sink: impl Fn(&[u8]) -> Option<Arc<dyn ValueSink>>,
        (snapshots, nesting): (Arc<Snapshots>, Arc<Nesting>),
        is_of_field: bool,
    ) -> Result<Self> {
        let mut sinks = Vec::new();
        for action in histogram.spec().actions() {
            sinks.push(match action.sort {
                ActionSort::Trace => sink(&action.event),
                ActionSort::Save | ActionSort::Snapshot => None,
            })?;
        }
        Ok(Self {
            histogram,
            sinks,
            snapshots,
            nesting,
            is_of_field,
        })
    }

    /// Tells the synthetic events that it emits them from now on, or no longer: that a plan got it,
    /// or lost it. A reader of the histogram does not count as a use.
    pub(crate) fn count_use(&self, more: bool) {
        for sink in self.sinks.iter().flatten() {
            sink.count_use(more);
        }
    }

    /// Returns whether it emits the synthetic event `name`.
    pub(crate) fn emits(&self, name: &[u8]) -> bool {
        let mut all = self.histogram.spec().actions().iter();
        all.any(|action| action.sort == ActionSort::Trace && *action.event == *name)
    }

    /// Counts a hit of the instance with the buffer, and acts.
    ///
    /// Context: any, with preemption disabled.
    #[inline(always)]
    pub(super) fn update<'a>(
        &'a self,
        hit: &impl Values,
        (sent, buffer): (impl Fn() -> SentHit<'a>, &'a Buffer),
        here: &'a OnCpu,
    ) {
        self.histogram
            .update_inter_event(hit, &self.outside((sent, buffer), here));
    }

    /// Returns what actions can do on the hit that `hit` returns, of the instance with the buffer.
    #[inline(always)]
    pub(super) fn outside<'a, H: Fn() -> SentHit<'a>>(
        &'a self,
        (hit, buffer): (H, &'a Buffer),
        here: &'a OnCpu,
    ) -> Outside<'a, H> {
        Outside {
            inter_event: self,
            hit,
            buffer,
            here,
        }
    }
}

/// What the actions of a hit do outside of the histogram.
pub(super) struct Outside<'a, H> {
    inter_event: &'a InterEventHistogram,
    /// Returns the hit.
    hit: H,
    buffer: &'a Buffer,
    here: &'a OnCpu,
}

impl<'a, H: Fn() -> SentHit<'a>> Emit for Outside<'a, H> {
    #[inline]
    fn emit(&self, action: usize, values: EmittedValues<'_>) {
        if let Some(Some(sink)) = self.inter_event.sinks.get(action) {
            sink.receive_values(values, &(self.hit)(), self.here);
        }
    }

    #[inline(always)]
    fn lend(&self, work: impl FnOnce(&mut InterEventRoom)) -> bool {
        self.inter_event
            .nesting
            .with_room(self.here, work)
            .is_some()
    }

    #[inline]
    fn snapshot(&self) {
        self.inter_event.snapshots.request(self.buffer);
    }
}
