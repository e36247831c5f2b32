// SPDX-License-Identifier: GPL-2.0

//! Makes trees of the calls of the first function, as they end.
//!
//! What it calls ends before it does, and what nobody waits for is forgotten after a while. A call
//! of the first function that is inside of another one is a tree of its own, and one line of the
//! tree of the outer one, which ends later.

use super::results::Results;
use crate::stream::{self, Event};
use crate::tree::{self, Ended, Node, Wanted};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// Events that are kept at most, of all threads.
const KEPT: usize = 100_000;

/// The argument with the result.
pub const RESULT: &str = "ret";

/// The argument with the time.
pub const DURATION: &str = "duration";

/// What the name of a function begins with that was called through a pointer, but is not followed.
const THROUGH: &str = "-> ";

/// Whom functions call, by their names.
pub type Callees = HashMap<String, HashSet<String>>;

/// The tree of a call of the first function.
#[derive(Debug, Clone, Copy)]
pub struct Tree<'a> {
    root: &'a Node<Box<Event>>,
    /// Whether something inside of it was forgotten.
    is_cut: bool,
}

/// What is known of the threads.
#[derive(Debug, Default)]
pub struct Trees {
    threads: HashMap<u32, Ended<Box<Event>>>,
    count: usize,
    /// Until when something was forgotten.
    forgotten: u64,
}

impl Trees {
    /// Adds the end of a call.
    pub fn add(&mut self, event: Box<Event>) {
        if self.count >= KEPT {
            self.forget();
        }
        self.count += 1;
        let ended = self.threads.entry(event.track()).or_default();
        ended.add(event, DURATION);
    }

    /// Adds a call of `target` through a pointer, by `caller`.
    pub fn through(&mut self, mut event: Box<Event>, caller: &str, target: &str) {
        event.name = caller.into();
        event.place = Some(format!("{THROUGH}{target}"));
        event.arguments.clear();
        self.add(event);
    }

    /// Adds the end of a call of the first function, and shows its tree. Of a tree around it, it is
    /// one line.
    pub fn end<T>(
        &mut self,
        event: Box<Event>,
        callees: &Callees,
        show: impl FnOnce(Tree<'_>) -> T,
    ) -> Option<T> {
        let track = event.track();
        self.add(event);
        let root = self.threads.get_mut(&track)?.last_mut()?;
        tidy(root, callees);
        let shown = show(Tree {
            root,
            is_cut: root.begin < self.forgotten,
        });
        self.count = self.count.saturating_sub(size(root) - 1);
        root.inside.clear();
        root.event.arguments.insert("shown".into(), "above".into());
        Some(shown)
    }

    /// Forgets the earlier half.
    fn forget(&mut self) {
        let nodes = self.threads.values().flat_map(Ended::nodes);
        let mut times: Vec<u64> = nodes.map(|node| node.event.time).collect();
        if times.is_empty() {
            return;
        }
        let middle = times.len() / 2;
        let (_, time, _) = times.select_nth_unstable(middle);
        // At least one goes.
        let time = time.saturating_add(1);
        for ended in self.threads.values_mut() {
            ended.forget(time);
        }
        self.threads
            .retain(|_, ended| ended.nodes().next().is_some());
        let nodes = self.threads.values().flat_map(Ended::nodes);
        self.count = nodes.map(size).sum();
        self.forgotten = time;
    }
}

/// How many events a node is.
fn size(node: &Node<Box<Event>>) -> usize {
    1 + node.inside.iter().map(size).sum::<usize>()
}

/// Takes out what the function does not call: what an interrupt calls meanwhile, or a function that
/// is not followed. And the marks of calls through pointers that are shown themselves.
fn tidy(node: &mut Node<Box<Event>>, callees: &Callees) {
    let name = node.name().to_string();
    let known = callees.get(&name);
    let mut behind: Vec<String> = Vec::new();
    let mut is_kept: Vec<bool> = Vec::new();
    for inner in node.inside.iter().rev() {
        let inner_name = inner.name();
        is_kept.push(match inner_name.strip_prefix(THROUGH) {
            Some(target) => {
                let is_shown = behind.iter().any(|name| name == target);
                behind.clear();
                inner.event.name == name && !is_shown
            }
            None => {
                behind.push(inner_name.into());
                known.is_some_and(|known| known.contains(inner_name))
            }
        });
    }
    node.inside.retain(|_| is_kept.pop().unwrap_or(true));
    for inner in &mut node.inside {
        tidy(inner, callees);
    }
}

impl Tree<'_> {
    /// Draws it, of at most so many levels.
    pub fn text(&self, levels: usize, results: &Results) -> String {
        let shown = |event: &Event, name: &str, value: &Value| match (name, value.as_i64()) {
            (RESULT, Some(register)) => results.of(event.function()).text(register),
            _ => Some(stream::text(value)),
        };
        let wanted = Wanted {
            duration: DURATION,
            below: None,
            levels: Some(levels),
            failed: None,
        };
        let mut out = String::new();
        tree::heading(&self.root.event, &mut out);
        tree::draw(self.root, &wanted, &shown, &mut out);
        if self.is_cut {
            out.push_str("  ... it began too long ago: of its first calls some are left out\n");
        }
        out
    }

    /// Returns the tree as one line of JSON.
    pub fn json(&self, levels: usize, results: &Results) -> String {
        let event = &self.root.event;
        let mut object = Map::new();
        for (name, value) in [
            ("comm", Value::from(event.comm.as_str())),
            ("pid", event.pid.into()),
            ("cpu", event.cpu.into()),
        ] {
            object.insert(name.into(), value);
        }
        object.extend(object_of(self.root, levels, results));
        if self.is_cut {
            object.insert("cut".into(), true.into());
        }
        let mut line = Value::from(object).to_string();
        line.push('\n');
        line
    }
}

