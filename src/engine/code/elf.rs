// SPDX-License-Identifier: GPL-2.0

//! The symbols and segments of an ELF file, as far as probes of a program need them.
//!
//! The file may be hostile: every offset and number is checked, tables have a largest size, and
//! each is read once, in order, in pieces. A name is first looked for in the whole table of names,
//! which yields the few offsets that a symbol of that name can have; so symbols are compared by
//! number.
//!
//! Specification: System V ABI, chapters 4 and 5.

pub mod points;

use crate::engine::code::arch::Arch;
use crate::sys::{AllocError, Vec};

/// Maximum number of segments.
const MAX_SEGMENTS: u16 = 128;
/// Maximum number of sections. More need another header, which few programs have.
const MAX_SECTIONS: u16 = 0xfeff;
/// Maximum number of symbols of one table.
const MAX_SYMBOLS: u64 = 1 << 22;
/// Maximum number of bytes of a table of names.
const MAX_NAMES: u64 = 1 << 28;
/// Maximum number of sections with notes.
const MAX_NOTES: usize = 32;
/// Maximum number of offsets at which one name is found, also as the end of others.
const MAX_OFFSETS: usize = 1 << 16;
/// Maximum number of symbols of one name.
const MAX_NAMESAKES: usize = 256;
/// Number of bytes that are read at a time: a multiple of the size of each entry.
const PIECE: usize = 64 * 96;
/// Longest name of a symbol that is looked up: longer than a line.
pub const MAX_SYMBOL_NAME: usize = 4096;

const HEADER_SIZE: usize = 64;
const SEGMENT_SIZE: usize = 56;
const SECTION_SIZE: usize = 64;
const SYMBOL_SIZE: usize = 24;

const PT_LOAD: u32 = 1;
const PF_X: u32 = 1;
const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_NOTE: u32 = 7;
const SHT_DYNSYM: u32 = 11;
const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;

/// What a file is read from.
pub trait FileBytes {
    /// Reads from `offset` on to `out`. Returns the number of bytes, fewer at the end of the file;
    /// `None` if that fails.
    fn read(&self, offset: u64, out: &mut [u8]) -> Option<usize>;
}

/// Why a file has no symbols that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElfError {
    /// It is no ELF file.
    NotElf,
    /// It is not of 64 bits and little-endian, or of another machine.
    OtherMachine,
    /// It ends too early, or has values that cannot be.
    Broken,
    /// A table is larger than what is read.
    TooLarge,
    /// It cannot be read.
    Unreadable,
    /// Out of memory.
    NoMemory,
}

impl From<AllocError> for ElfError {
    fn from(_: AllocError) -> Self {
        Self::NoMemory
    }
}

impl ElfError {
    /// Returns the reason, for use behind the name of the file.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::NotElf => "is no ELF file",
            Self::OtherMachine => "is not for 64 bits of this machine",
            Self::Broken => "is a broken ELF file",
            Self::TooLarge => "has too large a table of symbols",
            Self::Unreadable => "cannot be read",
            Self::NoMemory => "takes too much memory",
        }
    }
}

/// A part of the file that is mapped.
#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    address: u64,
    size: u64,
    is_code: bool,
}

/// A table of symbols and that of their names.
#[derive(Clone, Copy, Debug)]
struct ElfTable {
    symbols: u64,
    count: u64,
    names: u64,
    names_size: u64,
}

/// A section of the file.
#[derive(Clone, Copy, Debug)]
struct ElfSection {
    offset: u64,
    size: u64,
}

/// A symbol of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElfSymbol {
    /// Its offset in the file.
    pub offset: u64,
    /// Its size in bytes; 0 if unknown.
    pub size: u64,
    /// Whether other files can use it.
    pub is_global: bool,
    /// Whether it returns the function of its name, chosen when a program starts.
    pub is_resolver: bool,
    /// The offset of its name in the file.
    name: u64,
}

/// The segments and tables of a file.
pub struct Elf<'a> {
    file: &'a dyn FileBytes,
    segments: Vec<Segment>,
    tables: Vec<ElfTable>,
    notes: Vec<ElfSection>,
    /// The address of the section [`points::BASE`].
    base: Option<u64>,
}

/// Reads exactly `out.len()` bytes.
fn read_all(file: &dyn FileBytes, offset: u64, out: &mut [u8]) -> Result<(), ElfError> {
    match file.read(offset, out) {
        Some(read) if read == out.len() => Ok(()),
        Some(_) => Err(ElfError::Broken),
        None => Err(ElfError::Unreadable),
    }
}

