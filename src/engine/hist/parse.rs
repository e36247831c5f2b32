// SPDX-License-Identifier: GPL-2.0

//! Parses the trigger of a histogram.

use super::action_parse::{is_action, matched, unbound, WrittenAction};
use super::column::{
    Column, Fold, Key, KeySource, KeyStep, Modifier, Sort, Value, MAX_KEYS, MAX_KEY_WORDS,
    MAX_SORTS, MAX_VALUES,
};
use super::expr::HistExpr;
use super::expr_parse::{is_expression, ExprContext, VarDefinition};
use super::field;
use super::inter::{InterEvent, MAX_ACTIONS};
use super::pieces::{is_blank, pieces, trim};
use super::scope::HistScope;
use super::spec::Spec;
use super::value_shape::ValueSort;
use super::variable::{VarRefs, VarRole, VarSource, MAX_VARS};
use crate::engine::language::lex::{self, Span};
use crate::engine::record::Layout;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::text::Plain;
use crate::sys::{Box, Vec};

/// Number of entries without `size=`.
const DEFAULT_SIZE: usize = 2048;

/// Allowed sizes; a size is rounded up to a power of two.
const SIZES: core::ops::RangeInclusive<usize> = 128..=131_072;

/// The kernel's clocks.
const CLOCKS: &[&[u8]] = &[
    b"local",
    b"global",
    b"counter",
    b"uptime",
    b"perf",
    b"mono",
    b"mono_raw",
    b"boot",
    b"tai",
    b"x86-tsc",
];

/// What a trigger requests.
#[derive(Debug, PartialEq, Eq)]
pub struct HistRequest<'a> {
    /// The compiled histogram.
    pub spec: Spec,
    /// What to do with the histogram.
    pub verb: Verb,
    /// The filter, behind `if`.
    pub filter: Option<Span<'a>>,
    /// The actions; [`HistRequest::bind`] binds them.
    pub(super) written: Vec<WrittenAction<'a>>,
    /// The names of the variables.
    pub(super) names: Vec<Span<'a>>,
}

/// Words before `=` that are not variables.
const OPTIONS: &[&[u8]] = &[
    b"key", b"keys", b"val", b"vals", b"values", b"sort", b"name", b"clock", b"size",
];

/// What to do with a histogram: the first of these, in the kernel's order, that the trigger has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Set the histogram.
    Set,
    /// Set it paused, or pause it.
    Pause,
    /// Continue a paused one.
    Continue,
    /// Clear its entries.
    Clear,
}

/// The parts of a trigger, as written.
#[derive(Default)]
struct Parts<'a> {
    keys: Option<Span<'a>>,
    values: Option<Span<'a>>,
    /// `sort=` and what follows it.
    sort: Option<(Span<'a>, Span<'a>)>,
    name: Option<Span<'a>>,
    clock: Option<Span<'a>>,
    size: Option<usize>,
    hides_hits: bool,
    pauses: bool,
    continues: bool,
    clears: bool,
    /// The variables, in order.
    definitions: Vec<VarDefinition<'a>>,
    actions: Vec<Span<'a>>,
}

/// Parses what follows `hist:` in a trigger of an event with `layout`, in `scope`.
///
/// # Errors
///
/// The kinds of [`Subject::Histogram`](crate::engine::refusal::error::Subject::Histogram).
pub fn parse<'a>(
    text: Span<'a>,
    layout: &Layout,
    scope: &dyn HistScope,
) -> Result<HistRequest<'a>, Error> {
    let (text, filter) = split_filter(text)?;
    if text.bytes.is_empty() {
        return Err(text.error(Kind::HistNoKeys));
    }
    let parts = Parts::split(text)?;
    let Some(keys) = parts.keys else {
        return Err(text.error(Kind::HistNoKeys));
    };
    let mut written = Vec::new();
    for &action in &parts.actions {
        written.push(WrittenAction::parse(action, scope)?)?;
    }
    let matched = matched(&written)?;
    let mut inter = InterEvent::default();
    let mut refs = VarRefs::default();
    let mut context = ExprContext {
        layout,
        scope,
        own: &parts.definitions,
        matched: &matched,
        refs: &mut refs,
    };
    let values = parse_values(parts.values, &mut context, &mut inter)?;
    if parts.hides_hits && values.is_empty() {
        return Err(text.error(Kind::NeedNohcVal));
    }
    let mut names = Vec::new();
    for definition in &parts.definitions {
        names.push(definition.name)?;
        define(*definition, &mut context, &mut inter)?;
    }
    let keys = parse_keys(keys, &mut context, &mut inter)?;
    let sorts = parse_sorts(parts.sort, &keys, &values)?;
    inter.refs = refs;
    inter.actions = unbound(&written)?;
    let copy = |text: Option<Span<'_>>| text.map(|text| text.to_vec()).transpose();
    let spec = Spec {
        name: copy(parts.name)?,
        keys,
        values,
        sorts,
        size: parts.size.unwrap_or(DEFAULT_SIZE),
        clock: copy(parts.clock)?,
        hides_hits: parts.hides_hits,
        inter: match inter.is_empty() {
            true => None,
            false => Some(Box::new(inter)?),
        },
    };
    let verb = match (parts.pauses, parts.continues, parts.clears) {
        (true, ..) => Verb::Pause,
        (_, true, _) => Verb::Continue,
        (.., true) => Verb::Clear,
        _ => Verb::Set,
    };
    Ok(HistRequest {
        spec,
        verb,
        filter,
        written,
        names,
    })
}

