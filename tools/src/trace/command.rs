// SPDX-License-Identifier: GPL-2.0

//! The command of `-c`. It is started as this program, which waits at a gate until it is followed,
//! and then becomes the command: so its first instruction is seen.

use crate::error::{Refusal, Result};
use rustix::pipe::{pipe_with, PipeFlags};
use rustix::process::{kill_process, Pid, Signal};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::Duration;

/// The name of a task that waits: what it does itself is not shown.
pub const WAITING: &str = "ferroprobe-gate";

/// What a shell says if a command is not there, or cannot be executed.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// How often it is looked whether a command has ended that was told to, and the time in between.
const PATIENCE: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// A started command.
#[derive(Debug)]
pub struct Started {
    child: Child,
    /// Both ends of the gate. The child opens the one by its name, and sees the end of both if this
    /// process ends.
    gate: (OwnedFd, OwnedFd),
    status: Option<ExitStatus>,
}

impl Started {
    /// Starts `words`, which wait. `program` is what waits: `program GATE WORD...`.
    pub fn new(mut program: Command, words: &[OsString]) -> Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        // The child opens it by this name: it inherits nothing that it would have to close.
        let gate = format!("/proc/{}/fd/{}", std::process::id(), read.as_raw_fd());
        let child = program.arg(gate).arg("--").args(words).spawn()?;
        Ok(Self {
            child,
            gate: (read, write),
            status: None,
        })
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it begin.
    pub fn open_gate(&self) -> Result<()> {
        rustix::io::write(&self.gate.1, b"!").map_err(io::Error::from)?;
        Ok(())
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// Sends a signal to it.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| self.status.is_none()) {
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.signal(Signal::TERM);
        }
        // One that does not want to end goes on, untraced.
        for _ in 0..PATIENCE {
            if self.ended().is_some() {
                break;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The exit status that a shell shows for `status`.
pub fn code(status: ExitStatus) -> u8 {
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 1,
    };
    u8::try_from(code & 0xff).unwrap_or(1)
}

/// What is started: waits at `gate`, and becomes `words`. Returns an exit status if it cannot.
pub fn wait_and_become(gate: &Path, words: &[OsString]) -> u8 {
    let Some((program, arguments)) = words.split_first() else {
        return NOT_FOUND;
    };
    let _ = fs::write("/proc/self/comm", WAITING);
    // If the session is gone, nothing is to be run.
    let opened = File::open(gate).and_then(|mut gate| gate.read(&mut [0]));
    if !matches!(opened, Ok(1)) {
        return NOT_FOUND;
    }
    let error = Command::new(program).args(arguments).exec();
    let code = match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    };
    let name = Path::new(program).display().to_string();
    let is_line = name.contains(' ') && arguments.is_empty() && code == NOT_FOUND;
    let refusal = Refusal::from(error).about(&name);
    eprintln!("ferroprobe: {refusal}");
    if is_line {
        eprintln!("ferroprobe: write it without quotes: -c {name}");
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(script: &str) -> u8 {
        let status = Command::new("sh").args(["-c", script]).status();
        code(status.expect("a shell"))
    }

    #[test]
    fn exit_statuses_are_those_of_a_shell() {
        assert_eq!(status("exit 0"), 0);
        assert_eq!(status("exit 7"), 7);
        assert_eq!(status("kill -9 $$"), 137);
    }

    #[test]
    fn nothing_is_run_if_the_session_is_gone() {
        let words = ["false".into()];
        assert_eq!(wait_and_become(Path::new("/nowhere"), &words), NOT_FOUND);
        assert_eq!(wait_and_become(Path::new("/dev/null"), &words), NOT_FOUND);
    }

    #[test]
    fn a_command_waits_at_the_gate() {
        let mut program = Command::new("sh");
        // The program waits in this way.
        program.args(["-c", "read -r _ <$0; exit 5"]);
        let mut started = Started::new(program, &[]).expect("a shell");
        thread::sleep(Duration::from_millis(50));
        assert!(started.ended().is_none());
        started.signal(Signal::KILL);
        while started.ended().is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(started.ended().map(code), Some(137));
    }
}
