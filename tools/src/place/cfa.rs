// SPDX-License-Identifier: GPL-2.0

//! The canonical frame address: where a function's frame is at an address, by the unwind tables.

use crate::arch::Arch;
use crate::debug::{Debug, Slice};
use crate::error::{Refusal, Result};
use crate::place::{Base, Sum};
use crate::refuse;
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, EndianSlice, FrameDescriptionEntry,
    LittleEndian, UnwindContext, UnwindSection, Vendor,
};

/// The unwind tables of a file, by address.
pub struct Frames<'s> {
    debug_frame: DebugFrame<Slice<'s>>,
    eh_frame: EhFrame<Slice<'s>>,
    bases: BaseAddresses,
    /// From `.debug_frame`, in the order of their addresses.
    debug_entries: Vec<FrameDescriptionEntry<Slice<'s>>>,
    /// The same from `.eh_frame`.
    eh_entries: Vec<FrameDescriptionEntry<Slice<'s>>>,
}

impl<'s> Frames<'s> {
    /// Reads them; `eh_address` is where `.eh_frame` is in memory.
    pub fn read(debug: &Debug<'s>, arch: Arch, eh_address: u64) -> Result<Self> {
        let mut debug_frame = DebugFrame::from(EndianSlice::new(debug.debug_frame, LittleEndian));
        let mut eh_frame = EhFrame::from(EndianSlice::new(debug.eh_frame, LittleEndian));
        debug_frame.set_address_size(8);
        eh_frame.set_address_size(8);
        if arch == Arch::Arm64 {
            debug_frame.set_vendor(Vendor::AArch64);
            eh_frame.set_vendor(Vendor::AArch64);
        }
        let bases = BaseAddresses::default().set_eh_frame(eh_address);
        Ok(Self {
            debug_entries: entries(&debug_frame, &bases)?,
            eh_entries: entries(&eh_frame, &bases)?,
            debug_frame,
            eh_frame,
            bases,
        })
    }

    /// The address of the frame when the instruction at `address` is about to run.
    pub fn cfa(&self, address: u64) -> Result<Sum> {
        let rule = if let Some(entry) = covering(&self.debug_entries, address) {
            rule(&self.debug_frame, &self.bases, entry, address)?
        } else if let Some(entry) = covering(&self.eh_entries, address) {
            rule(&self.eh_frame, &self.bases, entry, address)?
        } else {
            refuse!("it is in the frame, and no unwind table says where that is");
        };
        match rule {
            CfaRule::RegisterAndOffset { register, offset } => {
                Ok(Sum::base(Base::Register(register.0)).plus(offset))
            }
            CfaRule::Expression(_) => {
                refuse!("it is in the frame, whose address is computed here")
            }
        }
    }
}

fn entries<'s, S: UnwindSection<Slice<'s>>>(
    section: &S,
    bases: &BaseAddresses,
) -> Result<Vec<FrameDescriptionEntry<Slice<'s>>>>
where
    S::Offset: gimli::UnwindOffset<usize>,
{
    let mut found = Vec::new();
    let mut entries = section.entries(bases);
    while let Some(entry) = entries.next()? {
        if let CieOrFde::Fde(partial) = entry {
            found.push(partial.parse(S::cie_from_offset)?);
        }
    }
    found.sort_by_key(FrameDescriptionEntry::initial_address);
    Ok(found)
}

fn covering<'e, 's>(
    entries: &'e [FrameDescriptionEntry<Slice<'s>>],
    address: u64,
) -> Option<&'e FrameDescriptionEntry<Slice<'s>>> {
    let behind = entries.partition_point(|entry| entry.initial_address() <= address);
    let entry = entries.get(behind.checked_sub(1)?)?;
    entry.contains(address).then_some(entry)
}

fn rule<'s, S: UnwindSection<Slice<'s>>>(
    section: &S,
    bases: &BaseAddresses,
    entry: &FrameDescriptionEntry<Slice<'s>>,
    address: u64,
) -> Result<CfaRule<usize>> {
    let mut context = UnwindContext::new();
    let row = entry.unwind_info_for_address(section, bases, &mut context, address);
    let row = row.map_err(|error| Refusal::from(error).about("its unwind table"))?;
    Ok(row.cfa().clone())
}