/// Splits the trigger at the first word `if`.
fn split_filter(text: Span<'_>) -> Result<(Span<'_>, Option<Span<'_>>), Error> {
    let mut rest = text;
    while let Some(at) = rest.find_by(is_blank) {
        rest = rest.skip(at.saturating_add(1));
        let Some(behind) = rest.strip(b"if") else {
            continue;
        };
        if behind.first().is_none_or(is_blank) {
            let filter = trim(behind);
            if filter.bytes.is_empty() {
                return Err(behind.error(Kind::HistNoFilter));
            }
            let before = text.take(rest.at.saturating_sub(text.at));
            return Ok((trim(before), Some(filter)));
        }
    }
    Ok((trim(text), None))
}

impl<'a> Parts<'a> {
    fn split(text: Span<'a>) -> Result<Self, Error> {
        let mut parts = Self::default();
        for word in pieces(text, b':') {
            parts.add(word)?;
        }
        Ok(parts)
    }

    fn add(&mut self, word: Span<'a>) -> Result<(), Error> {
        if let Some(equals) = word.find(b'=') {
            let (_, behind) = word.around(equals);
            if behind.bytes.is_empty() {
                return Err(word.error(Kind::EmptyAssignment));
            }
            return self.assign(word, behind);
        }
        match word.bytes {
            b"nohitcount" | b"NOHC" => self.hides_hits = true,
            b"pause" => self.pauses = true,
            b"cont" | b"continue" => self.continues = true,
            b"clear" => self.clears = true,
            _ if !is_action(word) => return Err(self.bad_word(word)),
            _ if self.actions.len() >= MAX_ACTIONS => {
                return Err(word.error(Kind::HistTooManyActions));
            }
            _ => self.actions.push(word)?,
        }
        Ok(())
    }

    /// Returns the refusal of the unknown `word`.
    #[cold]
    #[inline(never)]
    fn bad_word(&self, word: Span<'_>) -> Error {
        let error = word.error(Kind::HistBadWord);
        let is_field = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.,$".contains(byte);
        match self.keys.is_none() && word.bytes.iter().all(is_field) {
            true => error.with_detail(format_args!("write keys={}", Plain(word.bytes))),
            false => error,
        }
    }

    fn assign(&mut self, word: Span<'a>, behind: Span<'a>) -> Result<(), Error> {
        // A key may contain an equals sign: buckets=N.
        let name = word.take(behind.at.saturating_sub(word.at));
        match name.bytes {
            b"key=" | b"keys=" => {
                self.define_among(behind)?;
                self.keys = Some(behind);
            }
            b"val=" | b"vals=" | b"values=" => {
                self.define_among(behind)?;
                self.values = Some(behind);
            }
            b"sort=" => self.sort = Some((word, behind)),
            b"name=" => {
                // Every byte of a UTF-8 sequence counts as visible.
                let is_visible = |byte: &u8| byte.is_ascii_graphic() || !byte.is_ascii();
                if !behind.bytes.iter().all(is_visible) {
                    return Err(behind.error(Kind::HistBadName));
                }
                self.name = Some(behind);
            }
            b"clock=" => {
                let clock = trim(behind);
                if !CLOCKS.contains(&clock.bytes) {
                    return Err(behind.error(Kind::SetClockFail));
                }
                self.clock = Some(clock);
            }
            b"size=" => {
                let size = lex::unsigned(behind.bytes).and_then(|n| usize::try_from(n).ok());
                let size = size.filter(|&n| n > 0 && n <= *SIZES.end());
                let size = size.map(usize::next_power_of_two);
                let size = size.filter(|size| SIZES.contains(size));
                self.size = Some(size.ok_or(behind.error(Kind::HistBadSize))?);
            }
            _ => {
                for piece in pieces(word, b',') {
                    let Some(equals) = piece.find(b'=') else {
                        return Err(piece.error(Kind::MalformedAssignment));
                    };
                    let (name, value) = piece.around(equals);
                    self.define(VarDefinition { name, value })?;
                }
            }
        }
        Ok(())
    }

