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

pub mod addresses;
pub mod appending;
pub mod armed;
pub mod command;
pub mod definition;
pub mod directory;
pub mod ending;
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
use ending::{Ending, LOOK};
use output::{Output, Taken};
use plan::Plan;
use refused::Refused;

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
    let mut ending = Ending::new()?;
    let mut say = |texts| output.say_all(texts);
    let mut armed = match Armed::new(request, plan, program, &mut say)? {
        Ok(armed) => armed,
        Err(refused) => return Ok(Outcome::Refused(refused)),
    };
    let plan = &*plan;
    setup::enable(&armed.files, plan)?;
    output.begin(plan, std::mem::take(&mut armed.formats), armed.begin);
    let followed = ending
        .begin(request, armed.command.take())
        .and_then(|()| follow(&mut ending, &mut armed, output));
    ending.finish();
    let code = followed?;
    output.lost(setup::lost(&armed.files));
    let hits = armed.hits(plan);
    drop(armed);
    output.end(plan, hits, request.follows_tasks());
    Ok(Outcome::Ended(code))
}

/// Follows the records to the end, and returns the exit status.
fn follow(ending: &mut Ending, armed: &mut Armed, output: &mut Output) -> Result<u8> {
    let code = loop {
        ending.wait(&armed.reader, LOOK)?;
        if output.take(&mut armed.reader)? == Taken::NobodyReads || !output.is_read() {
            break match output.is_terminal() {
                true => ending.hang_up(),
                false => 0,
            };
        }
        if let Some(code) = ending.ended(&armed.files, &mut |text| output.say(text)) {
            break code;
        }
    };
    // The rings may have more to show. One more signal ends that.
    let _ = armed.files.set("tracing_on", "0");
    while output.take(&mut armed.reader)? == Taken::More {
        if ending.is_signalled() {
            break;
        }
    }
    output.flush()?;
    Ok(code)
}
