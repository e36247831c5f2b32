// SPDX-License-Identifier: GPL-2.0

//! Variables of histograms, and references to them.
//!
//! A variable belongs to an entry, so each key has its own. It takes two words in the entry: a flag
//! that says whether it is set, and the value. For a string or a stack, a block of memory follows,
//! and the value is its address.

use core::fmt;

use super::column::{KeySource, KEPT_FRAMES, TEXT_SIZE};
use super::expr::{ExprStep, HistExpr};
use super::table::SharedTable;
use super::value_shape::ValueShape;
use crate::sys::{fence_acquire, Arc, AtomicU64, Vec};

/// Maximum number of variables that a trigger may define: the kernel's `TRACING_MAP_VARS_MAX`.
pub(super) const MAX_VARS: usize = 16;

/// Maximum number of references to variables in a histogram. The kernel has 16.
pub(super) const MAX_REFS: usize = 32;

/// Number of words of a variable before its block: flag and value.
pub(super) const VAR_WORDS: usize = 2;

/// Why a variable exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarRole {
    /// The trigger names it.
    Named,
    /// It holds a field that an action passes to a synthetic event.
    Field,
    /// It holds a field that `save()` keeps.
    Saved,
}

/// The source of a variable's value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum VarSource {
    /// A number, maybe the value of another variable.
    Computed(HistExpr),
    /// String argument `n`.
    Text(u8),
    /// The comm of the task.
    Comm,
    /// The kernel stack.
    Stack,
}

impl VarSource {
    /// Returns whether `is_it` accepts the indices of all fields that it uses.
    pub(super) fn needs_only(&self, is_it: &dyn Fn(u8) -> bool) -> bool {
        match self {
            Self::Text(index) => is_it(*index),
            Self::Computed(expression) => expression.steps.iter().all(|step| match step {
                ExprStep::Source(KeySource::Argument { index, .. }, _) => is_it(*index),
                _ => true,
            }),
            Self::Comm | Self::Stack => true,
        }
    }

    /// Returns the words of the block.
    fn block(&self) -> usize {
        match self {
            Self::Computed(_) => 0,
            Self::Text(_) | Self::Comm => TEXT_SIZE / 8,
            Self::Stack => KEPT_FRAMES.saturating_add(1),
        }
    }
}

impl Variable {
    /// Returns the value of a constant.
    pub(super) fn constant(&self) -> Option<u64> {
        match &self.source {
            VarSource::Computed(expression) => expression.constant(),
            _ => None,
        }
    }

    /// Returns the index behind its last word in an entry.
    pub(super) fn end(&self) -> usize {
        let words = self.source.block().saturating_add(VAR_WORDS);
        self.at.saturating_add(words)
    }
}

/// A variable that a hit sets.
#[derive(Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name.
    pub name: Vec<u8>,
    /// The expression, as listed.
    pub text: Vec<u8>,
    /// Why the variable exists.
    pub role: VarRole,
    pub(super) source: VarSource,
    pub(super) shape: ValueShape,
    /// Index of its first word among the variable words of an entry.
    pub(super) at: usize,
}

/// The shared table of an inter-event histogram.
pub struct VarTable {
    pub(super) table: SharedTable,
    /// Tables to which strings in this one may point.
    #[expect(dead_code, reason = "owned, so that they live as long")]
    keeps: Vec<Arc<VarTable>>,
    /// The value for which the last snapshot was taken.
    pub(super) taken_for: AtomicU64,
    /// The number of that entry, counted from 1; 0 before the first snapshot.
    pub(super) taken_at: AtomicU64,
    /// Incremented before and after entries are removed: odd in between.
    cleared: AtomicU64,
}

impl VarTable {
    pub(super) fn new(table: SharedTable, keeps: Vec<Arc<VarTable>>) -> Self {
        Self {
            table,
            keeps,
            taken_for: AtomicU64::new(0),
            taken_at: AtomicU64::new(0),
            cleared: AtomicU64::new(0),
        }
    }

