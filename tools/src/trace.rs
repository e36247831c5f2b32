// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe trace`: defines, enables and follows, and leaves nothing behind.
//!
//! The definitions are private events, which the kernel removes when the session's opening of
//! `private_events` is closed, and the records are in an instance of the session's own, which a
//! keeper removes, see [`instance`]. A session does one after the other:
//!
//! 1. it defines the events, all or none; they are not enabled;
//! 2. the keeper makes the instance, with filters, tasks and options;
//! 3. it enables the events there, and lets the command begin;
//! 4. it follows the records until the end, stops recording, and reads what is left.
//!
//! Wherever it is killed, the kernel closes its files: the events go, and the keeper sees its pipe
//! end.

pub mod appending;
pub mod armed;
pub mod command;
pub mod definition;
pub mod directory;
pub mod error_log;
pub mod filter;
pub mod follow;
pub mod format;
pub mod instance;
pub mod losses;
pub mod mapped;
pub mod output;
pub mod plan;
pub mod print;
pub mod refused;
pub mod setup;
pub mod units;
pub mod value;

use crate::error::Result;
use armed::Armed;
pub use armed::{Program, Request};
use command::Started;
use directory::Directory;
use follow::{Reader, Waker};
use output::{Output, Taken};
use plan::Plan;
use refused::Refused;
use rustix::process::Signal;
use signal_hook::consts::signal::{SIGHUP, SIGINT};
use std::time::{Duration, Instant};

/// How often it is looked whether all tasks have ended.
const LOOK: Duration = Duration::from_millis(500);

/// How a session ended.
#[derive(Debug)]
pub enum Outcome {
    /// With an exit status.
    Ended(u8),
    /// Nothing was armed.
    Refused(Vec<Refused>),
}

/// Runs a session.
pub fn run(
    request: &Request,
    plan: &mut Plan,
    program: Program<'_>,
    output: &mut Output,
) -> Result<Outcome> {
    let mut waker = Waker::new()?;
    let mut say = |texts| output.say_all(texts);
    let mut armed = match Armed::new(request, plan, program, &mut say)? {
        Ok(armed) => armed,
        Err(refused) => return Ok(Outcome::Refused(refused)),
    };
    let plan = &*plan;
    setup::enable(&armed.files, plan)?;
    output.begin(plan, std::mem::take(&mut armed.formats), armed.begin);
    let mut session = Session {
        files: &armed.files,
        waker: &mut waker,
        reader: &mut armed.reader,
        command: armed.command.take(),
        ends_with_tasks: !request.pids.is_empty() && request.command.is_empty(),
        interrupts: 0,
    };
    let followed = session.follow(request, output);
    session.command.take();
    let code = followed?;
    output.lost(setup::lost(&armed.files));
    let hits = armed.hits(plan);
    drop(armed);
    output.end(plan, hits);
    Ok(Outcome::Ended(code))
}

/// What is followed.
struct Session<'a> {
    files: &'a Directory,
    waker: &'a mut Waker,
    reader: &'a mut Reader,
    command: Option<Started>,
    ends_with_tasks: bool,
    /// How often Ctrl-C was pressed.
    interrupts: u32,
}

impl Session<'_> {
    /// Follows the records to the end, and returns the exit status.
    fn follow(&mut self, request: &Request, output: &mut Output) -> Result<u8> {
        let begin = Instant::now();
        if let Some(command) = &self.command {
            command.open_gate()?;
        }
        let mut looked = begin;
        let code = loop {
            let left = request
                .time
                .map(|time| time.saturating_sub(begin.elapsed()));
            self.waker
                .wait(self.reader, left.unwrap_or(LOOK).min(LOOK))?;
            if output.take(self.reader)? == Taken::NobodyReads || !output.is_read() {
                break match output.is_terminal() {
                    true => self.hang_up(),
                    false => 0,
                };
            }
            if let Some(code) = self.signalled() {
                break code;
            }
            if let Some(status) = self.command.as_mut().and_then(Started::ended) {
                break command::code(status);
            }
            if left.is_some_and(|left| left.is_zero()) {
                break 0;
            }
            if self.ends_with_tasks && looked.elapsed() >= LOOK {
                looked = Instant::now();
                let tasks = self.files.read("set_event_pid").unwrap_or_default();
                if tasks.trim().is_empty() {
                    output.say("all tasks have ended");
                    break 0;
                }
            }
        };
        // The rings may have more to show. One more signal ends that.
        let _ = self.files.set("tracing_on", "0");
        while output.take(self.reader)? == Taken::More {
            if !self.waker.signals().is_empty() {
                break;
            }
        }
        output.flush()?;
        Ok(code)
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

    /// The terminal is gone: tells the command so, and returns the exit status.
    fn hang_up(&self) -> u8 {
        if let Some(command) = &self.command {
            command.signal(Signal::HUP);
        }
        u8::try_from(128 + SIGHUP).unwrap_or(1)
    }
}
