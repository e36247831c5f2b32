// SPDX-License-Identifier: GPL-2.0

//! Prints a histogram as bars, like bpftrace: the file `hist_graph`.
//!
//! The bars show the last key with a [power of two or a bucket](Modifier), one group of bars for
//! each combination of the other keys. Empty powers of two between others are shown. Without such a
//! key each entry has a bar. Entries are sorted by their keys.

use core::cmp::Ordering;
use core::fmt::{self, Write};
use core::ops::Deref;

use super::bar::{percentage, write_bar};
use super::column::{Column, Modifier, BELOW_ZERO};
use super::names::KeyNames;
use super::order;
use super::read::{ReadRow, Snapshot};
use super::spec::Spec;
use super::stop::Stop;
use super::update::Histogram;
use crate::sys::Vec;

/// Width of a bar in characters.
const WIDTH: u64 = 52;

/// The state of printing bars.
pub(super) struct Bars {
    /// The key that the bars show, and its modifier.
    scale: Option<(usize, Modifier)>,
    /// The entries, sorted by group, then by the key; empty without such a key.
    order: Vec<u32>,
    /// The most hits of a bar, in the group or in all entries.
    most: u64,
    /// The step after the group's last bar; `None` at the start of a group.
    next: Option<u64>,
}

impl Bars {
    /// Sorts the entries of `snapshot`.
    ///
    /// # Errors
    ///
    /// [`Stop`].
    ///
    /// Context: process, may sleep.
    pub(super) fn new<H>(snapshot: &Snapshot<H>) -> Result<Self, Stop>
    where
        H: Deref<Target = Histogram>,
    {
        let scale = scale(snapshot.spec());
        let mut order = Vec::new();
        let Some((key, _)) = scale else {
            let hits = snapshot.rows().map(|row| row.hits);
            return Ok(Self {
                scale,
                order,
                most: hits.max().unwrap_or(0),
                next: None,
            });
        };
        for n in (0u32..).take(snapshot.entries()) {
            order.push(n)?;
        }
        order::sort(&mut order, |a, b| {
            match (row(snapshot, a), row(snapshot, b)) {
                (Some(a), Some(b)) => {
                    let group = compare_groups(snapshot, key, a, b);
                    group.then_with(|| snapshot.compare(Column::Key(key), a, b))
                }
                _ => Ordering::Equal,
            }
        })?;
        Ok(Self {
            scale,
            order,
            most: 0,
            next: None,
        })
    }

    /// Writes the bar of entry `n`, and the headings and empty bars before it.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    ///
    /// Context: process, may sleep.
    pub(super) fn write<H: Deref<Target = Histogram>>(
        &mut self,
        snapshot: &Snapshot<H>,
        n: usize,
        out: &mut dyn Write,
        names: &mut dyn KeyNames,
    ) -> fmt::Result {
        let Some((key, modifier)) = self.scale else {
            let Some(row) = snapshot.nth(n) else {
                return Ok(());
            };
            snapshot.write_keys(out, row, names, |_| true)?;
            return write_count(out, row.hits, self.most);
        };
        let nth = |n: usize| self.order.get(n).and_then(|&number| row(snapshot, number));
        let Some(own) = nth(n) else {
            return Ok(());
        };
        let is_of_group = |other| compare_groups(snapshot, key, own, other).is_eq();
        let before = n.checked_sub(1).and_then(nth);
        if !before.is_some_and(is_of_group) {
            let group = (n..).map_while(nth).take_while(|&row| is_of_group(row));
            let most = group.map(|row| row.hits).max().unwrap_or(0);
            if before.is_some() {
                out.write_char('\n')?;
            }
            if snapshot.spec().keys.len() > 1 {
                snapshot.write_keys(out, own, names, |n| n != key)?;
                out.write_char('\n')?;
            }
            (self.most, self.next) = (most, None);
        }
        let step = snapshot.key(key, own).get(0);
        if let Some(next) = self.next.filter(|_| is_log2(modifier)) {
            for empty in next..step {
                write_range(out, modifier, empty)?;
                write_count(out, 0, self.most)?;
            }
        }
        // The step after the negative one is 0.
        self.next = Some(step.wrapping_add(1));
        write_range(out, modifier, step)?;
        write_count(out, own.hits, self.most)
    }
}

fn is_log2(modifier: Modifier) -> bool {
    matches!(modifier, Modifier::Log2 | Modifier::SignedLog2)
}

/// Returns the index of the key that the bars show, and its modifier.
fn scale(spec: &Spec) -> Option<(usize, Modifier)> {
    let keys = spec.keys.iter().map(|key| key.modifier).enumerate();
    let is_scale = |modifier: Modifier| is_log2(modifier) || modifier.bucket().is_some();
    keys.filter(|(_, modifier)| is_scale(*modifier)).last()
}

/// Returns entry `number`.
fn row<H: Deref<Target = Histogram>>(snapshot: &Snapshot<H>, number: u32) -> Option<ReadRow<'_>> {
    // CAST: as many as there are in memory.
    snapshot.nth(number as usize)
}

/// Compares all keys except `scale`.
fn compare_groups<H: Deref<Target = Histogram>>(
    snapshot: &Snapshot<H>,
    scale: usize,
    a: ReadRow<'_>,
    b: ReadRow<'_>,
) -> Ordering {
    let others = (0..snapshot.spec().keys.len()).filter(|n| *n != scale);
    let mut orders = others.map(|n| snapshot.compare(Column::Key(n), a, b));
    let decided = orders.find(|order| order.is_ne());
    decided.unwrap_or(Ordering::Equal)
}

/// Writes the range of numbers of a step, padded to a column.
fn write_range(out: &mut dyn Write, modifier: Modifier, step: u64) -> fmt::Result {
    let mut range = Range {
        bytes: [0; 48],
        length: 0,
    };
    match (modifier, step) {
        (Modifier::SignedLog2, BELOW_ZERO) => range.write_str("(..., 0)")?,
        (Modifier::Log2 | Modifier::SignedLog2, 0) => range.write_str("[0, 1]")?,
        (Modifier::Log2 | Modifier::SignedLog2, _) => {
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
        (Modifier::SignedBuckets(size), _) => {
            // CAST: two's complement.
            let start = i128::from(step as i64);
            write!(
                range,
                "[{start}, {})",
                start.saturating_add(size.get().into())
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

/// Writes 2 to the power of `exponent`, with a unit from 1024 on: `4K`.
fn power(out: &mut dyn Write, exponent: u64) -> fmt::Result {
    let (unit, rest) = (exponent / 10, exponent % 10);
    let units = ["", "K", "M", "G", "T", "P", "E"];
    let unit = usize::try_from(unit).ok().and_then(|n| units.get(n));
    // CAST: less than 10.
    write!(out, "{}{}", 1u32 << (rest as u32), unit.unwrap_or(&"?"))
}

/// Writes the number of hits and the bar.
fn write_count(out: &mut dyn Write, hits: u64, most: u64) -> fmt::Result {
    write!(out, " {hits:10} |")?;
    let share = percentage(hits, most).unwrap_or(0);
    write_bar(out, '@', share.saturating_mul(WIDTH) / 10_000, WIDTH)?;
    out.write_str("|\n")
}

/// A short text without allocation.
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
