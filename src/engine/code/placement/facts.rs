// SPDX-License-Identifier: GPL-2.0

//! Facts about a function besides its bytes.

use core::ops::Range;

use crate::engine::code::arch::Arch;

/// A function, and what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct JudgedFunction<'a> {
    /// Its symbol.
    pub name: &'a [u8],
    /// Its start address.
    pub address: u64,
    /// Its text up to the next symbol, as in memory or in a file.
    pub bytes: &'a [u8],
    /// The architecture of its instructions.
    pub arch: Arch,
    /// Further facts.
    pub facts: Facts<'a>,
}

/// Facts about a function besides its bytes.
///
/// All are optional: the placement does not judge what is unknown. Entries outside the function are
/// harmless, but cost time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// Where the text was changed, and its original bytes: sorted by address, without
    /// overlaps.
    pub patches: &'a [Patch<'a>],
    /// Locations of other users' probes whose original bytes are not known.
    pub foreign: &'a [u64],
    /// `patches` names every probe in the function, so that any other int3 is one of the
    /// function's own. True for a file, and if the kernel's list of kprobes has been read.
    pub all_patches_known: bool,
    /// Locations with a special role.
    pub regions: &'a [Region],
    /// The kernel accepts probes on the locations that ftrace patches
    /// (`CONFIG_KPROBES_ON_FTRACE`: x86 has it, arm64 does not).
    pub kprobes_on_ftrace: bool,
    /// The kernel checks the type of indirect calls (`CONFIG_CFI`).
    pub cfi: bool,
    /// ftrace keeps a pointer in the eight bytes before each traceable function (arm64:
    /// `CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS`).
    pub call_ops: bool,
    /// About a dozen bytes behind the function, the beginning of the next one.
    pub next: &'a [u8],
    /// Locations that control reaches other than by branches: targets of jump labels and of
    /// [`super::JumpTable`]s, and fixups of exceptions.
    pub landings: &'a [u64],
    /// Functions and traps that do not return: see [`super::NO_RETURN`].
    pub no_return: &'a [u64],
}

/// Text that was overwritten: by our own probe, another kprobe's breakpoint, or the jump of
/// an optimised kprobe.
#[derive(Clone, Copy, Debug)]
pub struct Patch<'a> {
    /// The address of the text.
    pub address: u64,
    /// The original bytes.
    pub original: &'a [u8],
}

impl Patch<'_> {
    pub(super) fn end(&self) -> u64 {
        self.address.saturating_add(length(self.original))
    }
}

/// Returns the length of `bytes`, as a distance between addresses.
pub(super) fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// A location with a special role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first address.
    pub start: u64,
    /// The address behind it.
    pub end: u64,
    /// Its role.
    pub role: SpecialRole,
}

impl Region {
    /// Returns the region of `len` bytes from `start` on.
    pub const fn new(start: u64, len: u64, role: SpecialRole) -> Self {
        Self {
            start,
            end: start.saturating_add(len),
            role,
        }
    }

    pub(super) fn range(&self) -> Range<u64> {
        self.start..self.end
    }
}

/// The special roles of locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecialRole {
    /// On the kprobe blacklist, or in one of the sections that are on it as a whole.
    Blacklisted,
    /// Patched by ftrace: a nop or a call.
    Ftrace,
    /// Patched by a jump label: a nop or a jump.
    JumpLabel,
    /// Patched by a static call.
    StaticCall,
    /// Its first address is in the kernel's table of BUGs and WARNs: a trap, or on x86 the
    /// instruction behind the one that loads a WARN's entry.
    Bug,
    /// Rewritten at boot depending on the processor. Only for text that is not yet
    /// rewritten, as in a file.
    Alternative,
    /// An access with an entry in the exception table.
    ExceptionTable,
}

impl SpecialRole {
    /// Returns whether the kernel refuses a probe there.
    pub(super) fn refused_by_kernel(self, arch: Arch) -> bool {
        match self {
            Self::Blacklisted | Self::JumpLabel | Self::StaticCall | Self::Bug => true,
            Self::ExceptionTable => arch.isa().refuses_exception_table(),
            Self::Ftrace | Self::Alternative => false,
        }
    }

    /// Returns a description of a location with this role, for use behind "cannot be
    /// probed:".
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Blacklisted => "it is on the kernel's blacklist",
            Self::Ftrace => "ftrace patches it, and this kernel has no kprobes on ftrace",
            Self::JumpLabel => "a jump label patches it",
            Self::StaticCall => "a static call patches it",
            Self::Bug => "the kernel's table of BUGs and WARNs names it",
            Self::Alternative => "it may be rewritten at boot, according to the processor",
            Self::ExceptionTable => "its faults are handled by address (exception table)",
        }
    }
}
