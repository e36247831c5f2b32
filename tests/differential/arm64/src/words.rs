// SPDX-License-Identifier: GPL-2.0

//! Verdicts on single words, beside the kernel's.

use crate::oracle;
use ferroprobe_engine::engine::code::insn::arm64::{self, ProbeVerdict};

/// Words that are compared at a time.
pub const CHUNK: usize = 1 << 16;

/// A verdict as the kernel's code numbers it.
pub fn code(verdict: ProbeVerdict) -> u8 {
    match verdict {
        ProbeVerdict::Rejected(_) => 0,
        ProbeVerdict::Simulated => 1,
        ProbeVerdict::SteppableOutOfLine => 2,
    }
}

/// Compares a chunk of words from each `step` words, from `first` up to 2^32;
/// how many are rejected, simulated and steppable.
///
/// # Errors
///
/// The first word on which the verdicts differ.
pub fn compare(first: u64, step: u64) -> Result<[u64; 3], String> {
    let mut counts = [0_u64; 3];
    let mut expected = vec![0_u8; CHUNK];
    let mut start = first;
    while let Ok(word) = u32::try_from(start) {
        oracle::verdicts(word, &mut expected);
        for (&kernel, word) in expected.iter().zip(word..=u32::MAX) {
            let ours = code(arm64::verdict(word));
            if ours != kernel {
                return Err(format!("{word:#010x}: ours {ours}, kernel {kernel}"));
            }
            counts[usize::from(ours)] += 1;
        }
        start += step;
    }
    Ok(counts)
}
