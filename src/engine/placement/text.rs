// SPDX-License-Identifier: GPL-2.0

//! The text of a function as it was before anything patched it.

use super::facts::{length, Facts, Function, Region, Role};
use crate::engine::arch::Arch;
use crate::engine::insn::arm64::{self, exclusive::Words};
use crate::engine::insn::x86;

/// What ftrace leaves on x86 where it does not call.
static X86_FTRACE_NOP: [u8; 5] = [0x0f, 0x1f, 0x44, 0x00, 0x00];

/// The `brk` of a kprobe on arm64.
const ARM64_KPROBE_BRK: u32 = 0xd420_0080;

/// A function's text with all known patches undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    address: u64,
    bytes: &'a [u8],
    facts: Facts<'a>,
    arch: Arch,
    /// Where the gap of int3s at the end begins.
    int3_gap: usize,
}

/// Bytes enough for one instruction, less only at the end of the function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Window<'a> {
    /// Nothing there was patched.
    Live(&'a [u8]),
    /// A copy with the patches undone, and how many of its bytes count.
    Restored([u8; x86::MAX_LEN], usize),
}

impl Window<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Live(bytes) => bytes,
            Self::Restored(bytes, len) => bytes.get(..*len).unwrap_or_default(),
        }
    }
}

impl<'a> Text<'a> {
    pub(super) fn of(function: &Function<'a>) -> Self {
        let mut text = Self {
            address: function.address,
            bytes: function.bytes,
            facts: function.facts,
            arch: function.arch,
            int3_gap: function.bytes.len(),
        };
        // Found once: gaps between sections have a hundred thousand of them.
        let is_int3 = |at: &usize| text.window(*at).bytes().first() == Some(&0xcc);
        let gap = (0..text.len()).rev().take_while(is_int3).last();
        text.int3_gap = gap.unwrap_or(text.len());
        text
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn arch(&self) -> Arch {
        self.arch
    }

    /// The address of an offset into the function.
    pub(super) fn address(&self, offset: usize) -> u64 {
        self.address
            .saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
    }

    /// The offset of an address, if it lies in the function.
    pub(super) fn offset(&self, address: u64) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.address)?).ok()?;
        (offset < self.len()).then_some(offset)
    }

    /// Whether there is nothing but int3 from `offset` on.
    pub(super) fn is_int3_from(&self, offset: usize) -> bool {
        offset >= self.int3_gap
    }

    /// Whether somebody else's probe stands at `offset`, and nothing is known
    /// of what it has overwritten.
    pub(super) fn is_foreign(&self, offset: usize) -> bool {
        self.facts.foreign.contains(&self.address(offset))
    }

    pub(super) fn all_patches_known(&self) -> bool {
        self.facts.all_patches_known
    }

    /// The original bytes from `offset` on.
    pub(super) fn window(&self, offset: usize) -> Window<'a> {
        let live = self.bytes.get(offset..).unwrap_or_default();
        let live = live.get(..x86::MAX_LEN).unwrap_or(live);
        let start = self.address(offset);
        let end = start.saturating_add(length(live));
        let mut originals = self.originals(start, end).peekable();
        if originals.peek().is_none() {
            return Window::Live(live);
        }

        let mut copy = [0; x86::MAX_LEN];
        overwrite(&mut copy, 0, 0, live);
        for (at, original) in originals {
            overwrite(&mut copy, start, at, original);
        }
        Window::Restored(copy, live.len())
    }

    /// What stood before between two addresses, each piece with its address.
    fn originals(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, &'a [u8])> {
        let regions: &'a [Region] = match self.arch {
            Arch::X86_64 => self.facts.regions,
            Arch::Arm64 => &[],
        };
        let nops = regions
            .iter()
            .filter(|region| region.role == Role::Ftrace)
            .map(|region| (region.start, &X86_FTRACE_NOP[..]));

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

/// Lays `original`, whose place is the address `at`, over `bytes`, whose place
/// is `start`, as far as they overlap.
fn overwrite(bytes: &mut [u8], start: u64, at: u64, original: &[u8]) {
    let into = usize::try_from(at.saturating_sub(start)).unwrap_or(usize::MAX);
    let from = usize::try_from(start.saturating_sub(at)).unwrap_or(usize::MAX);
    let to = bytes.get_mut(into..).unwrap_or_default();
    let original = original.get(from..).unwrap_or_default();
    for (to, from) in to.iter_mut().zip(original) {
        *to = *from;
    }
}

/// The text as arm64 words; what is left at the end is none.
impl Words for Text<'_> {
    fn count(&self) -> usize {
        self.bytes.len() / arm64::INSN_LEN
    }

    fn word(&self, index: usize) -> Option<u32> {
        let offset = index.checked_mul(arm64::INSN_LEN)?;
        let word = arm64::word_at(self.window(offset).bytes(), 0)?;
        Some(behind_kprobe(word))
    }
}

/// What to take `word` for: the breakpoint of a probe that the facts do not
/// name hides a word that the kernel has found fit, no exclusive therefore.
pub(super) const fn behind_kprobe(word: u32) -> u32 {
    const NOP: u32 = 0xd503_201f;

    match word {
        ARM64_KPROBE_BRK => NOP,
        word => word,
    }
}
