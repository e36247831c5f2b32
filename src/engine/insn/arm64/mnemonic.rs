// SPDX-License-Identifier: GPL-2.0

//! Names.

/// x
pub const fn mnemonic(_word: u32) -> &'static str {
    ""
}
