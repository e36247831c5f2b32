// SPDX-License-Identifier: GPL-2.0

//! The surroundings of a histogram: the other histograms and the events of its instance.

use super::update::Histogram;
use super::value_shape::SynthField;

/// An existing histogram of the instance.
#[derive(Clone, Copy)]
pub struct KnownHistogram<'a> {
    /// Group of the event in whose `trigger` it was written.
    pub group: &'a [u8],
    /// The name of that event.
    pub event: &'a [u8],
    /// The histogram.
    pub histogram: &'a Histogram,
    /// The filter; without one all hits are counted.
    pub filter: Option<&'a [u8]>,
}

/// The instance in which a histogram is set.
pub trait HistScope {
    /// Returns the group and the name of the histogram's own event.
    fn own(&self) -> (&[u8], &[u8]);

    /// Returns the existing histograms: event by event, the earliest of an event first.
    fn histograms(&self) -> &[KnownHistogram<'_>];

    /// Returns whether the event exists.
    fn has_event(&self, group: &[u8], event: &[u8]) -> bool;

    /// Returns the fields of the synthetic event with this name.
    fn synthetic(&self, name: &[u8]) -> Option<&[SynthField]>;
}

impl KnownHistogram<'_> {
    /// Returns whether it belongs to the event `group`/`event`.
    pub(super) fn is_of(&self, group: &[u8], event: &[u8]) -> bool {
        self.group == group && self.event == event
    }

    /// Returns whether both count in the same histogram.
    pub(super) fn shares(&self, other: &KnownHistogram<'_>) -> bool {
        core::ptr::eq(self.histogram, other.histogram)
    }

    /// Returns whether both belong to the same event.
    pub(super) fn is_beside(&self, other: &KnownHistogram<'_>) -> bool {
        self.is_of(other.group, other.event)
    }
}
