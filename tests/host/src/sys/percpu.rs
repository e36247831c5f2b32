// SPDX-License-Identifier: GPL-2.0

//! What each CPU has its own of.

use super::{AllocError, OnCpu, Vec};

/// One `T` for each CPU.
#[derive(Debug)]
pub struct PerCpu<T>(Vec<T>);

impl<T> PerCpu<T> {
    /// Those that `init` makes for CPUs 0 to `cpus`, without the last.
    ///
    /// # Errors
    ///
    /// [`AllocError`], and what `init` returns.
    pub fn new(
        cpus: u32,
        mut init: impl FnMut(u32) -> Result<T, AllocError>,
    ) -> Result<Self, AllocError> {
        let mut each = Vec::new();
        for cpu in 0..cpus {
            each.push(init(cpu)?)?;
        }
        Ok(Self(each))
    }

    /// The one of the CPU that the caller takes the part of.
    ///
    /// # Panics
    ///
    /// If there is no such CPU.
    pub fn this_cpu<'a>(&'a self, here: &'a OnCpu) -> &'a T {
        self.get(here.number()).expect("no such CPU")
    }

    /// The one of `cpu`; `None` if there is no such CPU.
    pub fn get(&self, cpu: u32) -> Option<&T> {
        self.0.get(usize::try_from(cpu).ok()?)
    }

    /// All of them, with the numbers of their CPUs.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(self.0.iter())
    }
}
