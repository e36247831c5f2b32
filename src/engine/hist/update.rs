// SPDX-License-Identifier: GPL-2.0

//! Counts a hit.

use super::column::{
    ArrayElement, Key, KeySource, CUT, HIGH_BIT, HIGH_BIT_OF_BYTE, KEPT_FRAMES, MAX_KEY_WORDS,
    MAX_VALUES, STACK_DEPTH, TEXT_ROOM, TEXT_SIZE,
};
use super::entry::BucketEntry;
use super::fast::{AtHand, UpdateBy};
use super::source::{comm_words, extend, stepped, Values};
use super::spec::Spec;
use super::table::HistTable;
use super::table::SharedTable;
use super::variable::VarTable;
use super::word::HistWord;
use crate::engine::record::COMM_LEN;
use crate::engine::util::text::up_to_nul;
use crate::sys::{AllocError, Arc, AtomicU32, OnCpu, PerCpu, PublishedWord};
use core::sync::atomic::{AtomicU64, Ordering};

/// The key of an unreadable string.
pub(super) const FAULT: &[u8] = b"(fault)";

/// Bit of `stopped`: paused, by a user or by a hit.
const PAUSED: u32 = 1;

/// Bit of `stopped`: being cleared.
const CLEARED: u32 = 2;

/// A histogram and its tables.
pub struct Histogram {
    spec: Spec,
    number: u64,
    tables: PerCpu<HistTable>,
    /// The shared table, for hits that find no room in the table of their CPU.
    shared: Option<SharedTable>,
    by: UpdateBy,
    /// Why hits are not counted: bits [`PAUSED`] and [`CLEARED`].
    stopped: AtomicU32,
    in_usecs: bool,
    /// The only table of an inter-event histogram.
    var_table: Option<Arc<VarTable>>,
    since: AtomicU64,
}

/// The number of the latest histogram.
static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);

impl Histogram {
    /// Makes a histogram that counts in the empty tables `tables` and `shared`, which
    /// [`Spec::own_table`] and [`Spec::shared_table`] made for `spec`.
    pub fn new(
        spec: Spec,
        (tables, shared): (PerCpu<HistTable>, Option<SharedTable>),
        is_paused: bool,
    ) -> Self {
        Self {
            by: UpdateBy::of(&spec),
            in_usecs: spec.is_in_usecs(),
            spec,
            number: LAST_NUMBER.fetch_add(1, Ordering::Relaxed).wrapping_add(1),
            tables,
            shared,
            stopped: AtomicU32::new(if is_paused { PAUSED } else { 0 }),
            var_table: None,
            since: AtomicU64::new(0),
        }
    }

    /// Sets when the histogram begins, in units of the caller. It counts no older hits.
    pub fn begin(&self, since: u64) {
        self.since.store(since, Ordering::Relaxed);
    }

    /// Returns the value that [`Histogram::begin`] set.
    pub fn since(&self) -> u64 {
        self.since.load(Ordering::Relaxed)
    }

