// SPDX-License-Identifier: GPL-2.0

//! What a session is to define: the events of all definitions, with names that are theirs alone.

use super::definition::{Definition, Field, Meaning};
use super::directory::Directory;
use super::instance;
use super::mapped::Mapped;
use super::refused::Refused;
use crate::define::{self, Definitions, Request};
use crate::error::Result;
use crate::lines::find;
use crate::session::Session;
use crate::target::{At, Target};
use ferroprobe_engine::engine::refusal::suggest::distance::Nearest;
use ferroprobe_engine::engine::util::glob;
use std::path::Path;

/// Characters of an event's name.
const LONGEST_NAME: usize = 63;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// What the user wrote.
    pub definition: Definition,
    /// Its group.
    pub group: String,
    /// Its name.
    pub name: String,
    /// What its records are called; `None` if after the functions that they are of.
    pub label: Option<String>,
    /// Whether it is there without the session: ready-made, or defined by somebody.
    pub exists: bool,
    /// Its lines, if debug information has said where the place is.
    lines: Option<Vec<String>>,
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The events.
    pub events: Vec<Planned>,
}

impl Plan {
    /// Names the events of `written`.
    pub fn new(written: &[String]) -> std::result::Result<Self, Vec<Refused>> {
        let (good, bad): (Vec<_>, Vec<_>) = written
            .iter()
            .map(|text| Definition::parse(text))
            .partition(std::result::Result::is_ok);
        if !bad.is_empty() {
            return Err(bad
                .into_iter()
                .filter_map(std::result::Result::err)
                .collect());
        }
        let mut events: Vec<Planned> = Vec::new();
        for definition in good.into_iter().flatten() {
            let label = definition.label();
            let base = identifier(label.as_deref().unwrap_or("functions"));
            let mut name = base.clone();
            let mut number = 2;
            while events.iter().any(|event| event.name == name) {
                name = format!("{base}_{number}");
                number += 1;
            }
            // A return beside the entry.
            let label = label.map(|label| {
                let is_taken = |event: &Planned| event.label.as_ref() == Some(&label);
                match events.iter().any(is_taken) && definition.letter == 'r' {
                    true => format!("{label}%return"),
                    false => label,
                }
            });
            events.push(Planned {
                group: definition.group().map_or_else(instance::name, String::from),
                name,
                label,
                definition,
                exists: false,
                lines: None,
            });
        }
        Ok(Self { events })
    }

    /// Finds the events that are meant by their names, `GROUP/EVENT`, or by patterns, and says which
    /// are not there.
    pub fn find_events(&mut self, directory: &Directory) -> Vec<Refused> {
        self.expand(directory);
        let mut refused = Vec::new();
        for event in &mut self.events {
            let definition = &event.definition;
            let Some((mut group, mut name)) = definition.named_event() else {
                refused.extend(bare_event(directory, definition));
                continue;
            };
            if event.exists {
                (group, name) = (&event.group, &event.name);
            }
            let refuse = |at: usize, reason: String| Refused {
                reason,
                written: definition.written.clone(),
                at,
            };
            let at = definition.place_at();
            let has = |path: String| directory.path(path).is_dir();
            if has(format!("events/{group}/{name}")) {
                if let Some(at) = definition.argument_at() {
                    let reason = "the event has its own fields: write only 'if FILTER' behind it";
                    refused.push(refuse(at, reason.into()));
                }
                (event.group, event.name) = (group.to_owned(), name.to_owned());
                event.label = Some(event.name.clone());
                event.exists = true;
            } else if definition.written[at..].starts_with(&format!("{group}/"))
                // No module has the name of a group of events.
                || has(format!("events/{group}"))
            {
                refused.push(refuse(at, no_event(directory, group, name)));
                event.exists = true;
            } else if !is_module(group) {
                let meant = meant_by(directory, name);
                let refuse = |meant| {
                    refuse(
                        at,
                        format!("no module {group} is loaded: did you mean {meant}?"),
                    )
                };
                refused.extend(meant.map(refuse));
            }
        }
        refused
    }

