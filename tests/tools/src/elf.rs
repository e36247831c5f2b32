// SPDX-License-Identifier: GPL-2.0

//! A kernel or a module as a file: its sections at addresses, its symbols, and
//! its bytes as the loader would leave them.

use crate::Failure;
use ferroprobe_engine::engine::code::arch::Arch;
use object::elf::{
    R_AARCH64_ABS64, R_AARCH64_PREL32, R_X86_64_64, R_X86_64_PC32, R_X86_64_PLT32, SHF_ALLOC,
    SHF_EXECINSTR, SHF_WRITE,
};
use object::{
    Architecture, BinaryFormat, File, Object, ObjectKind, ObjectSection, ObjectSymbol,
    RelocationFlags, RelocationTarget, SectionFlags, SectionIndex, SymbolIndex, SymbolKind,
};
use std::collections::HashMap;
use std::ops::Range;

/// Where the sections of a file that is not linked yet are taken to begin: far
/// enough from zero, which is the address of symbols of other files.
const MODULE_BASE: u64 = 0x1000_0000;

/// A named place.
pub(crate) struct Symbol {
    pub(crate) name: String,
    pub(crate) address: u64,
    size: u64,
    /// Whether a function may begin there: in a section of code.
    pub(crate) is_code: bool,
}

/// A section with its place.
pub(crate) struct Section {
    index: SectionIndex,
    pub(crate) name: String,
    pub(crate) address: u64,
    size: u64,
    /// Whether it holds code; x86 kernels have data that is executable too.
    is_code: bool,
}

impl Section {
    pub(crate) fn range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.size)
    }
}

/// An ELF file of either architecture.
pub(crate) struct Elf<'d> {
    file: File<'d>,
    pub(crate) arch: Arch,
    pub(crate) sections: Vec<Section>,
    by_index: HashMap<SectionIndex, usize>,
    /// In the order of their addresses.
    pub(crate) symbols: Vec<Symbol>,
    /// Where data begins and ends within code, as the compiler has marked it.
    marks: Vec<(u64, bool)>,
}

impl<'d> Elf<'d> {
    /// Takes `data` apart.
    pub(crate) fn parse(data: &'d [u8]) -> Result<Self, Failure> {
        if !data.starts_with(b"\x7fELF") {
            return Err("not an ELF file".into());
        }
        let file = File::parse(data)?;
        let arch = match (file.format(), file.architecture()) {
            (BinaryFormat::Elf, Architecture::X86_64) => Arch::X86_64,
            (BinaryFormat::Elf, Architecture::Aarch64) if file.is_little_endian() => Arch::Arm64,
            (_, other) => {
                return Err(format!("code for {other:?}: neither x86_64 nor arm64").into())
            }
        };
        let sections = sections(&file)?;
        let by_index = sections
            .iter()
            .enumerate()
            .map(|(at, section)| (section.index, at))
            .collect();
        let mut elf = Self {
            file,
            arch,
            sections,
            by_index,
            symbols: Vec::new(),
            marks: Vec::new(),
        };
        elf.symbols = elf.own_symbols();
        elf.marks = elf.own_marks();
        elf.marks.sort();
        elf.symbols.sort_by_key(|symbol| symbol.address);
        Ok(elf)
    }

