// SPDX-License-Identifier: GPL-2.0

//! The steps of a session that write to the directory.

use super::definition::Field;
use super::directory::{Directory, Owner};
use super::follow::{self, Item, Reader, MARK};
use super::format::Format;
use super::losses;
use super::plan::{Plan, Planned};
use super::refused::Refused;
use crate::error::{Refusal, Result};
use std::fs;
use std::path::Path;

/// Defines all events that are not there. What is refused is said of each; nothing is enabled.
pub fn define(directory: &Directory, owner: &mut Owner, plan: &Plan) -> Vec<Refused> {
    let type_of = |field: &Field<'_>| {
        let path = format!("events/{}/{}/format", field.group, field.event);
        let format = directory.read(path).unwrap_or_default();
        Format::parse(&format).decimal_type(field.name)
    };
    let events = plan.events.iter().filter(|event| !event.exists);
    let defined = events.map(|event| {
        let written = &event.definition.written;
        owner.define(directory, &event.text(type_of), written)
    });
    defined.filter_map(std::result::Result::err).collect()
}

/// Says which events wait for a module.
pub fn waiting(directory: &Directory, plan: &Plan) -> Vec<String> {
    let stats = directory.read("kprobe_stats").unwrap_or_default();
    let waiting = plan.events.iter().filter_map(|event| {
        let place = losses::awaited(&stats, &event.event())?;
        let what = match place.split_once(':') {
            Some((module, _)) => format!("the module {module}, which is not loaded"),
            None => format!("a module with the tracepoint {place}"),
        };
        Some(format!("{}: waits for {what}", event.title()))
    });
    waiting.collect()
}

/// Sets the filters, and returns what the formats say.
pub fn filter(files: &Directory, plan: &Plan) -> std::result::Result<Vec<Format>, Vec<Refused>> {
    let mut formats = Vec::new();
    let mut refused = Vec::new();
    for event in &plan.events {
        let format = files.read(file(event, "format")).unwrap_or_default();
        let format = Format::parse(&format);
        let filter = event.definition.filter(|field| format.is_text(field));
        let set = filter.map_or(Ok(()), |filter| {
            files.set_written(file(event, "filter"), &filter, &event.definition.written)
        });
        refused.extend(set.err());
        formats.push(format);
    }
    match refused.is_empty() {
        true => Ok(formats),
        false => Err(refused),
    }
}

/// Restricts all events to processes and what they begin. Returns what the user is to know.
pub fn follow_tasks(files: &Directory, pids: &[u32]) -> Result<Vec<String>> {
    let mut said = Vec::new();
    if pids.is_empty() {
        return Ok(said);
    }
    // First, so that no task that they begin is overlooked.
    if let Err(refusal) = files.set("options/event-fork", "1") {
        said.push(format!("what the tasks begin is not followed: {refusal}"));
    }
    for pid in pids {
        let mut known = Vec::new();
        loop {
            let new: Vec<u32> = threads(Path::new("/proc"), *pid)?
                .into_iter()
                .filter(|thread| !known.contains(thread))
                .collect();
            if new.is_empty() {
                break;
            }
            let list: Vec<String> = new.iter().map(u32::to_string).collect();
            files.set("set_event_pid", &format!("{}\n", list.join(" ")))?;
            known.extend(new);
        }
    }
    Ok(said)
}

/// Leaves out what this process does itself. It must begin no other one from then on: that would be
/// left out, too.
pub fn leave_out_own(files: &Directory) -> Result<()> {
    let own = threads(Path::new("/proc"), std::process::id())?;
    let list: Vec<String> = own.iter().map(u32::to_string).collect();
    files.set("set_event_notrace_pid", &format!("{}\n", list.join(" ")))
}

/// The threads of a process.
fn threads(processes: &Path, pid: u32) -> Result<Vec<u32>> {
    let path = processes.join(pid.to_string()).join("task");
    let listed = fs::read_dir(&path);
    let listed = listed.map_err(|_| Refusal::new(format!("there is no process {pid}")))?;
    let names = listed.flatten().map(|entry| entry.file_name());
    Ok(names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect())
}

/// Records a mark, and returns its time: from then on times count.
pub fn mark(files: &Directory, reader: &mut Reader) -> Option<u64> {
    files.set("trace_marker", MARK).ok()?;
    while reader.fill().ok()? {
        while let Some(line) = reader.line() {
            if let Ok(Item::Began(time)) = follow::item(&line) {
                return Some(time);
            }
        }
    }
    None
}

/// Enables all events.
pub fn enable(files: &Directory, plan: &Plan) -> Result<()> {
    for event in &plan.events {
        let enabled = files.set(file(event, "enable"), "1");
        enabled.map_err(|refusal| refusal.about(event.title()))?;
    }
    Ok(())
}

/// How many records the rings have lost.
pub fn lost(files: &Directory) -> u64 {
    let Ok(cpus) = fs::read_dir(files.path("per_cpu")) else {
        return 0;
    };
    let stats = cpus
        .flatten()
        .map(|cpu| fs::read_to_string(cpu.path().join("stats")));
    stats.flatten().map(|stats| losses::lost(&stats)).sum()
}

/// A file of an event.
fn file(event: &Planned, name: &str) -> String {
    format!("events/{}/{name}", event.event())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::create_dir_all;

    fn directory(files: &[(&str, &str)]) -> (tempfile::TempDir, Directory) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let directory = Directory::at(folder.path());
        (folder, directory)
    }

    #[test]
    fn events_are_defined_filtered_and_enabled() {
        let written = ["r:g/n vfs_read $duration if duration > 1ms".to_string()];
        let plan = Plan::new(&written).expect("a plan");
        let (_folder, directory) = directory(&[
            ("private_events", ""),
            ("events/g/n/format", ""),
            ("events/g/n/filter", ""),
            ("events/g/n/enable", ""),
        ]);
        let mut owner = directory.owner().expect("an owner");
        assert_eq!(define(&directory, &mut owner, &plan), []);
        filter(&directory, &plan).expect("formats");
        enable(&directory, &plan).expect("a file");
        for (file, text) in [
            ("private_events", "r:g/n vfs_read duration=$duration"),
            ("events/g/n/filter", "duration > 1000000"),
            ("events/g/n/enable", "1"),
        ] {
            assert_eq!(directory.read(file).expect("a file"), text);
        }
    }

    #[test]
    fn all_threads_are_followed() {
        let (_folder, directory) = directory(&[("options/event-fork", ""), ("set_event_pid", "")]);
        let own = std::process::id();
        follow_tasks(&directory, &[own]).expect("a process");
        let listed = directory.read("set_event_pid").expect("a file");
        assert!(
            listed.split_whitespace().any(|pid| pid == own.to_string()),
            "{listed}"
        );
        assert_eq!(directory.read("options/event-fork").expect("a file"), "1");
        let refusal = follow_tasks(&directory, &[u32::MAX]).expect_err("no process");
        assert!(refusal.to_string().contains("no process 4294967295"));
    }

    #[test]
    fn losses_of_all_cpus_are_added() {
        let (_folder, directory) = directory(&[
            ("per_cpu/cpu0/stats", "overrun: 3\n"),
            ("per_cpu/cpu1/stats", "overrun: 1\ndropped events: 2\n"),
        ]);
        assert_eq!(lost(&directory), 6);
    }
}
