// SPDX-License-Identifier: GPL-2.0

//! Definitions.

use ferroprobe_engine::engine::definition::kind::{Location, ProbeKind};
use ferroprobe_engine::engine::definition::ready;
use rand::{seq::IndexedRandom, Rng};

use super::{Draw, Event, Synthetic};

/// Functions that others hit, some of which last.
const HOT: &[&str] = &[
    "vfs_read",
    "vfs_write",
    "hrtimer_nanosleep",
    "hrtimer_nanosleep",
    "do_nanosleep",
    "kernel_clone",
    "do_sys_openat2",
    "__schedule",
    "kmem_cache_alloc_noprof",
    "do_exit",
    "finish_task_switch.isra.0",
    "mutex_lock",
    "_raw_spin_lock",
];

/// Functions that last as long as a call that sleeps.
const LASTING: &[&str] = &["hrtimer_nanosleep", "hrtimer_nanosleep", "do_nanosleep"];

/// Functions through which the module's own actions run: wake-ups, snapshots, times, clears.
const WITHIN: &[&str] = &[
    "irq_exit_rcu",
    "irq_enter_rcu",
    "irq_work_queue",
    "irq_work_run",
    "irq_work_single",
    "queue_delayed_work_on",
    "delayed_work_timer_fn",
    "__queue_work",
    "process_one_work",
    "local_clock",
    "sched_clock",
    "ktime_get_mono_fast_ns",
    "hrtimer_interrupt",
    "update_process_times",
    "try_to_wake_up",
    "__wake_up",
    "wake_up_process",
    "copy_from_kernel_nofault",
    "strncpy_from_user_nofault",
    "stack_trace_save",
    "synchronize_rcu",
    "vfs_write",
    "kfree",
    "__kmalloc_noprof",
];

/// Tracepoints, of which the first is hit by counted calls.
const POINTS: &[&str] = &[
    "fpsample_called_tp",
    "fpsample_called_tp",
    "sched_switch",
    "sched_waking",
    "irq_work_entry",
    "irq_work_exit",
    "workqueue_queue_work",
    "workqueue_execute_end",
    "hrtimer_expire_exit",
    "softirq_exit",
    "kmem_cache_free",
    "nmi_handler",
    "sys_enter",
    "sys_exit",
];

/// Types of values that a constant can have.
const TYPES: &[&str] = &[
    "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "x8", "x16", "x32", "x64", "be16",
    "be32", "be64", "ns", "size",
];

impl Draw {
    fn function(&mut self) -> String {
        match self.below(10) {
            0..=3 => self.call.to_string(),
            4..=5 => "fpsample:fpsample_double".to_string(),
            6..=7 => self.pick(HOT).to_string(),
            _ => self.pick(WITHIN).to_string(),
        }
    }

    /// The names of another event, GROUP.EVENT.
    fn other_event(&mut self) -> String {
        if self.one_in(5) {
            let group = ready::GROUPS.choose(&mut self.rng);
            if let Some(group) = group {
                let rows: Vec<&str> = group.events().map(|row| row.name).collect();
                return format!("{}.{}", group.name, self.pick(&rows));
            }
        }
        if self.one_in(6) {
            let synthetic = self.synthetic.choose(&mut self.rng);
            if let Some(synthetic) = synthetic {
                return format!("synthetic.{}", synthetic.name);
            }
        }
        self.event()
            .map_or("g.e0".to_string(), |event| event.name.replace('/', "."))
    }

    fn place(&mut self, kind: ProbeKind) -> Option<String> {
        Some(match kind.location? {
            Location::Text => self.function(),
            Location::File => self
                .pick(&[
                    "/bin/busybox:0x1000",
                    "/bin/busybox:0x1004",
                    "/init:0x10",
                    "/no:1",
                    "usdt:/bin/busybox:group:name",
                ])
                .to_string(),
            // In two of ten, patterns.
            Location::Function if self.below(10) < 2 => self
                .pick(&[
                    "vfs_*",
                    "fpsample:*",
                    "irq_work_*,vfs_read",
                    "ksys_*,vfs_* !vfs_w*",
                ])
                .to_string(),
            Location::Function => self.function(),
            Location::Tracepoint => self.pick(POINTS).to_string(),
            // What it takes from the CPUs is bounded by the shortest period and by `hit_limit`.
            Location::Period => self
                .pick(&["99hz", "10ms", "1000hz", "1s", "250us"])
                .to_string(),
            Location::Watched => self
                .pick(&[
                    "w@jiffies",
                    "rw@jiffies:1",
                    "x@fpsample:fpsample_double",
                    "w@jiffies+4:4",
                    "r@jiffies",
                    "w@jiffies+1:2",
                ])
                .to_string(),
            Location::Event => self.other_event(),
            Location::Pair => {
                let (begin, end) = (self.other_event(), self.other_event());
                let key = self.pick(&["(common_pid)", "(common_pid)", "(common_cpu)", ""]);
                format!("{begin}{key} {end}{key}")
            }
        })
    }

