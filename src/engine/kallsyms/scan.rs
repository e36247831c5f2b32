// SPDX-License-Identifier: GPL-2.0

//! The functions whose names begin alike.

use super::{Memory, Seen, Table, Tables};
use crate::engine::nearest::{self, Look};
use crate::sys::{AllocError, Vec};
use core::ops::Range;

/// The number of tokens.
const TOKENS: usize = 256;

/// Most bytes of a token's text that are read; all others are shorter.
const MAX_TOKEN: usize = 128;

/// The longest name; the kernel's `KSYM_NAME_LEN`.
const MAX_NAME: usize = 512;

/// The texts of the tokens, read once for all names.
pub struct Texts {
    bytes: Vec<u8>,
    index: [u16; TOKENS],
    /// Length and letters of each token: of all of it, and without the first letter.
    looks: Vec<[(usize, u64); 2]>,
}

impl Texts {
    /// Reads the texts; `None` if they cannot be read.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn read<M: Memory>(tables: &Tables, memory: &mut M) -> Result<Option<Self>, AllocError> {
        let mut raw = [0; 2 * TOKENS];
        if !memory.read(tables.token_index, &mut raw) {
            return Ok(None);
        }
        let mut index = [0; TOKENS];
        for (to, from) in index.iter_mut().zip(raw.chunks_exact(2)) {
            if let [low, high] = *from {
                *to = u16::from_le_bytes([low, high]);
            }
        }
        let len = usize::from(index.iter().copied().max().unwrap_or(0)).saturating_add(MAX_TOKEN);
        let mut bytes = Vec::with_capacity(len)?;
        let mut block = [0; MAX_TOKEN];
        // Block by block: the last one may lie behind the table.
        while bytes.len() < len {
            let at = tables.token_table.wrapping_add(bytes.len() as u64);
            // What cannot be read is behind the table.
            if !memory.read(at, &mut block) {
                break;
            }
            bytes.extend_from_slice(&block)?;
        }
        let mut texts = Self {
            bytes,
            index,
            looks: Vec::with_capacity(TOKENS)?,
        };
        for token in 0..=u8::MAX {
            let text = texts.of(token);
            let look = |text: &[u8]| (text.len(), nearest::letters(text));
            let looks = [look(text), look(text.get(1..).unwrap_or_default())];
            texts.looks.push(looks)?;
        }
        Ok(Some(texts))
    }

    /// Returns the text of a token.
    fn of(&self, token: u8) -> &[u8] {
        let start = self.index.get(usize::from(token)).copied();
        let start = usize::from(start.unwrap_or(0));
        let rest = self.bytes.get(start..).unwrap_or_default();
        let end = rest.iter().position(|&byte| byte == 0);
        rest.get(..end.unwrap_or(0)).unwrap_or_default()
    }
}

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
        let (letter, name) = self.bytes.get(..self.len)?.split_first()?;
        matches!(letter, b't' | b'T' | b'w' | b'W').then_some(name)
    }
}

/// Calls `each` with the name and the address of every function in `text` whose name begins
/// with `prefix`; returns `None` if the table cannot be read.
///
/// A table of 150,000 symbols takes some milliseconds without a prefix, and a fraction of
/// that with one.
pub fn each_function<M: Memory>(
    (tables, texts): (&Tables, &Texts),
    memory: &mut M,
    seen: &mut Seen,
    (prefix, text): (&[u8], &Range<u64>),
    mut each: impl FnMut(&[u8], u64),
) -> Option<()> {
    let mut table = Table::new(tables, memory)?;
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
            at = table.expand(texts, at, &mut name)?;
            if let Some(function) = name.of_function() {
                found(&mut table, symbol, function)?;
            }
        }
        return Some(());
    }
    let first = table.first_from(seen, prefix)?;
    for index in first..table.count {
        let symbol = table.in_order_of_names(index)?;
        let at = table.name(symbol)?;
        table.expand(texts, at, &mut name)?;
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
    (tables, texts): (&Tables, &Texts),
    memory: &mut M,
    (look, text): (Look, &Range<u64>),
    mut each: impl FnMut(&[u8]),
) -> Option<()> {
    let mut table = Table::new(tables, memory)?;
    let mut name = Name {
        bytes: [0; MAX_NAME + 1],
        len: 0,
    };
    let mut at = tables.names;
    for symbol in 0..table.count {
        let (len, letters, next) = table.look(texts, at)?;
        if look.may_be(len, letters) {
            table.expand(texts, at, &mut name)?;
            let function = name.of_function();
            if function.is_some() && text.contains(&table.address(symbol)?) {
                each(function.unwrap_or_default());
            }
        }
        at = next;
    }
    Some(())
}

impl<M: Memory> Table<'_, M> {
    /// Returns length and letters of the name at `at`, and the address behind it.
    fn look(&mut self, texts: &Texts, at: u64) -> Option<(usize, u64, u64)> {
        let (mut at, mut length) = self.length(at)?;
        let (mut len, mut letters) = (0usize, 0);
        // The first letter is the symbol's type and no part of its name.
        let mut first = true;
        while length > 0 {
            // As far as the block goes.
            let block = self.names.rest(self.memory, at)?;
            let here = usize::try_from(length)
                .unwrap_or(usize::MAX)
                .min(block.len());
            for &token in block.get(..here)? {
                let [whole, rest] = texts.looks.get(usize::from(token))?;
                let (more, others) = if first { rest } else { whole };
                first = false;
                len = len.saturating_add(*more);
                letters |= others;
            }
            // CAST: Lossless.
            at = at.checked_add(here as u64)?;
            length = length.checked_sub(here as u64)?;
        }
        Some((len, letters, at))
    }

    /// Expands the name at `at`, and returns the address behind it.
    fn expand(&mut self, texts: &Texts, at: u64, name: &mut Name) -> Option<u64> {
        let (mut at, mut length) = self.length(at)?;
        name.len = 0;
        while length > 0 {
            // As far as the block goes.
            let block = self.names.rest(self.memory, at)?;
            let here = usize::try_from(length)
                .unwrap_or(usize::MAX)
                .min(block.len());
            for &token in block.get(..here)? {
                name.push(texts.of(token))?;
            }
            // CAST: Lossless.
            at = at.checked_add(here as u64)?;
            length = length.checked_sub(here as u64)?;
        }
        Some(at)
    }
}
