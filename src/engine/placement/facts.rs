// SPDX-License-Identifier: GPL-2.0

//! What is known of a function besides its bytes.

use core::ops::Range;

use crate::engine::arch::Arch;

/// A function, and what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// Its symbol.
    pub name: &'a [u8],
    /// Where it begins.
    pub address: u64,
    /// Its text up to the next symbol, as it stands in memory or in a file.
    pub bytes: &'a [u8],
    /// Whose instructions these are.
    pub arch: Arch,
    /// What is known besides.
    pub facts: Facts<'a>,
}

/// What is known of a function besides its bytes.
///
/// Everything is optional: what is not known is not judged. Entries that lie
/// outside the function do no harm, but cost time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// Where the text was changed and what it was before: sorted by address,
    /// without overlaps.
    pub patches: &'a [Patch<'a>],
    /// Where somebody else's probe is that has overwritten more than is known.
    pub foreign: &'a [u64],
    /// `patches` names every probe in the function, so that any other int3 is
    /// one of the function's own. True for a file, and when the kernel's list
    /// of kprobes has been read.
    pub all_patches_known: bool,
    /// Places with a special role.
    pub regions: &'a [Region],
    /// The kernel takes probes on the places that ftrace patches
    /// (`CONFIG_KPROBES_ON_FTRACE`: x86 has it, arm64 has not).
    pub kprobes_on_ftrace: bool,
    /// The kernel checks the type of indirect calls (`CONFIG_CFI`).
    pub cfi: bool,
}

/// Text that was overwritten: by our own probe, another kprobe's breakpoint, or
/// the jump of an optimised kprobe.
#[derive(Clone, Copy, Debug)]
pub struct Patch<'a> {
    /// Where.
    pub address: u64,
    /// The bytes before.
    pub original: &'a [u8],
}

impl Patch<'_> {
    pub(super) fn end(&self) -> u64 {
        self.address.saturating_add(length(self.original))
    }
}

/// The length of `bytes`, as a distance between addresses.
pub(super) fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// A place with a special role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first address.
    pub start: u64,
    /// The address behind it.
    pub end: u64,
    /// Its role.
    pub role: Role,
}

impl Region {
    /// The region of `len` bytes from `start` on.
    pub const fn new(start: u64, len: u64, role: Role) -> Self {
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

/// The roles that make a place special.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// On the kernel's list of what must not be probed, or in one of the
    /// sections that are on it as a whole.
    Blacklisted,
    /// Patched by ftrace: a nop or a call.
    Ftrace,
    /// Patched by a jump label: a nop or a jump.
    JumpLabel,
    /// Patched by a static call.
    StaticCall,
    /// Its first address is in the kernel's table of BUGs and WARNs: a trap,
    /// or on x86 the instruction behind the one that loads a WARN's entry.
    Bug,
    /// Rewritten at boot according to the processor. Only for text of which
    /// this is still to come: a file's.
    Alternative,
    /// An access with an entry in the exception table.
    ExceptionTable,
}

impl Role {
    /// Whether the kernel refuses a probe there.
    pub(super) const fn refused_by_kernel(self, arch: Arch) -> bool {
        match self {
            Self::Blacklisted | Self::JumpLabel | Self::StaticCall | Self::Bug => true,
            Self::ExceptionTable => matches!(arch, Arch::Arm64),
            Self::Ftrace | Self::Alternative => false,
        }
    }

    /// What a place of this role is, to stand behind "cannot be probed:".
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
