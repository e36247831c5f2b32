// SPDX-License-Identifier: GPL-2.0

//! Percentages and bars.

use core::fmt::{self, Write};

/// Returns the quotient times 10,000, rounded like the kernel; `None` if `whole` is too small.
pub(super) fn percentage(part: u64, whole: u64) -> Option<u64> {
    if whole == 0 {
        return (part == 0).then_some(0);
    }
    if part < u64::MAX / 10_000 {
        return part.saturating_mul(10_000).checked_div(whole);
    }
    part.checked_div(whole / 10_000)
}

/// Writes `length` marks, padded with blanks to `width`.
pub(super) fn write_bar(out: &mut dyn Write, mark: char, length: u64, width: u64) -> fmt::Result {
    for n in 0..width {
        out.write_char(if n < length { mark } else { ' ' })?;
    }
    Ok(())
}