    /// Removes all entries. Not reentrant, and no hit may add entries meanwhile. `wait` returns
    /// when no earlier hit uses entries any more.
    ///
    /// Context: process, may sleep.
    pub(super) fn clear(&self, wait: impl FnOnce()) {
        let before = self.cleared.load_relaxed();
        // Whoever sees an effect of the removal also sees this.
        let _ = self.cleared.cmpxchg_full(before, before.wrapping_add(1));
        self.table.clear(wait);
        self.taken_for.store_relaxed(0);
        self.taken_at.store_relaxed(0);
        self.cleared.store_release(before.wrapping_add(2));
    }

    /// Returns the generation of the entries, for [`VarTable::is_as_since`].
    pub(super) fn generation(&self) -> u64 {
        self.cleared.load_acquire()
    }

    /// Returns whether the entries that were read since `generation` have not been removed.
    pub(super) fn is_as_since(&self, generation: u64) -> bool {
        fence_acquire();
        generation & 1 == 0 && self.cleared.load_relaxed() == generation
    }
}

/// A reference to a variable.
pub(super) struct VarRef {
    /// The table of the variable; `None` if it is the histogram's own.
    pub(super) owner: Option<Arc<VarTable>>,
    /// Index of the variable's first word.
    pub(super) at: usize,
    pub(super) shape: ValueShape,
    /// Whether reading the variable unsets it.
    pub(super) once: bool,
    /// The value of a constant.
    pub(super) constant: Option<u64>,
}

impl VarRef {
    pub(super) fn is_of(&self, table: &VarTable) -> bool {
        let owner = self.owner.as_ref();
        owner.is_some_and(|owner| core::ptr::eq::<VarTable>(&**owner, table))
    }

    /// Returns whether both refer to the same variable.
    fn is_same_variable(&self, other: &VarRef) -> bool {
        let is_of_same = match &other.owner {
            Some(owner) => self.is_of(owner),
            None => self.owner.is_none(),
        };
        is_of_same && self.at == other.at
    }
}

impl PartialEq for VarRef {
    fn eq(&self, other: &Self) -> bool {
        self.is_same_variable(other) && self.once == other.once
    }
}

impl Eq for VarRef {}

impl fmt::Debug for VarRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = if self.owner.is_some() { "other" } else { "own" };
        write!(f, "{whose} {}", self.at)
    }
}

/// Consumes the variable with this flag: unsets it, and returns whether it was set. If several hits
/// race, one succeeds. The value that is read afterwards is the consumed one or a later one; a
/// later one remains set for the next hit.
///
/// Context: any.
#[inline(always)]
pub(super) fn take(flag: &AtomicU64) -> bool {
    flag.cmpxchg_acquire(1, 0).is_ok()
}

/// The references of a histogram, one for each variable.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct VarRefs(pub(super) Vec<VarRef>);

impl VarRefs {
    /// Returns the number of the reference to the variable of `new`, which is added if needed;
    /// `None` if there are too many.
    pub(super) fn add(&mut self, new: VarRef) -> Result<Option<u8>, crate::sys::AllocError> {
        let found = self.0.iter().position(|known| known.is_same_variable(&new));
        let number = match found {
            Some(number) => {
                if let Some(known) = self.0.get_mut(number) {
                    known.once |= new.once;
                }
                number
            }
            None if self.0.len() >= MAX_REFS => return Ok(None),
            None => {
                self.0.push(new)?;
                self.0.len().saturating_sub(1)
            }
        };
        Ok(u8::try_from(number).ok())
    }

    /// Returns the tables of other histograms that are referred to.
    pub(super) fn owners(&self) -> Result<Vec<Arc<VarTable>>, crate::sys::AllocError> {
        let mut owners = Vec::new();
        for owner in self
            .0
            .iter()
            .filter_map(|reference| reference.owner.as_ref())
        {
            owners.push(owner.clone())?;
        }
        Ok(owners)
    }
}
