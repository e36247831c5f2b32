// SPDX-License-Identifier: GPL-2.0

//! Names in the place of numbers: the names of the field's enumeration, `reason == NO_SOCKET`, of
//! errors, flags and signals, `ret == -ENOENT`, and of the kernel's other enumerations.

use super::constant::{constant, KnownNumber};
use super::operators::is_name;
use super::predicate::{compare, Terms, WrittenNumber};
use super::terms::{Operand, Relation, Test};
use crate::engine::language::lex::Span;
use crate::engine::record::WholeShape;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::refusal::suggest::suggest_of_many;
use crate::engine::util::errno;
use crate::engine::util::text::Plain;

/// Maximum number of names of a filter that are looked up in the kernel's types. Each takes
/// milliseconds.
pub(super) const MAX_LOOKED_UP: u8 = 64;

impl Terms<'_> {
    /// Parses the value of `FIELD OP VALUE` if it is a name of the enumeration of `operand`, or of
    /// another number; `None` if it is not.
    #[inline(never)]
    pub(super) fn named_value<'s>(
        &mut self,
        operand: Operand,
        relation: Option<Relation>,
        operator: Span<'s>,
        value: Span<'s>,
    ) -> Result<Option<(Test, Span<'s>)>, Error> {
        let names = match operand {
            Operand::Argument { index, .. } => self.layout.value_names_of(index),
            _ => None,
        };
        let quote = value.first().filter(|b| matches!(b, b'"' | b'\''));
        let (word, rest) = match (quote, names) {
            (Some(_), None) => return Ok(None),
            (Some(quote), Some(_)) => {
                let inside = value.skip(1);
                let close = inside.find(quote);
                inside.around(close.ok_or(value.error(Kind::FiltMissingQuote))?)
            }
            (None, _) => {
                let minus = usize::from(value.first() == Some(b'-'));
                let end = value.skip(minus).find_by(|b| !is_name(b));
                let end = end.map_or(value.bytes.len(), |end| end.saturating_add(minus));
                (value.take(end), value.skip(end))
            }
        };
        if quote.is_none() && self.operand_named(word.bytes).is_some() {
            return Ok(None);
        }
        let number = match names {
            Some(names) => match value_of(names, word.bytes) {
                None => self.constant(word, true),
                number => number,
            },
            None => self.constant(word, false),
        };
        let Some(number) = number else {
            if self.looked_up > MAX_LOOKED_UP {
                let refusal = word.error(Kind::FiltInvalidValue);
                return Err(refusal.with_detail(format_args!(
                    "at most {MAX_LOOKED_UP} names in a filter are looked up: write its number"
                )));
            }
            return match names.filter(|_| quote.is_some() || is_word(word)) {
                Some(names) => Err(no_such_name(word, names)),
                None => Ok(None),
            };
        };
        let Some(relation) = relation else {
            let refusal = operator.error(Kind::FiltIllegalFieldOp);
            return Err(refusal.with_detail(format_args!(
                "names of numbers are no texts: compare with == or !="
            )));
        };
        let test = compare(operand, relation, word, WrittenNumber::of(number))?;
        Ok(Some((test, rest)))
    }

    /// Returns the number that `word` stands for: an error with its sign, a flag, a signal, or a
    /// value of an enumeration. `is_declared` if the field has an enumeration of its own.
    #[inline(never)]
    pub(super) fn constant(&mut self, word: Span<'_>, is_declared: bool) -> Option<i64> {
        let is_word = is_word(word);
        let known = constant(word.bytes, &|name| self.functions.open_flag(name));
        if known.is_some() || !is_word || is_declared {
            return known;
        }
        // An error without its sign would be compared with what no function returns.
        if errno::number(word.bytes).is_some() {
            return None;
        }
        self.looked_up = self.looked_up.saturating_add(1);
        if self.looked_up > MAX_LOOKED_UP {
            return None;
        }
        match self.functions.number_called(word.bytes) {
            KnownNumber::One(number) => Some(number),
            KnownNumber::Nothing | KnownNumber::Several => None,
        }
    }

    /// Returns the refusal of `text`, which begins with `name` where a field must be.
    #[cold]
    #[inline(never)]
    pub(super) fn not_a_field(&self, name: Span<'_>, text: Span<'_>) -> Error {
        let error = name.error(Kind::FiltFieldNotFound);
        let behind = text.skip(name.bytes.len());
        match (name.bytes, behind.bytes) {
            (b"if", _) => error.with_detail(format_args!("leave if out")),
            (b"not", _) => {
                error.with_detail(format_args!("not is written !, before a parenthesis"))
            }
            (b"", [b'/', ..]) => error.with_detail(format_args!("leave the slashes out")),
            (b"", [b'$', ..]) => {
                error.with_detail(format_args!("a field has no $: format lists the fields"))
            }
            ([_, ..], [b'(', ..]) => error.with_detail(format_args!(
                "there are no functions: write FIELD OPERATOR VALUE, such as comm == \"cat\""
            )),
            ([_, ..], [b'-', b'>', ..] | [b'[', ..]) => error.with_detail(format_args!(
                "name it in the definition, as an argument, and that in the filter"
            )),
            _ => self.no_operand(name),
        }
    }
}

/// Returns whether `word` may be the name of a number.
fn is_word(word: Span<'_>) -> bool {
    word.first()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
}

/// Returns the value called `word`, with or without the prefix that most names have.
fn value_of(names: &WholeShape, word: &[u8]) -> Option<i64> {
    let prefix = names.common_prefix();
    let mut all = names.enumerators.iter();
    let is_it = |name: &[u8]| name == word || name.strip_prefix(prefix) == Some(word);
    let whole = all.clone().find(|each| names.text(each.name) == word);
    let found = whole.or_else(|| all.find(|each| is_it(names.text(each.name))));
    // CAST: two's complement.
    found.map(|each| each.value as i64)
}

/// Returns the refusal of `word`, which no value of the field is called.
#[cold]
#[inline(never)]
fn no_such_name(word: Span<'_>, names: &WholeShape) -> Error {
    let error = word.error(Kind::FiltInvalidValue);
    if let Some(number) = errno::number(word.bytes) {
        return error.with_detail(format_args!(
            "write -{0} for the error {0}, or {number}",
            Plain(word.bytes)
        ));
    }
    let prefix = names.common_prefix();
    let is_short = !word.bytes.starts_with(prefix);
    suggest_of_many(error, word.bytes, |each| {
        for value in &names.enumerators {
            let name = names.text(value.name);
            each(match name.strip_prefix(prefix) {
                Some(short) if is_short && !short.is_empty() => short,
                _ => name,
            });
        }
    })
}
