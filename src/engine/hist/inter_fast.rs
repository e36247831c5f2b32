// SPDX-License-Identifier: GPL-2.0

//! Hits that set variables and emit a synthetic event in few instructions.

use super::column::{KeySource, KeyStep};
use super::expr::{result, ExprStep, HistExpr};
use super::fast::{AtHand, QuickArgs, UpdateBy};
use super::inter::{ActionSort, HistHandler, InterEvent};
use super::inter_update::{Emit, EmittedValues};
use super::source::stepped;
use super::spec::Spec;
use super::update::Histogram;
use super::variable::{take, VarSource, VarTable};
use crate::sys::AtomicU64;

/// Maximum number of variables: this many references to other histograms, which must come first,
/// and this many own ones.
const MOST: usize = 4;

impl Spec {
    /// Returns how [`Histogram::update_inter_event_fast`] counts a hit, or `None` if it cannot. The
    /// key must be one number that is no expression. [`UpdateBy::Sets`] also requires: no values,
    /// at most [`MOST`] variables of at most two operands each, and no action except one that emits
    /// an event whenever the variables are set.
    pub(super) fn quick_update(&self) -> Option<UpdateBy> {
        let inter = self.inter.as_ref()?;
        let is_plain = |source: KeySource| {
            source.is_number() && source != KeySource::Time && inter.computed.is_empty()
        };
        let has_key = matches!(&*self.keys, [key] if is_plain(key.source)) && !self.keeps_comm();
        let mut behind = inter.refs.0.iter().skip(MOST);
        if !has_key || behind.any(|reference| reference.owner.is_some()) {
            return None;
        }
        let mut variables = inter.variables.iter();
        let are_few = self.values.is_empty()
            && inter.variables.len() <= MOST
            && variables.all(|variable| match &variable.source {
                VarSource::Computed(expression) => matches!(expression.steps.len(), 1 | 3),
                _ => false,
            });
        match inter.quick_args() {
            Some(_) if are_few && inter.is_stamp() => Some(UpdateBy::Stamps),
            Some(args) if are_few => Some(UpdateBy::Sets(args)),
            _ if inter.refs.0.iter().all(|it| it.owner.is_none()) => None,
            _ => Some(UpdateBy::Rejects),
        }
    }
}

impl InterEvent {
    /// Returns whether a hit only saves the timestamp, in the variable with the first words.
    fn is_stamp(&self) -> bool {
        let is_time = |expression: &HistExpr| {
            let time = ExprStep::Source(KeySource::Time, KeyStep::None);
            matches!(&*expression.steps, [step] if *step == time)
        };
        let is_stamp = match &*self.variables {
            [variable] if variable.at == 0 => {
                matches!(&variable.source, VarSource::Computed(it) if is_time(it))
            }
            _ => false,
        };
        is_stamp && self.refs.0.is_empty() && self.actions.is_empty()
    }

    /// Returns the arguments of the only action, empty without an action; `None` if actions do
    /// anything other than emit.
    fn quick_args(&self) -> Option<QuickArgs> {
        let action = match &*self.actions {
            [] => return Some(QuickArgs::default()),
            [action] => action,
            _ => return None,
        };
        let emits = matches!(
            (&action.handler, action.sort),
            (HistHandler::Match { .. }, ActionSort::Trace)
        );
        if !emits {
            return None;
        }
        let mut args = QuickArgs {
            count: action.args.len(),
            ..QuickArgs::default()
        };
        for (n, &number) in action.args.iter().enumerate() {
            let reference = self.refs.0.get(usize::from(number))?;
            let from = match &reference.owner {
                Some(_) => usize::from(number),
                None => {
                    let mut variables = self.variables.iter();
                    let own = variables.position(|variable| variable.at == reference.at)?;
                    own.saturating_add(MOST)
                }
            };
            *args.from.get_mut(n)? = u8::try_from(from).ok()?;
        }
        Some(args)
    }
}

impl Histogram {
    /// Returns whether [`Histogram::stamp`] can count hits.
    pub fn is_stamp(&self) -> bool {
        matches!(self.by(), UpdateBy::Stamps)
    }

    /// Counts a hit like [`Histogram::update_inter_event`], for a histogram that only saves a
    /// timestamp. Returns false, with no effect, if a number needs more than registers or the entry
    /// is not in the first slot of its search. `time` returns the time, or `None` if that takes
    /// many instructions.
    ///
    /// Context: as for [`Histogram::update_inter_event`].
    #[inline(always)]
    pub fn stamp<H: AtHand>(&self, hit: &H, time: impl Fn() -> Option<u64>) -> bool {
        if !self.is_stamp() {
            return false;
        }
        let (Some(own), false) = (self.var_table(), self.is_stopped()) else {
            return false;
        };
        let stamp = || {
            let key = self.spec().keys.first()?;
            let key = stepped(key.step, hit.number(key.source)?);
            let (hits, vars) = own.table.first_by_word(key)?;
            let [flag, word, ..] = vars else {
                return None;
            };
            let now = time()?;
            hits.fetch_add_relaxed(1);
            word.store_relaxed(now);
            flag.store_release(1);
            Some(())
        };
        stamp().is_some()
    }

    /// Counts a hit like [`Histogram::update_inter_event`], if that takes few instructions:
    /// registers suffice for all numbers, and the entry exists; or a variable of another histogram
    /// is unset, and the hit has no effect. Returns false, with no effect, otherwise. `time`
    /// returns the time, or `None` if that takes many instructions.
    ///
    /// Context: as for [`Histogram::update_inter_event`].
    #[inline(always)]
    pub fn update_inter_event_fast<H: AtHand, E: Emit>(
        &self,
        hit: &H,
        time: impl Fn() -> Option<u64>,
        emit: &E,
    ) -> bool {
        let by = self.by();
        let is_quick = matches!(by, UpdateBy::Sets(_) | UpdateBy::Stamps | UpdateBy::Rejects);
        if self.is_stopped() || !is_quick {
            return false;
        }
        let (Some(inter), Some(own)) = (self.spec().inter.as_deref(), self.var_table()) else {
            return false;
        };
        serve((inter, own, by), self.spec(), (hit, &time), emit).is_some()
    }
}

