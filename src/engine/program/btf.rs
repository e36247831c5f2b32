// SPDX-License-Identifier: GPL-2.0

//! Reads BTF, the kernel's compact type information.
//!
//! The kernel's `Documentation/bpf/btf.rst` describes the format. A blob is the content of
//! `/sys/kernel/btf/vmlinux`; the blob of a module continues the numbering of types and
//! strings of the kernel's blob ([`Index::build`] with a base). Blobs are not trusted: every access
//! is checked, every walk is bounded, and invalid data counts as absent.
//!
//! Types vary in size, so a lookup by number needs an index. The [`Index`] has one offset for
//! [`STRIDE`] types: some ten kilobytes for a kernel's 150,000 types. A lookup walks over at most
//! that many types.

pub mod declare;
mod lookup;
pub mod parts;
mod shape;

pub use lookup::{BtfFunction, BtfValue, Member, Parameter, ParameterIter, TypeIdentity};

use crate::sys::{AllocError, Vec};

/// Types per entry of the index.
const STRIDE: u32 = 64;

/// Largest number of consecutive modifiers that are followed: a longer chain is a loop.
const MAX_MODIFIERS: usize = 32;

/// Why a blob cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The header is not one of BTF.
    Header,
    /// The sections lie outside the blob.
    Section,
    /// A type does not end within its section, or its kind is unknown.
    Type,
    /// Out of memory for the index.
    NoMemory,
}

impl From<AllocError> for Malformed {
    fn from(_: AllocError) -> Self {
        Malformed::NoMemory
    }
}

/// Offsets of sections and types in a blob. Owned, so that it can be stored beside the blob.
#[derive(Debug, PartialEq, Eq)]
pub struct Index {
    types: (usize, usize),
    strings: (usize, usize),
    checkpoints: Vec<u32>,
    /// Number of the first type.
    first_type: u32,
    /// Number after that of the last type.
    end_type: u32,
    /// Offset of the first string, counted after the base's.
    first_string: u32,
}

/// Size of a type without the data that follows it by kind.
const TYPE_SIZE: usize = 12;

impl Index {
    /// Checks `blob` and creates its index; a module's blob needs the kernel's index as
    /// `base`.
    ///
    /// # Errors
    ///
    /// [`Malformed`].
    pub fn build(blob: &[u8], base: Option<&Index>) -> Result<Self, Malformed> {
        let header = BtfHeader::read(blob).ok_or(Malformed::Header)?;
        let types = header
            .section(header.types, blob)
            .ok_or(Malformed::Section)?;
        let strings = header
            .section(header.strings, blob)
            .ok_or(Malformed::Section)?;
        let mut index = Self {
            types,
            strings,
            checkpoints: Vec::new(),
            first_type: base.map_or(1, |base| base.end_type),
            end_type: 0,
            first_string: base.map_or(0, Index::end_string),
        };
        let section = blob.get(types.0..types.1).ok_or(Malformed::Section)?;
        let mut at = 0usize;
        let mut count = 0u32;
        while at < section.len() {
            if count % STRIDE == 0 {
                index
                    .checkpoints
                    .push(u32::try_from(at).map_err(|_| Malformed::Section)?)?;
            }
            let rest = section.get(at..).unwrap_or(&[]);
            let raw = Raw::read(rest).ok_or(Malformed::Type)?;
            at = at.saturating_add(TYPE_SIZE).saturating_add(raw.tail.len());
            count = count.checked_add(1).ok_or(Malformed::Type)?;
        }
        index.end_type = index.first_type.checked_add(count).ok_or(Malformed::Type)?;
        Ok(index)
    }

    /// Returns the offset behind the last string, counted after the base's.
    fn end_string(&self) -> u32 {
        let length = self.strings.1.saturating_sub(self.strings.0);
        self.first_string
            .saturating_add(u32::try_from(length).unwrap_or(u32::MAX))
    }
}

