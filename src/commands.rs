// SPDX-License-Identifier: GPL-2.0

//! The saved cmdlines: names of tasks whose records were read in binary.
//!
//! The ring holds the names in comm notes, which tools that read the records skip. These
//! tools read `saved_cmdlines` afterwards, so every binary read saves the names here.

use crate::{engine::record::COMM_LEN, sys::Vec};
use core::sync::atomic::{AtomicUsize, Ordering};
use kernel::prelude::*;

/// Default number of saved names.
const DEFAULT: usize = 8192;

/// Largest number of saved names: the kernel's `PID_MAX_DEFAULT`, as in tracefs.
pub(crate) const MOST: usize = 32768;

/// Number of names to save.
static WANTED: AtomicUsize = AtomicUsize::new(DEFAULT);

/// Returns the number of names to save.
pub(crate) fn size() -> usize {
    WANTED.load(Ordering::Relaxed)
}

/// Sets the number of names to save. Each table adopts it when it saves its next name.
pub(crate) fn set_size(size: usize) {
    WANTED.store(size, Ordering::Relaxed);
}

/// Pid and name of a task.
type Command = (u32, [u8; COMM_LEN]);

/// The saved names.
pub(crate) struct Commands {
    /// Indexed by pid modulo length, so tasks with neighbouring pids, such as those started
    /// together, do not displace each other. Empty until the first name is saved.
    known: Vec<Option<Command>>,
}

impl Commands {
    /// Makes an empty table.
    pub(crate) const fn new() -> Self {
        Self { known: Vec::new() }
    }

    /// Saves the name of task `number`; does nothing without memory.
    pub(crate) fn see(&mut self, number: u32, name: [u8; COMM_LEN]) {
        if number == 0 {
            return;
        }
        let size = size();
        if self.known.len() != size {
            // Without memory the table keeps its size.
            if let Ok(known) = self.of_size(size) {
                self.known = known;
            }
        }
        save(&mut self.known, (number, name));
    }

    /// Makes a table of `size` slots with the names of this one.
    fn of_size(&self, size: usize) -> Result<Vec<Option<Command>>> {
        let mut known = Vec::with_capacity(size)?;
        for _ in 0..size {
            known.push(None)?;
        }
        for command in self.known.iter().flatten() {
            save(&mut known, *command);
        }
        Ok(known)
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

/// Stores `command` in its slot.
fn save(known: &mut [Option<Command>], command: Command) {
    // CAST: u32 to usize widens.
    let slot = (command.0 as usize).checked_rem(known.len());
    if let Some(place) = slot.and_then(|slot| known.get_mut(slot)) {
        *place = Some(command);
    }
}
