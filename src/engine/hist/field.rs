// SPDX-License-Identifier: GPL-2.0

//! Parses one key or value of a histogram: `FIELD[.MODIFIER]`.

use core::num::NonZeroU64;

use super::column::{ArrayElement, Fold, Key, KeySource, Modifier, Value, TEXT_WORDS};
use super::value_shape::ValueShape;
use super::value_shape::ValueSort;
use crate::engine::definition::task::{CGROUP, NO_CGROUPS, TGID};
use crate::engine::language::lex::{self, Span};
use crate::engine::language::types::{Shown, Type};
use crate::engine::record::fields::no_field;
use crate::engine::record::{Layout, Role};
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::{has_cgroups, Box, Vec};

/// What a name refers to.
enum FoundField {
    Source(KeySource),
    /// An array of strings or structures.
    Array,
    Nothing,
}

/// The path of the task's cgroup.
const CGROUP_PATH: KeySource = KeySource::Text {
    index: CGROUP,
    words: TEXT_WORDS,
};

/// The pid of the task's process.
const PROCESS: KeySource = KeySource::Argument {
    index: TGID,
    width: 4,
    signed: true,
};

/// Looks up `name`: first the words of histograms, then the event's own fields, then the common
/// fields, as in the kernel.
fn find(layout: &Layout, name: &[u8]) -> FoundField {
    match name {
        b"common_timestamp" => return FoundField::Source(KeySource::Time),
        b"common_stacktrace" => return FoundField::Source(KeySource::Stack),
        b"common_ustacktrace" => return FoundField::Source(KeySource::UserStack),
        b"common_cpu" => return FoundField::Source(KeySource::Cpu),
        b"common_comm" => return FoundField::Source(KeySource::Comm),
        b"common_tgid" => return FoundField::Source(PROCESS),
        b"common_cgroup" if has_cgroups() => return FoundField::Source(CGROUP_PATH),
        b"hitcount" => return FoundField::Source(KeySource::Hits),
        _ => {}
    }
    let mut fields = (0u8..=u8::MAX).zip(&layout.fields);
    if let Some((index, field)) = fields.find(|(_, field)| *field.name == *name) {
        return match field.count {
            Some(count) => match element(field.base) {
                Some(of) => FoundField::Source(KeySource::Array { index, count, of }),
                None => FoundField::Array,
            },
            None if field.base.is_structure() || layout.is_list(index) => FoundField::Array,
            None if field.base.is_text() => FoundField::Source(KeySource::Text {
                index,
                words: layout.text_words(index).unwrap_or(TEXT_WORDS),
            }),
            None => FoundField::Source(KeySource::Argument {
                index,
                width: field.base.size(),
                signed: field.base.is_signed(),
            }),
        };
    }
    let mut fixed = layout.class.fields();
    if let Some(field) = fixed.find(|field| field.name.as_bytes() == name) {
        return FoundField::Source(match field.role {
            Role::EventType => KeySource::Type,
            Role::Flags => KeySource::Flags,
            Role::PreemptCount => KeySource::PreemptCount,
            Role::Pid => KeySource::Pid,
            Role::Address | Role::CallNumber => KeySource::Place,
            Role::ReturnAddress => KeySource::ReturnAddress,
            Role::Text | Role::RawId | Role::FrameCount | Role::Frames | Role::Process => {
                return FoundField::Nothing
            }
        });
    }
    match name {
        b"cpu" | b"CPU" => FoundField::Source(KeySource::Cpu),
        b"comm" | b"COMM" => FoundField::Source(KeySource::Comm),
        b"cgroup" if has_cgroups() => FoundField::Source(CGROUP_PATH),
        b"stacktrace" | b"STACKTRACE" => FoundField::Source(KeySource::Stack),
        _ => FoundField::Nothing,
    }
}

/// Keys and values that every event has, although they are not fields.
const OF_HISTOGRAMS: [&str; 4] = [
    "common_stacktrace",
    "common_ustacktrace",
    "common_timestamp",
    "hitcount",
];

/// Returns the refusal of the unknown `name`.
#[cold]
#[inline(never)]
fn nothing(name: Span<'_>, layout: &Layout) -> Error {
    match name.bytes {
        b"cgroup" | b"common_cgroup" => name
            .error(Kind::HistFieldNotFound)
            .with_detail(format_args!("{NO_CGROUPS}")),
        _ => no_field(name, Kind::HistFieldNotFound, layout, &OF_HISTOGRAMS),
    }
}