fn object_of(node: &Node<Box<Event>>, levels: usize, results: &Results) -> Map<String, Value> {
    let mut object = Map::new();
    let name = node.name();
    object.insert("ts".into(), node.begin.into());
    match name.strip_prefix(THROUGH) {
        Some(target) => object.insert("pointer_to".into(), target.into()),
        None => object.insert("function".into(), name.into()),
    };
    for (argument, value) in &node.event.arguments {
        let result = value.as_i64().filter(|_| argument == RESULT);
        let Some(register) = result else {
            object.insert(argument.clone(), value.clone());
            continue;
        };
        let returns = results.of(name);
        if let Some(number) = returns.number(register) {
            object.insert(RESULT.into(), number);
        }
        let text = returns.text(register).unwrap_or_default();
        if let Some(error) = text.strip_prefix("-E") {
            object.insert("error".into(), format!("E{error}").into());
        }
    }
    if !node.inside.is_empty() && levels > 1 {
        let calls = node.inside.iter();
        let calls = calls.map(|call| Value::from(object_of(call, levels - 1, results)));
        object.insert("calls".into(), calls.collect());
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(pid: u32, end: u64, took: u64, name: &str, ret: i64) -> Box<Event> {
        let mut arguments = Map::new();
        arguments.insert(RESULT.into(), ret.into());
        arguments.insert(DURATION.into(), took.into());
        Box::new(Event {
            time: end,
            cpu: 0,
            pid,
            tgid: None,
            comm: "cat".into(),
            group: "g".into(),
            name: "calls".into(),
            place: Some(format!("{name}+0x0/0x40")),
            arguments,
            truncated: Vec::new(),
            stack: Vec::new(),
        })
    }

    fn callees() -> Callees {
        let of = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        [
            ("root".into(), of(&["first", "before", "root"])),
            ("first".into(), of(&["deep"])),
        ]
        .into()
    }

    fn ended(trees: &mut Trees, root: Box<Event>) -> String {
        let shown = trees.end(root, &callees(), |tree| tree.text(3, &Results::default()));
        shown.expect("a tree")
    }

    #[test]
    fn a_tree_has_the_calls_of_its_thread() {
        let mut trees = Trees::default();
        trees.add(event(7, 1_000, 100, "before", 0));
        trees.through(event(7, 2_050, 0, "site", 0), "root", "first");
        trees.add(event(7, 2_190, 20, "interrupt", 0));
        trees.add(event(7, 2_200, 100, "first", -2));
        trees.add(event(8, 2_250, 100, "other", 0));
        trees.through(event(7, 2_300, 0, "site", 0), "root", "unknown");
        trees.through(event(7, 2_350, 0, "site", 0), "interrupt", "unknown");
        trees.add(event(7, 2_400, 20, "interrupt", 0));
        let root = event(7, 3_000, 1_000, "root", 5);
        let mut again = root.clone();
        assert_eq!(
            ended(&mut trees, root),
            "\
cat-7
     0.000002000       1.000 us  root ret=5
     0.000002100       0.100 us    first ret=-ENOENT
     0.000002300                   -> unknown
"
        );
        // A call around it has it as one line.
        (again.time, again.arguments[DURATION]) = (4_000, 3_500.into());
        assert_eq!(
            ended(&mut trees, again),
            "\
cat-7
     0.000000500       3.500 us  root ret=5
     0.000000900       0.100 us    before ret=0
     0.000002000       1.000 us    root ret=5 shown=above
"
        );
    }

    #[test]
    fn json_is_nested() {
        let mut trees = Trees::default();
        trees.add(event(7, 2_100, 50, "deep", 0));
        trees.add(event(7, 2_200, 150, "first", -2));
        let root = event(7, 3_000, 1_000, "root", 5);
        let line = trees.end(root, &callees(), |tree| tree.json(2, &Results::default()));
        assert_eq!(
            line.as_deref(),
            Some(
                "{\"comm\":\"cat\",\"pid\":7,\"cpu\":0,\"ts\":2000,\"function\":\"root\",\
                 \"ret\":5,\"duration\":1000,\"calls\":[{\"ts\":2050,\"function\":\"first\",\
                 \"ret\":-2,\"error\":\"ENOENT\",\"duration\":150}]}\n"
            )
        );
    }

    #[test]
    fn a_moment_between_two_clocks_does_not_move_a_call() {
        let mut trees = Trees::default();
        // A call that has ended before, and one whose duration is 2 too long.
        trees.add(event(7, 102, 40, "before", 0));
        trees.add(event(7, 200, 102, "called", 0));
        let root = event(7, 300, 200, "root", 0);
        let calls: HashSet<String> = ["before", "called"].map(String::from).into();
        let callees = [("root".to_string(), calls)].into();
        let (begins, names) = trees
            .end(root, &callees, |tree| {
                let inside = tree.root.inside.iter();
                let names: Vec<String> = inside.clone().map(|node| node.name().into()).collect();
                (inside.map(|node| node.begin).collect::<Vec<_>>(), names)
            })
            .expect("a tree");
        assert_eq!(names, ["called"]);
        assert_eq!(begins, [100]);
    }

    #[test]
    fn what_nobody_waits_for_is_forgotten() {
        let mut trees = Trees::default();
        let many = KEPT as u64 + 10;
        for n in 1..=many {
            trees.add(event(7, n * 10, 5, "call", 0));
        }
        assert!(trees.count < KEPT);
        let text = ended(&mut trees, event(7, many * 10 + 5, many * 10, "root", 0));
        assert!(text.ends_with("some are left out\n"));
    }
}
