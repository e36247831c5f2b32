// SPDX-License-Identifier: GPL-2.0

//! What users write to name code: `FUNCTION`, `FUNCTION:LINE`, `FUNCTION%inlined`, each with
//! `@FILE` behind the function if several have the name, or `FILE:LINE`.

use crate::error::Result;
use crate::refuse;

/// Where a probe is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// In a function.
    Function {
        /// Its name.
        name: String,
        /// The end of its file's path.
        file: Option<String>,
        /// Where in it.
        at: At,
    },
    /// On a line of a file.
    File {
        /// The end of its path.
        file: String,
        /// The line; none means the whole file.
        line: Option<u32>,
    },
}

/// Where in a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// Its entry.
    Entry,
    /// A line, counted from the one that it is defined on.
    Line(u32),
    /// Wherever it begins inlined in others.
    Inlined,
}

impl Target {
    /// Reads what the user wrote.
    pub fn parse(text: &str) -> Result<Self> {
        let (what, line) = match text.rsplit_once(':') {
            Some((what, line)) => match line.parse::<u32>() {
                Ok(line) => (what, Some(line)),
                Err(_) => {
                    refuse!("{text}: {line:?} is no line number: write FUNCTION:LINE or FILE:LINE")
                }
            },
            None => (text, None),
        };
        if what.is_empty() {
            refuse!("{text}: it names nothing: write FUNCTION:LINE or FILE:LINE");
        }
        let (name, file) = match what.split_once('@') {
            Some((name, file)) => (name, Some(file.to_string())),
            None => (what, None),
        };
        let (name, inlined) = match name.strip_suffix("%inlined") {
            Some(name) => (name, true),
            None => (name, false),
        };
        if file.is_none() && name.contains(['/', '.']) {
            if inlined {
                refuse!("{text}: %inlined belongs to a function");
            }
            return Ok(Self::File {
                file: name.into(),
                line,
            });
        }
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            refuse!("{text}: {name:?} is no name of a function");
        }
        let at = match (line, inlined) {
            (None, false) => At::Entry,
            (Some(line), false) => At::Line(line),
            (None, true) => At::Inlined,
            (Some(_), true) => {
                refuse!("{text}: FUNCTION:LINE finds inlined code too: leave %inlined out")
            }
        };
        Ok(Self::Function {
            name: name.into(),
            file,
            at,
        })
    }
}

/// Whether `path` ends with the names in `wanted`.
pub fn path_matches(path: &str, wanted: &str) -> bool {
    match path.strip_suffix(wanted) {
        Some("") => true,
        Some(before) => before.ends_with('/') || wanted.starts_with('/'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, file: Option<&str>, at: At) -> Target {
        Target::Function {
            name: name.into(),
            file: file.map(Into::into),
            at,
        }
    }

    #[test]
    fn targets_are_read() {
        let parse = |text| Target::parse(text).expect(text);
        assert_eq!(parse("vfs_read"), function("vfs_read", None, At::Entry));
        assert_eq!(parse("vfs_read:5"), function("vfs_read", None, At::Line(5)));
        assert_eq!(parse("get%inlined"), function("get", None, At::Inlined));
        assert_eq!(
            parse("init@fs/ext4/super.c:3"),
            function("init", Some("fs/ext4/super.c"), At::Line(3))
        );
        let file = Target::File {
            file: "fs/open.c".into(),
            line: Some(12),
        };
        assert_eq!(parse("fs/open.c:12"), file);
    }

    #[test]
    fn what_is_no_target_is_refused() {
        for text in [
            "",
            ":3",
            "vfs_read:x",
            "a b",
            "get%inlined:3",
            "a.c%inlined",
        ] {
            assert!(Target::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_matches_by_whole_names() {
        assert!(path_matches("/usr/src/fs/open.c", "fs/open.c"));
        assert!(path_matches("fs/open.c", "fs/open.c"));
        assert!(!path_matches("/usr/src/ufs/open.c", "fs/open.c"));
        assert!(!path_matches("fs/open.c", "read.c"));
    }
}
