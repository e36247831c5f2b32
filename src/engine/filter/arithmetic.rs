// SPDX-License-Identifier: GPL-2.0

//! Arithmetic on a field before it is compared: `(n & 7) == 4`, `size % 512 != 0`.
//!
//! A field is followed by one operator and one number. `&`, `|` and `^` require parentheses: in C
//! they bind weaker than `==`, and `n & 4` alone is a test.

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
    Xor,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Left,
    Right,
}

/// An operator and its right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arithmetic {
    pub(super) operator: Operator,
    /// Nonzero and at most `i64::MAX` for a division, less than 64 for a shift.
    pub(super) by: u64,
}

impl Arithmetic {
    /// Applies the operator to `value`, modulo 2^64. Both value and result are signed if `signed`.
    ///
    /// Context: any.
    pub(super) fn of(self, value: u64, signed: bool) -> u64 {
        let by = self.by;
        // CAST: two's complement, there and back; a shift is by less than 64 bits.
        let (signed_value, signed_by, bits) = (value as i64, by as i64, by as u32);
        match self.operator {
            Operator::And => value & by,
            Operator::Or => value | by,
            Operator::Xor => value ^ by,
            Operator::Add => value.wrapping_add(by),
            Operator::Subtract => value.wrapping_sub(by),
            Operator::Multiply => value.wrapping_mul(by),
            Operator::Left => value.wrapping_shl(bits),
            Operator::Right if signed => signed_value.wrapping_shr(bits) as u64,
            Operator::Right => value.wrapping_shr(bits),
            Operator::Divide if signed => signed_value.checked_div(signed_by).unwrap_or(0) as u64,
            Operator::Remainder if signed => {
                signed_value.checked_rem(signed_by).unwrap_or(0) as u64
            }
            Operator::Divide => value.checked_div(by).unwrap_or(0),
            Operator::Remainder => value.checked_rem(by).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(operator: Operator, value: i64, by: u64, signed: bool) -> i64 {
        Arithmetic { operator, by }.of(value as u64, signed) as i64
    }

    #[test]
    fn signs_are_kept() {
        assert_eq!(of(Operator::Divide, -7, 2, true), -3);
        assert_eq!(of(Operator::Remainder, -7, 2, true), -1);
        assert_eq!(of(Operator::Right, -8, 1, true), -4);
        assert_eq!(of(Operator::Right, -8, 1, false), i64::MAX - 3);
        assert_eq!(of(Operator::Divide, -1, 2, false), i64::MAX);
        assert_eq!(of(Operator::Divide, i64::MIN, 1, true), i64::MIN);
        assert_eq!(of(Operator::Remainder, i64::MIN, 10, true), -8);
        assert_eq!(of(Operator::Left, 3, 63, true), i64::MIN);
        assert_eq!(of(Operator::Add, i64::MAX, 1, true), i64::MIN);
    }
}
