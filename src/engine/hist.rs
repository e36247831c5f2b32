// SPDX-License-Identifier: GPL-2.0

//! Histograms: hits are counted by keys instead of being recorded.
//!
//! [`parse()`] compiles a trigger to a [`Spec`]. A [`Histogram`] is a spec with a [`Table`]
//! for each CPU. [`Histogram::update`] counts a hit, in any context; [`Histogram::read`]
//! adds up the tables, and [`Snapshot::write`] and [`Snapshot::write_graph`] print the
//! result.
//!
//! What the caller has to do:
//!
//! * When a trigger is written: [`parse()`], the filter by
//!   [`Filter::compile`](crate::engine::filter::Filter::compile), then [`decide`], which
//!   says what becomes of the trigger among those that the event has.
//! * To set it: make a [`Table`] for each possible CPU by [`Table::new`], from them a
//!   [`Histogram`], and put it in the plan of the event.
//! * On a hit, with preemption disabled: ask the filter, then call [`Histogram::update`] with
//!   a [`ProbeHit`], which reads registers and memory as a filter does; the record is not
//!   needed. What else is known of a hit is a [`Moment`]. A hit is counted exactly once: in
//!   an entry, or as dropped.
//! * To clear it while it counts: make a new [`Histogram`] of the same spec with empty tables,
//!   replace the plan, and drop the old one after a grace period of RCU. Hits until then are
//!   counted in the old one.
//! * To pause it or to continue: [`Histogram::set_paused`], in any context.
//! * To show it: [`Histogram::read`] in a process, then [`Snapshot::write`] with the symbols
//!   and names of the kernel as a [`Names`].

mod decide;
mod fast;
mod field;
mod graph;
mod order;
mod parse;
mod print;
mod read;
mod source;
mod spec;
mod table;
mod update;
mod write;

pub use decide::{decide, find, Decision, Existing};
pub use fast::{AtHand, RegisterHit};
pub use parse::{parse, Request, Verb};
pub use print::{Heading, Names};
pub use read::Snapshot;
pub use source::{Moment, ProbeHit, Values};
pub use spec::{
    Column, Fold, Key, Modifier, Sort, Source, Spec, Value, COMM_WORDS, MAX_KEYS, MAX_KEY_WORDS,
    MAX_SORTS, MAX_VALUES, STACK_DEPTH, TEXT_SIZE,
};
pub use table::{Entry, Read, Shape, Table};
pub use update::Histogram;
