// SPDX-License-Identifier: GPL-2.0

//! Types that are just bytes.

/// Types that any bytes are a valid value of.
///
/// # Safety
///
/// They are, and the type has no interior mutability.
pub unsafe trait FromBytes {}

/// Implements the trait.
macro_rules! from_bytes {
    ($($type:ty)*) => {
        // SAFETY: Each pattern of bits is a number.
        $(unsafe impl FromBytes for $type {})*
    };
}
from_bytes!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

// SAFETY: Each pattern of bits is a value of each element.
unsafe impl<T: FromBytes, const N: usize> FromBytes for [T; N] {}