    fn define(&mut self, definition: VarDefinition<'a>) -> Result<(), Error> {
        let VarDefinition { name, value } = definition;
        if self.definitions.len() >= MAX_VARS {
            return Err(name.error(Kind::TooManyVars));
        }
        if !lex::is_identifier(name.bytes) || value.bytes.is_empty() {
            return Err(name.error(Kind::MalformedAssignment));
        }
        // Behind a variable in the same list these words are variable names.
        if self.definitions.is_empty() && OPTIONS.contains(&name.bytes) {
            let refusal = name.error(Kind::MalformedAssignment);
            return Err(refusal.with_detail(format_args!("a part of a trigger is called so")));
        }
        let mut all = self.definitions.iter();
        if all.any(|other| *other.name.bytes == *name.bytes) {
            return Err(name.error(Kind::DuplicateVar));
        }
        Ok(self.definitions.push(definition)?)
    }

    /// Takes the variables from a list of keys or values.
    fn define_among(&mut self, text: Span<'a>) -> Result<(), Error> {
        for piece in pieces(text, b',') {
            if let Some(definition) = definition(piece) {
                self.define(definition)?;
            }
        }
        Ok(())
    }
}

/// Returns the variable that `piece` defines, or `None` for a key or value.
fn definition(piece: Span<'_>) -> Option<VarDefinition<'_>> {
    let (name, value) = piece.around(piece.find(b'=')?);
    lex::is_identifier(name.bytes).then_some(VarDefinition { name, value })
}

/// Adds a variable that the trigger names.
fn define<'a>(
    definition: VarDefinition<'a>,
    context: &mut ExprContext<'_, 'a>,
    inter: &mut InterEvent,
) -> Result<(), Error> {
    let VarDefinition { name, value } = definition;
    let parsed = context.parse(value)?;
    if let VarSource::Computed(expression) = &parsed.source {
        if expression.is_stepped() {
            return Err(value.error(Kind::BadFieldModifier));
        }
    }
    let source = (parsed.source, parsed.shape);
    inter.add(VarRole::Named, (name.bytes, parsed.text), source)?;
    Ok(())
}

/// Parses a key or value that is an expression; returns its name and its source.
fn computed<'a>(
    text: Span<'a>,
    context: &mut ExprContext<'_, 'a>,
    inter: &mut InterEvent,
) -> Result<(Vec<u8>, KeySource), Error> {
    let parsed = context.parse(text)?;
    let VarSource::Computed(expression) = parsed.source else {
        return Err(text.error(Kind::HistValueText));
    };
    if parsed.shape.sort != ValueSort::Number {
        return Err(text.error(Kind::HistValueText));
    }
    let source = KeySource::Computed {
        // CAST: There are fewer keys and values than 256.
        index: inter.computed.len() as u8,
        width: parsed.shape.size,
        signed: parsed.shape.signed,
    };
    inter.computed.push(expression)?;
    Ok((parsed.text, source))
}

/// Parses a key that is an expression. It may not use variables of other histograms.
fn computed_key<'a>(
    text: Span<'a>,
    context: &mut ExprContext<'_, 'a>,
    inter: &mut InterEvent,
) -> Result<Key, Error> {
    let before = inter.computed.len();
    let (name, source) = computed(text, context, inter).map_err(|refusal| match refusal.kind {
        Kind::VarNotFound => text.error(Kind::InvalidRefKey),
        _ => refusal,
    })?;
    let mut added = inter.computed.iter().skip(before);
    if added.any(HistExpr::has_refs) {
        return Err(text.error(Kind::InvalidRefKey));
    }
    Ok(Key {
        name,
        source,
        modifier: Modifier::None,
        step: KeyStep::None,
        names: None,
    })
}

fn parse_keys<'a>(
    text: Span<'a>,
    context: &mut ExprContext<'_, 'a>,
    inter: &mut InterEvent,
) -> Result<Vec<Key>, Error> {
    let mut keys = Vec::new();
    let mut words = 0usize;
    for piece in pieces(text, b',').filter(|&piece| definition(piece).is_none()) {
        if keys.len() >= MAX_KEYS {
            return Err(piece.error(Kind::HistTooManyKeys));
        }
        // A variable of this trigger that merely names a field stands for the field.
        let field = context.field_of(piece).unwrap_or(piece);
        let key = match is_expression(field) {
            false => Key::parse(field, context.layout)?,
            true => computed_key(piece, context, inter)?,
        };
        words = words.saturating_add(key.words());
        if words > MAX_KEY_WORDS {
            return Err(piece.error(Kind::HistKeyTooLarge));
        }
        keys.push(key)?;
    }
    match keys.is_empty() {
        true => Err(text.error(Kind::HistNoKeys)),
        false => Ok(keys),
    }
}

