// SPDX-License-Identifier: GPL-2.0

//! Parses expressions: fields, variables and constants with `+ - * /`.
//!
//! As in the kernel, the root is the last `+` or `-`, or if there is none the last `*` or `/`. The
//! only parentheses are those of `-(EXPRESSION)`.

use core::fmt::Write;

use super::column::KeySource;
use super::expr::{result, ExprStep, HistExpr};
use super::field::{self, FoundOperand};
use super::find_var::{find_variable, OnEvent};
use super::scope::HistScope;
use super::value_shape::ValueShape;
use super::value_shape::ValueSort;
use super::variable::{VarRefs, VarSource};
use super::write::write_modifier;
use crate::engine::language::lex::{self, Span};
use crate::engine::record::Layout;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::text::{Appender, Plain};
use crate::sys::Vec;

/// Maximum number of operators of an expression, as in the kernel.
const MAX_OPERATORS: u8 = 3;

/// A variable that the trigger defines: `NAME=EXPRESSION`.
#[derive(Clone, Copy)]
pub(super) struct VarDefinition<'a> {
    pub(super) name: Span<'a>,
    pub(super) value: Span<'a>,
}

/// The context in which a trigger's expressions are parsed.
pub(super) struct ExprContext<'p, 'a> {
    pub(super) layout: &'p Layout,
    pub(super) scope: &'p dyn HistScope,
    /// The variables that this trigger defines.
    pub(super) own: &'p [VarDefinition<'a>],
    /// The events that `onmatch()` names.
    pub(super) matched: &'p [OnEvent<'a>],
    /// References to variables of other histograms.
    pub(super) refs: &'p mut VarRefs,
}

/// An expression while it is parsed.
#[derive(Default)]
struct ExprBuilder {
    steps: Vec<ExprStep>,
    text: Vec<u8>,
}

/// A parsed subexpression.
struct ExprTerm {
    shape: ValueShape,
    /// The value of a constant.
    constant: Option<u64>,
    /// The source of a value that is no number: a string or a stack.
    whole: Option<VarSource>,
    /// The reference, if the term is a variable.
    reference: Option<u8>,
}

impl ExprTerm {
    fn number(shape: ValueShape) -> Self {
        Self {
            shape,
            constant: None,
            whole: None,
            reference: None,
        }
    }

    fn is_number(&self) -> bool {
        self.shape.sort == ValueSort::Number
    }
}

/// A parsed value of a hit.
pub(super) struct ParsedValue {
    pub(super) source: VarSource,
    /// The text, as listed.
    pub(super) text: Vec<u8>,
    pub(super) shape: ValueShape,
}

/// Returns whether `text` is more than a field with a modifier.
pub(super) fn is_expression(text: Span<'_>) -> bool {
    let is_constant = text.first().is_some_and(|b| b.is_ascii_digit());
    is_constant || text.find(b'$').is_some() || root(text).is_some()
}

/// Returns offset and step of the root operator.
fn root(text: Span<'_>) -> Option<(usize, ExprStep)> {
    let is_sign = |at: usize| {
        !text.take(at).bytes.ends_with(b".sym") || !text.skip(at).bytes.starts_with(b"-offset")
    };
    let last = |byte: u8| {
        let places = text.bytes.iter().enumerate();
        let mut places = places
            .rev()
            .filter(|&(at, &found)| found == byte && is_sign(at));
        places.next().map(|(at, _)| at)
    };
    let (minus, plus) = (last(b'-'), last(b'+'));
    match (minus, plus) {
        (Some(0), _) => return Some((0, ExprStep::Negate)),
        (Some(minus), plus) if plus.is_none_or(|plus| plus < minus) => {
            return Some((minus, ExprStep::Subtract));
        }
        (_, Some(plus)) => return Some((plus, ExprStep::Add)),
        _ => {}
    }
    let (divide, multiply) = (last(b'/'), last(b'*'));
    if multiply > divide {
        return multiply.map(|at| (at, ExprStep::Multiply));
    }
    divide.map(|at| (at, ExprStep::Divide))
}