    /// Draws a definition of any kind that a definition can define.
    pub(super) fn definition(&mut self) {
        let Some(&kind) = ProbeKind::ALL.choose(&mut self.rng) else {
            return;
        };
        match self.place(kind) {
            Some(place) => self.define(kind, &place),
            None => self.synthetic_event(),
        }
    }

    /// Draws a definition on what the module's own actions run through.
    pub(super) fn definition_within(&mut self) {
        if self.one_in(4) {
            let place = self.pick(POINTS).to_string();
            return self.define(ProbeKind::Tracepoint, &place);
        }
        let functions = ProbeKind::ALL
            .iter()
            .filter(|kind| matches!(kind.location, Some(Location::Text | Location::Function)));
        let functions: Vec<ProbeKind> = functions.copied().collect();
        let Some(&kind) = functions.choose(&mut self.rng) else {
            return;
        };
        let place = self.pick(WITHIN).to_string();
        self.define(kind, &place);
    }

    /// Draws a definition that is hit by the calls which the guest counts, and enables it.
    pub(super) fn definition_that_counts(&mut self) {
        let hit = ProbeKind::ALL.iter().filter(|kind| {
            use Location::{Function, Text, Tracepoint};
            matches!(kind.location, Some(Text | Function | Tracepoint))
        });
        let hit: Vec<ProbeKind> = hit.copied().collect();
        let Some(&kind) = hit.choose(&mut self.rng) else {
            return;
        };
        let place = match kind.location {
            Some(Location::Tracepoint) => POINTS[0],
            _ if self.one_in(3) => "fpsample:fpsample_double",
            _ => self.call,
        };
        self.define(kind, place);
        let Some(event) = self.events.last().cloned() else {
            return;
        };
        let directory = format!("events/{}", event.name);
        self.line(format!("put {directory}/enable 1"));
        if self.one_in(2) {
            let filter = self.filter(&event);
            self.line(format!("put {directory}/filter {filter}"));
        }
    }

    /// Draws a definition that follows calls which last, and enables it; returns its name.
    pub(super) fn definition_that_lasts(&mut self) -> Option<String> {
        let returns = ProbeKind::ALL.iter().filter(|kind| {
            let has_function = matches!(kind.location, Some(Location::Text | Location::Function));
            kind.is_return && has_function
        });
        let returns: Vec<ProbeKind> = returns.copied().collect();
        let &kind = returns.choose(&mut self.rng)?;
        let place = self.pick(LASTING).to_string();
        self.define(kind, &place);
        let name = self.events.last()?.name.clone();
        self.line(format!("put events/{name}/enable 1"));
        Some(name)
    }

    pub(super) fn define(&mut self, kind: ProbeKind, place: &str) {
        let name = format!("g/e{}", self.below(8));
        self.define_as(&name, kind, place);
    }

    /// Draws another definition of an event that there is.
    pub(super) fn redefinition(&mut self) {
        if let Some(event) = self.event() {
            self.redefine(&event.name);
        }
    }

    /// Draws another definition of an event of which there are records.
    pub(super) fn redefinition_after(&mut self, calls: u32) {
        if let Some(event) = self.event() {
            self.line(format!("put events/{}/enable 1", event.name));
            self.line(format!("calls {calls}"));
            self.redefine(&event.name);
        }
    }

    fn redefine(&mut self, name: &str) {
        let Some(&kind) = ProbeKind::ALL.choose(&mut self.rng) else {
            return;
        };
        if let Some(place) = self.place(kind) {
            self.define_as(name, kind, &place);
            self.line(format!("put events/{name}/enable 1"));
        }
    }

