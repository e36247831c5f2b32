// SPDX-License-Identifier: GPL-2.0

//! The ids of events, and which formats records in a buffer still need.

use crate::engine::refusal::error::{Error, Kind};
use crate::sys::{AllocError, Vec};

/// The first id: far above those of the kernel's own events, which a tool might open by number.
pub const FIRST: u16 = 0x8000;

/// The number of ids.
pub const COUNT: usize = (u16::MAX - FIRST) as usize + 1;

/// Ids in a word of the set.
const WORD: usize = u64::BITS as usize;

/// The set of ids in use.
pub struct Numbers {
    /// A bit for each number.
    words: Vec<u64>,
    /// Where the search for a free id starts. An id is reused as late as possible.
    next: usize,
    free: usize,
}

impl Numbers {
    /// Creates a set in which all ids are free.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn new() -> Result<Self, AllocError> {
        let mut words = Vec::with_capacity(COUNT / WORD)?;
        for _ in 0..COUNT / WORD {
            words.push(0)?;
        }
        Ok(Self {
            words,
            next: 0,
            free: COUNT,
        })
    }

    /// Takes a free id, in constant time.
    ///
    /// # Errors
    ///
    /// `NO_NUMBER` if none is free.
    pub fn take(&mut self) -> Result<u16, Error> {
        let none = || {
            Error::new(Kind::NoNumber, 0)
                .with_detail(format_args!("{COUNT} are of events, or of recorded ones"))
        };
        if self.free == 0 {
            return Err(none());
        }
        let (first, bit) = (self.next / WORD, self.next % WORD);
        let count = self.words.len();
        // The first candidate's word is searched twice, the second time for its lower bits.
        for step in 0..=count {
            let index = first.wrapping_add(step).checked_rem(count).unwrap_or(0);
            let Some(word) = self.words.get_mut(index) else {
                continue;
            };
            let below = if step == 0 {
                bit_of(bit).wrapping_sub(1)
            } else {
                0
            };
            let candidates = !*word & !below;
            if candidates == 0 {
                continue;
            }
            // CAST: Below 64.
            let lowest = candidates.trailing_zeros() as usize;
            *word |= bit_of(lowest);
            self.free = self.free.saturating_sub(1);
            let taken = index.wrapping_mul(WORD).wrapping_add(lowest);
            self.next = taken.wrapping_add(1) % COUNT;
            // CAST: Below COUNT.
            return Ok(FIRST.wrapping_add(taken as u16));
        }
        Err(none())
    }

    /// Gives back a number.
    pub fn give_back(&mut self, number: u16) {
        let at = usize::from(number.wrapping_sub(FIRST));
        let bit = bit_of(at % WORD);
        if let Some(word) = self.words.get_mut(at / WORD) {
            if *word & bit != 0 {
                *word &= !bit;
                self.free = self.free.saturating_add(1);
            }
        }
    }
}

/// Returns the word in which only the bit `index`, below 64, is set.
fn bit_of(index: usize) -> u64 {
    // CAST: Below 64.
    1_u64.wrapping_shl(index as u32)
}

/// Formats of removed events, and which of them have records in the buffer.
pub struct Needed {
    /// In the order of addition.
    keys: Vec<NumberKey>,
    /// The key of each id.
    of_numbers: Vec<Option<u32>>,
}

/// A format.
struct NumberKey {
    /// The caller's serial number.
    serial: u64,
    is_needed: bool,
}

impl Needed {
    /// Creates an empty list of formats.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn new() -> Result<Self, AllocError> {
        let mut of_numbers = Vec::with_capacity(COUNT)?;
        for _ in 0..COUNT {
            of_numbers.push(None)?;
        }
        Ok(Self {
            keys: Vec::new(),
            of_numbers,
        })
    }

    /// Adds the format `serial`, whose records have the id `number`. No other format may have this
    /// id.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn add(&mut self, serial: u64, number: u16) -> Result<(), AllocError> {
        // CAST: There are at most COUNT numbers.
        let index = self.keys.len() as u32;
        self.keys.push(NumberKey {
            serial,
            is_needed: false,
        })?;
        let at = usize::from(number.wrapping_sub(FIRST));
        if let Some(of_number) = self.of_numbers.get_mut(at) {
            *of_number = Some(index);
        }
        Ok(())
    }

    /// Notes that there is a record with this id.
    pub fn see(&mut self, number: u16) {
        let at = usize::from(number.wrapping_sub(FIRST));
        let key = self.of_numbers.get(at).copied().flatten();
        // CAST: u32 to usize widens.
        if let Some(key) = key.and_then(|index| self.keys.get_mut(index as usize)) {
            key.is_needed = true;
        }
    }

    /// Returns the serial numbers of formats without records, in the order of addition.
    pub fn unneeded(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        let unneeded = self.keys.iter().filter(|key| !key.is_needed);
        unneeded.map(|key| key.serial)
    }
}
