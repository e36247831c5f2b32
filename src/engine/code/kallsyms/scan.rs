// SPDX-License-Identifier: GPL-2.0

//! Scans the table for functions with a prefix, and for symbols with similar names.

use super::block::{Block, MANY};
use super::{index::TOKENS, NameIndex, SymbolTable, TableMemory, Tables};
use crate::engine::refusal::suggest::distance::{Look, Outline};
use core::ops::Range;

/// The longest name; the kernel's `KSYM_NAME_LEN`.
const MAX_NAME: usize = 512;

/// A name, expanded as far as needed, behind the letter of its type.
struct ScannedName {
    bytes: [u8; MAX_NAME + 1],
    len: usize,
}

impl ScannedName {
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
/// with `prefix`, until it returns false; returns `None` if the table cannot be read.
///
/// A table of 150,000 symbols takes some milliseconds without a prefix, and a fraction of
/// that with one.
pub fn each_function<M: TableMemory>(
    (tables, index): (&Tables, &mut NameIndex),
    memory: &mut M,
    (prefix, text): (&[u8], &Range<u64>),
    mut each: impl FnMut(&[u8], u64) -> bool,
) -> Option<()> {
    let mut table = SymbolTable::new(tables, index, memory)?;
    let mut name = ScannedName {
        bytes: [0; MAX_NAME + 1],
        len: 0,
    };
    let mut found = |table: &mut SymbolTable<'_, M>, symbol, function: &[u8]| {
        let address = table.address(symbol)?;
        Some(!text.contains(&address) || each(function, address))
    };
    if prefix.is_empty() {
        let mut at = tables.names;
        for symbol in 0..table.count {
            at = table.expand(at, &mut name)?;
            if let Some(function) = name.of_function() {
                if !found(&mut table, symbol, function)? {
                    break;
                }
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
            if !found(&mut table, symbol, function)? {
                break;
            }
        }
    }
    Some(())
}

/// The symbols to search.
#[derive(Clone, Copy)]
pub enum Sought<'a> {
    /// Functions in this range, the text.
    Functions(&'a Range<u64>),
    /// All symbols outside this range. Their types do not help: in some kernels, `jiffies` and
    /// `init_task` have the type of functions.
    Data(&'a Range<u64>),
}

impl Sought<'_> {
    fn has_type(self, letter: u8) -> bool {
        matches!(self, Self::Data(_)) || is_function(letter)
    }

    fn has_address(self, address: u64) -> bool {
        match self {
            Self::Functions(text) => text.contains(&address),
            Self::Data(text) => !text.contains(&address),
        }
    }
}

/// Calls `each` with the name of every symbol in `sought` that may be similar to the name of
/// `look`; returns `None` if the table cannot be read.
///
/// A table of 200,000 symbols takes some milliseconds.
#[inline(never)]
pub fn each_like<M: TableMemory>(
    (tables, index): (&Tables, &mut NameIndex),
    memory: &mut M,
    (look, sought): (Look, Sought<'_>),
    mut each: impl FnMut(&[u8]),
) -> Option<()> {
    let mut types = [false; TOKENS];
    for (token, is_sought) in (0..=u8::MAX).zip(&mut types) {
        let letter = index.text(token).first();
        *is_sought = letter.is_some_and(|letter| sought.has_type(*letter));
    }
    let mut table = SymbolTable::new(tables, index, memory)?;
    let mut names = Block::<MANY>::EMPTY;
    let mut name = ScannedName {
        bytes: [0; MAX_NAME + 1],
        len: 0,
    };
    let (mut at, mut symbol) = (tables.names, 0);
    while symbol < table.count {
        let block = names.rest(table.memory, at)?;
        let (wholes, firsts) = table.index.outlines()?;
        let tokens = Tokens {
            types: &types,
            wholes,
            firsts,
        };
        let (count, len) = tokens.unlike(&look, block, table.count.checked_sub(symbol)?);
        symbol = symbol.checked_add(count)?;
        // CAST: Lossless.
        at = at.checked_add(len as u64)?;
        if symbol == table.count {
            break;
        }
        at = table.expand(at, &mut name)?;
        let (&letter, name) = name.bytes.get(..name.len)?.split_first()?;
        if sought.has_type(letter) && sought.has_address(table.address(symbol)?) {
            each(name);
        }
        symbol = symbol.checked_add(1)?;
    }
    Some(())
}

/// Number of tokens behind the first that are checked before the rest: about ten letters.
const START: usize = 5;

/// Properties of each token.
struct Tokens<'a> {
    /// Whether names of sought symbols begin with the token.
    types: &'a [bool; TOKENS],
    wholes: &'a [Outline; TOKENS],
    /// Without the first letter.
    firsts: &'a [Outline; TOKENS],
}

impl Tokens<'_> {
    /// Returns the number of names at the start of `block`, at most `count`, that cannot be similar
    /// to the name of `look`, and their length. The next name may be similar, or must be checked
    /// because it is long or crosses the end of the block.
    #[inline]
    fn unlike(&self, look: &Look, block: &[u8], count: u32) -> (u32, usize) {
        let mut rest = block;
        for passed in 0..count {
            let name = rest.split_first().and_then(|(&length, behind)| {
                let is_short = length & 0x80 == 0;
                is_short.then(|| behind.split_at_checked(usize::from(length)))?
            });
            match name {
                Some((tokens, behind)) if !self.may_be(look, tokens) => rest = behind,
                _ => return (passed, block.len().saturating_sub(rest.len())),
            }
        }
        (count, block.len().saturating_sub(rest.len()))
    }

    #[inline]
    fn may_be(&self, look: &Look, tokens: &[u8]) -> bool {
        let Some((&first, tokens)) = tokens.split_first() else {
            return false;
        };
        let first = usize::from(first);
        let (Some(true), Some(outline)) = (self.types.get(first), self.firsts.get(first)) else {
            return false;
        };
        // The first letters rule out most names.
        let (start, rest) = tokens.split_at_checked(START).unwrap_or((tokens, &[]));
        let outline = self.append(*outline, start);
        !look.rules_out(&outline) && look.may_be(&self.append(outline, rest))
    }

    #[inline]
    fn append(&self, mut outline: Outline, tokens: &[u8]) -> Outline {
        for &token in tokens {
            if let Some(whole) = self.wholes.get(usize::from(token)) {
                outline.append(whole);
            }
        }
        outline
    }
}

impl<M: TableMemory> SymbolTable<'_, M> {
    /// Expands the name at `at`, and returns the address behind it.
    fn expand(&mut self, at: u64, name: &mut ScannedName) -> Option<u64> {
        let (mut at, mut length) = self.names.length(self.memory, at)?;
        name.len = 0;
        while length > 0 {
            // Up to the end of the block.
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
