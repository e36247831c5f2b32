// SPDX-License-Identifier: GPL-2.0

//! Prints a histogram as the kernel's `hist` file does.

use core::fmt::{self, Write};

use super::read::{Row, Snapshot};
use super::spec::{Fold, Key, Modifier, Source, Value};
use crate::engine::print::SymbolNames;
use crate::engine::seq_buf::SeqBuf;
use crate::engine::text::OneLine;

/// The names that a histogram shows.
pub trait Names: SymbolNames {
    /// Adds the name of the system call with this number, `sys_NAME`; returns false if there
    /// is none.
    fn syscall(&mut self, number: u64, buf: &mut SeqBuf<'_>) -> bool;
}

/// What is written before the entries.
#[derive(Clone, Copy, Debug)]
pub struct Heading<'a> {
    /// The filter of the trigger.
    pub filter: Option<&'a [u8]>,
    /// Whether the histogram is paused.
    pub is_paused: bool,
    /// The number of histograms of the event that were written before.
    pub index: usize,
}

/// Frames of a stack are written behind so many blanks.
const INDENT: usize = 9;

/// Characters of a bar.
const BAR: u64 = 20;

/// Longest name that is shown: of a symbol with its offset and module.
const LONGEST_NAME: usize = 768;

impl Snapshot<'_> {
    /// Writes what `hist` shows.
    ///
    /// Context: process, may sleep.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write(
        &self,
        out: &mut dyn Write,
        heading: Heading<'_>,
        names: &mut dyn Names,
    ) -> fmt::Result {
        self.write_heading(out, heading)?;
        for row in self.rows() {
            self.write_row(out, row, names)?;
        }
        self.write_totals(out)
    }

    pub(super) fn write_heading(&self, out: &mut dyn Write, heading: Heading<'_>) -> fmt::Result {
        if heading.index > 0 {
            out.write_str("\n\n")?;
        }
        out.write_str("# event histogram\n#\n# trigger info: ")?;
        self.spec
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

    fn write_row(&self, out: &mut dyn Write, row: Row<'_>, names: &mut dyn Names) -> fmt::Result {
        let is_shown = |_| true;
        self.write_keys(out, row, names, is_shown)?;
        if !self.spec.hides_hits {
            write!(out, " hitcount: {:10}", row.hits)?;
        }
        for (n, value) in self.spec.values.iter().enumerate() {
            out.write_str("  ")?;
            self.write_value(out, (n, value), row)?;
        }
        out.write_char('\n')
    }

    /// Writes `{ KEY: VALUE, ... }` with the keys that `is_shown` selects by their index.
    pub(super) fn write_keys(
        &self,
        out: &mut dyn Write,
        row: Row<'_>,
        names: &mut dyn Names,
        is_shown: impl Fn(usize) -> bool,
    ) -> fmt::Result {
        out.write_str("{ ")?;
        let mut ends_line = false;
        let mut is_first = true;
        for (n, key) in self
            .spec
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
                Source::Stack => {
                    ends_line = true;
                    write_stack(out, words, names)?;
                }
                Source::Text { .. } | Source::Comm => {
                    write!(out, "{}: ", OneLine(&key.name))?;
                    let length = write_text(out, words)?;
                    pad(out, length, 50)?;
                }
                _ => {
                    let number = words.first().copied().unwrap_or(0);
                    write!(out, "{}: ", OneLine(&key.name))?;
                    write_number(out, key, number, row, names)?;
                }
            }
        }
        out.write_str(if ends_line { "}" } else { " }" })
    }

    fn write_value(
        &self,
        out: &mut dyn Write,
        (n, value): (usize, &Value),
        row: Row<'_>,
    ) -> fmt::Result {
        let name = OneLine(&value.name);
        // A value that is the number of hits is counted as any other.
        let number = row.value(n, value);
        match (value.fold, value.modifier) {
            (Fold::Sum, Modifier::Percent) => match percentage(number, self.total(n, value)) {
                None => write!(out, "{name} (%):[ERROR]"),
                Some(share) => {
                    let (whole, part) = (share / 100, share % 100);
                    write!(out, "{name} (%): {whole:3}.{part:02}")
                }
            },
            (Fold::Sum, Modifier::Graph) => {
                write!(out, "{name}: ")?;
                match percentage(number, self.most(n, value)) {
                    None => write!(out, "{:>20}", "[ERROR]"),
                    Some(share) => write_bar(out, '#', share.saturating_mul(BAR) / 10_000, BAR),
                }
            }
            (Fold::Sum, Modifier::Hex) => write!(out, "{name}: {number:10x}"),
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

    /// Returns the sum of a value over all entries.
    fn total(&self, n: usize, value: &Value) -> u64 {
        let all = self.rows().map(|row| row.value(n, value));
        all.fold(0, u64::wrapping_add)
    }

    /// Returns the greatest value of all entries.
    fn most(&self, n: usize, value: &Value) -> u64 {
        self.rows()
            .map(|row| row.value(n, value))
            .max()
            .unwrap_or(0)
    }
}

/// Returns 10,000 times the quotient, as the kernel rounds it; `None` if the whole is too
/// small.
pub(super) fn percentage(part: u64, whole: u64) -> Option<u64> {
    if whole == 0 {
        return (part == 0).then_some(0);
    }
    if part < u64::MAX / 10_000 {
        return part.saturating_mul(10_000).checked_div(whole);
    }
    part.checked_div(whole / 10_000)
}

/// Writes `length` marks and blanks up to `width`.
pub(super) fn write_bar(out: &mut dyn Write, mark: char, length: u64, width: u64) -> fmt::Result {
    for n in 0..width {
        out.write_char(if n < length { mark } else { ' ' })?;
    }
    Ok(())
}

fn pad(out: &mut dyn Write, length: usize, width: usize) -> fmt::Result {
    for _ in length..width {
        out.write_char(' ')?;
    }
    Ok(())
}

/// Writes a text and returns its length.
fn write_text(out: &mut dyn Write, words: &[u64]) -> Result<usize, fmt::Error> {
    let mut bytes = [0u8; super::spec::TEXT_SIZE];
    for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
        for (to, byte) in to.iter_mut().zip(word.to_le_bytes()) {
            *to = byte;
        }
    }
    let end = bytes.iter().position(|&byte| byte == 0);
    let text = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
    write!(out, "{}", OneLine(text))?;
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

fn write_stack(out: &mut dyn Write, words: &[u64], names: &mut dyn Names) -> fmt::Result {
    out.write_str("common_stacktrace:\n")?;
    for &frame in words.iter().take_while(|&&frame| frame != 0) {
        pad(out, 0, INDENT)?;
        write_name(out, 0, |buf| names.symbolize(frame, true, buf))?;
        out.write_char('\n')?;
    }
    Ok(())
}

fn write_number(
    out: &mut dyn Write,
    key: &Key,
    number: u64,
    row: Row<'_>,
    names: &mut dyn Names,
) -> fmt::Result {
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
            let length = write_text(out, row.comm)?;
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
        Modifier::Log2 => write!(out, "~ 2^{number:<2}"),
        Modifier::Buckets(size) => {
            let last = number.wrapping_add(size.get()).wrapping_sub(1);
            write!(out, "~ {number}-{last}")
        }
        Modifier::None | Modifier::Usecs | Modifier::Percent | Modifier::Graph => {
            write!(out, "{number:10}")
        }
    }
}
