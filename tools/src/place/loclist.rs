// SPDX-License-Identifier: GPL-2.0

//! Location lists: where a variable is, by address and, where GCC says so, by view.

use crate::debug::{attribute, Debug, Entry, Slice, Unit, Value};
use crate::error::{Refusal, Result};
use crate::refuse;
use gimli::{AttributeValue, DwAt, EndianSlice, Expression, LittleEndian, RawLocListEntry, Reader};

const DW_AT_GNU_LOCVIEWS: DwAt = DwAt(0x2137);

/// An address, and which of the rows of the line table there.
pub type Moment = (u64, u64);

/// One entry of a list.
#[derive(Debug, Clone, Copy)]
pub struct Span<'s> {
    /// From this moment on.
    pub start: Moment,
    /// Until before this moment.
    pub end: Moment,
    /// Where the variable is.
    pub expression: Expression<Slice<'s>>,
}

/// What is known of the rows at an address.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    /// Whether no other row is behind the one in question.
    pub is_last: bool,
    /// Whether jumps may lead to a later row, where the variable must be at the same place then.
    pub is_jumped_over: bool,
    /// Whether the variable is a parameter of an inlined function that begins with this row: then
    /// it has its argument as soon as it is anywhere, which can be a row later.
    pub is_argument: bool,
}

/// What the debug information says of a variable.
#[derive(Debug, Clone)]
pub enum Location<'s> {
    /// The same as long as its block runs.
    Fixed(Expression<Slice<'s>>),
    /// By address; whether the views are known.
    Listed(Vec<Span<'s>>, bool),
    /// A constant.
    Constant(Value<'s>),
    /// Nothing: the compiler removed it.
    Removed,
}

impl<'s> Location<'s> {
    /// Reads that of a variable's entry.
    pub fn read(debug: &Debug<'s>, unit: &Unit<'s>, entry: &Entry<'_, '_, 's>) -> Result<Self> {
        if let Some(value) = attribute(entry, gimli::DW_AT_location)? {
            return match value {
                AttributeValue::Exprloc(expression) if expression.0.is_empty() => Ok(Self::Removed),
                AttributeValue::Exprloc(expression) => Ok(Self::Fixed(expression)),
                value => list(debug, unit, entry, value),
            };
        }
        let constant = crate::debug::inherited(unit, entry, gimli::DW_AT_const_value)?;
        Ok(constant.map_or(Self::Removed, Self::Constant))
    }

    /// The expression at `moment`.
    ///
    /// What a view that is not the last one of its address says holds only for who comes from the
    /// instruction before: the caller knows that no jump leads there. Without views, a variable
    /// that changes at the address has its new value on the last line that begins there.
    pub fn at(&self, moment: Moment, rows: Rows) -> Result<Expression<Slice<'s>>> {
        let (spans, has_views) = match self {
            Self::Fixed(expression) => return Ok(*expression),
            Self::Listed(spans, has_views) => (spans, *has_views),
            Self::Constant(_) | Self::Removed => refuse!("the compiler removed it"),
        };
        let find = |moment: Moment| {
            let mut spans = spans.iter();
            let span = spans.find(|span| span.start <= moment && moment < span.end)?;
            Some(span).filter(|span| !span.expression.0.is_empty())
        };
        let mut here = find(moment);
        if here.is_none() && rows.is_argument {
            let later = spans.iter().filter(|span| {
                span.start.0 == moment.0 && span.start.1 > moment.1 && span.start < span.end
            });
            here = later.min_by_key(|span| span.start);
        }
        let Some(here) = here else {
            refuse!("the compiler keeps it nowhere on this line");
        };
        let settled = find((moment.0, u64::MAX)).map(|span| span.expression);
        let changes = match has_views {
            true => rows.is_jumped_over && settled != Some(here.expression),
            false => here.start.0 == moment.0 && !rows.is_last,
        };
        if changes {
            refuse!(
                "it changes at this very address, where several lines begin: take the next line"
            );
        }
        Ok(here.expression)
    }
}

fn list<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    entry: &Entry<'_, '_, 's>,
    value: Value<'s>,
) -> Result<Location<'s>> {
    let Some(offset) = debug.of(unit).attr_locations_offset(unit, value)? else {
        refuse!("a location in an unknown form");
    };
    let mut base = unit.low_pc;
    let mut spans = Vec::new();
    let mut entries = debug.of(unit).raw_locations(unit, offset)?;
    while let Some(entry) = entries.next()? {
        let Some((start, end, expression)) = span(debug, unit, entry, &mut base)? else {
            continue;
        };
        spans.push(Span {
            start: (start, 0),
            end: (end, 0),
            expression,
        });
    }
    let views = match attribute(entry, DW_AT_GNU_LOCVIEWS)? {
        Some(AttributeValue::SecOffset(views)) => {
            Some(views_at(debug, unit, views, offset.0, spans.len())?)
        }
        _ => None,
    };
    for (span, (from, to)) in spans.iter_mut().zip(views.iter().flatten()) {
        (span.start.1, span.end.1) = (*from, *to);
    }
    let has_views = views.is_some();
    if !has_views {
        spans = without_views(spans);
    }
    Ok(Location::Listed(spans, has_views))
}