    /// Like [`Histogram::new`], for an [inter-event](Spec::is_inter_event) spec:
    /// [`Histogram::update_inter_event`] counts its hits.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    pub fn inter_event(
        spec: Spec,
        (tables, shared): (PerCpu<HistTable>, Option<SharedTable>),
        is_paused: bool,
    ) -> Result<Self, AllocError> {
        let owners = spec.inter.as_ref().map(|inter| inter.refs.owners());
        let (shared, var_table) = match (shared, owners) {
            (Some(table), Some(owners)) => (None, Some(Arc::new(VarTable::new(table, owners?))?)),
            (shared, _) => (shared, None),
        };
        let mut histogram = Self::new(spec, (tables, shared), is_paused);
        histogram.var_table = var_table;
        Ok(histogram)
    }

    /// Returns the table of variables; `None` if it is no inter-event histogram.
    #[inline(always)]
    pub fn var_table(&self) -> Option<&Arc<VarTable>> {
        self.var_table.as_ref()
    }

    #[inline(always)]
    pub(super) fn by(&self) -> &UpdateBy {
        &self.by
    }

    /// Returns whether times are in microseconds.
    #[inline(always)]
    pub fn counts_usecs(&self) -> bool {
        self.in_usecs
    }

    /// Removes all entries of an inter-event histogram in place, as others refer to its variables.
    /// Hits are not counted meanwhile. `wait` returns when no earlier hit uses the entries any
    /// more. Not reentrant.
    ///
    /// Context: process, may sleep.
    pub fn clear_inter_event(&self, wait: impl Fn()) {
        if let Some(var_table) = &self.var_table {
            self.stop(CLEARED, true);
            wait();
            var_table.clear(&wait);
            self.stop(CLEARED, false);
        }
    }

    /// Returns the histogram's unique number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the spec.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    pub(super) fn tables(&self) -> &PerCpu<HistTable> {
        &self.tables
    }

    pub(super) fn shared(&self) -> Option<&SharedTable> {
        let var_table = self.var_table.as_ref().map(|var_table| &var_table.table);
        var_table.or(self.shared.as_ref())
    }

    /// Returns whether it is paused.
    ///
    /// Context: any.
    pub fn is_paused(&self) -> bool {
        self.stopped.load_relaxed() & PAUSED != 0
    }

    /// Returns whether hits are not counted, for any reason.
    #[inline(always)]
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load_relaxed() != 0
    }

    /// Pauses or continues counting. Hits that have begun are not affected.
    ///
    /// Context: any.
    pub fn set_paused(&self, is_paused: bool) {
        self.stop(PAUSED, is_paused);
    }

    /// Sets or clears bit `reason` of `stopped`.
    ///
    /// Each iteration after the first is caused by another writer.
    fn stop(&self, reason: u32, on: bool) {
        let mut found = self.stopped.load_relaxed();
        loop {
            let new = if on { found | reason } else { found & !reason };
            match self.stopped.cmpxchg_full(found, new) {
                Ok(_) => return,
                Err(other) => found = other,
            }
        }
    }

    /// Counts a hit, unless the histogram is paused.
    ///
    /// Context: any, with preemption disabled; it may be interrupted by itself.
    #[inline(always)]
    pub fn update<V: Values>(&self, hit: &V, here: &OnCpu) {
        if self.is_stopped() {
            return;
        }
        let table = self.tables.this_cpu(here);
        let entry = match (&self.by, &*self.spec.keys) {
            (UpdateBy::HitsOfWord | UpdateBy::Word, [key]) => {
                let key = self.number_of(key, hit);
                let own = table.word_entry(key);
                own.or_else(|| self.elsewhere(table, &[key], hit))
            }
            (UpdateBy::HitsOfWords | UpdateBy::Pair, [first, second]) => {
                self.pair(table, (first, second), hit)
            }
            (UpdateBy::HitsOfStack, _) => self.stack(table, hit),
            _ => self.any(table, hit),
        };
        // Without an entry the hit has been counted elsewhere.
        if let Some(entry) = entry {
            self.add(entry, hit);
        }
    }

    /// Counts a hit without room in `table`, its CPU's, in the shared table or as dropped. Returns
    /// `None`.
    #[cold]
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn elsewhere<'a, V: Values>(
        &self,
        table: &'a HistTable,
        key: &[u64],
        hit: &V,
    ) -> Option<BucketEntry<'a, PublishedWord>> {
        let Some(shared) = &self.shared else {
            table.drop_hit();
            return None;
        };
        let entry = match *key {
            [key] if shared.shape().is_word() => shared.word_entry(key),
            _ => shared.entry(key, || comm_words(comm_of(hit))),
        };
        match entry {
            Some(entry) => self.add(entry, hit),
            None => table.drop_hit(),
        }
        None
    }

    #[inline(always)]
    fn add<V: Values>(&self, entry: BucketEntry<'_, impl HistWord>, hit: &V) {
        if self.spec.values.is_empty() {
            entry.begin();
            entry.end();
        } else {
            self.count(entry, hit);
        }
    }

    /// Counts a hit like [`Histogram::update`], if that takes few instructions: the key is one or
    /// two numbers in registers, there are no values, and the entry exists and is found soon.
    /// Returns false, with no effect, otherwise.
    ///
    /// Context: as for [`Histogram::update`].
    #[inline(always)]
    pub fn update_fast<H: AtHand>(&self, hit: &H, here: &OnCpu) -> bool {
        if self.is_stopped() {
            return false;
        }
        let number = |key: &Key| Some(stepped(key.step, hit.number(key.source)?));
        let table = self.tables.this_cpu(here);
        let keys = &*self.spec.keys;
        let entry = match (&self.by, keys) {
            (UpdateBy::HitsOfWord, [key]) => number(key).and_then(|key| table.near_word(key)),
            (UpdateBy::HitsOfWords, [key]) => number(key).and_then(|key| table.near([key])),
            (UpdateBy::HitsOfWords, [first, second]) => match (number(first), number(second)) {
                (Some(first), Some(second)) => table.near([first, second]),
                _ => None,
            },
            _ => None,
        };
        let Some(hits) = entry else { return false };
        hits.increment();
        true
    }

    #[inline(always)]
    fn number_of<V: Values>(&self, key: &Key, hit: &V) -> u64 {
        stepped(key.step, hit.number(key.source, self.in_usecs))
    }

    #[inline(always)]
    fn pair<'a, V: Values>(
        &self,
        table: &'a HistTable,
        (first, second): (&Key, &Key),
        hit: &V,
    ) -> Option<BucketEntry<'a, PublishedWord>> {
        let key = [self.number_of(first, hit), self.number_of(second, hit)];
        let own = table.entry(&key, || comm_words(comm_of(hit)));
        own.or_else(|| self.elsewhere(table, &key, hit))
    }

    /// Counts a hit by its stack like [`Histogram::update`], if that is the only key, there are no
    /// values, and the entry exists and is found soon. `frames` are the first ones of the stack, at
    /// most [`KEPT_FRAMES`] of 8 bytes each; `is_cut` if it has more. Otherwise returns false, with
    /// no effect but on `frames`.
    ///
    /// Context: as for [`Histogram::update`].
    #[inline(always)]
    pub fn update_by_stack(&self, frames: &mut [u8], is_cut: bool, here: &OnCpu) -> bool {
        if self.is_stopped() || self.by != UpdateBy::HitsOfStack {
            return false;
        }
        if let Some(top) = frames.last_mut().filter(|_| is_cut) {
            *top &= !HIGH_BIT_OF_BYTE;
        }
        let Some(hits) = self.tables.this_cpu(here).near_stack(frames) else {
            return false;
        };
        hits.increment();
        true
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn stack<'a, V: Values>(
        &self,
        table: &'a HistTable,
        hit: &V,
    ) -> Option<BucketEntry<'a, PublishedWord>> {
        let mut key = [0; KEPT_FRAMES];
        put_stack(hit, &mut key);
        let own = table.stack_entry(&key);
        own.or_else(|| self.elsewhere(table, &key, hit))
    }

    /// Returns the entry of a key that is not just one or two numbers.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn any<'a, V: Values>(
        &self,
        table: &'a HistTable,
        hit: &V,
    ) -> Option<BucketEntry<'a, PublishedWord>> {
        let mut room = [0u64; MAX_KEY_WORDS];
        let length = self.put_key(hit, &mut room, |key| self.number_of(key, hit));
        let key = room.get(..length).unwrap_or_default();
        let own = match *key {
            // An array of one element.
            [key] if table.shape().is_word() => table.word_entry(key),
            _ => table.entry(key, || comm_words(comm_of(hit))),
        };
        own.or_else(|| self.elsewhere(table, key, hit))
    }

    /// Writes the key of a hit and returns its length. `number` returns numbers of the hit.
    #[inline(always)]
    pub(super) fn put_key<V: Values>(
        &self,
        hit: &V,
        room: &mut [u64; MAX_KEY_WORDS],
        number: impl Fn(&Key) -> u64,
    ) -> usize {
        let mut rest = &mut room[..];
        let mut length = 0usize;
        for key in &self.spec.keys {
            let words = key.words();
            let Some((to, behind)) = rest.split_at_mut_checked(words) else {
                // The invariants of the spec ensure that the keys fit.
                break;
            };
            match key.source {
                KeySource::Array { index, .. } => put_array((index, key.source), hit, to),
                KeySource::Text { index, .. } => put_text(index, hit, to),
                KeySource::Comm => to.copy_from(&comm_words(hit.comm())),
                KeySource::Stack => put_stack(hit, to),
                KeySource::UserStack => put_user_stack(hit, to),
                _ => to.copy_from(&[number(key)]),
            }
            length = length.wrapping_add(words);
            rest = behind;
        }
        length
    }

    /// Adds a hit and its values to `entry`.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn count<V: Values>(&self, entry: BucketEntry<'_, impl HistWord>, hit: &V) {
        // Read all values first: this keeps the time short in which readers see an inconsistent
        // entry.
        let mut numbers = [0u64; MAX_VALUES];
        for (number, value) in numbers.iter_mut().zip(&self.spec.values) {
            *number = hit.number(value.source, self.in_usecs);
        }
        entry.begin();
        for ((n, value), number) in (0..).zip(&self.spec.values).zip(numbers) {
            let (_, signed) = value.source.shape();
            entry.fold(n, value.fold, signed, number);
        }
        entry.end();
    }
}

