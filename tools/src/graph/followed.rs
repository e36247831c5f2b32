// SPDX-License-Identifier: GPL-2.0

//! The events of a session, and what is learned and shown of them.
//!
//! The first function has an event of its own, with the filter. Those that it reaches have `f`
//! events, as ftrace follows any number of functions at once; on a kernel that does not, each has a
//! return probe. A call through a pointer has a probe on its instruction, whose register has the
//! target: it is a mark in the tree until the target is followed itself.

use super::functions::Function;
use super::reach::Reach;
use super::results::Results;
use super::trees::{Callees, Trees};
use super::{Wanted, TYPES};
use crate::error::Result;
use crate::stream::Event;
use crate::trace::armed::{Armed, Program, Request};
use crate::trace::follow::{self, Item};
use crate::trace::losses::Hits;
use crate::trace::output::{Output, Taken};
use crate::trace::plan::Plan;
use crate::trace::refused::Refused;
use crate::trace::{instance, losses, setup};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// How often more is read before signals are looked at.
const FILLS: u32 = 16;

/// Bytes of names in a definition, whose lines have at most 4094.
const NAMES: usize = 3000;

/// Calls through pointers that are probed at most.
const MOST_SITES: usize = 500;

/// Names in one message.
const SHOWN: usize = 10;

/// The fields of a call.
const FIELDS: &str = "ret=$retval:s64 duration=$duration";

/// Where trees go.
pub struct Sink {
    trees: Trees,
    levels: usize,
    json: bool,
}

impl Sink {
    /// One that has nothing yet.
    pub fn new(wanted: &Wanted) -> Self {
        Self {
            trees: Trees::default(),
            levels: wanted.depth + 1,
            json: wanted.json,
        }
    }
}

/// What is followed.
pub struct Followed<'a, 't> {
    /// The session.
    pub armed: Armed,
    reach: Reach<'a, 't>,
    results: Results,
    /// The event of the first function.
    root: String,
    /// What ftrace reports; read only if it refuses what its code says it does.
    available: Option<HashSet<String>>,
    /// How many of the functions and calls have events.
    done: (usize, usize),
    /// The events, `GROUP/NAME`.
    events: Vec<String>,
    enabled: usize,
    /// Where the functions are that are reached, by their names.
    addresses: HashMap<String, Vec<u64>>,
    /// Whom they call.
    callees: Callees,
    /// Where those are that cannot be probed.
    hidden: BTreeSet<u64>,
    /// What cannot be probed.
    unprobed: Vec<String>,
    /// Calls through pointers without a probe, with the reason.
    unseen: Vec<String>,
    /// The number of calls through pointers with a probe, and the ones that were made.
    probed: usize,
    made: BTreeSet<String>,
    /// Whom they called before it was followed.
    learned: BTreeSet<String>,
    /// How much of this has been reported.
    reported: (usize, usize),
}

impl<'a, 't> Followed<'a, 't> {
    /// Defines the events, all disabled; or returns what is refused.
    pub fn new(
        request: &Request,
        plan: &mut Plan,
        program: Program<'_>,
        output: &mut Output,
        reach: Option<Reach<'a, 't>>,
    ) -> Result<std::result::Result<Self, Vec<Refused>>> {
        let mut say = |texts| output.say_all(texts);
        let armed = match Armed::new(request, plan, program, &mut say)? {
            Ok(armed) => armed,
            Err(refused) => return Ok(Err(refused)),
        };
        let root = plan.events.first();
        let Some((root, reach)) = root.zip(reach) else {
            let refuse = |event: &crate::trace::plan::Planned| Refused {
                reason: "there is no such function in /proc/kallsyms".into(),
                written: event.definition.written.clone(),
                at: event.definition.place_at(),
            };
            return Ok(Err(plan.events.iter().map(refuse).collect()));
        };
        let mut followed = Self {
            root: root.event(),
            available: None,
            addresses: HashMap::new(),
            callees: Callees::new(),
            hidden: BTreeSet::new(),
            armed,
            reach,
            results: Results::default(),
            done: (0, 0),
            events: Vec::new(),
            enabled: 0,
            unprobed: Vec::new(),
            unseen: Vec::new(),
            probed: 0,
            made: BTreeSet::new(),
            learned: BTreeSet::new(),
            reported: (0, 0),
        };
        followed.extend();
        Ok(Ok(followed))
    }

    /// Whether functions were added since it began.
    pub fn has_learned(&self) -> bool {
        !self.learned.is_empty()
    }

