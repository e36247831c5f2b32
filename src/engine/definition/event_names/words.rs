// SPDX-License-Identifier: GPL-2.0

//! A word of `set_event`: names of events, in any module or in one.

use core::fmt;

use crate::engine::definition::ast::MAX_NAME_LEN;
use crate::engine::util::{glob, text::Plain};

/// Separates the names of events from the module.
const OF_MODULE: &[u8] = b":mod:";

/// Number of bytes of the longest name of a module: the kernel's `MODULE_NAME_LEN`, without the
/// NUL.
const LONGEST_MODULE: usize = 55;

/// A word of `set_event`, parsed.
#[derive(Clone, Copy)]
pub struct EventNames<'a> {
    names: NamedEvents<'a>,
    module: Option<ModuleName<'a>>,
}

/// `GROUP:EVENT`, where nothing matches any, or a single name of either. Unlike in tracefs, names may
/// be patterns.
#[derive(Clone, Copy)]
enum NamedEvents<'a> {
    Either(&'a [u8]),
    Both(Option<&'a [u8]>, Option<&'a [u8]>),
}

/// A module name as written: `-` and `_` are equivalent.
#[derive(Clone, Copy)]
pub struct ModuleName<'a>(&'a [u8]);

impl<'a> EventNames<'a> {
    /// Parses `word`.
    pub fn new(word: &'a [u8]) -> Self {
        let mut parts = word.windows(OF_MODULE.len());
        let behind = |at: usize| word.get(at.saturating_add(OF_MODULE.len())..);
        let Some(at) = parts.position(|part| part == OF_MODULE) else {
            return Self {
                names: NamedEvents::new(word),
                module: None,
            };
        };
        let names = match word.get(..at).unwrap_or_default() {
            b"" => NamedEvents::Both(None, None),
            names => NamedEvents::new(names),
        };
        Self {
            names,
            module: behind(at).map(ModuleName),
        }
    }

    /// Returns whether the names are short enough for events.
    pub fn are_possible(&self) -> bool {
        let is_short = |name: &[u8]| name.len() <= MAX_NAME_LEN;
        match self.names {
            NamedEvents::Either(name) => is_short(name),
            NamedEvents::Both(group, event) => {
                group.is_none_or(is_short) && event.is_none_or(is_short)
            }
        }
    }

    /// Returns group and name, if the word names one event.
    pub fn one(&self) -> Option<(&'a [u8], &'a [u8])> {
        match self.names {
            NamedEvents::Both(Some(group), Some(event))
                if ![group, event].into_iter().any(is_pattern) =>
            {
                Some((group, event))
            }
            _ => None,
        }
    }

    /// Returns the module; `None` for events anywhere.
    pub fn module(&self) -> Option<ModuleName<'a>> {
        self.module
    }

    /// Returns whether the word matches all events.
    pub fn are_all(&self) -> bool {
        matches!(self.names, NamedEvents::Both(None, None))
    }

    /// Returns whether the word matches the event `name` of `group`, if the module does.
    pub fn are_named(&self, group: &[u8], name: &[u8]) -> bool {
        match self.names {
            NamedEvents::Either(either) => matches(either, group) || matches(either, name),
            NamedEvents::Both(of, event) => {
                of.is_none_or(|of| matches(of, group))
                    && event.is_none_or(|event| matches(event, name))
            }
        }
    }

    /// Returns whether removing `self` also removes `other`.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let is_module = match (self.module, other.module) {
            (Some(module), Some(other)) => other.is(module.0),
            _ => false,
        };
        is_module
            && match (self.names, other.names) {
                (NamedEvents::Either(name), NamedEvents::Either(other)) => name == other,
                (NamedEvents::Both(None, None), _) => true,
                (NamedEvents::Both(group, event), NamedEvents::Both(other_group, other_event)) => {
                    (group.is_none() || group == other_group)
                        && (event.is_none() || event == other_event)
                }
                _ => false,
            }
    }
}

impl<'a> NamedEvents<'a> {
    fn new(word: &'a [u8]) -> Self {
        let given = |name: &'a [u8]| Some(name).filter(|name| !matches!(*name, b"" | b"*"));
        let mut parts = word.splitn(2, |&byte| byte == b':');
        match (parts.next().unwrap_or_default(), parts.next()) {
            (group, Some(event)) => Self::Both(given(group), given(event)),
            (b"*", None) => Self::Both(None, None),
            (name, None) => Self::Either(name),
        }
    }
}

impl fmt::Display for EventNames<'_> {
    /// Writes the word as the kernel shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names {
            NamedEvents::Either(name) => write!(f, "{}", Plain(name))?,
            NamedEvents::Both(group, event) => {
                let (group, event) = (group.unwrap_or(b"*"), event.unwrap_or(b"*"));
                write!(f, "{}:{}", Plain(group), Plain(event))?;
            }
        }
        match self.module {
            Some(module) => write!(f, ":mod:{module}"),
            None => Ok(()),
        }
    }
}

