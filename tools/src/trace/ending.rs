// SPDX-License-Identifier: GPL-2.0

//! When a session ends, and with which exit status: by a signal, with its command, after a time, or
//! with the tasks that it follows.

use super::armed::Request;
use super::command::{self, Started};
use super::directory::Directory;
use super::follow::{Reader, Waker};
use crate::error::Result;
use rustix::process::Signal;
use signal_hook::consts::signal::{SIGHUP, SIGINT};
use std::io;
use std::time::{Duration, Instant};

/// How often it is looked whether it is the end.
pub const LOOK: Duration = Duration::from_millis(500);

/// What ends a session.
#[derive(Debug)]
pub struct Ending {
    waker: Waker,
    command: Option<Started>,
    begin: Instant,
    time: Option<Duration>,
    /// When it was last looked whether tasks are left, if their end is the session's.
    looked: Option<Instant>,
    /// How often Ctrl-C was pressed.
    interrupts: u32,
}

impl Ending {
    /// From now on signals do not end the program.
    pub fn new() -> Result<Self> {
        Ok(Self {
            waker: Waker::new()?,
            command: None,
            begin: Instant::now(),
            time: None,
            looked: None,
            interrupts: 0,
        })
    }

    /// Lets the command begin, and the time.
    pub fn begin(&mut self, request: &Request, command: Option<Started>) -> Result<()> {
        if let Some(command) = &command {
            command.open_gate()?;
        }
        self.command = command;
        self.begin = Instant::now();
        self.time = request.time;
        let follows_tasks = !request.pids.is_empty() && request.command.is_empty();
        self.looked = (follows_tasks && request.ends_with_tasks).then_some(self.begin);
        Ok(())
    }

    /// How much of the time is left, if it is limited.
    pub fn left(&self) -> Option<Duration> {
        self.time
            .map(|time| time.saturating_sub(self.begin.elapsed()))
    }

    /// Waits for records, a signal or the end of the time, at most as long as told.
    pub fn wait(&self, reader: &Reader, longest: Duration) -> io::Result<()> {
        let left = self.left().unwrap_or(longest);
        self.waker.wait(reader, left.min(longest).min(LOOK))
    }

    /// What wakes the session.
    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Whether a signal has come since the last look.
    pub fn is_signalled(&mut self) -> bool {
        !self.waker.signals().is_empty()
    }

    /// The exit status, if it is the end. `files` say which tasks are left, and `say` gets what the
    /// user is to know.
    pub fn ended(&mut self, files: &Directory, say: &mut dyn FnMut(&str)) -> Option<u8> {
        if let Some(code) = self.signalled() {
            return Some(code);
        }
        if let Some(status) = self.command.as_mut().and_then(Started::ended) {
            return Some(command::code(status));
        }
        if self.left().is_some_and(|left| left.is_zero()) {
            return Some(0);
        }
        let looked = self.looked.as_mut()?;
        if looked.elapsed() >= LOOK {
            *looked = Instant::now();
            let tasks = files.read("set_event_pid").unwrap_or_default();
            if tasks.trim().is_empty() {
                say("all tasks have ended");
                return Some(0);
            }
        }
        None
    }

    /// The exit status, if a signal ends the session. A command gets Ctrl-C itself: while it takes
    /// its time, only a second one does.
    fn signalled(&mut self) -> Option<u8> {
        for signal in self.waker.signals() {
            if signal == SIGINT {
                self.interrupts += 1;
                match &self.command {
                    None => return Some(0),
                    Some(_) if self.interrupts > 1 => return u8::try_from(128 + signal).ok(),
                    Some(_) => continue,
                }
            }
            if signal == SIGHUP {
                return Some(self.hang_up());
            }
            return u8::try_from(128 + signal).ok();
        }
        None
    }

    /// Whether the command has ended by itself.
    pub fn is_by_command(&mut self) -> bool {
        let command = self.command.as_mut().filter(|_| self.interrupts == 0);
        command.and_then(Started::ended).is_some()
    }

    /// The terminal is gone: tells the command so, and returns the exit status.
    pub fn hang_up(&self) -> u8 {
        if let Some(command) = &self.command {
            command.signal(Signal::HUP);
        }
        u8::try_from(128 + SIGHUP).unwrap_or(1)
    }

    /// Waits for the command, which is told to end if it has not.
    pub fn finish(&mut self) {
        self.command.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_and_the_tasks_are_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = Directory::at(folder.path());
        let mut ending = Ending::new().expect("signals");
        let mut request = Request {
            pids: vec![1],
            ends_with_tasks: true,
            ..Request::default()
        };
        ending.begin(&request, None).expect("no command");
        assert_eq!(ending.ended(&files, &mut |_| ()), None);
        std::thread::sleep(LOOK);
        let mut said = String::new();
        let ended = ending.ended(&files, &mut |text| said.push_str(text));
        assert_eq!((ended, said.as_str()), (Some(0), "all tasks have ended"));
        request.ends_with_tasks = false;
        request.time = Some(Duration::ZERO);
        ending.begin(&request, None).expect("no command");
        assert_eq!(ending.left(), Some(Duration::ZERO));
        assert_eq!(ending.ended(&files, &mut |_| ()), Some(0));
    }
}
