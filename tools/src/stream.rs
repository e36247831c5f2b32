// SPDX-License-Identifier: GPL-2.0

//! What `trace_json` has: one JSON object a line, as `Documentation/json.rst` of ferroprobe says.

use crate::error::{Refusal, Result};
use crate::refuse;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::BufRead;

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When, in nanoseconds; for a slice its end.
    pub time: u64,
    /// On which CPU.
    pub cpu: u64,
    /// The thread.
    pub pid: u32,
    /// The process, if it is known.
    pub tgid: Option<u32>,
    /// The name of the thread.
    pub comm: String,
    /// The group of the event.
    pub group: String,
    /// Its name.
    pub name: String,
    /// Where the probe is, if the event is one of a probe.
    pub place: Option<String>,
    /// What was recorded.
    pub arguments: Map<String, Value>,
    /// The names of those that are longer than what was recorded.
    pub truncated: Vec<String>,
    /// The frames of the kernel's stack, the innermost first.
    pub stack: Vec<String>,
}

/// What a line is.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// An event.
    Event(Box<Event>),
    /// The kernel's stack of the event before it, if that is of the same CPU and thread.
    Stack(Box<Event>),
    /// What is missing before the next event of a CPU.
    Lost {
        /// How many events.
        count: u64,
        /// Of which CPU.
        cpu: u64,
    },
    /// A record that names no event.
    Damaged,
}

impl Line {
    /// Takes an object of a stream apart.
    pub fn read(mut object: Map<String, Value>) -> Result<Self> {
        let number = |object: &Map<String, Value>, name: &str| match object.get(name) {
            Some(value) => value.as_u64(),
            None => None,
        };
        let Some(cpu) = number(&object, "cpu") else {
            refuse!("it has no cpu: give what trace_json had");
        };
        if let Some(count) = number(&object, "lost") {
            return Ok(Self::Lost { count, cpu });
        }
        if object.contains_key("damaged") {
            return Ok(Self::Damaged);
        }
        let (Some(time), Some(pid)) = (number(&object, "ts"), number(&object, "pid")) else {
            refuse!("it has no ts or no pid: give what trace_json had");
        };
        let text = |object: &mut Map<String, Value>, name: &str| match object.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let id = |number: u64| {
            u32::try_from(number).map_err(|_| Refusal::new(format!("{number} is no pid")))
        };
        let tgid = number(&object, "tgid").map(id).transpose()?;
        let group = text(&mut object, "group").unwrap_or_default();
        let name = text(&mut object, "event");
        let name = name.unwrap_or_else(|| match number(&object, "id") {
            Some(id) => format!("event {id}, which was deleted"),
            None => "?".into(),
        });
        let place = text(&mut object, "ip").or_else(|| text(&mut object, "func"));
        let arguments = match object.remove("args") {
            Some(Value::Object(arguments)) => arguments,
            _ => Map::new(),
        };
        let is_stack = (group.as_str(), name.as_str()) == ("ftrace", "kernel_stack");
        let event = Box::new(Event {
            time,
            cpu,
            pid: id(pid)?,
            tgid,
            comm: text(&mut object, "comm").unwrap_or_default(),
            group,
            name,
            place,
            stack: Vec::new(),
            truncated: texts(object.get("truncated")),
            arguments,
        });
        Ok(match is_stack {
            true => Self::Stack(event),
            false => Self::Event(event),
        })
    }
}

impl Event {
    /// The frames of a stack that is an event of its own.
    pub fn frames(&self) -> Vec<String> {
        texts(self.arguments.get("caller"))
    }
}

impl Event {
    /// The process that it is shown in: of a thread whose process is not known, itself.
    pub fn process(&self) -> u32 {
        self.tgid.unwrap_or(self.pid)
    }

    /// The thread that it is shown in, one call of which is inside of another: its own; of an idle
    /// task one for each processor, as they all have the pid 0, with a number that is no pid.
    pub fn track(&self) -> u32 {
        /// The kernel's `PID_MAX_LIMIT`.
        const NO_PID: u32 = 1 << 22;
        match self.pid {
            0 => NO_PID.saturating_add(u32::try_from(self.cpu).unwrap_or(u32::MAX)),
            pid => pid,
        }
    }

