// SPDX-License-Identifier: GPL-2.0

//! What a list of patterns selects, where all functions of a kernel are asked about.

use super::{is_wild, Pattern, Patterns};
use crate::engine::util::sort::{sort, sort_by_key};
use crate::sys::{AllocError, Vec};

/// A list of patterns, arranged for many questions, and which of them have selected a function.
///
/// A question takes a search for the name among the patterns that are names, of which there may
/// be any number, and a comparison with each of the others, of which there are few.
pub struct Selection<'a> {
    selecting: Arranged<'a>,
    excluding: Arranged<'a>,
}

#[derive(Clone, Copy)]
struct ListedPattern<'a> {
    pattern: Pattern<'a>,
    /// Its place in the list.
    nth: usize,
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
    /// Arranges those patterns of a list that exclude, or that select.
    fn new(patterns: &'a Patterns, excludes: bool) -> Result<Self, AllocError> {
        let mut all = Vec::new();
        let of_list = patterns.all().enumerate();
        for (nth, pattern) in of_list.filter(|(_, pattern)| pattern.excludes == excludes) {
            all.push(ListedPattern {
                pattern,
                nth,
                has_selected: false,
            })?;
        }
        let text = |listed: &ListedPattern<'a>| (listed.pattern.function, listed.pattern.module);
        sort_by_key(&mut all, |listed| (text(listed), listed.nth));
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

    /// Returns the patterns that are the name `function`, in whatever module.
    fn named(&mut self, function: &[u8]) -> &mut [ListedPattern<'a>] {
        let names = &mut *self.names;
        let first = names.partition_point(|listed| listed.pattern.function < function);
        let behind = names.get_mut(first..).unwrap_or_default();
        let count = behind.partition_point(|listed| listed.pattern.function == function);
        behind.get_mut(..count).unwrap_or_default()
    }

    /// Returns whether one of them matches `function` of `module`.
    fn have(&mut self, module: Option<&[u8]>, function: &[u8]) -> bool {
        let matches = |listed: &ListedPattern<'_>| listed.pattern.matches(module, function);
        self.named(function).iter().any(matches) || self.wild.iter().any(matches)
    }

    /// Notes those that match `function` of `module`, which is selected.
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
    /// Arranges `patterns`, none of which has selected a function.
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

    /// Returns how many different patterns are not the name of a function.
    pub(super) fn wild(&self) -> usize {
        let excluding = self.excluding.wild.len();
        self.selecting.wild.len().saturating_add(excluding)
    }

    /// Returns whether the list selects `function` of `module`, `None` for the kernel, and notes
    /// which patterns do.
    pub fn select(&mut self, module: Option<&[u8]>, function: &[u8]) -> bool {
        let is_selected =
            self.selecting.have(module, function) && !self.excluding.have(module, function);
        if is_selected {
            self.selecting.note(module, function);
        }
        is_selected
    }

    /// Returns the first pattern that has selected no function, and waits for no module.
    pub fn unseen(&self) -> Option<&'a [u8]> {
        let all = self.selecting.iter();
        let unseen = all.filter(|of| !of.has_selected && of.pattern.module.is_none());
        let first = unseen.min_by_key(|listed| listed.nth)?;
        Some(first.pattern.function)
    }

    /// Returns with what the names begin that the list selects in the kernel: the fewest such
    /// texts, none of which begins with another one.
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
            // What begins with a text follows it.
            if !fewest.last().is_some_and(|last| prefix.starts_with(last)) {
                fewest.push(prefix)?;
            }
        }
        Ok(fewest)
    }
}
