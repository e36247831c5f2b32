// SPDX-License-Identifier: GPL-2.0

//! The combined choice of all words of a write to `set_event`.

use super::words::EventNames;
use crate::engine::util::sort::sort_by_key;
use crate::sys::{AllocError, Vec};

/// Number of words for single events from which sorting the events pays.
const MANY: usize = 16;

/// An event, and the choice for it.
#[derive(Clone, Copy)]
pub struct ChosenEvent<'a> {
    pub group: &'a [u8],
    pub name: &'a [u8],
    /// Whether it exists. A ready-made event does not exist before its first use.
    pub is_made: bool,
    is_used: bool,
    on: Option<bool>,
}

/// All events, each with the choice for it: enable, disable, or none yet.
#[derive(Default)]
pub struct ChosenEvents<'a> {
    events: Vec<ChosenEvent<'a>>,
    is_sorted: bool,
    /// The number of words for single events so far.
    words: usize,
}

impl<'a> ChosenEvents<'a> {
    /// Adds the event `name` of `group`: whether it exists, and whether it was ever used.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn add(
        &mut self,
        group: &'a [u8],
        name: &'a [u8],
        is_made: bool,
        is_used: bool,
    ) -> Result<(), AllocError> {
        self.is_sorted = false;
        self.events.push(ChosenEvent {
            group,
            name,
            is_made,
            is_used,
            on: None,
        })
    }

    /// Chooses the events that match `names`, in any module; the last choice wins. Enabling all
    /// events means those that were ever used. Returns whether any event matches.
    ///
    /// A word for one event takes a search, any other word a pass over all events.
    pub fn choose(&mut self, names: &EventNames<'_>, on: bool) -> bool {
        if let Some((group, name)) = names.one() {
            return self.choose_one(group, name, on);
        }
        let mut any = false;
        let only_used = on && names.are_all();
        for event in self.events.iter_mut() {
            if names.are_named(event.group, event.name) {
                any |= event.is_made || !only_used;
                if event.is_used || !only_used {
                    event.on = Some(on);
                }
            }
        }
        any
    }

    /// Chooses the event `name` of `group`. Returns whether it is known.
    pub fn choose_one(&mut self, group: &[u8], name: &[u8], on: bool) -> bool {
        self.words = self.words.saturating_add(1);
        if self.words > MANY && !self.is_sorted {
            sort_by_key(&mut self.events, |event| (event.group, event.name));
            self.is_sorted = true;
        }
        let found = match self.is_sorted {
            true => {
                let is_before = |event: &ChosenEvent<'_>| (event.group, event.name) < (group, name);
                let at = self.events.partition_point(is_before);
                let found = self.events.get_mut(at);
                found.filter(|event| event.group == group && event.name == name)
            }
            false => {
                let mut all = self.events.iter_mut();
                all.find(|event| event.group == group && event.name == name)
            }
        };
        let is_there = found.is_some();
        if let Some(event) = found {
            event.on = Some(on);
        }
        is_there
    }

    /// Returns the events with a choice.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn decided(&self) -> Result<Decided<'a>, AllocError> {
        let mut events = Vec::new();
        for event in self.events.iter().filter(|event| event.on.is_some()) {
            events.push(*event)?;
        }
        sort_by_key(&mut events, |event| (event.group, event.name));
        Ok(Decided(events))
    }
}

/// The events with a choice.
pub struct Decided<'a>(Vec<ChosenEvent<'a>>);

impl<'a> Decided<'a> {
    /// Returns the choice for the event `name` of `group`.
    pub fn of(&self, group: &[u8], name: &[u8]) -> Option<bool> {
        let is_before = |event: &ChosenEvent<'_>| (event.group, event.name) < (group, name);
        let found = self.0.get(self.0.partition_point(is_before))?;
        let is_it = found.group == group && found.name == name;
        found.on.filter(|_| is_it)
    }

    /// Returns whether any event is to be enabled, or disabled if not `on`.
    pub fn any(&self, on: bool) -> bool {
        self.0.iter().any(|event| event.on == Some(on))
    }

    /// Returns the events to enable that do not exist yet.
    pub fn unmade(&self) -> impl Iterator<Item = &ChosenEvent<'a>> {
        let all = self.0.iter();
        all.filter(|event| !event.is_made && event.on == Some(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE: [(&str, &str); 5] = [("a", "x"), ("b", "x"), ("a", "y"), ("x", "z"), ("b", "y")];
    /// The first was looked at.
    const UNUSED: [(&str, &str); 2] = [("sched", "x"), ("sched", "fork")];

    fn choose(words: &[&str]) -> (String, std::vec::Vec<bool>) {
        let mut chosen = ChosenEvents::default();
        for (n, (group, name)) in MADE.iter().chain(&UNUSED).enumerate() {
            let (is_made, is_used) = (n <= MADE.len(), n < MADE.len());
            let added = chosen.add(group.as_bytes(), name.as_bytes(), is_made, is_used);
            added.unwrap();
        }
        let found = words.iter().map(|word| {
            let off = word.strip_prefix('!');
            let names = EventNames::new(off.unwrap_or(word).as_bytes());
            chosen.choose(&names, off.is_none())
        });
        let found = found.collect();
        let decided = chosen.decided().unwrap();
        let mut text = String::new();
        for (group, name) in MADE.iter().chain(&UNUSED) {
            text.push(match decided.of(group.as_bytes(), name.as_bytes()) {
                Some(true) => '1',
                Some(false) => '0',
                None => '-',
            });
        }
        assert_eq!(decided.any(true), text.contains('1'));
        assert_eq!(decided.any(false), text.contains('0'));
        (text, found)
    }

    #[test]
    fn the_last_word_holds() {
        for (words, want) in [
            (&["a:x"][..], "1------"),
            (&["a:x", "!a:x"], "0------"),
            (&["!a:*", "a:x", "z"], "1-01---"),
            (&["x"], "11-1-1-"),
            (&["*"], "11111--"),
            (&["!*"], "0000000"),
            (&["sched", "!sched:x", "*:*"], "1111101"),
            (&["*:y", "!b:y"], "--1-0--"),
            (&[], "-------"),
        ] {
            assert_eq!(choose(words).0, want, "{words:?}");
            // The same with so many words that the events are sorted.
            let mut many = ["b:x"; 2 * MANY].to_vec();
            many.extend(words);
            let mut again = want.to_string();
            if again.as_bytes()[1] == b'-' {
                again.replace_range(1..2, "1");
            }
            assert_eq!(choose(&many).0, again, "{words:?}");
        }
    }

    #[test]
    fn a_word_that_means_nothing_is_told() {
        let words = ["a:x", "c:x", "c", "!c:*", "a:z", ":z", "sched:fork", ""];
        let found = choose(&words).1;
        assert_eq!(found, [true, false, false, false, false, true, true, false]);
    }
}
