// SPDX-License-Identifier: GPL-2.0

//! What a hit causes: by actions that make the kernel run what is hit, and by events that cause
//! each other.

use ferroprobe_engine::engine::definition::kind::ProbeKind;
use ferroprobe_engine::engine::language::trigger::ROWS;

use super::{Draw, Event};

impl Draw {
    /// Each trigger, one after the other, on a function through which the module's actions run.
    pub(super) fn within(&mut self) {
        self.definition_within();
        let Some(event) = self.events.last().cloned() else {
            return;
        };
        if self.one_in(2) {
            self.line(format!("put events/{}/enable 1", event.name));
        }
        self.line("begin");
        if self.one_in(2) {
            self.line("@ wait trace_pipe");
        }
        for row in ROWS {
            let text = self.trigger_of(row, &event);
            self.line(format!("put events/{}/trigger {text}", event.name));
            self.line("calls 20");
            self.line("pause 150");
            if !self.one_in(4) {
                self.line(format!("put events/{}/trigger !{text}", event.name));
            }
        }
        self.line("pause 1100");
        self.line("end");
        self.wiped();
    }

    /// An event, synthetic events and event probes that cause each other, in circles too.
    pub(super) fn nested(&mut self) {
        for _ in 0..1 + self.below(2) {
            self.synthetic_event();
        }
        if self.one_in(3) {
            self.definition_within();
        } else {
            self.definition();
        }
        let Some(source) = self.events.last().cloned() else {
            return;
        };
        for _ in 0..self.below(3) {
            self.emission(&source);
        }
        let mut caused: Vec<Event> = self
            .synthetic
            .iter()
            .map(|synthetic| synthetic.event())
            .collect();
        for event in caused.clone() {
            self.emission(&event);
            if self.one_in(2) {
                self.line(format!("put events/{}/enable 1", event.name));
            }
        }
        // Each on the one before.
        caused.push(source);
        for _ in 0..self.below(5) {
            let n = self.below(caused.len());
            let place = caused[n].name.replace('/', ".");
            self.define(ProbeKind::Event, &place);
            let Some(event) = self.events.last().cloned() else {
                continue;
            };
            self.line(format!("put events/{}/enable 1", event.name));
            caused.push(event);
        }
        self.line("begin");
        self.line("calls 20");
        self.line("pause 100");
        self.line("end");
        self.wrong();
        self.wiped();
    }

    pub(super) fn wiped(&mut self) {
        self.line("wipe");
        self.events.clear();
        self.synthetic.clear();
        self.instances.clear();
    }
}
