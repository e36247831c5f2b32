// SPDX-License-Identifier: GPL-2.0

//! The static points of a program (USDT): notes that say where code was marked, and where its
//! arguments are.
//!
//! Format: `sys/sdt.h` of SystemTap, version 3. A note has three addresses (the point, what
//! `.stapsdt.base` had when the note was made, and the counter of those who trace the point), and
//! three texts, each with its NUL: provider, name, arguments.

use super::{number, read_all, Elf, ElfError, ElfSection};
use crate::sys::Vec;

/// Name and type of the notes.
const OWNER: &[u8] = b"stapsdt\0";
const POINT: u64 = 3;
/// The section whose address tells how far a program was moved since its notes were made.
pub(super) const BASE: &[u8] = b".stapsdt.base\0";

/// Maximum number of bytes of all notes of a file.
const MAX_NOTES: u64 = 1 << 24;
/// Maximum number of bytes of one note; others are skipped.
const MAX_NOTE: usize = 2048;

const NOTE_HEADER: u64 = 12;
/// The three addresses.
const ADDRESSES: usize = 24;

/// A static point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElfPoint<'a> {
    /// Who has made it: a program or a library.
    pub provider: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Where its arguments are, in the assembler's words, see
    /// [`point`](crate::engine::code::arch::point).
    pub arguments: &'a [u8],
    /// Its offset in the file.
    pub offset: u64,
    /// The offset in the file of the counter of those who trace it; 0 if there is none.
    pub counter: u64,
}

/// Returns `length` rounded up to whole words of a note.
fn padded(length: u64) -> u64 {
    length.saturating_add(3) & !3
}

impl Elf<'_> {
    /// Calls `each` with the static points of the file that are in its code, until that returns
    /// false.
    ///
    /// # Errors
    ///
    /// [`ElfError::Broken`] for a note that does not end in its section, and errors of reading.
    pub fn each_point(&self, each: &mut dyn FnMut(&ElfPoint<'_>) -> bool) -> Result<(), ElfError> {
        let all = self.notes.iter().map(|section| section.size);
        if all.fold(0, u64::saturating_add) > MAX_NOTES {
            return Err(ElfError::TooLarge);
        }
        let mut room: Vec<u8> = Vec::new();
        for _ in 0..MAX_NOTE {
            room.push(0)?;
        }
        for section in &self.notes {
            if !self.points_of(section, &mut room, each)? {
                break;
            }
        }
        Ok(())
    }

    /// Does that with the points of one section. Returns whether `each` wants more.
    fn points_of(
        &self,
        section: &ElfSection,
        room: &mut [u8],
        each: &mut dyn FnMut(&ElfPoint<'_>) -> bool,
    ) -> Result<bool, ElfError> {
        let mut done = 0;
        while section.size.saturating_sub(done) >= NOTE_HEADER {
            let mut header = [0; NOTE_HEADER as usize];
            let at = section.offset.checked_add(done).ok_or(ElfError::Broken)?;
            read_all(self.file, at, &mut header)?;
            let owner = padded(number::<4>(&header, 0));
            let length = number::<4>(&header, 4);
            let whole = owner.saturating_add(padded(length));
            done = done.saturating_add(NOTE_HEADER).saturating_add(whole);
            if done > padded(section.size) {
                return Err(ElfError::Broken);
            }
            let bytes = usize::try_from(owner.saturating_add(length)).unwrap_or(usize::MAX);
            let is_point = number::<4>(&header, 8) == POINT && owner == OWNER.len() as u64;
            let Some(note) = room.get_mut(..bytes).filter(|_| is_point) else {
                continue;
            };
            read_all(self.file, at.saturating_add(NOTE_HEADER), note)?;
            let wants_more = match note.strip_prefix(OWNER).and_then(|note| self.point(note)) {
                Some(point) => each(&point),
                None => true,
            };
            if !wants_more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the point of a note; `None` if it is in no code, its counter is at an odd offset, which
    /// the kernel refuses, or its texts do not end.
    fn point<'n>(&self, note: &'n [u8]) -> Option<ElfPoint<'n>> {
        let (addresses, texts) = note.split_at_checked(ADDRESSES)?;
        let mut texts = texts.split(|&byte| byte == 0);
        let (provider, name, arguments) = (texts.next()?, texts.next()?, texts.next()?);
        // Behind the last text there is its NUL, too.
        texts.next()?;
        // How far the program was moved.
        let moved = self
            .base
            .map_or(0, |base| base.wrapping_sub(number::<8>(addresses, 8)));
        let offset_of = |address: u64| self.offset_of(address.wrapping_add(moved));
        let offset = offset_of(number::<8>(addresses, 0)).filter(|&offset| self.is_code(offset))?;
        let counter = match number::<8>(addresses, 16) {
            0 => 0,
            address => offset_of(address).filter(|&offset| offset & 1 == 0)?,
        };
        Some(ElfPoint {
            provider,
            name,
            arguments,
            offset,
            counter,
        })
    }
}