/// Returns the little-endian number of `N` bytes at `at`; 0 beyond the end.
fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
    let mut wide = [0; 8];
    for (to, from) in wide.iter_mut().zip(field.into_iter().flatten()) {
        *to = *from;
    }
    u64::from_le_bytes(wide)
}

fn number16(bytes: &[u8], at: usize) -> u16 {
    u16::try_from(number::<2>(bytes, at)).unwrap_or(0)
}

fn number32(bytes: &[u8], at: usize) -> u32 {
    u32::try_from(number::<4>(bytes, at)).unwrap_or(0)
}

/// Calls `each` with the entries of `SIZE` bytes of a table of `count` at `offset`, and their
/// numbers, until that returns false.
fn each_entry<const SIZE: usize>(
    file: &dyn FileBytes,
    (offset, count): (u64, u64),
    each: &mut dyn FnMut(u64, &[u8]) -> bool,
) -> Result<(), ElfError> {
    let mut room = Vec::new();
    for _ in 0..PIECE {
        room.push(0)?;
    }
    let in_piece = u64::try_from(PIECE / SIZE).unwrap_or(1);
    let mut done = 0;
    while done < count {
        let now = in_piece.min(count.saturating_sub(done));
        let length = usize::try_from(now).unwrap_or(0).saturating_mul(SIZE);
        let piece = room.get_mut(..length).ok_or(ElfError::Broken)?;
        let behind = done.saturating_mul(SIZE as u64);
        let at = offset.checked_add(behind).ok_or(ElfError::Broken)?;
        read_all(file, at, piece)?;
        for (n, entry) in (done..).zip(piece.chunks_exact(SIZE)) {
            if !each(n, entry) {
                return Ok(());
            }
        }
        done = done.saturating_add(now);
    }
    Ok(())
}

impl<'a> Elf<'a> {
    /// Reads the headers of `file`, a program for `arch`.
    ///
    /// # Errors
    ///
    /// Why it has no symbols that can be read.
    pub fn open(file: &'a dyn FileBytes, arch: Arch) -> Result<Self, ElfError> {
        let mut header = [0; HEADER_SIZE];
        let read = file.read(0, &mut header).ok_or(ElfError::Unreadable)?;
        if read < 4 || !header.starts_with(b"\x7fELF") {
            return Err(ElfError::NotElf);
        }
        if read < HEADER_SIZE {
            return Err(ElfError::Broken);
        }
        let machine = match arch {
            Arch::X86_64 => 62,
            Arch::Arm64 => 183,
        };
        let is_fit = header.get(4..6) == Some(&[2, 1]) && number16(&header, 18) == machine;
        if !is_fit {
            return Err(ElfError::OtherMachine);
        }
        let mut elf = Self {
            file,
            segments: Vec::new(),
            tables: Vec::new(),
            notes: Vec::new(),
            base: None,
        };
        elf.read_segments(&header)?;
        elf.read_sections(&header)?;
        Ok(elf)
    }

    fn read_segments(&mut self, header: &[u8]) -> Result<(), ElfError> {
        let (at, count) = (number::<8>(header, 32), number16(header, 56));
        if count > MAX_SEGMENTS {
            return Err(ElfError::TooLarge);
        }
        if count > 0 && usize::from(number16(header, 54)) != SEGMENT_SIZE {
            return Err(ElfError::Broken);
        }
        let mut result = Ok(());
        let segments = &mut self.segments;
        each_entry::<SEGMENT_SIZE>(self.file, (at, count.into()), &mut |_, entry| {
            if number32(entry, 0) == PT_LOAD {
                result = segments.push(Segment {
                    offset: number::<8>(entry, 8),
                    address: number::<8>(entry, 16),
                    size: number::<8>(entry, 32),
                    is_code: number32(entry, 4) & PF_X != 0,
                });
            }
            result.is_ok()
        })?;
        Ok(result?)
    }