/// Counts a hit; returns `None`, with no effect, if that takes more instructions.
#[inline(always)]
fn serve<H: AtHand, E: Emit>(
    (inter, own, by): (&InterEvent, &VarTable, &UpdateBy),
    spec: &Spec,
    (hit, time): (&H, &impl Fn() -> Option<u64>),
    emit: &E,
) -> Option<()> {
    let key = spec.keys.first()?;
    let key = stepped(key.step, hit.number(key.source)?);
    // Values of other histograms' variables, then of the own ones.
    let mut numbers = [0u64; 2 * MOST];
    let mut taken = [None; MOST];
    let count = inter.refs.0.len();
    let mut are_set = true;
    let others = numbers.iter_mut().zip(&mut taken);
    for ((value, used), reference) in others.zip(&inter.refs.0) {
        let Some(owner) = &reference.owner else {
            continue;
        };
        if !owner.table.shape().is_word() {
            return None;
        }
        match other(owner, key, reference.at) {
            Some(variable @ [flag, word]) if flag.load_acquire() != 0 => {
                *value = word.load_relaxed();
                *used = reference.once.then_some(variable);
            }
            // A variable is unset: the hit only consumes those before it.
            _ => {
                are_set = false;
                break;
            }
        }
    }
    if !are_set {
        take_all(&taken, &mut numbers, count);
        return Some(());
    }
    let args = match by {
        UpdateBy::Sets(args) => args,
        UpdateBy::Stamps => &QuickArgs::NONE,
        _ => return None,
    };
    let entry = own.table.find_of_word(key)?;
    let (refs, values) = numbers.split_at_mut(MOST);
    for (value, variable) in values.iter_mut().zip(&inter.variables) {
        let VarSource::Computed(expression) = &variable.source else {
            return None;
        };
        *value = at_hand(expression, (hit, time), refs)?;
    }
    match take_all(&taken, refs, count) {
        TakenVariables::Same => {}
        // Another hit has changed a variable meanwhile.
        TakenVariables::Others => compute_again(inter, values, (hit, time), refs),
        TakenVariables::Lost => return Some(()),
    }
    entry.bucket.begin();
    for (value, variable) in values.iter().zip(&inter.variables) {
        if let Some([flag, word, ..]) = entry.vars.get(variable.at..) {
            word.store_relaxed(*value);
            flag.store_release(1);
        }
    }
    if !inter.actions.is_empty() {
        let of_fields = args.from.get(..args.count).unwrap_or_default();
        emit.emit(0, EmittedValues::new(&numbers, of_fields));
    }
    Some(())
}

/// The outcome of consuming variables whose values have been read.
enum TakenVariables {
    /// The values are still the same.
    Same,
    /// The values have changed.
    Others,
    /// Another hit consumed one first.
    Lost,
}

/// Consumes the first `count` variables, in order, and updates `values`.
#[inline(always)]
fn take_all(
    variables: &[Option<&[AtomicU64; 2]>; MOST],
    values: &mut [u64],
    count: usize,
) -> TakenVariables {
    let mut are_same = true;
    let count = count.min(MOST);
    let variables = variables.get(..count).unwrap_or_default();
    let values = values.get_mut(..count).unwrap_or_default();
    for (used, value) in variables.iter().zip(values) {
        let Some([flag, word]) = used else {
            continue;
        };
        if !take(flag) {
            return TakenVariables::Lost;
        }
        let now = word.load_relaxed();
        are_same &= *value == now;
        *value = now;
    }
    match are_same {
        true => TakenVariables::Same,
        false => TakenVariables::Others,
    }
}

/// Evaluates the own variables again, from the current values of other histograms' variables.
#[cold]
#[inline(never)]
#[link_section = ".kprobes.text"]
fn compute_again<H: AtHand>(
    inter: &InterEvent,
    values: &mut [u64],
    (hit, time): (&H, &impl Fn() -> Option<u64>),
    refs: &[u64],
) {
    for (value, variable) in values.iter_mut().zip(&inter.variables) {
        if let VarSource::Computed(expression) = &variable.source {
            *value = at_hand(expression, (hit, time), refs).unwrap_or(*value);
        }
    }
}

/// Returns flag and value of the variable at `at` in the entry of `key` in another histogram.
#[inline(always)]
fn other(owner: &VarTable, key: u64, at: usize) -> Option<&[AtomicU64; 2]> {
    owner.table.find_of_word(key)?.vars.get(at..)?.first_chunk()
}

/// Evaluates an expression of at most two operands.
#[inline(always)]
fn at_hand<H: AtHand>(
    expression: &HistExpr,
    (hit, time): (&H, impl Fn() -> Option<u64>),
    refs: &[u64],
) -> Option<u64> {
    let number = |step: &ExprStep| match *step {
        ExprStep::Source(KeySource::Time, _) => time(),
        ExprStep::Source(source, KeyStep::None) => hit.number(source),
        ExprStep::Ref(number) => refs.get(usize::from(number)).copied(),
        ExprStep::Constant(value) => Some(value),
        _ => None,
    };
    match &*expression.steps {
        [step] => number(step),
        [left, right, operator] => Some(result(*operator, number(left)?, number(right)?)),
        _ => None,
    }
}
