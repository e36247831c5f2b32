// SPDX-License-Identifier: GPL-2.0

//! Text composed of many small pieces, directly in the memory from which it is copied to the
//! reader.
//!
//! `core::fmt` costs some hundred instructions per piece, mostly calls. Here a piece takes a few
//! stores. A piece that does not fit is left out and recorded as an overflow, as in the kernel's
//! `struct seq_buf`; the caller then formats the text again with more room.

use core::fmt::{self, Write};

use crate::engine::util::digits;
use crate::engine::util::text::OneLine;
use crate::sys::{self, AllocError, Vec};

/// Text at the start of a buffer.
///
/// The bytes need not be UTF-8. Some pieces are stored with more bytes than they have, up
/// to 32, and are left out if these do not fit.
pub struct SeqBuf<'a> {
    room: &'a mut [u8],
    len: usize,
    overflowed: bool,
}

impl<'a> SeqBuf<'a> {
    /// Creates an empty text in `room`.
    pub fn new(room: &'a mut [u8]) -> Self {
        Self {
            room,
            len: 0,
            overflowed: false,
        }
    }

    /// Returns the length of the whole text; `None` if a piece was left out.
    pub fn finish(self) -> Option<usize> {
        (!self.overflowed).then_some(self.len)
    }

    /// Returns the length of the text so far.
    pub(in crate::engine) fn len(&self) -> usize {
        self.len
    }

    /// Returns the text behind the first `start` bytes.
    pub(in crate::engine) fn since(&self, start: usize) -> &[u8] {
        self.room.get(start..self.len).unwrap_or_default()
    }

    /// Makes sure that `length` more bytes fit; otherwise records an overflow.
    pub fn keep_room(&mut self, length: usize) {
        let end = self.len.wrapping_add(length);
        self.overflowed |= self.room.get(self.len..end).is_none();
    }

    /// Removes the text behind the first `start` bytes.
    pub(in crate::engine) fn rewind(&mut self, start: usize) {
        self.len = self.len.min(start);
    }

