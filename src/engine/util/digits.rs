// SPDX-License-Identifier: GPL-2.0

//! Digits of numbers: parsing one, and formatting eight at once.
//!
//! For formatting, each digit is a byte of a `u64`, the most significant in the lowest byte, so
//! that storing the `u64` in little-endian order writes the number. A few multiplications and
//! shifts make all digits, without branches or tables.

/// Digits that are made at once.
pub const COUNT: usize = 8;

/// The smallest number with more decimal digits.
pub const LIMIT: u64 = 100_000_000;

/// Converts eight decimal digits to ASCII when added.
const ASCII: u64 = u64::from_ne_bytes([b'0'; COUNT]);

/// Returns the eight decimal digits of `value`, which is below [`LIMIT`].
#[inline(always)]
pub fn decimal(value: u32) -> [u8; COUNT] {
    (decimal_values(value) | ASCII).to_le_bytes()
}

/// Returns the eight hexadecimal digits of `value`.
#[inline(always)]
pub fn hexadecimal(value: u32) -> [u8; COUNT] {
    letters(hexadecimal_values(value)).to_le_bytes()
}

/// Returns the decimal digits of `value`, which is below [`LIMIT`], without leading zeros,
/// and their number. The bytes behind them are undefined.
#[inline(always)]
pub fn short_decimal(value: u32) -> ([u8; COUNT], usize) {
    let values = decimal_values(value);
    from_first(values, values | ASCII)
}

/// Returns the hexadecimal digits of `value`, as [`short_decimal`].
#[inline(always)]
pub fn short_hexadecimal(value: u32) -> ([u8; COUNT], usize) {
    let values = hexadecimal_values(value);
    from_first(values, letters(values))
}

/// Returns `digits`, whose values are `values`, from the first nonzero digit on, or the
/// last one if all are zero.
#[inline(always)]
fn from_first(values: u64, digits: u64) -> ([u8; COUNT], usize) {
    // The last digit counts as nonzero.
    let zeros = (values | 1 << 63).trailing_zeros() / 8;
    let digits = digits.wrapping_shr(zeros.wrapping_mul(8));
    // CAST: At most 7.
    let count = COUNT.wrapping_sub(zeros as usize);
    (digits.to_le_bytes(), count)
}

/// Splits the number of each lane into halves until a lane is a digit. Divisions are
/// multiplications whose low bits are shifted out; masks remove bits from the lane above.
#[inline(always)]
fn decimal_values(value: u32) -> u64 {
    let (high, low) = (value / 10_000, value % 10_000);
    let fours = u64::from(high) | u64::from(low) << 32;
    // Exact for numbers below 10,000.
    let hundreds = (fours.wrapping_mul(10_486) >> 20) & 0x0000_007f_0000_007f;
    let rest = fours.wrapping_sub(hundreds.wrapping_mul(100));
    let twos = hundreds | rest << 16;
    // Exact for numbers below 100.
    let tens = (twos.wrapping_mul(103) >> 10) & 0x000f_000f_000f_000f;
    let rest = twos.wrapping_sub(tens.wrapping_mul(10));
    tens | rest << 8
}

/// Spreads the nibbles to bytes, and reverses their order.
#[inline(always)]
fn hexadecimal_values(value: u32) -> u64 {
    let all = u64::from(value);
    let fours = (all | all << 16) & 0x0000_ffff_0000_ffff;
    let twos = (fours | fours << 8) & 0x00ff_00ff_00ff_00ff;
    let ones = (twos | twos << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    ones.swap_bytes()
}

/// Converts hexadecimal digits to ASCII.
#[inline(always)]
fn letters(values: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // Adding 6 carries into bit 4 for values above 9 only.
    let above = (values.wrapping_add(EACH.wrapping_mul(6)) >> 4) & EACH;
    let letter = u64::from(b'a' - 10 - b'0');
    values
        .wrapping_add(ASCII)
        .wrapping_add(above.wrapping_mul(letter))
}

/// Returns the value of a digit in a base up to 36; `None` if it is invalid.
///
/// [`char::to_digit`] panics for other bases, and the compiler does not always know the base.
pub fn value_of(digit: u8, base: u32) -> Option<u32> {
    let value = match digit {
        b'0'..=b'9' => digit.wrapping_sub(b'0'),
        b'a'..=b'z' => digit.wrapping_sub(b'a').wrapping_add(10),
        b'A'..=b'Z' => digit.wrapping_sub(b'A').wrapping_add(10),
        _ => return None,
    };
    Some(u32::from(value)).filter(|&value| value < base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: u32) {
        let short = |(digits, count): ([u8; COUNT], usize)| digits[..count].to_vec();
        assert_eq!(hexadecimal(value), *format!("{value:08x}").as_bytes());
        assert_eq!(
            short(short_hexadecimal(value)),
            format!("{value:x}").as_bytes()
        );
        if u64::from(value) < LIMIT {
            assert_eq!(decimal(value), *format!("{value:08}").as_bytes());
            assert_eq!(short(short_decimal(value)), format!("{value}").as_bytes());
        }
    }

    #[test]
    fn digits_are_those_of_the_standard_formatting() {
        // All values of both halves, and of their halves.
        (0..10_000).for_each(|half| {
            check(half);
            check(half * 10_000);
            check(half * 10_000 + 9_999 - half);
        });
        (0..1 << 16).for_each(|half| {
            check(half);
            check(half << 16 | half);
        });
        (0..32).for_each(|bit| check(1 << bit));
        (0..32).for_each(|bit| check((1 << bit) - 1));
        [99_999_999, 100_000_000, u32::MAX]
            .into_iter()
            .for_each(check);
    }

    #[test]
    fn digits_have_the_values_of_the_library() {
        for (base, byte) in (2..=36).flat_map(|base| (0..=255).map(move |byte| (base, byte))) {
            assert_eq!(value_of(byte, base), char::from(byte).to_digit(base));
        }
    }
}