impl ModuleName<'_> {
    /// Returns whether it can be the name of a module.
    pub fn is_possible(&self) -> bool {
        let may_be_in =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        (1..=LONGEST_MODULE).contains(&self.0.len()) && self.0.iter().copied().all(may_be_in)
    }

    /// Returns whether it is the name of module `name`.
    pub fn is(&self, name: &[u8]) -> bool {
        let same = |(&byte, &other): (&u8, &u8)| plain(byte) == plain(other);
        self.0.len() == name.len() && self.0.iter().zip(name).all(same)
    }
}

impl fmt::Display for ModuleName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.0.split(|&byte| byte == b'-');
        write!(f, "{}", Plain(parts.next().unwrap_or_default()))?;
        parts.try_for_each(|part| write!(f, "_{}", Plain(part)))
    }
}

/// Returns whether `name` is a pattern, as no name of an event or a group is.
fn is_pattern(name: &[u8]) -> bool {
    name.iter().any(|byte| b"*?[".contains(byte))
}

/// Returns whether `word`, a name or a pattern, is that of `name`.
fn matches(word: &[u8], name: &[u8]) -> bool {
    word == name || is_pattern(word) && glob::matches(word, name)
}

/// Returns `byte` as it occurs in module names.
fn plain(byte: u8) -> u8 {
    match byte {
        b'-' => b'_',
        byte => byte,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are(word: &str, group: &str, name: &str) -> bool {
        EventNames::new(word.as_bytes()).are_named(group.as_bytes(), name.as_bytes())
    }

    #[test]
    fn words_mean_events_by_one_name_or_both() {
        for word in [
            "sched",
            "fork",
            "sched:fork",
            "sched:*",
            "sched:",
            ":fork",
            "*:fork",
        ] {
            for of in ["", ":mod:mine"] {
                let word = format!("{word}{of}");
                assert!(are(&word, "sched", "fork"), "{word}");
                assert!(!are(&word, "other", "other"), "{word}");
            }
        }
        for word in ["*", "*:*", ":", ":mod:mine", "*:mod:mine", "*:*:mod:mine"] {
            assert!(EventNames::new(word.as_bytes()).are_all(), "{word}");
        }
        // Nothing is no name.
        assert!(!are("", "sched", "fork"));
        assert!(!are("mod:fork", "sched", "fork"));
    }

    #[test]
    fn names_may_be_patterns() {
        for word in ["sch*:fork", "sched:f?rk", "*:*or*", "*ork", "s[a-d]hed:*"] {
            assert!(are(word, "sched", "fork"), "{word}");
            assert!(!are(word, "other", "other"), "{word}");
            assert!(EventNames::new(word.as_bytes()).one().is_none(), "{word}");
        }
        assert!(EventNames::new(b"sched:fork").one().is_some());
        assert!(!are("sched:*x*", "sched", "fork"));
    }

    #[test]
    fn names_have_a_length() {
        let name = "n".repeat(MAX_NAME_LEN);
        for (word, possible) in [
            (name.clone(), true),
            (format!("{name}:{name}:mod:m"), true),
            (format!("{name}n"), false),
            (format!("*:{name}n"), false),
            (format!("{name}n:e:mod:m"), false),
        ] {
            assert_eq!(EventNames::new(word.as_bytes()).are_possible(), possible);
        }
    }

    #[test]
    fn a_module_has_underscores() {
        let module = |word: &'static str| EventNames::new(word.as_bytes()).module();
        assert!(module("sched:fork").is_none());
        assert!(module("mod:fork").is_none());
        let named = module("sched:mod:a-b_c").expect("a module");
        assert!(named.is(b"a_b_c") && !named.is(b"a_b") && !named.is(b"a_b_d"));
        assert_eq!(named.to_string(), "a_b_c");
        let long = [b'm'; LONGEST_MODULE + 1];
        for (name, possible) in [
            (&b"8021q"[..], true),
            (b"snd-hda.x", true),
            (&long[..LONGEST_MODULE], true),
            (&long, false),
            (b"", false),
            (b"ext*", false),
            (b"a:b", false),
            (b"\xff", false),
        ] {
            assert_eq!(ModuleName(name).is_possible(), possible, "{name:?}");
        }
    }

    #[test]
    fn words_are_shown_as_the_kernel_shows_them() {
        for (word, want) in [
            (":mod:a-b", "*:*:mod:a_b"),
            ("*:mod:a", "*:*:mod:a"),
            ("sched:mod:a", "sched:mod:a"),
            ("sched::mod:a", "sched:*:mod:a"),
            (":fork:mod:a", "*:fork:mod:a"),
            ("sched:fork:mod:a", "sched:fork:mod:a"),
        ] {
            assert_eq!(EventNames::new(word.as_bytes()).to_string(), want);
            // What is shown means the same.
            assert_eq!(EventNames::new(want.as_bytes()).to_string(), want);
        }
    }
}
