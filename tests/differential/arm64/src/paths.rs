// SPDX-License-Identifier: GPL-2.0

//! Exclusive sequences by following each path, for comparison with the sweeps
//! of the engine.

use ferroprobe_engine::engine::code::insn::arm64::{class, Arm64Class};
use std::collections::{BTreeMap, BTreeSet};

/// What follows a word within its function; nothing after what ends a sequence,
/// unless the word is where the search began.
fn next(words: &[u32], at: usize, begin: bool) -> Vec<usize> {
    let far = |distance: i32| {
        let target = at as i64 + i64::from(distance) / 4;
        usize::try_from(target).ok().filter(|&to| to < words.len())
    };
    let near = Some(at + 1).filter(|&to| to < words.len());
    let found = match class(words[at]) {
        Arm64Class::LoadExclusive if begin => [near, None],
        Arm64Class::LoadExclusive
        | Arm64Class::StoreExclusive
        | Arm64Class::ClearExclusive
        | Arm64Class::Breakpoint { .. }
        | Arm64Class::Exception
        | Arm64Class::Undefined
        | Arm64Class::ExceptionReturn
        | Arm64Class::Return
        | Arm64Class::IndirectBranch => [None, None],
        Arm64Class::Branch { displacement } => [far(displacement), None],
        Arm64Class::ConditionalBranch { displacement } => [near, far(displacement)],
        _ => [near, None],
    };
    found.into_iter().flatten().collect()
}

/// The places inside sequences, by following the paths from every load one by
/// one and keeping those that end at a store.
pub fn inside(words: &[u32]) -> BTreeSet<usize> {
    let mut inside = BTreeSet::new();
    for load in 0..words.len() {
        if class(words[load]) != Arm64Class::LoadExclusive {
            continue;
        }
        let mut came_from: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut open: Vec<(usize, usize)> = next(words, load, true)
            .into_iter()
            .map(|to| (load, to))
            .collect();
        while let Some((from, to)) = open.pop() {
            let known = came_from.contains_key(&to);
            came_from.entry(to).or_default().push(from);
            if !known {
                open.extend(
                    next(words, to, false)
                        .into_iter()
                        .map(|onward| (to, onward)),
                );
            }
        }
        let mut back: Vec<usize> = came_from
            .keys()
            .copied()
            .filter(|&at| class(words[at]) == Arm64Class::StoreExclusive)
            .collect();
        let mut led = BTreeSet::new();
        while let Some(at) = back.pop() {
            // The load may itself be reached again; it is where paths begin.
            if led.insert(at) {
                let before = came_from.get(&at).into_iter().flatten().copied();
                back.extend(before.filter(|&from| class(words[from]) != Arm64Class::LoadExclusive));
            }
        }
        inside.extend(led);
    }
    inside
}

/// Why the kernel's look back errs when it meets the word at `met` and refuses
/// a place outside of all sequences.
pub fn mistake(words: &[u32], met: usize) -> &'static str {
    match words.get(met).map(|&word| class(word)) {
        Some(Arm64Class::LoadExclusive) => {}
        _ => return "casp",
    }
    let mut known = BTreeSet::new();
    let mut open = next(words, met, true);
    while let Some(at) = open.pop() {
        if class(words[at]) == Arm64Class::StoreExclusive {
            return "its store is elsewhere";
        }
        if known.insert(at) {
            open.extend(next(words, at, false));
        }
    }
    "it only waits"
}