    fn own_symbols(&self) -> Vec<Symbol> {
        let named = self.file.symbols().filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| is_symbol(name))?;
            if matches!(symbol.kind(), SymbolKind::Section | SymbolKind::File) {
                return None;
            }
            let section = self.section(symbol.section_index()?)?;
            Some(Symbol {
                name: name.into(),
                address: self.address_of(symbol.index()),
                size: symbol.size(),
                is_code: section.is_code,
            })
        });
        named.collect()
    }

    /// Takes the symbols from `text`, in the form of `/proc/kallsyms` or
    /// `System.map`, and not from the file. Moves them to where the file has
    /// them, if the kernel had moved itself.
    pub(crate) fn take_symbols(&mut self, text: &str) -> Result<(), Failure> {
        let mut symbols = Vec::new();
        for line in text.lines().filter(|line| !line.contains('[')) {
            let mut columns = line.split_whitespace();
            let (Some(address), Some(_), Some(name)) =
                (columns.next(), columns.next(), columns.next())
            else {
                return Err(format!("no line of a symbol: {line}").into());
            };
            symbols.push((u64::from_str_radix(address, 16)?, name));
        }
        let text = self.sections.iter().find(|section| section.name == ".text");
        let moved = symbols
            .iter()
            .find(|(_, name)| *name == "_text")
            .zip(text)
            .map_or(0, |((at, _), section)| section.address.wrapping_sub(*at));
        self.symbols = symbols
            .into_iter()
            .filter(|(_, name)| is_symbol(name))
            .map(|(address, name)| {
                let address = address.wrapping_add(moved);
                Symbol {
                    name: name.into(),
                    address,
                    size: 0,
                    is_code: self.is_code(address),
                }
            })
            .collect();
        self.symbols.sort_by_key(|symbol| symbol.address);
        Ok(())
    }

    fn section(&self, index: SectionIndex) -> Option<&Section> {
        self.sections.get(*self.by_index.get(&index)?)
    }

    /// The address of a symbol; zero for one of another file.
    fn address_of(&self, index: SymbolIndex) -> u64 {
        let Ok(symbol) = self.file.symbol_by_index(index) else {
            return 0;
        };
        let section = symbol.section_index().and_then(|at| self.section(at));
        match (self.file.kind(), section) {
            (ObjectKind::Relocatable, Some(section)) => {
                section.address.wrapping_add(symbol.address())
            }
            _ => symbol.address(),
        }
    }

    /// Whether `address` lies in a section of code.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        let mut code = self.sections.iter().filter(|section| section.is_code);
        code.any(|section| section.range().contains(&address))
    }

    /// The symbols at which `name` is found.
    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Symbol> {
        let mut last = None;
        let named = self
            .symbols
            .iter()
            .filter(move |symbol| symbol.name == name);
        named.filter(move |symbol| last.replace(symbol.address) != Some(symbol.address))
    }

    /// The address of the one symbol `name`.
    pub(crate) fn address(&self, name: &str) -> Option<u64> {
        self.named(name).map(|symbol| symbol.address).next()
    }

    /// The place from `address` up to the next symbol of the section, which is
    /// what the kernel takes for the function.
    pub(crate) fn function(&self, address: u64) -> Option<Range<u64>> {
        let section = self
            .sections
            .iter()
            .find(|section| section.is_code && section.range().contains(&address))?;
        let next = self
            .symbols
            .partition_point(|symbol| symbol.address <= address);
        let end = section.range().end;
        let next = self.symbols.get(next).map_or(end, |symbol| symbol.address);
        Some(address..next.min(end))
    }

    /// What the symbols at `address` say that they take; `None` if they do not.
    pub(crate) fn extent(&self, address: u64) -> Option<Range<u64>> {
        let first = self
            .symbols
            .partition_point(|symbol| symbol.address < address);
        let here = self.symbols.get(first..).unwrap_or_default();
        let here = here.iter().take_while(|symbol| symbol.address == address);
        let size = here.map(|symbol| symbol.size).max().unwrap_or(0);
        (size > 0).then(|| address..address.saturating_add(size).max(self.enclosing_end(first)))
    }

    /// Where the function ends inside which the symbol at `index` is a label, as those
    /// before it in assembly are; 0 if it is in none.
    fn enclosing_end(&self, index: usize) -> u64 {
        let Some(label) = self.symbols.get(index) else {
            return 0;
        };
        let before = self.symbols.get(..index).unwrap_or_default().iter().rev();
        let ends = before
            .take(8)
            .map(|symbol| symbol.address.saturating_add(symbol.size));
        ends.filter(|end| *end > label.address).max().unwrap_or(0)
    }

    fn own_marks(&self) -> Vec<(u64, bool)> {
        let marks = self.file.symbols().filter_map(|symbol| {
            let name = symbol.name().ok()?;
            let is_data = name == "$d" || name.starts_with("$d.");
            let is_code = name == "$x" || name.starts_with("$x.");
            let section = self.section(symbol.section_index()?)?;
            (section.is_code && (is_data || is_code))
                .then(|| (self.address_of(symbol.index()), is_data))
        });
        marks.collect()
    }

    /// Whether the compiler has marked what is at `address` as data.
    pub(crate) fn is_marked_data(&self, address: u64) -> bool {
        let next = self.marks.partition_point(|(at, _)| *at <= address);
        let mark = next.checked_sub(1).and_then(|last| self.marks.get(last));
        mark.is_some_and(|(_, is_data)| *is_data)
    }

    /// The places at which a symbol of another file that `is_meant` is called.
    pub(crate) fn calls(&self, is_meant: impl Fn(&str) -> bool) -> Vec<u64> {
        let mut places = Vec::new();
        let code = self.sections.iter().filter(|section| section.is_code);
        for section in code {
            let Ok(raw) = self.file.section_by_index(section.index) else {
                continue;
            };
            for (offset, relocation) in raw.relocations() {
                let RelocationTarget::Symbol(symbol) = relocation.target() else {
                    continue;
                };
                let symbol = self.file.symbol_by_index(symbol);
                if symbol.is_ok_and(|symbol| symbol.name().is_ok_and(&is_meant)) {
                    places.push(section.address.wrapping_add(offset));
                }
            }
        }
        places
    }

    /// The bytes between two addresses of one section, with what is known of
    /// relocations done.
    pub(crate) fn bytes(&self, range: &Range<u64>) -> Option<Vec<u8>> {
        let section = self
            .sections
            .iter()
            .find(|section| section.range().contains(&range.start))?;
        let from = usize::try_from(range.start - section.address).ok()?;
        let to = usize::try_from(range.end.checked_sub(section.address)?).ok()?;
        let raw = self.file.section_by_index(section.index).ok()?;
        let mut bytes = raw.data().ok()?.get(from..to)?.to_vec();
        if self.file.kind() == ObjectKind::Relocatable {
            for (offset, relocation) in raw.relocations() {
                let at = usize::try_from(offset).ok()?;
                if (from..to).contains(&at) {
                    let place = section.address.wrapping_add(offset);
                    self.relocate(&mut bytes, at - from, place, &relocation);
                }
            }
        }
        Some(bytes)
    }

    /// Does one relocation; those of other kinds touch neither tables nor the
    /// targets of branches within a function.
    fn relocate(&self, bytes: &mut [u8], at: usize, place: u64, relocation: &object::Relocation) {
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            return;
        };
        let RelocationFlags::Elf { r_type } = relocation.flags() else {
            return;
        };
        let value = self
            .address_of(symbol)
            .wrapping_add_signed(relocation.addend());
        let value = match (self.arch, r_type) {
            (Arch::X86_64, R_X86_64_64) | (Arch::Arm64, R_AARCH64_ABS64) => {
                value.to_le_bytes().to_vec()
            }
            (Arch::X86_64, R_X86_64_PC32 | R_X86_64_PLT32) | (Arch::Arm64, R_AARCH64_PREL32) => {
                let distance = value.wrapping_sub(place).to_le_bytes();
                distance.iter().take(4).copied().collect()
            }
            _ => return,
        };
        if let Some(to) = bytes.get_mut(at..at + value.len()) {
            to.copy_from_slice(&value);
        }
    }
}

/// The sections that take memory, laid out one behind the other where the file
/// leaves that to the loader.
fn sections(file: &File<'_>) -> Result<Vec<Section>, Failure> {
    let mut next = MODULE_BASE;
    let mut sections = Vec::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else {
            continue;
        };
        if sh_flags & u64::from(SHF_ALLOC) == 0 {
            continue;
        }
        let address = match file.kind() {
            ObjectKind::Relocatable => next.next_multiple_of(section.align().max(16)),
            _ => section.address(),
        };
        next = address.saturating_add(section.size());
        sections.push(Section {
            index: section.index(),
            name: section.name()?.into(),
            address,
            size: section.size(),
            is_code: sh_flags & u64::from(SHF_EXECINSTR | SHF_WRITE) == u64::from(SHF_EXECINSTR),
        });
    }
    Ok(sections)
}

/// Whether the kernel keeps the symbol: not those that only mark what follows.
fn is_symbol(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('$') && !name.starts_with(".L")
}
