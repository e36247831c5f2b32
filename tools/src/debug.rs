// SPDX-License-Identifier: GPL-2.0

//! DWARF of one file, behind what the other modules need of it.

mod split;

pub use crate::data::Slice;
use crate::error::{Refusal, Result};
use crate::image::Image;
use crate::refuse;
use gimli::{
    AttributeValue, DebugInfoOffset, DebuggingInformationEntry, DwAt, DwarfSections, EndianSlice,
    LittleEndian, SectionId, UnitOffset,
};
use split::{Part, Parts};
use std::borrow::Cow;
use std::ops::Deref;
use std::path::Path;

/// A debugging information entry.
pub type Entry<'a, 'u, 's> = DebuggingInformationEntry<'a, 'u, Slice<'s>>;
/// The value of an attribute.
pub type Value<'s> = AttributeValue<Slice<'s>>;

/// A compilation unit: its entries, wherever they are.
pub struct Unit<'s> {
    entries: gimli::Unit<Slice<'s>>,
    part: Option<Box<Part<'s>>>,
}

impl<'s> Unit<'s> {
    /// The unit that has the line table, which is always in the linked file.
    pub fn linked(&self) -> &gimli::Unit<Slice<'s>> {
        match &self.part {
            Some(part) => &part.skeleton,
            None => &self.entries,
        }
    }

    /// Whether its entries are in another file.
    pub fn is_split(&self) -> bool {
        self.part.is_some()
    }
}

impl<'s> Deref for Unit<'s> {
    type Target = gimli::Unit<Slice<'s>>;

    fn deref(&self) -> &Self::Target {
        &self.entries
    }
}

/// The debug sections, uncompressed.
pub struct Sections<'d> {
    dwarf: DwarfSections<Cow<'d, [u8]>>,
    debug_frame: Cow<'d, [u8]>,
    eh_frame: Cow<'d, [u8]>,
    debug_loc: Cow<'d, [u8]>,
    debug_loclists: Cow<'d, [u8]>,
}

impl<'d> Sections<'d> {
    /// Reads those of `image`.
    pub fn load(image: &Image<'d>) -> Result<Self> {
        for name in [".gnu_debugaltlink", ".debug_sup"] {
            if image.has_section(name) {
                refuse!("dwz has moved a part of its debug information to a file that it shares with others ({name}), which this program does not read: take the file as it was before dwz");
            }
        }
        let load = |id: SectionId| image.debug_section(id.name());
        Ok(Self {
            dwarf: DwarfSections::load(load)?,
            debug_frame: load(SectionId::DebugFrame)?,
            eh_frame: load(SectionId::EhFrame)?,
            debug_loc: load(SectionId::DebugLoc)?,
            debug_loclists: load(SectionId::DebugLocLists)?,
        })
    }
}

/// DWARF of one file.
pub struct Debug<'s> {
    dwarf: gimli::Dwarf<Slice<'s>>,
    /// `.debug_frame`.
    pub debug_frame: &'s [u8],
    /// `.eh_frame`.
    pub eh_frame: &'s [u8],
    debug_loc: &'s [u8],
    debug_loclists: &'s [u8],
    parts: Parts,
}

impl<'s> Debug<'s> {
    /// The DWARF in `sections` of the file at `path`; refused if there is none.
    pub fn new(sections: &'s Sections<'_>, path: &Path) -> Result<Self> {
        let slice = |data: &'s Cow<'_, [u8]>| EndianSlice::new(data.as_ref(), LittleEndian);
        let dwarf = sections.dwarf.borrow(slice);
        if dwarf.units().next()?.is_none() {
            refuse!("it has no DWARF: install the kernel's -dbg package, or compile with CONFIG_DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT");
        }
        Ok(Self {
            dwarf,
            debug_frame: &sections.debug_frame,
            eh_frame: &sections.eh_frame,
            debug_loc: &sections.debug_loc,
            debug_loclists: &sections.debug_loclists,
            parts: Parts::of(path),
        })
    }

