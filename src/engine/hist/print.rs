// SPDX-License-Identifier: GPL-2.0

//! Prints a histogram as the kernel's `hist` file does.

use core::fmt::{self, Write};
use core::ops::Deref;

use super::bar::{percentage, write_bar};
use super::column::{
    ArrayElement, Fold, Key, KeySource, Modifier, Value, BELOW_ZERO, CUT, HIGH_BIT, KEPT_FRAMES,
    MAX_KEY_WORDS, TEXT_SIZE,
};
use super::graph::Bars;
use super::names::KeyNames;
use super::read::{ReadRow, Snapshot, Words};
use super::source::extend;
use super::stop::Stop;
use super::update::Histogram;
use crate::engine::print::put_enum_number;
use crate::engine::util::address;
use crate::engine::util::errno;
use crate::engine::util::seq_buf::SeqBuf;
use crate::engine::util::text::{Appender, OneLine};
use crate::sys::Vec;

/// The lines before the entries.
#[derive(Clone, Copy, Debug)]
pub struct Heading<'a> {
    /// The filter of the trigger.
    pub filter: Option<&'a [u8]>,
    /// Whether the histogram is paused.
    pub is_paused: bool,
    /// The number of histograms that were written before, of the same event.
    pub index: usize,
}

/// Blanks before each frame of a stack.
const INDENT: usize = 9;

/// Width of a bar in characters.
const BAR: u64 = 20;

/// Longest name that is shown, of a symbol with offset and module.
const LONGEST_NAME: usize = 768;

/// Replaces the remaining entries if the histogram is cleared while it is read.
const CLEARED: &str = "\n# cleared while it was read: the entries above were there before\n";

/// Writes a histogram entry by entry.
pub struct Printing<H> {
    snapshot: Snapshot<H>,
    bars: Option<Bars>,
    /// The next part: 0 is the heading, then come the entries, then the totals.
    next: usize,
}

impl<H> Printing<H> {
    /// Replaces the reference to the histogram by `histogram`, another reference to the same one.
    /// With `()`, the histogram is no longer kept alive.
    pub fn refer_by<G>(self, histogram: G) -> Printing<G> {
        let snapshot = self.snapshot.refer_by(histogram);
        Printing {
            snapshot,
            bars: self.bars,
            next: self.next,
        }
    }
}

impl<H: Deref<Target = Histogram>> Printing<H> {
    /// Begins to print `snapshot`, as `hist_graph` if `as_graph`, otherwise as `hist`.
    ///
    /// # Errors
    ///
    /// [`Stop`].
    ///
    /// Context: process, may sleep.
    pub fn new(snapshot: Snapshot<H>, as_graph: bool) -> Result<Self, Stop> {
        let bars = as_graph.then(|| Bars::new(&snapshot));
        Ok(Self {
            bars: bars.transpose()?,
            snapshot,
            next: 0,
        })
    }

    /// Writes the next part to `out`: heading, entry or totals. Returns false at the end. If the
    /// histogram was cleared meanwhile, the last part says so.
    ///
    /// # Errors
    ///
    /// No memory.
    ///
    /// Context: process, may sleep.
    pub fn write_next(
        &mut self,
        out: &mut Vec<u8>,
        heading: Heading<'_>,
        names: &mut dyn KeyNames,
    ) -> Result<bool, fmt::Error> {
        let (start, is_heading) = (out.len(), self.next == 0);
        let is_part = self.write_part(&mut Appender(out), heading, names)?;
        if is_part && !is_heading && self.snapshot.is_cleared() {
            out.truncate(start);
            self.next = usize::MAX;
            Appender(out).write_str(CLEARED)?;
        }
        Ok(is_part)
    }

    fn write_part(
        &mut self,
        out: &mut dyn Write,
        heading: Heading<'_>,
        names: &mut dyn KeyNames,
    ) -> Result<bool, fmt::Error> {
        let Self {
            snapshot,
            bars,
            next,
        } = self;
        match next.checked_sub(1) {
            None => snapshot.write_heading(out, heading)?,
            Some(n) if n < snapshot.entries() => match bars {
                Some(bars) => bars.write(snapshot, n, out, names)?,
                None => {
                    if let Some(row) = snapshot.nth(n) {
                        snapshot.write_row(out, row, names)?;
                    }
                }
            },
            Some(n) if n == snapshot.entries() => {
                snapshot.write_taken(out, names)?;
                snapshot.write_totals(out)?;
            }
            Some(_) => return Ok(false),
        }
        *next = next.saturating_add(1);
        Ok(true)
    }
}

