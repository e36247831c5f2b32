// SPDX-License-Identifier: GPL-2.0

//! The tiers of a recorder, and the sizes of records that tell them apart.

use crate::engine::record::{self, PROBE_WORDS};
use core::sync::atomic::{AtomicU8, Ordering};

/// How hits are served: the one whose condition holds.
pub(super) struct Tier(AtomicU8);

impl Tier {
    /// Returns `tier`, one of the numbers below.
    pub(super) fn new(tier: u8) -> Self {
        Self(AtomicU8::new(tier))
    }

    /// Makes it `tier`, one of the numbers below.
    pub(super) fn set(&self, tier: u8) {
        self.0.store(tier, Ordering::Relaxed);
    }

    /// Returns which it is, one of the numbers below.
    #[inline(always)]
    pub(super) fn get(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    /// There is no filter, and nothing is fetched.
    pub(super) const BARE: u8 = 0;
    /// There is no filter, and one register is fetched.
    pub(super) const REGISTER: u8 = 1;
    /// There is no filter, and the duration of a call is recorded.
    pub(super) const DURATION: u8 = 2;
    /// There is no filter, and one register and the duration of a call are recorded.
    pub(super) const REGISTER_AND_DURATION: u8 = 3;
    /// There is no filter, and records have one size, which is short.
    pub(super) const SHORT: u8 = 4;
    /// There is no filter, and records have different sizes, or are long.
    pub(super) const SLOW: u8 = 5;
    /// There is no filter, and records have different sizes, because of one string.
    pub(super) const TEXT: u8 = 6;
    /// There are actions. This tier is right for any plan.
    pub(super) const ACTING: u8 = 7;
    /// There is one action, which has no filter, and the event is disabled.
    pub(super) const QUICK: u8 = 8;
    /// The same, and it counts in a histogram that has to do with others.
    pub(super) const LINKED: u8 = 9;
    /// The same, and all that this does is to set a variable to the time.
    pub(super) const STAMPING: u8 = 10;
    /// The same as [`Self::QUICK`], and the action sends the hits to an event probe.
    pub(super) const RELAYING: u8 = 11;
    /// The same as [`Self::QUICK`], and the action notes that a pair begins.
    pub(super) const OPENING: u8 = 12;
    /// All actions send the hits to event probes, and there is no filter.
    pub(super) const SENDING: u8 = 13;
    /// Several instances record all hits, and nothing is fetched.
    pub(super) const SEVERAL_BARE: u8 = 14;
    /// Several instances record all hits, and one register is fetched.
    pub(super) const SEVERAL_REGISTER: u8 = 15;
    /// Several instances record all hits, and records have one size, which is short.
    pub(super) const SEVERAL: u8 = 16;
    /// Several instances record all hits, and records have different sizes, because of one string.
    pub(super) const SEVERAL_TEXT: u8 = 17;
    /// Several instances record all hits, and records have different sizes, or are long.
    pub(super) const SEVERAL_SLOW: u8 = 18;
    /// There is a filter. This tier and the next ask the gate of the plan first.
    pub(super) const FILTERED: u8 = 19;
    /// There is one action, which has a filter, and the event is disabled.
    pub(super) const GATED: u8 = 20;
    /// Only the hits of some tasks count.
    pub(super) const OF_TASKS: u8 = 21;
}

/// Words of a probe's record with nothing fetched, and with one register and the bits
/// that tell of faults.
pub(super) const BARE: usize = PROBE_WORDS;
pub(super) const WITH_REGISTER: usize = (record::PROBE_SIZE + 8 + 1).div_ceil(4);
/// The same of a return probe.
pub(super) const RETURN_BARE: usize = BARE + 2;
pub(super) const RETURN_WITH_REGISTER: usize = WITH_REGISTER + 2;
/// The same with a duration besides.
pub(super) const RETURN_WITH_TWO: usize = RETURN_WITH_REGISTER + 2;