impl<'a> ExprContext<'_, 'a> {
    /// Parses the value of a variable, a value, a key or a parameter.
    ///
    /// # Errors
    ///
    /// A refusal.
    pub(super) fn parse(&mut self, text: Span<'a>) -> Result<ParsedValue, Error> {
        let mut out = ExprBuilder::default();
        let term = self.term(text, &mut 0, &mut out)?;
        let shape = term.shape;
        if let Some(source) = term.whole {
            let text = out.text;
            return Ok(ParsedValue {
                source,
                text,
                shape,
            });
        }
        let text = Vec::from_slice(&out.text)?;
        let ExprBuilder { steps, text: own } = out;
        let expression = HistExpr {
            text: own,
            steps,
            shape,
        };
        Ok(ParsedValue {
            source: VarSource::Computed(expression),
            text,
            shape,
        })
    }

    fn term(
        &mut self,
        text: Span<'a>,
        operators: &mut u8,
        out: &mut ExprBuilder,
    ) -> Result<ExprTerm, Error> {
        if *operators > MAX_OPERATORS {
            return Err(text.error(Kind::TooManySubexpr));
        }
        let Some((at, operator)) = root(text) else {
            return self.atom(text, out);
        };
        *operators = operators.saturating_add(1);
        if operator == ExprStep::Negate {
            return self.negated(text, operators, out);
        }
        let (left, right) = text.around(at);
        if left.bytes.is_empty() || right.bytes.is_empty() {
            return Err(text.error(Kind::HistNoOperand));
        }
        let (steps, start) = (out.steps.len(), out.text.len());
        let first = self.operand(left, operators, out)?;
        out.text.push(match operator {
            ExprStep::Add => b'+',
            ExprStep::Subtract => b'-',
            ExprStep::Multiply => b'*',
            _ => b'/',
        })?;
        let second = self.operand(right, operators, out)?;
        let are_constant = first.constant.is_some() || second.constant.is_some();
        if !are_constant && first.shape.in_usecs != second.shape.in_usecs {
            return Err(text.error(Kind::TimestampMismatch));
        }
        if operator == ExprStep::Divide && second.constant == Some(0) {
            return Err(right.error(Kind::DivisionByZero));
        }
        for reference in [first.reference, second.reference].into_iter().flatten() {
            if let Some(reference) = self.refs.0.get_mut(usize::from(reference)) {
                reference.once = true;
            }
        }
        let in_usecs = first.shape.in_usecs || second.shape.in_usecs;
        let mut term = ExprTerm::number(ValueShape {
            in_usecs,
            ..first.shape
        });
        match (first.constant, second.constant) {
            (Some(left), Some(right)) => {
                let value = result(operator, left, right);
                out.steps.truncate(steps);
                out.text.truncate(start);
                out.steps.push(ExprStep::Constant(value))?;
                out.write(format_args!("{value}"))?;
                term.constant = Some(value);
            }
            _ if operator == ExprStep::Divide && term.shape.signed => {
                out.steps.push(ExprStep::DivideSigned)?;
            }
            _ => out.steps.push(operator)?,
        }
        Ok(term)
    }

    /// Parses an operand and requires that it is a number.
    fn operand(
        &mut self,
        text: Span<'a>,
        operators: &mut u8,
        out: &mut ExprBuilder,
    ) -> Result<ExprTerm, Error> {
        let term = self.term(text, operators, out)?;
        match term.is_number() {
            true => Ok(term),
            false => Err(text.error(Kind::InvalidStrOperand)),
        }
    }

    /// Parses `-(EXPRESSION)`.
    fn negated(
        &mut self,
        text: Span<'a>,
        operators: &mut u8,
        out: &mut ExprBuilder,
    ) -> Result<ExprTerm, Error> {
        if *operators > MAX_OPERATORS {
            return Err(text.error(Kind::TooManySubexpr));
        }
        let Some(inner) = text.strip(b"-(") else {
            return Err(text.error(Kind::HistNoOperand));
        };
        let Some(close) = inner.rfind(b')') else {
            return Err(inner.error(Kind::NoClosingParen));
        };
        let (inner, behind) = inner.around(close);
        if !behind.bytes.is_empty() {
            return Err(inner.error(Kind::UnaryMinusSubexpr));
        }
        out.text.extend_from_slice(b"-(")?;
        let term = self.operand(inner, operators, out)?;
        out.text.push(b')')?;
        out.steps.push(ExprStep::Negate)?;
        Ok(ExprTerm::number(term.shape))
    }

    /// If `text` is a variable of this trigger that merely names a field or a constant, returns
    /// that.
    pub(super) fn field_of(&self, text: Span<'a>) -> Option<Span<'a>> {
        let (event, name) = qualified(text);
        let variable = name.strip(b"$").filter(|name| !name.bytes.is_empty())?;
        let own = OnEvent::named(self.scope.own());
        if event.is_some_and(|event| !event.is_same(&own)) {
            return None;
        }
        let mut all = self.own.iter();
        let plain = all.find(|it| {
            *it.name.bytes == *variable.bytes
                && it.value.find(b'$').is_none()
                && root(it.value).is_none()
        })?;
        Some(plain.value)
    }

    /// Parses a constant, a variable or a field.
    fn atom(&mut self, text: Span<'a>, out: &mut ExprBuilder) -> Result<ExprTerm, Error> {
        if text.first().is_some_and(|b| b.is_ascii_digit()) {
            let value = lex::unsigned(text.bytes).ok_or(text.error(Kind::ExpectNumber))?;
            out.steps.push(ExprStep::Constant(value))?;
            out.write(format_args!("{value}"))?;
            let mut term = ExprTerm::number(ValueShape::WORD);
            term.constant = Some(value);
            return Ok(term);
        }
        let (event, name) = qualified(text);
        let Some(variable) = name.strip(b"$").filter(|name| !name.bytes.is_empty()) else {
            return self.field(text, event, name, out);
        };
        if let Some(field) = self.field_of(text) {
            return self.atom(field, out);
        }
        let own = OnEvent::named(self.scope.own());
        // The event may already have a variable of this name, set by the same trigger. That
        // variable must not stand for itself.
        let mut all = self.own.iter();
        let except = all
            .any(|it| *it.name.bytes == *variable.bytes)
            .then_some(own);
        let reference = find_variable(self.scope, event, (self.matched, except), variable)?;
        let (shape, constant) = (reference.shape, reference.constant);
        let number = self.refs.add(reference)?;
        let number = number.ok_or(text.error(Kind::HistTooManyRefs))?;
        out.steps.push(ExprStep::Ref(number))?;
        out.text.extend_from_slice(text.bytes)?;
        let mut term = ExprTerm::number(shape);
        (term.reference, term.constant) = (Some(number), constant);
        Ok(term)
    }

    /// Parses a field of the event, which `event` may name.
    fn field(
        &mut self,
        text: Span<'a>,
        event: Option<OnEvent<'a>>,
        name: Span<'a>,
        out: &mut ExprBuilder,
    ) -> Result<ExprTerm, Error> {
        let own = OnEvent::named(self.scope.own());
        let is_own = event.is_some_and(|event| event.is_same(&own));
        if event.is_some() && !is_own {
            let refusal = text.error(Kind::HistFieldNotFound);
            return Err(refusal.with_detail(format_args!(
                "it is of another event: keep it in a variable of a histogram there"
            )));
        }
        let found = field::operand(if is_own { name } else { text }, self.layout)?;
        let FoundOperand {
            name,
            source,
            modifier,
        } = found;
        out.text.extend_from_slice(name)?;
        write_modifier(&mut Appender(&mut out.text), modifier)
            .map_err(|_| crate::sys::AllocError)?;
        let shape = field::shape(source, modifier);
        let mut term = ExprTerm::number(shape);
        term.whole = match source {
            KeySource::Text { index, .. } => Some(VarSource::Text(index)),
            KeySource::Stack => Some(VarSource::Stack),
            KeySource::Comm => Some(VarSource::Comm),
            KeySource::Pid if shape.sort == ValueSort::Text => Some(VarSource::Comm),
            _ => None,
        };
        if term.whole.is_none() {
            out.steps.push(ExprStep::Source(source, modifier.step()))?;
        }
        Ok(term)
    }
}

/// Splits `GROUP.EVENT.NAME`.
pub(super) fn qualified(text: Span<'_>) -> (Option<OnEvent<'_>>, Span<'_>) {
    let whole = (None, text);
    let Some(dot) = text.find(b'.') else {
        return whole;
    };
    let (group, rest) = text.around(dot);
    let Some(dot) = rest.find(b'.') else {
        return whole;
    };
    let (event, name) = rest.around(dot);
    let (group, event) = (group.bytes, event.bytes);
    (Some(OnEvent { group, event }), name)
}

impl ExprBuilder {
    fn write(&mut self, text: core::fmt::Arguments<'_>) -> Result<(), Error> {
        let mut out = Appender(&mut self.text);
        Ok(out.write_fmt(text).map_err(|_| crate::sys::AllocError)?)
    }
}

/// `GROUP.EVENT`, as in a trigger.
impl core::fmt::Display for OnEvent<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}", Plain(self.group), Plain(self.event))
    }
}