impl<H: Deref<Target = Histogram>> Snapshot<H> {
    pub(super) fn write_heading(&self, out: &mut dyn Write, heading: Heading<'_>) -> fmt::Result {
        if heading.index > 0 {
            out.write_str("\n\n")?;
        }
        out.write_str("# event histogram\n#\n# trigger info: ")?;
        self.spec()
            .write_line(out, heading.filter, heading.is_paused)?;
        out.write_str("#\n\n")
    }

    pub(super) fn write_totals(&self, out: &mut dyn Write) -> fmt::Result {
        let (hits, entries, dropped) = (self.hits(), self.entries(), self.dropped());
        writeln!(
            out,
            "\nTotals:\n    Hits: {hits}\n    Entries: {entries}\n    Dropped: {dropped}"
        )
    }

    fn write_row(
        &self,
        out: &mut dyn Write,
        row: ReadRow<'_>,
        names: &mut dyn KeyNames,
    ) -> fmt::Result {
        let is_shown = |_| true;
        self.write_keys(out, row, names, is_shown)?;
        if !self.spec().hides_hits {
            write!(out, " hitcount: {:10}", row.hits)?;
        }
        for (n, value) in self.spec().values.iter().enumerate() {
            out.write_str("  ")?;
            self.write_value(out, (n, value), row)?;
        }
        self.write_tracked(out, row)?;
        out.write_char('\n')
    }

    /// Writes `{ KEY: VALUE, ... }` with the keys whose index `is_shown` accepts.
    pub(super) fn write_keys(
        &self,
        out: &mut dyn Write,
        row: ReadRow<'_>,
        names: &mut dyn KeyNames,
        is_shown: impl Fn(usize) -> bool,
    ) -> fmt::Result {
        out.write_str("{ ")?;
        let mut ends_line = false;
        let mut is_first = true;
        for (n, key) in self
            .spec()
            .keys
            .iter()
            .enumerate()
            .filter(|(n, _)| is_shown(*n))
        {
            if !is_first {
                out.write_str(", ")?;
            }
            is_first = false;
            let words = self.key(n, row);
            match key.source {
                KeySource::Stack => {
                    ends_line = true;
                    write_stack(out, words, names)?;
                }
                KeySource::UserStack => {
                    ends_line = true;
                    write_user_stack(out, words)?;
                }
                KeySource::Array { of, .. } => {
                    write!(out, "{}: ", OneLine(&key.name))?;
                    let (_, signed) = key.source.shape();
                    match (of, key.modifier) {
                        (ArrayElement::Char, _) => write_chars(out, words)?,
                        (_, modifier @ (Modifier::Ip6 | Modifier::Mac)) => {
                            write_address(out, words, modifier == Modifier::Ip6)?;
                        }
                        (_, Modifier::Hex) => write_elements(out, words, (true, false))?,
                        _ => write_elements(out, words, (false, signed))?,
                    }
                }
                KeySource::Text { .. } | KeySource::Comm => {
                    write!(out, "{}: ", OneLine(&key.name))?;
                    let length = write_text(out, words.iter())?;
                    pad(out, length, 50)?;
                }
                _ => {
                    write!(out, "{}: ", OneLine(&key.name))?;
                    write_number(out, key, words.get(0), row, names)?;
                }
            }
        }
        out.write_str(if ends_line { "}" } else { " }" })
    }

    fn write_value(
        &self,
        out: &mut dyn Write,
        (n, value): (usize, &Value),
        row: ReadRow<'_>,
    ) -> fmt::Result {
        let name = OneLine(&value.name);
        // A value that is `hitcount` is treated like any other.
        let number = row.value(n, value);
        match (value.fold, value.modifier) {
            (Fold::Sum, Modifier::Percent) => {
                let (part, is_negative) = size(number, value.is_signed());
                let (whole, is_of_negative) = size(self.sum(n), value.is_signed());
                match percentage(part, whole) {
                    None => write!(out, "{name} (%):[ERROR]"),
                    Some(share) => {
                        let (whole, part) = (share / 100, share % 100);
                        let has_sign = is_negative != is_of_negative && share != 0;
                        let width = if whole > 9 { 1 } else { 2 };
                        match has_sign {
                            true => write!(out, "{name} (%): {:>width$}{whole}.{part:02}", '-'),
                            false => write!(out, "{name} (%): {whole:3}.{part:02}"),
                        }
                    }
                }
            }
            (Fold::Sum, Modifier::Graph) => {
                write!(out, "{name}: ")?;
                let (length, is_negative) = size(number, value.is_signed());
                let length = if is_negative { 0 } else { length };
                match percentage(length, self.most(n)) {
                    None => write!(out, "{:>20}", "[ERROR]"),
                    Some(share) => write_bar(out, '#', share.saturating_mul(BAR) / 10_000, BAR),
                }
            }
            (Fold::Sum, Modifier::Hex) => write!(out, "{name}: {number:10x}"),
            // CAST: two's complement.
            (Fold::Sum, _) if value.is_signed() => write!(out, "{name}: {:10}", number as i64),
            (Fold::Sum, _) => write!(out, "{name}: {number:10}"),
            (fold, _) => {
                write!(out, "{name} ({}): ", fold.name().unwrap_or_default())?;
                if value.is_signed() {
                    // CAST: two's complement.
                    write!(out, "{:10}", number as i64)
                } else {
                    write!(out, "{number:10}")
                }
            }
        }
    }
}