    /// Puts the events that a pattern of names selects in its place, each once.
    fn expand(&mut self, directory: &Directory) {
        let mut all = None;
        // `GROUP:EVENT` of those that are there already.
        let mut named: Vec<String> = Vec::new();
        let mut expanded: Vec<Planned> = Vec::new();
        for event in self.events.drain(..) {
            let Some((group, name)) = event.definition.named_event() else {
                expanded.push(event);
                continue;
            };
            let wanted = format!("{group}:{name}");
            if !wanted.contains(['*', '?']) {
                named.push(wanted);
                expanded.push(event);
                continue;
            }
            let all =
                all.get_or_insert_with(|| directory.read("available_events").unwrap_or_default());
            let is_chosen = |line: &&str| glob::matches(wanted.as_bytes(), line.as_bytes());
            let mut chosen = all.lines().filter(is_chosen).peekable();
            if chosen.peek().is_none() {
                expanded.push(event);
                continue;
            }
            for line in chosen {
                let Some((group, name)) = line.split_once(':') else {
                    continue;
                };
                if !named.iter().any(|known| known == line) {
                    named.push(line.into());
                    expanded.push(Planned {
                        group: group.into(),
                        name: name.into(),
                        label: Some(name.into()),
                        exists: true,
                        ..event.clone()
                    });
                }
            }
        }
        self.events = expanded;
    }

    /// Whether a place is one that only debug information knows.
    pub fn needs_source(&self) -> bool {
        let mut events = self.events.iter();
        events.any(|event| event.definition.source_target().is_some())
    }

    /// Whether debug information may have something to say.
    pub fn may_be_inlined(&self) -> bool {
        let mut events = self.events.iter();
        events.any(|event| event.definition.function().is_some())
    }

    /// Finds the places that are in the source, and says where functions are inlined. With `skip`
    /// locations are left out at which something cannot be fetched.
    pub fn resolve(
        &mut self,
        session: &Session<'_>,
        module: Option<&str>,
        skip: bool,
    ) -> Result<Notes> {
        let mut notes = Notes::default();
        for event in &mut self.events {
            let written = &event.definition.written;
            let refuse = |reason: String| Refused {
                reason,
                written: written.clone(),
                at: event.definition.place_at(),
            };
            if let Some(target) = event.definition.source_target() {
                let name = format!("{}/{}", event.group, event.name);
                let found = Request::parse(&target).and_then(|request| {
                    define::definitions(session, &request, Some(&name), module.map(String::from))
                });
                match found
                    .map_err(|refusal| refusal.to_string())
                    .and_then(|all| taken(all, skip))
                {
                    Ok(lines) => event.lines = Some(lines),
                    Err(reason) => notes.refused.push(refuse(reason)),
                }
            } else if let Some(function) = event.definition.function() {
                match inlined(session, function) {
                    0 => {}
                    count => notes.said.push(format!(
                        "{function} is inlined at {count} {}, where this does not see it: '{function}%inlined' does",
                        if count == 1 { "place" } else { "places" }
                    )),
                }
            }
        }
        Ok(notes)
    }
}

/// What is to be said before anything is armed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// What cannot be done.
    pub refused: Vec<Refused>,
    /// What the user is to know.
    pub said: Vec<String>,
}

impl Planned {
    /// `GROUP/NAME`.
    pub fn event(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }

    /// What to write to define it, with the types of the fields that `type_of` knows.
    pub fn text(&self, type_of: impl Fn(&Field<'_>) -> Option<&'static str>) -> Mapped {
        match &self.lines {
            None => self.definition.line(&self.group, &self.name, type_of),
            Some(lines) => {
                let mut text = Mapped::default();
                text.push_instead(&lines.join("\n"), self.definition.place_at());
                text
            }
        }
    }

    /// What its fields are, by name, where their types do not tell.
    pub fn meanings(&self) -> Vec<(String, Meaning)> {
        let of_calls = [("ret", Meaning::Errno), ("duration", Meaning::Duration)];
        match (self.exists, self.group.as_str()) {
            (true, "calls" | "syscalls" | "raw_syscalls") => of_calls
                .map(|(name, meaning)| (name.into(), meaning))
                .into(),
            (true, _) => Vec::new(),
            (false, _) => self.definition.meanings(),
        }
    }

    /// What to call it to people.
    pub fn title(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.definition.written)
    }
}

/// Whether a module of that name is loaded.
fn is_module(name: &str) -> bool {
    Path::new("/sys/module")
        .join(name.replace('-', "_"))
        .exists()
}

