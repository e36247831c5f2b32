// SPDX-License-Identifier: GPL-2.0

//! [`Pair`]: an event leaves its time and some of its fields, and another one with the same key is
//! recorded with them.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`](super::recorder::Recorder).

use crate::{
    engine::{
        pairs::{PairKeys, MAX_PAIR_WORDS},
        program::fetch::PairKey,
    },
    hit::{
        caused_event::{CausedEvent, EndFields, Left},
        open_pairs::{self, LeftSize, OpenPairs, SideKeys, FEW_WORDS},
        sample::SentHit,
        sinks::HitSink,
    },
    kapi::{clock, context::OnCpu, stack_room},
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// A pair, which the event that ends it sends its hits to.
pub(crate) struct Pair {
    caused_event: Arc<CausedEvent>,
    open: Arc<OpenPairs>,
    /// The keys of the event that ends it.
    keys: SideKeys,
    /// Whether `common_pid` is the only key, and a beginning leaves nothing but its time.
    is_simple: bool,
}

impl Pair {
    /// Makes a pair whose ends, with `keys`, are sent to `caused_event`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        caused_event: Arc<CausedEvent>,
        open: Arc<OpenPairs>,
        keys: Vec<PairKey>,
    ) -> Result<Arc<Self>> {
        let keys = SideKeys::new(keys);
        let pair = Self {
            is_simple: keys.is_pid && open.size == LeftSize::Nothing,
            caused_event,
            open,
            keys,
        };
        Ok(Arc::new(pair, GFP_KERNEL)?)
    }

    /// Returns the beginnings that have no end yet.
    pub(crate) fn open_pairs(&self) -> &Arc<OpenPairs> {
        &self.open
    }

    #[inline(never)]
    fn end_any(&self, is_ready: bool, hit: &SentHit<'_>, here: &OnCpu) {
        let key = self.keys.of(hit.program, hit.sample, here);
        match self.open.size {
            LeftSize::Nothing | LeftSize::Few => {
                self.end_with::<FEW_WORDS>(key, is_ready, hit, here)
            }
            LeftSize::Any => self.end_with_many(key, hit, here),
        }
    }

    #[inline(never)]
    fn end_with_many(&self, key: PairKeys, hit: &SentHit<'_>, here: &OnCpu) {
        self.end_with::<MAX_PAIR_WORDS>(key, false, hit, here);
    }

    /// Ends a pair whose beginning leaves at most `N` words; `is_ready` says whether the caused
    /// event is [ready](CausedEvent::is_ready).
    #[inline(always)]
    fn end_with<const N: usize>(
        &self,
        key: PairKeys,
        is_ready: bool,
        hit: &SentHit<'_>,
        here: &OnCpu,
    ) {
        let mut words = [0u64; N];
        let Some(began) = self.open.beginnings().end(key, &mut words, here) else {
            return;
        };
        let left = &Left {
            begun: self.open.begun(),
            words: &words,
        };
        let fields = EndFields {
            end: self.caused_event.fields_of(hit),
            left: (N != 0).then_some(left),
            // The clock may differ between CPUs by some nanoseconds.
            duration: clock::now(here).saturating_sub(began),
        };
        let is_recorded = is_ready && self.caused_event.records(&fields, here);
        if !is_recorded {
            self.caused_event.serve_hit(hit, &fields, here);
        }
    }
}

impl HitSink for Arc<Pair> {
    fn receive_hit(&self, hit: &SentHit<'_>, here: &OnCpu) {
        let is_ready = self.caused_event.is_ready();
        if self.is_simple && is_ready {
            self.end_with::<0>([open_pairs::pid(), 0], true, hit, here);
        } else if self.caused_event.is_armed() {
            match stack_room::suffices() {
                true => self.end_any(is_ready, hit, here),
                false => self.caused_event.recorder().count_missed(here),
            }
        }
    }
}
