// SPDX-License-Identifier: GPL-2.0

//! Histograms: hits are counted by keys instead of being recorded.
//!
//! [`parse()`] compiles a trigger to a [`Spec`]. A [`Histogram`] is a spec with a [`HistTable`] for
//! each CPU, and maybe one that all CPUs share. [`Histogram::update`] counts a hit, in any context;
//! [`Snapshot::of`] adds up the tables, and a [`Printing`] prints the result.
//!
//! The caller's duties:
//!
//! * A trigger is written: call [`parse()`], compile the filter by
//!   [`Filter::compile`](crate::engine::filter::Filter::compile), then call [`decide`], which
//!   compares the trigger with those that the event has.
//! * A histogram is set: make a [`HistTable`] for each possible CPU by [`Spec::own_table`], and one
//!   for all by [`Spec::shared_table`]; make a [`Histogram`] from them, and put it in the plan of
//!   the event.
//! * A hit, with preemption disabled: evaluate the filter, then call [`Histogram::update`] with a
//!   [`ProbeHit`], which reads registers and memory, not the record. A [`Moment`] supplies the
//!   rest: task, CPU, time, stacks. Each hit is counted exactly once, in an entry or as dropped.
//! * A histogram is cleared: make a new [`Histogram`] of the same spec with empty tables, replace
//!   the plan, and drop the old histogram after an RCU grace period. Until then hits are counted in
//!   the old one.
//! * A histogram is paused or continued: call [`Histogram::set_paused`], in any context.
//! * A histogram is an *inter-event* one if it has variables, refers to those of other histograms,
//!   or has actions. Then [`HistRequest::bind`] follows [`Decision::Set`],
//!   [`Histogram::inter_event`] makes the histogram, and [`Histogram::update_inter_event`] counts a
//!   hit, in one table for all CPUs. An inter-event histogram is cleared in place, by
//!   [`Histogram::clear_inter_event`], and cannot be removed while another one [refers to
//!   it](Spec::refers_to).
//! * A histogram is shown: call [`Snapshot::of`] in a process, then print entry by entry with a
//!   [`Printing`] and the kernel's symbols and names, a [`KeyNames`].

mod action_bind;
mod action_parse;
mod bar;
mod column;
mod decide;
mod entry;
mod expr;
mod expr_parse;
mod fast;
mod field;
mod field_hist;
mod find_var;
mod graph;
mod inter;
mod inter_fast;
mod inter_print;
mod inter_update;
mod names;
mod order;
mod parse;
mod pieces;
mod print;
mod read;
mod rooms;
mod scope;
mod source;
mod spec;
mod stop;
mod table;
mod unique;
mod update;
mod value_shape;
mod var_store;
mod variable;
mod word;
mod write;

pub use action_parse::{each_matched, may_snapshot};
pub use column::{
    ArrayElement, Column, Fold, Key, KeySource, KeyStep, Modifier, Sort, Value, BELOW_ZERO,
    COMM_WORDS, CUT, KEPT_FRAMES, MAX_KEYS, MAX_KEY_WORDS, MAX_SORTS, MAX_VALUES, STACK_DEPTH,
    TEXT_ROOM, TEXT_SIZE,
};
pub use decide::{decide, find, Decision, Existing};
pub use entry::{BucketEntry, Read};
pub use fast::{AtHand, NumberHit, RegisterHit};
pub use field_hist::FieldHistogram;
pub use inter::{ActionSort, HistAction};
pub use inter_update::{Emit, EmittedValues, InterEventRoom};
pub use names::KeyNames;
pub use parse::{parse, HistRequest, Verb};
pub use print::{Heading, Printing};
pub use read::Snapshot;
pub use scope::{HistScope, KnownHistogram};
pub use source::{Moment, ProbeHit, Values};
pub use spec::Spec;
pub use stop::Stop;
pub use table::{EntryShape, HistTable, SharedTable};
pub use update::Histogram;
pub use value_shape::{SynthField, ValueSort};
pub use variable::{VarRole, VarTable, Variable};
pub use word::HistWord;
