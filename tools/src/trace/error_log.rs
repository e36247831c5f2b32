// SPDX-License-Identifier: GPL-2.0

//! What the kernel says of a write that it refuses: the entries of `error_log`.

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Why, with what to write instead.
    pub text: String,
    /// What was written, or the refused line of it.
    pub command: String,
    /// The byte of `command` that is meant.
    pub column: usize,
}

/// What stands before a command.
const COMMAND: &str = "  Command: ";

/// The newest entry about `command`, which may be one of several lines. Others write, too.
pub fn newest(log: &str, command: &str) -> Option<Entry> {
    let lines: Vec<&str> = log.lines().collect();
    let entries = lines.windows(3).rev().filter_map(|lines| match lines {
        [reason, shown, caret] => {
            let (_, text) = reason.strip_prefix('[')?.split_once(": error: ")?;
            let shown = shown.strip_prefix(COMMAND)?;
            let column = caret.strip_suffix('^')?.len().checked_sub(COMMAND.len())?;
            Some(Entry {
                text: text.into(),
                command: shown.into(),
                column,
            })
        }
        _ => None,
    });
    let mut entries = entries;
    entries.find(|entry| command.lines().any(|line| line == entry.command))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
[   23.624589] trace_kprobe: error: Invalid register name: there is r15, r14
  Command: p:g/a vfs_read %nope
                          ^
[   23.650204] buffer_size_kb: error: Invalid number: it has no unit: write 8192 KiB as 8192
  Command: 8M
            ^
[   24.000000] event filter parse error: error: Field not found: there is count
  Command: zz == 3
           ^
";

    #[test]
    fn the_newest_entry_about_a_command_is_found() {
        let entry = newest(LOG, "p:g/a vfs_read %nope").expect("an entry");
        assert_eq!(entry.text, "Invalid register name: there is r15, r14");
        assert_eq!(entry.column, 15);
        let entry = newest(LOG, "4M\n8M\n").expect("an entry");
        assert_eq!((entry.command.as_str(), entry.column), ("8M", 1));
        assert!(entry.text.ends_with("write 8192 KiB as 8192"));
        let entry = newest(LOG, "zz == 3").expect("an entry");
        assert_eq!(entry.text, "Field not found: there is count");
    }

    #[test]
    fn others_entries_are_not_ours() {
        assert_eq!(newest(LOG, "p vfs_read %nope"), None);
        assert_eq!(newest("", "8M"), None);
        assert_eq!(newest("[1] x: error: y\n  Command: 8M\n", "8M"), None);
    }
}
