// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe graph`: the calls below one function as a tree, without a list of them.
//!
//! The definitions and the instance of the command are private: [`crate::trace`] says how.
//! Whom a function calls is read in the kernel's code as it is, and what it calls through pointers
//! is learned from the calls that are made:
//!
//! * [`memory`], [`functions`], [`calls`], [`reach`]: the code, and the functions that it reaches;
//! * [`results`]: what these return;
//! * [`followed`]: the events of a session: of the first function, of those that it reaches, and of
//!   the calls through pointers;
//! * [`trees`]: what is shown of them.

pub mod calls;
pub mod followed;
pub mod functions;
pub mod memory;
pub mod reach;
pub mod results;
pub mod trees;

use crate::error::Result;
use crate::refuse;
use crate::trace::armed::{Program, Request};
use crate::trace::ending::{Ending, LOOK};
use crate::trace::filter;
use crate::trace::output::{Output, Taken};
use crate::trace::plan::Plan;
use crate::trace::refused::Refused;
use crate::trace::Outcome;
use calls::Reader;
use ferroprobe_engine::engine::code::arch::Arch;
use followed::{Followed, Sink};
use functions::Functions;
use memory::Kcore;
use reach::Reach;
use results::{Results, Returns};
use std::path::Path;

/// Where the type information of the kernel and its modules is.
const TYPES: &str = "/sys/kernel/btf";

/// How many hits of the first function can be in progress.
const IN_PROGRESS: u32 = 512;

/// What filters know without an argument of that name.
const KNOWN: [&str; 6] = ["ret", "duration", "comm", "COMM", "cpu", "CPU"];

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The first function, and arguments to show of it.
    pub function: String,
    /// How many calls below it.
    pub depth: usize,
    /// How many functions are followed at most.
    pub most: usize,
    /// Which of its calls count.
    pub filter: Option<String>,
    /// One line of JSON for each tree.
    pub json: bool,
    /// Whether the command runs before, so that its calls through pointers are known.
    pub learn: bool,
}

impl Wanted {
    /// The first function.
    pub fn name(&self) -> &str {
        self.function.split_whitespace().next().unwrap_or_default()
    }

    /// The definition of the event of the first function. Parameters that the filter is on are
    /// arguments of it.
    pub fn definition(&self) -> String {
        let name = self.name();
        let module = name.split_once(':').map(|(module, _)| module);
        let plain = name.rsplit(':').next().unwrap_or(name);
        let plain = plain.split('#').next().unwrap_or(plain);
        let mut results = Results::default();
        results.learn(Path::new(TYPES), &[(plain, module)]);
        self.definition_of(results.of(plain))
    }

    fn definition_of(&self, returns: Returns) -> String {
        let mut text = format!("r{IN_PROGRESS} {}", self.function.trim());
        let given = |text: &str, name: &str| {
            let mut words = text.split_whitespace().skip(2);
            words.any(|word| word.split(['=', ':']).next() == Some(name))
        };
        for name in self
            .filter
            .as_deref()
            .map(filter::names)
            .unwrap_or_default()
        {
            let is_known = KNOWN.contains(&name) || name.starts_with("common_");
            if !is_known && !given(&text, name) {
                text.push_str(&format!(" {name}"));
            }
        }
        if let Some(kind) = returns.fetch_type() {
            text.push_str(&format!(" ret=$retval:{kind}"));
        }
        text.push_str(" $duration");
        if let Some(filter) = &self.filter {
            text.push_str(&format!(" if {filter}"));
        }
        text
    }
}

/// Follows the calls.
pub fn run(
    wanted: &Wanted,
    request: &Request,
    plan: &mut Plan,
    program: Program<'_>,
    output: &mut Output,
) -> Result<Outcome> {
    let mut ending = Ending::new()?;
    let symbols = std::fs::read_to_string("/proc/kallsyms")?;
    let functions = Functions::read(&symbols)?;
    let memory = Kcore::open(Path::new("/proc/kcore"))?;
    let reader = Reader {
        arch: Arch::NATIVE,
        memory: &memory,
        functions: &functions,
    };
    // The module says what is wrong with a name that is none, or is one of several.
    let reach = match functions.named(wanted.name()).as_slice() {
        [root] => Some(Reach::new(reader, root, wanted.depth, wanted.most)),
        _ => None,
    };
    let mut sink = Sink::new(wanted);
    let mut followed = match Followed::new(request, plan, program, output, reach)? {
        Ok(followed) => followed,
        Err(refused) => return Ok(Outcome::Refused(explained(refused, wanted, &functions))),
    };
    // Each time may lead to functions one call deeper.
    for _ in 0..if wanted.learn { wanted.depth } else { 0 } {
        output.say("the command runs, to learn whom it calls through pointers");
        let code = follow(&mut ending, request, &mut followed, output, None)?;
        let goes_on = ending.is_by_command();
        ending.finish();
        if !goes_on {
            return Ok(Outcome::Ended(code));
        }
        let has_learned = followed.has_learned();
        let reach = followed.into_reach();
        followed = match Followed::new(request, plan, program, output, Some(reach))? {
            Ok(followed) => followed,
            Err(refused) => return Ok(Outcome::Refused(refused)),
        };
        if !has_learned {
            break;
        }
    }
    output.say_all(followed.report());
    let code = follow(&mut ending, request, &mut followed, output, Some(&mut sink));
    ending.finish();
    let code = code?;
    output.say_all(followed.end(wanted.learn));
    let hits = followed.hits(plan);
    drop(followed);
    output.end(plan, hits, request.follows_tasks());
    Ok(Outcome::Ended(code))
}

