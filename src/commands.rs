// SPDX-License-Identifier: GPL-2.0

//! The names of tasks whose records were read in binary.
//!
//! The ring has them in notes that other readers skip. They ask
//! `saved_cmdlines` instead, after they have read: so whoever takes records out
//! remembers the names here.

use crate::{engine::record::COMM_LEN, sys::Vec};
use kernel::prelude::*;

/// Names that are remembered. A task's place is its number modulo this, so
/// neighbours, as tasks that were started together are, do not displace each
/// other.
pub(crate) const SIZE: usize = 8192;

/// Number and name of a task.
type Command = (u32, [u8; COMM_LEN]);

/// The names, and where the last one that was seen is.
pub(crate) struct Commands {
    /// Empty until the first name.
    known: Vec<Option<Command>>,
}

impl Commands {
    /// No names.
    pub(crate) const fn new() -> Self {
        Self { known: Vec::new() }
    }

    /// Remembers the task `number`. Without memory it does not.
    pub(crate) fn see(&mut self, number: u32, name: [u8; COMM_LEN]) {
        if number == 0 || (self.known.is_empty() && self.make().is_err()) {
            return;
        }
        // CAST: u32 to usize widens.
        if let Some(place) = self.known.get_mut(number as usize % SIZE) {
            *place = Some((number, name));
        }
    }

    fn make(&mut self) -> Result {
        let mut known = Vec::with_capacity(SIZE)?;
        for _ in 0..SIZE {
            known.push(None)?;
        }
        self.known = known;
        Ok(())
    }

    /// Calls `each` with the number and the name, without NULs, of each task.
    ///
    /// # Errors
    ///
    /// Those of `each`.
    pub(crate) fn each(&self, each: &mut impl FnMut(u32, &[u8]) -> Result) -> Result {
        for (number, name) in self.known.iter().flatten() {
            let length = name.iter().position(|&byte| byte == 0);
            let name = name.get(..length.unwrap_or(COMM_LEN)).unwrap_or_default();
            each(*number, name)?;
        }
        Ok(())
    }
}