    fn define_as(&mut self, name: &str, kind: ProbeKind, place: &str) {
        let most = kind.most_followed.filter(|_| self.one_in(3));
        let number = most.map_or(String::new(), |most| {
            // Two processors call at the same time.
            let number = match self.one_in(2) {
                true => 1,
                false => self.rng.random_range(1..=most.min(128)),
            };
            number.to_string()
        });
        let (event, arguments) = self.arguments(name, kind);
        let (letter, suffix) = (kind.letter, kind.suffix);
        let line = format!("{letter}{number}:{name} {place}{suffix}{arguments}");
        // What exists is deleted in the same write, or the new one is refused, or is one more
        // place of the same event.
        match self.below(4) {
            0 => self.line(format!("put dynamic_events {line}")),
            1 => {
                self.line(format!("put events/{name}/enable 0"));
                self.line(format!("put dynamic_events -:{name}"));
                self.line(format!("put dynamic_events {line}"));
            }
            _ => {
                self.line(format!("put events/{name}/enable 0"));
                self.line(format!("put dynamic_events -:{name}^n{line}"));
                // Where there is none, the deletion was refused.
                self.line(format!("put dynamic_events {line}"));
            }
        }
        self.events.retain(|known| known.name != name);
        self.events.push(event);
    }

    /// Draws arguments, each definition with a constant of its own, whose name says its value.
    fn arguments(&mut self, name: &str, kind: ProbeKind) -> (Event, String) {
        let mut event = Event {
            name: name.to_string(),
            numbers: Vec::new(),
            registers: Vec::new(),
            text: None,
        };
        self.next_constant += 1;
        let constant = self.next_constant;
        let mut arguments = Vec::new();
        for n in 0..self.below(4) {
            let kind = self.pick(TYPES);
            arguments.push(format!("f{n}=\\{}:{kind}", self.below(100)));
        }
        arguments.push(format!("c{constant}=\\{constant}:u32"));
        for n in 0..self.below(12) {
            let value = match self.below(4) {
                0 if kind.is_return => "$retval".to_string(),
                1 if !matches!(kind.location, Some(Location::Event | Location::Pair)) => {
                    format!("$arg{}", 1 + self.below(3))
                }
                _ => format!("\\{}", self.below(1000)),
            };
            arguments.push(format!("n{n}={value}:u64"));
            if value.starts_with('$') {
                event.registers.push(format!("n{n}"));
            }
            event.numbers.push(format!("n{n}"));
        }
        if self.one_in(2) {
            let texts = [
                "t=$comm",
                "t=$comm",
                "t=\\\"a\\ text\":string",
                "t=$current->comm:string",
            ];
            arguments.push(self.pick(&texts[..2]).to_string());
            event.text = Some("t".to_string());
        }
        if matches!(kind.location, Some(Location::Pair)) && self.one_in(3) {
            arguments.push("$begin.common_pid $begin.common_comm".to_string());
        }
        if self.one_in(6) {
            arguments.push("y=@jiffies:symstr".to_string());
        }
        if self.one_in(6) {
            arguments.push("why=((struct module *)@modules)->state:enum".to_string());
            arguments.push("six=@linux_proc_banner:ip6".to_string());
        }
        (event, format!(" {}", arguments.join(" ")))
    }

    /// Draws a synthetic event: numbers, and perhaps a text.
    pub(super) fn synthetic_event(&mut self) {
        let synthetic = Synthetic {
            name: format!("sy{}", self.below(3)),
            numbers: 1 + self.below(12),
            has_text: self.one_in(2),
        };
        let mut fields = Vec::new();
        if synthetic.has_text {
            fields.push(self.pick(&["char t[16]", "char t[]"]).to_string());
        }
        for n in 0..synthetic.numbers {
            fields.push(format!("u64 n{n}"));
        }
        self.line(format!(
            "put synthetic_events {} {}",
            synthetic.name,
            fields.join("; ")
        ));
        // What exists with other fields stays as it is.
        if !self
            .synthetic
            .iter()
            .any(|known| known.name == synthetic.name)
        {
            self.synthetic.push(synthetic);
        }
    }
}