/// The event or tracepoint of that name, as it is written.
fn meant_by(directory: &Directory, name: &str) -> Option<String> {
    let events = directory.read("available_events").unwrap_or_default();
    let is_it = |line: &&str| line.split_once(':').is_some_and(|(_, event)| event == name);
    if let Some(event) = events.lines().find(is_it) {
        return Some(format!("'{}'", event.replace(':', "/")));
    }
    let points = directory.read("available_tracepoints").unwrap_or_default();
    let is_point = points
        .lines()
        .any(|line| line.split_whitespace().next() == Some(name));
    is_point.then(|| format!("'t {name}'"))
}

/// Refuses the bare name of an event, if no function is called so.
fn bare_event(directory: &Directory, definition: &Definition) -> Option<Refused> {
    let name = definition.bare_name()?;
    let meant = meant_by(directory, name)?;
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let is_it = |line: &str| line.split_whitespace().nth(2) == Some(name);
    (!symbols.lines().any(is_it)).then(|| Refused {
        reason: format!("no function is called {name}: did you mean {meant}?"),
        written: definition.written.clone(),
        at: definition.place_at(),
    })
}

/// Says that there is no such event, and which was meant.
fn no_event(directory: &Directory, group: &str, name: &str) -> String {
    let wrong = format!("{group}:{name}");
    let mut nearest = Nearest::to_wrong(wrong.as_bytes());
    let all = directory.read("available_events").unwrap_or_default();
    for event in all.lines() {
        nearest.consider(event.as_bytes());
    }
    let meant = match nearest.is_none() {
        _ if wrong.contains(['*', '?']) => "available_events has all".into(),
        true => "available_events has all".into(),
        false => format!("did you mean {}?", nearest.to_string().replace(':', "/")),
    };
    format!("there is no event {group}/{name}: {meant}")
}

/// The lines of a target, all or, with `skip`, those that there are.
fn taken(all: Definitions, skip: bool) -> std::result::Result<Vec<String>, String> {
    let (bad, good) = (all.refused.len(), all.lines.len());
    match all.refused.first() {
        _ if good == 0 && bad == 0 => Err("its code is only run at boot".into()),
        Some(first) if good == 0 || !skip => Err(format!(
            "{first}{}",
            match bad + good {
                1 => String::new(),
                all => format!(" ({bad} of {all} locations are refused: --skip leaves them out)"),
            }
        )),
        _ => Ok(all.lines),
    }
}

/// At how many places a function is inlined.
fn inlined(session: &Session<'_>, function: &str) -> usize {
    let target = Target::Function {
        name: function.into(),
        file: None,
        at: At::Inlined,
    };
    // What is nowhere inlined is refused.
    find::locations(session, &target).map_or(0, |locations| locations.len())
}