/// The range of an entry and its expression; `None` if it is another base address.
fn span<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    entry: RawLocListEntry<Slice<'s>>,
    base: &mut u64,
) -> Result<Option<(u64, u64, Expression<Slice<'s>>)>> {
    let address = |index| debug.of(unit).address(unit, index);
    let (start, end, data) = match entry {
        RawLocListEntry::BaseAddress { addr } => {
            *base = addr;
            return Ok(None);
        }
        RawLocListEntry::BaseAddressx { addr } => {
            *base = address(addr)?;
            return Ok(None);
        }
        RawLocListEntry::AddressOrOffsetPair { begin, end, data }
        | RawLocListEntry::OffsetPair { begin, end, data } => {
            (base.wrapping_add(begin), base.wrapping_add(end), data)
        }
        RawLocListEntry::StartEnd { begin, end, data } => (begin, end, data),
        RawLocListEntry::StartLength {
            begin,
            length,
            data,
        } => (begin, begin.wrapping_add(length), data),
        RawLocListEntry::StartxEndx { begin, end, data } => (address(begin)?, address(end)?, data),
        RawLocListEntry::StartxLength {
            begin,
            length,
            data,
        } => {
            let begin = address(begin)?;
            (begin, begin.wrapping_add(length), data)
        }
        RawLocListEntry::DefaultLocation { .. } => {
            refuse!("a default location, which no compiler of the kernel makes")
        }
    };
    Ok(Some((start, end, data)))
}

/// Without views, an entry holds at all rows of its addresses, and an empty one never.
fn without_views(spans: Vec<Span<'_>>) -> Vec<Span<'_>> {
    let spans = spans.into_iter();
    spans.filter(|span| span.start.0 < span.end.0).collect()
}

/// The list of views, two for each entry, which lies before the list of locations.
///
/// In split units of DWARF 5, GCC (14) counts them from the unit's base in the section, so that what
/// it says is before the list: there the views have to end where the locations begin.
fn views_at<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    views: usize,
    locations: usize,
    entries: usize,
) -> Result<Vec<(u64, u64)>> {
    let section = debug.locations(unit);
    let read = |start: usize| {
        let mut bytes = EndianSlice::new(section.get(start..locations)?, LittleEndian);
        let mut views = Vec::new();
        for _ in 0..entries {
            views.push((bytes.read_uleb128().ok()?, bytes.read_uleb128().ok()?));
        }
        (bytes.is_empty() || !unit.is_split()).then_some(views)
    };
    let from_base = || read(views.checked_add(unit.loclists_base.0)?);
    let found = read(views).or_else(from_base);
    found.ok_or_else(|| Refusal::new("damaged debug information: views"))
}
