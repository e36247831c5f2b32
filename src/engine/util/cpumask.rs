// SPDX-License-Identifier: GPL-2.0

//! CPU masks as the kernel writes them: hexadecimal, in groups of eight digits separated by
//! commas, the highest CPUs first.

use super::digits;
use crate::sys::{AllocError, Vec};
use core::fmt;

/// Number of bits of a group.
const GROUP: u32 = 32;

/// A set of CPUs with numbers below a limit.
#[derive(Debug, PartialEq, Eq)]
pub struct Mask {
    /// The lowest CPUs first.
    groups: Vec<u32>,
    limit: u32,
}

/// Why a text is not a valid mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskError {
    /// Out of memory.
    NoMemory,
    /// It is not hexadecimal, or a group has too many digits.
    Syntax,
    /// It has a CPU at or above the limit.
    TooLarge,
}

impl From<AllocError> for MaskError {
    fn from(_: AllocError) -> Self {
        Self::NoMemory
    }
}

impl Mask {
    /// Creates an empty mask of the CPUs below `limit`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn new(limit: u32) -> Result<Self, AllocError> {
        let mut groups = Vec::new();
        for _ in 0..limit.div_ceil(GROUP) {
            groups.push(0)?;
        }
        Ok(Self { groups, limit })
    }

    /// Parses `text`, with optional surrounding spaces, as a mask of the CPUs below
    /// `limit`.
    ///
    /// # Errors
    ///
    /// Any [`MaskError`].
    pub fn parse(text: &[u8], limit: u32) -> Result<Self, MaskError> {
        let mut mask = Self::new(limit)?;
        let mut to = mask.groups.iter_mut();
        for group in text.trim_ascii().rsplit(|&byte| byte == b',') {
            let value = hexadecimal(group).ok_or(MaskError::Syntax)?;
            match to.next() {
                Some(to) => *to = value,
                None if value == 0 => {}
                None => return Err(MaskError::TooLarge),
            }
        }
        let allowed = u32::MAX.wrapping_shr(GROUP.wrapping_sub(bits_of_last(limit)));
        match mask.groups.last() {
            Some(last) if last & !allowed != 0 => Err(MaskError::TooLarge),
            _ => Ok(mask),
        }
    }

    /// Returns whether `cpu` is in the mask.
    pub fn has(&self, cpu: u32) -> bool {
        let (group, bit) = place(cpu);
        self.groups.get(group).is_some_and(|group| group & bit != 0)
    }

    /// Adds `cpu` to the mask, or removes it.
    pub fn set(&mut self, cpu: u32, on: bool) {
        let (group, bit) = place(cpu);
        if let Some(group) = self.groups.get_mut(group) {
            *group = if on { *group | bit } else { *group & !bit };
        }
    }
}

impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = digits_of_last(self.limit);
        for (index, group) in self.groups.iter().rev().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{group:0digits$x}")?;
            digits = 8;
        }
        Ok(())
    }
}

/// Returns the group of `cpu`, and its bit there.
fn place(cpu: u32) -> (usize, u32) {
    // CAST: u32 to usize widens.
    ((cpu / GROUP) as usize, 1u32.wrapping_shl(cpu % GROUP))
}

/// Returns the bits of the highest group for CPUs below `limit`.
fn bits_of_last(limit: u32) -> u32 {
    match limit % GROUP {
        0 => GROUP,
        bits => bits,
    }
}

/// Returns the digits of the highest group.
fn digits_of_last(limit: u32) -> usize {
    // CAST: At most 8.
    bits_of_last(limit).div_ceil(4) as usize
}

/// Returns the value of one to eight hexadecimal digits.
fn hexadecimal(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 8 {
        return None;
    }
    text.iter().try_fold(0u32, |value, &digit| {
        Some(value.wrapping_shl(4) | digits::value_of(digit, 16)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(text: &str, limit: u32) -> Result<String, MaskError> {
        Mask::parse(text.as_bytes(), limit).map(|mask| mask.to_string())
    }

    #[test]
    fn prints_as_wide_as_its_cpus() {
        for (text, limit, printed) in [
            ("1", 1, "1"),
            ("3", 2, "3"),
            ("1", 8, "01"),
            ("0x\n", 8, ""),
            ("0", 6, "00"),
            ("f00", 12, "f00"),
            (" ffffffff\n", 32, "ffffffff"),
            ("1,00000000", 33, "1,00000000"),
            ("3", 40, "00,00000003"),
            ("0,0,1", 33, "0,00000001"),
        ] {
            match printed {
                "" => assert_eq!(read_back(text, limit), Err(MaskError::Syntax)),
                _ => assert_eq!(read_back(text, limit).as_deref(), Ok(printed)),
            }
        }
    }

    #[test]
    fn refuses_what_is_no_mask() {
        for text in ["", " ", "g", ",", "1,", ",1", "123456789", "-1", "1 1"] {
            assert_eq!(read_back(text, 40), Err(MaskError::Syntax), "{text}");
        }
        for (text, limit) in [("4", 2), ("2,0", 33), ("1,0", 32), ("1,0,0", 40)] {
            assert_eq!(read_back(text, limit), Err(MaskError::TooLarge), "{text}");
        }
    }

    #[test]
    fn has_what_was_set() {
        let mut mask = Mask::new(40).unwrap();
        mask.set(39, true);
        mask.set(0, true);
        assert_eq!(mask.to_string(), "80,00000001");
        assert!(mask.has(39) && mask.has(0) && !mask.has(1) && !mask.has(4000));
        mask.set(0, false);
        mask.set(4000, true);
        assert_eq!(mask.to_string(), "80,00000000");
    }
}
