// SPDX-License-Identifier: GPL-2.0

//! The hits that set variables in few instructions.

use super::column::{KeySource, KeyStep};
use super::expr::{result, ExprStep, HistExpr};
use super::fast::{AtHand, LinkedFast};
use super::inter::InterEvent;
use super::source::stepped;
use super::spec::Spec;
use super::update::Histogram;
use super::variable::{VarSource, VarTable};
use crate::sys::AtomicU64;

/// Most references, and most variables.
const MOST: usize = 4;

impl Spec {
    /// Returns what [`Histogram::update_linked_fast`] can do on a hit. The key must be one number
    /// that is no expression; for [`LinkedFast::Sets`], nothing is summed up, there are few
    /// variables of at most two operands, and no actions.
    pub(super) fn linked_fast(&self) -> LinkedFast {
        let Some(inter) = &self.inter else {
            return LinkedFast::Never;
        };
        let is_plain = |source: KeySource| {
            source.is_number() && source != KeySource::Time && inter.computed.is_empty()
        };
        let has_key = matches!(&*self.keys, [key] if is_plain(key.source)) && !self.keeps_comm();
        if !has_key || inter.refs.0.len() > MOST {
            return LinkedFast::Never;
        }
        let mut variables = inter.variables.iter();
        let sets = self.values.is_empty()
            && inter.actions.is_empty()
            && inter.variables.len() <= MOST
            && variables.all(|variable| match &variable.source {
                VarSource::Computed(expression) => matches!(expression.steps.len(), 1 | 3),
                _ => false,
            });
        match sets {
            true => LinkedFast::Sets,
            false if inter.refs.0.is_empty() => LinkedFast::Never,
            false => LinkedFast::Rejects,
        }
    }
}

impl Histogram {
    /// Counts a hit as [`Histogram::update_linked`] does, if this takes few instructions: all
    /// numbers are at hand, and the entry has been made; or a variable of another one is not set,
    /// and nothing is to be done. `time` returns the time, if that takes few instructions. Returns
    /// false otherwise; then nothing has happened.
    ///
    /// Context: as for [`Histogram::update_linked`].
    #[inline(always)]
    pub fn update_linked_fast<H: AtHand>(&self, hit: &H, time: impl Fn() -> Option<u64>) -> bool {
        let fast = self.linked_fast();
        if self.is_paused() || fast == LinkedFast::Never {
            return false;
        }
        let (Some(inter), Some(own)) = (self.spec().inter.as_deref(), self.var_table()) else {
            return false;
        };
        serve((inter, own, fast), self.spec(), (hit, &time)).is_some()
    }
}

/// Serves a hit; returns `None` if that takes more.
#[inline(always)]
fn serve<H: AtHand>(
    (inter, own, fast): (&InterEvent, &VarTable, LinkedFast),
    spec: &Spec,
    (hit, time): (&H, &impl Fn() -> Option<u64>),
) -> Option<()> {
    let key = spec.keys.first()?;
    let key = stepped(key.step, hit.number(key.source)?);
    let mut refs = [0u64; MOST];
    for (value, reference) in refs.iter_mut().zip(&inter.refs.0) {
        let Some(owner) = &reference.owner else {
            continue;
        };
        if !owner.table.shape().is_word() {
            return None;
        }
        match other(owner, key, reference.at) {
            Some((flag, word)) if flag.load_acquire() != 0 => *value = word.load_relaxed(),
            // Without a variable the hit does nothing.
            _ => return Some(()),
        }
    }
    if fast == LinkedFast::Rejects {
        return None;
    }
    let entry = own.table.find_of_word(key)?;
    let mut values = [0u64; MOST];
    for (value, variable) in values.iter_mut().zip(&inter.variables) {
        let VarSource::Computed(expression) = &variable.source else {
            return None;
        };
        *value = at_hand(expression, (hit, time), &refs)?;
    }
    for reference in &inter.refs.0 {
        if reference.once {
            let (flag, _) = other(reference.owner.as_deref()?, key, reference.at)?;
            flag.store_relaxed(0);
        }
    }
    entry.bucket.begin();
    for (value, variable) in values.into_iter().zip(&inter.variables) {
        if let Some([flag, word, ..]) = entry.vars.get(variable.at..) {
            word.store_relaxed(value);
            flag.store_release(1);
        }
    }
    Some(())
}

/// Returns flag and value of a variable of another histogram.
#[inline(always)]
fn other(owner: &VarTable, key: u64, at: usize) -> Option<(&AtomicU64, &AtomicU64)> {
    match owner.table.find_of_word(key)?.vars.get(at..)? {
        [flag, word, ..] => Some((flag, word)),
        _ => None,
    }
}

/// Computes an expression of one operand, or of two and their operator.
#[inline(always)]
fn at_hand<H: AtHand>(
    expression: &HistExpr,
    (hit, time): (&H, impl Fn() -> Option<u64>),
    refs: &[u64],
) -> Option<u64> {
    let (mut left, mut last) = (0, 0);
    for step in &expression.steps {
        let operand = match *step {
            ExprStep::Source(KeySource::Time, _) => time()?,
            ExprStep::Source(source, KeyStep::None) => hit.number(source)?,
            ExprStep::Ref(number) => refs.get(usize::from(number)).copied()?,
            ExprStep::Constant(value) => value,
            ExprStep::Source(..) => return None,
            operator => {
                last = result(operator, left, last);
                continue;
            }
        };
        (left, last) = (last, operand);
    }
    Some(last)
}
