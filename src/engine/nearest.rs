// SPDX-License-Identifier: GPL-2.0

//! Finds names that a misspelt name may stand for.

use core::fmt;

use super::text::Plain;

/// Longest name that is compared.
const MAX_LEN: usize = 64;

/// Most names that are suggested.
const MAX_NAMES: usize = 3;

/// A similar name.
#[derive(Clone, Copy)]
struct Similar {
    edits: usize,
    len: usize,
    bytes: [u8; MAX_LEN],
}

impl Similar {
    fn name(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// The names that are most similar to a given name, the most similar first.
///
/// It allocates nothing, so that names can be considered where nothing may sleep.
pub struct Nearest<'a> {
    name: &'a [u8],
    most: usize,
    names: [Option<Similar>; MAX_NAMES],
}

impl<'a> Nearest<'a> {
    /// Starts the search for names similar to `name`. One edit in four characters counts as
    /// similar, two at most.
    pub fn to(name: &'a [u8]) -> Self {
        Self::within(name, (name.len() / 4).min(2))
    }

    /// Starts the search for names similar to `name`, which is known to be wrong: one edit in
    /// three characters counts as similar, two at most.
    pub fn to_wrong(name: &'a [u8]) -> Self {
        Self::within(name, (name.len() / 3).min(2))
    }

    fn within(name: &'a [u8], most: usize) -> Self {
        Self {
            name,
            most,
            names: [None; MAX_NAMES],
        }
    }

    /// Considers `other`.
    pub fn consider(&mut self, other: &[u8]) {
        if let Some(edits) = distance(self.name, other, self.most).filter(|edits| *edits > 0) {
            self.add(other, edits);
        }
    }

    /// Considers the symbol `other`. If the given name has no suffix, a clone that the compiler
    /// made, such as `NAME.isra.0`, is as similar as `NAME`.
    pub fn consider_symbol(&mut self, other: &[u8]) {
        let dot = other.iter().position(|&byte| byte == b'.');
        let Some((base, suffix)) = dot
            .filter(|_| !self.name.contains(&b'.'))
            .and_then(|dot| other.split_at_checked(dot))
        else {
            return self.consider(other);
        };
        match distance(self.name, base, self.most) {
            Some(0) => self.add(other, 0),
            // The cold part of a function is seldom what is meant.
            Some(edits) if !suffix.starts_with(b".cold") => self.add(other, edits),
            _ => (),
        }
    }

    fn add(&mut self, other: &[u8], edits: usize) {
        let mut bytes = [0; MAX_LEN];
        let Some(to) = bytes.get_mut(..other.len()) else {
            return;
        };
        to.copy_from_slice(other);
        if self.names().any(|name| name == other) {
            return;
        }
        let mut new = Some(Similar {
            edits,
            len: other.len(),
            bytes,
        });
        // Those that are less similar move one behind, and the last one is dropped.
        let mut is_placed = false;
        for slot in &mut self.names {
            is_placed |= slot.as_ref().is_none_or(|old| edits < old.edits);
            if is_placed {
                core::mem::swap(slot, &mut new);
            }
        }
    }

    fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().flatten().map(Similar::name)
    }

    /// Returns whether no name is similar.
    pub fn is_none(&self) -> bool {
        self.names().next().is_none()
    }
}

impl fmt::Display for Nearest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, name) in self.names().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            write!(f, "{comma}{}", Plain(name))?;
        }
        Ok(())
    }
}

/// Cells of a row of the table: one more than characters.
const CELLS: usize = MAX_LEN + 1;

/// More edits than are ever allowed.
const FAR: usize = u8::MAX as usize;

/// A row of the table of distances.
struct Row([u8; CELLS]);

impl Row {
    fn new() -> Self {
        Self([u8::MAX; CELLS])
    }

    fn at(&self, n: usize) -> usize {
        self.0.get(n).copied().map_or(FAR, usize::from)
    }

    fn set(&mut self, n: usize, edits: usize) {
        if let Some(cell) = self.0.get_mut(n) {
            *cell = u8::try_from(edits).unwrap_or(u8::MAX);
        }
    }
}

/// Returns how many characters must be inserted, deleted, replaced or swapped with the next
/// one to make `b` of `a`; `None` if more than `most`.
///
/// Only cells that can be within `most` are computed, and it ends at the first row without
/// one, so that most pairs of names cost a few rows.
fn distance(a: &[u8], b: &[u8], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most || a.len() > MAX_LEN || b.len() > MAX_LEN {
        return None;
    }
    // Rows of the usual table, for the last two characters of `a` and the current one.
    let (mut before_last, mut last) = (Row::new(), Row::new());
    for n in 0..=most.min(MAX_LEN) {
        last.set(n, n);
    }
    for (i, &x) in a.iter().enumerate() {
        let mut row = Row::new();
        let mut least = FAR;
        let end = i.saturating_add(1);
        if end <= most {
            row.set(0, end);
            least = end;
        }
        let columns = b.iter().enumerate().take(end.saturating_add(most));
        for (j, &y) in columns.skip(i.saturating_sub(most)) {
            let replaced = last.at(j).saturating_add(usize::from(x != y));
            let inserted = row.at(j).saturating_add(1);
            let deleted = last.at(j.saturating_add(1)).saturating_add(1);
            let mut edits = replaced.min(inserted).min(deleted);
            if let (Some(i), Some(j)) = (i.checked_sub(1), j.checked_sub(1)) {
                if a.get(i) == Some(&y) && b.get(j) == Some(&x) {
                    edits = edits.min(before_last.at(j).saturating_add(1));
                }
            }
            row.set(j.saturating_add(1), edits);
            least = least.min(edits);
        }
        if least > most {
            return None;
        }
        (before_last, last) = (last, row);
    }
    Some(last.at(b.len())).filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(name: &str, others: &[&str]) -> String {
        let mut nearest = Nearest::to(name.as_bytes());
        for other in others {
            nearest.consider(other.as_bytes());
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
    fn the_most_similar_come_first_and_three_are_kept() {
        let known = [
            "vfs_wrxte",
            "vfs_wrxyte",
            "vfs_wirte",
            "vfs_read",
            "vfs_write",
            "vfs_wxyte",
        ];
        assert_eq!(
            nearest("vfs_writ", &known),
            "vfs_write, vfs_wrxte, vfs_wirte"
        );
    }

    #[test]
    fn clones_are_as_similar_as_their_function() {
        let mut nearest = Nearest::to_wrong(b"vfs_read");
        for symbol in [
            "vfs_reab",
            "vfs_read.cold",
            "vfs_reed.isra.0",
            "vfs_reed.cold",
        ] {
            nearest.consider_symbol(symbol.as_bytes());
        }
        assert_eq!(
            nearest.to_string(),
            "vfs_read.cold, vfs_reab, vfs_reed.isra.0"
        );
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