/// Returns the element type of an array of `base`, if that is an integer or a character.
fn element(base: Type) -> Option<ArrayElement> {
    match base.shown() {
        Shown::Char => Some(ArrayElement::Char),
        Shown::Text => None,
        _ if base.is_text() => None,
        _ => ArrayElement::number(base.size(), base.is_signed()),
    }
}

/// Splits `FIELD.MODIFIER`.
pub(super) fn split(text: Span<'_>) -> (Span<'_>, Option<Span<'_>>) {
    match text.find(b'.') {
        None => (text, None),
        Some(dot) => {
            let (name, modifier) = text.around(dot);
            (name, Some(modifier))
        }
    }
}

/// A parsed field, before it becomes a key or a value.
struct Parsed<'a> {
    name: Span<'a>,
    source: KeySource,
    fold: Fold,
    modifier: Modifier,
    behind: Option<Span<'a>>,
}

fn parse<'a>(text: Span<'a>, layout: &Layout) -> Result<Parsed<'a>, Error> {
    let (name, behind) = split(text);
    let (modifier, fold) = match behind {
        None => (Modifier::None, Fold::Sum),
        Some(word) => modifier(word)?,
    };
    let source = match find(layout, name.bytes) {
        FoundField::Source(source) => source,
        FoundField::Array => return Err(name.error(Kind::HistArray)),
        FoundField::Nothing => return Err(nothing(name, layout)),
    };
    if modifier == Modifier::Execname && name.bytes != b"common_pid" {
        return Err(behind.unwrap_or(text).error(Kind::BadFieldModifier));
    }
    Ok(Parsed {
        name,
        source,
        fold,
        modifier,
        behind,
    })
}

/// An operand of an expression: a field of the event.
pub(super) struct FoundOperand<'a> {
    pub(super) name: &'a [u8],
    pub(super) source: KeySource,
    pub(super) modifier: Modifier,
}

/// Parses an operand of an expression.
///
/// # Errors
///
/// `FIELD_NOT_FOUND`, `BAD_FIELD_MODIFIER`, `HIST_ARRAY`.
pub(super) fn operand<'a>(text: Span<'a>, layout: &Layout) -> Result<FoundOperand<'a>, Error> {
    let parsed = match text.bytes {
        b"common_stacktrace.stacktrace" => parse(text.take(b"common_stacktrace".len()), layout)?,
        _ => parse(text, layout)?,
    };
    let (source, modifier) = (parsed.source, parsed.modifier);
    if matches!(source, KeySource::Array { .. }) {
        return Err(parsed.name.error(Kind::HistArray));
    }
    let is_stack = matches!(source, KeySource::Stack | KeySource::UserStack);
    let is_shown = matches!(modifier, Modifier::Percent | Modifier::Graph);
    let is_plain = modifier == Modifier::None;
    if is_shown || parsed.fold != Fold::Sum || !(is_plain || source.is_number()) {
        return Err(parsed.behind.unwrap_or(text).error(Kind::BadFieldModifier));
    }
    if source == KeySource::UserStack {
        return Err(text.error(Kind::HistValueText));
    }
    Ok(FoundOperand {
        name: match is_stack {
            true => b"common_stacktrace",
            false => parsed.name.bytes,
        },
        source,
        modifier: modifier.of_sign(source.shape().1),
    })
}

/// Returns what is known of an operand's value.
pub(super) fn shape(source: KeySource, modifier: Modifier) -> ValueShape {
    let (size, signed) = match source {
        KeySource::Cpu => (4, false),
        source => source.shape(),
    };
    ValueShape {
        sort: match source {
            KeySource::Stack => ValueSort::Stack,
            KeySource::Text { .. } | KeySource::Comm => ValueSort::Text,
            KeySource::Pid if modifier == Modifier::Execname => ValueSort::Text,
            _ => ValueSort::Number,
        },
        size,
        signed,
        in_usecs: modifier == Modifier::Usecs,
    }
}

/// Parses a modifier of the kernel, or the name of a [`Fold`].
fn modifier(word: Span<'_>) -> Result<(Modifier, Fold), Error> {
    let modifier = match word.bytes {
        b"hex" => Modifier::Hex,
        b"sym" => Modifier::Sym,
        b"sym-offset" => Modifier::SymOffset,
        b"execname" => Modifier::Execname,
        b"syscall" => Modifier::Syscall,
        b"log2" => Modifier::Log2,
        b"errno" => Modifier::Errno,
        b"enum" => Modifier::Enum,
        b"usecs" => Modifier::Usecs,
        b"percent" => Modifier::Percent,
        b"graph" => Modifier::Graph,
        b"min" => return Ok((Modifier::None, Fold::Min)),
        b"max" => return Ok((Modifier::None, Fold::Max)),
        b"avg" => return Ok((Modifier::None, Fold::Avg)),
        _ => Modifier::Buckets(bucket(word)?),
    };
    Ok((modifier, Fold::Sum))
}

