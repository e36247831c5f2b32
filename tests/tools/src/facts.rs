// SPDX-License-Identifier: GPL-2.0

//! What a file tells about places in its text.
//!
//! A module has each table in a section of its own. A kernel has most of them
//! inside other sections, between two symbols.

use crate::elf::{Elf, Section};
use ferroprobe_engine::engine::code::arch::Arch;
use ferroprobe_engine::engine::code::insn::{arm64, x86};
use ferroprobe_engine::engine::code::placement::tables::{is_bug, landing, Sites, Table};
use ferroprobe_engine::engine::code::placement::{
    Facts, JudgedFunction, Placement, Region, SpecialRole, NO_RETURN,
};
use std::ops::Range;

/// Sections on the kernel's blacklist as a whole, and the symbols that enclose
/// them in a linked kernel.
const BLACKLISTED: [(&str, &str, &str); 6] = [
    (
        ".noinstr.text",
        "__noinstr_text_start",
        "__noinstr_text_end",
    ),
    (
        ".kprobes.text",
        "__kprobes_text_start",
        "__kprobes_text_end",
    ),
    (".entry.text", "__entry_text_start", "__entry_text_end"),
    (
        ".irqentry.text",
        "__irqentry_text_start",
        "__irqentry_text_end",
    ),
    (".hyp.text", "__hyp_text_start", "__hyp_text_end"),
    (
        ".hyp.idmap.text",
        "__hyp_idmap_text_start",
        "__hyp_idmap_text_end",
    ),
];

/// Those of [`BLACKLISTED`] that count on x86; on arm64 all do.
const BLACKLISTED_ON_X86: usize = 3;

/// All places with a role that `elf` names, in the order of their addresses.
pub(crate) fn regions(elf: &Elf<'_>) -> Vec<Region> {
    let mut regions = Vec::new();
    blacklisted_text(elf, &mut regions);
    blacklisted_functions(elf, &mut regions);
    ftrace(elf, &mut regions);
    for table in Table::ALL {
        named(elf, table, &mut regions);
    }
    regions.sort_by_key(|region| region.start);
    regions
}

fn blacklisted_text(elf: &Elf<'_>, regions: &mut Vec<Region>) {
    let count = match elf.arch {
        Arch::X86_64 => BLACKLISTED_ON_X86,
        Arch::Arm64 => BLACKLISTED.len(),
    };
    for (section, start, end) in BLACKLISTED.iter().take(count) {
        for part in pieces(elf, section, start, end) {
            regions.push(region(&part, SpecialRole::Blacklisted));
        }
    }
}

/// The functions that `NOKPROBE_SYMBOL` names.
fn blacklisted_functions(elf: &Elf<'_>, regions: &mut Vec<Region>) {
    for entry in addresses(
        elf,
        "_kprobe_blacklist",
        "__start_kprobe_blacklist",
        "__stop_kprobe_blacklist",
    ) {
        if let Some(function) = elf.function(entry) {
            regions.push(region(&function, SpecialRole::Blacklisted));
        }
    }
}

fn ftrace(elf: &Elf<'_>, regions: &mut Vec<Region>) {
    let named = addresses(
        elf,
        "__mcount_loc",
        "__start_mcount_loc",
        "__stop_mcount_loc",
    );
    for named in named {
        let (site, len) = match elf.arch {
            Arch::X86_64 => (named, 5),
            Arch::Arm64 => (arm64_ftrace_site(elf, named), 4),
        };
        if elf.is_code(site) {
            regions.push(Region::new(site, len, SpecialRole::Ftrace));
        }
    }
}

/// The nop that ftrace makes a call, of the patchable ones whose first is at
/// `address`: two before the function, if any; `bti`; one for `mov x9, x30`.
fn arm64_ftrace_site(elf: &Elf<'_>, address: u64) -> u64 {
    /// Two nops before a function.
    const BEFORE: u64 = 8;
    const INSN: u64 = 4;

    let behind = address.saturating_add(BEFORE);
    let begins = elf
        .symbols
        .binary_search_by_key(&behind, |symbol| symbol.address)
        .is_ok();
    if !begins || !is(elf, address, arm64::Arm64Class::Nop) {
        return address.saturating_add(INSN);
    }
    match is(elf, behind, arm64::Arm64Class::LandingPad) {
        true => behind.saturating_add(2 * INSN),
        false => behind.saturating_add(INSN),
    }
}

