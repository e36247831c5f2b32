// SPDX-License-Identifier: GPL-2.0

//! Follows members of structures and elements of arrays by BTF, as C does.

use super::by_value::{not_in_memory, ValueWords};
use super::program::{Hop, LoadOrigin, Store};
use super::unknown::{behind_dot, inner, no_element, no_member, Inner};
use crate::engine::language::lex::{self, Span};
use crate::engine::program::btf::BtfValue;
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::Vec;

/// The state of resolving an argument: the value that the steps so far lead to.
pub(super) struct TypeWalk<'a> {
    pub(super) origin: LoadOrigin,
    pub(super) links: Vec<Hop>,
    /// The type of the value in BTF, if known.
    pub(super) value: Option<BtfValue<'a>>,
    /// The structure that the value points to, if the pointer has no declared type.
    pub(super) structure: Option<BtfValue<'a>>,
    /// Offset of the value in that structure, in bytes.
    pub(super) inside: i64,
    /// Whether the whole structure, or its path, is recorded.
    pub(super) is_whole: bool,
    /// Whether the value is shown by name, which its type tells.
    pub(super) is_named: bool,
    /// How the path is recorded, if it is one.
    pub(super) path: Option<Store>,
    /// Offset and size in bits of the last member, if it is a bitfield.
    pub(super) bits: Option<(u8, u8)>,
    /// The bits of the value, if it does not fill a word. The other bits are undefined, or another
    /// part's.
    pub(super) low: Option<LowBits>,
    /// The words of a structure that is passed by value.
    pub(super) words: Option<ValueWords>,
    /// Column of the part that was parsed last.
    pub(super) at: usize,
}

/// The bits of a value within a word.
#[derive(Clone, Copy)]
pub(super) struct LowBits {
    pub(super) offset: u8,
    pub(super) width: u8,
    /// Whether the topmost bit is a sign.
    pub(super) signed: bool,
}

impl<'a> TypeWalk<'a> {
    /// Forgets the type, because the value has changed.
    pub(super) fn forget(&mut self) {
        self.value = None;
        self.structure = None;
        self.inside = 0;
        self.bits = None;
        self.words = None;
    }

    /// Follows `path`: members joined by `.` and `->`, and elements `[N]`. A leading `->` is
    /// stripped; a leading `.` or `[` is not.
    pub(super) fn members(&mut self, path: Span<'_>) -> Result<(), Error> {
        let mut rest = Some(path);
        while let Some(path) = rest {
            self.at = path.at;
            rest = match path.first() {
                Some(b'[') => self.element(path)?,
                Some(b'.') => {
                    let whole = self.embedded(path.skip(1))?;
                    self.member(whole, path.skip(1))?
                }
                _ => {
                    let pointee = self.pointee(path)?;
                    self.read(0)?;
                    self.member(pointee, path)?
                }
            };
        }
        Ok(())
    }

    /// Returns the type that the value points to.
    fn pointee(&mut self, path: Span<'_>) -> Result<BtfValue<'a>, Error> {
        match (self.structure.take(), self.value.take()) {
            (Some(structure), _) => Ok(structure),
            (None, value) => match value.and_then(|value| value.pointee()) {
                None => Err(Error::new(Kind::NoPtrStrct, path.at)),
                Some(None) => Err(Error::new(Kind::BadBtfTid, path.at)),
                Some(Some(pointee)) => Ok(pointee),
            },
        }
    }

    /// Appends a read at `offset` bytes from where the value points.
    fn read(&mut self, offset: i64) -> Result<(), Error> {
        let offset = offset.saturating_sub(core::mem::take(&mut self.inside));
        Ok(self.links.push(Hop::Read {
            offset,
            user: false,
        })?)
    }

    /// Moves the last read by `bytes`, from a whole value to a part of it.
    fn advance(&mut self, bytes: i64) {
        if let Some(Hop::Read { offset, .. }) = self.links.last_mut() {
            *offset = offset.saturating_add(bytes);
        }
    }

    /// Follows members of `structure`, which was read last. Returns the rest of the path.
    #[inline(never)]
    fn member<'p>(
        &mut self,
        structure: BtfValue<'a>,
        path: Span<'p>,
    ) -> Result<Option<Span<'p>>, Error> {
        let found = dotted(structure, path)?;
        self.at = found.at;
        self.advance(i64::from(found.bit_offset / 8));
        self.value = Some(found.value);
        // CAST: a remainder of 8.
        self.bits = found
            .bit_size
            .map(|size| ((found.bit_offset % 8) as u8, size));
        Ok(found.rest)
    }

    /// Returns the structure in memory that `.MEMBER` applies to.
    #[inline(never)]
    fn embedded(&self, path: Span<'_>) -> Result<BtfValue<'a>, Error> {
        let before = path.take(0);
        if let (Some(structure), None) = (self.structure, self.value) {
            return Err(no_arrow(structure, path));
        }
        match self.value.filter(|_| !self.links.is_empty()) {
            Some(value) if value.is_structure() => Ok(value),
            Some(value) => Err(behind_dot(value, before, path)),
            None => Err(Error::new(Kind::NoPtrStrct, path.at)),
        }
    }

    /// Follows `[N]` of an array, or of a pointer to its first element.
    #[inline(never)]
    fn element<'p>(&mut self, path: Span<'p>) -> Result<Option<Span<'p>>, Error> {
        let (n, behind) = index(path)?;
        let array = self.value.filter(|value| value.is_array());
        match array.filter(|_| !self.links.is_empty()) {
            Some(array) => {
                let (element, offset) = nth(array, n, path)?;
                self.advance(i64::from(offset));
                self.value = Some(element);
            }
            None => {
                let element = self.pointee(path).map_err(|_| no_element(path))?;
                let size = element.bytes().filter(|size| *size != 0);
                let offset = size.and_then(|size| size.checked_mul(n));
                let offset = offset.ok_or_else(|| no_element(path))?;
                self.read(i64::from(offset))?;
                self.value = Some(element);
            }
        }
        self.bits = None;
        behind_element(behind)
    }
}

