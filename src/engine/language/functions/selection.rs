// SPDX-License-Identifier: GPL-2.0

//! Applies a list of patterns to all functions of a kernel.

use super::{is_wild, Pattern, Patterns};
use crate::engine::util::sort::{sort, sort_by_key};
use crate::sys::{AllocError, Vec};

/// A list of patterns, arranged for many lookups, with a note of the patterns that have selected a
/// function.
///
/// A lookup takes a binary search among the patterns without wildcards, of which there may be many,
/// and a comparison with each of the others, of which there are few.
pub struct Selection<'a> {
    selecting: Arranged<'a>,
    excluding: Arranged<'a>,
}

#[derive(Clone, Copy)]
struct ListedPattern<'a> {
    pattern: Pattern<'a>,
    /// Its offset in the text of the list.
    at: usize,
    has_selected: bool,
}

/// Patterns, each once.
#[derive(Default)]
struct Arranged<'a> {
    /// The patterns without wildcards, ordered by function name.
    names: Vec<ListedPattern<'a>>,
    /// The others.
    wild: Vec<ListedPattern<'a>>,
}

impl<'a> Arranged<'a> {
    /// Arranges the excluding or the selecting patterns of a list.
    fn new(patterns: &'a Patterns, excludes: bool) -> Result<Self, AllocError> {
        let mut all = Vec::new();
        let mut next = 0usize;
        let items = patterns.text().split(|&byte| byte == b',');
        for (item, pattern) in items.zip(patterns.all()) {
            let at = next;
            next = at.saturating_add(item.len()).saturating_add(1);
            if pattern.excludes == excludes {
                all.push(ListedPattern {
                    pattern,
                    at,
                    has_selected: false,
                })?;
            }
        }
        let text = |listed: &ListedPattern<'a>| (listed.pattern.function, listed.pattern.module);
        sort_by_key(&mut all, |listed| (text(listed), listed.at));
        let mut arranged = Self::default();
        let mut last = None;
        for listed in &*all {
            if last == Some(text(listed)) {
                continue;
            }
            last = Some(text(listed));
            let of = match listed.pattern.function.iter().copied().any(is_wild) {
                true => &mut arranged.wild,
                false => &mut arranged.names,
            };
            of.push(*listed)?;
        }
        Ok(arranged)
    }

    /// Returns the patterns without wildcards for `function`, in any module.
    fn named(&mut self, function: &[u8]) -> &mut [ListedPattern<'a>] {
        let names = &mut *self.names;
        let first = names.partition_point(|listed| listed.pattern.function < function);
        let behind = names.get_mut(first..).unwrap_or_default();
        let count = behind.partition_point(|listed| listed.pattern.function == function);
        behind.get_mut(..count).unwrap_or_default()
    }

    /// Returns whether a pattern matches `function` of `module`.
    fn have(&mut self, module: Option<&[u8]>, function: &[u8]) -> bool {
        let matches = |listed: &ListedPattern<'_>| listed.pattern.matches(module, function);
        self.named(function).iter().any(matches) || self.wild.iter().any(matches)
    }

    /// Notes the patterns that match `function` of `module`, which is selected.
    fn note(&mut self, module: Option<&[u8]>, function: &[u8]) {
        let note = |listed: &mut ListedPattern<'_>| {
            listed.has_selected = listed.has_selected || listed.pattern.matches(module, function);
        };
        self.named(function).iter_mut().for_each(note);
        self.wild.iter_mut().for_each(note);
    }

    fn iter(&self) -> impl Iterator<Item = &ListedPattern<'a>> {
        Iterator::chain(self.names.iter(), self.wild.iter())
    }
}

impl<'a> Selection<'a> {
    /// Arranges `patterns`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn new(patterns: &'a Patterns) -> Result<Self, AllocError> {
        Ok(Self {
            selecting: Arranged::new(patterns, false)?,
            excluding: Arranged::new(patterns, true)?,
        })
    }

    /// Returns the number of different patterns with wildcards.
    pub(super) fn wild(&self) -> usize {
        let excluding = self.excluding.wild.len();
        self.selecting.wild.len().saturating_add(excluding)
    }

    /// Returns whether the list selects `function` of `module`, `None` for the kernel; notes the
    /// patterns that do.
    pub fn select(&mut self, module: Option<&[u8]>, function: &[u8]) -> bool {
        let is_selected =
            self.selecting.have(module, function) && !self.excluding.have(module, function);
        if is_selected {
            self.selecting.note(module, function);
        }
        is_selected
    }

    /// Returns the first pattern that has selected no function and waits for no module, and its
    /// offset in the text of the list.
    pub fn unseen(&self) -> Option<(usize, &'a [u8])> {
        let all = self.selecting.iter();
        let unseen = all.filter(|of| !of.has_selected && of.pattern.module.is_none());
        let first = unseen.min_by_key(|listed| listed.at)?;
        Some((first.at, first.pattern.function))
    }

    /// Returns prefixes such that every function of the kernel that the list selects has one: as
    /// few as possible, none a prefix of another.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn prefixes(&self) -> Result<Vec<&'a [u8]>, AllocError> {
        let mut all = Vec::new();
        let kernel = self.selecting.iter().map(|listed| listed.pattern);
        for pattern in kernel.filter(|pattern| pattern.module.is_none()) {
            let wild = pattern.function.iter().copied().position(is_wild);
            let end = wild.unwrap_or(pattern.function.len());
            all.push(pattern.function.get(..end).unwrap_or_default())?;
        }
        sort(&mut all);
        let mut fewest: Vec<&[u8]> = Vec::new();
        for prefix in &*all {
            // Texts with a common prefix are adjacent, after the prefix.
            if !fewest.last().is_some_and(|last| prefix.starts_with(last)) {
                fewest.push(prefix)?;
            }
        }
        Ok(fewest)
    }
}
