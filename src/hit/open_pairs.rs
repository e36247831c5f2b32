// SPDX-License-Identifier: GPL-2.0

//! [`OpenPairs`]: what events leave for those that end a pair with them.
//!
//! Context: any, with preemption disabled, as for all of [`Recorder`](super::recorder::Recorder),
//! but for what says otherwise.

use crate::{
    engine::{
        definition::task::COMM,
        pairs::{self, Beginnings, PairCounts, PairKeys, MAX_PAIR_WORDS, PAIR_TEXT_WORDS},
        program::{
            exec,
            fetch::{BegunField, PairKey, Program},
        },
    },
    hit::{
        sample::{Sample, SentHit},
        sinks::HitSink,
    },
    kapi::{
        clock,
        context::{self, OnCpu},
        percpu::PerCpu,
        stack_room,
    },
    sys::Vec,
};
use core::sync::atomic::{AtomicBool, Ordering};
use kernel::{prelude::*, sync::Arc};

/// Number of words that suffices for most beginnings.
pub(super) const FEW_WORDS: usize = 4;

/// The pairs of an event that have begun.
pub(crate) struct OpenPairs {
    is_armed: AtomicBool,
    /// Whether a beginning has no key but `common_pid`, and leaves nothing but its time.
    is_simple: bool,
    keys: SideKeys,
    /// The fields that a beginning leaves for the end.
    begun: Vec<BegunField>,
    /// How many words these fields have.
    pub(super) size: LeftSize,
    beginnings: Beginnings,
}

/// How much a beginning leaves besides its time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftSize {
    /// Nothing.
    Nothing,
    /// [Few words](FEW_WORDS), and no text.
    Few,
    /// Anything.
    Any,
}

impl OpenPairs {
    /// Makes room for `room` pairs whose first event has `keys` and leaves `begun`; they are not
    /// armed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(
        keys: Vec<PairKey>,
        begun: Vec<BegunField>,
        room: usize,
    ) -> Result<Arc<Self>> {
        let words = begun.iter().map(BegunField::words);
        let words = words.fold(0, usize::saturating_add);
        let size = match words {
            0 => LeftSize::Nothing,
            ..=FEW_WORDS if begun.iter().all(|field| !field.is_text) => LeftSize::Few,
            _ => LeftSize::Any,
        };
        let keys = SideKeys::new(keys);
        let counts = PerCpu::new(|_| Ok(pairs::no_counts()))?;
        let beginnings = Beginnings::new(room, words, counts)?;
        let open = init!(Self {
            is_armed: AtomicBool::new(false),
            is_simple: keys.is_pid && size == LeftSize::Nothing,
            keys,
            begun,
            size,
            beginnings,
        });
        Arc::init(open, GFP_KERNEL)
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

    /// Arms or disarms the beginnings.
    pub(super) fn set_armed(&self, armed: bool) {
        self.is_armed.store(armed, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(super) fn is_armed(&self) -> bool {
        self.is_armed.load(Ordering::Relaxed)
    }

    /// Notes that a hit begins a pair; `program` fetches the arguments of the hit.
    #[inline(always)]
    pub(super) fn begin(&self, program: &Program, sample: &Sample<'_>, here: &OnCpu) {
        match self.is_simple {
            true => self.note([pid(), 0], &[], here),
            false => self.begin_any(program, sample, here),
        }
    }

    #[inline(never)]
    fn begin_any(&self, program: &Program, sample: &Sample<'_>, here: &OnCpu) {
        if !stack_room::suffices() {
            return self.beginnings.lose(here);
        }
        match self.size {
            LeftSize::Nothing => self.note(self.keys.of(program, sample, here), &[], here),
            LeftSize::Few => self.begin_with::<FEW_WORDS>(program, sample, here),
            LeftSize::Any => self.begin_with_many(program, sample, here),
        }
    }

    #[inline(never)]
    fn begin_with_many(&self, program: &Program, sample: &Sample<'_>, here: &OnCpu) {
        self.begin_with::<MAX_PAIR_WORDS>(program, sample, here);
    }

    /// Notes a beginning that leaves at most `N` words; no text if these are few.
    #[inline(always)]
    fn begin_with<const N: usize>(&self, program: &Program, sample: &Sample<'_>, here: &OnCpu) {
        let key = self.keys.of(program, sample, here);
        let mut left = [0u64; N];
        let mut count = 0;
        for field in &self.begun {
            let start = usize::from(field.start);
            count = start.wrapping_add(field.words());
            if N > FEW_WORDS && field.is_text {
                let to = left.get_mut(start..).unwrap_or_default();
                leave_text(field, (program, sample), to);
            } else if let Some(word) = left.get_mut(start) {
                *word = exec::field_value(program, field.index, field.shape, sample);
            }
        }
        self.note(key, left.get(..count).unwrap_or_default(), here);
    }

    #[inline(always)]
    fn note(&self, key: PairKeys, left: &[u64], here: &OnCpu) {
        self.beginnings.begin(key, clock::now(here), left, here);
    }
}

impl HitSink for Arc<OpenPairs> {
    fn receive_hit(&self, hit: &SentHit<'_>, here: &OnCpu) {
        if self.is_armed() {
            self.begin(hit.program, hit.sample, here);
        }
    }
}

/// The keys of one of the two events of a pair.
pub(super) struct SideKeys {
    all: Vec<PairKey>,
    /// Whether it is `common_pid`, and nothing else.
    pub(super) is_pid: bool,
}

impl SideKeys {
    pub(super) fn new(all: Vec<PairKey>) -> Self {
        let is_pid = matches!(&*all, [PairKey::Pid]);
        Self { all, is_pid }
    }

    /// Fetches the keys from a hit, and returns their words.
    #[inline(always)]
    pub(super) fn of(&self, program: &Program, sample: &Sample<'_>, here: &OnCpu) -> PairKeys {
        let word = |key: &PairKey| match *key {
            PairKey::Pid => pid(),
            PairKey::Cpu => u64::from(here.number()),
            PairKey::Field(index, shape) => exec::field_value(program, index, shape, sample),
        };
        match &*self.all {
            [key] => [word(key), 0],
            [first, second] => [word(first), word(second)],
            _ => [0, 0],
        }
    }
}

/// Returns the pid of the current task, as the key `common_pid`.
#[inline(always)]
pub(super) fn pid() -> u64 {
    // CAST: Extends the sign.
    i64::from(context::current().pid()) as u64
}

/// Writes the text `field` of a hit, as much of it as there is room for.
#[inline(never)]
fn leave_text(field: &BegunField, (program, sample): (&Program, &Sample<'_>), to: &mut [u64]) {
    let mut text = [0; PAIR_TEXT_WORDS * 8];
    if field.index == COMM {
        for (to, from) in text.iter_mut().zip(context::current().comm()) {
            *to = from;
        }
    } else if !exec::copy_text(program, field.index, sample, &mut text) {
        text = *FAULT;
    }
    for (word, bytes) in to.iter_mut().zip(text.chunks(8)) {
        if let Some(bytes) = bytes.first_chunk() {
            *word = u64::from_ne_bytes(*bytes);
        }
    }
}

/// The value of a text that cannot be read.
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
