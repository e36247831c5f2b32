// SPDX-License-Identifier: GPL-2.0

//! Counts a hit of an inter-event histogram: one with variables, references or actions.
//!
//! As in the kernel: first the variables of other histograms are looked up by the hit's key; if one
//! is unset, the hit has no effect. Then the hit is counted, its variables are stored, and the
//! actions run. A variable is a value and a flag; a reader that sees the flag sees that value or a
//! later one.

use super::column::{Key, KeySource, COMM_WORDS, MAX_KEY_WORDS, MAX_VALUES};
use super::entry::BucketEntry;
use super::expr::HistExpr;
use super::fast::UpdateBy;
use super::inter::{ActionSort, HistAction, HistHandler, InterEvent};
use super::source::{comm_words, stepped, Values};
use super::unique::VarEntry;
use super::update::{comm_of, Histogram};
use super::var_store::store;
use super::variable::{take, VarRole, VarSource, VarTable, MAX_REFS};
use crate::sys::AtomicU64;

/// References that fit the stack; most histograms have no more.
const FEW_REFS: usize = 4;

/// The arguments of a synthetic event, one word for each field: a number, the address of a
/// NUL-terminated string, or the address of a stack, which is a number of frames followed by the
/// frames. They are not copied: events may cause each other, and the stack is small.
#[derive(Clone, Copy)]
pub struct EmittedValues<'a> {
    words: &'a [u64],
    /// Maps each field to its word.
    of_fields: &'a [u8],
}

impl<'a> EmittedValues<'a> {
    #[inline(always)]
    pub(super) fn new(words: &'a [u64], of_fields: &'a [u8]) -> Self {
        Self { words, of_fields }
    }

    /// Returns the word of field `field`; 0 if there is none.
    #[inline(always)]
    pub fn get(&self, field: usize) -> u64 {
        let word = self.of_fields.get(field).copied();
        let word = word.and_then(|word| self.words.get(usize::from(word)));
        word.copied().unwrap_or(0)
    }

    /// Iterates over the words of all fields.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        (0..self.of_fields.len()).map(move |field| self.get(field))
    }
}

/// Memory for the values of references and the key, for a hit whose key is not just one or two
/// numbers, or that has more than [`FEW_REFS`] references.
pub type InterEventRoom = [u64; MAX_REFS + MAX_KEY_WORDS];

/// The effects of actions outside of the histogram.
pub trait Emit {
    /// Emits the synthetic event of action `action`.
    ///
    /// Context: any, with preemption disabled. The addresses are valid during the call; other hits
    /// may overwrite the memory meanwhile.
    fn emit(&self, action: usize, values: EmittedValues<'_>);

    /// Calls `work` with memory of arbitrary content, and returns true; false if there is none.
    ///
    /// Context: any, with preemption disabled.
    fn lend(&self, work: impl FnOnce(&mut InterEventRoom)) -> bool;

    /// Takes a snapshot of the buffer.
    ///
    /// Context: any, with preemption disabled.
    fn snapshot(&self);
}

/// A hit, its histogram, and the effects of actions.
#[derive(Clone, Copy)]
struct InterEventHit<'a, V, E> {
    histogram: &'a Histogram,
    inter: &'a InterEvent,
    table: &'a VarTable,
    hit: &'a V,
    emit: &'a E,
}

impl Histogram {
    /// Counts a hit like [`Histogram::update`], for an [inter-event](Histogram::var_table)
    /// histogram, and runs its actions.
    ///
    /// Context: any, with preemption disabled; it may be interrupted by itself.
    #[inline(always)]
    pub fn update_inter_event<V: Values, E: Emit>(&self, hit: &V, emit: &E) {
        let (Some(inter), Some(table)) = (self.spec().inter.as_deref(), self.var_table()) else {
            return;
        };
        if self.is_stopped() {
            return;
        }
        let on = InterEventHit {
            histogram: self,
            inter,
            table,
            hit,
            emit,
        };
        match (self.by(), &*self.spec().keys) {
            (UpdateBy::Any, _) | (_, [] | [_, _, _, ..]) => on.count_any(),
            (_, [key]) => on.with_key(&[on.number_of(key)]),
            (_, [first, second]) => {
                on.with_key(&[on.number_of(first), on.number_of(second)]);
            }
        }
    }
}

