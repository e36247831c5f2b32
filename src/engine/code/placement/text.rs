// SPDX-License-Identifier: GPL-2.0

//! The original text of a function, before it was patched.

use super::facts::{length, Facts, JudgedFunction, Region, SpecialRole};
use crate::engine::code::arch::isa::MAX_INSN_LEN;
use crate::engine::code::arch::{Arch, Isa};
use crate::engine::code::insn::exclusive::CodeWords;
use core::ops::Range;

/// The length of a word of [`CodeWords`], in bytes.
pub(super) const WORD_LEN: usize = 4;

/// A function's text with all known patches undone.
#[derive(Clone, Debug)]
pub(super) struct FunctionText<'a> {
    address: u64,
    bytes: &'a [u8],
    facts: Facts<'a>,
    arch: Arch,
    /// The start of a gap of breakpoints at the end.
    gap: usize,
    /// The addresses at which bytes may differ from the original ones.
    changed: Range<u64>,
}

/// The bytes of one instruction or more; fewer only at the end of the function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Window<'a> {
    /// Bytes that were not patched.
    Live(&'a [u8]),
    /// A copy with the patches undone, and the number of valid bytes.
    Restored([u8; MAX_INSN_LEN], usize),
}

impl Window<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Live(bytes) => bytes,
            Self::Restored(bytes, len) => bytes.get(..*len).unwrap_or_default(),
        }
    }
}

impl<'a> FunctionText<'a> {
    pub(super) fn of(function: &JudgedFunction<'a>) -> Self {
        let mut text = Self {
            address: function.address,
            bytes: function.bytes,
            facts: function.facts,
            arch: function.arch,
            gap: function.bytes.len(),
            changed: 0..u64::MAX,
        };
        let changes = || text.originals(0, u64::MAX);
        let starts = changes().map(|(at, _)| at).min();
        let ends = changes().map(|(at, original)| at.saturating_add(length(original)));
        text.changed = starts
            .zip(ends.max())
            .map_or(0..0, |(start, end)| start..end);
        // Computed once: gaps between sections have a hundred thousand breakpoints.
        let is_filled = |at: &usize| text.is_breakpoint(*at);
        let gap = (0..text.len()).rev().take_while(is_filled).last();
        text.gap = gap.unwrap_or(text.len());
        text
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn isa(&self) -> &'static dyn Isa {
        self.arch.isa()
    }

    /// Returns the address of an offset into the function.
    pub(super) fn address(&self, offset: usize) -> u64 {
        self.address
            .saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
    }

    /// Returns the offset of an address, if it lies in the function.
    pub(super) fn offset(&self, address: u64) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.address)?).ok()?;
        (offset < self.len()).then_some(offset)
    }

    /// Returns whether there is a breakpoint at `offset`.
    pub(super) fn is_breakpoint(&self, offset: usize) -> bool {
        let window = self.window(offset);
        window.bytes().starts_with(self.isa().breakpoint())
    }

    /// Returns the mnemonic of the instruction at `offset`; empty if there is none.
    pub(super) fn mnemonic(&self, offset: usize) -> &'static str {
        self.isa().mnemonic(self.window(offset).bytes())
    }

    /// Returns whether there are only breakpoints of one byte from `offset` on.
    pub(super) fn is_gap(&self, offset: usize) -> bool {
        offset >= self.gap
    }

    /// Returns whether another user's probe is at `offset` and its original bytes are not
    /// known.
    pub(super) fn is_foreign(&self, offset: usize) -> bool {
        self.facts.foreign.contains(&self.address(offset))
    }

    pub(super) fn all_patches_known(&self) -> bool {
        self.facts.all_patches_known
    }

    /// Returns the original bytes from `offset` on.
    pub(super) fn window(&self, offset: usize) -> Window<'a> {
        let live = self.bytes.get(offset..).unwrap_or_default();
        let live = live.get(..MAX_INSN_LEN).unwrap_or(live);
        let start = self.address(offset);
        let end = start.saturating_add(length(live));
        if start >= self.changed.end || end <= self.changed.start {
            return Window::Live(live);
        }
        let mut originals = self.originals(start, end).peekable();
        if originals.peek().is_none() {
            return Window::Live(live);
        }

        let mut copy = [0; MAX_INSN_LEN];
        overwrite(&mut copy, 0, 0, live);
        for (at, original) in originals {
            overwrite(&mut copy, start, at, original);
        }
        Window::Restored(copy, live.len())
    }

    /// Returns the known original bytes between two addresses, piece by piece.
    fn originals(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, &'a [u8])> {
        let nop = self.isa().ftrace_nop();
        let regions: &'a [Region] = match nop {
            [] => &[],
            _ => self.facts.regions,
        };
        let nops = regions
            .iter()
            .filter(|region| region.role == SpecialRole::Ftrace)
            .map(move |region| (region.start, nop));

        let patches = self.facts.patches;
        let first = patches.partition_point(|patch| patch.end() <= start);
        let patches = patches
            .get(first..)
            .unwrap_or_default()
            .iter()
            .map(|patch| (patch.address, patch.original));

        nops.chain(patches.take_while(move |(at, _)| *at < end))
            .filter(move |(at, original)| *at < end && at.saturating_add(length(original)) > start)
    }
}

/// Copies `original`, located at address `at`, over `bytes`, located at `start`, as far as
/// they overlap.
fn overwrite(bytes: &mut [u8], start: u64, at: u64, original: &[u8]) {
    let into = usize::try_from(at.saturating_sub(start)).unwrap_or(usize::MAX);
    let from = usize::try_from(start.saturating_sub(at)).unwrap_or(usize::MAX);
    let to = bytes.get_mut(into..).unwrap_or_default();
    let original = original.get(from..).unwrap_or_default();
    for (to, from) in to.iter_mut().zip(original) {
        *to = *from;
    }
}

/// The text as words, without the bytes at the end that are no whole word.
impl CodeWords for FunctionText<'_> {
    fn count(&self) -> usize {
        self.bytes.len() / WORD_LEN
    }

    fn word(&self, index: usize) -> Option<u32> {
        let offset = index.checked_mul(WORD_LEN)?;
        let window = self.window(offset);
        Some(u32::from_le_bytes(*window.bytes().first_chunk()?))
    }
}
