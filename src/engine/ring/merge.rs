// SPDX-License-Identifier: GPL-2.0

//! One stream out of the events of several rings, by time.

use super::{EventRef, Reader, Ring, Snapshot, Storage};
use crate::sys::{self, AllocError};
use core::ops::Deref;

/// A stream of events in the order of their times.
pub trait Source {
    /// The next event; the same one until [`Source::advance`].
    fn peek(&mut self) -> Option<EventRef<'_>>;

    /// Goes past the next event; says whether there was one.
    fn advance(&mut self) -> bool;
}

impl<S: Storage> Source for Reader<'_, S> {
    fn peek(&mut self) -> Option<EventRef<'_>> {
        Reader::peek(self)
    }

    fn advance(&mut self) -> bool {
        Reader::consume(self)
    }
}

impl<R: Deref<Target = Ring<S>>, S: Storage> Source for Snapshot<R> {
    fn peek(&mut self) -> Option<EventRef<'_>> {
        Snapshot::peek(self)
    }

    fn advance(&mut self) -> bool {
        Snapshot::advance(self)
    }
}

/// Several sources as one, ordered by time; at the same time the source that
/// was added first comes first.
///
/// The time of each source's next event is kept, so that choosing the next one
/// touches eight bytes per source and not the rings.
pub struct Merge<T> {
    sources: sys::Vec<T>,
    heads: sys::Vec<Option<u64>>,
}

impl<T: Source> Merge<T> {
    /// A merge of nothing.
    pub fn new() -> Self {
        Self {
            sources: sys::Vec::new(),
            heads: sys::Vec::new(),
        }
    }

    /// Adds a source.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory; the source is dropped then.
    pub fn push(&mut self, source: T) -> Result<(), AllocError> {
        self.heads.push(None)?;
        if let Err(error) = self.sources.push(source) {
            self.heads.pop();
            return Err(error);
        }
        Ok(())
    }

    /// The earliest event, and the number of the source it is from.
    ///
    /// A source that had nothing is asked again each time: a ring that is
    /// written to may have something by now.
    pub fn peek(&mut self) -> Option<(usize, EventRef<'_>)> {
        let first = self.first()?;
        let event = self.sources.get_mut(first)?.peek()?;
        Some((first, event))
    }

    /// Goes past the earliest event; says whether there was one.
    pub fn advance(&mut self) -> bool {
        let Some(first) = self.first() else {
            return false;
        };
        if let Some(head) = self.heads.get_mut(first) {
            *head = None;
        }
        self.sources.get_mut(first).is_some_and(Source::advance)
    }

    /// The sources, in the order in which they were added.
    pub fn sources(&self) -> &[T] {
        &self.sources
    }

    fn first(&mut self) -> Option<usize> {
        let mut first: Option<(u64, usize)> = None;
        let sources = self.sources.iter_mut().zip(self.heads.iter_mut());
        for (index, (source, head)) in sources.enumerate() {
            if head.is_none() {
                *head = source.peek().map(|event| event.ts);
            }
            let earlier = |ts: &u64| first.is_none_or(|(least, _)| *ts < least);
            if let Some(ts) = head.filter(earlier) {
                first = Some((ts, index));
            }
        }
        first.map(|(_, index)| index)
    }
}

impl<T: Source> Default for Merge<T> {
    fn default() -> Self {
        Self::new()
    }
}
