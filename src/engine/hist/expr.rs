// SPDX-License-Identifier: GPL-2.0

//! Expressions of numbers, as a hit computes them.

use super::column::{KeySource, KeyStep};
use super::source::stepped;
use super::value_shape::ValueShape;
use crate::sys::Vec;

/// Numbers that a computation holds at the same time: an expression has at most four operands.
const DEPTH: usize = 4;

/// A step of a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExprStep {
    /// Takes a number of the hit.
    Source(KeySource, KeyStep),
    /// Takes the value of a variable: the reference with this number.
    Ref(u8),
    /// Takes a constant.
    Constant(u64),
    /// Replaces the two numbers that were taken last by their sum.
    Add,
    /// By their difference.
    Subtract,
    /// By their product.
    Multiply,
    /// By their quotient; all ones if the divisor is zero, as in the kernel.
    Divide,
    /// Replaces the two signed numbers that were taken last by their quotient, rounded towards zero; by
    /// -1 if the divisor is zero, as in the kernel.
    DivideSigned,
    /// Changes the sign of the last number.
    Negate,
}

/// An expression.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HistExpr {
    /// What it is, as it is listed.
    pub text: Vec<u8>,
    /// How it is computed: operands first.
    pub(super) steps: Vec<ExprStep>,
    /// What it results in.
    pub(super) shape: ValueShape,
}

impl HistExpr {
    /// Returns whether it needs the time.
    pub(super) fn has_time(&self) -> bool {
        let is_time = |step: &ExprStep| matches!(step, ExprStep::Source(KeySource::Time, _));
        self.steps.iter().any(is_time)
    }

    /// Returns its value, if it is a constant.
    pub(super) fn constant(&self) -> Option<u64> {
        match *self.steps {
            [ExprStep::Constant(value)] => Some(value),
            _ => None,
        }
    }

    /// Returns whether it needs the variable of another histogram.
    pub(super) fn has_refs(&self) -> bool {
        let is_ref = |step: &ExprStep| matches!(step, ExprStep::Ref(_));
        self.steps.iter().any(is_ref)
    }

    /// Returns whether it is a field in buckets or its logarithm.
    pub(super) fn is_stepped(&self) -> bool {
        matches!(&*self.steps, [ExprStep::Source(_, step)] if *step != KeyStep::None)
    }

    /// Computes it for a hit whose numbers `number` returns; `refs` are the values of the variables
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

/// Returns what `operator` makes of two numbers.
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

/// Returns the quotient of two numbers with a sign; -1 if the divisor is zero.
fn quotient(left: u64, right: u64) -> u64 {
    // CAST: The bits stay.
    match (left as i64, right as i64) {
        (_, 0) => u64::MAX,
        // Of the least number it is the same number.
        (_, -1) => left.wrapping_neg(),
        // CAST: The bits stay.
        (left, right) => left.checked_div(right).unwrap_or(0) as u64,
    }
}
