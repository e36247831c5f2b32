// SPDX-License-Identifier: GPL-2.0

//! What is counted: definitions, or a word that stands for some.

use crate::trace::instance;

/// What a word stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// The definitions, the helpers first.
    pub definitions: Vec<String>,
    /// How many of them only begin or end others: they are not counted.
    pub helpers: usize,
    /// What an event's hits are told apart by, if it is not its name.
    pub name: Option<NameKey>,
    /// The field with the process, if another one runs when the event is hit.
    pub process: Option<&'static str>,
}

/// What tells the hits of an event apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKey {
    /// The field with the number of a system call.
    Call(&'static str),
    /// A field, as it is.
    Field(&'static str),
    /// The function that waits for a lock.
    Waiter,
}

/// The words, with what they count.
pub const WORDS: [(&str, &str); 4] = [
    ("calls", "system calls"),
    ("files", "what is read from files and written to them"),
    ("locks", "waits for locks"),
    ("block", "requests to disks"),
];

impl Source {
    /// What the arguments of the command mean: a word alone, or definitions. A name alone, or
    /// patterns of names, are functions with results and times.
    pub fn new(arguments: &[String]) -> Self {
        if let [word] = arguments {
            if let Some(source) = Self::of_word(word, &instance::name()) {
                return source;
            }
        }
        Self {
            definitions: arguments.iter().map(|text| functions(text)).collect(),
            ..Self::default()
        }
    }

    /// What a word means, with helpers in the group `group`.
    fn of_word(word: &str, group: &str) -> Option<Self> {
        let (definitions, helpers) = match word {
            "calls" => (
                vec![
                    "t:enter sys_enter id=id:s64".into(),
                    format!(
                        "b16384:call {group}.enter raw_syscalls.sys_exit \
                         id=$id:s64 ret=$ret:s64 $duration"
                    ),
                ],
                1,
            ),
            "files" => (
                vec![
                    "r:read vfs_read file:path count $retval:errno $duration".into(),
                    "r:write vfs_write file:path count $retval:errno $duration".into(),
                ],
                0,
            ),
            "locks" => (
                vec![
                    "t:begin contention_begin lock=lock:x64 flags=flags:u32".into(),
                    "t:end contention_end lock=lock:x64".into(),
                    format!(
                        "b16384:wait {group}.begin(common_pid,lock) {group}.end(common_pid,lock) \
                         lock=$lock:x64 flags=$begin.flags:x32 $duration"
                    ),
                ],
                2,
            ),
            "block" => (
                vec!["b16384:io block.block_rq_issue(dev,sector) \
                     block.block_rq_complete(dev,sector) \
                     dev=$dev:u32 rwbs=$begin.rwbs bytes=$begin.bytes:u32 comm=$begin.comm \
                     $duration"
                    .into()],
                0,
            ),
            _ => return None,
        };
        let (name, process) = match word {
            "calls" => (Some(NameKey::Call("id")), None),
            "locks" => (Some(NameKey::Waiter), None),
            "block" => (Some(NameKey::Field("rwbs")), Some("comm")),
            _ => (None, None),
        };
        Some(Self {
            definitions,
            helpers,
            name,
            process,
        })
    }
}

/// A definition of the functions that `text` names, or `text` if that is one itself.
fn functions(text: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_pattern = |c: char| is_name(c) || "*?,![]".contains(c);
    let begins = text.starts_with(|c: char| !c.is_ascii_digit());
    match text {
        _ if text.is_empty() || !begins => text.into(),
        _ if text.chars().all(is_name) => format!("r {text} $retval:errno $duration"),
        _ if text.chars().all(is_pattern) => format!("f {text}%return $retval:errno $duration"),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns_are_functions() {
        for (text, expected) in [
            ("vfs_read", "r vfs_read $retval:errno $duration"),
            ("vfs_*", "f vfs_*%return $retval:errno $duration"),
            ("a_*,b_?", "f a_*,b_?%return $retval:errno $duration"),
            ("vfs_read count", "vfs_read count"),
            ("calls/openat", "calls/openat"),
            ("vfs_read:11", "vfs_read:11"),
            ("r vfs_read", "r vfs_read"),
            ("", ""),
        ] {
            assert_eq!(functions(text), expected);
        }
    }

    #[test]
    fn every_word_has_definitions() {
        for (word, _) in WORDS {
            let source = Source::of_word(word, "g").expect(word);
            assert!(source.helpers < source.definitions.len(), "{word}");
            let plan = crate::trace::plan::Plan::new(&source.definitions).expect(word);
            assert!(plan.events.iter().all(|event| event.label.is_some()));
        }
        let two = ["calls", "vfs_*"].map(String::from);
        assert_eq!(Source::new(&two).helpers, 0);
    }
}
