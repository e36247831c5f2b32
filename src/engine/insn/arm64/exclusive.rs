// SPDX-License-Identifier: GPL-2.0

//! Which places of a function lie inside an exclusive sequence.
//!
//! A load-exclusive sets a monitor that the store-exclusive tests. The
//! exception of a probe between the two clears the monitor, so the store fails,
//! the loop around them tries again, hits the probe again, and never ends.
//!
//! A place is inside when control can come to it from a load-exclusive and go
//! on from it to a store-exclusive, with nothing in between that ends the
//! sequence: a store-exclusive, `clrex`, another load-exclusive (which begins
//! anew), or an exception, whose return clears the monitor. Branches are
//! followed within the function, forward and backward; a call is taken to
//! return; a path that leaves the function is not followed further.
//!
//! The kernel looks back along the addresses instead, at most 32 words:
//! [`kernel_scan`] reproduces that. It is wrong both ways, and the module
//! `placement` says which of the two refuses.

use super::class::{class, Class};
use crate::sys::{AllocError, Vec};

/// How many words the kernel looks back.
pub const KERNEL_SCAN_WORDS: usize = 32;

/// How often the text is swept before the analysis settles for the safe side.
///
/// Each sweep follows every chain of branches in its direction, so that three
/// or four do for code that a compiler writes.
const SWEEPS: usize = 64;

/// The words of one function, by index.
pub trait Words {
    /// The number of words.
    fn count(&self) -> usize;

    /// The word at `index`, as it was before any patch; `None` past the end.
    fn word(&self, index: usize) -> Option<u32>;
}

impl Words for [u32] {
    fn count(&self) -> usize {
        self.len()
    }

    fn word(&self, index: usize) -> Option<u32> {
        self.get(index).copied()
    }
}

/// The load-exclusive and the store-exclusive around a place, as indices of
/// words.
///
/// In code laid out by a compiler `load` is below `store`; where a branch leads
/// backward it may be above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The load-exclusive from which control comes.
    pub load: usize,
    /// The store-exclusive to which it goes.
    pub store: usize,
}

/// The exclusive sequences of one function.
///
/// Holds no reference to the words, so that they may be read anew for every
/// question; they must not change in between.
#[derive(Debug)]
pub struct Exclusives {
    /// `None` for a function without a load-exclusive.
    inside: Option<Places>,
}

impl Exclusives {
    /// Analyses a function.
    ///
    /// The work is bounded by a fixed multiple of the function's length. Memory
    /// is taken only for a function that has a load-exclusive: two bits for
    /// every word.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn of<W: Words + ?Sized>(words: &W) -> Result<Self, AllocError> {
        let mut inside = None;
        if (0..words.count()).any(|at| is(words, at, is_load)) {
            let mut after_load = Places::none(words.count())?;
            let mut before_store = Places::none(words.count())?;
            mark_after(words, is_load, &mut after_load);
            mark_before(words, is_store, &after_load, &mut before_store);
            inside = Some(before_store);
        }
        Ok(Self { inside })
    }

    /// Whether a probe at the word `index` would come between a load-exclusive
    /// and its store-exclusive.
    ///
    /// The load itself is not inside; the store is.
    pub fn contains(&self, index: usize) -> bool {
        self.inside.as_ref().is_some_and(|inside| inside.has(index))
    }

    /// The sequence around the word `index` of `words`, which are those of
    /// [`Exclusives::of`]; `None` when it lies in none.
    ///
    /// Of several sequences it is the one whose ends are nearest.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn around<W: Words + ?Sized>(
        &self,
        words: &W,
        index: usize,
    ) -> Result<Option<Sequence>, AllocError> {
        let Some(inside) = self.inside.as_ref().filter(|inside| inside.has(index)) else {
            return Ok(None);
        };
        let nearest = |accept: &dyn Fn(usize) -> bool| {
            (0..words.count())
                .filter(|&at| accept(at))
                .min_by_key(|at| at.abs_diff(index))
        };

        // What control can come to from here; the place itself counts.
        let mut reached = Places::none(words.count())?;
        reached.add(index);
        if !is(words, index, is_store) {
            mark_after(words, |at, _| at == index, &mut reached);
        }
        let store = nearest(&|at| reached.has(at) && is(words, at, is_store));

        // What leads here, within the sequences.
        reached.clear();
        mark_before(words, |at, _| at == index, inside, &mut reached);
        let leads_here = |at| {
            successors(words, at)
                .into_iter()
                .flatten()
                .any(|next| reached.has(next))
        };
        let load = nearest(&|at| is(words, at, is_load) && leads_here(at));

        Ok(Some(Sequence {
            load: load.unwrap_or(index),
            store: store.unwrap_or(index),
        }))
    }
}

