// SPDX-License-Identifier: GPL-2.0

//! The entry of `error_log` for a refusal.

use crate::engine::refusal::{
    error::{Error, Subject},
    excerpt::Excerpt,
    remedy::remedy,
};
use crate::engine::util::text::OneLine;
use core::fmt::{self, Write};

/// Newer versions of `core` limit formatting widths to 16 bits.
const MAX_CARET: usize = 0xffff;

impl Error {
    /// Writes the entry of `error_log` for this error in `command`, logged at `time_ns`. A long
    /// command is cut to the surroundings of the caret.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write_entry(&self, out: &mut dyn Write, time_ns: u64, command: &[u8]) -> fmt::Result {
        let micros = time_ns / 1_000;
        let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
        let location = self.kind.subject().location(command);
        write!(out, "[{seconds:5}.{micros:06}] ")?;
        match self.kind.subject() {
            _ if self.of().is_empty() => out.write_str(location)?,
            Subject::Histogram => write!(out, "{location}:{}", OneLine(self.of()))?,
            Subject::File => write!(out, "{}", OneLine(self.of()))?,
            _ => out.write_str(location)?,
        }
        let text = self.kind.text();
        // Some of ftrace's texts are a sentence.
        let open = text.strip_suffix('.').unwrap_or(text);
        match (self.detail(), remedy(self.kind)) {
            (b"", "") => write!(out, ": error: {text}")?,
            (b"", remedy) => write!(out, ": error: {open}: {remedy}")?,
            (detail, _) => write!(out, ": error: {open}: {}", OneLine(detail))?,
        }
        let shown = Excerpt::of(command, self.at);
        writeln!(out, "\n  Command: {shown}")?;
        const PREFIX: usize = "  Command: ".len();
        let at = shown.at().saturating_add(PREFIX).min(MAX_CARET);
        writeln!(out, "{:1$}^", "", at)
    }
}
