// SPDX-License-Identifier: GPL-2.0

//! The saved cmdlines: names of tasks whose records were read in binary.
//!
//! The ring holds the names in comm notes, which tools that read the records skip. These
//! tools read `saved_cmdlines` afterwards, so every binary read saves the names here.

use crate::{engine::record::COMM_LEN, sys::Vec};
use kernel::prelude::*;

/// Number of names that are saved. A name's slot is its pid modulo this number, so tasks
/// with neighbouring pids, such as those that were started together, do not displace each
/// other.
pub(crate) const SIZE: usize = 8192;

/// Pid and name of a task.
type Command = (u32, [u8; COMM_LEN]);

/// The saved names.
pub(crate) struct Commands {
    /// Indexed by slot; empty until the first name.
    known: Vec<Option<Command>>,
}

impl Commands {
    /// Makes an empty table.
    pub(crate) const fn new() -> Self {
        Self { known: Vec::new() }
    }

    /// Saves the name of the task with the pid `number`, unless there is no memory.
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

    /// Calls `each` with the pid and the name, without NULs, of each saved task.
    ///
    /// # Errors
    ///
    /// The errors of `each`.
    pub(crate) fn each(&self, each: &mut impl FnMut(u32, &[u8]) -> Result) -> Result {
        for (number, name) in self.known.iter().flatten() {
            let length = name.iter().position(|&byte| byte == 0);
            let name = name.get(..length.unwrap_or(COMM_LEN)).unwrap_or_default();
            each(*number, name)?;
        }
        Ok(())
    }
}