fn is<W: Words + ?Sized>(words: &W, index: usize, what: fn(usize, Class) -> bool) -> bool {
    words
        .word(index)
        .is_some_and(|word| what(index, class(word)))
}

fn is_load(_: usize, class: Class) -> bool {
    class == Class::LoadExclusive
}

fn is_store(_: usize, class: Class) -> bool {
    class == Class::StoreExclusive
}

/// Marks every place to which control comes from a word that `start` names,
/// before anything ends the sequence.
fn mark_after<W: Words + ?Sized>(
    words: &W,
    start: impl Fn(usize, Class) -> bool,
    reached: &mut Places,
) {
    let go_on = |reached: &mut Places, at| {
        let mut changed = false;
        for next in successors(words, at).into_iter().flatten() {
            changed |= reached.add(next);
        }
        changed
    };
    for at in 0..words.count() {
        if words.word(at).is_some_and(|word| start(at, class(word))) {
            go_on(reached, at);
        }
    }
    // Most places are not reached, and need not be decoded.
    let settled = sweep(words.count(), |at| {
        reached.has(at) && !is(words, at, |_, class| ends_sequence(class)) && go_on(reached, at)
    });
    if !settled {
        // Too entangled: everything counts as reached, so that nothing is
        // taken for safe.
        reached.fill();
    }
}

/// Marks every place of `within` that is one which `goal` names, or from which
/// control comes to such a place before anything ends the sequence.
fn mark_before<W: Words + ?Sized>(
    words: &W,
    goal: impl Fn(usize, Class) -> bool,
    within: &Places,
    reached: &mut Places,
) {
    let settled = sweep(words.count(), |at| {
        if !within.has(at) || reached.has(at) {
            return false;
        }
        let Some(class) = words.word(at).map(class) else {
            return false;
        };
        let leads = !ends_sequence(class)
            && successors(words, at)
                .into_iter()
                .flatten()
                .any(|next| reached.has(next));
        (goal(at, class) || leads) && reached.add(at)
    });
    if !settled {
        // The same; of what a load-exclusive leads to, all is refused.
        reached.fill_from(within);
    }
}

/// Visits all of `count` places, up and down in turn, until a round changes
/// nothing; whether that came to pass within [`SWEEPS`].
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

/// Whether the monitor is no longer the earlier load's once this is executed.
fn ends_sequence(class: Class) -> bool {
    matches!(
        class,
        Class::LoadExclusive
            | Class::StoreExclusive
            | Class::ClearExclusive
            | Class::ExceptionReturn
            | Class::Breakpoint { .. }
            | Class::Exception
            | Class::Undefined
    )
}

/// Where control goes from the word at `index`, within the function.
fn successors<W: Words + ?Sized>(words: &W, index: usize) -> [Option<usize>; 2] {
    let count = words.count();
    let within = |at: Option<usize>| at.filter(|&at| at < count);
    let next = within(index.checked_add(1));
    let target = |displacement: i32| {
        // A displacement is a multiple of the instruction's length.
        let words = isize::try_from(displacement >> 2).ok()?;
        within(index.checked_add_signed(words))
    };
    match words.word(index).map(class) {
        None | Some(Class::IndirectBranch | Class::Return | Class::ExceptionReturn) => [None, None],
        Some(Class::Branch { displacement }) => [target(displacement), None],
        Some(Class::ConditionalBranch { displacement }) => [next, target(displacement)],
        Some(_) => [next, None],
    }
}

/// A set of places, one bit for every word.
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

    /// Adds a place; whether it is new.
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

/// The load-exclusive on account of which the kernel refuses a probe at the
/// word `index`, as its index; `None` when it does not refuse.
///
/// The kernel walks back at most [`KERNEL_SCAN_WORDS`], or to the start of the
/// function. The first store-exclusive that it meets means that all is well, the
/// first load-exclusive that it is not. Its masks take `casp` for either.
pub fn kernel_scan<W: Words + ?Sized>(words: &W, index: usize) -> Option<usize> {
    const MASK: u32 = 0x3fc0_0000;
    const LOAD: u32 = 0x0840_0000;
    const STORE: u32 = 0x0800_0000;

    for at in (index.saturating_sub(KERNEL_SCAN_WORDS)..index).rev() {
        match words.word(at)? & MASK {
            STORE => return None,
            LOAD => return Some(at),
            _ => {}
        }
    }
    None
}
