// SPDX-License-Identifier: GPL-2.0

//! The layout of an event's record, byte by byte.
//!
//! A record is: the common header, the place of the probe, the arguments one
//! behind the other without padding, then, where an argument can fail to be
//! read, one bit for each such argument, and last the text to which
//! `__data_loc` words point. All of it is little-endian.

use super::types::Type;
use crate::sys::{self, Vec};
use core::num::NonZeroU8;

/// Size of the common header: u16 type, u8 flags, u8 preempt count, s32 pid.
pub const COMMON_SIZE: usize = 8;

/// Offset of the arguments of a probe: header and `__probe_ip`.
pub const PROBE_SIZE: usize = 16;

/// The same in words.
pub const PROBE_WORDS: usize = PROBE_SIZE / 4;

/// Offset of the arguments of a return probe: header, `__probe_func` and
/// `__probe_ret_ip`.
pub const RETURN_SIZE: usize = 24;

/// Most bytes of fixed-size arguments.
pub const MAX_ARGS_SIZE: usize = 3072;

/// Most bytes of a record. Fits, with its event header and a note of its task,
/// into the smallest sub-buffer of the ring.
pub const MAX_SIZE: usize = 4032;

/// The common header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the event.
    pub event: u16,
    /// Context flags, see [`format::flag`](super::format::flag).
    pub flags: u8,
    /// Preemption depth in the low, migration-disable depth in the high half.
    pub preempt_count: u8,
    /// The task's id.
    pub pid: i32,
}

impl Header {
    /// The header as the first word of the record.
    ///
    /// May run in any context.
    #[inline]
    pub fn to_bytes(self) -> [u8; COMMON_SIZE] {
        let [t0, t1] = self.event.to_le_bytes();
        let [p0, p1, p2, p3] = self.pid.to_le_bytes();
        [t0, t1, self.flags, self.preempt_count, p0, p1, p2, p3]
    }

    /// All but the task's id, as it stands in the record.
    ///
    /// May run in any context.
    #[inline]
    pub fn first_half(self) -> u32 {
        let [a, b, c, d, ..] = self.to_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    /// Reads the header of `record`.
    pub fn from_record(record: &[u8]) -> Option<Self> {
        let [t0, t1, flags, preempt_count, p0, p1, p2, p3] =
            *record.first_chunk::<COMMON_SIZE>()?;
        Some(Self {
            event: u16::from_le_bytes([t0, t1]),
            flags,
            preempt_count,
            pid: i32::from_le_bytes([p0, p1, p2, p3]),
        })
    }
}

/// Writes header and place of a probe's record; `false` if `out` is shorter.
///
/// May run in any context.
#[inline]
pub fn start_probe(out: &mut [u8], header: Header, ip: u64) -> bool {
    let Some(start) = out.first_chunk_mut::<PROBE_SIZE>() else {
        return false;
    };
    put(start, 0, header.to_bytes());
    put(start, COMMON_SIZE, ip.to_le_bytes())
}

/// The same in words, of the header's [`Header::first_half`] and [`words`] of the
/// place.
///
/// The task's id is asked for when it is stored, so that a register holds one after
/// the other.
///
/// May run in any context.
#[inline(always)]
pub fn start_quickly(
    out: &mut [u32; PROBE_WORDS],
    first_half: u32,
    pid: impl FnOnce() -> i32,
    ip: &[u32; 2],
) {
    let [half, id, place @ ..] = out;
    *half = first_half;
    // CAST: The same bits.
    *id = pid() as u32;
    *place = *ip;
}

/// `value` as the words that it has in memory, for what is aligned to words only.
pub fn words(value: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
    [
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    ]
}

/// Writes `bytes` at the offset `at`; `false` if `out` is shorter.
///
/// May run in any context.
#[inline(always)]
pub(super) fn put<const N: usize>(out: &mut [u8], at: usize, bytes: [u8; N]) -> bool {
    let to = out.get_mut(at..at.wrapping_add(N));
    match to.and_then(|to| to.try_into().ok()) {
        Some(to) => sys::store(to, bytes),
        None => return false,
    }
    true
}

/// Writes the second place of a return probe's record; `false` if `out` is
/// shorter.
///
/// May run in any context.
#[inline(always)]
pub fn put_return_address(out: &mut [u8], address: u64) -> bool {
    put(out, PROBE_SIZE, address.to_le_bytes())
}

/// Writes `value` as the first argument of a probe's record; `false` if `out` is
/// shorter.
///
/// May run in any context.
#[inline(always)]
pub fn put_first(out: &mut [u8], value: u64) -> bool {
    put(out, PROBE_SIZE, value.to_le_bytes())
}

/// Writes the second place of a return probe's record and behind it `value`, as its
/// first argument; `false` if `out` is shorter.
///
/// May run in any context.
#[inline(always)]
pub fn put_return_address_and_first(out: &mut [u8], address: u64, value: u64) -> bool {
    let both = u128::from(address) | u128::from(value) << 64;
    put(out, PROBE_SIZE, both.to_le_bytes())
}

/// One argument in the record.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: Vec<u8>,
    /// Type of one element.
    pub base: Type,
    /// Number of elements when it is an array.
    pub count: Option<u8>,
    /// Offset in the record.
    pub offset: u16,
    /// Its bit among the faults, when the argument can fail to be read.
    pub fault: Option<u8>,
}

