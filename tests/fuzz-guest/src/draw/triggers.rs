// SPDX-License-Identifier: GPL-2.0

//! Triggers, histograms and filters.

use ferroprobe_engine::engine::language::trigger::{TriggerRow, ROWS};
use rand::seq::IndexedRandom;

use super::{Draw, Event};

impl Draw {
    /// An event, which may be a synthetic one.
    fn subject(&mut self) -> Option<Event> {
        if self.one_in(3) {
            let synthetic = self.synthetic.choose(&mut self.rng).cloned();
            if let Some(synthetic) = synthetic {
                return Some(synthetic.event());
            }
        }
        self.event()
    }

    /// Draws what is written for a trigger of the kind `row`.
    pub(super) fn trigger_of(&mut self, row: &TriggerRow, event: &Event) -> String {
        let mut text = row.name.to_string();
        if row.usage.contains("keys=") {
            text = format!("hist:{}", self.histogram(event));
        } else if row.usage.contains("GROUP:EVENT") {
            let other = self.subject().unwrap_or_else(|| event.clone());
            text.push_str(&format!(":{}", other.name.replace('/', ":")));
        }
        if row.usage.contains("COUNT") && self.one_in(3) {
            text.push_str(&format!(":{}", 1 + self.below(50)));
        }
        if self.one_in(4) {
            text.push_str(&format!(" if {}", self.filter(event)));
        }
        text
    }

    /// Sets a histogram that emits one of the synthetic events, if there is one.
    pub(super) fn emission(&mut self, event: &Event) {
        let key = match &event.text {
            Some(text) if self.one_in(2) => text.clone(),
            _ => "common_pid".to_string(),
        };
        let number = event.numbers.choose(&mut self.rng).cloned();
        let variable = format!("v{}", self.below(100));
        let value = number.unwrap_or_else(|| "common_timestamp".to_string());
        let action = self.action(event, &variable);
        let text = format!("hist:keys={key}:{variable}={value}{action}");
        self.line(format!("put events/{}/trigger {text}", event.name));
    }

    /// Sets a histogram of `event` that emits a synthetic event, if there is one, with a variable of
    /// `matched`.
    pub(super) fn emission_on_match(&mut self, matched: &Event, event: &Event) {
        let Some(synthetic) = self.synthetic.choose(&mut self.rng).cloned() else {
            return;
        };
        self.next_constant += 1;
        let variable = format!("w{}", self.next_constant);
        let value = matched.numbers.choose(&mut self.rng).cloned();
        let value = value.unwrap_or_else(|| "common_timestamp".to_string());
        let text = format!("hist:keys=common_pid:{variable}={value}");
        self.line(format!("put events/{}/trigger {text}", matched.name));
        let text = synthetic.has_text.then(|| "common_comm".to_string());
        let numbers = (0..synthetic.numbers).map(|_| format!("${variable}"));
        let arguments: Vec<String> = text.into_iter().chain(numbers).collect();
        let text = format!(
            "hist:keys=common_pid:onmatch({}).trace({},{})",
            matched.name.replace('/', "."),
            synthetic.name,
            arguments.join(",")
        );
        self.line(format!("put events/{}/trigger {text}", event.name));
    }

    /// Draws a trigger of an event, or its removal.
    pub(super) fn trigger(&mut self) {
        let Some(event) = self.subject() else { return };
        let Some(row) = ROWS.choose(&mut self.rng) else {
            return;
        };
        let text = self.trigger_of(row, &event);
        let instance = self.instance();
        let file = format!("{instance}events/{}/trigger", event.name);
        self.line(format!("put {file} {text}"));
        if self.one_in(5) {
            self.line(format!("put {file} !{text}"));
        }
    }

