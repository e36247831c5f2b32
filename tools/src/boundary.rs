// SPDX-License-Identifier: GPL-2.0

//! ferroprobe's own judgement of locations, on the code in the file: what it would refuse is not
//! printed.
//!
//! What the running kernel knows besides, such as probes of others, is not judged here.

use crate::arch::Arch;
use crate::error::Result;
use crate::image::Image;
use crate::refuse;
use ferroprobe_engine::engine::code::arch::Arch as EngineArch;
use ferroprobe_engine::engine::code::placement::tables::Sites;
use ferroprobe_engine::engine::code::placement::{
    Facts, JudgedFunction, Placement, Region, SpecialRole, Verdict,
};

/// Where the kernel takes no probes, by the symbols around it. The first three count on x86.
const BLACKLISTED: [(&str, &str); 6] = [
    ("__noinstr_text_start", "__noinstr_text_end"),
    ("__kprobes_text_start", "__kprobes_text_end"),
    ("__entry_text_start", "__entry_text_end"),
    ("__irqentry_text_start", "__irqentry_text_end"),
    ("__hyp_text_start", "__hyp_text_end"),
    ("__hyp_idmap_text_start", "__hyp_idmap_text_end"),
];

/// Judges locations in a file.
pub struct Boundaries<'a, 'd> {
    image: &'a Image<'d>,
    regions: Vec<Region>,
}

impl<'a, 'd> Boundaries<'a, 'd> {
    /// Of `image`.
    pub fn new(image: &'a Image<'d>) -> Self {
        let count = match image.arch {
            Arch::X86_64 => 3,
            Arch::Arm64 => BLACKLISTED.len(),
        };
        let mut regions = Vec::new();
        for (start, end) in BLACKLISTED.iter().take(count) {
            if let (Some(start), Some(end)) = (image.bound(start), image.bound(end)) {
                push(&mut regions, start, end.saturating_sub(start));
            }
        }
        for entry in blacklisted_functions(image) {
            if let Some(end) = end_of(image, entry) {
                push(&mut regions, entry, end.saturating_sub(entry));
            }
        }
        patched(image, &mut regions);
        regions.sort_by_key(|region| region.start);
        Self { image, regions }
    }

    /// The regions that overlap a function.
    fn near(&self, start: u64, end: u64) -> Vec<Region> {
        let regions = self.regions.iter();
        let near = regions.filter(|region| region.start < end && region.end > start);
        near.copied().collect()
    }

    /// Refuses what ferroprobe would; accepts everything in a file without code.
    pub fn judge(&self, address: u64) -> Result<()> {
        let symbols = self.image.symbols();
        let behind = symbols.partition_point(|symbol| symbol.address <= address);
        let before = symbols.get(..behind).unwrap_or_default().iter().rev();
        let mut before = before.filter(|symbol| symbol.is_code);
        let (Some(symbol), Some(section)) = (before.next(), self.image.section_at(address)) else {
            return Ok(());
        };
        let Some(code) = self.image.code(section) else {
            return Ok(());
        };
        let end = end_of(self.image, symbol.address).unwrap_or(address);
        let slice = |from: u64, to: u64| {
            let from = usize::try_from(from.checked_sub(section.address)?).ok()?;
            let to = usize::try_from(to.checked_sub(section.address)?).ok()?;
            code.get(from..to.min(code.len()))
        };
        let Some(bytes) = slice(symbol.address, end) else {
            return Ok(());
        };
        let function = JudgedFunction {
            name: symbol.name.as_bytes(),
            address: symbol.address,
            bytes,
            arch: match self.image.arch {
                Arch::X86_64 => EngineArch::X86_64,
                Arch::Arm64 => EngineArch::Arm64,
            },
            facts: Facts {
                all_patches_known: true,
                regions: &self.near(symbol.address, end),
                kprobes_on_ftrace: self.image.arch == Arch::X86_64,
                next: slice(end, end.saturating_add(16)).unwrap_or_default(),
                ..Facts::default()
            },
        };
        let Ok(offset) = usize::try_from(address - symbol.address) else {
            return Ok(());
        };
        match Placement::of(function)
            .judge(offset)
            .map(|judged| judged.verdict)
        {
            Ok(Verdict::Refused { why, .. }) => refuse!("no probe can be here: {why}"),
            _ => Ok(()),
        }
    }
}

/// What the kernel patches while it runs: jump labels and static calls.
fn patched(image: &Image<'_>, regions: &mut Vec<Region>) {
    let tables = [
        (
            "__jump_table",
            "__start___jump_table",
            "__stop___jump_table",
            16,
            SpecialRole::JumpLabel,
        ),
        (
            ".static_call_sites",
            "__start_static_call_sites",
            "__stop_static_call_sites",
            8,
            SpecialRole::StaticCall,
        ),
    ];
    for (section, start, end, len, role) in tables {
        if let Some((address, bytes)) = image.table(section, start, end) {
            // The first byte suffices: a location is the beginning of an instruction.
            let sites = Sites::new(address, &bytes, len);
            regions.extend(sites.map(|(_, place)| Region::new(place, 1, role)));
        }
    }
}

fn push(regions: &mut Vec<Region>, start: u64, len: u64) {
    regions.push(Region::new(start, len, SpecialRole::Blacklisted));
}

/// Where the next symbol is, or the section ends.
fn end_of(image: &Image<'_>, start: u64) -> Option<u64> {
    let section = image.section_at(start)?;
    let end = section.address.saturating_add(section.size);
    let behind = image
        .symbols()
        .partition_point(|symbol| symbol.address <= start);
    let next = image
        .symbols()
        .get(behind)
        .map_or(end, |symbol| symbol.address);
    Some(next.min(end))
}

/// The functions that `NOKPROBE_SYMBOL` names, as far as the file has their addresses.
fn blacklisted_functions(image: &Image<'_>) -> Vec<u64> {
    let list = || {
        let start = image.bound("__start_kprobe_blacklist")?;
        let end = image.bound("__stop_kprobe_blacklist")?;
        let section = image.section_at(start)?;
        let from = usize::try_from(start.checked_sub(section.address)?).ok()?;
        let to = usize::try_from(end.checked_sub(section.address)?).ok()?;
        let words = image.code(section)?.get(from..to)?.chunks_exact(8);
        let word = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        words.map(word).collect::<Option<Vec<u64>>>()
    };
    list().unwrap_or_default()
}
