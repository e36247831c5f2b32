// SPDX-License-Identifier: GPL-2.0

//! A hit of a histogram that has to do with others.
//!
//! As in the kernel: the variables of others are looked up by the own key first, and if one is
//! not set the hit does nothing. Then the hit is counted, its variables are stored, and the
//! actions act. A variable is stored as value and flag: who sees the flag sees this value or a
//! later one.

use super::column::{Key, KeySource, COMM_WORDS, MAX_KEY_WORDS, MAX_VALUES};
use super::entry::BucketEntry;
use super::expr::HistExpr;
use super::inter::{ActionSort, HistAction, HistHandler, InterEvent, MAX_PARAMS};
use super::source::{comm_words, stepped, Values};
use super::unique::VarEntry;
use super::update::{comm_of, Histogram, UpdateForm};
use super::var_store::store;
use super::variable::{VarRole, VarSource, VarTable, MAX_REFS};
use crate::sys::AtomicU64;

/// References of most histograms.
const FEW_REFS: usize = 4;

/// Parameters of most synthetic events.
const FEW_ARGS: usize = 8;

/// What actions do outside of the histogram.
pub trait Emit {
    /// Emits the synthetic event of action `action`, with a word for each of its fields: a
    /// number, the address of a text that ends with NUL, or the address of the number of frames of
    /// a stack, which the frames follow.
    ///
    /// Context: any, with preemption disabled. The addresses are valid during the call; what is
    /// there may be replaced meanwhile.
    fn emit(&self, action: usize, values: &[u64]);

    /// Takes a snapshot of the buffer.
    ///
    /// Context: any, with preemption disabled.
    fn snapshot(&self);
}

/// What a hit needs of its histogram.
#[derive(Clone, Copy)]
struct LinkedHit<'a, V, E> {
    histogram: &'a Histogram,
    inter: &'a InterEvent,
    table: &'a VarTable,
    hit: &'a V,
    emit: &'a E,
}

impl Histogram {
    /// Counts a hit as [`Histogram::update`] does, of a histogram that
    /// [has to do with others](Histogram::var_table), and does what else the trigger says.
    ///
    /// Context: any, with preemption disabled; it may be interrupted by itself.
    #[inline(always)]
    pub fn update_linked<V: Values, E: Emit>(&self, hit: &V, emit: &E) {
        let (Some(inter), Some(table)) = (self.spec().inter.as_deref(), self.var_table()) else {
            return;
        };
        if self.is_stopped() {
            return;
        }
        let on = LinkedHit {
            histogram: self,
            inter,
            table,
            hit,
            emit,
        };
        match (self.form(), &*self.spec().keys) {
            (UpdateForm::Word, [key]) => on.with_key(&[on.number_of(key)]),
            (UpdateForm::Pair, [first, second]) => {
                on.with_key(&[on.number_of(first), on.number_of(second)]);
            }
            _ => on.with_any_key(),
        }
    }
}

