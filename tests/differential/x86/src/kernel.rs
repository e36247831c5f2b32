// SPDX-License-Identifier: GPL-2.0

//! The kernel's decoder, `insn_decode` in 64-bit mode.

#[cfg(kernel_oracle)]
mod bound {
    use std::ffi::c_int;

    extern "C" {
        fn kernel_length(bytes: *const u8, available: c_int) -> c_int;
        fn kernel_verdict(bytes: *const u8) -> c_int;
        fn kernel_walk(
            text: *const u8,
            size: usize,
            lengths: *mut u8,
            undecodable: *mut usize,
        ) -> usize;
    }

    /// The length of the instruction at the start of `bytes`; `None` if the
    /// kernel cannot decode it.
    pub fn length(bytes: &[u8]) -> Option<usize> {
        let available = c_int::try_from(bytes.len().min(15)).ok()?;
        // SAFETY: the function reads no more than `available` bytes, which
        // `bytes` holds, and keeps no pointer.
        let length = unsafe { kernel_length(bytes.as_ptr(), available) };
        usize::try_from(length).ok().filter(|length| *length != 0)
    }

    /// What the kernel's kprobes make of an instruction: the number of an
    /// emulation, 0 to step it, or a negative errno.
    pub fn verdict(bytes: &[u8; 15]) -> i32 {
        // SAFETY: the function reads no more than fifteen bytes and keeps no
        // pointer.
        unsafe { kernel_verdict(bytes.as_ptr()) }
    }

    /// Walks over `text` and writes every instruction's length to the place of
    /// its first byte in `lengths`. Returns how many instructions there are, and
    /// how many bytes at which the kernel finds none.
    ///
    /// # Panics
    ///
    /// When `lengths` is shorter than `text`.
    pub fn walk(text: &[u8], lengths: &mut [u8]) -> (usize, usize) {
        assert!(lengths.len() >= text.len());
        let mut undecodable = 0;
        // SAFETY: the function reads `text`, writes `undecodable`, and writes
        // `lengths` at places below `text.len()`, which both hold.
        let instructions = unsafe {
            kernel_walk(
                text.as_ptr(),
                text.len(),
                lengths.as_mut_ptr(),
                &mut undecodable,
            )
        };
        (instructions, undecodable)
    }

    /// Whether the kernel's decoder was compiled in.
    pub const PRESENT: bool = true;
}

#[cfg(not(kernel_oracle))]
mod bound {
    /// Never called: [`PRESENT`] is false.
    pub fn length(_: &[u8]) -> Option<usize> {
        None
    }

    /// Never called: [`PRESENT`] is false.
    pub fn verdict(_: &[u8; 15]) -> i32 {
        0
    }

    /// Never called: [`PRESENT`] is false.
    pub fn walk(_: &[u8], _: &mut [u8]) -> (usize, usize) {
        (0, 0)
    }

    /// Whether the kernel's decoder was compiled in.
    pub const PRESENT: bool = false;
}

pub use bound::{length, verdict, walk, PRESENT};

/// The line to print where the kernel's decoder is missing.
pub const MISSING: &str =
    "skipped: FERROPROBE_KERNEL_SOURCE named no kernel source when this was built";