fn parse_values<'a>(
    text: Option<Span<'a>>,
    context: &mut ExprContext<'_, 'a>,
    inter: &mut InterEvent,
) -> Result<Vec<Value>, Error> {
    let mut values = Vec::new();
    let Some(text) = text else {
        return Ok(values);
    };
    let mut names_hits = false;
    for piece in pieces(text, b',').filter(|&piece| definition(piece).is_none()) {
        if piece.bytes == b"hitcount" && !names_hits {
            names_hits = true;
            continue;
        }
        if values.len() >= MAX_VALUES {
            return Err(piece.error(Kind::HistTooManyVals));
        }
        let value = match is_expression(piece) {
            false => Value::parse(piece, context.layout)?,
            true => {
                let (name, source) = computed(piece, context, inter)?;
                Value {
                    name,
                    source,
                    fold: Fold::Sum,
                    modifier: Modifier::None,
                }
            }
        };
        values.push(value)?;
    }
    Ok(values)
}

fn parse_sorts(
    text: Option<(Span<'_>, Span<'_>)>,
    keys: &[Key],
    values: &[Value],
) -> Result<Vec<Sort>, Error> {
    let mut sorts = Vec::new();
    let Some((word, text)) = text else {
        sorts.push(Sort {
            by: Column::Hits,
            descending: false,
        })?;
        return Ok(sorts);
    };
    for piece in pieces(text, b',') {
        let (name, _) = field::split(piece);
        if name.bytes.is_empty() {
            return Err(word.error(Kind::EmptySortField));
        }
        if sorts.len() >= MAX_SORTS {
            return Err(word.error(Kind::TooManySortFields));
        }
        sorts.push(parse_sort(piece, keys, values)?)?;
        if sorts.len() == MAX_SORTS && text.end() > piece.end() {
            return Err(word.error(Kind::TooManySortFields));
        }
    }
    Ok(sorts)
}

/// Parses `COLUMN[.ascending|.descending]`. As when listed, the column may carry the modifier of
/// its key or value.
fn parse_sort(text: Span<'_>, keys: &[Key], values: &[Value]) -> Result<Sort, Error> {
    let (name, behind) = field::split(text);
    let order = |word: Option<Span<'_>>| match word.map(|word| word.bytes) {
        None | Some(b"ascending") => Some(false),
        Some(b"descending") => Some(true),
        Some(_) => None,
    };
    let mut columns = Iterator::chain(
        values.iter().enumerate().map(|(n, value)| {
            let fold = value.fold;
            (Column::Value(n), &value.name, (value.modifier, fold))
        }),
        keys.iter()
            .enumerate()
            .map(|(n, key)| (Column::Key(n), &key.name, (key.modifier, Fold::Sum))),
    )
    .filter(|(_, column, _)| ***column == *name.bytes);
    let mut first = None;
    if name.bytes == b"hitcount" {
        first = Some(Column::Hits);
    }
    let mut marked = None;
    for (column, _, (modifier, fold)) in columns.by_ref() {
        first = first.or(Some(column));
        let rest = behind.and_then(|behind| strip_modifier(behind, modifier, fold));
        if marked.is_none() {
            marked = rest.and_then(|rest| Some((column, order(rest)?)));
        }
    }
    let Some(by) = first else {
        return Err(name.error(Kind::InvalidSortField));
    };
    if let Some(descending) = order(behind) {
        return Ok(Sort { by, descending });
    }
    match marked {
        Some((by, descending)) => Ok(Sort { by, descending }),
        None => Err(behind.unwrap_or(name).error(Kind::InvalidSortModifier)),
    }
}

/// Strips the column's modifier and the dot behind it; returns `Some(None)` if nothing follows.
fn strip_modifier(text: Span<'_>, modifier: Modifier, fold: Fold) -> Option<Option<Span<'_>>> {
    let name = fold.name().or(modifier.name())?;
    let mut rest = text.strip(name.as_bytes())?;
    if let Some(size) = modifier.bucket() {
        let number = rest.strip(b"=")?;
        let end = number.find(b'.').unwrap_or(number.bytes.len());
        if lex::unsigned(number.take(end).bytes) != Some(size.get()) {
            return None;
        }
        rest = number.skip(end);
    }
    if rest.bytes.is_empty() {
        return Some(None);
    }
    Some(Some(rest.strip(b".")?))
}
