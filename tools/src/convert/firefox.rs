// SPDX-License-Identifier: GPL-2.0

//! The profile of the Firefox Profiler: an event is a marker of its thread, with a field for each
//! argument; a stack is a sample, too.

use crate::error::Result;
use crate::stream::{self, Event, Stream};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Marker,
    MarkerFieldFlags, MarkerFieldFormat, MarkerLocations, MarkerTiming, MarkerTypeHandle,
    ProcessHandle, Profile, ReferenceTimestamp, RuntimeSchemaMarkerField,
    RuntimeSchemaMarkerSchema, SamplingInterval, StringHandle, ThreadHandle, Timestamp,
};
use std::collections::HashMap;

/// The file, with slices for events that have an argument called `duration`. Its times count from
/// the first event.
pub fn json(stream: &Stream, duration: &str) -> Result<Vec<u8>> {
    let begin = |event: &Event| {
        let took = event.duration(duration).unwrap_or(0);
        event.time.saturating_sub(took)
    };
    let mut writer = Writer {
        profile: Profile::new(
            "ferroprobe",
            ReferenceTimestamp::from_millis_since_unix_epoch(0.0),
            SamplingInterval::from_millis(1),
        ),
        first: stream.events.iter().map(begin).min().unwrap_or(0),
        processes: HashMap::new(),
        threads: HashMap::new(),
        groups: HashMap::new(),
        kinds: HashMap::new(),
    };
    writer.profile.set_os_name("Linux");
    for event in &stream.events {
        writer.event(event, begin(event));
    }
    for loss in &stream.losses {
        let name = format!("{} events were lost", loss.count);
        let thread = writer.losses_of(loss.cpu);
        let at = MarkerTiming::Instant(writer.time(loss.time));
        let marker = writer.marker("lost", &name, &[]);
        writer.profile.add_marker(thread, at, marker);
    }
    let mut bytes = serde_json::to_vec(&writer.profile)?;
    bytes.push(b'\n');
    Ok(bytes)
}

struct Writer {
    profile: Profile,
    first: u64,
    processes: HashMap<u32, ProcessHandle>,
    threads: HashMap<(u32, u32), ThreadHandle>,
    groups: HashMap<String, CategoryHandle>,
    /// The types of markers, by group, name and fields.
    kinds: HashMap<(String, String, Vec<String>), MarkerTypeHandle>,
}

impl Writer {
    fn time(&self, time: u64) -> Timestamp {
        Timestamp::from_nanos_since_reference(time.saturating_sub(self.first))
    }

    /// A thread of a process, which is made if there is none.
    fn thread(&mut self, process: u32, thread: u32, name: &str) -> ThreadHandle {
        let start = self.time(self.first);
        let profile = &mut self.profile;
        let owner = *self
            .processes
            .entry(process)
            .or_insert_with(|| profile.add_process(name, process, start));
        *self.threads.entry((process, thread)).or_insert_with(|| {
            let handle = profile.add_thread(owner, thread, start, process == thread);
            profile.set_thread_name(handle, name);
            profile.set_thread_show_markers_in_timeline(handle, true);
            handle
        })
    }

    /// The track for what a CPU has lost.
    fn losses_of(&mut self, cpu: u64) -> ThreadHandle {
        /// No process has it.
        const NOBODY: u32 = u32::MAX;
        let number = u32::try_from(cpu).unwrap_or(0);
        let thread = (NOBODY - 1).saturating_sub(number);
        self.thread(NOBODY, thread, &format!("CPU {cpu}: lost"))
    }

    fn category(&mut self, group: &str) -> CategoryHandle {
        const COLORS: [CategoryColor; 6] = [
            CategoryColor::Blue,
            CategoryColor::Green,
            CategoryColor::Orange,
            CategoryColor::Purple,
            CategoryColor::Yellow,
            CategoryColor::LightBlue,
        ];
        if let Some(known) = self.groups.get(group) {
            return *known;
        }
        let color = COLORS.get(self.groups.len() % COLORS.len());
        let color = color.copied().unwrap_or(CategoryColor::Gray);
        let handle = self.profile.add_category(group, color);
        self.groups.insert(group.into(), handle);
        handle
    }

    /// A marker with text fields.
    fn marker(&mut self, group: &str, name: &str, fields: &[(&str, String)]) -> Probe {
        let names: Vec<String> = fields.iter().map(|(name, _)| (*name).into()).collect();
        let key = (group.to_string(), name.to_string(), names);
        let profile = &mut self.profile;
        let number = self.kinds.len();
        let kind = *self.kinds.entry(key).or_insert_with_key(|(_, _, names)| {
            profile.register_marker_type(schema(&format!("{group}/{name}#{number}"), names))
        });
        let category = self.category(group);
        let profile = &mut self.profile;
        let values = fields.iter().map(|(_, value)| profile.intern_string(value));
        let values = values.collect();
        Probe {
            kind,
            name: profile.intern_string(name),
            category,
            values,
        }
    }

    fn event(&mut self, event: &Event, begin: u64) {
        let thread = self.thread(event.process(), event.track(), &event.track_name());
        let at = event.place.iter().map(|place| ("at", place.clone()));
        let cpu = [("cpu", event.cpu.to_string())];
        let arguments = event.arguments.iter();
        let arguments = arguments.map(|(name, value)| (name.as_str(), stream::text(value)));
        let fields: Vec<_> = arguments.chain(at).chain(cpu).collect();
        // The event of a pattern has calls of many functions.
        let name = match begin == event.time {
            true => &event.name,
            false => event.function(),
        };
        let marker = self.marker(&event.group, name, &fields);
        let end = self.time(event.time);
        let timing = match begin == event.time {
            true => MarkerTiming::Instant(end),
            false => MarkerTiming::Interval(self.time(begin), end),
        };
        let handle = self.profile.add_marker(thread, timing, marker);
        if event.stack.is_empty() {
            return;
        }
        let category = self.category("kernel").into();
        let profile = &mut self.profile;
        let names = event.stack.iter().rev();
        let frames: Vec<FrameInfo> = names
            .map(|name| FrameInfo {
                frame: Frame::Label(profile.intern_string(function_of(name))),
                category_pair: category,
                flags: FrameFlags::empty(),
            })
            .collect();
        let stack = profile.intern_stack_frames(thread, frames.into_iter());
        profile.set_marker_stack(thread, handle, stack);
        profile.add_sample(thread, end, stack, CpuDelta::ZERO, 1);
    }
}

