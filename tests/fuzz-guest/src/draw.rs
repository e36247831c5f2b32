// SPDX-License-Identifier: GPL-2.0

//! Draws operations.
//!
//! What exists when an operation is performed is not known for certain: names are few, so that most
//! operations find something, and a list can be cut anywhere. The tables of the product say
//! which kinds, triggers and ready-made events there are.

mod changes;
mod deep;
mod define;
mod triggers;
mod wrong;

use rand::{seq::IndexedRandom, Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// An event that was drawn: what it has if it was accepted.
#[derive(Clone, Debug)]
struct Event {
    /// GROUP/EVENT.
    name: String,
    /// Its fields that are numbers of 64 bits without a sign.
    numbers: Vec<String>,
    /// Its fields that are such numbers and are fetched from a register.
    registers: Vec<String>,
    /// Its field that is a text.
    text: Option<String>,
}

/// A synthetic event: so many numbers, and perhaps a text before them.
#[derive(Clone, Debug)]
struct Synthetic {
    name: String,
    numbers: usize,
    has_text: bool,
}

impl Synthetic {
    /// Returns it as an event, with its fields.
    fn event(&self) -> Event {
        Event {
            name: format!("synthetic/{}", self.name),
            numbers: (0..self.numbers).map(|n| format!("n{n}")).collect(),
            registers: Vec::new(),
            text: self.has_text.then(|| "t".to_string()),
        }
    }
}

/// Draws one list.
pub struct Draw {
    rng: ChaCha8Rng,
    lines: Vec<String>,
    events: Vec<Event>,
    synthetic: Vec<Synthetic>,
    instances: Vec<String>,
    next_constant: u32,
    call: &'static str,
}

/// Draws a list of so many rounds; the same one from the same seed.
pub fn draw(seed: u64, rounds: usize, is_arm64: bool) -> Vec<String> {
    let mut draw = Draw {
        rng: ChaCha8Rng::seed_from_u64(seed),
        lines: Vec::new(),
        events: Vec::new(),
        synthetic: Vec::new(),
        instances: Vec::new(),
        next_constant: 0,
        call: if is_arm64 {
            "__arm64_sys_setpriority"
        } else {
            "__x64_sys_setpriority"
        },
    };
    draw.line("sample 1");
    for _ in 0..rounds {
        draw.round();
    }
    draw.lines
}

impl Draw {
    fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn below(&mut self, n: usize) -> usize {
        self.rng.random_range(0..n)
    }

    /// True one time of `n`.
    fn one_in(&mut self, n: u32) -> bool {
        self.rng.random_ratio(1, n)
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all.choose(&mut self.rng).copied().unwrap_or("")
    }

    fn event(&mut self) -> Option<Event> {
        self.events.choose(&mut self.rng).cloned()
    }

    /// The directory of an instance, with a slash; mostly the top one.
    fn instance(&mut self) -> String {
        if self.one_in(3) {
            let instance = self.instances.choose(&mut self.rng).cloned();
            return instance.map_or(String::new(), |name| format!("instances/{name}/"));
        }
        String::new()
    }

    /// Something is made, a window with changes in it is looked at, something wrong is tried.
    fn round(&mut self) {
        match self.below(7) {
            0 => return self.within(),
            1 => return self.nested(),
            2 => return self.filtered(),
            _ => {}
        }
        for _ in 0..self.rng.random_range(1..3) {
            self.definition_that_counts();
        }
        for _ in 0..self.rng.random_range(0..5) {
            self.definition();
        }
        while self.one_in(3) {
            self.synthetic_event();
        }
        if self.one_in(3) {
            let name = self.pick(&["i0", "i1"]).to_string();
            self.line(format!("mkdir {name}"));
            if !self.instances.contains(&name) {
                self.instances.push(name);
            }
        }
        for _ in 0..self.rng.random_range(0..5) {
            self.trigger();
        }
        for _ in 0..self.rng.random_range(0..3) {
            let instance = self.instance();
            self.event_filter(&instance);
        }
        for _ in 0..self.rng.random_range(1..6) {
            self.enable(1);
        }
        if self.one_in(2) {
            let instance = self.instance();
            self.setting(&instance);
        }
        for _ in 0..self.rng.random_range(1..3) {
            self.window();
        }
        if self.one_in(3) {
            self.window_after_naps();
        }
        for _ in 0..self.rng.random_range(0..4) {
            self.wrong();
        }
        if self.one_in(4) {
            self.held();
        }
        if self.one_in(3) {
            self.killed();
        }
        if self.one_in(2) {
            self.wiped();
        }
        if self.one_in(8) {
            self.reload();
        }
    }

    /// Counted calls hit an event whose filter compares a register: it lets all pass, or none.
    fn filtered(&mut self) {
        self.definition_that_counts();
        let Some(event) = self.events.last().cloned() else {
            return;
        };
        let field = event.registers.choose(&mut self.rng).cloned();
        if let Some(field) = field {
            let sign = self.pick(&["==", "!=", "<", "<=", ">", ">="]);
            let number = self.below(1000);
            let filter = format!("events/{}/filter {field} {sign} {number}", event.name);
            self.line(format!("put {filter}"));
        }
        self.line("begin");
        let count = self.rng.random_range(10..200);
        self.line(format!("calls {count}"));
        self.line("end");
    }

    fn enable(&mut self, value: u8) {
        let instance = self.instance();
        let file = match self.event() {
            _ if self.one_in(6) => "events/g/enable".to_string(),
            Some(event) => format!("events/{}/enable", event.name),
            None => return,
        };
        self.line(format!("put {instance}{file} {value}"));
    }

    /// A window, in which something may be off, and be changed.
    fn window(&mut self) {
        let mut restore = None;
        let instance = self.instance();
        match self.below(4) {
            0 => {
                self.line(format!("put {instance}tracing_on 0"));
                restore = Some(format!("put {instance}tracing_on 1"));
            }
            1 => self.enable(0),
            _ => {}
        }
        self.line("begin");
        if self.one_in(2) {
            let count = self.rng.random_range(10..200);
            self.line(format!("calls {count}"));
            match self.below(4) {
                0 => self.redefinition_after(count),
                1 => self.changes(&instance),
                _ => {}
            }
            self.line(format!("calls {count}"));
            self.line("end");
        } else {
            let count = self.pick(&["500", "5000", "400000"]);
            self.line(format!("hammer {count}"));
            for _ in 0..self.rng.random_range(1..4) {
                self.changes(&instance);
            }
            self.line("end");
        }
        if let Some(line) = restore {
            self.line(line);
        }
    }

    /// Calls that last are begun while something is enabled, and return when it no longer is.
    fn window_after_naps(&mut self) {
        let ms = self.rng.random_range(200..500);
        let followed = match self.below(2) {
            0 => self.definition_that_lasts(),
            _ => None,
        };
        for _ in 0..self.rng.random_range(1..4) {
            self.line(format!("@ nap {ms}"));
        }
        self.line("pause 50");
        let instance = self.instance();
        if let Some(name) = followed {
            self.line(format!("put events/{name}/enable 0"));
        }
        for _ in 0..self.rng.random_range(1..4) {
            self.enable(0);
        }
        if self.one_in(2) {
            self.line(format!("put {instance}tracing_on 0"));
        }
        self.line("begin");
        if self.one_in(2) {
            self.changes(&instance);
        }
        self.line("sync 2000");
        self.line("end");
        self.line(format!("put {instance}tracing_on 1"));
    }
}
