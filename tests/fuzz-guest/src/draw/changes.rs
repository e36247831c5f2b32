// SPDX-License-Identifier: GPL-2.0

//! What is changed while calls are made.

use rand::Rng;

use super::{Draw, Event};

const SIZES: &[&str] = &["4", "8", "16", "64", "128", "256", "512", "1024"];

const CLOCKS: &[&str] = &[
    "local", "global", "counter", "uptime", "uptime", "perf", "mono", "mono", "mono_raw", "boot",
    "tai",
];

/// Who walks stacks; kernels with only one way have no such file.
const UNWINDER: &str = "/sys/module/ferroprobe/parameters/unwinder";
const UNWINDERS: &[&str] = &["own", "own", "kernel", "both"];

const OPTIONS: &[&str] = &[
    "overwrite",
    "nooverwrite",
    "pause-on-trace",
    "nopause-on-trace",
    "markers",
    "nomarkers",
    "stacktrace",
    "nostacktrace",
    "userstacktrace",
    "nouserstacktrace",
    "record-tgid",
    "norecord-tgid",
    "event-fork",
    "noevent-fork",
    "annotate",
    "noannotate",
    "units",
    "nounits",
];

impl Draw {
    /// One setting of an instance, or that of the unwinder.
    pub(super) fn setting(&mut self, instance: &str) {
        if self.one_in(9) {
            let unwinder = self.pick(UNWINDERS);
            return self.line(format!("put {UNWINDER} {unwinder}"));
        }
        let (file, value) = match self.below(8) {
            0..=2 => ("trace_clock", self.pick(CLOCKS)),
            3 => ("buffer_subbuf_size_kb", self.pick(&["4", "8", "16", "32"])),
            4 => ("trace_options", self.pick(OPTIONS)),
            5 => ("buffer_percent", self.pick(&["0", "50", "100"])),
            6 => ("tracing_cpumask", self.pick(&["1", "2", "3", "f"])),
            _ => ("buffer_size_kb", self.pick(SIZES)),
        };
        self.line(format!("put {instance}{file} {value}"));
    }

    /// Some changes of one kind, mostly of the instance. What is there for a moment only is seen if
    /// there are many.
    pub(super) fn changes(&mut self, instance: &str) {
        let instance = if self.one_in(4) {
            self.instance()
        } else {
            instance.to_string()
        };
        // Mostly another size, or another definition.
        let kind = match self.below(6) {
            0 | 1 => 0,
            2 => return self.redefinition(),
            _ => self.below(14),
        };
        let times = match self.below(4) {
            _ if kind == 0 => self.rng.random_range(10..40),
            0 | 1 => 1,
            2 if kind <= 3 => self.rng.random_range(20..60),
            _ => self.rng.random_range(2..10),
        };
        for _ in 0..times {
            self.change(kind, &instance);
        }
    }

    fn change(&mut self, kind: usize, instance: &str) {
        match kind {
            0..=2 => {
                let size = self.pick(SIZES);
                self.line(format!("put {instance}buffer_size_kb {size}"));
            }
            3 => self.setting(instance),
            4 => self.definition(),
            5 => self.event_filter(instance),
            6 => self.trigger(),
            7 => {
                let value = self.pick(&["0", "1", "1", "2"]);
                self.line(format!("put {instance}snapshot {value}"));
            }
            8 if self.one_in(3) => {
                let file = self.pick(&["trace_pipe", "trace_json", "per_cpu/cpu0/trace_pipe_raw"]);
                self.line(format!("@ wait {instance}{file}"));
            }
            8 => {
                let file = self.pick(&[
                    "trace",
                    "trace_pipe",
                    "trace_json",
                    "snapshot",
                    "kprobe_stats",
                    "per_cpu/cpu0/trace_pipe_raw",
                    "per_cpu/cpu1/trace_pipe",
                ]);
                let verb = self.pick(&["get", "hold"]);
                let bytes = self.pick(&["100", "5000", "100000"]);
                self.line(format!("{verb} {instance}{file} {bytes}"));
            }
            9 => {
                let Some(event) = self.event() else { return };
                let bytes = self.pick(&["100", "2000"]);
                self.line(format!("hold {instance}events/{}/hist {bytes}", event.name));
            }
            10 => self.line("more"),
            11 => {
                let cpu = self.pick(&["cpu 1 0", "cpu 1 1"]);
                self.line(cpu);
                self.line("cpu 1 1");
            }
            12 => {
                let value = self.rng.random_range(0..2);
                self.enable(value);
            }
            _ => {
                let ms = self.rng.random_range(1..60);
                self.line(format!("pause {ms}"));
            }
        }
    }

    /// A filter of an event, or that it has none.
    pub(super) fn event_filter(&mut self, instance: &str) {
        let Some(event) = self.event() else { return };
        let filter = self.filter(&event);
        let value = if self.one_in(3) { "0" } else { &filter };
        let file = format!("events/{}/filter", event.name);
        self.line(format!("put {instance}{file} {value}"));
    }

    /// Files are held, or mapped, while what they are of goes.
    pub(super) fn held(&mut self) {
        let instance = self.instance();
        match (self.below(4), self.event()) {
            (0, _) => {
                let cpu = self.below(2);
                self.line(format!("map {cpu}"));
            }
            (1, Some(event)) => self.line(format!("hold {instance}events/{}/hist 10", event.name)),
            (2, _) => return self.private(),
            _ => self.line(format!("hold {instance}trace 1000")),
        }
        if self.one_in(3) {
            self.wiped();
        }
        if self.one_in(2) {
            self.line("more");
        }
        self.line("drop");
    }

    /// An event that goes when its file is closed, with what has to do with it.
    fn private(&mut self) {
        self.next_constant += 1;
        let constant = self.next_constant;
        let call = self.call;
        self.line(format!(
            "keep private_events p:q/own {call} c{constant}=\\{constant}:u32 n0=\\3:u64"
        ));
        let own = Event {
            name: "q/own".to_string(),
            numbers: vec!["n0".to_string()],
            registers: Vec::new(),
            text: None,
        };
        self.synthetic_event();
        self.definition();
        let other = self.events.last().cloned();
        self.events.push(own.clone());
        self.emission(&own);
        if let Some(event) = other {
            self.emission(&event);
            self.emission_on_match(&own, &event);
        }
        self.trigger();
        self.line("put events/q/own/enable 1");
        self.line("calls 20");
        if self.one_in(2) {
            self.wrong();
        }
        self.line("drop");
        self.events.retain(|event| event.name != own.name);
        self.line("calls 20");
        self.wiped();
    }
}
