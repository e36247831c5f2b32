// SPDX-License-Identifier: GPL-2.0

//! The text of a whole kernel: verdicts against the kernel's code, exclusive
//! sequences against a search of every path.
//!
//! `FERROPROBE_ARM64_IMAGE` names an uncompressed `Image`,
//! `FERROPROBE_ARM64_SYMBOLS` its symbols, in the form of `/proc/kallsyms` or
//! `System.map`. With `--nocapture` the test lists the places where the
//! kernel's own scan errs.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs};

use ferroprobe_engine::engine::insn::arm64::exclusive::{kernel_scan, Exclusives};
use ferroprobe_engine::engine::insn::arm64::{class, verdict, Class, Verdict};

struct Function {
    name: String,
    words: Vec<u32>,
}

/// The functions of the kernel, or `None` when none is named.
fn functions() -> Option<Vec<Function>> {
    let image = fs::read(env::var_os("FERROPROBE_ARM64_IMAGE")?).unwrap();
    let symbols = fs::read_to_string(env::var_os("FERROPROBE_ARM64_SYMBOLS")?).unwrap();
    let mut starts: BTreeMap<u64, (&str, &str)> = BTreeMap::new();
    for line in symbols.lines() {
        let mut columns = line.split_whitespace();
        let address = u64::from_str_radix(columns.next().unwrap(), 16).unwrap();
        let (kind, name) = (columns.next().unwrap(), columns.next().unwrap());
        starts.entry(address).or_insert((kind, name));
    }
    let address_of = |wanted| {
        let found = starts.iter().find(|(_, (_, name))| *name == wanted);
        *found.expect("a symbol of every kernel").0
    };
    let (base, end) = (address_of("_text"), address_of("_etext"));
    let ends = starts.keys().skip(1).copied();
    let functions = starts
        .iter()
        .zip(ends)
        .filter(|((&at, (kind, _)), next)| at < end && *next <= end && "tTwW".contains(kind))
        .map(|((&at, (_, name)), next)| {
            let range = usize::try_from(at - base).unwrap()..usize::try_from(next - base).unwrap();
            Function {
                name: (*name).into(),
                words: image[range]
                    .chunks_exact(4)
                    .map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()))
                    .collect(),
            }
        })
        .collect();
    Some(functions)
}

#[cfg(kernel_oracle)]
#[test]
fn verdicts_with_the_look_back_agree_with_the_kernel() {
    let Some(functions) = functions() else {
        eprintln!("skipped: FERROPROBE_ARM64_IMAGE and FERROPROBE_ARM64_SYMBOLS are not set");
        return;
    };
    let mut words = 0;
    for function in &functions {
        let kernel = ferroprobe_differential_arm64::oracle::function(&function.words);
        for (at, &word) in function.words.iter().enumerate() {
            let ours = match verdict(word) {
                Verdict::Rejected(_) => 0,
                _ if kernel_scan(&function.words[..], at).is_some() => 0,
                Verdict::Simulated => 1,
                Verdict::SteppableOutOfLine => 2,
            };
            assert_eq!(ours, kernel[at], "{}+{:#x}", function.name, at * 4);
        }
        words += function.words.len();
    }
    println!("{} functions, {words} words agree", functions.len());
}

/// What follows a word within its function; nothing after what ends a sequence,
/// unless the word is where the search began.
fn next(words: &[u32], at: usize, begin: bool) -> Vec<usize> {
    let far = |distance: i32| {
        let target = at as i64 + i64::from(distance) / 4;
        usize::try_from(target).ok().filter(|&to| to < words.len())
    };
    let near = Some(at + 1).filter(|&to| to < words.len());
    let found = match class(words[at]) {
        Class::LoadExclusive if begin => [near, None],
        Class::LoadExclusive
        | Class::StoreExclusive
        | Class::ClearExclusive
        | Class::Breakpoint { .. }
        | Class::Exception
        | Class::Undefined
        | Class::ExceptionReturn
        | Class::Return
        | Class::IndirectBranch => [None, None],
        Class::Branch { displacement } => [far(displacement), None],
        Class::ConditionalBranch { displacement } => [near, far(displacement)],
        _ => [near, None],
    };
    found.into_iter().flatten().collect()
}

/// The places inside sequences, by following the paths from every load one by
/// one and keeping those that end at a store.
fn inside(words: &[u32]) -> BTreeSet<usize> {
    let mut inside = BTreeSet::new();
    for load in 0..words.len() {
        if class(words[load]) != Class::LoadExclusive {
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
            .filter(|&at| class(words[at]) == Class::StoreExclusive)
            .collect();
        let mut led = BTreeSet::new();
        while let Some(at) = back.pop() {
            // The load may itself be reached again; it is where paths begin.
            if led.insert(at) {
                let before = came_from.get(&at).into_iter().flatten().copied();
                back.extend(before.filter(|&from| class(words[from]) != Class::LoadExclusive));
            }
        }
        inside.extend(led);
    }
    inside
}

#[test]
fn exclusive_sequences_agree_with_a_search_of_all_paths() {
    let Some(functions) = functions() else {
        eprintln!("skipped: FERROPROBE_ARM64_IMAGE and FERROPROBE_ARM64_SYMBOLS are not set");
        return;
    };
    let (mut with_load, mut both, mut only_kernel, mut only_ours) = (0, 0, 0, 0);
    let mut accepted = Vec::new();
    let mut refused: Vec<(usize, &str)> = Vec::new();
    for function in &functions {
        let words = &function.words[..];
        let exclusives = Exclusives::of(words).unwrap();
        let expected = inside(words);
        with_load += usize::from(
            words
                .iter()
                .any(|&word| class(word) == Class::LoadExclusive),
        );
        let mut needlessly = 0;
        for at in 0..words.len() {
            let ours = exclusives.contains(at);
            assert_eq!(
                ours,
                expected.contains(&at),
                "{}+{:#x}",
                function.name,
                at * 4
            );
            if matches!(verdict(words[at]), Verdict::Rejected(_)) {
                continue;
            }
            match (ours, kernel_scan(words, at).is_some()) {
                (true, true) => both += 1,
                (true, false) => {
                    only_ours += 1;
                    let ends = exclusives.around(words, at).unwrap().unwrap();
                    accepted.push(format!(
                        "{}+{:#x}, in the sequence from +{:#x} to +{:#x}",
                        function.name,
                        at * 4,
                        ends.load * 4,
                        ends.store * 4
                    ));
                }
                (false, true) => needlessly += 1,
                (false, false) => {}
            }
        }
        if needlessly > 0 {
            refused.push((needlessly, &function.name));
            only_kernel += needlessly;
        }
    }
    println!(
        "{} functions, {with_load} with a load-exclusive; places inside a sequence that the \
         kernel refuses too: {both}, that it accepts: {only_ours}; places that it refuses \
         although they are safe: {only_kernel}, in {} functions",
        functions.len(),
        refused.len()
    );
    refused.sort_unstable_by(|a, b| b.cmp(a));
    for (count, name) in refused.iter().take(10) {
        println!("refused although safe: {count} places of {name}");
    }
    for place in accepted.iter().take(20) {
        println!("accepted although inside: {place}");
    }
}