/// The used parts of the header.
struct BtfHeader {
    length: usize,
    types: (u32, u32),
    strings: (u32, u32),
}

impl BtfHeader {
    fn read(blob: &[u8]) -> Option<Self> {
        const MAGIC: u32 = 0xeb9f;
        let first = word(blob, 0)?;
        let version = first >> 16 & 0xff;
        if first & 0xffff != MAGIC || version != 1 {
            return None;
        }
        Some(Self {
            length: usize::try_from(word(blob, 4)?).ok()?,
            types: (word(blob, 8)?, word(blob, 12)?),
            strings: (word(blob, 16)?, word(blob, 20)?),
        })
    }

    /// Returns start and end in the blob of a section given by offset and length.
    fn section(&self, (offset, length): (u32, u32), blob: &[u8]) -> Option<(usize, usize)> {
        let start = self.length.checked_add(usize::try_from(offset).ok()?)?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        (end <= blob.len()).then_some((start, end))
    }
}

/// Returns the little-endian word at byte `at`.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

/// The kind of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum BtfKind {
    Void,
    Int,
    Pointer,
    Array,
    Struct,
    Union,
    Enum,
    Enum64,
    Forward,
    Modifier,
    Function,
    Prototype,
    Variable,
    Section,
    Other,
}

/// A type as encoded in the blob.
#[derive(Clone, Copy, Debug)]
struct Raw<'a> {
    name: u32,
    info: u32,
    size_or_type: u32,
    tail: &'a [u8],
}

impl<'a> Raw<'a> {
    /// Reads the type at the start of `bytes`.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let info = word(bytes, 4)?;
        let elements = usize::try_from(info & 0xff_ffff).ok()?;
        let length = match info >> 24 & 0x7f {
            1 | 14 | 17 => 4,
            3 => 12,
            4 | 5 | 15 | 19 => elements.checked_mul(12)?,
            6 | 13 => elements.checked_mul(8)?,
            2 | 7..=12 | 16 | 18 => 0,
            _ => return None,
        };
        let end = TYPE_SIZE.checked_add(length)?;
        let tail = bytes.get(TYPE_SIZE..end)?;
        Some(Self {
            name: word(bytes, 0)?,
            info,
            size_or_type: word(bytes, 8)?,
            tail,
        })
    }
}

/// A type of a blob.
#[derive(Clone, Copy, Debug)]
pub struct BtfType<'a> {
    raw: Raw<'a>,
}

impl<'a> BtfType<'a> {
    const VOID: BtfType<'static> = BtfType {
        raw: Raw {
            name: 0,
            info: 0,
            size_or_type: 0,
            tail: &[],
        },
    };

    fn kind(&self) -> BtfKind {
        match self.raw.info >> 24 & 0x7f {
            0 => BtfKind::Void,
            1 => BtfKind::Int,
            2 => BtfKind::Pointer,
            3 => BtfKind::Array,
            4 => BtfKind::Struct,
            5 => BtfKind::Union,
            6 => BtfKind::Enum,
            7 => BtfKind::Forward,
            8..=11 | 18 => BtfKind::Modifier,
            12 => BtfKind::Function,
            13 => BtfKind::Prototype,
            14 => BtfKind::Variable,
            15 => BtfKind::Section,
            19 => BtfKind::Enum64,
            _ => BtfKind::Other,
        }
    }

    /// Returns the flag whose meaning depends on the kind.
    fn flag(&self) -> bool {
        self.raw.info >> 31 != 0
    }

    /// Returns the words behind the type, in groups of `N`.
    fn groups<const N: usize>(&self) -> Groups<'a, N> {
        Groups {
            rest: self.raw.tail,
        }
    }
}

/// The words behind a type, in groups of `N`.
///
/// A named type, to keep symbol names short: adapters contain the name of what they adapt.
struct Groups<'a, const N: usize> {
    rest: &'a [u8],
}

