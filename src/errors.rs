// SPDX-License-Identifier: GPL-2.0

//! The refusals that `error_log` shows.

use crate::{
    engine::{
        refusal::error::{Error as Refusal, Subject},
        util::text::Appender,
    },
    sys::Vec,
};
use core::fmt;

/// Number of refusals that are kept; the kernel's log keeps 8.
const KEPT: usize = 64;

/// The last refusals, oldest first.
pub(crate) struct ErrorLog(Vec<Vec<u8>>);

impl ErrorLog {
    /// Makes an empty log.
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds the refusal of `command`. Without memory it is lost; the write still returns its errno.
    pub(crate) fn add(&mut self, refusal: &Refusal, now: u64, command: &[u8]) {
        let mut entry = Vec::new();
        let written = refusal.write_entry(&mut Appender(&mut entry), now, command);
        if written.is_err() {
            return;
        }
        // A program may repeat a write endlessly, for example to trace_marker.
        let is_value = refusal.kind.subject() == Subject::File;
        if is_value
            && self
                .0
                .last()
                .is_some_and(|last| without_time(last) == without_time(&entry))
        {
            self.0.pop();
        }
        if self.0.len() >= KEPT {
            self.0.take(0);
        }
        // Without memory the entry is lost, as documented.
        let _ = self.0.push(entry);
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Writes all entries.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub(crate) fn show(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        for entry in &self.0 {
            // The entry was formatted as text.
            out.write_str(core::str::from_utf8(entry).unwrap_or_default())?;
        }
        Ok(())
    }
}

/// Returns an entry without its time.
fn without_time(entry: &[u8]) -> &[u8] {
    let end = entry.iter().position(|&byte| byte == b']').unwrap_or(0);
    entry.get(end..).unwrap_or_default()
}
