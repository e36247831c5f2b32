// SPDX-License-Identifier: GPL-2.0

//! Histograms: hits are counted by keys instead of being recorded.
//!
//! [`parse()`] compiles a trigger to a [`Spec`]. A [`Histogram`] is a spec with a [`HistTable`]
//! for each CPU, and perhaps one that all share. [`Histogram::update`] counts a hit, in any
//! context; [`Snapshot::of`] adds up the tables, and a [`Printing`] prints the result.
//!
//! What the caller has to do:
//!
//! * When a trigger is written: [`parse()`], the filter by
//!   [`Filter::compile`](crate::engine::filter::Filter::compile), then [`decide`], which
//!   says what becomes of the trigger among those that the event has.
//! * To set it: make a [`HistTable`] for each possible CPU by [`Spec::own_table`], and one for all
//!   by [`Spec::shared_table`], from them a [`Histogram`], and put it in the plan of the event.
//! * On a hit, with preemption disabled: ask the filter, then call [`Histogram::update`] with
//!   a [`ProbeHit`], which reads registers and memory as a filter does; the record is not
//!   needed. What else is known of a hit is a [`Moment`]. A hit is counted exactly once: in
//!   an entry, or as dropped.
//! * To clear it while it counts: make a new [`Histogram`] of the same spec with empty tables,
//!   replace the plan, and drop the old one after a grace period of RCU. Hits until then are
//!   counted in the old one.
//! * To pause it or to continue: [`Histogram::set_paused`], in any context.
//! * A trigger may be an inter-event one: it may have variables, refer to those of other
//!   histograms, and have actions. Then the [`Decision::Set`] is followed by
//!   [`HistRequest::bind`], the histogram is made by [`Histogram::inter_event`], and a hit calls
//!   [`Histogram::update_inter_event`], which counts in one table of all CPUs. It is not
//!   replaced to clear it, see [`Histogram::clear_inter_event`], and not removed while another one
//!   [refers to it](Spec::refers_to).
//! * To show it: [`Snapshot::of`] in a process, then a [`Printing`] with the symbols and names
//!   of the kernel as a [`KeyNames`], which writes one entry at a time.

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
    COMM_WORDS, CUT, MAX_KEYS, MAX_KEY_WORDS, MAX_SORTS, MAX_VALUES, STACK_DEPTH, TEXT_ROOM,
    TEXT_SIZE,
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