    pub(super) fn filter(&mut self, event: &Event) -> String {
        let number = event.numbers.choose(&mut self.rng).cloned();
        let field = number.unwrap_or_else(|| "common_pid".to_string());
        match (self.below(9), &event.text) {
            (0, Some(text)) => format!("{text} == \"fprun\""),
            (1, Some(text)) => format!("{text} ~ \"*a*f*p*\""),
            (2, _) => "common_pid > 0".to_string(),
            (3, _) => format!("{field} < 500 || {field} & 3"),
            (4, _) => "CPU & CPUS{0-1}".to_string(),
            (5, _) => self.named_filter(&field),
            // Numbers are mostly constants below 1000.
            _ => {
                let sign = self.pick(&["==", "!=", "<", "<=", ">", ">=", "&"]);
                format!("{field} {sign} {}", self.below(1000))
            }
        }
    }

    /// A filter with names in the place of numbers: of the kernel's types, which are looked up, of
    /// errors, flags and signals, and of none.
    fn named_filter(&mut self, field: &str) -> String {
        let name = self.pick(&[
            "PIDTYPE_TGID",
            "TCP_CLOSE",
            "SKB_DROP_REASON_NO_SOCKET",
            "-ENOENT",
            "O_CREAT",
            "SIGCHLD",
            "NO_SUCH_NAME",
        ]);
        let field = self.pick(&[field, "common_tgid"]).to_string();
        match self.below(3) {
            0 => format!("{field} != {name}"),
            1 => format!("{field} == {name} || common_tgid > 0"),
            _ => format!("({field} & 0xff) != {name}"),
        }
    }

    /// What follows "hist:".
    fn histogram(&mut self, event: &Event) -> String {
        let number = |draw: &mut Self| {
            let number = event.numbers.choose(&mut draw.rng).cloned();
            number.unwrap_or_else(|| "common_pid".to_string())
        };
        let mut keys = vec![match (self.below(8), &event.text) {
            (0..=2, Some(text)) => text.clone(),
            (3, _) => "common_stacktrace".to_string(),
            (4, _) => "common_pid".to_string(),
            (5, _) => "common_tgid".to_string(),
            (6, _) => self.pick(&["why", "why.enum", "six"]).to_string(),
            _ => number(self),
        }];
        if self.one_in(4) {
            keys.push("common_cpu".to_string());
        }
        let mut text = format!("keys={}", keys.join(","));
        if self.one_in(3) {
            text.push_str(&format!(":vals={}", number(self)));
        }
        if self.one_in(3) {
            text.push_str(self.pick(&[":size=128", ":size=8192"]));
        }
        if !self.one_in(3) {
            let of = number(self);
            let variable = format!("v{}", self.below(100));
            let value = match self.below(6) {
                0 => "common_timestamp".to_string(),
                1 => "common_timestamp.usecs".to_string(),
                2 => format!("{of}+1"),
                3 => event.text.clone().unwrap_or(of),
                _ => of,
            };
            text.push_str(&format!(":{variable}={value}"));
            text.push_str(&self.action(event, &variable));
        }
        text
    }

    /// What a histogram does when its variable changes, or when it matches.
    fn action(&mut self, event: &Event, variable: &str) -> String {
        let handler = match self.below(3) {
            0 => format!("onmax(${variable})"),
            1 => format!("onchange(${variable})"),
            _ => {
                let matched = match self.event() {
                    Some(other) if self.one_in(2) => other,
                    _ => event.clone(),
                };
                format!("onmatch({})", matched.name.replace('/', "."))
            }
        };
        let synthetic = self.synthetic.choose(&mut self.rng).cloned();
        match (self.below(6), synthetic) {
            (0, _) => format!(":{handler}.snapshot()"),
            (1, _) => format!(":{handler}.save(common_pid)"),
            (_, Some(synthetic)) => {
                let mut arguments = Vec::new();
                if synthetic.has_text {
                    let text = event.text.clone();
                    arguments.push(text.unwrap_or_else(|| "common_comm".to_string()));
                }
                for _ in 0..synthetic.numbers {
                    let number = event.numbers.choose(&mut self.rng).cloned();
                    arguments.push(number.unwrap_or_else(|| format!("${variable}")));
                }
                let name = &synthetic.name;
                match self.below(2) {
                    0 => format!(":{handler}.trace({name},{})", arguments.join(",")),
                    _ => format!(":{handler}.{name}({})", arguments.join(",")),
                }
            }
            _ => String::new(),
        }
    }
}