/// A frame without its offset, so that equal functions are one.
fn function_of(frame: &str) -> &str {
    frame.split("+0x").next().unwrap_or(frame)
}

fn schema(kind: &str, fields: &[String]) -> RuntimeSchemaMarkerSchema {
    let field = |(at, name): (usize, &String)| RuntimeSchemaMarkerField {
        // Those that a marker has itself cannot be told from it.
        key: format!("argument{at}"),
        label: name.clone(),
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    };
    let shown = (0..fields.len()).zip(fields);
    let label = shown.map(|(at, name)| format!("{name}={{marker.data.argument{at}}}"));
    let label = label.collect::<Vec<_>>().join(" ");
    RuntimeSchemaMarkerSchema {
        type_name: kind.into(),
        description: None,
        locations: MarkerLocations::MARKER_CHART
            | MarkerLocations::MARKER_TABLE
            | MarkerLocations::TIMELINE_OVERVIEW,
        chart_label: Some("{marker.name}".into()),
        tooltip_label: Some("{marker.name}".into()),
        table_label: Some(format!("{{marker.name}} {label}")),
        fields: fields.iter().enumerate().map(field).collect(),
        graphs: Vec::new(),
    }
}

/// A marker of an event.
struct Probe {
    kind: MarkerTypeHandle,
    name: StringHandle,
    category: CategoryHandle,
    values: Vec<StringHandle>,
}

impl Marker for Probe {
    fn marker_type(&self, _profile: &mut Profile) -> MarkerTypeHandle {
        self.kind
    }

    fn name(&self, _profile: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _profile: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        let value = self.values.get(field as usize);
        // Its type has as many fields as values; the name stands for one that is missing.
        value.copied().unwrap_or(self.name)
    }

    fn number_field_value(&self, _field: u32) -> f64 {
        // No type has such a field.
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::tests::STREAM;
    use serde_json::Value;

    #[test]
    fn processors_have_any_number() {
        let line = |cpu: u64| {
            format!(
                r#"{{"ts":5000,"cpu":{cpu},"pid":0,"comm":"<idle>","group":"g","event":"e","args":{{}}}}"#
            )
        };
        let lost = format!(r#"{{"lost":1,"cpu":{}}}"#, u32::MAX);
        let lines = [line(0), line(1), line(u64::MAX), lost].join("\n");
        let stream = Stream::read(lines.as_bytes()).expect("a stream");
        let bytes = json(&stream, "duration").expect("a file");
        let file: Value = serde_json::from_slice(&bytes).expect("JSON");
        let threads = file["threads"].as_array().expect("threads");
        let mut names: Vec<_> = threads
            .iter()
            .map(|thread| thread["name"].as_str().expect("a name"))
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "<idle> [000]",
                "<idle> [001]",
                "<idle> [18446744073709551615]",
                "CPU 4294967295: lost",
            ]
        );
    }

    #[test]
    fn a_slice_has_the_name_of_its_function() {
        let line = r#"{"ts":5000,"cpu":0,"pid":1,"comm":"a","group":"fprobes","event":"x","func":"vfs_read+0x0/0x40","args":{"duration":7}}"#;
        let stream = Stream::read(line.as_bytes()).expect("a stream");
        let bytes = json(&stream, "duration").expect("a file");
        assert!(String::from_utf8_lossy(&bytes).contains("\"vfs_read\""));
    }

    #[test]
    fn threads_markers_and_stacks_are_there() {
        let stream = Stream::read(STREAM.as_bytes()).expect("a stream");
        let bytes = json(&stream, "duration").expect("a file");
        let file: Value = serde_json::from_slice(&bytes).expect("JSON");
        let threads = file["threads"].as_array().expect("threads");
        let named = |name: &str| {
            let mut found = threads.iter().filter(|thread| thread["name"] == name);
            found.next().expect(name)
        };
        let cat = named("cat");
        assert_eq!(cat["pid"], "250");
        // Milliseconds from the beginning of the call: the slice, and then the probe.
        let markers = &cat["markers"];
        let time = |name: &str, at: usize| markers[name][at].as_f64().expect("a time");
        assert_eq!(time("startTime", 0), 0.0);
        assert!((time("endTime", 0) - 0.041804).abs() < 1e-9);
        assert!((time("startTime", 1) - 0.1).abs() < 1e-9);
        assert_eq!(cat["samples"]["length"], 1);
        for text in [
            "/etc/passwd",
            "18446744073709551615",
            "__x64_sys_openat",
            "do_sys_openat2",
        ] {
            let found = String::from_utf8_lossy(&bytes);
            assert!(found.contains(text), "{text}");
        }
        assert_eq!(named("CPU 0: lost")["markers"]["length"], 1);
        assert_eq!(named("kworker/1:0")["markers"]["length"], 1);
        let groups = file["meta"]["categories"].as_array().expect("categories");
        let groups: Vec<_> = groups.iter().map(|group| &group["name"]).collect();
        assert_eq!(groups[1..3], ["calls", "kprobes"]);
    }
}