impl Field {
    /// Bytes in the fixed part of the record.
    pub fn size(&self) -> u16 {
        u16::from(self.base.size()).saturating_mul(u16::from(self.count.unwrap_or(1)))
    }
}

/// Where the fault bits lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Offset in the record.
    pub offset: u16,
    /// Bytes: 1, 2, 4, 8 or 16.
    pub size: NonZeroU8,
}

impl Faults {
    /// Name of the field in the `format` file.
    pub const NAME: &'static str = "__probe_faults";

    /// Bytes needed for so many bits; `None` above 128.
    pub fn size_for(bits: u16) -> Option<NonZeroU8> {
        NonZeroU8::new(match bits {
            0..=8 => 1,
            9..=16 => 2,
            17..=32 => 4,
            33..=64 => 8,
            65..=128 => 16,
            _ => return None,
        })
    }

    /// Marks the argument with this bit as failed.
    ///
    /// May run in any context.
    #[inline]
    pub fn set(self, record: &mut [u8], bit: u8) {
        let at = usize::from(self.offset) + usize::from(bit / 8);
        if let Some(byte) = record.get_mut(at) {
            *byte |= 1 << (bit % 8);
        }
    }

    /// Whether the argument with this bit failed.
    pub fn is_set(self, record: &[u8], bit: u8) -> bool {
        let at = usize::from(self.offset) + usize::from(bit / 8);
        record
            .get(at)
            .is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
    }
}

/// The layout of an event's records; all probes of the event share it.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    /// Whether the event is of return probes.
    pub is_return: bool,
    /// The arguments, in order.
    pub fields: Vec<Field>,
    /// The fault bits, if any argument can fail.
    pub faults: Option<Faults>,
}

impl Layout {
    /// The first argument, counted from zero, in whose name, type or number of
    /// elements the two layouts differ.
    pub fn difference(&self, other: &Layout) -> Option<usize> {
        let pairs = self.fields.iter().zip(&other.fields);
        let same =
            |(a, b): (&Field, &Field)| *a.name == *b.name && a.base == b.base && a.count == b.count;
        let common = pairs.take_while(|&pair| same(pair)).count();
        (common < self.fields.len().max(other.fields.len())).then_some(common)
    }

    /// Offset of the first argument.
    pub fn start(&self) -> usize {
        if self.is_return {
            RETURN_SIZE
        } else {
            PROBE_SIZE
        }
    }
}

/// The word that tells where text lies: length in the high half, offset from
/// the start of the record in the low half.
///
/// May run in any context.
#[inline]
pub fn data_loc(offset: u16, length: u16) -> u32 {
    u32::from(length) << 16 | u32::from(offset)
}

/// The text a `__data_loc` word of `record` points to; `None` when it points
/// outside.
pub fn located(record: &[u8], loc: u32) -> Option<&[u8]> {
    let start = usize::try_from(loc & 0xffff).ok()?;
    let length = usize::try_from(loc >> 16).ok()?;
    record.get(start..start.checked_add(length)?)
}

/// What a text argument holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// The memory could not be read.
    Fault,
    /// The whole string.
    Whole(&'a [u8]),
    /// The start of a string for which there was no more room.
    Truncated(&'a [u8]),
}

/// Reads the text to which `loc` points.
///
/// Text is recorded with its NUL; a second NUL behind it, counted in the
/// length, marks truncated text, which readers that know no mark overlook.
/// Text of fixed length is filled up with more NULs and is whole.
pub fn text(record: &[u8], loc: u32) -> Text<'_> {
    let Some(bytes) = located(record, loc).filter(|bytes| !bytes.is_empty()) else {
        return Text::Fault;
    };
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    let string = bytes.get(..end).unwrap_or(bytes);
    match bytes.len().checked_sub(end) {
        Some(2) if bytes.len() != COMM_LEN => Text::Truncated(string),
        _ => Text::Whole(string),
    }
}

/// Size of a task's name.
pub const COMM_LEN: usize = 16;
