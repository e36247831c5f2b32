// SPDX-License-Identifier: GPL-2.0

//! Words of `set_event` that wait for their module.

use core::fmt::{self, Write};

use super::words::{EventNames, ModuleName};
use crate::engine::util::text::Appender;
use crate::sys::{AllocError, Vec};

/// Maximum number of words that wait. They are searched whenever a module is loaded.
pub const MAX_AWAITED: usize = 1024;

/// Why a word does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAwaited {
    /// Out of memory.
    NoMemory,
    /// [`MAX_AWAITED`] words wait already.
    TooMany,
}

impl From<AllocError> for NotAwaited {
    fn from(_: AllocError) -> Self {
        Self::NoMemory
    }
}

/// Words for modules that are not loaded. The events that they match are enabled when the module is
/// loaded.
#[derive(Default)]
pub struct AwaitedEvents {
    /// The names as `set_event` shows them.
    words: Vec<Vec<u8>>,
}

impl AwaitedEvents {
    /// Adds `names`, unless it is there already.
    ///
    /// # Errors
    ///
    /// [`NotAwaited`]; then nothing has changed.
    pub fn add(&mut self, names: &EventNames<'_>) -> Result<(), NotAwaited> {
        let mut word = Vec::new();
        write!(Appender(&mut word), "{names}").map_err(|_| AllocError)?;
        if self.words.iter().any(|other| **other == *word) {
            return Ok(());
        }
        if self.words.len() >= MAX_AWAITED {
            return Err(NotAwaited::TooMany);
        }
        Ok(self.words.push(word)?)
    }

    /// Returns a copy.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn copied(&self) -> Result<Self, AllocError> {
        let mut words = Vec::with_capacity(self.words.len())?;
        for word in &*self.words {
            words.push(Vec::from_slice(word)?)?;
        }
        Ok(Self { words })
    }

    /// Removes the words for the same module that `names` covers. Returns whether there were any.
    pub fn remove(&mut self, names: &EventNames<'_>) -> bool {
        self.remove_where(|word| names.covers(word))
    }

    /// Returns the words for the module `name`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn of_module(&self, name: &[u8]) -> Result<Vec<EventNames<'_>>, AllocError> {
        let mut words = Vec::new();
        for word in self.words.iter().map(|word| EventNames::new(word)) {
            if word.module().is_some_and(|module| module.is(name)) {
                words.push(word)?;
            }
        }
        Ok(words)
    }

    /// Removes the words for the module `name`.
    pub fn forget_module(&mut self, name: &[u8]) {
        let is_it = |module: ModuleName<'_>| module.is(name);
        self.remove_where(|word| word.module().is_some_and(is_it));
    }

    /// Removes all words.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Writes the words, one a line.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let mut words = self.words.iter();
        words.try_for_each(|word| writeln!(out, "{}", EventNames::new(word)))
    }

    fn remove_where(&mut self, which: impl Fn(&EventNames<'_>) -> bool) -> bool {
        let mut index = 0usize;
        let mut any = false;
        while let Some(word) = self.words.get(index) {
            if which(&EventNames::new(word)) {
                drop(self.words.take(index));
                any = true;
            } else {
                index = index.saturating_add(1);
            }
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited(words: &[&str]) -> AwaitedEvents {
        let mut awaited = AwaitedEvents::default();
        for word in words {
            let added = awaited.add(&EventNames::new(word.as_bytes()));
            added.expect("memory");
        }
        awaited
    }

    fn shown(awaited: &AwaitedEvents) -> String {
        let mut text = String::new();
        awaited.write(&mut text).expect("a String");
        text
    }

    #[test]
    fn a_word_waits_once_until_its_module_comes() {
        let mut words = awaited(&[":mod:a-b", "*:*:mod:a_b", "g:e:mod:c", "g:mod:a_b"]);
        assert_eq!(shown(&words), "*:*:mod:a_b\ng:e:mod:c\ng:mod:a_b\n");
        assert_eq!(words.of_module(b"a_b").unwrap().len(), 2);
        assert_eq!(words.of_module(b"a").unwrap().len(), 0);
        words.forget_module(b"a_b");
        assert_eq!(shown(&words), "g:e:mod:c\n");
        words.clear();
        assert_eq!(shown(&words), "");
    }

    #[test]
    fn words_are_not_without_number() {
        let mut words = AwaitedEvents::default();
        for n in 0..MAX_AWAITED {
            let word = format!(":mod:m{n}");
            assert_eq!(words.add(&EventNames::new(word.as_bytes())), Ok(()));
        }
        let more = |words: &mut AwaitedEvents| words.add(&EventNames::new(b":mod:more"));
        assert_eq!(more(&mut words), Err(NotAwaited::TooMany));
        assert_eq!(words.add(&EventNames::new(b":mod:m7")), Ok(()));
        let mut copy = words.copied().unwrap();
        copy.forget_module(b"m7");
        assert_eq!(more(&mut copy), Ok(()));
        assert_eq!(more(&mut words), Err(NotAwaited::TooMany));
    }

    #[test]
    fn what_is_removed_has_all_that_is_named() {
        let all = ["x:mod:m", "g:e:mod:m", "g:f:mod:m", "h:e:mod:m", "x:mod:n"];
        for (word, left) in [
            (":mod:m", "x:mod:n"),
            ("*:mod:m", "x:mod:n"),
            ("x:mod:m", "g:e:mod:m g:f:mod:m h:e:mod:m x:mod:n"),
            ("g::mod:m", "x:mod:m h:e:mod:m x:mod:n"),
            (":e:mod:m", "x:mod:m g:f:mod:m x:mod:n"),
            ("g:e:mod:m", "x:mod:m g:f:mod:m h:e:mod:m x:mod:n"),
        ] {
            let mut words = awaited(&all);
            assert!(words.remove(&EventNames::new(word.as_bytes())), "{word}");
            assert_eq!(shown(&words).replace('\n', " ").trim_end(), left, "{word}");
        }
        let mut words = awaited(&all);
        for word in ["g:mod:m", "e:mod:m", ":mod:o", "h:f:mod:m", "x:mod:mm"] {
            assert!(!words.remove(&EventNames::new(word.as_bytes())), "{word}");
        }
    }
}
