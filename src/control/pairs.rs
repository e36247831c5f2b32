// SPDX-License-Identifier: GPL-2.0

//! `pairs`: what became of the beginnings of pairs, and those that have not ended: who is stuck?

use super::text::Show;
use crate::{
    engine::{
        ast::Place,
        fetch::BegunField,
        pairs::{OpenBeginning, PAIR_TEXT_WORDS},
        text::{OneLine, Plain},
    },
    events::probe::Probe,
    kapi::clock::Clock,
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

/// Most beginnings of a pair that are shown.
const MOST_SHOWN: usize = 100;

/// Keys below this number are pointers.
const POINTERS: i64 = -1 << 32;

/// The file.
pub(crate) struct Pairs;

impl Show for Pairs {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str("# pair begun ended superseded expired lost open without-beginning\n")?;
        let registry = tracer.registry.lock();
        for probe in registry.probes() {
            show_pair(probe, out)?;
        }
        Ok(())
    }
}

/// Writes a line of counts, and one for each of the oldest beginnings that have not ended.
fn show_pair(probe: &Probe, out: &mut dyn fmt::Write) -> fmt::Result {
    let Some(pair) = probe.pair() else {
        return Ok(());
    };
    let open = pair.open().beginnings().open(MOST_SHOWN);
    let open = open.map_err(|_| fmt::Error)?;
    let counts = pair.open().counts();
    let definition = probe.definition();
    writeln!(
        out,
        "{}/{} {} {} {} {} {} {} {}",
        Plain(&definition.group),
        Plain(&definition.event),
        counts.begun,
        counts.ended,
        counts.superseded,
        counts.expired,
        counts.lost,
        open.count,
        counts.unmatched
    )?;
    let now = Clock::Local.now();
    let Place::Pair(sides) = &definition.place else {
        return Ok(());
    };
    let Some(begin) = sides.first() else {
        return Ok(());
    };
    for one in open.oldest.iter() {
        write!(out, "\t{} ns", now.saturating_sub(one.time))?;
        for (name, value) in begin.keys.iter().zip(one.keys) {
            // CAST: A key is a number with its sign extended.
            match value as i64 {
                ..POINTERS => write!(out, " {}={value:#x}", Plain(name))?,
                number => write!(out, " {}={number}", Plain(name))?,
            }
        }
        for field in pair.open().begun() {
            write!(out, " {}=", Plain(probe.begun_name(field.index)))?;
            show_value(field, one, out)?;
        }
        out.write_char('\n')?;
    }
    let younger = open.count.saturating_sub(open.oldest.len());
    if younger > 0 {
        writeln!(out, "\t... and {younger} younger")?;
    }
    Ok(())
}

/// Writes a field of a beginning.
fn show_value(field: &BegunField, one: &OpenBeginning, out: &mut dyn fmt::Write) -> fmt::Result {
    let words = one.words.iter().skip(usize::from(field.start));
    if !field.is_text {
        let value = words.copied().next().unwrap_or(0);
        return match field.shape.is_signed() {
            // CAST: Its sign is extended.
            true => write!(out, "{}", value as i64),
            false => write!(out, "{value}"),
        };
    }
    let mut text = [0u8; PAIR_TEXT_WORDS * 8];
    for (bytes, word) in text.chunks_mut(8).zip(words) {
        if let Some(bytes) = bytes.first_chunk_mut() {
            *bytes = word.to_ne_bytes();
        }
    }
    let end = text.iter().position(|&byte| byte == 0);
    let text = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    write!(out, "\"{}\"", OneLine(text))
}
