// SPDX-License-Identifier: GPL-2.0

//! `pairs`: counts of the beginnings of pairs, and the open ones: who is stuck?

use super::text::TextOps;
use crate::{
    engine::{
        definition::ast::Place,
        language::types::{Shown, Type},
        pairs::{OpenBeginning, PAIR_TEXT_WORDS},
        print::{put_number, SymbolNames},
        program::fetch::BegunField,
        util::{
            seq_buf::SeqBuf,
            text::{OneLine, Plain},
        },
    },
    events::probe::Probe,
    former_code::FormerCode,
    kapi::clock::Clock,
    print::KernelNames,
    tracer::Tracer,
};
use core::fmt;
use kernel::sync::Arc;

/// Maximum number of beginnings of a pair that are shown.
const MOST_SHOWN: usize = 100;

/// Maximum number of bytes of a number, shown as a symbol with offset and module.
const LONGEST: usize = 768;

/// Keys are shown as pointers below this number.
const POINTERS: i64 = -1 << 32;

pub(super) const FILE: TextOps<Tracer> = TextOps::shows(show);

fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
    out.write_str("# pair begun ended superseded expired lost open without-beginning\n")?;
    let mut names = KernelNames::new();
    let registry = tracer.registry.lock();
    let former_code = &registry.instances.top().former_code;
    for probe in registry.definitions.probes() {
        show_pair(probe, out, (&mut names, former_code))?;
    }
    Ok(())
}

/// Writes a line of counts, and one for each of the oldest open beginnings.
fn show_pair(
    probe: &Probe,
    out: &mut dyn fmt::Write,
    (names, former_code): (&mut KernelNames, &FormerCode),
) -> fmt::Result {
    let Some(pair) = probe.pair() else {
        return Ok(());
    };
    let open = pair.open_pairs().beginnings().open(MOST_SHOWN);
    let open = open.map_err(|_| fmt::Error)?;
    let counts = pair.open_pairs().counts();
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
        let is_former = |address| former_code.in_beginning(one.time, address);
        names.forget();
        let mut names = names.with(&is_former);
        write!(out, "\t{} ns", now.saturating_sub(one.time))?;
        for (name, value) in begin.keys.iter().zip(one.keys) {
            write!(out, " {}=", Plain(name))?;
            match probe.begun_type(name).filter(|base| is_special(*base)) {
                Some(base) => show_number((base, value), out, &mut names)?,
                // CAST: A key is a number with its sign extended.
                None => match value as i64 {
                    ..POINTERS => write!(out, "{value:#x}")?,
                    number => write!(out, "{number}")?,
                },
            }
        }
        for field in pair.open_pairs().begun() {
            write!(out, " {}=", Plain(probe.begun_name(field.index)))?;
            show_value(field, one, out, &mut names)?;
        }
        out.write_char('\n')?;
    }
    let younger = open.count.saturating_sub(open.oldest.len());
    if younger > 0 {
        writeln!(out, "\t... and {younger} younger")?;
    }
    Ok(())
}

/// Returns whether numbers of this type are not shown in decimal.
fn is_special(base: Type) -> bool {
    base.is_number() && !matches!(base.shown(), Shown::Unsigned | Shown::Signed)
}

/// Writes a field of a beginning.
fn show_value(
    field: &BegunField,
    one: &OpenBeginning,
    out: &mut dyn fmt::Write,
    names: &mut dyn SymbolNames,
) -> fmt::Result {
    let words = one.words.iter().skip(usize::from(field.start));
    if !field.is_text {
        let value = words.copied().next().unwrap_or(0);
        return show_number((field.shown, value), out, names);
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

/// Writes a number as `trace` shows values of its type.
fn show_number(
    (base, value): (Type, u64),
    out: &mut dyn fmt::Write,
    names: &mut dyn SymbolNames,
) -> fmt::Result {
    let mut room = [0; LONGEST];
    let mut buf = SeqBuf::new(&mut room);
    put_number(&mut buf, base, value, names);
    let length = buf.finish().unwrap_or(0);
    write!(out, "{}", OneLine(room.get(..length).unwrap_or_default()))
}