impl<V: Values, E: Emit> InterEventHit<'_, V, E> {
    #[inline(always)]
    fn in_usecs(&self) -> bool {
        self.histogram.counts_usecs()
    }

    #[inline(always)]
    fn number_of(&self, key: &Key) -> u64 {
        stepped(key.step, self.number(key.source, &[]))
    }

    /// Returns a number of the hit. Expressions use `refs`, the values of the references.
    #[inline(always)]
    fn number(&self, source: KeySource, refs: &[u64]) -> u64 {
        match source {
            KeySource::Computed { index, .. } => {
                let expression = self.inter.computed.get(usize::from(index));
                expression.map_or(0, |it| self.evaluate(it, refs))
            }
            source => self.number_of_hit(source),
        }
    }

    /// Returns a number of the hit that is no expression. Out of line: a hit needs several.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn number_of_hit(&self, source: KeySource) -> u64 {
        self.hit.number(source, self.in_usecs())
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn evaluate(&self, expression: &HistExpr, refs: &[u64]) -> u64 {
        expression.evaluate(|source| self.number_of_hit(source), refs)
    }

    #[inline(always)]
    fn with_key(&self, key: &[u64]) {
        if self.inter.refs.0.len() <= FEW_REFS {
            self.serve(key);
        } else {
            self.count_any();
        }
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn serve(&self, key: &[u64]) {
        let mut refs = [0u64; FEW_REFS];
        if let Some(entry) = self.entry(key, &mut refs) {
            self.serve_in(entry, &mut refs);
        }
    }

    /// Counts a hit whose key is not just one or two numbers, or that has many references. Key and
    /// references are not on the stack, which is small: actions may cause further events.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn count_any(&self) {
        let is_lent = self.emit.lend(|room| {
            room.fill(0);
            let Some((refs, key)) = room.split_at_mut_checked(MAX_REFS) else {
                return;
            };
            if let Some(entry) = self.entry_of_any_key(key, refs) {
                self.serve_in(entry, refs);
            }
        });
        if !is_lent {
            self.table.table.drop_hit();
        }
    }

    /// Like [`Self::entry`], with `room` for the key.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn entry_of_any_key(&self, room: &mut [u64], refs: &mut [u64]) -> Option<VarEntry<'_>> {
        let room = room.first_chunk_mut::<MAX_KEY_WORDS>()?;
        let length = self
            .histogram
            .put_key(self.hit, room, |key| self.number_of(key));
        self.entry(room.get(..length).unwrap_or_default(), refs)
    }

    /// Reads the variables of other histograms to `refs`, and returns the entry of the key; `None`
    /// if the hit has no further effect.
    #[inline(always)]
    fn entry(&self, key: &[u64], refs: &mut [u64]) -> Option<VarEntry<'_>> {
        if !self.inter.refs.0.is_empty() {
            self.resolve_others(key, refs)?;
        }
        let entry = self.table.table.make_entry(key, || self.comm());
        if entry.is_none() {
            self.table.table.drop_hit();
        }
        entry
    }

    /// Counts the hit in `entry`, and runs the actions.
    #[inline(always)]
    fn serve_in(&self, entry: VarEntry<'_>, refs: &mut [u64]) {
        self.count(entry.bucket, refs);
        for variable in &self.inter.variables {
            if variable.role != VarRole::Saved {
                store(variable, entry.vars, self.hit, || match &variable.source {
                    VarSource::Computed(it) => self.evaluate(it, refs),
                    _ => 0,
                });
            }
        }
        if !self.inter.actions.is_empty() && self.resolve_own(entry, refs).is_some() {
            for (n, action) in self.inter.actions.iter().enumerate() {
                self.act((n, action), entry, refs);
            }
        }
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn comm(&self) -> [u64; COMM_WORDS] {
        comm_words(comm_of(self.hit))
    }

    /// Reads the variables of other histograms; `None` if one is unset.
    #[inline(always)]
    fn resolve_others(&self, key: &[u64], refs: &mut [u64]) -> Option<()> {
        for (value, reference) in refs.iter_mut().zip(&self.inter.refs.0) {
            let Some(owner) = &reference.owner else {
                continue;
            };
            // As in the kernel, the other histogram may have only the first keys.
            let key = key.get(..owner.table.shape().keys)?;
            let entry = owner.table.find_entry(key)?;
            let [flag, word, ..] = entry.vars.get(reference.at..)? else {
                return None;
            };
            let is_set = match reference.once {
                true => take(flag),
                false => flag.load_acquire() != 0,
            };
            if !is_set {
                return None;
            }
            *value = word.load_relaxed();
        }
        Some(())
    }

    /// Reads the own variables; `None` if one is unset.
    #[inline(always)]
    fn resolve_own(&self, entry: VarEntry<'_>, refs: &mut [u64]) -> Option<()> {
        for (value, reference) in refs.iter_mut().zip(&self.inter.refs.0) {
            if reference.owner.is_some() {
                continue;
            }
            let [flag, word, ..] = entry.vars.get(reference.at..)? else {
                return None;
            };
            if flag.load_acquire() == 0 {
                return None;
            }
            *value = word.load_relaxed();
        }
        Some(())
    }

    /// Adds the hit and its values to `entry`.
    #[inline(always)]
    fn count(&self, entry: BucketEntry<'_, AtomicU64>, refs: &[u64]) {
        if self.histogram.spec().values.is_empty() {
            entry.begin();
            entry.end();
        } else {
            self.count_values(entry, refs);
        }
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn count_values(&self, entry: BucketEntry<'_, AtomicU64>, refs: &[u64]) {
        let values = &self.histogram.spec().values;
        // Read all values first: this keeps the time short in which readers see an inconsistent
        // entry.
        let mut numbers = [0u64; MAX_VALUES];
        for (number, value) in numbers.iter_mut().zip(values) {
            *number = self.number(value.source, refs);
        }
        entry.begin();
        for ((n, value), number) in (0..).zip(values).zip(numbers) {
            let (_, signed) = value.source.shape();
            entry.fold(n, value.fold, signed, number);
        }
        entry.end();
    }

    #[inline(always)]
    fn act(&self, (n, action): (usize, &HistAction), entry: VarEntry<'_>, refs: &[u64]) {
        match &action.handler {
            HistHandler::Match { .. } => self.emit_event(n, action, refs),
            handler => self.act_if_new(handler, (n, action), entry, refs),
        }
    }

    /// Runs the action if the tracked variable exceeds its maximum, or has changed.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn act_if_new(
        &self,
        handler: &HistHandler,
        (n, action): (usize, &HistAction),
        entry: VarEntry<'_>,
        refs: &[u64],
    ) {
        let Some(tracked) = handler.tracked() else {
            return;
        };
        let value = refs.get(usize::from(tracked.value)).copied().unwrap_or(0);
        let Some([flag, word, ..]) = entry.vars.get(tracked.at..) else {
            return;
        };
        if !is_new(handler, (flag, 1), word, value) {
            return;
        }
        match action.sort {
            ActionSort::Trace => self.emit_event(n, action, refs),
            ActionSort::Save => self.save(entry),
            ActionSort::Snapshot => {
                // CAST: A slot in memory has at most 64 bits.
                let at = (entry.slot as u64).wrapping_add(1);
                let (taken_at, taken_for) = (&self.table.taken_at, &self.table.taken_for);
                // As in the kernel, a snapshot also requires a new maximum, or change, of the whole
                // histogram.
                if is_new(handler, (taken_at, at), taken_for, value) {
                    self.emit.snapshot();
                }
            }
        }
    }

    /// Saves the fields that `save()` names.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn save(&self, entry: VarEntry<'_>) {
        for variable in &self.inter.variables {
            if variable.role == VarRole::Saved {
                store(variable, entry.vars, self.hit, || match &variable.source {
                    VarSource::Computed(it) => self.evaluate(it, &[]),
                    _ => 0,
                });
            }
        }
    }

    #[inline(always)]
    fn emit_event(&self, n: usize, action: &HistAction, refs: &[u64]) {
        self.emit.emit(n, EmittedValues::new(refs, &action.args));
    }
}

/// If `value` is a new maximum, or a change, for `handler`, stores it in `word`, sets `flag` to
/// `mark`, and returns true.
///
/// As in the kernel, an unsigned variable begins as 0, so that 0 is neither. A signed one begins
/// unset: its first value is always new.
///
/// Each iteration after the first is caused by another writer that stored a value.
#[inline(always)]
fn is_new(
    handler: &HistHandler,
    (flag, mark): (&AtomicU64, u64),
    word: &AtomicU64,
    value: u64,
) -> bool {
    let value = match handler {
        HistHandler::Max(tracked) => tracked.ordered(value),
        _ => value,
    };
    let mut found = word.load_relaxed();
    loop {
        let is_old = match handler {
            HistHandler::Max(_) => value <= found,
            _ => value == found,
        };
        if is_old {
            // The least value is no greater than the initial content of the word.
            let is_least = handler.begins_with_none() && value == 0 && found == 0;
            return is_least && flag.cmpxchg_full(0, mark).is_ok();
        }
        match word.cmpxchg_full(found, value) {
            Ok(_) => break,
            Err(other) => found = other,
        }
    }
    flag.store_relaxed(mark);
    true
}
