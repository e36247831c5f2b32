// SPDX-License-Identifier: GPL-2.0

//! A text for the kernel that knows where each of its bytes comes from, so that a caret under it
//! can be shown under what the user wrote.

/// A text, and for each byte the column in what the user wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapped {
    text: String,
    from: Vec<usize>,
}

impl Mapped {
    /// Appends what the user wrote at the column `at`.
    pub fn push_written(&mut self, text: &str, at: usize) {
        self.from.extend((0..text.len()).map(|n| at + n));
        self.text.push_str(text);
    }

    /// Appends what stands for, or belongs to, what the user wrote at the column `at`.
    pub fn push_instead(&mut self, text: &str, at: usize) {
        self.from.extend(text.bytes().map(|_| at));
        self.text.push_str(text);
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The column in what the user wrote of the byte at `column`; behind the end, of the last one
    /// and what follows it.
    pub fn origin(&self, column: usize) -> usize {
        match self.from.get(column) {
            Some(at) => *at,
            None => self.from.last().map_or(0, |last| last + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caret_is_where_the_user_wrote_it() {
        // Of "r vfs_read $duration".
        let mut line = Mapped::default();
        line.push_written("r", 0);
        line.push_instead(":g/vfs_read", 0);
        line.push_written(" vfs_read ", 1);
        line.push_instead("duration=", 11);
        line.push_written("$duration", 11);
        assert_eq!(line.text(), "r:g/vfs_read vfs_read duration=$duration");
        for (column, origin) in [
            (0, 0),
            (5, 0),
            (13, 2),
            (22, 11),
            (32, 12),
            (40, 20),
            (99, 20),
        ] {
            assert_eq!(line.origin(column), origin, "{column}");
        }
        assert_eq!(Mapped::default().origin(3), 0);
    }
}