/// Returns the comm as shown beside a pid: `<idle>` for idle tasks.
pub(super) fn comm_of<V: Values>(hit: &V) -> [u8; COMM_LEN] {
    if hit.number(KeySource::Pid, false) == 0 {
        *b"<idle>\0\0\0\0\0\0\0\0\0\0"
    } else {
        hit.comm()
    }
}

/// Copies words, as many as fit.
trait CopyFrom {
    fn copy_from(self, words: &[u64]);
}

impl CopyFrom for &mut [u64] {
    #[inline(always)]
    fn copy_from(self, words: &[u64]) {
        for (to, word) in self.iter_mut().zip(words) {
            *to = *word;
        }
    }
}

/// Writes a string, its NUL, and zero padding; the last byte of a cut string is [`CUT`].
#[inline(never)]
#[link_section = ".kprobes.text"]
fn put_text<V: Values>(index: u8, hit: &V, to: &mut [u64]) {
    let mut text = [0u8; TEXT_ROOM];
    let length = hit.text(index, &mut text);
    let found = match length {
        Some(length) => text.get(..length.min(TEXT_SIZE - 1)).unwrap_or_default(),
        None => FAULT,
    };
    let found = up_to_nul(found);
    for (word, bytes) in to.iter_mut().zip(found.chunks(8)) {
        let mut whole = [0; 8];
        for (to, byte) in whole.iter_mut().zip(bytes) {
            *to = *byte;
        }
        *word = u64::from_le_bytes(whole);
    }
    let is_cut = length.is_some_and(|length| length > TEXT_SIZE);
    if let Some(last) = to.last_mut().filter(|_| is_cut) {
        *last |= u64::from(CUT) << 56;
    }
}

