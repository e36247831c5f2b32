// SPDX-License-Identifier: GPL-2.0

//! Handlers of tracepoints.

use crate::kapi::handler::{Handler, Hits};

/// Maximum number of arguments of a tracepoint.
pub const MAX_ARGUMENTS: usize = 12;

/// The arguments of a hit, in order. Bits beyond an argument's type are undefined.
#[derive(Clone, Copy)]
pub struct PointArguments<'a>(pub(super) &'a [u64]);

impl PointArguments<'_> {
    /// Returns argument `index`; 0 if there are fewer.
    #[inline(always)]
    pub fn get(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }
}

/// Hits with all their arguments.
pub enum Any {}

impl Hits for Any {
    type Hit<'a> = PointArguments<'a>;
}

/// Hits with the only argument used, as a word; 0 if none is used.
pub enum Only {}

impl Hits for Only {
    type Hit<'a> = u64;
}

/// The arguments that a handler uses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// None.
    Nothing,
    /// Only the one with this index.
    One(usize),
    /// Only some of the first ones, of which there are this many.
    First(usize),
    /// Like `First`; the stage [`NO_MEMORY`](crate::kapi::handler::NO_MEMORY) comes first.
    NoMemory(usize),
}

/// A handler of a tracepoint's hits. The arguments that it uses determine the first stage: that of
/// [`Only`] for one argument or none. The last stage does not nest on a CPU in the same context: a
/// hit that would is counted as missed.
pub trait Listener: Handler<Any> + Handler<Only> {
    /// Returns the arguments that it uses.
    fn uses(&self) -> Use;

    /// Returns the first stage, unless the arguments determine another:
    /// [`FILTER`](crate::kapi::handler::FILTER), [`EACH_SHORT`](crate::kapi::handler::EACH_SHORT),
    /// or the last one.
    ///
    /// Context: as for a stage.
    fn begins_with(&self) -> u8;
}
