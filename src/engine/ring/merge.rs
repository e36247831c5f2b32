// SPDX-License-Identifier: GPL-2.0

//! Merging the events of several rings into one stream, by time.

use super::iterator::Iter;
use super::reader::{EventRef, Reader};
use super::state::{Ring, Storage};
use crate::sys::{self, AllocError};
use core::ops::Deref;

/// A stream of events in order of time.
pub trait Input {
    /// Returns the next event; the same one until [`Input::advance`].
    fn peek(&mut self) -> Option<EventRef<'_>>;

    /// As [`Input::peek`], but only among the events that were present when
    /// [`Input::peek`] last looked for more.
    fn peek_known(&mut self) -> Option<EventRef<'_>>;

    /// Advances past the next event; returns whether there was one.
    fn advance(&mut self) -> bool;
}

impl<S: Storage> Input for Reader<'_, S> {
    fn peek(&mut self) -> Option<EventRef<'_>> {
        Reader::peek(self)
    }

    fn peek_known(&mut self) -> Option<EventRef<'_>> {
        Reader::peek_known(self)
    }

    fn advance(&mut self) -> bool {
        Reader::consume(self)
    }
}

impl<R: Deref<Target = Ring<S>>, S: Storage> Input for Iter<R> {
    fn peek(&mut self) -> Option<EventRef<'_>> {
        Iter::peek(self)
    }

    fn peek_known(&mut self) -> Option<EventRef<'_>> {
        // An iterator gets no new events.
        Iter::peek(self)
    }

    fn advance(&mut self) -> bool {
        Iter::advance(self)
    }
}

/// Several sources as one, ordered by time; for equal times the source that was added first
/// comes first.
///
/// The sources are compared once for many events: the source whose event is first has a
/// run, up to the time of the next event of another source.
pub struct Merge<T> {
    sources: sys::Vec<T>,
    /// The time of each source's next event, if known; not maintained for the source that
    /// has the run.
    heads: sys::Vec<Option<u64>>,
    run: Option<Run>,
}

/// Consecutive events of one source, before the next event of another.
///
/// An empty source is checked when a run begins, and not during it. The run has only events
/// that were present when it began, so a new event of an empty source follows them.
#[derive(Clone, Copy)]
struct Run {
    source: usize,
    /// The last time of an event in it.
    until: u64,
}

impl<T: Input> Merge<T> {
    /// Creates a merge without sources.
    pub fn new() -> Self {
        Self {
            sources: sys::Vec::new(),
            heads: sys::Vec::new(),
            run: None,
        }
    }

    /// Adds a source.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory; the source is then dropped.
    pub fn push(&mut self, source: T) -> Result<(), AllocError> {
        self.heads.push(None)?;
        if let Err(error) = self.sources.push(source) {
            self.heads.pop();
            return Err(error);
        }
        self.end_run();
        Ok(())
    }

    /// Returns the earliest event and the number of its source; the same one until
    /// [`Merge::advance`].
    pub fn peek(&mut self) -> Option<(usize, EventRef<'_>)> {
        let Run { source, .. } = self.run()?;
        let event = self.sources.get_mut(source)?.peek_known()?;
        Some((source, event))
    }

    /// Advances past the earliest event; returns whether there was one.
    #[inline(always)]
    pub fn advance(&mut self) -> bool {
        let Some(run) = self.run() else {
            return false;
        };
        let Some(source) = self.sources.get_mut(run.source) else {
            return false;
        };
        let was_there = source.advance();
        let next = source.peek_known().map(|event| event.ts);
        if next.is_none_or(|ts| ts > run.until) {
            self.end_run();
        }
        was_there
    }

    /// Returns the sources, in the order in which they were added.
    pub fn sources(&self) -> &[T] {
        &self.sources
    }

    #[inline]
    fn run(&mut self) -> Option<Run> {
        if self.run.is_none() {
            self.run = self.next_run();
        }
        self.run
    }

    /// Ends the run, so that its source is compared again.
    fn end_run(&mut self) {
        let run = self.run.take();
        if let Some(head) = run.and_then(|run| self.heads.get_mut(run.source)) {
            *head = None;
        }
    }

    fn next_run(&mut self) -> Option<Run> {
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
        let (_, source) = first?;
        let others = self.heads.iter().enumerate();
        let until = others.filter_map(|(index, head)| match *head {
            // For equal times the source at `index` comes first.
            Some(ts) if index < source => Some(ts.saturating_sub(1)),
            Some(ts) if index > source => Some(ts),
            _ => None,
        });
        Some(Run {
            source,
            until: until.min().unwrap_or(u64::MAX),
        })
    }
}

impl<T: Input> Default for Merge<T> {
    fn default() -> Self {
        Self::new()
    }
}
