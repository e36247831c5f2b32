// SPDX-License-Identifier: GPL-2.0

//! Prints a histogram as bars, like bpftrace: what `hist_graph` shows.
//!
//! The bars are of the last key that is a [power of two or a bucket](Modifier), one below
//! the other for each combination of the other keys. Powers of two that no hit had, between
//! those that some had, are shown, too. Without such a key each entry has a bar. Entries
//! are sorted by their keys.

use core::cmp::Ordering;
use core::fmt::{self, Write};

use super::order;
use super::print::{percentage, write_bar, Heading, Names};
use super::read::{Row, Snapshot};
use super::spec::Modifier;
use crate::sys::Vec;

/// Characters of a bar.
const WIDTH: u64 = 52;

impl Snapshot<'_> {
    /// Writes what `hist_graph` shows.
    ///
    /// Context: process, may sleep.
    ///
    /// # Errors
    ///
    /// The errors of `out`, and out of memory.
    pub fn write_graph(
        &self,
        out: &mut dyn Write,
        heading: Heading<'_>,
        names: &mut dyn Names,
    ) -> fmt::Result {
        self.write_heading(out, heading)?;
        match self.scale() {
            Some(scale) => self.write_groups(out, scale, names)?,
            None => {
                let most = self.rows().map(|row| row.hits).max().unwrap_or(0);
                for row in self.rows() {
                    self.write_keys(out, row, names, |_| true)?;
                    write_count(out, row.hits, most)?;
                }
            }
        }
        self.write_totals(out)
    }

    /// Returns the index of the key whose bars are shown, and its modifier.
    fn scale(&self) -> Option<(usize, Modifier)> {
        let keys = self.spec.keys.iter().map(|key| key.modifier).enumerate();
        let is_scale =
            |modifier: Modifier| matches!(modifier, Modifier::Log2 | Modifier::Buckets(_));
        keys.filter(|(_, modifier)| is_scale(*modifier)).last()
    }

    fn write_groups(
        &self,
        out: &mut dyn Write,
        (scale, modifier): (usize, Modifier),
        names: &mut dyn Names,
    ) -> fmt::Result {
        let mut rows: Vec<Row<'_>> = Vec::new();
        let mut numbers = Vec::new();
        for (n, row) in (0u32..).zip(self.rows()) {
            rows.push(row).map_err(|_| fmt::Error)?;
            numbers.push(n).map_err(|_| fmt::Error)?;
        }
        // CAST: as many as there are in memory.
        let row = |n: u32| rows.get(n as usize).copied();
        let compare = |a: u32, b: u32| match (row(a), row(b)) {
            (Some(a), Some(b)) => {
                let group = self.compare_groups(scale, a, b);
                group.then_with(|| self.step(scale, a).cmp(&self.step(scale, b)))
            }
            _ => Ordering::Equal,
        };
        order::sort(&mut numbers, compare).map_err(|_| fmt::Error)?;
        let mut rest = &numbers[..];
        let mut is_first = true;
        while let Some(first) = rest.first().and_then(|&n| row(n)) {
            let is_in =
                |n: &u32| row(*n).is_some_and(|row| self.compare_groups(scale, first, row).is_eq());
            let length = rest.iter().take_while(|&n| is_in(n)).count().max(1);
            let Some((group, behind)) = rest.split_at_checked(length) else {
                break;
            };
            rest = behind;
            if !is_first {
                out.write_char('\n')?;
            }
            is_first = false;
            if self.spec.keys.len() > 1 {
                self.write_keys(out, first, names, |n| n != scale)?;
                out.write_char('\n')?;
            }
            let group = group.iter().filter_map(|&n| row(n));
            self.write_bars(out, (scale, modifier), group)?;
        }
        Ok(())
    }

    /// Compares the other keys than `scale`.
    fn compare_groups(&self, scale: usize, a: Row<'_>, b: Row<'_>) -> Ordering {
        let others = (0..self.spec.keys.len()).filter(|n| *n != scale);
        let mut orders = others.map(|n| self.key(n, a).cmp(self.key(n, b)));
        let decided = orders.find(|order| order.is_ne());
        decided.unwrap_or(Ordering::Equal)
    }

    /// Returns the number of the key whose bars are shown.
    fn step(&self, scale: usize, row: Row<'_>) -> u64 {
        self.key(scale, row).first().copied().unwrap_or(0)
    }

    /// Writes the bars of one group, which is sorted.
    fn write_bars<'r>(
        &self,
        out: &mut dyn Write,
        (scale, modifier): (usize, Modifier),
        group: impl Iterator<Item = Row<'r>> + Clone,
    ) -> fmt::Result {
        let most = group.clone().map(|row| row.hits).max().unwrap_or(0);
        let mut next = None;
        for row in group {
            let step = self.step(scale, row);
            if let (Some(next), Modifier::Log2) = (next, modifier) {
                for empty in next..step {
                    write_range(out, modifier, empty)?;
                    write_count(out, 0, most)?;
                }
            }
            next = step.checked_add(1);
            write_range(out, modifier, step)?;
            write_count(out, row.hits, most)?;
        }
        Ok(())
    }
}

/// Writes the numbers that a key stands for, in a column.
fn write_range(out: &mut dyn Write, modifier: Modifier, step: u64) -> fmt::Result {
    let mut range = Range {
        bytes: [0; 48],
        length: 0,
    };
    match (modifier, step) {
        (Modifier::Log2, 0) => range.write_str("[0, 1]")?,
        (Modifier::Log2, _) => {
            let low = step.wrapping_sub(1);
            range.write_char('(')?;
            power(&mut range, low)?;
            range.write_str(", ")?;
            power(&mut range, step)?;
            range.write_char(']')?;
        }
        (Modifier::Buckets(size), _) => {
            write!(
                range,
                "[{step}, {})",
                u128::from(step).saturating_add(size.get().into())
            )?;
        }
        _ => {}
    }
    let text = range.bytes.get(..range.length).unwrap_or_default();
    for &byte in text {
        out.write_char(char::from(byte))?;
    }
    for _ in range.length..16 {
        out.write_char(' ')?;
    }
    Ok(())
}

/// Writes 2 to the power of `exponent`, from 1024 on as bpftrace does: `4K`.
fn power(out: &mut dyn Write, exponent: u64) -> fmt::Result {
    let (unit, rest) = (exponent / 10, exponent % 10);
    let units = ["", "K", "M", "G", "T", "P", "E"];
    let unit = usize::try_from(unit).ok().and_then(|n| units.get(n));
    // CAST: less than 10.
    write!(out, "{}{}", 1u32 << (rest as u32), unit.unwrap_or(&"?"))
}

/// Writes the number of hits and their bar.
fn write_count(out: &mut dyn Write, hits: u64, most: u64) -> fmt::Result {
    write!(out, " {hits:10} |")?;
    let share = percentage(hits, most).unwrap_or(0);
    write_bar(out, '@', share.saturating_mul(WIDTH) / 10_000, WIDTH)?;
    out.write_str("|\n")
}

/// A short text.
struct Range {
    bytes: [u8; 48],
    length: usize,
}

impl Write for Range {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            let to = self.bytes.get_mut(self.length).ok_or(fmt::Error)?;
            *to = byte;
            self.length = self.length.wrapping_add(1);
        }
        Ok(())
    }
}
