// SPDX-License-Identifier: GPL-2.0

//! What serves the hits of a tracepoint.

use crate::kapi::handler::{Handler, Hits};

/// The most arguments that a tracepoint has.
pub const MAX_ARGUMENTS: usize = 12;

/// The arguments of a hit, in order. The bits that an argument does not have in its type
/// are undefined.
#[derive(Clone, Copy)]
pub struct PointArguments<'a>(pub(super) &'a [u64]);

impl PointArguments<'_> {
    /// Returns argument `index`; 0 if there are fewer.
    #[inline(always)]
    pub fn get(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }
}

/// Hits with any arguments.
pub enum Any {}

impl Hits for Any {
    type Hit<'a> = PointArguments<'a>;
}

/// Hits of which one argument is used, or none: then the word is 0.
pub enum Only {}

impl Hits for Only {
    type Hit<'a> = u64;
}

/// Which arguments a handler uses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// None.
    Nothing,
    /// The one with this index.
    One(usize),
    /// Some of the first ones, as many as this.
    Some(usize),
    /// The same, and the stage [`NO_MEMORY`](crate::kapi::handler::NO_MEMORY) comes first.
    NoMemory(usize),
}

/// What serves the hits of a tracepoint. The first stage follows from what it uses, and is that of
/// [`Only`] if it uses one argument or none. The last one is not called on a CPU in a context in
/// which it runs already: such a hit counts as missed.
pub trait Listener: Handler<Any> + Handler<Only> {
    /// Returns which arguments it uses.
    fn uses(&self) -> Use;

    /// Returns the stage to begin with where no other is the first one:
    /// [`FILTER`](crate::kapi::handler::FILTER), [`EACH_SHORT`](crate::kapi::handler::EACH_SHORT), or,
    /// for any other number, the last one.
    ///
    /// Context: as for a stage.
    fn begins_with(&self) -> u8;
}
