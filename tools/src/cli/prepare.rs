// SPDX-License-Identifier: GPL-2.0

//! Makes a plan of definitions, with debug information where that is needed.

use super::FileArgs;
use clap::Args;
use ferroprobe_tools::error::Result;
use ferroprobe_tools::trace::plan::Plan;
use ferroprobe_tools::trace::refused::Refused;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Where debug information is.
#[derive(Args)]
pub(super) struct Which {
    /// The running kernel with its debug information, default: found by its build-id
    #[arg(long, short = 'k', value_name = "FILE")]
    vmlinux: Option<PathBuf>,
    /// A module, by name or as a file with debug information, whose source lines are meant
    #[arg(long, short, value_name = "MODULE", conflicts_with = "vmlinux")]
    module: Option<String>,
    /// Folder to look for debug information in, default: /usr/lib/debug
    #[arg(long, value_name = "DIR")]
    debug_dir: Option<PathBuf>,
    /// Leave out locations where a variable cannot be fetched
    #[arg(long)]
    skip: bool,
}

/// A plan, unless something is refused.
pub(super) struct Prepared {
    /// The plan.
    pub(super) plan: Plan,
    /// What the user is to know.
    pub(super) said: Vec<String>,
}

/// Plans `definitions`.
pub(super) fn prepare(
    definitions: &[String],
    which: Which,
) -> Result<std::result::Result<Prepared, Vec<Refused>>> {
    let mut plan = match Plan::new(definitions) {
        Ok(plan) => plan,
        Err(refused) => return Ok(Err(refused)),
    };
    let mut said = Vec::new();
    if plan.needs_source() || plan.may_be_inlined() {
        let files = FileArgs {
            vmlinux: which.vmlinux,
            module: which.module,
            debug_dir: which.debug_dir,
            other: false,
        };
        let notes = files.with(|session| {
            let module = files.module_name(session.image)?;
            plan.resolve(session, module.as_deref(), which.skip)
        });
        match notes {
            Ok(notes) if !notes.refused.is_empty() => return Ok(Err(notes.refused)),
            Ok(notes) => said = notes.said,
            Err(refusal) if plan.needs_source() => return Err(refusal),
            // Without debug information nothing is known of inlining.
            Err(_) => {}
        }
    }
    Ok(Ok(Prepared { plan, said }))
}

/// Takes what is behind the first word of a command off the line: its options are not this
/// program's.
pub(super) fn split(mut line: Vec<OsString>) -> (Vec<OsString>, Vec<OsString>) {
    let runs = line
        .get(1)
        .is_some_and(|word| word == "trace" || word == "top");
    let mut words = line.iter().take_while(|word| *word != "--");
    let at = words.position(|word| word == "-c" || word == "--command");
    let rest = match at {
        Some(at) if runs && at + 2 < line.len() => line.split_off(at + 2),
        _ => Vec::new(),
    };
    (line, rest)
}

/// This program, with a hidden command.
pub(super) fn program(command: &str) -> Result<Command> {
    let path = std::env::current_exe()?;
    let mut program = Command::new(path);
    program.arg(command);
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_text(line: &str) -> (String, String) {
        let words = line.split(' ').map(OsString::from).collect();
        let (line, rest) = split(words);
        let joined = |words: Vec<OsString>| words.join(" ".as_ref()).into_string();
        (joined(line).expect("text"), joined(rest).expect("text"))
    }

    #[test]
    fn a_command_keeps_its_options() {
        for (text, line, rest) in [
            ("f trace x -c ls -l --json", "f trace x -c ls", "-l --json"),
            ("f trace x --json -c ls", "f trace x --json -c ls", ""),
            ("f trace x -c", "f trace x -c", ""),
            ("f trace -- x -c ls -l", "f trace -- x -c ls -l", ""),
            ("f top calls -c ls -l", "f top calls -c ls", "-l"),
            ("f define x -c ls -l", "f define x -c ls -l", ""),
        ] {
            assert_eq!(split_text(text), (line.into(), rest.into()));
        }
    }
}
