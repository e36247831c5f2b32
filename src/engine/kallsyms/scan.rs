// SPDX-License-Identifier: GPL-2.0

//! The functions whose names begin alike.

use super::{Index, Memory, Table, Tables};
use crate::engine::nearest::{Look, Outline};
use core::ops::Range;

/// The longest name; the kernel's `KSYM_NAME_LEN`.
const MAX_NAME: usize = 512;

/// A name, as far as it was expanded, with the letter of its type before it.
struct Name {
    bytes: [u8; MAX_NAME + 1],
    len: usize,
}

impl Name {
    fn push(&mut self, text: &[u8]) -> Option<()> {
        let end = self.len.checked_add(text.len())?;
        self.bytes.get_mut(self.len..end)?.copy_from_slice(text);
        self.len = end;
        Some(())
    }

    /// Returns the name, if it is a function's: in the text, global, local or weak.
    fn of_function(&self) -> Option<&[u8]> {
        let (&letter, name) = self.bytes.get(..self.len)?.split_first()?;
        is_function(letter).then_some(name)
    }
}

/// Returns whether a symbol of this type is a function.
fn is_function(letter: u8) -> bool {
    matches!(letter, b't' | b'T' | b'w' | b'W')
}

/// Calls `each` with the name and the address of every function in `text` whose name begins
/// with `prefix`; returns `None` if the table cannot be read.
///
/// A table of 150,000 symbols takes some milliseconds without a prefix, and a fraction of
/// that with one.
pub fn each_function<M: Memory>(
    (tables, index): (&Tables, &mut Index),
    memory: &mut M,
    (prefix, text): (&[u8], &Range<u64>),
    mut each: impl FnMut(&[u8], u64),
) -> Option<()> {
    let mut table = Table::new(tables, index, memory)?;
    let mut name = Name {
        bytes: [0; MAX_NAME + 1],
        len: 0,
    };
    let mut found = |table: &mut Table<'_, M>, symbol, function: &[u8]| {
        let address = table.address(symbol)?;
        if text.contains(&address) {
            each(function, address);
        }
        Some(())
    };
    if prefix.is_empty() {
        let mut at = tables.names;
        for symbol in 0..table.count {
            at = table.expand(at, &mut name)?;
            if let Some(function) = name.of_function() {
                found(&mut table, symbol, function)?;
            }
        }
        return Some(());
    }
    let first = table.first_from(prefix)?;
    for index in first..table.count {
        let symbol = table.in_order_of_names(index)?;
        let at = table.name(symbol)?;
        table.expand(at, &mut name)?;
        let whole = name.bytes.get(1..name.len).unwrap_or_default();
        if !whole.starts_with(prefix) {
            break;
        }
        if let Some(function) = name.of_function() {
            found(&mut table, symbol, function)?;
        }
    }
    Some(())
}

/// Calls `each` with the name of every function in `text` that may be similar to what `look` is
/// of; returns `None` if the table cannot be read.
pub fn each_like<M: Memory>(
    (tables, index): (&Tables, &mut Index),
    memory: &mut M,
    (look, text): (Look, &Range<u64>),
    mut each: impl FnMut(&[u8]),
) -> Option<()> {
    let mut table = Table::new(tables, index, memory)?;
    let mut name = Name {
        bytes: [0; MAX_NAME + 1],
        len: 0,
    };
    let mut at = tables.names;
    for symbol in 0..table.count {
        let (outline, next) = table.outline(at)?;
        if outline.is_some_and(|outline| look.may_be(&outline)) {
            table.expand(at, &mut name)?;
            if text.contains(&table.address(symbol)?) {
                each(name.of_function().unwrap_or_default());
            }
        }
        at = next;
    }
    Some(())
}

impl<M: Memory> Table<'_, M> {
    /// Returns the outline of the name at `at`, if it is a function's, and the address behind it.
    fn outline(&mut self, at: u64) -> Option<(Option<Outline>, u64)> {
        let (mut at, length) = self.names.length(self.memory, at)?;
        let end = at.checked_add(length)?;
        let mut outline = None;
        while at < end {
            // As far as the block goes.
            let block = self.names.rest(self.memory, at)?;
            let here = usize::try_from(end.checked_sub(at)?)
                .unwrap_or(usize::MAX)
                .min(block.len());
            let mut tokens = block.get(..here)?.iter();
            let mut sum = match outline {
                Some(sum) => sum,
                // The first letter is the symbol's type and no part of its name.
                None => {
                    let &token = tokens.next()?;
                    let letter = *self.index.text(token).first()?;
                    if !is_function(letter) {
                        return Some((None, end));
                    }
                    let [_, rest] = self.index.outlines(token)?;
                    *rest
                }
            };
            for &token in tokens {
                let [whole, _] = self.index.outlines(token)?;
                sum.append(whole);
            }
            outline = Some(sum);
            // CAST: Lossless.
            at = at.checked_add(here as u64)?;
        }
        Some((outline, end))
    }

    /// Expands the name at `at`, and returns the address behind it.
    fn expand(&mut self, at: u64, name: &mut Name) -> Option<u64> {
        let (mut at, mut length) = self.names.length(self.memory, at)?;
        name.len = 0;
        while length > 0 {
            // As far as the block goes.
            let block = self.names.rest(self.memory, at)?;
            let here = usize::try_from(length)
                .unwrap_or(usize::MAX)
                .min(block.len());
            for &token in block.get(..here)? {
                name.push(self.index.text(token))?;
            }
            // CAST: Lossless.
            at = at.checked_add(here as u64)?;
            length = length.checked_sub(here as u64)?;
        }
        Some(at)
    }
}