/// Adds to a refusal that a function without a symbol may be an inlined one.
fn explained(
    mut refused: Vec<Refused>,
    wanted: &Wanted,
    functions: &Functions<'_>,
) -> Vec<Refused> {
    let name = wanted.name();
    if functions.named(name).is_empty() {
        for refused in &mut refused {
            refused.reason.push_str(&format!(
                "; a function that is inlined everywhere has no symbol: graph takes the function \
                 around it, and 'ferroprobe trace {name}%inlined' sees it itself"
            ));
        }
    }
    refused
}

/// Follows the records to the end, and returns the exit status. Without a sink they are not shown.
fn follow(
    ending: &mut Ending,
    request: &Request,
    followed: &mut Followed<'_, '_>,
    output: &mut Output,
    mut sink: Option<&mut Sink>,
) -> Result<u8> {
    followed.enable()?;
    ending.begin(request, followed.armed.command.take())?;
    let code = loop {
        ending.wait(&followed.armed.reader, LOOK)?;
        let taken = followed.take(output, sink.as_deref_mut())?;
        if taken == Taken::NobodyReads || !output.is_read() {
            break match output.is_terminal() {
                true => ending.hang_up(),
                false => 0,
            };
        }
        if let Some(code) = ending.ended(&followed.armed.files, &mut |text| output.say(text)) {
            break code;
        }
    };
    let _ = followed.armed.files.set("tracing_on", "0");
    while followed.take(output, sink.as_deref_mut())? == Taken::More {
        if ending.is_signalled() {
            break;
        }
    }
    Ok(code)
}

/// Refuses what makes no sense.
pub fn check(wanted: &Wanted, request: &Request) -> Result<()> {
    if let "p" | "r" | "f" = wanted.name() {
        let function = wanted.function.trim_start()[1..].trim_start();
        refuse!("a letter is only for trace: write '{function}'");
    }
    if wanted.name().contains(['*', '?', ',', '+']) {
        refuse!("{}: give one function", wanted.name());
    }
    if wanted.depth == 0 {
        refuse!("--depth 0: 'ferroprobe trace' shows a function alone");
    }
    if wanted.learn && request.command.is_empty() {
        refuse!("--learn belongs to a command: without one, what is learned counts from then on");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(function: &str, filter: Option<&str>) -> Wanted {
        Wanted {
            function: function.into(),
            depth: 3,
            most: 400,
            filter: filter.map(String::from),
            json: false,
            learn: false,
        }
    }

    #[test]
    fn what_the_filter_is_on_is_fetched() {
        let text = |function: &str, filter: Option<&str>, returns| {
            wanted(function, filter).definition_of(returns)
        };
        assert_eq!(
            text(
                "vfs_read",
                Some("ret < 0 && count > 4K"),
                Returns::Number(64, true)
            ),
            "r512 vfs_read count ret=$retval:s64 $duration if ret < 0 && count > 4K"
        );
        assert_eq!(
            text(
                "do_sys_openat2 dfd name=filename:string",
                Some("name == \"x\" || common_pid == 3"),
                Returns::Number(32, true)
            ),
            "r512 do_sys_openat2 dfd name=filename:string ret=$retval:s32 $duration \
             if name == \"x\" || common_pid == 3"
        );
        assert_eq!(
            text("schedule", None, Returns::Nothing),
            "r512 schedule $duration"
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let request = Request::default();
        assert!(check(&wanted("vfs_read count", None), &request).is_ok());
        for bad in [
            wanted("vfs_*", None),
            Wanted {
                depth: 0,
                ..wanted("vfs_read", None)
            },
            Wanted {
                learn: true,
                ..wanted("vfs_read", None)
            },
        ] {
            assert!(check(&bad, &request).is_err(), "{bad:?}");
        }
    }
}