/// Parses `bucket=N` or `buckets=N`.
fn bucket(word: Span<'_>) -> Result<NonZeroU64, Error> {
    let number = word.strip(b"buckets=").or_else(|| word.strip(b"bucket="));
    let size = number.and_then(|number| lex::unsigned(number.bytes));
    size.and_then(NonZeroU64::new)
        .ok_or(number.unwrap_or(word).error(Kind::BadFieldModifier))
}

impl Key {
    /// Parses a key.
    pub(super) fn parse(text: Span<'_>, layout: &Layout) -> Result<Self, Error> {
        let is_stack = matches!(text.bytes, b"stacktrace" | b"common_stacktrace.stacktrace");
        let parsed = if is_stack {
            Parsed {
                name: text,
                source: KeySource::Stack,
                fold: Fold::Sum,
                modifier: Modifier::None,
                behind: None,
            }
        } else {
            parse(text, layout)?
        };
        let modifier_at = parsed.behind.unwrap_or(text);
        let is_of_value = matches!(parsed.modifier, Modifier::Percent | Modifier::Graph);
        let is_plain = match parsed.source {
            KeySource::Array { of, .. } if of != ArrayElement::Char => {
                matches!(parsed.modifier, Modifier::None | Modifier::Hex)
            }
            _ => parsed.modifier == Modifier::None,
        };
        if is_of_value || parsed.fold != Fold::Sum || !(is_plain || parsed.source.is_number()) {
            return Err(modifier_at.error(Kind::BadFieldModifier));
        }
        let name = match parsed.source {
            KeySource::Stack => b"common_stacktrace",
            _ => parsed.name.bytes,
        };
        let mut modifier = parsed.modifier.of_sign(parsed.source.shape().1);
        let names = match parsed.source {
            KeySource::Argument { index, .. } => layout.value_names_of(index),
            _ => None,
        };
        if modifier == Modifier::None {
            modifier = of_type(parsed.source, layout);
        }
        if modifier == Modifier::Enum && names.is_none() {
            let refusal = modifier_at.error(Kind::BadFieldModifier);
            return Err(refusal.with_detail(format_args!(
                "the kernel does not declare it as an enumeration, so it has no names"
            )));
        }
        let names = match names.filter(|_| modifier == Modifier::Enum) {
            Some(names) => Some(Box::new(names.copy()?)?),
            None => None,
        };
        Ok(Self {
            name: Vec::from_slice(name)?,
            source: parsed.source,
            modifier,
            step: modifier.step(),
            names,
        })
    }
}

/// Returns how a key from `source` is shown by its type: an address, or a name.
fn of_type(source: KeySource, layout: &Layout) -> Modifier {
    let (KeySource::Argument { index, .. } | KeySource::Array { index, .. }) = source else {
        return Modifier::None;
    };
    let field = layout.fields.get(usize::from(index));
    match field.map(|field| (field.base.shown(), source)) {
        Some((Shown::Enum, _)) if layout.value_names_of(index).is_some() => Modifier::Enum,
        Some((Shown::Ip4, KeySource::Argument { .. })) => Modifier::Ip4,
        Some((Shown::Ip6, KeySource::Array { .. })) => Modifier::Ip6,
        Some((Shown::Mac, KeySource::Array { .. })) => Modifier::Mac,
        _ => Modifier::None,
    }
}

impl Value {
    /// Parses a value.
    pub(super) fn parse(text: Span<'_>, layout: &Layout) -> Result<Self, Error> {
        let parsed = parse(text, layout)?;
        if matches!(
            parsed.modifier,
            Modifier::Buckets(_)
                | Modifier::Log2
                | Modifier::Errno
                | Modifier::Enum
                | Modifier::Sym
                | Modifier::SymOffset
                | Modifier::Syscall
        ) {
            return Err(text.error(Kind::BadFieldModifier));
        }
        if parsed.source == KeySource::Hits && parsed.fold != Fold::Sum {
            return Err(parsed.behind.unwrap_or(text).error(Kind::BadFieldModifier));
        }
        if matches!(parsed.source, KeySource::Array { .. }) {
            return Err(parsed.name.error(Kind::HistArray));
        }
        if !parsed.source.is_number() {
            return Err(text.error(Kind::HistValueText));
        }
        Ok(Self {
            name: Vec::from_slice(parsed.name.bytes)?,
            source: parsed.source,
            fold: parsed.fold,
            modifier: parsed.modifier,
        })
    }
}
