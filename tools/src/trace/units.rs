// SPDX-License-Identifier: GPL-2.0

//! Numbers with units: durations in nanoseconds, sizes in bytes, of which 1 K is 1024.

use ferroprobe_engine::engine::util::units;

/// The units of durations, in nanoseconds.
const DURATIONS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The units of sizes, in bytes, each also with `B` or `iB` behind it.
const SIZES: [(&str, u64); 4] = [
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
];

/// What a unit stands for.
fn factor(unit: &str) -> Option<u64> {
    let duration = DURATIONS.iter().find(|(name, _)| *name == unit);
    let size = || {
        let unit = unit.strip_suffix('B').unwrap_or(unit);
        let unit = unit.strip_suffix('i').unwrap_or(unit);
        SIZES.iter().find(|(name, _)| *name == unit)
    };
    duration.or_else(size).map(|(_, factor)| *factor)
}

/// The number that `text`, such as `1.5ms` or `64K`, means; `None` if it is no number with a unit.
/// What is no whole number of nanoseconds or bytes is `None` as well.
pub fn number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (digits, unit) = text.split_at(end);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || digits.ends_with('.') || part.contains('.') || part.len() > 18 {
        return None;
    }
    let factor = factor(unit)?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    if part.is_empty() {
        return Some(whole);
    }
    let scale = 10u128.pow(u32::try_from(part.len()).ok()?);
    let part = part.parse::<u128>().ok()? * u128::from(factor);
    // 1.5K is a number of bytes, 1.0001 us is no number of nanoseconds.
    let exact = part % scale == 0;
    let rest = u64::try_from(part / scale).ok()?;
    exact.then(|| whole.checked_add(rest))?
}

/// A duration for people: three or four digits and a unit.
pub fn duration(nanoseconds: u64) -> String {
    units::Duration(nanoseconds, " ").to_string()
}

/// A size for people. Below 10 K it is exact, and has no unit.
pub fn size(bytes: u64) -> String {
    units::ByteSize(bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        for (text, expected) in [
            ("1ms", 1_000_000),
            ("10us", 10_000),
            ("10µs", 10_000),
            ("1.5ms", 1_500_000),
            ("2s", 2_000_000_000),
            ("1min", 60_000_000_000),
            ("7ns", 7),
            ("64K", 65_536),
            ("64KB", 65_536),
            ("64KiB", 65_536),
            ("1.5M", 1_572_864),
            ("2G", 1 << 31),
        ] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_has_no_unit_is_no_number_with_one() {
        for text in [
            "",
            "1",
            "ms",
            "1 ms",
            "1xs",
            "0x1K",
            "1..5ms",
            "1.ms",
            ".5ms",
            "1.0001us",
            "1m",
            "99999999999999999999s",
            "99999999999999T",
            "1B",
            "1Kib",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn durations_have_three_digits() {
        for (nanoseconds, expected) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.000 us"),
            (41_804, "41.80 us"),
            (999_999, "999.9 us"),
            (1_204_567, "1.204 ms"),
            (2_003_914_329, "2.003 s"),
            (u64::MAX, "18446744073 s"),
        ] {
            assert_eq!(duration(nanoseconds), expected);
        }
    }

    #[test]
    fn sizes_are_exact_where_they_are_short() {
        for (bytes, expected) in [
            (0, "0"),
            (832, "832"),
            (4096, "4096"),
            (10_239, "10239"),
            (10_240, "10K"),
            (100_000, "97.6K"),
            (131_072, "128K"),
            (1 << 20, "1M"),
            (u64::MAX, "16777215.9T"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }
}
