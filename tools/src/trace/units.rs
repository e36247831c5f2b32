// SPDX-License-Identifier: GPL-2.0

//! Numbers with units: durations in nanoseconds, sizes in bytes, of which 1 K is 1024.

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
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => scaled(nanoseconds, 1_000, "us"),
        1_000_000..1_000_000_000 => scaled(nanoseconds, 1_000_000, "ms"),
        _ => scaled(nanoseconds, 1_000_000_000, "s"),
    }
}

/// A size for people. Below 10 K it is exact, and has no unit.
pub fn size(bytes: u64) -> String {
    if bytes < 10 << 10 {
        return bytes.to_string();
    }
    let unit = SIZES.iter().rev().find(|(_, factor)| *factor <= bytes);
    let (unit, factor) = unit.unwrap_or(&SIZES[0]);
    if bytes % factor == 0 {
        return format!("{}{unit}", bytes / factor);
    }
    let tenths = u128::from(bytes) * 10 / u128::from(*factor);
    format!("{}.{}{unit}", tenths / 10, tenths % 10)
}

/// `value` in `unit`, which is `factor`, with three digits at least and no digit more than there is.
fn scaled(value: u64, factor: u64, unit: &str) -> String {
    let whole = value / factor;
    let thousandths = value % factor / (factor / 1_000);
    match whole {
        0..10 => format!("{whole}.{thousandths:03} {unit}"),
        10..100 => format!("{whole}.{:02} {unit}", thousandths / 10),
        100..1_000 => format!("{whole}.{} {unit}", thousandths / 100),
        _ => format!("{whole} {unit}"),
    }
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