impl<V: Values, E: Emit> LinkedHit<'_, V, E> {
    #[inline(always)]
    fn in_usecs(&self) -> bool {
        self.histogram.counts_usecs()
    }

    #[inline(always)]
    fn number_of(&self, key: &Key) -> u64 {
        stepped(key.step, self.number(key.source, &[]))
    }

    /// Returns a number of the hit; what is an expression needs the values of the `refs`.
    #[inline(always)]
    fn number(&self, source: KeySource, refs: &[u64]) -> u64 {
        match source {
            KeySource::Computed { index, .. } => {
                let expression = self.inter.computed.get(usize::from(index));
                expression.map_or(0, |it| self.evaluate(it, refs))
            }
            source => self.hit.number(source, self.in_usecs()),
        }
    }

    #[inline(always)]
    fn evaluate(&self, expression: &HistExpr, refs: &[u64]) -> u64 {
        expression.evaluate(self.hit, self.in_usecs(), refs)
    }

    /// Serves a hit whose key is not just one number or two.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn with_any_key(&self) {
        let mut room = [0u64; MAX_KEY_WORDS];
        let length = self
            .histogram
            .put_key(self.hit, &mut room, |key| self.number_of(key));
        self.with_key(room.get(..length).unwrap_or_default());
    }

    #[inline(always)]
    fn with_key(&self, key: &[u64]) {
        if self.inter.refs.0.len() <= FEW_REFS {
            self.serve::<FEW_REFS>(key);
        } else {
            self.serve::<MAX_REFS>(key);
        }
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn serve<const REFS: usize>(&self, key: &[u64]) {
        let mut refs = [0u64; REFS];
        if !self.inter.refs.0.is_empty() && self.resolve_others(key, &mut refs).is_none() {
            return;
        }
        let Some(entry) = self.table.table.make_entry(key, || self.comm()) else {
            self.table.table.drop_hit();
            return;
        };
        self.count(entry.bucket, &refs);
        for variable in &self.inter.variables {
            if variable.role != VarRole::Saved {
                store(variable, entry.vars, self.hit, || match &variable.source {
                    VarSource::Computed(it) => self.evaluate(it, &refs),
                    _ => 0,
                });
            }
        }
        if !self.inter.actions.is_empty() && self.resolve_own(entry, &mut refs).is_some() {
            for (n, action) in self.inter.actions.iter().enumerate() {
                self.act((n, action), entry, &refs);
            }
        }
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn comm(&self) -> [u64; COMM_WORDS] {
        comm_words(comm_of(self.hit))
    }

    /// Reads the variables of others; `None` if one is not set.
    #[inline(always)]
    fn resolve_others(&self, key: &[u64], refs: &mut [u64]) -> Option<()> {
        for (value, reference) in refs.iter_mut().zip(&self.inter.refs.0) {
            let Some(owner) = &reference.owner else {
                continue;
            };
            // As in the kernel, the other may have only the first of the keys.
            let key = key.get(..owner.table.shape().keys)?;
            let entry = owner.table.find_entry(key)?;
            let [flag, word, ..] = entry.vars.get(reference.at..)? else {
                return None;
            };
            if flag.load_acquire() == 0 {
                return None;
            }
            *value = word.load_relaxed();
            if reference.once {
                flag.store_relaxed(0);
            }
        }
        Some(())
    }

    /// Reads the own variables; `None` if one is not set.
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

    /// Counts the hit, with its values.
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
        // Read before, so that readers of the entry seldom have to wait.
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

    /// Acts if the variable that the action tracks is greater than before, or has changed.
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
        let Some([_, word, ..]) = entry.vars.get(tracked.at..) else {
            return;
        };
        if !is_new(handler, word, value) {
            return;
        }
        match action.sort {
            ActionSort::Trace => self.emit_event(n, action, refs),
            ActionSort::Save => self.save(entry),
            ActionSort::Snapshot => {
                // As in the kernel, only a value that is new in the whole histogram counts.
                if is_new(handler, &self.table.taken_for, value) {
                    // CAST: A slot in memory has at most 64 bits.
                    let slot = entry.slot as u64;
                    self.table.taken_at.store_relaxed(slot.wrapping_add(1));
                    self.emit.snapshot();
                }
            }
        }
    }

    /// Keeps what `save()` names.
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
        if action.args.len() <= FEW_ARGS {
            self.emit_args::<FEW_ARGS>(n, action, refs);
        } else {
            self.emit_args::<MAX_PARAMS>(n, action, refs);
        }
    }

    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn emit_args<const ARGS: usize>(&self, n: usize, action: &HistAction, refs: &[u64]) {
        let mut values = [0u64; ARGS];
        for (value, &reference) in values.iter_mut().zip(&action.args) {
            *value = refs.get(usize::from(reference)).copied().unwrap_or(0);
        }
        let count = action.args.len();
        self.emit.emit(n, values.get(..count).unwrap_or_default());
    }
}

/// Puts `value` into `word` if that is news for `handler`, and returns whether it is.
///
/// Each turn after the first is due to another writer that put a value in.
#[inline(always)]
fn is_new(handler: &HistHandler, word: &AtomicU64, value: u64) -> bool {
    let mut found = word.load_relaxed();
    loop {
        let is_old = match handler {
            HistHandler::Max(_) => value <= found,
            _ => value == found,
        };
        if is_old {
            return false;
        }
        match word.cmpxchg_full(found, value) {
            Ok(_) => return true,
            Err(other) => found = other,
        }
    }
}
