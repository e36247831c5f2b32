// SPDX-License-Identifier: GPL-2.0

//! Boots guests.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::judge::{judge, Fault};
use crate::log::Log;

/// How guests are booted.
pub struct Guests {
    out: PathBuf,
    kernel: String,
    boot: Vec<String>,
    /// How long the guest without operations took: what else is slow today is as much slower.
    control: Cell<Duration>,
    booted: Cell<usize>,
}

/// A guest that says nothing for so long hangs; one that does is slow.
const QUIET: Duration = Duration::from_secs(60);

/// What came of one guest.
pub struct Outcome {
    /// What must not be.
    pub faults: Vec<Fault>,
    /// How many operations were accepted, and refused.
    pub results: (usize, usize),
    /// How many windows were judged.
    pub windows: usize,
    /// Whether it had not ended by its time limit, and still performed operations.
    was_slow: bool,
}

impl Guests {
    /// Boots a guest without operations, as a measure of how long things take.
    pub fn new(out: &Path, kernel: &str, boot: &[&str]) -> Result<Self, String> {
        fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
        let guests = Self {
            out: out.to_path_buf(),
            kernel: kernel.to_string(),
            boot: boot.iter().map(|word| (*word).to_string()).collect(),
            control: Cell::new(Duration::from_secs(60)),
            booted: Cell::new(0),
        };
        match guests.measure()? {
            Some(fault) => Err(format!("without any operation: {fault}")),
            None => Ok(guests),
        }
    }

    /// Measures how long a guest without operations takes; returns its fault if it has one.
    fn measure(&self) -> Result<Option<Fault>, String> {
        let begin = Instant::now();
        let outcome = self.boot(&[], 1)?;
        self.control.set(begin.elapsed());
        Ok(outcome.faults.into_iter().next())
    }

    /// The folder for what a caller keeps.
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// How many guests were booted.
    pub fn booted(&self) -> usize {
        self.booted.get()
    }

    /// Boots a guest that performs the operations, and judges it.
    pub fn perform(&self, lines: &[String]) -> Result<Outcome, String> {
        let mut patience = 1;
        loop {
            let outcome = self.boot(lines, patience)?;
            // A guest that still said something shortly before is on a busy machine.
            if patience == 4 || !outcome.was_slow {
                return Ok(outcome);
            }
            patience *= 2;
        }
    }

    fn boot(&self, lines: &[String], patience: u64) -> Result<Outcome, String> {
        let wrong = |error: std::io::Error| format!("{}: {error}", self.out.display());
        let operations = self.out.join("operations");
        let guest = self.out.join("guest");
        fs::write(&operations, lines.join("\n") + "\n").map_err(wrong)?;
        // Each operation takes much less than a boot, but some wait for seconds.
        let limit = 60 + self.control.get().as_secs() * 10 + lines.len() as u64 / 2;
        let limit = limit * patience;
        let (program, arguments) = self.boot.split_first().ok_or("no command to boot")?;
        let output = Command::new(program)
            .args(arguments)
            .args(["-t", &limit.to_string(), "-q", "-f"])
            .arg(format!("ops={}", operations.display()))
            .arg("-o")
            .arg(&guest)
            .arg(&self.kernel)
            .output()
            .map_err(|error| format!("{program}: {error}"))?;
        self.booted.set(self.booted.get() + 1);
        let result = guest.join("result.log");
        let quiet = fs::metadata(&result)
            .and_then(|data| data.modified())
            .map_err(wrong)?;
        let quiet = quiet.elapsed().unwrap_or_default();
        let text = fs::read(&result).map_err(wrong)?;
        let log = Log::parse(&String::from_utf8_lossy(&text));
        let mut faults = judge(lines, &log);
        let verdict = String::from_utf8_lossy(&output.stdout);
        let said = verdict.lines().find(|line| line.starts_with("# "));
        let said = said
            .unwrap_or("# the guest did not end")
            .trim_start_matches("# ");
        let class = match () {
            // The emulator's own fault.
            () if output.status.code() == Some(3) => {
                faults.clear();
                None
            }
            () if output.status.success() => None,
            () if said.starts_with("kernel report") => Some("report"),
            () if !faults.is_empty() => None,
            () if said.starts_with("no end") => Some("hang"),
            () => Some("end"),
        };
        if let Some(class) = class {
            faults.push(Fault {
                class: class.to_string(),
                line: log.last,
                text: said.to_string(),
            });
        }
        let was_slow = class == Some("hang") && quiet < QUIET;
        let accepted = log.results.values().filter(|&&result| result >= 0).count();
        Ok(Outcome {
            faults,
            results: (accepted, log.results.len() - accepted),
            windows: log.windows.len(),
            was_slow,
        })
    }
}
