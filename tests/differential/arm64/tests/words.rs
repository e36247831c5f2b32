// SPDX-License-Identifier: GPL-2.0

//! A sample of the 2^32 verdicts, compared with the kernel's; the program
//! `words` compares all.

use ferroprobe_differential_arm64::words::{compare, CHUNK};
use ferroprobe_differential_arm64::{PRESENT, SKIPPED};

#[test]
fn a_sample_of_words_agrees_with_the_kernel() {
    if !PRESENT {
        eprintln!("{SKIPPED}");
        return;
    }
    // One chunk of 65536 words in every 211.
    compare(0, 211 * CHUNK as u64).unwrap();
}
