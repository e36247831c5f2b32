// SPDX-License-Identifier: GPL-2.0

//! One stream out of the events of several rings, by time.

use super::{EventRef, Reader, Ring, Snapshot, Storage};
use crate::sys::{self, AllocError};
use core::ops::Deref;

/// A stream of events in the order of their times.
pub trait Source {
    /// The next event; the same one until [`Source::advance`].
    fn peek(&mut self) -> Option<EventRef<'_>>;

    /// As [`Source::peek`], but only among the events that were there when that
    /// last looked for more.
    fn peek_known(&mut self) -> Option<EventRef<'_>>;

    /// Goes past the next event; says whether there was one.
    fn advance(&mut self) -> bool;
}

impl<S: Storage> Source for Reader<'_, S> {
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

impl<R: Deref<Target = Ring<S>>, S: Storage> Source for Snapshot<R> {
    fn peek(&mut self) -> Option<EventRef<'_>> {
        Snapshot::peek(self)
    }

    fn peek_known(&mut self) -> Option<EventRef<'_>> {
        // Nothing comes after a snapshot was made.
        Snapshot::peek(self)
    }

    fn advance(&mut self) -> bool {
        Snapshot::advance(self)
    }
}

/// Several sources as one, ordered by time; at the same time the source that
/// was added first comes first.
///
/// The sources are compared once for many events: the one whose event is first has a
/// run, up to the time of the next event of another.
pub struct Merge<T> {
    sources: sys::Vec<T>,
    /// The time of each one's next event, where that is known; not kept of the one
    /// that has a run.
    heads: sys::Vec<Option<u64>>,
    run: Option<Run>,
}

/// The events that are from one source before one is from another.
///
/// An empty source is asked when a run begins, and not during it: the run has only
/// events that were there by then, which whatever comes there follows.
#[derive(Clone, Copy)]
struct Run {
    source: usize,
    /// The last time of an event in it.
    until: u64,
}

impl<T: Source> Merge<T> {
    /// A merge of nothing.
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
    /// [`AllocError`] when there is no memory; the source is dropped then.
    pub fn push(&mut self, source: T) -> Result<(), AllocError> {
        self.heads.push(None)?;
        if let Err(error) = self.sources.push(source) {
            self.heads.pop();
            return Err(error);
        }
        self.end_run();
        Ok(())
    }

    /// The earliest event, and the number of the source it is from; the same one
    /// until [`Merge::advance`].
    pub fn peek(&mut self) -> Option<(usize, EventRef<'_>)> {
        let Run { source, .. } = self.run()?;
        let event = self.sources.get_mut(source)?.peek_known()?;
        Some((source, event))
    }

    /// Goes past the earliest event; says whether there was one.
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

    /// The sources, in the order in which they were added.
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

    /// Lets the source that has the run be asked again.
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
            // At the same time that one comes first.
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

impl<T: Source> Default for Merge<T> {
    fn default() -> Self {
        Self::new()
    }
}