impl<'a> TypeWalk<'a> {
    /// Returns the structure in memory that the value is or points to, and its offset from the
    /// value in bytes. `None` if the type is unknown.
    #[inline(never)]
    pub(super) fn in_memory(&mut self) -> (Option<BtfValue<'a>>, i64) {
        let embedded = self.value.filter(|_| !self.links.is_empty());
        if let Some(structure) = embedded.filter(|value| value.is_structure()) {
            let offset = match self.links.pop() {
                Some(Hop::Read { offset, .. }) => offset,
                _ => 0,
            };
            return (Some(structure), offset);
        }
        let at = self.at;
        let pointee = self.pointee(Span { bytes: &[], at }).ok();
        let inside = core::mem::take(&mut self.inside);
        (pointee, 0i64.saturating_sub(inside))
    }

    /// Makes the value the structure in memory that it is or points to.
    #[inline(never)]
    pub(super) fn whole(&mut self) -> Result<BtfValue<'a>, Error> {
        let in_memory = self.value.filter(|_| !self.links.is_empty());
        if let Some(structure) = in_memory.filter(|value| value.is_structure()) {
            return Ok(structure);
        }
        let at = self.at;
        if let (Some(value), Some(_)) = (self.value, self.words) {
            return Err(not_in_memory(value, at));
        }
        let unknown = || {
            Error::new(Kind::NoPtrStrct, at).with_detail(format_args!(
                "it is no structure, or of no known type: write (struct NAME *)VALUE:struct"
            ))
        };
        let pointee = self
            .pointee(Span { bytes: &[], at })
            .map_err(|_| unknown())?;
        if !pointee.is_structure() {
            return Err(unknown());
        }
        self.read(0)?;
        Ok(pointee)
    }
}

/// Returns the path behind an element: nothing, or one that begins with `->`, `.` or `[`.
fn behind_element(behind: Span<'_>) -> Result<Option<Span<'_>>, Error> {
    match (behind.first(), behind.strip(b"->")) {
        (None, _) => Ok(None),
        (_, Some(rest)) => Ok(Some(rest)),
        (Some(b'.' | b'['), _) => Ok(Some(behind)),
        (Some(_), _) => Err(behind.error(Kind::BadHyphen)),
    }
}

/// Returns the index in `[N]` at the start of `path`, and the rest.
#[inline(never)]
pub(super) fn index(path: Span<'_>) -> Result<(u32, Span<'_>), Error> {
    let error = || path.skip(1).error(Kind::BadArrayNum);
    let Some(close) = path.find(b']') else {
        return Err(Error::new(Kind::ArrayNoClose, path.end()));
    };
    let (number, behind) = path.around(close);
    let number = lex::unsigned(number.skip(1).bytes).and_then(|n| u32::try_from(n).ok());
    match number {
        Some(number) => Ok((number, behind)),
        None => Err(error().with_detail(format_args!("an element is written by its number"))),
    }
}

/// Returns the type of element `n` of `array`, and its offset in bytes.
#[inline(never)]
fn nth<'a>(array: BtfValue<'a>, n: u32, path: Span<'_>) -> Result<(BtfValue<'a>, u32), Error> {
    let Some((element, count)) = array.element() else {
        return Err(Error::new(Kind::BadBtfTid, path.at));
    };
    // A last member without elements is a flexible array.
    if count != 0 && n >= count {
        return Err(path
            .skip(1)
            .error(Kind::BadArrayNum)
            .with_detail(format_args!(
                "the last element is [{}]",
                count.saturating_sub(1)
            )));
    }
    let offset = element.bytes().and_then(|size| size.checked_mul(n));
    let offset = offset.ok_or(Error::new(Kind::BadBtfTid, path.at))?;
    Ok((element, offset))
}

