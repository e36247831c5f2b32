// SPDX-License-Identifier: GPL-2.0

//! Numbers with units: durations in nanoseconds, sizes in bytes.

use core::fmt;

/// The units of sizes, in bytes, the largest first.
const SIZES: [(&str, u64); 4] = [
    ("T", 1 << 40),
    ("G", 1 << 30),
    ("M", 1 << 20),
    ("K", 1 << 10),
];

/// Displays a duration in nanoseconds with three or four digits, what separates them from the unit,
/// and the unit.
#[derive(Clone, Copy)]
pub struct Duration<'a>(pub u64, pub &'a str);

impl fmt::Display for Duration<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(nanoseconds, blank) = *self;
        let (factor, unit) = match nanoseconds {
            0..1_000 => return write!(f, "{nanoseconds}{blank}ns"),
            1_000..1_000_000 => (1_000u64, "us"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let whole = nanoseconds.wrapping_div(factor);
        let thousandths = nanoseconds
            .wrapping_rem(factor)
            .wrapping_div(factor.wrapping_div(1_000));
        match whole {
            0..10 => write!(f, "{whole}.{thousandths:03}"),
            10..100 => write!(f, "{whole}.{:02}", thousandths.wrapping_div(10)),
            100..1_000 => write!(f, "{whole}.{}", thousandths.wrapping_div(100)),
            _ => write!(f, "{whole}"),
        }?;
        write!(f, "{blank}{unit}")
    }
}

/// Displays a number of bytes, with a unit of 1024 and more. Below 10 K it is exact, without one.
#[derive(Clone, Copy)]
pub struct ByteSize(pub u64);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        let unit = SIZES.iter().find(|(_, factor)| *factor <= bytes);
        let Some((unit, factor)) = unit.filter(|_| bytes >= 10 << 10) else {
            return write!(f, "{bytes}");
        };
        let (whole, rest) = (
            divided(bytes, *factor),
            bytes.checked_rem(*factor).unwrap_or(0),
        );
        if rest == 0 {
            return write!(f, "{whole}{unit}");
        }
        // A factor has at most 41 bits.
        let tenths = divided(rest.wrapping_mul(10), *factor);
        write!(f, "{whole}.{tenths}{unit}")
    }
}

/// Returns how often `number` has `factor`, which is not 0.
fn divided(number: u64, factor: u64) -> u64 {
    number.checked_div(factor).unwrap_or(0)
}