/// Writes the elements of an array, one word each; of characters up to the NUL, and zero padding.
#[inline(never)]
#[link_section = ".kprobes.text"]
fn put_array<V: Values>((index, source): (u8, KeySource), hit: &V, to: &mut [u64]) {
    let (width, signed) = source.shape();
    let ends = matches!(
        source,
        KeySource::Array {
            of: ArrayElement::Char,
            ..
        }
    );
    let mut is_behind = false;
    for (n, word) in (0u8..=u8::MAX).zip(to) {
        *word = match is_behind {
            true => 0,
            false => extend(hit.element(index, n), width, signed),
        };
        is_behind = ends && *word == 0;
    }
}

#[inline(never)]
#[link_section = ".kprobes.text"]
fn put_stack<V: Values>(hit: &V, to: &mut [u64]) {
    let mut frames = [0; STACK_DEPTH];
    hit.stack(&mut frames);
    // One frame more than is kept.
    let [kept @ .., more] = &frames;
    to.copy_from(kept);
    if let Some(last) = to.last_mut().filter(|_| *more != 0) {
        *last &= !HIGH_BIT;
    }
}

#[inline(never)]
#[link_section = ".kprobes.text"]
fn put_user_stack<V: Values>(hit: &V, to: &mut [u64]) {
    let mut frames = [0; STACK_DEPTH];
    let process = u64::from(hit.user_stack(&mut frames));
    let [kept @ .., more] = &frames;
    if let Some((first, rest)) = to.split_first_mut() {
        *first = process | if *more != 0 { HIGH_BIT } else { 0 };
        rest.copy_from(kept);
    }
}
