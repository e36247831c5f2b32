// SPDX-License-Identifier: GPL-2.0

//! [`Pair`]: an event leaves its time and some of its fields, and another one with the same key is
//! recorded with them.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`](super::recorder::Recorder).

use crate::{
    engine::{
        exec,
        fetch::{BegunField, PairKey},
        pairs::{self, Beginnings, PairCounts, PairKeys, MAX_PAIR_WORDS, PAIR_TEXT_WORDS},
    },
    hit::{
        receiver::{EndFields, Left, Receiver},
        receives::{Receives, SentHit},
    },
    kapi::{
        clock,
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
    /// Whether it leaves nothing but its time.
    is_bare: bool,
    /// Whether it leaves [few words](FEW_WORDS), and no text.
    is_small: bool,
    /// Whether the only key is `common_pid`, for each of the two events.
    is_by_pid: [bool; 2],
    beginnings: Beginnings,
}

/// Words that most beginnings leave at most.
const FEW_WORDS: usize = 4;

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
        let beginnings = Beginnings::new(room, words, counts)?;
        let is_small = words <= FEW_WORDS && begun.iter().all(|field| !field.is_text);
        let is_by_pid = keys
            .each_ref()
            .map(|keys| matches!(&**keys, [PairKey::Pid]));
        let pair = init!(Self {
            receiver,
            is_by_pid,
            keys,
            is_bare: words == 0,
            is_small,
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

    /// Returns the words of `hit`, which begins a pair or `ENDS` one, that are its keys.
    #[inline(always)]
    fn key<const ENDS: bool>(&self, hit: &SentHit<'_>, here: &OnCpu) -> PairKeys {
        let [first, second] = &self.keys;
        let [first_by_pid, second_by_pid] = self.is_by_pid;
        let (keys, is_by_pid) = match ENDS {
            false => (first, first_by_pid),
            true => (second, second_by_pid),
        };
        match &**keys {
            _ if is_by_pid => [Self::key_word(&PairKey::Pid, hit, here), 0],
            [key] => [Self::key_word(key, hit, here), 0],
            keys => Self::several_keys(keys, hit, here),
        }
    }

    #[inline(never)]
    fn several_keys(keys: &[PairKey], hit: &SentHit<'_>, here: &OnCpu) -> PairKeys {
        match keys {
            [first, second] => [first, second].map(|key| Self::key_word(key, hit, here)),
            _ => [0, 0],
        }
    }

    #[inline(always)]
    fn key_word(key: &PairKey, hit: &SentHit<'_>, here: &OnCpu) -> u64 {
        match *key {
            // CAST: Extends the sign.
            PairKey::Pid => i64::from(context::current().pid()) as u64,
            PairKey::Cpu => u64::from(here.number()),
            PairKey::Field(index, shape) => {
                exec::field_value(hit.program, index, shape, hit.sample)
            }
        }
    }

    #[inline(always)]
    fn begin(&self, hit: &SentHit<'_>, here: &OnCpu) {
        match self.is_bare {
            true => self.begin_with::<0>(hit, here),
            false => self.begin_with_some(hit, here),
        }
    }

    #[inline(never)]
    fn begin_with_some(&self, hit: &SentHit<'_>, here: &OnCpu) {
        match self.is_small {
            true => self.begin_with::<FEW_WORDS>(hit, here),
            false => self.begin_with_many(hit, here),
        }
    }

    #[inline(never)]
    fn begin_with_many(&self, hit: &SentHit<'_>, here: &OnCpu) {
        self.begin_with::<MAX_PAIR_WORDS>(hit, here);
    }

    /// Returns what a beginning leaves, in at most `N` words.
    #[inline(always)]
    fn begun_in<const N: usize>(&self) -> &[BegunField] {
        match N {
            0 => &[],
            _ => &self.begun,
        }
    }

    /// Notes a beginning that leaves at most `N` words; no text if these are few.
    #[inline(always)]
    fn begin_with<const N: usize>(&self, hit: &SentHit<'_>, here: &OnCpu) {
        let key = self.key::<false>(hit, here);
        let mut left = [0u64; N];
        let mut count = 0;
        for field in self.begun_in::<N>() {
            let start = usize::from(field.start);
            count = start.wrapping_add(field.words());
            if N > FEW_WORDS && field.is_text {
                Self::leave_text(field, hit, left.get_mut(start..).unwrap_or_default());
            } else if let Some(word) = left.get_mut(start) {
                *word = exec::field_value(hit.program, field.index, field.shape, hit.sample);
            }
        }
        let left = left.get(..count).unwrap_or_default();
        self.beginnings.begin(key, clock::now(here), left, here);
    }

    /// Writes the text `field` of `hit`, as much of it as there is room for.
    #[inline(never)]
    fn leave_text(field: &BegunField, hit: &SentHit<'_>, to: &mut [u64]) {
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

    #[inline(always)]
    fn end(&self, hit: &SentHit<'_>, here: &OnCpu) {
        match self.is_bare {
            true => self.end_with::<0>(hit, here),
            false => self.end_with_some(hit, here),
        }
    }

    #[inline(never)]
    fn end_with_some(&self, hit: &SentHit<'_>, here: &OnCpu) {
        match self.is_small {
            true => self.end_with::<FEW_WORDS>(hit, here),
            false => self.end_with_many(hit, here),
        }
    }

    #[inline(never)]
    fn end_with_many(&self, hit: &SentHit<'_>, here: &OnCpu) {
        self.end_with::<MAX_PAIR_WORDS>(hit, here);
    }

    /// Ends a pair whose beginning leaves at most `N` words.
    #[inline(always)]
    fn end_with<const N: usize>(&self, hit: &SentHit<'_>, here: &OnCpu) {
        let key = self.key::<true>(hit, here);
        let mut left = [0u64; N];
        let Some(began) = self.beginnings.end(key, &mut left, here) else {
            return;
        };
        let begun = self.begun_in::<N>();
        let fields = EndFields {
            end: self.receiver.fields_of(hit),
            left: &Left {
                begun,
                words: &left,
            },
            // The clock may differ between CPUs by some nanoseconds.
            duration: clock::now(here).saturating_sub(began),
        };
        match N > FEW_WORDS {
            true => self.receiver.serve_any_hit(hit, &fields, here),
            false => self.receiver.serve_hit(hit, &fields, here),
        }
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
    fn receive_hit(&self, hit: &SentHit<'_>, here: &OnCpu) {
        if self.0.receiver.is_armed() {
            self.0.begin(hit, here);
        }
    }
}

/// What the event that ends a pair sends to.
pub(crate) struct PairEnd(pub(crate) Arc<Pair>);

impl Receives for PairEnd {
    fn receive_hit(&self, hit: &SentHit<'_>, here: &OnCpu) {
        if self.0.receiver.is_armed() {
            self.0.end(hit, here);
        }
    }
}