fn is(elf: &Elf<'_>, address: u64, class: arm64::Arm64Class) -> bool {
    let bytes = elf.bytes(&(address..address.saturating_add(4)));
    let word = bytes.and_then(|bytes| arm64::word_at(&bytes, 0));
    word.is_some_and(|word| arm64::class(word) == class)
}

fn named(elf: &Elf<'_>, table: Table, regions: &mut Vec<Region>) {
    for_each_entry(elf, table, |entry, place| {
        let len = patched(elf, table, entry, place);
        if len > 0 {
            regions.push(Region::new(place, len, table.role()));
        }
    });
}

/// Calls `each` with the entries of `table`, and the places that they name.
fn for_each_entry(elf: &Elf<'_>, table: Table, mut each: impl FnMut(&[u8], u64)) {
    let (section, start, end) = match table {
        Table::JumpLabels => (
            "__jump_table",
            "__start___jump_table",
            "__stop___jump_table",
        ),
        Table::StaticCalls => (
            ".static_call_sites",
            "__start_static_call_sites",
            "__stop_static_call_sites",
        ),
        Table::Bugs => ("__bug_table", "__start___bug_table", "__stop___bug_table"),
        Table::Exceptions => ("__ex_table", "__start___ex_table", "__stop___ex_table"),
        Table::Alternatives => (
            ".altinstructions",
            "__alt_instructions",
            "__alt_instructions_end",
        ),
    };
    for part in pieces(elf, section, start, end) {
        let Some(bytes) = elf.bytes(&part) else {
            continue;
        };
        let Some(entry_len) = table.entry_len(elf.arch, part.start, &bytes, |at| elf.is_code(at))
        else {
            continue;
        };
        for (entry, place) in Sites::new(part.start, &bytes, entry_len) {
            each(entry, place);
        }
    }
}

/// How many bytes at `place` an entry of `table` is about.
fn patched(elf: &Elf<'_>, table: Table, entry: &[u8], place: u64) -> u64 {
    match (table, elf.arch) {
        (Table::Alternatives, Arch::X86_64) => entry.get(12).copied().map_or(0, u64::from),
        (Table::Alternatives, Arch::Arm64) => entry.get(10).copied().map_or(0, u64::from),
        (_, Arch::Arm64) => 4,
        (Table::StaticCalls, Arch::X86_64) => 5,
        (Table::JumpLabels, Arch::X86_64) => {
            // A short jump or nop where the target is near.
            let bytes = elf.bytes(&(place..place.saturating_add(5)));
            let insn = bytes.and_then(|bytes| x86::decode(&bytes).ok());
            insn.map_or(5, |insn| insn.len() as u64)
        }
        (Table::Bugs | Table::Exceptions, Arch::X86_64) => 1,
    }
}

/// The addresses that a table of plain pointers holds.
fn addresses(elf: &Elf<'_>, section: &str, start: &str, end: &str) -> Vec<u64> {
    let parts = pieces(elf, section, start, end);
    let bytes = parts.iter().filter_map(|part| elf.bytes(part)).flatten();
    let bytes: Vec<u8> = bytes.collect();
    let words = bytes.chunks_exact(8);
    words
        .filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)))
        .collect()
}

