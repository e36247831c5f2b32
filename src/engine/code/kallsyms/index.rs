// SPDX-License-Identifier: GPL-2.0

//! An index of the table, read once for all searches.

use super::block::{array, Block, TableMemory, Tables, SOME};
use crate::engine::refusal::suggest::distance::Outline;
use crate::sys::{AllocError, Vec};

/// The number of tokens.
pub(super) const TOKENS: usize = 256;

/// Maximum number of bytes of a token's text.
const MAX_TOKEN: usize = 128;

/// Maximum number of cached names: as many as the first ten comparisons of searches can meet.
const SEEN: usize = 1024;

/// Symbols per mark.
const STEP: u32 = 8;

/// The texts of the tokens, and offsets of some names. Takes some 120 KiB.
pub struct NameIndex {
    /// The texts of the tokens.
    texts: Vec<u8>,
    /// Start and end of each token in `texts`.
    tokens: Vec<(u16, u16)>,
    /// The outline of each token.
    outlines: Vec<Outline>,
    /// The outline of each token without its first letter, which is the symbol's type if the token
    /// begins a name.
    firsts: Vec<Outline>,
    /// The offset in the names of each [`STEP`]th symbol. The kernel's own table has each 256th.
    marks: Vec<u32>,
    /// The addresses of the names that searches compare first; 0 until they are known.
    seen: Vec<u64>,
}

impl NameIndex {
    /// Reads the table, in some milliseconds; returns `None` if it cannot be read.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn read<M: TableMemory>(
        tables: &Tables,
        memory: &mut M,
    ) -> Result<Option<Self>, AllocError> {
        let Some((texts, tokens)) = read_texts(tables, memory)? else {
            return Ok(None);
        };
        let Some(marks) = read_marks(tables, memory)? else {
            return Ok(None);
        };
        let mut seen = Vec::with_capacity(SEEN)?;
        for _ in 0..SEEN {
            seen.push(0)?;
        }
        let mut index = Self {
            texts,
            tokens,
            outlines: Vec::with_capacity(TOKENS)?,
            firsts: Vec::with_capacity(TOKENS)?,
            marks,
            seen,
        };
        for token in 0..=u8::MAX {
            let text = index.text(token);
            let whole = Outline::of(text);
            let rest = Outline::of(text.get(1..).unwrap_or_default());
            index.outlines.push(whole)?;
            index.firsts.push(rest)?;
        }
        Ok(Some(index))
    }

    pub(super) fn text(&self, token: u8) -> &[u8] {
        let (start, end) = *self.tokens.get(usize::from(token)).unwrap_or(&(0, 0));
        let range = usize::from(start)..usize::from(end);
        self.texts.get(range).unwrap_or_default()
    }

    /// Returns the outlines of the tokens, and of the tokens without their first letters.
    #[inline]
    pub(super) fn outlines(&self) -> Option<(&[Outline; TOKENS], &[Outline; TOKENS])> {
        Some((self.outlines.first_chunk()?, self.firsts.first_chunk()?))
    }

    /// Returns the offset of the last marked symbol up to `symbol`, and the number of symbols
    /// between the two.
    pub(super) fn before(&self, symbol: u32) -> Option<(u64, u32)> {
        let mark = self.marks.get(usize::try_from(symbol / STEP).ok()?)?;
        Some((u64::from(*mark), symbol % STEP))
    }

    /// Returns the address of the name that is compared at `node` of a search, if it is cached.
    pub(super) fn seen(&self, node: usize) -> Option<u64> {
        self.seen.get(node).copied().filter(|at| *at != 0)
    }

    /// Caches the address of the name that is compared at `node`.
    pub(super) fn see(&mut self, node: usize, at: u64) {
        if let Some(seen) = self.seen.get_mut(node) {
            *seen = at;
        }
    }
}

/// Texts of tokens, and start and end of each.
type Texts = (Vec<u8>, Vec<(u16, u16)>);

/// Reads the texts of the tokens.
#[inline(never)]
fn read_texts<M: TableMemory>(
    tables: &Tables,
    memory: &mut M,
) -> Result<Option<Texts>, AllocError> {
    let mut raw = [0; 2 * TOKENS];
    if !memory.read(tables.token_index, &mut raw) {
        return Ok(None);
    }
    let mut tokens = Vec::with_capacity(TOKENS)?;
    for start in raw.chunks_exact(2) {
        if let [low, high] = *start {
            tokens.push((u16::from_le_bytes([low, high]), 0))?;
        }
    }
    let last = tokens.iter().map(|token| token.0).max();
    let len = usize::from(last.unwrap_or(0)).saturating_add(MAX_TOKEN);
    let mut texts = Vec::with_capacity(len)?;
    let mut block = [0; MAX_TOKEN];
    // Block by block: the last one may lie behind the table.
    while texts.len() < len {
        let at = tables.token_table.wrapping_add(texts.len() as u64);
        // Unreadable memory is behind the table.
        if !memory.read(at, &mut block) {
            break;
        }
        texts.extend_from_slice(&block)?;
    }
    for (start, end) in tokens.iter_mut() {
        let rest = texts.get(usize::from(*start)..).unwrap_or_default();
        let len = rest.iter().position(|&byte| byte == 0).unwrap_or(0);
        // Texts are never that long.
        *end = start.saturating_add(u16::try_from(len).unwrap_or(0));
    }
    Ok(Some((texts, tokens)))
}

/// Reads the offset of each [`STEP`]th name.
#[inline(never)]
fn read_marks<M: TableMemory>(
    tables: &Tables,
    memory: &mut M,
) -> Result<Option<Vec<u32>>, AllocError> {
    // The numbers of symbols have three bytes.
    let count = array(memory, tables.count).map(u32::from_le_bytes);
    let Some(count) = count.filter(|count| *count < 1 << 24) else {
        return Ok(None);
    };
    let mut names = Block::<SOME>::EMPTY;
    let mut at = tables.names;
    let mut marks = Vec::new();
    for number in (0..count).step_by(STEP as usize) {
        let offset = at.checked_sub(tables.names).map(u32::try_from);
        let Some(Ok(offset)) = offset else {
            return Ok(None);
        };
        marks.push(offset)?;
        let more = count.saturating_sub(number).min(STEP);
        let Some(behind) = names.skip(memory, at, more) else {
            return Ok(None);
        };
        at = behind;
    }
    Ok(Some(marks))
}
