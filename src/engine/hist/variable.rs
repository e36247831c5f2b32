// SPDX-License-Identifier: GPL-2.0

//! Variables of histograms, and references to them.
//!
//! A variable belongs to an entry: each key has its own. It has two words in the entry, the
//! flag that says whether it is set, and its value; a text and a stack have a block behind these,
//! whose address is the value.

use core::fmt;

use super::column::{KeySource, KEPT_FRAMES, TEXT_SIZE};
use super::expr::{ExprStep, HistExpr};
use super::table::SharedTable;
use super::value_shape::ValueShape;
use crate::sys::{fence_acquire, Arc, AtomicU64, Vec};

/// Most variables that a trigger may define: the kernel's `TRACING_MAP_VARS_MAX`.
pub(super) const MAX_VARS: usize = 16;

/// Most references to variables of a histogram. The kernel has 16.
pub(super) const MAX_REFS: usize = 32;

/// Words of a variable before its block: the flag and the value.
pub(super) const VAR_WORDS: usize = 2;

/// Why a variable exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarRole {
    /// The trigger names it.
    Named,
    /// It holds a field that an action passes on.
    Field,
    /// It holds a field that `save()` keeps.
    Saved,
}

/// Where the value of a variable comes from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum VarSource {
    /// A number; also the value of another variable.
    Computed(HistExpr),
    /// The text argument with this index.
    Text(u8),
    /// The name of the task.
    Comm,
    /// The kernel's stack.
    Stack,
}

impl VarSource {
    /// Returns whether `is_it` is true for the indices of all fields that it needs.
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

    /// Returns the words of the block of a variable with such values.
    fn block(&self) -> usize {
        match self {
            Self::Computed(_) => 0,
            Self::Text(_) | Self::Comm => TEXT_SIZE / 8,
            Self::Stack => KEPT_FRAMES.saturating_add(1),
        }
    }
}

impl Variable {
    /// Returns the value that each hit sets it to, if that is known.
    pub(super) fn constant(&self) -> Option<u64> {
        match &self.source {
            VarSource::Computed(expression) => expression.constant(),
            _ => None,
        }
    }

    /// Returns where its words end among those of an entry.
    pub(super) fn end(&self) -> usize {
        let words = self.source.block().saturating_add(VAR_WORDS);
        self.at.saturating_add(words)
    }
}

/// A variable that a hit sets.
#[derive(Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: Vec<u8>,
    /// What it is set to, as it is listed.
    pub text: Vec<u8>,
    /// Why it exists.
    pub role: VarRole,
    /// Where its value comes from.
    pub(super) source: VarSource,
    /// What its value is.
    pub(super) shape: ValueShape,
    /// Where its words begin among those of the variables of an entry: the flag, the value, the
    /// block.
    pub(super) at: usize,
}

/// The table of a histogram that has variables or refers to them, which all CPUs share.
pub struct VarTable {
    pub(super) table: SharedTable,
    /// The tables to which texts in this one may point.
    #[expect(dead_code, reason = "owned, so that they live as long")]
    keeps: Vec<Arc<VarTable>>,
    /// The value for which a snapshot was taken last.
    pub(super) taken_for: AtomicU64,
    /// Its entry, counted from 1; 0 before the first.
    pub(super) taken_at: AtomicU64,
    /// Grows by one when entries begin to be removed, and when they have been: odd in between.
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

    /// Removes all entries, to which no hit adds any more; nobody else does so at the same time.
    /// `wait` returns when no hit that has begun before uses entries.
    ///
    /// Context: process, may sleep.
    pub(super) fn clear(&self, wait: impl FnOnce()) {
        let before = self.cleared.load_relaxed();
        // Whoever sees something of what follows sees this, too.
        let _ = self.cleared.cmpxchg_full(before, before.wrapping_add(1));
        self.table.clear(wait);
        self.taken_for.store_relaxed(0);
        self.taken_at.store_relaxed(0);
        self.cleared.store_release(before.wrapping_add(2));
    }

    /// Returns the number by which [`VarTable::is_as_since`] knows whether entries that are read
    /// from now on are still the same.
    pub(super) fn generation(&self) -> u64 {
        self.cleared.load_acquire()
    }

    /// Returns whether what has been read since [`VarTable::generation`] returned `generation`
    /// is of the entries that there were then.
    pub(super) fn is_as_since(&self, generation: u64) -> bool {
        fence_acquire();
        generation & 1 == 0 && self.cleared.load_relaxed() == generation
    }
}

/// A reference to a variable.
pub(super) struct VarRef {
    /// The table that has it; `None` for that of the histogram itself.
    pub(super) owner: Option<Arc<VarTable>>,
    /// Where its words begin.
    pub(super) at: usize,
    /// What its value is.
    pub(super) shape: ValueShape,
    /// Whether it is not set any more once it is read.
    pub(super) once: bool,
    /// Its value, if that is a constant.
    pub(super) constant: Option<u64>,
}

impl VarRef {
    /// Returns whether it is of `table`.
    pub(super) fn is_of(&self, table: &VarTable) -> bool {
        let owner = self.owner.as_ref();
        owner.is_some_and(|owner| core::ptr::eq::<VarTable>(&**owner, table))
    }

    /// Returns whether both are of the same variable.
    fn is_like(&self, other: &VarRef) -> bool {
        let is_of_same = match &other.owner {
            Some(owner) => self.is_of(owner),
            None => self.owner.is_none(),
        };
        is_of_same && self.at == other.at
    }
}

impl PartialEq for VarRef {
    fn eq(&self, other: &Self) -> bool {
        self.is_like(other) && self.once == other.once
    }
}

impl Eq for VarRef {}

impl fmt::Debug for VarRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = if self.owner.is_some() { "other" } else { "own" };
        write!(f, "{whose} {}", self.at)
    }
}

/// Takes the variable with this flag, so that it is not set any more; returns whether it was. Of
/// several that take it at the same time one does. What is read of it afterwards is what was taken,
/// or what another hit has set since: that is then still set for the next one, and not lost.
///
/// Context: any.
#[inline(always)]
pub(super) fn take(flag: &AtomicU64) -> bool {
    flag.cmpxchg_acquire(1, 0).is_ok()
}

/// The references of a histogram, each variable once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct VarRefs(pub(super) Vec<VarRef>);

impl VarRefs {
    /// Returns the number of the reference to the same variable as `new`, which is added if
    /// there is none; `None` if there are too many.
    pub(super) fn add(&mut self, new: VarRef) -> Result<Option<u8>, crate::sys::AllocError> {
        let found = self.0.iter().position(|known| known.is_like(&new));
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

    /// Returns the tables of others that are referred to.
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
