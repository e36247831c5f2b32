// SPDX-License-Identifier: GPL-2.0

//! The record of an event, byte by byte.
//!
//! A record is: the common header, the fixed fields of its class (for a probe its address),
//! the arguments one behind the other without padding, then one bit for each argument that
//! may be unreadable, and last the text to which `__data_loc` words point. All of it is
//! little-endian. A [`Layout`] describes the records of one event.

pub mod fields;
pub mod format;
mod layout;
mod name;
pub mod numbers;
mod ready;
mod shape;
pub mod stack;

pub use layout::{
    Builtin, Class, Faults, Field, Fixed, Head, Layout, LayoutNames, OpenFlag, Role, ShownMemory,
    Signature, KERNEL_STACK, PRINT, RAW_DATA, USER_STACK,
};

pub use name::Name;
pub use shape::{
    Enumerator, NumberKind, PartKind, ShapeBits, ShapeName, ShapePart, WholeShape, MAX_STRUCTURE,
};

pub use ready::{ReadyField, ReadyShape, FIXED_TEXT};

use crate::sys;

/// Size of the common header: u16 type, u8 flags, u8 preempt count, s32 pid.
pub const COMMON_SIZE: usize = 8;

/// Offset of the arguments of a probe: header and `__probe_ip`.
pub const PROBE_SIZE: usize = 16;

/// [`PROBE_SIZE`] in words.
pub const PROBE_WORDS: usize = PROBE_SIZE / 4;

/// Offset of the arguments of a return probe: header, `__probe_func` and
/// `__probe_ret_ip`.
pub const RETURN_SIZE: usize = 24;

/// Maximum number of bytes of fixed-size arguments.
pub const MAX_ARGS_SIZE: usize = 3072;

/// Maximum number of bytes of a record. A record of this size fits, with its event header and a
/// comm note, into the smallest sub-buffer.
pub const MAX_SIZE: usize = 4032;

/// The common header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the event.
    pub event: u16,
    /// Context flags, see [`format::flag`](crate::engine::record::format::flag).
    pub flags: u8,
    /// Preemption depth in the low, migration-disable depth in the high half.
    pub preempt_count: u8,
    /// The task's pid.
    pub pid: i32,
}

impl Header {
    /// Returns the header as the first word of the record.
    ///
    /// Context: any.
    #[inline]
    pub fn to_bytes(self) -> [u8; COMMON_SIZE] {
        let [t0, t1] = self.event.to_le_bytes();
        let [p0, p1, p2, p3] = self.pid.to_le_bytes();
        [t0, t1, self.flags, self.preempt_count, p0, p1, p2, p3]
    }

    /// Returns everything but the pid, as encoded in the record.
    ///
    /// Context: any.
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

/// Writes header and location of a probe's record; returns false if `out` is shorter.
///
/// Context: any.
#[inline]
pub fn start_probe(out: &mut [u8], header: Header, ip: u64) -> bool {
    let Some(start) = out.first_chunk_mut::<PROBE_SIZE>() else {
        return false;
    };
    put(start, 0, header.to_bytes());
    put(start, COMMON_SIZE, ip.to_le_bytes())
}

/// Like [`start_probe`], in words: takes [`Header::first_half`] and the [`words`] of the location.
///
/// `pid` is called only when the pid is stored, which saves a register.
///
/// Context: any.
#[inline(always)]
pub fn start_fast(
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

/// Returns `value` as words in memory order, for memory that is aligned to words only.
pub fn words(value: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
    [
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    ]
}

/// Writes `bytes` at the offset `at`; returns false if `out` is shorter.
///
/// Context: any.
#[inline(always)]
pub(super) fn put<const N: usize>(out: &mut [u8], at: usize, bytes: [u8; N]) -> bool {
    sys::store_at(out, at, bytes)
}

/// Writes the return address of a return probe's record; returns false if `out` is shorter.
///
/// Context: any.
#[inline(always)]
pub fn put_return_address(out: &mut [u8], address: u64) -> bool {
    put(out, PROBE_SIZE, address.to_le_bytes())
}

/// Writes `value` as the first argument of a probe's record; returns false if `out` is shorter.
///
/// Context: any.
#[inline(always)]
pub fn put_first(out: &mut [u8], value: u64) -> bool {
    put(out, PROBE_SIZE, value.to_le_bytes())
}

/// Writes the return address of a return probe's record and behind it `value`, as its first
/// argument; returns false if `out` is shorter.
///
/// Context: any.
#[inline(always)]
pub fn put_return_address_and_first(out: &mut [u8], address: u64, value: u64) -> bool {
    let both = u128::from(address) | u128::from(value) << 64;
    put(out, PROBE_SIZE, both.to_le_bytes())
}

/// Writes the return address of a return probe's record and behind it its first two
/// arguments; returns false if `out` is shorter.
///
/// Context: any.
#[inline(always)]
pub fn put_return_address_and_two(out: &mut [u8], address: u64, [one, two]: [u64; 2]) -> bool {
    // Write the longer one first: if it fits, so does the other.
    put(out, PROBE_SIZE + 16, two.to_le_bytes()) && put_return_address_and_first(out, address, one)
}

/// Returns the `__data_loc` word of text: length in the high half, offset from the start of
/// the record in the low half.
///
/// Context: any.
#[inline]
pub fn data_loc(offset: u16, length: u16) -> u32 {
    u32::from(length) << 16 | u32::from(offset)
}

/// Returns the text to which a `__data_loc` word of `record` points; `None` if it points
/// outside.
pub fn located(record: &[u8], loc: u32) -> Option<&[u8]> {
    let start = usize::try_from(loc & 0xffff).ok()?;
    let length = usize::try_from(loc >> 16).ok()?;
    record.get(start..start.checked_add(length)?)
}

/// The content of a text argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// The memory could not be read.
    Fault,
    /// The whole string.
    Whole(&'a [u8]),
    /// The start of a string that did not fit.
    Truncated(&'a [u8]),
}

/// Reads the text to which `loc` points.
///
/// Text is recorded with its NUL. A second NUL behind it, counted in the length, marks
/// truncated text; readers that do not know this mark ignore it. Text of fixed length is
/// padded with more NULs and is whole.
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
