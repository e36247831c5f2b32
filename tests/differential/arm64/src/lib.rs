// SPDX-License-Identifier: GPL-2.0

//! The arm64 decoder compared with the kernel's own code.
//!
//! That is built in only when `FERROPROBE_KERNEL_SOURCE` names a kernel source
//! tree; see `build.rs`.

pub mod paths;
pub mod text;
pub mod words;

/// The line to print when there is nothing to compare with.
pub const SKIPPED: &str = "skipped: FERROPROBE_KERNEL_SOURCE names no kernel source tree";

/// The kernel's code, callable.
#[cfg(kernel_oracle)]
pub mod oracle {
    extern "C" {
        fn oracle_verdicts(start: u32, count: usize, out: *mut u8);
        fn oracle_function(words: *const u32, count: usize, out: *mut u8);
    }

    /// Fills `out` with the verdicts for the words from `start` on, each seen
    /// alone: 0 rejected, 1 simulated, 2 steppable out of line.
    pub fn verdicts(start: u32, out: &mut [u8]) {
        // SAFETY: The function writes `out.len()` bytes to `out` and reads
        // nothing.
        unsafe { oracle_verdicts(start, out.len(), out.as_mut_ptr()) }
    }

    /// The verdict for every word of one function, as the kernel reaches it
    /// with its look back for exclusive sequences.
    pub fn function(words: &[u32]) -> Vec<u8> {
        let mut out = vec![0xff; words.len()];
        // SAFETY: The function reads `words.len()` words, none before the
        // first, and writes as many bytes to `out`.
        unsafe { oracle_function(words.as_ptr(), words.len(), out.as_mut_ptr()) };
        out
    }
}

/// The kernel's code, which was not there to be built in.
#[cfg(not(kernel_oracle))]
pub mod oracle {
    /// Never called: [`crate::PRESENT`] is false.
    pub fn verdicts(_: u32, _: &mut [u8]) {}

    /// Never called: [`crate::PRESENT`] is false.
    pub fn function(_: &[u32]) -> Vec<u8> {
        Vec::new()
    }
}

/// Whether the kernel's code was built in.
pub const PRESENT: bool = cfg!(kernel_oracle);
