// SPDX-License-Identifier: GPL-2.0

//! What is to be refused, is half wrong, far too much, or ended in the middle.

use rand::{seq::IndexedRandom, Rng};

use super::Draw;

/// What people write, and is not taken.
const MISTAKES: &str = include_str!("../../../data/mistakes");
/// Definitions that are not taken.
const REFUSALS: &str = include_str!("../../../selftests/refusals.txt");

/// Words that files know.
const WORDS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "010",
    "0x10",
    "99999999999999999999",
    "on",
    "g:e0",
    "!g:e0",
    "*:*",
    "nosuch:x",
    "x",
    "",
];

/// What makes a megabyte of one word, line or name that takes long to look at: what comes over and over,
/// and once behind it.
const LONG: &[&str] = &[
    "_^zname",
    "x",
    "0^n",
    "7 ",
    "g:e0 !g:e0 ",
    "(",
    "!",
    "a,",
    "n0 == 1 || ^zn0 == 1",
    "$",
    ":",
    "[",
    "*?",
    "-:g/x^n",
    "# ^n",
];

impl Draw {
    /// Something that may be refused; then nothing may have changed.
    pub(super) fn wrong(&mut self) {
        let instance = self.instance();
        match self.below(11) {
            0 | 1 => self.mistake(),
            10 => {
                let number = self.below(1000);
                self.line(format!("unused {number}"));
            }
            2 => {
                let row = REFUSALS.lines().filter(|line| !line.starts_with('#'));
                let rows: Vec<&str> = row.collect();
                let definition = self.pick(&rows).rsplit('\t').next().unwrap_or("");
                let definition = definition.replace('^', "").replace("FUNCTION", "vfs_read");
                // Behind what is right.
                self.next_constant += 1;
                let n = self.next_constant;
                let call = self.call;
                self.line(format!(
                    "? put dynamic_events p:g/x{n} {call}^n{definition}"
                ));
            }
            3 => {
                let Some(event) = self.event() else { return };
                let name = event.name.replace('/', ":");
                let word = self.pick(WORDS);
                self.line(format!(
                    "? put {instance}set_event {name}^n{word}^nnosuch:x"
                ));
            }
            4 => {
                let Some(event) = self.event() else { return };
                let text = match self.below(3) {
                    0 => "snapshot if nosuch == 1",
                    1 => "hist:keys=common_pid:x=nosuch:onmax($x).snapshot()",
                    _ => "stacktrace if",
                };
                self.line(format!(
                    "? put {instance}events/{}/trigger {text}",
                    event.name
                ));
            }
            5 => {
                let file = self.pick(&[
                    "buffer_percent",
                    "buffer_size_kb",
                    "saved_cmdlines_size",
                    "syscall_user_buf_size",
                ]);
                let value = self.pick(&["10", "100", "64"]);
                self.line(format!("pad {file} {value}"));
            }
            6 | 7 => {
                let number: u32 = self.rng.random();
                let word = self.pick(WORDS);
                self.line(format!("? any {number} {word}"));
            }
            8 => {
                let number: u32 = self.rng.random();
                let word = self.below(50);
                self.line(format!("? back {number} {word}"));
            }
            _ => {
                let number: u32 = self.rng.random();
                let bytes = self.pick(&["1", "100", "100000"]);
                self.line(format!("look {number} {bytes}"));
            }
        }
    }

    fn mistake(&mut self) {
        let rows: Vec<(&str, &str)> = MISTAKES
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| {
                let mut columns = line.split('\t').skip(1);
                Some((columns.next()?, columns.next()?))
            })
            .filter(|(_, text)| !text.starts_with(['@', '>']))
            .collect();
        let Some(&(file, text)) = rows.choose(&mut self.rng) else {
            return;
        };
        let event = self.event().map_or("g/e0".to_string(), |event| event.name);
        let file = file
            .replace("kprobes/ev", &event)
            .replace("kprobes/busy", &event);
        self.line(format!("? put {file} {}", text.replace('^', "^^")));
    }

    /// A huge write, a wait or a fault without end, whose task is killed.
    pub(super) fn killed(&mut self) {
        match self.below(10) {
            7..=9 => {
                let number: u32 = self.rng.random();
                let text = self.pick(LONG);
                self.line(format!("@ many 1000000 {number} {text}"));
            }
            0 => {
                let name = self
                    .event()
                    .map_or("g:e0".to_string(), |event| event.name.replace('/', ":"));
                self.line(format!("@ many 100000 set_event {name} !{name}^n"));
            }
            1 => self.line("@ many 100000 set_event :mod:nosuch^n"),
            2 => {
                let pattern = self.pick(&["*", "*a*b*", "v*", "*:*"]);
                let many = self.rng.random_range(2..1000);
                let list = vec![pattern; many.min(3800 / (pattern.len() + 1))].join(",");
                self.line(format!("@ put dynamic_events f:g/many vfs_read,{list}"));
            }
            3 => {
                let call = self.call;
                self.line(format!(
                    "@ many 20000 dynamic_events p:g/many {call}^n-:g/many^n"
                ));
            }
            4 => self.line("@ fault"),
            5 => self.line("@ many 100000 set_event_pid 1 2 3 ^n"),
            _ => {
                let number: u32 = self.rng.random();
                let word = self.pick(WORDS);
                self.line(format!("@ many 100000 trace_marker {word}{number}^n"));
            }
        }
        let ms = self.rng.random_range(100..1500);
        self.line(format!("pause {ms}"));
        self.line("kill");
    }

    /// The module is loaded anew, with definitions that may be refused.
    pub(super) fn reload(&mut self) {
        let file = self.pick(&[
            "trace_pipe",
            "README",
            "trace",
            "events/enable",
            "kprobe_events",
        ]);
        let parameters = self.pick(&[
            "define=\"f:a vfs_*;p:b nosuch\"",
            "define=\"p:a vfs_read;p:b vfs_raed\"",
            "define=\"p:a vfs_read\"",
            "",
            "buffer_size_kb=x",
        ]);
        self.line(format!("reload {file} {parameters}"));
        self.events.clear();
        self.synthetic.clear();
        self.instances.clear();
    }
}
