// SPDX-License-Identifier: GPL-2.0

//! Which locations in a function lie inside an exclusive sequence.
//!
//! A load-exclusive sets a monitor that the store-exclusive tests. The exception of a probe
//! between the two clears the monitor, so the store fails, the loop around them retries,
//! hits the probe again, and never ends.
//!
//! A location is inside if control can reach it from a load-exclusive and can reach a
//! store-exclusive from it, with nothing in between that ends the sequence: a
//! store-exclusive, another load-exclusive (which begins a new one), or what clears the
//! monitor. Branches are followed within the function, forward and backward; a call is
//! assumed to return; a path that leaves the function is not followed further.
//!
//! The decoder of an architecture supplies the [`Effect`] of each word.

use crate::sys::{AllocError, Vec};

/// How often the text is swept before the analysis assumes the worst case.
///
/// Each sweep follows every chain of branches in its direction, so that three or four
/// suffice for compiled code.
const SWEEPS: usize = 64;

/// The instructions of one function as 32-bit words, by index.
pub trait CodeWords {
    /// Returns the number of words.
    fn count(&self) -> usize;

    /// Returns the original word at `index`, before any patch; `None` past the end.
    fn word(&self, index: usize) -> Option<u32>;
}

impl CodeWords for &[u32] {
    fn count(&self) -> usize {
        self.len()
    }

    fn word(&self, index: usize) -> Option<u32> {
        self.get(index).copied()
    }
}

/// The effect of an instruction on an exclusive sequence. Distances count words, from the
/// instruction itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing; control goes on to the next word.
    None,
    /// A load-exclusive, which begins a sequence.
    Load,
    /// A store-exclusive, which ends a sequence.
    Store,
    /// Clears the monitor.
    Clear,
    /// Leads to the next word or to this distance.
    Branch(i32),
    /// Leads to this distance only.
    Jump(i32),
    /// Leaves the function.
    Leave,
}

/// The load-exclusive and the store-exclusive around a location, as indices of words.
///
/// In code laid out by a compiler `load` is below `store`; with a backward branch it may be
/// above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The load-exclusive from which control comes.
    pub load: usize,
    /// The store-exclusive to which control goes.
    pub store: usize,
}

/// The exclusive sequences of one function.
///
/// Holds no reference to the words, so that they may be read again for every query; they
/// must not change in between.
#[derive(Debug)]
pub struct Exclusives {
    effect: fn(u32) -> Effect,
    /// `None` for a function without a load-exclusive.
    inside: Option<Places>,
}

impl Exclusives {
    /// Analyses a function. `effect` is its architecture's.
    ///
    /// The work is bounded by a fixed multiple of the function's length. Memory is
    /// allocated only for a function that has a load-exclusive: two bits for every word.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn of(words: &dyn CodeWords, effect: fn(u32) -> Effect) -> Result<Self, AllocError> {
        let code = Code { words, effect };
        let mut inside = None;
        if (0..code.count()).any(|at| code.is(at, Effect::Load)) {
            let mut after_load = Places::none(code.count())?;
            let mut before_store = Places::none(code.count())?;
            let is_load = |_, effect| effect == Effect::Load;
            let is_store = |_, effect| effect == Effect::Store;
            mark_after(code, is_load, &mut after_load);
            mark_before(code, is_store, &after_load, &mut before_store);
            inside = Some(before_store);
        }
        Ok(Self { effect, inside })
    }

    /// Returns whether a probe at the word `index` would be between a load-exclusive and
    /// its store-exclusive.
    ///
    /// The load itself is not inside; the store is.
    pub fn contains(&self, index: usize) -> bool {
        self.inside.as_ref().is_some_and(|inside| inside.has(index))
    }

    /// Returns the sequence around the word `index`; `None` if it is in no sequence. `words`
    /// must be the same as in [`Exclusives::of`].
    ///
    /// If there are several sequences, returns the one whose ends are nearest.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn around(
        &self,
        words: &dyn CodeWords,
        index: usize,
    ) -> Result<Option<Sequence>, AllocError> {
        let Some(inside) = self.inside.as_ref().filter(|inside| inside.has(index)) else {
            return Ok(None);
        };
        let effect = self.effect;
        let code = Code { words, effect };
        let nearest = |accept: &dyn Fn(usize) -> bool| {
            (0..code.count())
                .filter(|&at| accept(at))
                .min_by_key(|at| at.abs_diff(index))
        };

        // The locations that control can reach from here, including this one.
        let mut reached = Places::none(code.count())?;
        reached.add(index);
        if !code.is(index, Effect::Store) {
            mark_after(code, |at, _| at == index, &mut reached);
        }
        let store = nearest(&|at| reached.has(at) && code.is(at, Effect::Store));

        // The locations from which control reaches this one, within the sequences.
        reached.clear();
        mark_before(code, |at, _| at == index, inside, &mut reached);
        let leads_here = |at| {
            let next = code.successors(at);
            next.into_iter().flatten().any(|next| reached.has(next))
        };
        let load = nearest(&|at| code.is(at, Effect::Load) && leads_here(at));

        Ok(Some(Sequence {
            load: load.unwrap_or(index),
            store: store.unwrap_or(index),
        }))
    }
}