/// Where something lies: in the sections of that name, or between two symbols.
fn pieces(elf: &Elf<'_>, section: &str, start: &str, end: &str) -> Vec<Range<u64>> {
    let named = |candidate: &&Section| {
        let rest = candidate.name.strip_prefix(section);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut found: Vec<Range<u64>> = elf
        .sections
        .iter()
        .filter(named)
        .map(Section::range)
        .collect();
    if found.is_empty() {
        let limits = elf.address(start).zip(elf.address(end));
        found.extend(limits.map(|(start, end)| start..end));
    }
    found.retain(|part| !part.is_empty());
    found
}

fn region(range: &Range<u64>, role: SpecialRole) -> Region {
    Region {
        start: range.start,
        end: range.end,
        role,
    }
}

/// The regions that overlap a place, of those that are sorted by their beginning.
pub(crate) fn near(regions: &[Region], place: &Range<u64>) -> Vec<Region> {
    let end = regions.partition_point(|region| region.start < place.end);
    let near = regions.get(..end).unwrap_or_default().iter().rev();
    // What is longer is on the blacklist, as a section or a function.
    let short = near.take_while(|region| region.start.saturating_add(LONGEST) > place.start);
    let mut near: Vec<Region> = short.copied().collect();
    near.retain(|region| region.end > place.start);
    near.reverse();
    near
}

/// More than the length of every section of code on the blacklist.
const LONGEST: u64 = 1 << 19;

/// By what ways control comes and goes that the instructions do not show.
pub(crate) struct Ways {
    /// In the order of their addresses, as the rest.
    landings: Vec<u64>,
    /// Traps and calls that do not return.
    stops: Vec<u64>,
    /// Functions that do not return.
    no_return: Vec<u64>,
    call_ops: bool,
    cfi: bool,
}

/// The [`Ways`] of one function.
pub(crate) struct NearWays {
    pub(crate) landings: Vec<u64>,
    pub(crate) no_return: Vec<u64>,
    pub(crate) next: Vec<u8>,
    pub(crate) call_ops: bool,
    pub(crate) cfi: bool,
}

impl Ways {
    pub(crate) fn of(elf: &Elf<'_>) -> Self {
        let is_meant = |name: &str| NO_RETURN.iter().any(|known| known.to_str() == Ok(name));
        let mut ways = Self {
            landings: Vec::new(),
            stops: elf.calls(is_meant),
            no_return: NO_RETURN
                .iter()
                .filter_map(|name| elf.address(name.to_str().ok()?))
                .collect(),
            call_ops: has_call_ops(elf),
            cfi: {
                let mut symbols = elf.symbols.iter();
                symbols.any(|symbol| symbol.name.starts_with("__cfi_"))
            },
        };
        for table in [Table::JumpLabels, Table::Exceptions, Table::Bugs] {
            for_each_entry(elf, table, |entry, place| match table {
                Table::Bugs => ways.stops.extend(is_bug(entry).then_some(place)),
                _ => ways.landings.extend(landing(entry, place)),
            });
        }
        ways.landings.sort_unstable();
        ways.stops.sort_unstable();
        ways
    }

    /// Those of the function with `bytes` at `place`.
    pub(crate) fn near(
        &self,
        elf: &Elf<'_>,
        place: &Range<u64>,
        bytes: &[u8],
        name: &[u8],
    ) -> NearWays {
        let mut no_return = self.no_return.clone();
        no_return.extend(between(&self.stops, place));
        let mut landings = between(&self.landings, place).to_vec();
        let function = JudgedFunction {
            name,
            address: place.start,
            bytes,
            arch: elf.arch,
            facts: Facts::default(),
        };
        let placement = Placement::of(function);
        for table in placement.jump_tables() {
            let len = table.count * table.entry_len;
            let entries = elf.bytes(&(table.address..table.address + len as u64));
            let entries = entries.unwrap_or_default();
            let targets = entries.chunks_exact(table.entry_len);
            landings.extend(targets.filter_map(|entry| table.target(entry)));
        }
        let last = placement.last_calls();
        no_return.extend(last.filter(|&at| self.is_only_bug(elf, at)));
        let next = elf.bytes(&(place.end..place.end + 12));
        NearWays {
            landings,
            no_return,
            next: next.unwrap_or_default(),
            call_ops: self.call_ops,
            cfi: self.cfi,
        }
    }
}

fn between<'a>(sorted: &'a [u64], place: &Range<u64>) -> &'a [u64] {
    let from = sorted.partition_point(|at| *at < place.start);
    let to = sorted.partition_point(|at| *at < place.end);
    sorted.get(from..to).unwrap_or_default()
}

impl Ways {
    /// Whether the function at `address` does nothing but run into a BUG.
    fn is_only_bug(&self, elf: &Elf<'_>, address: u64) -> bool {
        let Some(place) = elf.function(address).filter(|at| at.start == address) else {
            return false;
        };
        let place = place.start..place.end.min(place.start + 64);
        let Some(bytes) = elf.bytes(&place) else {
            return false;
        };
        let function = JudgedFunction {
            name: b"",
            address,
            bytes: &bytes,
            arch: elf.arch,
            facts: Facts::default(),
        };
        let trap = Placement::of(function).certain_trap();
        trap.is_some_and(|at| self.stops.binary_search(&at).is_ok())
    }
}

/// Whether ftrace's places begin with two nops before the functions.
fn has_call_ops(elf: &Elf<'_>) -> bool {
    let named = addresses(
        elf,
        "__mcount_loc",
        "__start_mcount_loc",
        "__stop_mcount_loc",
    );
    let is_before = |at: u64| {
        let behind = at.saturating_add(8);
        let found = elf
            .symbols
            .binary_search_by_key(&behind, |symbol| symbol.address);
        found.is_ok() && is(elf, at, arm64::Arm64Class::Nop)
    };
    elf.arch == Arch::Arm64 && named.into_iter().any(is_before)
}