    /// What is known of the functions.
    pub fn into_reach(self) -> Reach<'a, 't> {
        self.reach
    }

    /// Enables the events that are not, the one of the first function last.
    pub fn enable(&mut self) -> Result<()> {
        let events = self.events.iter().skip(self.enabled);
        let root = (self.enabled == 0).then_some(&self.root);
        for event in events.chain(root) {
            self.armed
                .files
                .set(format!("events/{event}/enable"), "1")?;
        }
        self.enabled = self.events.len();
        Ok(())
    }

    /// Defines the events of what has been reached since.
    fn extend(&mut self) {
        let (functions, sites) = self.done;
        let new: Vec<Function<'t>> = self
            .reach
            .below(functions)
            .map(|reached| reached.function)
            .collect();
        self.done.0 += new.len();
        // All names, of which the kernel shows one.
        let all = self.reach.functions();
        let root = self.reach.root().filter(|_| functions == 0);
        let named: Vec<(&str, Option<&str>)> = new
            .iter()
            .chain(root.map(|root| &root.function))
            .flat_map(|function| all.at(function.address))
            .map(|function| (function.name, function.module))
            .collect();
        if !named.is_empty() {
            self.results.learn(Path::new(TYPES), &named);
        }
        let (traced, others): (Vec<_>, Vec<_>) = new
            .into_iter()
            .partition(|function| self.reach.reader().is_traced(function));
        for function in others {
            self.leave_out(&function);
        }
        self.define_functions(&traced);
        let new = self.reach.sites(sites).to_vec();
        self.done.1 += new.len();
        let mut lines = Vec::new();
        let group = instance::name();
        let event = format!("via_{}", self.events.len());
        for (caller, site) in new {
            let place = format!("{}+{:#x}", site.symbol, site.offset);
            let register = match site.pointer {
                Ok(register) if self.probed + lines.len() < MOST_SITES => register,
                Ok(_) => {
                    self.unseen.push(format!("{place}: there are too many"));
                    continue;
                }
                Err(why) => {
                    self.unseen.push(format!("{place}: {why}"));
                    continue;
                }
            };
            let module = self
                .reach
                .get(caller)
                .and_then(|reached| reached.function.module);
            let prefix = module.map_or(String::new(), |module| format!("{module}:"));
            lines.push((
                format!("p:{group}/{event} {prefix}{place} target=%{register}:x64"),
                place,
            ));
        }
        self.define_sites(&lines, format!("{group}/{event}"));
        self.name_all();
    }

    /// A function cannot be probed.
    fn leave_out(&mut self, function: &Function<'_>) {
        self.hidden.insert(function.address);
        self.unprobed.push(function.name.into());
    }

    /// Names what is known of calls, as the kernel may show it.
    fn name_all(&mut self) {
        let all = self.reach.functions();
        let names = |address: u64| all.at(address).iter().map(|found| found.name.to_string());
        let callees = self.reach.callees(|address| self.hidden.contains(&address));
        for (caller, called) in callees {
            let called: HashSet<String> = called.into_iter().flat_map(names).collect();
            for name in names(caller) {
                let known = self.callees.entry(name.clone()).or_default();
                known.extend(called.iter().cloned());
                let addresses = self.addresses.entry(name).or_default();
                if !addresses.contains(&caller) {
                    addresses.push(caller);
                }
            }
        }
    }

