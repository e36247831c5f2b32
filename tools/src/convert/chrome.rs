// SPDX-License-Identifier: GPL-2.0

//! The Trace Event Format of Chrome, which Perfetto opens: times are in microseconds.

use crate::error::Result;
use crate::stream::{Event, Loss, Stream};
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// The file, with slices for events that have an argument called `duration`.
pub fn json(stream: &Stream, duration: &str) -> Result<Vec<u8>> {
    let mut all = names(stream);
    all.extend(stream.events.iter().map(|event| entry(event, duration)));
    all.extend(stream.losses.iter().map(loss));
    let file = json!({ "displayTimeUnit": "ns", "traceEvents": all });
    let mut bytes = serde_json::to_vec(&file)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// A time as the format has it. It is exact to a nanosecond for 25 days of uptime.
fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

/// The names of threads, and of processes: a process is called as its first thread, or as the
/// first one that was seen.
fn names(stream: &Stream) -> Vec<Value> {
    let mut threads: BTreeMap<(u32, u32), String> = BTreeMap::new();
    let mut processes: BTreeMap<u32, &str> = BTreeMap::new();
    for event in &stream.events {
        let (process, thread) = (event.process(), event.track());
        let name = || event.track_name();
        threads.entry((process, thread)).or_insert_with(name);
        if process == thread {
            processes.insert(process, &event.comm);
        } else {
            processes.entry(process).or_insert(&event.comm);
        }
    }
    let process = |(pid, name): (u32, &str)| json!({ "ph": "M", "name": "process_name", "pid": pid, "tid": pid, "args": { "name": name } });
    let thread = |((pid, tid), name): ((u32, u32), String)| json!({ "ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": { "name": name } });
    let processes = processes.into_iter().map(process);
    processes.chain(threads.into_iter().map(thread)).collect()
}

fn entry(event: &Event, duration: &str) -> Value {
    let mut arguments: Map<String, Value> = event.arguments.clone();
    // JavaScript rounds what is larger.
    for value in arguments.values_mut() {
        if value.as_u64().is_some_and(|number| number > 1 << 53)
            || value.as_i64().is_some_and(|number| number < -(1 << 53))
        {
            *value = value.to_string().into();
        }
    }
    let more = [
        ("at", event.place.clone().map(Value::from)),
        ("cpu", Some(event.cpu.into())),
        (
            "stack",
            (!event.stack.is_empty()).then(|| event.stack.clone().into()),
        ),
    ];
    for (name, value) in more {
        // An argument of the event that is called so stays.
        if let Some(value) = value.filter(|_| !arguments.contains_key(name)) {
            arguments.insert(name.into(), value);
        }
    }
    let took = event.duration(duration);
    // The event of a pattern has calls of many functions.
    let name = match took {
        Some(_) => event.function(),
        None => &event.name,
    };
    let mut entry = json!({
        "name": name,
        "cat": event.group,
        "pid": event.process(),
        "tid": event.track(),
        "args": arguments,
    });
    let timing = match took {
        Some(took) => json!({
            "ph": "X",
            "ts": microseconds(event.time.saturating_sub(took)),
            "dur": microseconds(took),
        }),
        None => json!({ "ph": "i", "s": "t", "ts": microseconds(event.time) }),
    };
    if let (Some(entry), Value::Object(timing)) = (entry.as_object_mut(), timing) {
        entry.extend(timing);
    }
    entry
}

/// A line across all tracks.
fn loss(loss: &Loss) -> Value {
    json!({
        "name": format!("{} events of CPU {} were lost", loss.count, loss.cpu),
        "cat": "lost",
        "ph": "i",
        "s": "g",
        "pid": 0,
        "tid": 0,
        "ts": microseconds(loss.time),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::tests::STREAM;

    #[test]
    fn slices_moments_losses_and_names_are_there() {
        let stream = Stream::read(STREAM.as_bytes()).expect("a stream");
        let bytes = json(&stream, "duration").expect("a file");
        let file: Value = serde_json::from_slice(&bytes).expect("JSON");
        let all = file["traceEvents"].as_array().expect("events");
        let named = |name: &str| {
            let mut found = all.iter().filter(|event| event["name"] == name);
            found.next().expect(name)
        };
        let call = named("openat");
        assert_eq!((&call["ph"], &call["cat"]), (&json!("X"), &json!("calls")));
        assert_eq!(
            (&call["ts"], &call["dur"]),
            (&json!(27_649_400.0), &json!(41.804))
        );
        assert_eq!((&call["pid"], &call["tid"]), (&json!(250), &json!(258)));
        let open = named("open");
        assert_eq!(
            (&open["ph"], &open["ts"]),
            (&json!("i"), &json!(27_649_500.0))
        );
        assert_eq!(open["args"]["big"], json!("18446744073709551615"));
        assert_eq!(
            open["args"]["stack"][1],
            json!("__x64_sys_openat+0x54/0xa0")
        );
        assert_eq!(open["args"]["at"], json!("do_sys_openat2+0x0/0xe0"));
        assert_eq!(named("2741 events of CPU 0 were lost")["s"], json!("g"));
        let threads: Vec<_> = all
            .iter()
            .filter(|event| event["name"] == "thread_name")
            .map(|event| event["args"]["name"].as_str().expect("a name"))
            .collect();
        assert_eq!(threads, ["kworker/1:0", "cat"]);
    }

    #[test]
    fn a_slice_has_the_name_of_its_function() {
        let line = r#"{"ts":5000,"cpu":0,"pid":1,"comm":"a","group":"fprobes","event":"x","func":"vfs_read+0x0/0x40","args":{"duration":7}}"#;
        let stream = Stream::read(line.as_bytes()).expect("a stream");
        let entry = entry(&stream.events[0], "duration");
        assert_eq!(entry["name"], json!("vfs_read"));
    }

    #[test]
    fn idle_tasks_of_two_processors_are_two() {
        let line = |cpu: u32| {
            format!(
                r#"{{"ts":5000,"cpu":{cpu},"pid":0,"tgid":0,"comm":"<idle>","group":"g","event":"e","args":{{"duration":7}}}}"#
            )
        };
        let lines = [line(0), line(1)].join("\n");
        let stream = Stream::read(lines.as_bytes()).expect("a stream");
        let bytes = json(&stream, "duration").expect("a file");
        let file: Value = serde_json::from_slice(&bytes).expect("JSON");
        let all = file["traceEvents"].as_array().expect("events");
        let of = |name: &str| {
            let events = all.iter().filter(|event| event["name"] == name);
            events.cloned().collect::<Vec<_>>()
        };
        let (slices, names) = (of("e"), of("thread_name"));
        assert_ne!(slices[0]["tid"], slices[1]["tid"]);
        assert_eq!(names.len(), 2);
        for (cpu, slice) in slices.iter().enumerate() {
            assert_eq!(names[cpu]["tid"], slice["tid"]);
            let name = format!("<idle> [{cpu:03}]");
            assert_eq!(names[cpu]["args"]["name"], json!(name));
        }
    }

    #[test]
    fn the_argument_that_is_the_duration_is_chosen() {
        let stream = Stream::read(STREAM.as_bytes()).expect("a stream");
        let bytes = json(&stream, "ns").expect("a file");
        assert!(!String::from_utf8_lossy(&bytes).contains("\"X\""));
    }
}