    /// The processor whose idle task it is of, if it is of one.
    pub fn idle_cpu(&self) -> Option<u64> {
        (self.pid == 0).then_some(self.cpu)
    }

    /// The name of that thread.
    pub fn track_name(&self) -> String {
        match self.idle_cpu() {
            Some(cpu) => format!("{} [{cpu:03}]", self.comm),
            None => self.comm.clone(),
        }
    }

    /// The function, or the name of the event if it is none of a function.
    pub fn function(&self) -> &str {
        let place = self.place.as_deref().unwrap_or(&self.name);
        place.split("+0x").next().unwrap_or(place)
    }

    /// How many nanoseconds it took, if one of its arguments is called `duration`. What has none,
    /// as a call whose beginning was not seen, is 0.
    pub fn duration(&self, duration: &str) -> Option<u64> {
        let took = self.arguments.get(duration)?.as_u64()?;
        (took > 0).then_some(took)
    }
}

/// What is missing before an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// How many events.
    pub count: u64,
    /// Of which CPU.
    pub cpu: u64,
    /// The time of the next event of that CPU, or of the last one of all.
    pub time: u64,
}

/// A stream, read to its end.
#[derive(Debug, Default, PartialEq)]
pub struct Stream {
    /// The events, as they came.
    pub events: Vec<Event>,
    /// What was lost.
    pub losses: Vec<Loss>,
}

impl Stream {
    /// Reads it. Lines of which a reader was cut off, that is the last one, are left out.
    pub fn read(input: impl BufRead) -> Result<Self> {
        let mut stream = Self::default();
        // By CPU: what was lost, until the next event tells when; and the event that a stack belongs
        // to.
        let mut lost: HashMap<u64, u64> = HashMap::new();
        let mut latest: HashMap<u64, usize> = HashMap::new();
        let mut broken: Option<(usize, String)> = None;
        for (number, line) in (1..).zip(input.lines()) {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            if let Some((number, error)) = broken {
                refuse!("line {number}: {error}: give what trace_json had");
            }
            match serde_json::from_str::<Value>(&line) {
                Ok(Value::Object(object)) => {
                    let taken = stream.take(object, &mut lost, &mut latest);
                    taken.map_err(|refusal| refusal.about(format!("line {number}")))?;
                }
                Ok(_) => refuse!("line {number}: not an object: give what trace_json had"),
                // Unless another one follows.
                Err(error) => broken = Some((number, error.to_string())),
            }
        }
        let last = stream.events.iter().map(|event| event.time).max();
        for (cpu, count) in lost {
            let time = last.unwrap_or(0);
            stream.losses.push(Loss { count, cpu, time });
        }
        stream.losses.sort_by_key(|loss| (loss.time, loss.cpu));
        if stream.events.is_empty() {
            refuse!("it has no event: give what trace_json had");
        }
        Ok(stream)
    }

    fn take(
        &mut self,
        object: Map<String, Value>,
        lost: &mut HashMap<u64, u64>,
        latest: &mut HashMap<u64, usize>,
    ) -> Result<()> {
        match Line::read(object)? {
            Line::Damaged => {}
            Line::Lost { count, cpu } => {
                let lost = lost.entry(cpu).or_default();
                *lost = lost.saturating_add(count);
            }
            Line::Stack(event) => {
                let before = latest
                    .get(&event.cpu)
                    .and_then(|at| self.events.get_mut(*at));
                match before.filter(|before| before.pid == event.pid) {
                    Some(before) if !lost.contains_key(&event.cpu) => before.stack = event.frames(),
                    _ => self.push(*event, lost, latest),
                }
            }
            Line::Event(event) => self.push(*event, lost, latest),
        }
        Ok(())
    }

    fn push(
        &mut self,
        event: Event,
        lost: &mut HashMap<u64, u64>,
        latest: &mut HashMap<u64, usize>,
    ) {
        let (cpu, time) = (event.cpu, event.time);
        if let Some(count) = lost.remove(&cpu) {
            self.losses.push(Loss { count, cpu, time });
        }
        latest.insert(cpu, self.events.len());
        self.events.push(event);
    }
}