    fn read_sections(&mut self, header: &[u8]) -> Result<(), ElfError> {
        let (at, count) = (number::<8>(header, 40), number16(header, 60));
        if at == 0 || count == 0 {
            return Ok(());
        }
        if count > MAX_SECTIONS || usize::from(number16(header, 58)) != SECTION_SIZE {
            return Err(ElfError::Broken);
        }
        // The first of each kind, and the number of the section with its names.
        let mut found: [Option<(u64, u64, u32)>; 2] = [None, None];
        // The names and addresses of sections of one byte, of which one may be that of points.
        let mut small: [Option<(u32, u64)>; 4] = [None; 4];
        let mut result = Ok(());
        let sections = (at, u64::from(count));
        let notes = &mut self.notes;
        each_entry::<SECTION_SIZE>(self.file, sections, &mut |_, entry| {
            let slot = match number32(entry, 4) {
                SHT_SYMTAB => 0,
                SHT_DYNSYM => 1,
                SHT_NOTE if notes.len() < MAX_NOTES => {
                    result = notes.push(ElfSection {
                        offset: number::<8>(entry, 24),
                        size: number::<8>(entry, 32),
                    });
                    return result.is_ok();
                }
                SHT_PROGBITS if number::<8>(entry, 32) == 1 => {
                    if let Some(slot) = small.iter_mut().find(|slot| slot.is_none()) {
                        *slot = Some((number32(entry, 0), number::<8>(entry, 16)));
                    }
                    return true;
                }
                _ => return true,
            };
            let is_fit = number::<8>(entry, 56) == SYMBOL_SIZE as u64;
            let table = (
                number::<8>(entry, 24),
                number::<8>(entry, 32),
                number32(entry, 40),
            );
            if let Some(slot @ None) = found.get_mut(slot).filter(|_| is_fit) {
                *slot = Some(table);
            }
            true
        })?;
        result?;
        let names = self.section(sections, number16(header, 62).into());
        let names = names.map_or(0, |names| number::<8>(&names, 24));
        self.base = small.into_iter().flatten().find_map(|(name, address)| {
            let mut text = [0; points::BASE.len()];
            let read = self
                .file
                .read(names.saturating_add(name.into()), &mut text)?;
            (text.get(..read) == Some(points::BASE)).then_some(address)
        });
        for (symbols, size, names) in found.into_iter().flatten() {
            let entry = self.section(sections, names)?;
            let count = size.checked_div(SYMBOL_SIZE as u64).unwrap_or(0);
            let names_size = number::<8>(&entry, 32);
            if count > MAX_SYMBOLS || names_size > MAX_NAMES {
                return Err(ElfError::TooLarge);
            }
            self.tables.push(ElfTable {
                symbols,
                count,
                names: number::<8>(&entry, 24),
                names_size,
            })?;
        }
        Ok(())
    }

    /// Returns entry `n` of the table of `count` sections at `at`.
    fn section(&self, (at, count): (u64, u64), n: u32) -> Result<[u8; SECTION_SIZE], ElfError> {
        let mut entry = [0; SECTION_SIZE];
        if u64::from(n) >= count {
            return Err(ElfError::Broken);
        }
        let behind = u64::from(n).saturating_mul(SECTION_SIZE as u64);
        let at = at.checked_add(behind).ok_or(ElfError::Broken)?;
        read_all(self.file, at, &mut entry)?;
        Ok(entry)
    }

