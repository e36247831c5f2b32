// SPDX-License-Identifier: GPL-2.0

//! [`Pair`]: an event leaves its time and some of its fields, and another one with the same key is
//! recorded with them.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`](super::recorder::Recorder).

use crate::{
    engine::{
        exec::{self, Memory},
        fetch::{BegunField, PairKey},
        pairs::{self, Beginnings, PairCounts, MAX_PAIR_KEYS, MAX_PAIR_WORDS, PAIR_TEXT_WORDS},
    },
    hit::{
        receiver::{BegunValues, Receiver},
        receives::{Receives, SentHit},
    },
    kapi::{
        context::{self, OnCpu},
        percpu::PerCpu,
    },
    sys::Vec,
};
use kernel::{prelude::*, sync::Arc};

/// A pair of events.
pub(crate) struct Pair {
    receiver: Arc<Receiver>,
    /// The keys of the event that begins it, and of the one that ends it.
    keys: [Vec<PairKey>; 2],
    /// What a beginning leaves.
    begun: Vec<BegunField>,
    beginnings: Beginnings,
}

impl Pair {
    /// Makes a pair whose ends are sent to `receiver`, with room for `room` beginnings.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(
        receiver: Arc<Receiver>,
        keys: [Vec<PairKey>; 2],
        begun: Vec<BegunField>,
        room: usize,
    ) -> Result<Arc<Self>> {
        let words = begun.iter().map(BegunField::words);
        let words = words.fold(0, usize::saturating_add);
        let counts = PerCpu::new(|_| Ok(pairs::no_counts()))?;
        let count = keys.iter().map(|keys| keys.len()).max().unwrap_or(0);
        let beginnings = Beginnings::new(room, (count, words), counts)?;
        let pair = init!(Self {
            receiver,
            keys,
            begun,
            beginnings,
        });
        Arc::init(pair, GFP_KERNEL)
    }

    /// Returns the beginnings that have not ended, and what became of others.
    pub(crate) fn beginnings(&self) -> &Beginnings {
        &self.beginnings
    }

    /// Returns what became of beginnings and ends.
    pub(crate) fn counts(&self) -> PairCounts {
        self.beginnings.counts()
    }

    /// Returns what a beginning leaves.
    pub(crate) fn begun(&self) -> &[BegunField] {
        &self.begun
    }

    /// Returns the words of `hit` that are `keys`.
    #[inline(always)]
    fn key(keys: &[PairKey], hit: SentHit<'_>, here: &OnCpu) -> [u64; MAX_PAIR_KEYS] {
        let mut words = [0; MAX_PAIR_KEYS];
        for (word, key) in words.iter_mut().zip(keys) {
            *word = match *key {
                PairKey::Field(index, shape) => {
                    exec::field_value(hit.program, index, shape, hit.sample)
                }
                // CAST: Extends the sign.
                PairKey::Pid => i64::from(context::current().pid()) as u64,
                PairKey::Cpu => u64::from(here.number()),
            };
        }
        words
    }

    fn begin(&self, hit: SentHit<'_>, here: &OnCpu) {
        let [keys, _] = &self.keys;
        let words = Self::key(keys, hit, here);
        let Some(key) = words.get(..keys.len()) else {
            return;
        };
        let mut left = [0u64; MAX_PAIR_WORDS];
        let mut count = 0;
        for field in &self.begun {
            let start = usize::from(field.start);
            count = start.wrapping_add(field.words());
            if field.is_text {
                Self::leave_text(field, hit, left.get_mut(start..).unwrap_or_default());
            } else if let Some(word) = left.get_mut(start) {
                *word = exec::field_value(hit.program, field.index, field.shape, hit.sample);
            }
        }
        let left = left.get(..count).unwrap_or_default();
        self.beginnings.begin(key, hit.sample.now(), left, here);
    }

    /// Writes the text `field` of `hit`, as much of it as there is room for.
    #[inline(never)]
    fn leave_text(field: &BegunField, hit: SentHit<'_>, to: &mut [u64]) {
        let mut text = [0; PAIR_TEXT_WORDS * 8];
        if !exec::copy_text(hit.program, field.index, hit.sample, &mut text) {
            text = *FAULT;
        }
        for (word, bytes) in to.iter_mut().zip(text.chunks(8)) {
            if let Some(bytes) = bytes.first_chunk() {
                *word = u64::from_ne_bytes(*bytes);
            }
        }
    }

    fn end(&self, hit: SentHit<'_>, here: &OnCpu) {
        let [_, keys] = &self.keys;
        let words = Self::key(keys, hit, here);
        let Some(key) = words.get(..keys.len()) else {
            return;
        };
        let mut left = [0u64; MAX_PAIR_WORDS];
        let Some(began) = self.beginnings.end(key, &mut left, here) else {
            return;
        };
        let begun = BegunValues {
            fields: &self.begun,
            words: &left,
            // The clock may differ between CPUs by some nanoseconds.
            duration: hit.sample.now().saturating_sub(began),
        };
        self.receiver.serve_hit(hit, begun, here);
    }
}

/// What a text is that cannot be read.
const FAULT: &[u8; PAIR_TEXT_WORDS * 8] = &{
    let mut text = [0; PAIR_TEXT_WORDS * 8];
    let mut rest: &[u8] = b"(fault)";
    let mut n = 0;
    while let [byte, behind @ ..] = rest {
        text[n] = *byte;
        n += 1;
        rest = behind;
    }
    text
};

/// What the event that begins a pair sends to.
pub(crate) struct PairBegin(pub(crate) Arc<Pair>);

impl Receives for PairBegin {
    fn receive_hit(&self, hit: SentHit<'_>, here: &OnCpu) {
        if self.0.receiver.is_armed() {
            self.0.begin(hit, here);
        }
    }
}

/// What the event that ends a pair sends to.
pub(crate) struct PairEnd(pub(crate) Arc<Pair>);

impl Receives for PairEnd {
    fn receive_hit(&self, hit: SentHit<'_>, here: &OnCpu) {
        if self.0.receiver.is_armed() {
            self.0.end(hit, here);
        }
    }
}
