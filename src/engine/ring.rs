// SPDX-License-Identifier: GPL-2.0

//! The lock-free ring buffer of one CPU, in tracefs' binary sub-buffer layout.
//!
//! There is one [`Ring`] per CPU. Its writers run on that CPU only and nest like a stack,
//! as interrupts do; one reader at a time runs on any CPU. Writers take no lock, never
//! wait, and write no word that another CPU writes, except once per sub-buffer.
//!
//! A sub-buffer is identified by its sequence number. Its page is the memory that holds it,
//! a number in [`Storage`]; the reader swaps pages, so a slot's page changes.
//!
//! # Protocol
//!
//! The shared state, and the side that writes it:
//!
//! | state       | written by                | meaning                              |
//! |-------------|---------------------------|--------------------------------------|
//! | `state`     | writers, by local cmpxchg | position of the next event           |
//! | `last`      | writers, plain            | time of the last event               |
//! | `nesting`   | writers, plain            | reservations that are not committed   |
//! | `published` | outermost writer, release | everything before it may be read      |
//! | `slots[i]`  | both, fully ordered cmpxchg | the page in slot `i`, and its sequence |
//! | `tails[i]`  | writers, plain            | the page that the writers use in slot `i` |
//! | `pages[p]`  | writers                   | fill, comm notes, discards, totals before |
//! | reader      | the reader                | its page, its position there, its counters |
//!
//! `Documentation/ring-buffer.rst` has the steps of reserving, committing, entering the next
//! sub-buffer and reading, and why they are right.

mod binary;
mod clock;
mod cursor;
mod halves;
mod handing;
mod iterator;
mod layout;
mod lending;
mod lost;
mod merge;
mod migrate;
mod names;
mod note;
mod notes;
mod place;
mod position;
mod progress;
mod publish;
mod reader;
mod rings;
mod state;
mod stats;
mod still;
mod storage;
mod tail;
mod tally;
mod unpublished;
mod unread;
mod whole;
mod writer;

pub use binary::Copied;
pub use clock::{Always, FastClock, RingClock};
pub use handing::Handed;
pub use iterator::Iter;
pub use layout::{
    EventSize, Long, Short, COMMIT_LENGTH, HEADER_BYTES, HEADER_WORDS, MAX_PAGE_BYTES,
    MISSED_EVENTS, MISSED_STORED, WORD,
};
pub use lending::Lent;
pub use lost::Lost;
pub use merge::{Input, Merge};
pub use migrate::Pieces;
pub use note::{Note, Task};
pub use position::Laps;
pub use reader::{EventRef, Reader};
pub use rings::{Fill, Local, RecordedFast, Rings, Shared};
pub use state::{Ring, RingError, Storage};
pub use stats::Stats;
pub use still::{Newest, StillEvent};
pub use unpublished::Unpublished;
pub use writer::{FastReservation, Payload, Reservation, Writer};
