// SPDX-License-Identifier: GPL-2.0

//! An index of one file's debug information: which functions have code where, and which
//! units have lines of which file.

pub mod build;
pub mod cache;
pub mod store;

pub use store::Index;

/// Where code of a function is: its own, or that of a function which it is inlined into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// The unit, by its number.
    pub unit: u32,
    /// The entry of the function whose code it is, by its offset in the unit.
    pub entry: u32,
}
