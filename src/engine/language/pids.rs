// SPDX-License-Identifier: GPL-2.0

//! Sets of tasks, as `set_event_pid` takes and shows them: numbers, one bit for each.

use crate::engine::language::{lex, setting};
use crate::engine::refusal::error::{Error, Kind};
use crate::sys::{AllocError, Vec};
use core::sync::atomic::{AtomicU64, Ordering};

/// Limit of pids: the kernel's `PID_MAX_LIMIT`.
pub const LIMIT: u32 = 1 << 22;

/// Pids in a word.
const BITS: u32 = u64::BITS;

/// A set of pids, which may change while hits read it.
pub struct PidSet {
    words: Vec<AtomicU64>,
}

/// Returns the pids in `text`: numbers of any base, with spaces between them.
///
/// # Errors
///
/// `FILE_BAD_NUMBER`, with the caret in the text without surrounding white space; `NO_MEMORY`.
pub fn parse(text: &[u8]) -> Result<Vec<u32>, Error> {
    let mut pids = Vec::new();
    let words = text
        .trim_ascii()
        .split(|&byte| lex::is_space(byte) || byte == 0);
    let mut at = 0usize;
    for word in words {
        if !word.is_empty() {
            let pid = lex::unsigned(word).and_then(|pid| u32::try_from(pid).ok());
            let pid = pid.filter(|&pid| pid < LIMIT);
            pids.push(pid.ok_or_else(|| no_pid(at))?)?;
        }
        at = at.saturating_add(word.len()).saturating_add(1);
    }
    Ok(pids)
}

#[cold]
#[inline(never)]
fn no_pid(at: usize) -> Error {
    let error = Error::new(Kind::FileBadNumber, at);
    setting::expected(error, "pids with spaces between them, such as 1 4711")
}

impl PidSet {
    /// Creates an empty set.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn new() -> Result<Self, AllocError> {
        // CAST: u32 to usize widens.
        let count = (LIMIT / BITS) as usize;
        let mut words = Vec::with_capacity(count)?;
        for _ in 0..count {
            words.push(AtomicU64::new(0))?;
        }
        Ok(Self { words })
    }

    /// Returns word and bit of `pid`; `None` if it is not a pid.
    #[inline(always)]
    fn place(&self, pid: i32) -> Option<(&AtomicU64, u64)> {
        let pid = u32::try_from(pid).ok()?;
        // CAST: u32 to usize widens.
        let word = self.words.get((pid / BITS) as usize)?;
        Some((word, 1u64.wrapping_shl(pid % BITS)))
    }

    /// Returns whether `pid` is in the set.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn has(&self, pid: i32) -> bool {
        self.place(pid)
            .is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    /// Adds `pid`; does nothing if it is not a pid.
    ///
    /// Context: any.
    pub fn add(&self, pid: i32) {
        if let Some((word, bit)) = self.place(pid) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Removes `pid`.
    ///
    /// Context: any.
    pub fn remove(&self, pid: i32) {
        if let Some((word, bit)) = self.place(pid) {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// Returns the pids in ascending order.
    pub fn iter(&self) -> Pids<'_> {
        Pids {
            words: &self.words,
            index: 0,
            bits: None,
        }
    }
}

/// Iterates over the pids in ascending order. A named type: symbol names of nested adapters are too
/// long for the kernel.
pub struct Pids<'a> {
    words: &'a [AtomicU64],
    /// The index of the current word.
    index: usize,
    /// The remaining bits of the current word; `None` before it is read.
    bits: Option<u64>,
}

impl Iterator for Pids<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            let word = self.words.get(self.index)?;
            let bits = match self.bits {
                Some(bits) => bits,
                None => word.load(Ordering::Relaxed),
            };
            if bits == 0 {
                self.bits = None;
                self.index = self.index.wrapping_add(1);
                continue;
            }
            // Clear the lowest bit.
            self.bits = Some(bits & bits.wrapping_sub(1));
            let first = u32::try_from(self.index).ok()?.checked_mul(BITS)?;
            return first.checked_add(bits.trailing_zeros());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_numbers_and_nothing_else() {
        for (text, pids) in [
            ("", &[] as &[u32]),
            (" \n", &[]),
            ("0", &[0]),
            ("1 22\t0x10\n010", &[1, 22, 16, 8]),
            ("4194303 7 7", &[4_194_303, 7, 7]),
        ] {
            assert_eq!(parse(text.as_bytes()).as_deref(), Ok(pids), "{text}");
        }
        for (text, at) in [
            ("-1", 0),
            ("x", 0),
            (" 1  2x 3", 3),
            ("4194304", 0),
            ("99999999999999999999", 0),
            ("1,2", 0),
            ("7 1.", 2),
            ("0x", 0),
        ] {
            let error = parse(text.as_bytes()).expect_err(text);
            assert_eq!((error.kind, error.at), (Kind::FileBadNumber, at), "{text}");
        }
    }

    #[test]
    fn has_what_was_added_and_not_removed() {
        let set = PidSet::new().unwrap();
        assert_eq!(set.iter().count(), 0);
        for pid in [
            0,
            63,
            64,
            1000,
            4_194_303,
            4_194_304,
            -1,
            i32::MIN,
            i32::MAX,
        ] {
            assert!(!set.has(pid));
            set.add(pid);
            assert_eq!(set.has(pid), (0..4_194_304).contains(&pid), "{pid}");
        }
        assert_eq!(
            set.iter().collect::<std::vec::Vec<_>>(),
            [0, 63, 64, 1000, 4_194_303]
        );
        assert!(!set.has(1) && !set.has(62) && !set.has(65));
        set.remove(64);
        set.remove(65);
        set.remove(-1);
        assert!(!set.has(64) && set.has(63));
        assert_eq!(
            set.iter().collect::<std::vec::Vec<_>>(),
            [0, 63, 1000, 4_194_303]
        );
    }
}
