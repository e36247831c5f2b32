// SPDX-License-Identifier: GPL-2.0

//! Memory that begins as zeroes.

use core::ops::Deref;

use super::{AllocError, Vec};

/// What zeroes are a value of.
pub trait Zeroable {
    /// That value.
    fn zeroed() -> Self;
}

impl<T: Zeroable, const N: usize> Zeroable for [T; N] {
    fn zeroed() -> Self {
        core::array::from_fn(|_| T::zeroed())
    }
}

/// An array that begins as zeroes.
#[derive(Debug)]
pub struct Zeroed<T>(Vec<T>);

impl<T: Zeroable> Zeroed<T> {
    /// `count` zeroes.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn new(count: usize) -> Result<Self, AllocError> {
        let mut all = Vec::with_capacity(count)?;
        for _ in 0..count {
            all.push(T::zeroed())?;
        }
        Ok(Self(all))
    }
}

impl<T> Deref for Zeroed<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}