/// The words of a function, with their effects.
#[derive(Clone, Copy)]
struct Code<'w> {
    words: &'w dyn CodeWords,
    effect: fn(u32) -> Effect,
}

impl Code<'_> {
    fn count(self) -> usize {
        self.words.count()
    }

    fn effect(self, index: usize) -> Option<Effect> {
        self.words.word(index).map(self.effect)
    }

    fn is(self, index: usize, effect: Effect) -> bool {
        self.effect(index) == Some(effect)
    }

    /// Returns where control goes from the word at `index`, within the function.
    fn successors(self, index: usize) -> [Option<usize>; 2] {
        let within = |at: Option<usize>| at.filter(|&at| at < self.count());
        let next = within(index.checked_add(1));
        let target = |distance: i32| {
            let words = isize::try_from(distance).ok()?;
            within(index.checked_add_signed(words))
        };
        match self.effect(index) {
            None | Some(Effect::Leave) => [None, None],
            Some(Effect::Jump(distance)) => [target(distance), None],
            Some(Effect::Branch(distance)) => [next, target(distance)],
            Some(_) => [next, None],
        }
    }
}

/// Marks every location that control reaches from a word that satisfies `start`, before
/// anything ends the sequence.
fn mark_after(code: Code<'_>, start: impl Fn(usize, Effect) -> bool, reached: &mut Places) {
    let go_on = |reached: &mut Places, at| {
        let mut changed = false;
        for next in code.successors(at).into_iter().flatten() {
            changed |= reached.add(next);
        }
        changed
    };
    for at in 0..code.count() {
        if code.effect(at).is_some_and(|effect| start(at, effect)) {
            go_on(reached, at);
        }
    }
    // Most locations are not reached, and need not be decoded.
    let settled = sweep(code.count(), |at| {
        reached.has(at) && !code.effect(at).is_some_and(ends_sequence) && go_on(reached, at)
    });
    if !settled {
        // Too complex: every location counts as reached, so that none is wrongly considered
        // safe.
        reached.fill();
    }
}

/// Marks every location of `within` that satisfies `goal`, or from which control reaches
/// such a location before anything ends the sequence.
fn mark_before(
    code: Code<'_>,
    goal: impl Fn(usize, Effect) -> bool,
    within: &Places,
    reached: &mut Places,
) {
    let settled = sweep(code.count(), |at| {
        if !within.has(at) || reached.has(at) {
            return false;
        }
        let Some(effect) = code.effect(at) else {
            return false;
        };
        let next = code.successors(at);
        let leads =
            !ends_sequence(effect) && next.into_iter().flatten().any(|next| reached.has(next));
        (goal(at, effect) || leads) && reached.add(at)
    });
    if !settled {
        // As above: every location that a load-exclusive reaches is refused.
        reached.fill_from(within);
    }
}

/// Visits all `count` locations, up and down in turn, until a round changes nothing.
/// Returns whether this happened within [`SWEEPS`].
fn sweep(count: usize, mut visit: impl FnMut(usize) -> bool) -> bool {
    for _ in 0..SWEEPS {
        let mut changed = false;
        for at in 0..count {
            changed |= visit(at);
        }
        for at in (0..count).rev() {
            changed |= visit(at);
        }
        if !changed {
            return true;
        }
    }
    false
}

/// Returns whether executing this ends the earlier load's hold of the monitor.
fn ends_sequence(effect: Effect) -> bool {
    matches!(effect, Effect::Load | Effect::Store | Effect::Clear)
}

/// A set of locations, one bit for every word.
#[derive(Debug)]
struct Places(Vec<u64>);

impl Places {
    fn none(count: usize) -> Result<Self, AllocError> {
        let blocks = count.div_ceil(64);
        let mut bits = Vec::with_capacity(blocks)?;
        for _ in 0..blocks {
            bits.push(0)?;
        }
        Ok(Self(bits))
    }

    fn has(&self, at: usize) -> bool {
        self.0
            .get(at / 64)
            .is_some_and(|bits| bits & Self::bit(at) != 0)
    }

    /// Adds a location; returns whether it is new.
    fn add(&mut self, at: usize) -> bool {
        let bit = Self::bit(at);
        match self.0.get_mut(at / 64) {
            Some(bits) if *bits & bit == 0 => {
                *bits |= bit;
                true
            }
            _ => false,
        }
    }

    fn bit(at: usize) -> u64 {
        1 << (at % 64)
    }

    fn clear(&mut self) {
        self.0.iter_mut().for_each(|bits| *bits = 0);
    }

    fn fill(&mut self) {
        self.0.iter_mut().for_each(|bits| *bits = u64::MAX);
    }

    fn fill_from(&mut self, other: &Self) {
        for (bits, more) in self.0.iter_mut().zip(other.0.iter()) {
            *bits |= more;
        }
    }
}