/// A name for the kernel.
fn identifier(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name: String = text
        .chars()
        .map(|c| if is_word(c) { c } else { '_' })
        .collect();
    let name = match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("_{name}"),
        false => name,
    };
    // With room for a number.
    name.chars().take(LONGEST_NAME - 4).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(written: &[&str]) -> Plan {
        let written: Vec<String> = written.iter().map(|text| text.to_string()).collect();
        Plan::new(&written).expect("a plan")
    }

    #[test]
    fn events_have_names_of_their_own() {
        let plan = plan(&[
            "p vfs_read",
            "r vfs_read $retval",
            "p:mine/x vfs_write",
            "f vfs_*",
            "p vfs_read+4",
        ]);
        let names: Vec<_> = plan
            .events
            .iter()
            .map(|event| event.name.as_str())
            .collect();
        assert_eq!(
            names,
            ["vfs_read", "vfs_read_2", "x", "functions", "vfs_read_4"]
        );
        let titles: Vec<_> = plan.events.iter().map(Planned::title).collect();
        assert_eq!(
            titles,
            ["vfs_read", "vfs_read%return", "x", "f vfs_*", "vfs_read+4"]
        );
        assert_eq!(plan.events[2].event(), "mine/x");
        let group = instance::name();
        assert_eq!(
            plan.events[1].text(|_| None).text(),
            format!("r:{group}/vfs_read_2 vfs_read ret=$retval")
        );
    }

    #[test]
    fn events_that_are_there_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        for event in ["calls/openat", "sched/sched_switch"] {
            let path = folder.path().join("events").join(event);
            std::fs::create_dir_all(path).expect("a folder");
        }
        let names = "calls:openat\nsched:sched_switch\n";
        std::fs::write(folder.path().join("available_events"), names).expect("a file");
        std::fs::write(folder.path().join("available_tracepoints"), "inet_state\n")
            .expect("a file");
        let directory = Directory::at(folder.path());
        let found = |written: &str| {
            let mut plan = plan(&[written]);
            let refused = plan.find_events(&directory);
            let refused = refused
                .into_iter()
                .map(|refused| (refused.at, refused.reason));
            (
                plan.events[0].exists,
                plan.events[0].event(),
                refused.last(),
            )
        };
        let (exists, name, refused) = found("calls/openat if ret < 0");
        assert_eq!(
            (exists, name.as_str(), refused),
            (true, "calls/openat", None)
        );
        assert_eq!(found("sched:sched_switch").1, "sched/sched_switch");
        assert!(!found("ext4:ext4_sync_file").0);
        for (written, meant) in [
            (
                "syscall:openat",
                "no module syscall is loaded: did you mean 'calls/openat'?",
            ),
            (
                "sock:inet_state",
                "no module sock is loaded: did you mean 't inet_state'?",
            ),
            (
                "sched_switch",
                "no function is called sched_switch: did you mean 'sched/sched_switch'?",
            ),
        ] {
            assert_eq!(found(written).2.expect(written), (0, meant.into()));
        }
        assert_eq!(found("nosuch:function").2, None);
        assert_eq!(found("p sched_switch").2, None);
        let refused = |written: &str| found(written).2.expect("a refusal");
        assert_eq!(refused("calls/openat ret").0, 13);
        assert_eq!(
            refused("calls/no*").1,
            "there is no event calls/no*: available_events has all"
        );
        assert_eq!(refused("calls/open* ret").0, 12);
        for written in ["calls/open*", "c*:open?t if ret < 0", "events/calls/openat"] {
            let (exists, name, refused) = found(written);
            assert_eq!(
                (exists, name.as_str(), refused),
                (true, "calls/openat", None),
                "{written}"
            );
        }
        let mut both = plan(&["calls/openat", "*/*", "p vfs_read"]);
        assert_eq!(both.find_events(&directory), []);
        let names: Vec<_> = both.events.iter().map(Planned::event).collect();
        assert_eq!(names[..2], ["calls/openat", "sched/sched_switch"]);
        assert_eq!(names.len(), 3);
        for wrong in ["calls/opneat", "calls:opneat"] {
            let (at, reason) = refused(wrong);
            assert_eq!(at, 0);
            assert!(reason.ends_with("did you mean calls/openat?"), "{reason}");
        }
    }

    #[test]
    fn all_that_cannot_be_read_is_refused() {
        let written = ["p", "p vfs_read", ""].map(String::from);
        let refused = Plan::new(&written).expect_err("refusals");
        assert_eq!(refused.len(), 2);
    }

    #[test]
    fn all_locations_or_none_are_taken() {
        let all = |lines: &[&str], refused: &[&str]| Definitions {
            lines: lines.iter().map(|line| line.to_string()).collect(),
            refused: refused.iter().map(|line| line.to_string()).collect(),
            gone: 0,
        };
        assert_eq!(taken(all(&["p:a b"], &[]), false), Ok(vec!["p:a b".into()]));
        assert_eq!(
            taken(all(&["p:a b"], &["c: no"]), true),
            Ok(vec!["p:a b".into()])
        );
        let reason = taken(all(&["p:a b"], &["c: no"]), false).expect_err("a refusal");
        assert!(reason.starts_with("c: no (1 of 2 "), "{reason}");
        assert_eq!(taken(all(&[], &["c: no"]), true), Err("c: no".into()));
        assert!(taken(all(&[], &[]), false).is_err());
    }

    #[test]
    fn names_are_the_kernels() {
        assert_eq!(identifier("fs/open.c:12"), "fs_open_c_12");
        assert_eq!(identifier("8021q"), "_8021q");
        assert!(identifier(&"x".repeat(100)).len() < LONGEST_NAME);
    }
}