/// Returns absolute value and sign.
fn size(number: u64, signed: bool) -> (u64, bool) {
    // CAST: two's complement.
    let with_sign = number as i64;
    match signed {
        true => (with_sign.unsigned_abs(), with_sign < 0),
        false => (number, false),
    }
}

pub(super) fn pad(out: &mut dyn Write, length: usize, width: usize) -> fmt::Result {
    for _ in length..width {
        out.write_char(' ')?;
    }
    Ok(())
}

/// Writes a string and returns its length. A cut string gets the same mark as in `trace`.
pub(super) fn write_text(
    out: &mut dyn Write,
    words: impl Iterator<Item = u64>,
) -> Result<usize, fmt::Error> {
    const MARK: &str = "...";

    let mut bytes = [0u8; TEXT_SIZE];
    for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
        for (to, byte) in to.iter_mut().zip(word.to_le_bytes()) {
            *to = byte;
        }
    }
    let end = bytes.iter().position(|&byte| byte == 0);
    let is_cut = bytes.last() == Some(&CUT);
    let end = end.unwrap_or(bytes.len()).min(TEXT_SIZE - 1);
    let text = bytes.get(..end).unwrap_or_default();
    write!(out, "{}", OneLine(text))?;
    if is_cut {
        out.write_str(MARK)?;
        return Ok(text.len().saturating_add(MARK.len()));
    }
    Ok(text.len())
}