/// A member found by its dotted path.
pub(super) struct Resolved<'a, 'p> {
    pub(super) bit_offset: u32,
    pub(super) bit_size: Option<u8>,
    pub(super) value: BtfValue<'a>,
    /// Column of its name.
    pub(super) at: usize,
    /// The rest of the path: behind a `->`, or from a `[` on.
    pub(super) rest: Option<Span<'p>>,
}

/// Finds the member that the part of `path` before the first `->` leads to.
#[inline(never)]
pub(super) fn dotted<'a, 'p>(
    structure: BtfValue<'a>,
    path: Span<'p>,
) -> Result<Resolved<'a, 'p>, Error> {
    let whole = path;
    let (mut structure, mut path) = (structure, path);
    let mut bit_offset = 0u32;
    loop {
        let end = path
            .find_by(|b| matches!(b, b'.' | b'-' | b'['))
            .unwrap_or(path.bytes.len());
        let (name, mut behind) = (path.take(end), path.skip(end));
        if behind.first() == Some(b'-') && behind.strip(b"->").is_none() {
            return Err(behind.error(Kind::BadHyphen));
        }
        // The path so far, without the dot.
        let before = whole.take(name.at.saturating_sub(whole.at).saturating_sub(1));
        if !structure.is_structure() {
            return Err(behind_dot(structure, before, name));
        }
        let too_far = || name.error(Kind::BadBtfTid);
        let (offset, bit_size, mut value) = named(structure, before, name)?;
        bit_offset = bit_offset.checked_add(offset).ok_or_else(too_far)?;
        while behind.first() == Some(b'[') && value.is_array() {
            let (n, rest) = index(behind)?;
            let (element, offset) = nth(value, n, behind)?;
            let bits = offset.checked_mul(8).ok_or_else(too_far)?;
            bit_offset = bit_offset.checked_add(bits).ok_or_else(too_far)?;
            (value, behind) = (element, rest);
        }
        match behind.strip(b".") {
            None => {
                return Ok(Resolved {
                    bit_offset,
                    bit_size,
                    value,
                    at: name.at,
                    rest: behind_element(behind)?,
                })
            }
            Some(next) => (structure, path) = (value, next),
        }
    }
}

/// Finds member `name` of `structure`, which `before` leads to, or the only nested member that the
/// name can mean. Returns its offset in bits, its size if it is a bitfield, and its type.
#[inline(never)]
fn named<'a>(
    structure: BtfValue<'a>,
    before: Span<'_>,
    name: Span<'_>,
) -> Result<(u32, Option<u8>, BtfValue<'a>), Error> {
    match structure.member(name.bytes) {
        Some(member) => Ok((member.bit_offset, member.bit_size, member.value)),
        None => by_macro(structure, before, name),
    }
}

/// Finds the nested member for [`named`].
#[cold]
#[inline(never)]
fn by_macro<'a>(
    structure: BtfValue<'a>,
    before: Span<'_>,
    name: Span<'_>,
) -> Result<(u32, Option<u8>, BtfValue<'a>), Error> {
    let path = match inner(structure, name.bytes) {
        Ok(Inner::Only(path)) => path,
        Ok(found) => return Err(no_member(structure, before, name, found)),
        Err(error) => return Err(error.into()),
    };
    let (mut value, mut bit_offset, mut bit_size) = (structure, 0u32, None);
    for part in path.split(|&byte| byte == b'.') {
        let member = value.member(part).ok_or(name.error(Kind::NoBtfField))?;
        let sum = bit_offset.checked_add(member.bit_offset);
        bit_offset = sum.ok_or(name.error(Kind::BadBtfTid))?;
        (value, bit_size) = (member.value, member.bit_size);
    }
    Ok((bit_offset, bit_size, value))
}

/// Returns the offset in bytes of `field`, which a cast value points to.
pub(super) fn cast_offset(structure: BtfValue<'_>, field: Span<'_>) -> Result<u32, Error> {
    let found = dotted(structure, field)?;
    if found.bit_offset % 8 != 0 || found.bit_size.is_some() {
        return Err(Error::new(Kind::TypecastNotAligned, found.at));
    }
    match found.rest {
        None => Ok(found.bit_offset / 8),
        Some(rest) => Err(Error::new(
            Kind::TypecastBadArrow,
            rest.at.saturating_sub(2),
        )),
    }
}

/// Returns the refusal of `.MEMBER` on an address.
#[cold]
#[inline(never)]
fn no_arrow(structure: BtfValue<'_>, path: Span<'_>) -> Error {
    let error = path.error(Kind::NosupDatArg);
    match structure.is_structure() {
        true => error.with_detail(format_args!("the value is an address: write -> before it")),
        false => error,
    }
}