    /// Returns the offset in the file of what is mapped at `address`, relative to where the file
    /// wants to be.
    fn offset_of(&self, address: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let behind = address.checked_sub(segment.address)?;
            (behind < segment.size)
                .then(|| segment.offset.checked_add(behind))
                .flatten()
        })
    }

    /// Returns whether `offset` of the file is mapped as code, or if no segments are known.
    pub fn is_code(&self, offset: u64) -> bool {
        let has = |segment: &Segment| {
            let behind = offset.checked_sub(segment.offset);
            segment.is_code && behind.is_some_and(|behind| behind < segment.size)
        };
        self.segments.is_empty() || self.segments.iter().any(has)
    }

    /// Returns the symbol of a table's entry, if it is one of code.
    fn symbol(&self, table: &ElfTable, entry: &[u8]) -> Option<ElfSymbol> {
        let info = entry.get(4).copied().unwrap_or(0);
        let is_code = matches!(info & 15, STT_FUNC | STT_GNU_IFUNC | STT_NOTYPE);
        let is_defined = number16(entry, 6) != 0;
        let offset = self.offset_of(number::<8>(entry, 8))?;
        (is_code && is_defined && self.is_code(offset)).then(|| ElfSymbol {
            offset,
            size: number::<8>(entry, 16),
            is_global: info >> 4 != 0,
            is_resolver: info & 15 == STT_GNU_IFUNC,
            name: table.names.saturating_add(u64::from(number32(entry, 0))),
        })
    }

    /// Calls `each` with the symbols of code in all tables, until that returns false.
    fn each_symbol(
        &self,
        each: &mut dyn FnMut(&ElfTable, u32, ElfSymbol) -> bool,
    ) -> Result<(), ElfError> {
        for table in &self.tables {
            let symbols = (table.symbols, table.count);
            each_entry::<SYMBOL_SIZE>(self.file, symbols, &mut |_, entry| match self
                .symbol(table, entry)
            {
                Some(symbol) => each(table, number32(entry, 0), symbol),
                None => true,
            })?;
        }
        Ok(())
    }

    /// Returns the symbols called `name` at different offsets, at most [`MAX_NAMESAKES`].
    ///
    /// # Errors
    ///
    /// [`ElfError::Broken`] for an empty or too long name, [`ElfError::TooLarge`] for one that is
    /// the end of too many others, and errors of reading.
    pub fn named(&self, name: &[u8]) -> Result<Vec<ElfSymbol>, ElfError> {
        if name.is_empty() || name.len() > MAX_SYMBOL_NAME {
            return Err(ElfError::Broken);
        }
        let mut found: Vec<ElfSymbol> = Vec::new();
        for table in &self.tables {
            let names = self.offsets_of(table, name)?;
            let mut result = Ok(());
            let symbols = (table.symbols, table.count);
            each_entry::<SYMBOL_SIZE>(self.file, symbols, &mut |_, entry| {
                if names.binary_search(&number32(entry, 0)).is_err() {
                    return true;
                }
                let Some(symbol) = self.symbol(table, entry) else {
                    return true;
                };
                let mut others = found.iter_mut();
                match others.find(|other| other.offset == symbol.offset) {
                    Some(other) => other.is_global |= symbol.is_global,
                    None => result = found.push(symbol),
                }
                result.is_ok() && found.len() < MAX_NAMESAKES
            })?;
            result?;
        }
        Ok(found)
    }

    /// Returns the offsets in the names of `table` at which `name` and a NUL are, ascending.
    fn offsets_of(&self, table: &ElfTable, name: &[u8]) -> Result<Vec<u32>, ElfError> {
        let mut found = Vec::new();
        let mut room: Vec<u8> = Vec::new();
        let size = PIECE.saturating_add(MAX_SYMBOL_NAME);
        for _ in 0..size {
            room.push(0)?;
        }
        let mut done = 0u64;
        while done < table.names_size {
            let rest = table.names_size.saturating_sub(done);
            let length = usize::try_from(rest).unwrap_or(size).min(size);
            let piece = room.get_mut(..length).ok_or(ElfError::Broken)?;
            let at = table.names.checked_add(done).ok_or(ElfError::Broken)?;
            read_all(self.file, at, piece)?;
            // What begins behind a piece is in the next one.
            for begin in 0..length.min(PIECE) {
                let text = piece.get(begin..).unwrap_or_default();
                let behind = text.strip_prefix(name).and_then(|rest| rest.first());
                if behind == Some(&0) {
                    if found.len() == MAX_OFFSETS {
                        return Err(ElfError::TooLarge);
                    }
                    let offset = done.saturating_add(begin as u64);
                    found.push(u32::try_from(offset).map_err(|_| ElfError::TooLarge)?)?;
                }
            }
            done = done.saturating_add(PIECE as u64);
        }
        Ok(found)
    }

    /// Returns the function that contains `offset` of the file: the last that begins before it and
    /// does not end before it.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn function_at(&self, offset: u64) -> Result<Option<ElfSymbol>, ElfError> {
        let mut found: Option<ElfSymbol> = None;
        self.each_symbol(&mut |_, _, symbol| {
            let behind = offset.checked_sub(symbol.offset);
            let has = behind.is_some_and(|behind| behind < symbol.size);
            if has && found.is_none_or(|found| symbol.offset > found.offset) {
                found = Some(symbol);
            }
            true
        })?;
        Ok(found)
    }

    /// Returns the name of `symbol`, cut to [`MAX_SYMBOL_NAME`].
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn name_of(&self, symbol: &ElfSymbol) -> Result<Vec<u8>, ElfError> {
        let mut name: Vec<u8> = Vec::new();
        let mut room = [0; 64];
        while name.len() < MAX_SYMBOL_NAME {
            let at = symbol.name.saturating_add(name.len() as u64);
            let read = self.file.read(at, &mut room).ok_or(ElfError::Unreadable)?;
            let piece = room.get(..read).unwrap_or_default();
            let end = piece.iter().position(|&byte| byte == 0);
            name.extend_from_slice(piece.get(..end.unwrap_or(read)).unwrap_or_default())?;
            if end.is_some() || read == 0 {
                break;
            }
        }
        Ok(name)
    }
}