/// Writes a name that `put` adds to a buffer, padded to `width`.
fn write_name(out: &mut dyn Write, width: usize, put: impl FnOnce(&mut SeqBuf<'_>)) -> fmt::Result {
    let mut room = [0; LONGEST_NAME];
    let mut buf = SeqBuf::new(&mut room);
    put(&mut buf);
    let length = buf.finish().unwrap_or(0);
    let name = room.get(..length).unwrap_or_default();
    write!(out, "{}", OneLine(name))?;
    pad(out, length, width)
}

/// Writes an array of characters as a string, up to its first NUL.
fn write_chars(out: &mut dyn Write, words: Words<'_>) -> fmt::Result {
    let mut room = [0u8; MAX_KEY_WORDS];
    let mut length = 0;
    for (to, word) in room
        .iter_mut()
        .zip(words.iter().take_while(|word| *word != 0))
    {
        // CAST: a character.
        *to = word as u8;
        length += 1;
    }
    write!(out, "{}", OneLine(room.get(..length).unwrap_or_default()))?;
    pad(out, length, 50)
}

/// Writes the bytes of an address, IPv6 or MAC, as `trace` shows it.
fn write_address(out: &mut dyn Write, words: Words<'_>, is_ip6: bool) -> fmt::Result {
    let mut bytes = [0u8; address::IP6_LEN];
    let length = if is_ip6 {
        address::IP6_LEN
    } else {
        address::MAC_LEN
    };
    for (byte, word) in bytes.iter_mut().zip(words.iter()) {
        // CAST: an element has one byte.
        *byte = word as u8;
    }
    let bytes = bytes.get(..length).unwrap_or_default();
    write_name(out, 39, |buf| match is_ip6 {
        true => address::put_ip6(buf, bytes),
        false => address::put_mac(buf, bytes),
    })
}

/// Writes the elements of an array like `trace`: in hexadecimal, or signed.
fn write_elements(
    out: &mut dyn Write,
    words: Words<'_>,
    (hex, signed): (bool, bool),
) -> fmt::Result {
    for (n, word) in words.iter().enumerate() {
        out.write_char(if n == 0 { '{' } else { ',' })?;
        match (hex, signed) {
            (true, _) => write!(out, "{word:x}")?,
            // CAST: two's complement.
            (_, true) => write!(out, "{}", word as i64)?,
            _ => write!(out, "{word}")?,
        }
    }
    out.write_char('}')
}

fn write_stack(out: &mut dyn Write, words: Words<'_>, names: &mut dyn KeyNames) -> fmt::Result {
    out.write_str("common_stacktrace:\n")?;
    let frames = words.iter().take_while(|&frame| frame != 0);
    let mut is_cut = false;
    for (n, frame) in (1..).zip(frames) {
        is_cut = n == KEPT_FRAMES && frame & HIGH_BIT == 0;
        let frame = if is_cut { frame | HIGH_BIT } else { frame };
        pad(out, 0, INDENT)?;
        write_name(out, 0, |buf| names.symbolize(frame, true, buf))?;
        out.write_char('\n')?;
    }
    write_more(out, is_cut)
}

/// Writes a line in place of the frames beyond the kept ones, if there are any.
fn write_more(out: &mut dyn Write, is_cut: bool) -> fmt::Result {
    if is_cut {
        pad(out, 0, INDENT)?;
        out.write_str("...\n")?;
    }
    Ok(())
}

/// Writes the process, and the addresses in its memory, like the record of a user stack.
fn write_user_stack(out: &mut dyn Write, words: Words<'_>) -> fmt::Result {
    let first = words.get(0);
    let process = first & !HIGH_BIT;
    writeln!(out, "common_ustacktrace: process {process}")?;
    for frame in words.iter().skip(1).take_while(|&frame| frame != 0) {
        pad(out, 0, INDENT)?;
        writeln!(out, "<{frame:016x}>")?;
    }
    write_more(out, first != process)
}

/// Writes the name of `number`, or the number if the names of its bits are too long.
#[inline(never)]
fn write_enum(out: &mut dyn Write, key: &Key, number: u64) -> fmt::Result {
    let mut room = [0; LONGEST_NAME];
    let mut buf = SeqBuf::new(&mut room);
    if let Some(shape) = &key.names {
        put_enum_number(&mut buf, shape, number);
    }
    let Some(length) = buf.finish() else {
        return write!(out, "{number:#x}");
    };
    let name = room.get(..length).unwrap_or_default();
    write!(out, "{}", OneLine(name))?;
    pad(out, length, 10)
}

fn write_number(
    out: &mut dyn Write,
    key: &Key,
    number: u64,
    row: ReadRow<'_>,
    names: &mut dyn KeyNames,
) -> fmt::Result {
    let (width, is_signed) = key.source.shape();
    // CAST: two's complement.
    let signed = number as i64;
    match key.modifier {
        Modifier::Hex => write!(out, "{number:x}"),
        Modifier::Sym => {
            write!(out, "[{number:x}] ")?;
            write_name(out, 45, |buf| names.symbolize(number, false, buf))
        }
        Modifier::SymOffset => {
            write!(out, "[{number:x}] ")?;
            write_name(out, 55, |buf| names.symbolize(number, true, buf))
        }
        Modifier::Execname => {
            let length = write_text(out, row.comm().into_iter())?;
            pad(out, length, 16)?;
            write!(out, "[{number:10}]")
        }
        Modifier::Syscall => {
            write_name(out, 30, |buf| {
                if !names.syscall(number, buf) {
                    buf.text(b"unknown_syscall");
                }
            })?;
            write!(out, "[{number:3}]")
        }
        Modifier::SignedLog2 if number == BELOW_ZERO => out.write_str("< 0   "),
        Modifier::Log2 | Modifier::SignedLog2 => write!(out, "~ 2^{number:<2}"),
        Modifier::SignedBuckets(size) => {
            let last = i128::from(signed).saturating_add(size.get().into());
            write!(out, "~ {signed}-{}", last.saturating_sub(1))
        }
        Modifier::Errno => {
            // CAST: two's complement.
            let number = extend(number, width, true) as i64;
            match errno::name(number).filter(|name| !name.is_empty()) {
                // Padded to the width of a number.
                Some(name) => write!(out, "{:>1$}{name}", '-', 10usize.saturating_sub(name.len())),
                None => write!(out, "{number:10}"),
            }
        }
        // CAST: the number has 32 bits.
        Modifier::Ip4 => write_name(out, 15, |buf| address::put_ip4(buf, number as u32)),
        Modifier::Enum => write_enum(out, key, number),
        Modifier::Buckets(size) => {
            let last = number.saturating_add(size.get().wrapping_sub(1));
            write!(out, "~ {number}-{last}")
        }
        Modifier::None
        | Modifier::Usecs
        | Modifier::Percent
        | Modifier::Graph
        | Modifier::Ip6
        | Modifier::Mac => match is_signed {
            true => write!(out, "{signed:10}"),
            false => write!(out, "{number:10}"),
        },
    }
}