    /// Defines events of the returns of functions.
    fn define_functions(&mut self, functions: &[Function<'t>]) {
        let mut rest = functions;
        while !rest.is_empty() {
            let mut len = 0;
            let fit = rest.iter().take_while(|function| {
                len += function.name.len() + 1;
                len <= NAMES
            });
            let (chunk, behind) = rest.split_at(fit.count().max(1));
            rest = behind;
            let event = format!("{}/calls_{}", instance::name(), self.events.len());
            let names: Vec<&str> = chunk.iter().map(|function| function.name).collect();
            if self.define_list(&event, &names) || self.define_each(&event, chunk) {
                self.events.push(event);
            }
        }
    }

    /// Defines an event of the returns of all these functions. Returns whether it is there.
    fn define_list(&mut self, event: &str, names: &[&str]) -> bool {
        let names: BTreeSet<&str> = names.iter().copied().collect();
        let names: Vec<&str> = names.into_iter().collect();
        let line = format!("f:{event} {}%return {FIELDS}", names.join(","));
        !names.is_empty() && self.armed.define(&line).is_ok()
    }

    /// Defines an event of the returns of those functions that can be probed, after the others
    /// were refused with them.
    fn define_each(&mut self, event: &str, functions: &[Function<'t>]) -> bool {
        if self.available.is_none() {
            let names = self.armed.directory().read("available_filter_functions");
            let name = |line: &str| line.split(' ').next().unwrap_or_default().to_string();
            let names = names.unwrap_or_default();
            self.available = Some(names.lines().map(name).collect());
        }
        let available = self.available.take().unwrap_or_default();
        let all = self.reach.functions();
        let mut names = Vec::new();
        for function in functions {
            let mut aliases = all.at(function.address).iter().map(|alias| alias.name);
            match aliases.find(|name| available.contains(*name)) {
                Some(name) => names.push(name),
                None if available.is_empty() => {}
                None => self.leave_out(function),
            }
        }
        let has_ftrace = !available.is_empty();
        self.available = Some(available);
        if self.define_list(event, &names) {
            return true;
        }
        // This kernel has no fprobes.
        let mut is_there = false;
        for function in functions {
            if has_ftrace && self.hidden.contains(&function.address) {
                continue;
            }
            let line = format!("r:{event} {} {FIELDS}", function.name);
            match self.armed.define(&line) {
                Ok(()) => is_there = true,
                Err(_) => self.leave_out(function),
            }
        }
        is_there
    }

    /// Defines the event of calls through pointers, each of a line.
    fn define_sites(&mut self, lines: &[(String, String)], event: String) {
        if lines.is_empty() {
            return;
        }
        let texts: Vec<&str> = lines.iter().map(|(line, _)| line.as_str()).collect();
        let mut defined = 0;
        if self.armed.define(&texts.join("\n")).is_ok() {
            defined = lines.len();
        } else {
            for (line, place) in lines {
                match self.armed.define(line) {
                    Ok(()) => defined += 1,
                    Err(refused) => self.unseen.push(format!("{place}: {}", refused.reason)),
                }
            }
        }
        self.probed += defined;
        if defined > 0 {
            self.events.push(event);
        }
    }

    /// Takes what can be read now, and follows what is learned.
    pub fn take(&mut self, output: &mut Output, mut sink: Option<&mut Sink>) -> Result<Taken> {
        let mut taken = Taken::More;
        let mut is_new = false;
        for _ in 0..FILLS {
            if !self.armed.reader.fill()? {
                taken = Taken::All;
                break;
            }
            while let Some(line) = self.armed.reader.line() {
                let text = match follow::item(&line)? {
                    Item::Event(event) => {
                        is_new |= self.learn(&event);
                        sink.as_deref_mut().and_then(|sink| self.show(event, sink))
                    }
                    Item::Lost { count, cpu } => sink.as_ref().map(|sink| match sink.json {
                        true => format!("{line}\n"),
                        false => format!("  ... {count} records of CPU {cpu} are lost here\n"),
                    }),
                    Item::Stack(_) | Item::Began(_) | Item::Own => None,
                };
                if let Some(text) = text {
                    if !output.write(&text)? {
                        return Ok(Taken::NobodyReads);
                    }
                }
            }
        }
        if is_new {
            self.extend();
            self.enable()?;
        }
        Ok(taken)
    }

    /// The target, if the event is a call through a pointer.
    fn target(&self, event: &Event) -> Option<u64> {
        let is_site = event.name.starts_with("via_") && event.group == instance::name();
        event.arguments.get("target")?.as_u64().filter(|_| is_site)
    }

    /// Learns from a call through a pointer. Returns whether something is to be followed now.
    fn learn(&mut self, event: &Event) -> bool {
        let Some(target) = self.target(event) else {
            return false;
        };
        self.made.insert(event.place.clone().unwrap_or_default());
        let all = self.reach.functions();
        let Some(target) = all.entered(target).map(|found| found.address) else {
            return false;
        };
        let callers = self.addresses.get(caller_of(event)).cloned();
        let is_known = self.reach.get(target).is_some();
        let mut is_new = false;
        for caller in callers.unwrap_or_default() {
            is_new |= self.reach.learn(caller, target);
        }
        if !is_known && is_new {
            self.learned.insert(self.name(target));
        }
        is_new
    }

    /// The name of the function at `address`.
    fn name(&self, address: u64) -> String {
        match self.reach.functions().entered(address) {
            Some(found) => found.name.into(),
            None => format!("{address:#x}"),
        }
    }

    /// What is to be written of an event.
    fn show(&self, event: Box<Event>, sink: &mut Sink) -> Option<String> {
        if let Some(target) = self.target(&event) {
            let caller = caller_of(&event).to_string();
            sink.trees.through(event, &caller, &self.name(target));
            return None;
        }
        if format!("{}/{}", event.group, event.name) != self.root {
            sink.trees.add(event);
            return None;
        }
        let (levels, json, results) = (sink.levels, sink.json, &self.results);
        sink.trees.end(event, &self.callees, |tree| match json {
            true => tree.json(levels, results),
            false => tree.text(levels, results),
        })
    }

    /// What the user is to know before it begins.
    pub fn report(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        let (functions, sites) = (self.reach.below(0).count(), self.reach.sites(0).len());
        if (functions, sites) == (0, 0) && self.reach.unknown().is_empty() {
            said.push("it calls no function".into());
        }
        said.extend(self.news());
        for (function, why) in self.reach.unknown() {
            said.push(format!("{function}: {why}: whom it calls is not known"));
        }
        said
    }

    /// What is new of functions and calls that cannot be probed.
    fn news(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        let (unprobed, unseen) = self.reported;
        self.reported = (self.unprobed.len(), self.unseen.len());
        if let Some(names) = some(self.unprobed.get(unprobed..).unwrap_or_default(), ", ") {
            said.push(format!("no probe is possible on {names}"));
        }
        if let Some(places) = some(self.unseen.get(unseen..).unwrap_or_default(), "; ") {
            said.push(format!(
                "calls through pointers that are not seen: {places}"
            ));
        }
        said
    }

    /// What the user is to know when it has ended.
    pub fn end(&mut self, has_learned_before: bool) -> Vec<String> {
        let mut said = self.news();
        let learned: Vec<String> = self.learned.iter().cloned().collect();
        if let Some(names) = some(&learned, ", ") {
            let instead = match has_learned_before {
                true => "",
                false => "; --learn with a command follows them from the first call on",
            };
            said.push(format!(
                "followed only once a pointer had led there: {names}{instead}"
            ));
        }
        if self.probed > self.made.len() {
            said.push(format!(
                "of {} calls through pointers, {} were not made: whom they call is not known",
                self.probed,
                self.probed - self.made.len()
            ));
        }
        if self.reach.left_out() > 0 {
            said.push(format!(
                "left out {} functions: --most takes more",
                self.reach.left_out()
            ));
        }
        let lost = setup::lost(&self.armed.files);
        if lost > 0 {
            said.push(format!(
                "lost {lost} records, which trees lack: -p, -c, a smaller --depth or a larger \
                 --buffer loses fewer"
            ));
        }
        let stats = self
            .armed
            .directory()
            .read("kprobe_stats")
            .unwrap_or_default();
        let mut hits = Hits::default();
        for event in &self.events {
            hits += losses::hits(&stats, event);
        }
        if hits.missed > 0 {
            said.push(format!(
                "missed {} calls of functions below, which trees lack: see never-fires.rst",
                hits.missed
            ));
        }
        if hits.is_over_limit {
            said.push(
                "some functions were hit too often, and are not followed: see hit_limit".into(),
            );
        }
        said
    }

    /// What became of the hits of the first function.
    pub fn hits(&self, plan: &Plan) -> Vec<Hits> {
        self.armed.hits(plan)
    }
}

/// The function that makes a call through a pointer; a part of it may be elsewhere.
fn caller_of(event: &Event) -> &str {
    let name = event.function();
    name.strip_suffix(".cold").unwrap_or(name)
}

/// Some of the names, and how many more there are; `None` if there are none.
fn some(names: &[String], between: &str) -> Option<String> {
    let first = names.get(..names.len().min(SHOWN)).unwrap_or_default();
    let text = first.join(between);
    match names.len() {
        0 => None,
        len if len > SHOWN => Some(format!("{text} and {} more", len - SHOWN)),
        _ => Some(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        let names = |count: usize| -> Vec<String> { (0..count).map(|n| n.to_string()).collect() };
        assert_eq!(some(&names(0), ", "), None);
        assert_eq!(some(&names(3), ", ").as_deref(), Some("0, 1, 2"));
        let long = some(&names(12), "; ").expect("names");
        assert!(long.ends_with("; 9 and 2 more"), "{long}");
    }
}