/// The texts of an array.
fn texts(value: Option<&Value>) -> Vec<String> {
    let texts = value.and_then(Value::as_array).into_iter().flatten();
    texts
        .filter_map(|text| Some(text.as_str()?.to_string()))
        .collect()
}

/// A value as text.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "(fault)".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What a guest's `trace_json` had: a call, what was lost, and a probe with its stack.
    pub(crate) const STREAM: &str = r#"
{"ts":27649441804,"cpu":1,"pid":258,"tgid":250,"comm":"cat","flags":".....","group":"calls","event":"openat","args":{"dfd":-100,"filename":"/proc/version","ret":3,"duration":41804}}
{"lost":2741,"cpu":0}
{"ts":27649500000,"cpu":0,"pid":258,"tgid":250,"comm":"cat","flags":".....","group":"kprobes","event":"open","ip":"do_sys_openat2+0x0/0xe0","args":{"path":"/etc/passwd","how":[32768,0],"big":18446744073709551615,"no":null},"faults":["no"]}
{"ts":27649500100,"cpu":0,"pid":258,"tgid":250,"comm":"cat","flags":".....","group":"ftrace","event":"kernel_stack","args":{"caller":["do_sys_openat2+0x4/0xe0","__x64_sys_openat+0x54/0xa0"]}}
{"damaged":3,"cpu":1}
{"ts":27649600000,"cpu":1,"pid":7,"comm":"kworker/1:0","flags":".....","group":null,"event":null,"id":1534}
{"ts":27649"#;

    #[test]
    fn events_losses_and_stacks_are_read() {
        let stream = Stream::read(STREAM.as_bytes()).expect("a stream");
        let names: Vec<_> = stream
            .events
            .iter()
            .map(|event| event.name.as_str())
            .collect();
        assert_eq!(names, ["openat", "open", "event 1534, which was deleted"]);
        let [call, open, gone] = stream.events.as_slice() else {
            panic!("{:?}", stream.events);
        };
        assert_eq!(call.duration("duration"), Some(41804));
        assert_eq!((call.process(), gone.process()), (250, 7));
        assert_eq!(open.place.as_deref(), Some("do_sys_openat2+0x0/0xe0"));
        assert_eq!(open.stack.len(), 2);
        assert_eq!(open.duration("duration"), None);
        let arguments: Vec<_> = open
            .arguments
            .iter()
            .map(|(name, value)| (name.as_str(), text(value)))
            .collect();
        let expected = [
            ("path", "/etc/passwd"),
            ("how", "[32768,0]"),
            ("big", "18446744073709551615"),
            ("no", "(fault)"),
        ];
        assert_eq!(
            arguments,
            expected.map(|(name, value)| (name, value.to_string()))
        );
        let time = 27_649_500_000;
        let loss = Loss {
            count: 2741,
            cpu: 0,
            time,
        };
        assert_eq!(stream.losses, [loss]);
    }

    #[test]
    fn losses_have_no_end() {
        let lost = format!("{{\"lost\":{},\"cpu\":0}}\n", u64::MAX).repeat(2);
        let event = r#"{"ts":5,"cpu":0,"pid":1,"comm":"x","group":"g","event":"e","args":{}}"#;
        let stream = Stream::read((lost + event).as_bytes()).expect("a stream");
        assert_eq!(stream.losses[0].count, u64::MAX);
    }

    #[test]
    fn what_is_no_stream_is_refused() {
        for (text, reason) in [
            ("", "no event"),
            ("# tracer: nop\n# x\n", "line 1: "),
            ("[]\n", "not an object"),
            ("{\"ts\":1}\n", "no cpu"),
            ("{\"ts\":1,\"cpu\":0}\n", "no pid"),
            ("{\"ts\":1,\"cpu\":0,\"pid\":99999999999}\n", "is no pid"),
        ] {
            let refusal = Stream::read(text.as_bytes()).expect_err(text).to_string();
            assert!(refusal.contains(reason), "{text}: {refusal}");
        }
    }
}
