// SPDX-License-Identifier: GPL-2.0

//! The name of an argument.

use core::ops::Deref;

use crate::sys::{AllocError, Vec};

/// The name of an argument, an identifier. Stored together with its JSON punctuation, so that a
/// reader writes it in one piece.
#[derive(Debug, PartialEq, Eq)]
pub struct Name(Vec<u8>);

/// Number of bytes of punctuation before the name.
const BEFORE: usize = 2;

/// Number of bytes of punctuation behind the name.
const BEHIND: usize = 2;

impl Name {
    /// Returns the name `name`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] without memory.
    pub fn new(name: &[u8]) -> Result<Self, AllocError> {
        let length = name.len().saturating_add(BEFORE).saturating_add(BEHIND);
        let mut kept = Vec::with_capacity(length)?;
        kept.extend_from_slice(b",\"")?;
        kept.extend_from_slice(name)?;
        kept.extend_from_slice(b"\":")?;
        Ok(Self(kept))
    }

    /// Returns the beginning of a member of a JSON object, with a comma unless it is the first.
    #[inline(always)]
    pub fn as_member(&self, is_first: bool) -> &[u8] {
        self.0.get(usize::from(is_first)..).unwrap_or_default()
    }
}

impl Deref for Name {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        let end = self.0.len().wrapping_sub(BEHIND);
        self.0.get(BEFORE..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn a_name_is_kept_with_its_signs() {
        for name in [&b""[..], b"a", b"common_pid"] {
            let kept = Name::new(name).unwrap();
            assert_eq!(*kept, *name);
            let member = |is_first| String::from_utf8(kept.as_member(is_first).to_vec()).unwrap();
            let text = std::str::from_utf8(name).unwrap();
            assert_eq!(member(true), format!("\"{text}\":"));
            assert_eq!(member(false), format!(",\"{text}\":"));
        }
    }
}
