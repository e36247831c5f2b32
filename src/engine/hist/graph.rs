// SPDX-License-Identifier: GPL-2.0

//! Prints a histogram as bars, like bpftrace: the file `hist_graph`.
//!
//! The bars show the last key with a [power of two or a bucket](Modifier), one group of bars for
//! each combination of the other keys. Empty powers of two between others are shown. Below a group
//! are the ranges of its [percentiles](PERCENTILES). Without such a key each entry has a bar. Entries
//! are sorted by their keys.

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

/// Percentages of a group's hits whose numbers the range that is shown, or one before it, has.
const PERCENTILES: [u64; 3] = [50, 90, 99];

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
    /// The first entry of the group.
    first: usize,
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
                first: 0,
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
            first: 0,
        })
    }

    /// Writes the bar of entry `n`, with the headings and empty bars before it, and the percentiles
    /// of a group that it ends.
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
            (self.most, self.next, self.first) = (most, None, n);
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
        write_count(out, own.hits, self.most)?;
        if n.checked_add(1).and_then(nth).is_some_and(is_of_group) {
            return Ok(());
        }
        let entry = |n: usize| nth(n).map(|row| (snapshot.key(key, row).get(0), row.hits));
        write_percentiles(out, modifier, (self.first, n), &entry)
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

/// Writes a line with the [`PERCENTILES`] of the entries from `first` to `last`, which are sorted;
/// `entry` returns the step of an entry and its hits.
fn write_percentiles(
    out: &mut dyn Write,
    modifier: Modifier,
    (first, last): (usize, usize),
    entry: &dyn Fn(usize) -> Option<(u64, u64)>,
) -> fmt::Result {
    let mut all = 0u64;
    for n in first..=last {
        let (_, hits) = entry(n).unwrap_or_default();
        all = all.saturating_add(hits);
    }
    // Of a division of such numbers, the kernel has no function.
    let times = |count: u64, factor: u64| u128::from(count).wrapping_mul(factor.into());
    let mut separator = "";
    for percent in PERCENTILES {
        let mut counted = 0u64;
        for n in first..=last {
            let (step, hits) = entry(n).unwrap_or_default();
            counted = counted.saturating_add(hits);
            if times(counted, 100) >= times(all, percent) {
                write!(out, "{separator}p{percent} {}", Range(modifier, step))?;
                separator = "   ";
                break;
            }
        }
    }
    writeln!(out, "{separator}of {all} hits")
}

/// The numbers of a step.
struct Range(Modifier, u64);

impl fmt::Display for Range {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(modifier, step) = *self;
        match (modifier, step) {
            (Modifier::SignedLog2, BELOW_ZERO) => out.write_str("(..., 0)"),
            (Modifier::Log2 | Modifier::SignedLog2, 0) => out.write_str("[0, 1]"),
            (Modifier::Log2 | Modifier::SignedLog2, _) => {
                out.write_char('(')?;
                power(out, step.wrapping_sub(1))?;
                out.write_str(", ")?;
                power(out, step)?;
                out.write_char(']')
            }
            (Modifier::Buckets(size), _) => {
                let end = u128::from(step).saturating_add(size.get().into());
                write!(out, "[{step}, {end})")
            }
            (Modifier::SignedBuckets(size), _) => {
                // CAST: two's complement.
                let start = i128::from(step as i64);
                write!(
                    out,
                    "[{start}, {})",
                    start.saturating_add(size.get().into())
                )
            }
            _ => Ok(()),
        }
    }
}

/// Writes the range of numbers of a step, padded to a column.
fn write_range(out: &mut dyn Write, modifier: Modifier, step: u64) -> fmt::Result {
    let mut text = RangeText {
        bytes: [0; 48],
        length: 0,
    };
    write!(text, "{}", Range(modifier, step))?;
    for &byte in text.bytes.get(..text.length).unwrap_or_default() {
        out.write_char(char::from(byte))?;
    }
    for _ in text.length..16 {
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
struct RangeText {
    bytes: [u8; 48],
    length: usize,
}

impl Write for RangeText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            let to = self.bytes.get_mut(self.length).ok_or(fmt::Error)?;
            *to = byte;
            self.length = self.length.wrapping_add(1);
        }
        Ok(())
    }
}
