// SPDX-License-Identifier: GPL-2.0

//! Finds names that a misspelt name may stand for.

use core::fmt;

use super::text::Plain;
use crate::sys::{AllocError, Vec};

/// Longest name that is compared.
const MAX_LEN: usize = 64;

/// Most names that are suggested.
const MAX_NAMES: usize = 3;

/// The names that are most similar to a given name.
pub struct Nearest<'a> {
    name: &'a [u8],
    names: Vec<Vec<u8>>,
    distance: usize,
}

impl<'a> Nearest<'a> {
    /// Starts the search for names similar to `name`. One edit in four characters counts as
    /// similar, two at most.
    pub fn to(name: &'a [u8]) -> Self {
        Self {
            name,
            names: Vec::new(),
            distance: (name.len() / 4).min(2),
        }
    }

    /// Considers `other`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn consider(&mut self, other: &[u8]) -> Result<(), AllocError> {
        match distance(self.name, other, self.distance) {
            Some(distance) if distance > 0 => {
                if distance < self.distance {
                    self.distance = distance;
                    self.names.clear();
                }
                if self.names.len() < MAX_NAMES {
                    self.names.push(Vec::from_slice(other)?)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns whether no name is similar.
    pub fn is_none(&self) -> bool {
        self.names.is_empty()
    }
}

impl fmt::Display for Nearest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, name) in self.names.iter().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            write!(f, "{comma}{}", Plain(name))?;
        }
        Ok(())
    }
}

/// Returns how many characters must be inserted, deleted, replaced or swapped with the next
/// one to make `b` of `a`; `None` if more than `most`.
fn distance(a: &[u8], b: &[u8], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most || a.len() > MAX_LEN || b.len() > MAX_LEN {
        return None;
    }
    // Rows of the usual table, for the last two characters of `a` and the current one.
    let mut before_last = [0; MAX_LEN + 1];
    let mut last = [0; MAX_LEN + 1];
    let mut row = [0; MAX_LEN + 1];
    for (n, cell) in last.iter_mut().enumerate() {
        *cell = n;
    }
    let at = |row: &[usize; MAX_LEN + 1], n: usize| row.get(n).copied().unwrap_or(usize::MAX);
    for (i, &x) in a.iter().enumerate() {
        let [first, ..] = &mut row;
        *first = i.saturating_add(1);
        for (j, &y) in b.iter().enumerate() {
            let replaced = at(&last, j).saturating_add(usize::from(x != y));
            let inserted = at(&row, j).saturating_add(1);
            let deleted = at(&last, j.saturating_add(1)).saturating_add(1);
            let mut least = replaced.min(inserted).min(deleted);
            if let (Some(i), Some(j)) = (i.checked_sub(1), j.checked_sub(1)) {
                if a.get(i) == Some(&y) && b.get(j) == Some(&x) {
                    least = least.min(at(&before_last, j).saturating_add(1));
                }
            }
            if let Some(cell) = row.get_mut(j.saturating_add(1)) {
                *cell = least;
            }
        }
        (before_last, last) = (last, row);
    }
    Some(at(&last, b.len())).filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(name: &str, others: &[&str]) -> String {
        let mut nearest = Nearest::to(name.as_bytes());
        for other in others {
            nearest.consider(other.as_bytes()).unwrap();
        }
        nearest.to_string()
    }

    #[test]
    fn the_most_similar_names_are_found() {
        let known = ["sched_switch", "sched_wakeup", "sched_waking", "sys_enter"];
        assert_eq!(nearest("sched_swich", &known), "sched_switch");
        assert_eq!(nearest("sched_wakeupp", &known), "sched_wakeup");
        assert_eq!(nearest("sys_etner", &known), "sys_enter");
        assert_eq!(nearest("foo_bar", &known), "");
        assert_eq!(nearest("sys", &["sy", "syx"]), "");
    }

    #[test]
    fn edits_are_counted() {
        for (a, b, edits) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abc", "ab", 1),
            ("abc", "abxc", 1),
            ("abc", "xbc", 1),
            ("abcd", "badc", 2),
        ] {
            assert_eq!(
                distance(a.as_bytes(), b.as_bytes(), 9),
                Some(edits),
                "{a} {b}"
            );
        }
        assert_eq!(distance(b"abc", b"xyz", 2), None);
        assert_eq!(distance(&[b'a'; 65], &[b'a'; 65], 2), None);
    }
}
