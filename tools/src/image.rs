// SPDX-License-Identifier: GPL-2.0

//! A kernel or a module as an ELF file: its sections at addresses, its symbols, and its
//! debug sections, uncompressed and relocated.

use crate::arch::Arch;
use crate::error::{Refusal, Result};
use crate::refuse;
use object::{
    Architecture, BinaryFormat, File, Object, ObjectKind, ObjectSection, ObjectSymbol,
    RelocationKind, RelocationTarget, SectionFlags, SectionIndex, SymbolIndex, SymbolKind,
};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

/// Where the sections of a file that is not linked are taken to begin: far from zero, which is
/// the address of what other files define.
const MODULE_BASE: u64 = 0x1000_0000;

const SHF_ALLOC: u64 = 2;

/// A section that is in memory.
pub struct Section {
    index: SectionIndex,
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub size: u64,
    /// Whether it has code.
    pub is_code: bool,
}

/// A symbol.
#[derive(Clone, Copy)]
pub struct Symbol<'d> {
    /// Its name.
    pub name: &'d str,
    /// Where it is.
    pub address: u64,
    /// How long it is, 0 if the file does not say.
    pub size: u64,
    /// Whether it is in a section of code.
    pub is_code: bool,
    /// Whether other files see it.
    pub is_global: bool,
    /// Its section, an index of [`Image::sections`].
    pub section: usize,
}

/// An ELF file of either architecture.
pub struct Image<'d> {
    file: File<'d>,
    /// What it is made for.
    pub arch: Arch,
    /// The sections that are in memory.
    pub sections: Vec<Section>,
    symbols: OnceCell<Vec<Symbol<'d>>>,
    bounds: OnceCell<HashMap<&'d str, u64>>,
    /// For each section of the file its number in `sections`.
    by_index: Vec<Option<usize>>,
}

impl<'d> Image<'d> {
    /// Takes `data` apart.
    pub fn parse(data: &'d [u8]) -> Result<Self> {
        if !data.starts_with(b"\x7fELF") {
            refuse!("not an ELF file: take vmlinux, not vmlinuz, and uncompress a .ko.xz first");
        }
        let file = File::parse(data)?;
        let arch = match (file.format(), file.architecture()) {
            (BinaryFormat::Elf, Architecture::X86_64) => Arch::X86_64,
            (BinaryFormat::Elf, Architecture::Aarch64) if file.is_little_endian() => Arch::Arm64,
            (_, other) => refuse!("code for {other:?}: neither x86_64 nor arm64"),
        };
        let sections = sections(&file);
        let mut by_index = Vec::new();
        for (at, section) in sections.iter().enumerate() {
            let len = by_index.len().max(section.index.0 + 1);
            by_index.resize(len, None);
            if let Some(number) = by_index.get_mut(section.index.0) {
                *number = Some(at);
            }
        }
        Ok(Self {
            file,
            arch,
            sections,
            symbols: OnceCell::new(),
            bounds: OnceCell::new(),
            by_index,
        })
    }

    /// All symbols in sections, sorted by address. Symbols at one address keep the order that they
    /// have in the file.
    pub fn symbols(&self) -> &[Symbol<'d>] {
        self.symbols.get_or_init(|| {
            let symbols = self.own_symbols();
            // A kernel has 160,000: what is moved while they are sorted is small.
            let places = symbols.iter().enumerate();
            let places = places.map(|(at, symbol)| (symbol.address, at));
            let mut places: Vec<(u64, usize)> = places.collect();
            places.sort_unstable();
            let sorted = places.iter().filter_map(|(_, at)| symbols.get(*at));
            sorted.copied().collect()
        })
    }

    /// The address of a symbol that bounds a table or a region, such as `__start___ex_table` or
    /// `__noinstr_text_end`.
    pub fn bound(&self, name: &str) -> Option<u64> {
        let bounds = self.bounds.get_or_init(|| {
            let symbols = self.symbols().iter().rev();
            let bounds = symbols.filter(|symbol| is_bound(symbol.name));
            bounds.map(|symbol| (symbol.name, symbol.address)).collect()
        });
        bounds.get(name).copied()
    }

    /// The number of a section in [`Image::sections`], `None` if it is not in memory.
    fn section_number(&self, index: SectionIndex) -> Option<usize> {
        *self.by_index.get(index.0)?
    }

    /// Whether the file is not linked, as modules are.
    pub fn is_module(&self) -> bool {
        self.file.kind() == ObjectKind::Relocatable
    }

    /// The build-id, in hexadecimal.
    pub fn build_id(&self) -> Option<String> {
        Some(crate::build_id::hex(self.file.build_id().ok()??))
    }

