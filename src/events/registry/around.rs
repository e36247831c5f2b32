// SPDX-License-Identifier: GPL-2.0

//! What a histogram that is to be set knows of others in its instance.

use super::Registry;
use crate::{
    engine::{
        filter::Filter,
        hist::{HistScope, Histogram, KnownHistogram, SynthField},
    },
    events::{event::Event, event_file::InstanceId},
    hit::action::Action,
    sys::{AllocError, Vec},
};
use kernel::{prelude::*, sync::Arc};

/// A histogram that is set.
pub(super) struct Counted {
    pub(super) event: Arc<Event>,
    pub(super) histogram: Arc<Histogram>,
    /// The action that counts in it.
    pub(super) action: Arc<Action>,
}

impl Counted {
    /// Returns its filter.
    pub(super) fn filter(&self) -> Option<&[u8]> {
        self.action.filter().map(Filter::text)
    }
}

impl Registry {
    /// Returns the histograms of `event`, then those of all other events of the instance `of`.
    pub(super) fn counted(
        &self,
        of: InstanceId,
        event: &Arc<Event>,
    ) -> Result<Vec<Counted>, AllocError> {
        let mut counted = Vec::new();
        let others = self
            .triggered(of)
            .filter(|other| !Arc::ptr_eq(other, event));
        for event in Iterator::chain(core::iter::once(event), others) {
            let plan = event.file(of).map(|file| file.current_plan());
            for action in plan.iter().flat_map(|plan| plan.actions()) {
                if let Some(histogram) = action.counts() {
                    counted.push(Counted {
                        event: event.clone(),
                        histogram: histogram.clone(),
                        action: action.clone(),
                    })?;
                }
            }
        }
        Ok(counted)
    }
}

/// The instance around a histogram of an event.
pub(super) struct Around<'a> {
    registry: &'a Registry,
    event: &'a Event,
    of: InstanceId,
    /// Whether the histogram is to be removed: then events that it names may have gone.
    removes: bool,
    known: Vec<KnownHistogram<'a>>,
}

impl<'a> Around<'a> {
    /// Makes what a histogram of `event` knows, which is set, or which the trigger `removes`;
    /// `counted` are the [histograms that are set](Registry::counted).
    pub(super) fn new(
        registry: &'a Registry,
        (of, event): (InstanceId, &'a Event),
        removes: bool,
        counted: &'a [Counted],
    ) -> Result<Self, AllocError> {
        let mut known = Vec::new();
        for it in counted {
            let (group, event) = names(&it.event);
            known.push(KnownHistogram {
                group,
                event,
                histogram: &it.histogram,
                filter: it.filter(),
            })?;
        }
        Ok(Self {
            registry,
            event,
            of,
            removes,
            known,
        })
    }
}

/// Returns the group and the name of `event`.
fn names(event: &Event) -> (&[u8], &[u8]) {
    (event.format.group.to_bytes(), event.format.name.to_bytes())
}

impl HistScope for Around<'_> {
    fn own(&self) -> (&[u8], &[u8]) {
        names(self.event)
    }

    fn histograms(&self) -> &[KnownHistogram<'_>] {
        &self.known
    }

    fn has_event(&self, group: &[u8], event: &[u8]) -> bool {
        let registry = self.registry;
        self.removes || registry.triggered_with(self.of, group, event).is_some()
    }

    fn synthetic(&self, name: &[u8]) -> Option<&[SynthField]> {
        self.registry.synthetic(name).map(|(fields, _)| fields)
    }
}
