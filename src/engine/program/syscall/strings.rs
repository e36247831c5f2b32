// SPDX-License-Identifier: GPL-2.0

//! The strings of an array argument of a system call, as they are copied: one behind the other,
//! each with its NUL. If the copy does not end in a NUL, the last string was longer, or more
//! strings follow.

/// The strings of a copy, and whether each is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strings<'a>(pub &'a [u8]);

impl<'a> Iterator for Strings<'a> {
    type Item = (&'a [u8], bool);

    /// Context: any.
    fn next(&mut self) -> Option<(&'a [u8], bool)> {
        if self.0.is_empty() {
            return None;
        }
        let nul = self.0.iter().position(|&byte| byte == 0);
        let (text, behind) = match nul.and_then(|nul| self.0.split_at_checked(nul)) {
            Some((text, behind)) => (text, behind.get(1..)),
            None => (self.0, None),
        };
        self.0 = behind.unwrap_or_default();
        Some((text, nul.is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::Strings;

    #[test]
    fn strings_end_in_nuls_but_for_the_last() {
        let split = |copy: &'static str| Strings(copy.as_bytes()).collect::<Vec<_>>();
        assert_eq!(split(""), []);
        assert_eq!(split("\0"), [(&b""[..], true)]);
        assert_eq!(
            split("ls\0\0-l\0"),
            [(&b"ls"[..], true), (b"", true), (b"-l", true)]
        );
        assert_eq!(split("ls\0-"), [(&b"ls"[..], true), (b"-", false)]);
    }
}