    /// Stores all of `bytes`, and adds the first `count` to the text.
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: [u8; N], count: usize) {
        let rest = self.room.get_mut(self.len..);
        match rest.and_then(|rest| rest.first_chunk_mut()) {
            Some(to) => {
                sys::store(to, bytes);
                self.len = self.len.wrapping_add(count);
            }
            None => self.overflowed = true,
        }
    }

    /// Adds `bytes`.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        let end = self.len.wrapping_add(bytes.len());
        match self.room.get_mut(self.len..end) {
            Some(to) => {
                copy(to, bytes);
                self.len = end;
            }
            None => self.overflowed = true,
        }
    }

    /// Adds `bytes` between quotes.
    #[inline(always)]
    pub(in crate::engine) fn quoted(&mut self, bytes: &[u8]) {
        let end = self.len.wrapping_add(bytes.len()).wrapping_add(2);
        match self.room.get_mut(self.len..end) {
            Some([first, to @ .., last]) => {
                (*first, *last) = (b'"', b'"');
                copy(to, bytes);
                self.len = end;
            }
            _ => self.overflowed = true,
        }
    }

    /// Adds one byte.
    #[inline(always)]
    pub fn byte(&mut self, byte: u8) {
        self.put([byte], 1);
    }

    /// Adds a text whose length is known at compile time.
    #[inline(always)]
    pub fn text<const N: usize>(&mut self, text: &[u8; N]) {
        self.put(*text, N);
    }

    /// Adds `byte` once for each position from `length` to `width`.
    pub fn pad(&mut self, byte: u8, length: usize, width: usize) {
        (length..width).for_each(|_| self.byte(byte));
    }

    /// Adds `bytes` as [`OneLine`] displays them.
    pub fn one_line(&mut self, bytes: &[u8]) {
        if is_printable(bytes) {
            self.bytes(bytes);
        } else {
            // An overflow is recorded in the buffer.
            let _ = write!(self, "{}", OneLine(bytes));
        }
    }

    /// Adds `value` in decimal digits.
    #[inline]
    pub fn decimal(&mut self, value: u64) {
        match u32::try_from(value) {
            Ok(value) if u64::from(value) < digits::LIMIT => {
                let (digits, count) = digits::short_decimal(value);
                self.put(digits, count);
            }
            _ => self.long_decimal(value),
        }
    }

    /// As [`SeqBuf::decimal`], for a number with more than eight digits.
    #[inline(never)]
    fn long_decimal(&mut self, value: u64) {
        let (rest, last) = (value / digits::LIMIT, value % digits::LIMIT);
        let (first, second) = (rest / digits::LIMIT, rest % digits::LIMIT);
        // CAST: All three are below `LIMIT`.
        let (digits, count) = match first {
            0 => digits::short_decimal(second as u32),
            _ => digits::short_decimal(first as u32),
        };
        self.put(digits, count);
        if first != 0 {
            self.text(&digits::decimal(second as u32));
        }
        self.text(&digits::decimal(last as u32));
    }

    /// Adds `value` in decimal digits, padded on the left with `fill` to `width`.
    pub fn padded(&mut self, value: u64, width: usize, fill: u8) {
        // CAST: At most 19.
        let count = value.checked_ilog10().unwrap_or(0) as usize;
        self.pad(fill, count.saturating_add(1), width);
        self.decimal(value);
    }

    /// Adds the six decimal digits of `value`, which is below 10^6, and `then`.
    #[inline(always)]
    pub fn six_digits(&mut self, value: u32, then: [u8; 2]) {
        let [_, _, a, b, c, d, e, f] = digits::decimal(value);
        let [g, h] = then;
        self.text(&[a, b, c, d, e, f, g, h]);
    }

    /// Adds `value` in decimal digits, with its sign.
    #[inline]
    pub fn signed(&mut self, value: i64) {
        if value < 0 {
            self.byte(b'-');
        }
        self.decimal(value.unsigned_abs());
    }

    /// Adds `value` in decimal digits, with its sign, padded on the right with spaces to
    /// `width`.
    pub fn signed_left(&mut self, value: i64, width: usize) {
        let start = self.len;
        self.signed(value);
        self.pad(b' ', self.len.wrapping_sub(start), width);
    }

    /// Adds `value` in hexadecimal digits.
    #[inline]
    pub fn hexadecimal(&mut self, value: u64) {
        // CAST: The halves.
        let (high, low) = ((value >> 32) as u32, value as u32);
        if high == 0 {
            let (digits, count) = digits::short_hexadecimal(low);
            self.put(digits, count);
        } else {
            let (digits, count) = digits::short_hexadecimal(high);
            self.put(digits, count);
            self.text(&digits::hexadecimal(low));
        }
    }

    /// Adds `piece`.
    #[inline]
    pub fn piece<const N: usize>(&mut self, piece: &Piece<N>) {
        let rest = self.room.get_mut(self.len..);
        match rest.and_then(|rest| rest.first_chunk_mut::<N>()) {
            Some(to) => {
                // Copies of constant size need no call.
                let mut at = 0;
                while at < N {
                    let (to, from) = (to.get_mut(at..), piece.bytes.get(at..));
                    first::<PART>(to.unwrap_or_default(), from.unwrap_or_default());
                    at = at.wrapping_add(PART);
                }
                self.len = self.len.wrapping_add(piece.len);
            }
            None => self.overflowed = true,
        }
    }
}