    /// The sections with the entries of `unit`.
    pub fn of<'a>(&'a self, unit: &'a Unit<'s>) -> &'a gimli::Dwarf<Slice<'s>> {
        match &unit.part {
            Some(part) => &part.dwarf,
            None => &self.dwarf,
        }
    }

    /// The section with the location lists of `unit`.
    pub fn locations(&self, unit: &Unit<'s>) -> &'s [u8] {
        match (&unit.part, unit.encoding().version) {
            (Some(part), _) => part.locations,
            (None, ..=4) => self.debug_loc,
            (None, _) => self.debug_loclists,
        }
    }

    /// The offsets of all units.
    pub fn unit_offsets(&self) -> Result<Vec<u64>> {
        let mut offsets = Vec::new();
        let mut units = self.dwarf.units();
        while let Some(header) = units.next()? {
            if let Some(offset) = header.offset().as_debug_info_offset() {
                offsets.push(offset.0 as u64);
            }
        }
        Ok(offsets)
    }

    /// The unit at `offset`.
    pub fn unit(&self, offset: u64) -> Result<Unit<'s>> {
        let offset = usize::try_from(offset).map_err(|_| Refusal::new("too large"))?;
        let offset = DebugInfoOffset(offset);
        let header = self.dwarf.debug_info.header_from_offset(offset)?;
        Ok(
            match self.parts.open(&self.dwarf, self.dwarf.unit(header)?)? {
                Ok((entries, part)) => Unit {
                    entries,
                    part: Some(Box::new(part)),
                },
                Err(entries) => Unit {
                    entries,
                    part: None,
                },
            },
        )
    }

    /// The text of an attribute, if the entry has it.
    pub fn text(&self, unit: &Unit<'s>, value: Option<Value<'s>>) -> Option<&'s str> {
        let text = self.of(unit).attr_string(unit, value?).ok()?;
        std::str::from_utf8(text.slice()).ok()
    }

    /// A text in the line table of `unit`.
    pub fn line_text(&self, unit: &Unit<'s>, value: Value<'s>) -> Option<&'s str> {
        let text = self.dwarf.attr_string(unit.linked(), value).ok()?;
        std::str::from_utf8(text.slice()).ok()
    }

    /// The name of an entry, or of the abstract one that it is an instance of, or of its
    /// declaration.
    pub fn name(&self, unit: &Unit<'s>, entry: &Entry<'_, '_, 's>) -> Option<&'s str> {
        let value = inherited(unit, entry, gimli::DW_AT_name).ok()?;
        self.text(unit, value)
    }
}

/// The attribute `name` of an entry.
pub fn attribute<'s>(entry: &Entry<'_, '_, 's>, name: DwAt) -> Result<Option<Value<'s>>> {
    Ok(entry.attr_value(name)?)
}

/// A number of an attribute.
pub fn number(entry: &Entry<'_, '_, '_>, name: DwAt) -> Result<Option<u64>> {
    Ok(attribute(entry, name)?.and_then(unsigned))
}

/// A constant as an unsigned number.
pub fn unsigned(value: Value<'_>) -> Option<u64> {
    match value {
        // Its form has no sign, so that the sign of the type is not known.
        AttributeValue::Data1(value) => Some(value.into()),
        AttributeValue::Data2(value) => Some(value.into()),
        AttributeValue::Data4(value) => Some(value.into()),
        AttributeValue::Data8(value) | AttributeValue::Udata(value) => Some(value),
        AttributeValue::Sdata(value) => u64::try_from(value).ok(),
        AttributeValue::FileIndex(value) => Some(value),
        AttributeValue::Addr(value) => Some(value),
        _ => None,
    }
}

/// Where in its unit an attribute refers to.
pub fn reference<'s>(
    unit: &Unit<'s>,
    entry: &Entry<'_, '_, 's>,
    name: DwAt,
) -> Result<Option<UnitOffset>> {
    Ok(match attribute(entry, name)? {
        Some(AttributeValue::UnitRef(offset)) => Some(offset),
        Some(AttributeValue::DebugInfoRef(offset)) => match offset.to_unit_offset(&unit.header) {
            Some(offset) => Some(offset),
            None => refuse!("it refers to another unit, as link-time optimisation makes them"),
        },
        Some(AttributeValue::DebugTypesRef(_)) => {
            refuse!("its type is in a section of types: compile without -fdebug-types-section")
        }
        _ => None,
    })
}

/// What an entry is an instance or the definition of.
pub fn origin<'s>(unit: &Unit<'s>, entry: &Entry<'_, '_, 's>) -> Result<Option<UnitOffset>> {
    match reference(unit, entry, gimli::DW_AT_abstract_origin)? {
        Some(origin) => Ok(Some(origin)),
        None => reference(unit, entry, gimli::DW_AT_specification),
    }
}

/// An attribute of an entry or, if it has none, of its origin.
pub fn inherited<'s>(
    unit: &Unit<'s>,
    entry: &Entry<'_, '_, 's>,
    name: DwAt,
) -> Result<Option<Value<'s>>> {
    /// A chain that is longer is damaged.
    const LONGEST: usize = 8;

    let mut value = attribute(entry, name)?;
    let mut next = origin(unit, entry)?;
    for _ in 0..LONGEST {
        let (None, Some(offset)) = (&value, next) else {
            break;
        };
        let entry = unit.entry(offset)?;
        value = attribute(&entry, name)?;
        next = origin(unit, &entry)?;
    }
    Ok(value)
}