impl<const N: usize> Iterator for Groups<'_, N> {
    type Item = [u32; N];

    fn next(&mut self) -> Option<[u32; N]> {
        let mut group = [0; N];
        for slot in &mut group {
            *slot = word(self.rest, 0)?;
            self.rest = self.rest.get(4..)?;
        }
        Some(group)
    }
}

/// A blob together with its index.
#[derive(Clone, Copy, Debug)]
pub struct Btf<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    index: &'a Index,
    base: Option<&'a Btf<'a>>,
}

impl<'a> Btf<'a> {
    /// Combines `blob` with the `index` built for it, and with the `base` used to build it.
    pub fn new(blob: &'a [u8], index: &'a Index, base: Option<&'a Btf<'a>>) -> Option<Self> {
        Some(Self {
            types: blob.get(index.types.0..index.types.1)?,
            strings: blob.get(index.strings.0..index.strings.1)?,
            index,
            base,
        })
    }

    /// Returns whether it is a module's blob, which is based on the kernel's.
    pub fn is_module(&self) -> bool {
        self.base.is_some()
    }

    /// Returns the type with this number.
    pub(in crate::engine) fn by_id(&self, id: u32) -> Option<BtfType<'a>> {
        if id == 0 {
            return Some(BtfType::VOID);
        }
        let Some(n) = id.checked_sub(self.index.first_type) else {
            return self.base?.by_id(id);
        };
        if id >= self.index.end_type {
            return None;
        }
        let checkpoint = *self
            .index
            .checkpoints
            .get(usize::try_from(n / STRIDE).ok()?)?;
        let mut rest = self.types.get(usize::try_from(checkpoint).ok()?..)?;
        for _ in 0..n % STRIDE {
            rest = after(rest)?;
        }
        Raw::read(rest).map(|raw| BtfType { raw })
    }

    /// Returns the string at `offset`.
    fn string(&self, offset: u32) -> Option<&'a [u8]> {
        let Some(offset) = offset.checked_sub(self.index.first_string) else {
            return self.base?.string(offset);
        };
        let bytes = self.strings.get(usize::try_from(offset).ok()?..)?;
        let end = bytes.iter().position(|&b| b == 0)?;
        bytes.get(..end)
    }

    /// Returns whether the string at `offset` is `name`, without searching for its end.
    fn is_named(&self, offset: u32, name: &[u8]) -> bool {
        let Some(offset) = offset.checked_sub(self.index.first_string) else {
            return self.base.is_some_and(|base| base.is_named(offset, name));
        };
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|at| self.strings.get(at..));
        let rest = bytes.and_then(|bytes| bytes.strip_prefix(name));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }

    /// Returns the first type called `name` whose kind satisfies `is`, here or in the base.
    fn find(&self, name: &[u8], is: impl Fn(BtfKind) -> bool) -> Option<BtfType<'a>> {
        if name.is_empty() {
            return None;
        }
        let mut rest = self.types;
        while let Some(raw) = Raw::read(rest) {
            let found = BtfType { raw };
            if is(found.kind()) && self.is_named(raw.name, name) {
                return Some(found);
            }
            rest = after(rest)?;
        }
        self.base?.find(name, is)
    }

    /// Returns the type with this number, stripped of typedefs, qualifiers and tags.
    fn bare(&self, id: u32) -> Option<BtfType<'a>> {
        let mut found = self.by_id(id)?;
        for _ in 0..MAX_MODIFIERS {
            if found.kind() != BtfKind::Modifier {
                return Some(found);
            }
            found = self.by_id(found.raw.size_or_type)?;
        }
        None
    }
}

/// Returns what follows the type at the start of `bytes`.
fn after(bytes: &[u8]) -> Option<&[u8]> {
    let raw = Raw::read(bytes)?;
    bytes.get(TYPE_SIZE.checked_add(raw.tail.len())?..)
}