impl Write for SeqBuf<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes());
        if self.overflowed {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

/// Number of bytes of one such copy.
const PART: usize = 32;

/// A short, preformatted text of at most `N` bytes, a multiple of 32.
#[derive(Clone, Copy)]
pub struct Piece<const N: usize = 32> {
    bytes: [u8; N],
    /// Length of the text in bytes.
    len: usize,
}

impl<const N: usize> Piece<N> {
    /// Returns the output of `write`; `None` if it is too long.
    pub fn made_by(write: impl FnOnce(&mut SeqBuf<'_>)) -> Option<Self> {
        let mut bytes = [0; N];
        let mut buf = SeqBuf::new(&mut bytes);
        write(&mut buf);
        let len = buf.finish()?;
        Some(Self { bytes, len })
    }
}

/// Text in a buffer that grows as needed.
pub struct TextBuf {
    room: Vec<u8>,
    len: usize,
}

/// Initial size of a [`TextBuf`] in bytes.
const FIRST_ROOM: usize = 20 * 1024;

impl TextBuf {
    /// Creates an empty text; does not allocate.
    pub const fn new() -> Self {
        Self {
            room: Vec::new(),
            len: 0,
        }
    }

    /// Adds the output of `write`, which is called again if there was too little room.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory; nothing is then added.
    pub fn add(&mut self, mut write: impl FnMut(&mut SeqBuf<'_>)) -> Result<(), AllocError> {
        loop {
            let mut buf = SeqBuf::new(self.room.get_mut(self.len..).unwrap_or_default());
            write(&mut buf);
            if let Some(added) = buf.finish() {
                self.len = self.len.wrapping_add(added);
                return Ok(());
            }
            self.grow()?;
        }
    }

    /// Returns the text.
    pub fn as_bytes(&self) -> &[u8] {
        self.room.get(..self.len).unwrap_or_default()
    }

    /// Returns the length of the text in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Inserts `bytes` before the byte `at`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory; nothing is then inserted.
    pub fn insert(&mut self, at: usize, bytes: &[u8]) -> Result<(), AllocError> {
        let end = self.len;
        self.add(|buf| buf.bytes(bytes))?;
        if let Some(behind) = self.room.get_mut(at..self.len) {
            let left = end.saturating_sub(at).min(behind.len());
            behind.rotate_left(left);
        }
        Ok(())
    }

    /// Clears the text and keeps its memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    fn grow(&mut self) -> Result<(), AllocError> {
        const ZEROS: [u8; 512] = [0; 512];
        let more = self.room.len().max(FIRST_ROOM);
        self.room.reserve(more)?;
        for _ in 0..more / ZEROS.len() {
            self.room.extend_from_slice(&ZEROS)?;
        }
        Ok(())
    }
}

impl Default for TextBuf {
    fn default() -> Self {
        Self::new()
    }
}

/// Copies `from` to `to`, which has the same length.
///
/// Most pieces are short, and a call of `memcpy()` takes longer than the copy. So a head and a tail
/// are copied, which may overlap.
#[inline(always)]
pub(in crate::engine) fn copy(to: &mut [u8], from: &[u8]) {
    match from.len() {
        65.. => copy_long(to, from),
        32..=64 => ends::<32>(to, from),
        16..=31 => ends::<16>(to, from),
        8..=15 => ends::<8>(to, from),
        4..=7 => ends::<4>(to, from),
        2..=3 => ends::<2>(to, from),
        _ => ends::<1>(to, from),
    }
}

/// Copies the first and the last `N` bytes of `from` to `to`, which has the same length.
#[inline(always)]
fn ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    first::<N>(to, from);
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
        sys::copy(to, from);
    }
}

/// Copies the first `N` bytes of `from` to `to`.
#[inline(always)]
fn first<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        sys::copy(to, from);
    }
}

/// [`copy`] of more than 64 bytes. Out of line, so that [`copy`] stays short.
#[inline(never)]
fn copy_long(to: &mut [u8], from: &[u8]) {
    match from.len() {
        65..=96 => {
            first::<32>(to, from);
            ends::<32>(
                to.get_mut(32..).unwrap_or_default(),
                from.get(32..).unwrap_or_default(),
            );
        }
        97..=128 => ends::<64>(to, from),
        _ => to.copy_from_slice(from),
    }
}

/// Returns whether all of `bytes` are printable ASCII characters.
pub fn is_printable(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| (0x20..0x7f).contains(byte))
}