    /// The name of the module, as the kernel spells it.
    pub fn module_name(&self) -> Option<String> {
        let section = self.file.section_by_name(".modinfo");
        let data = section.and_then(|section| section.uncompressed_data().ok());
        let data = data.unwrap_or_default();
        let mut entries = data.split(|byte| *byte == 0);
        let name = entries.find_map(|entry| entry.strip_prefix(b"name="))?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    fn own_symbols(&self) -> Vec<Symbol<'d>> {
        let named = self.file.symbols().filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| is_symbol(name))?;
            if matches!(symbol.kind(), SymbolKind::Section | SymbolKind::File) {
                return None;
            }
            let section = self.section_number(symbol.section_index()?)?;
            let is_code = self.sections.get(section)?.is_code;
            Some(Symbol {
                name,
                address: self.placed(section, symbol.address()),
                size: symbol.size(),
                is_code,
                is_global: symbol.is_global(),
                section,
            })
        });
        named.collect()
    }

    /// The address of a symbol; zero for one of another file.
    fn address_of(&self, index: SymbolIndex) -> u64 {
        let Ok(symbol) = self.file.symbol_by_index(index) else {
            return 0;
        };
        let section = symbol.section_index();
        match section.and_then(|at| self.section_number(at)) {
            Some(section) => self.placed(section, symbol.address()),
            None => symbol.address(),
        }
    }

    /// The address of what is `value` of a section, which it counts from in modules.
    fn placed(&self, section: usize, value: u64) -> u64 {
        match self.sections.get(section) {
            Some(section) if self.is_module() => section.address.wrapping_add(value),
            _ => value,
        }
    }

    /// The section at `address`.
    pub fn section_at(&self, address: u64) -> Option<&Section> {
        let mut sections = self.sections.iter();
        sections.find(|section| address.wrapping_sub(section.address) < section.size)
    }

    /// Whether there is a section `name`.
    pub fn has_section(&self, name: &str) -> bool {
        self.file.section_by_name(name).is_some()
    }

    /// The bytes of a debug section, empty if there is none.
    pub fn debug_section(&self, name: &str) -> Result<Cow<'d, [u8]>> {
        let Some(section) = self.file.section_by_name(name) else {
            return Ok(Cow::Borrowed(&[]));
        };
        let mut data = section.uncompressed_data()?;
        if self.is_module() {
            let at = self.section_number(section.index());
            let base = at.and_then(|at| self.sections.get(at));
            let base = base.map_or(0, |section| section.address);
            let failed = |refusal: Refusal| refusal.about(name);
            self.relocate(&section, base, &mut data).map_err(failed)?;
        }
        Ok(data)
    }

    /// Writes addresses into a section, as the linker would.
    fn relocate<'f>(
        &self,
        section: &impl ObjectSection<'f>,
        base: u64,
        data: &mut Cow<'d, [u8]>,
    ) -> Result<()> {
        for (at, relocation) in section.relocations() {
            let symbol = match relocation.target() {
                RelocationTarget::Symbol(index) => self.address_of(index),
                RelocationTarget::Absolute => 0,
                _ => refuse!("an unknown relocation at {at:#x}"),
            };
            let value = symbol.wrapping_add_signed(relocation.addend());
            let value = match relocation.kind() {
                RelocationKind::Absolute => value,
                RelocationKind::Relative => value.wrapping_sub(base.wrapping_add(at)),
                other => refuse!("an unknown relocation at {at:#x}: {other:?}"),
            };
            let size = usize::from(relocation.size() / 8);
            let start = usize::try_from(at).map_err(|_| Refusal::new("too large"))?;
            let place = data.to_mut().get_mut(start..start.saturating_add(size));
            match (place, value.to_le_bytes().get(..size)) {
                (Some(place), Some(bytes)) => place.copy_from_slice(bytes),
                _ => refuse!("a relocation outside of the section, at {at:#x}"),
            }
        }
        Ok(())
    }

    /// Where a table is, and its bytes: the section `name` or, if there is none, what is between two
    /// symbols.
    pub fn table(&self, name: &str, start: &str, end: &str) -> Option<(u64, Vec<u8>)> {
        let mut sections = self.sections.iter();
        if let Some(section) = sections.find(|section| section.name == name) {
            let bytes = self.debug_section(name).ok()?;
            return Some((section.address, bytes.into_owned()));
        }
        let (start, end) = (self.bound(start)?, self.bound(end)?);
        let section = self.section_at(start)?;
        let from = usize::try_from(start.checked_sub(section.address)?).ok()?;
        let to = usize::try_from(end.checked_sub(section.address)?).ok()?;
        let bytes = self.code(section)?.get(from..to)?;
        Some((start, bytes.to_vec()))
    }

    /// The bytes of a section in memory, `None` if the file has none of it: files of debug
    /// information alone have no code.
    pub fn code(&self, section: &Section) -> Option<&'d [u8]> {
        let data = self
            .file
            .section_by_index(section.index)
            .ok()?
            .data()
            .ok()?;
        (data.len() as u64 == section.size).then_some(data)
    }
}

fn sections(file: &File<'_>) -> Vec<Section> {
    let mut next = MODULE_BASE;
    let mut sections = Vec::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else {
            continue;
        };
        if sh_flags & SHF_ALLOC == 0 {
            continue;
        }
        let mut address = section.address();
        if file.kind() == ObjectKind::Relocatable {
            address = next.next_multiple_of(section.align().max(1));
            next = address.saturating_add(section.size());
        }
        sections.push(Section {
            index: section.index(),
            name: section.name().unwrap_or_default().into(),
            address,
            size: section.size(),
            is_code: sh_flags & u64::from(object::elf::SHF_EXECINSTR) != 0
                && section.name().is_ok_and(|name| name.contains("text")),
        });
    }
    sections
}

/// Whether a symbol bounds a table or a region.
fn is_bound(name: &str) -> bool {
    name.starts_with("__st") || name.ends_with("_text_start") || name.ends_with("_text_end")
}

/// Whether the kernel's symbol table has it: not the marks of an assembler.
fn is_symbol(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('$') && !name.starts_with(".L")
}
