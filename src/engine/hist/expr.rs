// SPDX-License-Identifier: GPL-2.0

//! Arithmetic expressions, as a hit evaluates them.

use super::column::{KeySource, KeyStep};
use super::source::stepped;
use super::value_shape::ValueShape;
use crate::sys::Vec;

/// Depth of the evaluation stack: an expression has at most four operands.
const DEPTH: usize = 4;

/// A step of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExprStep {
    /// Pushes a number of the hit.
    Source(KeySource, KeyStep),
    /// Pushes the value of the variable that reference `n` names.
    Ref(u8),
    /// Pushes a constant.
    Constant(u64),
    /// Replaces the two topmost numbers by their sum.
    Add,
    /// Replaces them by their difference.
    Subtract,
    /// Replaces them by their product.
    Multiply,
    /// Replaces them by their quotient; by all ones if the divisor is zero, as in the kernel.
    Divide,
    /// Replaces the two topmost numbers by their signed quotient, rounded towards zero; by -1 if
    /// the divisor is zero, as in the kernel.
    DivideSigned,
    /// Negates the topmost number.
    Negate,
}

/// An expression.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HistExpr {
    /// The text, as listed.
    pub text: Vec<u8>,
    /// The steps, operands first.
    pub(super) steps: Vec<ExprStep>,
    /// The type of the result, as far as it is known.
    pub(super) shape: ValueShape,
}

impl HistExpr {
    /// Returns whether it uses the time.
    pub(super) fn has_time(&self) -> bool {
        let is_time = |step: &ExprStep| matches!(step, ExprStep::Source(KeySource::Time, _));
        self.steps.iter().any(is_time)
    }

    /// Returns the value of a constant expression.
    pub(super) fn constant(&self) -> Option<u64> {
        match *self.steps {
            [ExprStep::Constant(value)] => Some(value),
            _ => None,
        }
    }

    /// Returns whether it uses a variable of another histogram.
    pub(super) fn has_refs(&self) -> bool {
        let is_ref = |step: &ExprStep| matches!(step, ExprStep::Ref(_));
        self.steps.iter().any(is_ref)
    }

    /// Returns whether the expression is a field with a `log2` or `buckets` modifier.
    pub(super) fn is_stepped(&self) -> bool {
        matches!(&*self.steps, [ExprStep::Source(_, step)] if *step != KeyStep::None)
    }

    /// Evaluates it. `number` returns numbers of the hit; `refs` are the values of the variables
    /// that the histogram refers to.
    ///
    /// Context: any.
    #[inline(always)]
    pub(super) fn evaluate(&self, number: impl Fn(KeySource) -> u64, refs: &[u64]) -> u64 {
        let operand = |step| match step {
            ExprStep::Source(source, step) => stepped(step, number(source)),
            ExprStep::Ref(number) => refs.get(usize::from(number)).copied().unwrap_or(0),
            ExprStep::Constant(value) => value,
            _ => 0,
        };
        match *self.steps {
            [step] => return operand(step),
            [left, right, operator] => return result(operator, operand(left), operand(right)),
            _ => {}
        }
        let mut held = [0u64; DEPTH];
        let mut last = 0u64;
        let mut depth = 0usize;
        for &step in &self.steps {
            match step {
                ExprStep::Source(..) | ExprStep::Ref(_) | ExprStep::Constant(_) => {
                    if let Some(slot) = held.get_mut(depth) {
                        *slot = last;
                    }
                    depth = depth.wrapping_add(1);
                    last = operand(step);
                }
                ExprStep::Negate => last = last.wrapping_neg(),
                operator => {
                    depth = depth.wrapping_sub(1);
                    let left = held.get(depth).copied().unwrap_or(0);
                    last = result(operator, left, last);
                }
            }
        }
        last
    }
}

/// Applies `operator` to two numbers.
#[inline(always)]
pub(super) fn result(operator: ExprStep, left: u64, right: u64) -> u64 {
    match operator {
        ExprStep::Add => left.wrapping_add(right),
        ExprStep::Subtract => left.wrapping_sub(right),
        ExprStep::Multiply => left.wrapping_mul(right),
        ExprStep::Divide => left.checked_div(right).unwrap_or(u64::MAX),
        ExprStep::DivideSigned => quotient(left, right),
        _ => 0,
    }
}

/// Returns the signed quotient; -1 if the divisor is zero.
fn quotient(left: u64, right: u64) -> u64 {
    // CAST: The bits stay.
    match (left as i64, right as i64) {
        (_, 0) => u64::MAX,
        // `i64::MIN` is its own negation.
        (_, -1) => left.wrapping_neg(),
        // CAST: The bits stay.
        (left, right) => left.checked_div(right).unwrap_or(0) as u64,
    }
}
