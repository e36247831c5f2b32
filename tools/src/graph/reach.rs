// SPDX-License-Identifier: GPL-2.0

//! Which functions a function reaches, by how many calls.

use super::calls::{Reader, Site};
use super::functions::{Function, Functions};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A function that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached<'t> {
    /// The function.
    pub function: Function<'t>,
    /// The fewest calls that lead to it.
    pub level: usize,
}

/// What is reached, the first function among it.
pub struct Reach<'a, 't> {
    reader: Reader<'a, 't>,
    depth: usize,
    most: usize,
    /// By address.
    known: BTreeMap<u64, Reached<'t>>,
    /// In the order in which they were reached.
    order: Vec<u64>,
    /// The functions whose code has been read.
    expanded: BTreeSet<u64>,
    /// Whom these call.
    edges: BTreeMap<u64, BTreeSet<u64>>,
    /// Calls through pointers, each with the function that makes it.
    sites: Vec<(u64, Site)>,
    /// Functions for which there was no room.
    left_out: BTreeSet<u64>,
    /// Of whose code something is not known, with the reason.
    unknown: Vec<(String, String)>,
}

impl<'a, 't> Reach<'a, 't> {
    /// What `root` reaches by `depth` calls; at most so many functions below it.
    pub fn new(reader: Reader<'a, 't>, root: &Function<'t>, depth: usize, most: usize) -> Self {
        let mut reach = Self {
            reader,
            depth,
            most,
            known: BTreeMap::new(),
            order: Vec::new(),
            expanded: BTreeSet::new(),
            edges: BTreeMap::new(),
            sites: Vec::new(),
            left_out: BTreeSet::new(),
            unknown: Vec::new(),
        };
        reach.grow([(root.address, 0)].into());
        reach
    }

    /// Adds the target of a pointer that the function at `caller` has called. Returns whether it is
    /// known now, and was not before.
    pub fn learn(&mut self, caller: u64, target: u64) -> bool {
        let Some(level) = self.known.get(&caller).map(|caller| caller.level) else {
            return false;
        };
        let before = self.order.len();
        self.edges.entry(caller).or_default().insert(target);
        if level < self.depth {
            self.grow([(target, level + 1)].into());
        }
        self.order.len() > before
    }

    /// Adds functions at their levels, and what they reach.
    fn grow(&mut self, mut queue: VecDeque<(u64, usize)>) {
        while let Some((address, level)) = queue.pop_front() {
            let Some(function) = self.reader.functions.at(address).first().copied() else {
                continue;
            };
            match self.known.get_mut(&address) {
                Some(known) if known.level <= level => continue,
                Some(known) => known.level = level,
                // The first function does not count.
                None if self.order.len() > self.most => {
                    self.left_out.insert(address);
                    continue;
                }
                None => {
                    self.known.insert(address, Reached { function, level });
                    self.order.push(address);
                }
            }
            if level >= self.depth {
                continue;
            }
            let calls = self.reader.calls(&function);
            queue.extend(calls.direct.iter().map(|callee| (*callee, level + 1)));
            if self.expanded.insert(address) {
                let edges = self.edges.entry(address).or_default();
                edges.extend(&calls.direct);
                let sites = calls.sites.into_iter();
                self.sites.extend(sites.map(|site| (address, site)));
                let unknown = calls.unknown.into_iter();
                self.unknown
                    .extend(unknown.map(|why| (function.name.into(), why)));
            }
        }
    }

    /// The first function.
    pub fn root(&self) -> Option<&Reached<'t>> {
        self.known.get(self.order.first()?)
    }

    /// The function at `address`, if it is reached.
    pub fn get(&self, address: u64) -> Option<&Reached<'t>> {
        self.known.get(&address)
    }

    /// All functions below the first one, behind the first `from`.
    pub fn below(&self, from: usize) -> impl Iterator<Item = &Reached<'t>> {
        let order = self.order.iter().skip(1 + from);
        order.filter_map(|address| self.known.get(address))
    }

    /// Calls through pointers, behind the first `from`.
    pub fn sites(&self, from: usize) -> &[(u64, Site)] {
        self.sites.get(from..).unwrap_or_default()
    }

    /// How many functions there was no room for.
    pub fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// The functions of whose code something is not known, with the reasons.
    pub fn unknown(&self) -> &[(String, String)] {
        &self.unknown
    }

    /// Whom each function calls, maybe by one that `is_hidden`: of that one no call is seen.
    pub fn callees(&self, is_hidden: impl Fn(u64) -> bool) -> BTreeMap<u64, BTreeSet<u64>> {
        let through = |first: &BTreeSet<u64>| {
            let mut all = first.clone();
            let mut queue: Vec<u64> = first.iter().copied().collect();
            while let Some(callee) = queue.pop() {
                let behind = self.edges.get(&callee).filter(|_| is_hidden(callee));
                for callee in behind.into_iter().flatten() {
                    if all.insert(*callee) {
                        queue.push(*callee);
                    }
                }
            }
            all
        };
        let edges = self.edges.iter();
        edges
            .map(|(caller, first)| (*caller, through(first)))
            .collect()
    }

    /// What reads the code.
    pub fn reader(&self) -> &Reader<'a, 't> {
        &self.reader
    }

    /// All functions of the kernel.
    pub fn functions(&self) -> &'a Functions<'t> {
        self.reader.functions
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::*;
    use ferroprobe_engine::engine::code::arch::Arch;

    /// Functions of x86, each of 32 bytes, from 0x1000 on. Each calls functions by their numbers,
    /// and then through `rax`.
    struct Code(Vec<Vec<u64>>);

    impl Memory for Code {
        fn read(&self, address: u64, len: usize) -> Option<Vec<u8>> {
            let number = usize::try_from(address.checked_sub(0x1000)? / 32).ok()?;
            let mut bytes = Vec::new();
            for callee in self.0.get(number)? {
                let end = address + bytes.len() as u64 + 5;
                let distance = (0x1000 + callee * 32).wrapping_sub(end);
                bytes.push(0xe8);
                bytes.extend(&distance.to_le_bytes()[..4]);
            }
            bytes.extend([0xff, 0xd0, 0xc3]);
            bytes.resize(32, 0xcc);
            bytes.truncate(len);
            Some(bytes)
        }
    }

    const NAMES: &str = "\
0000000000001000 T zero
0000000000001020 T one
0000000000001040 T two
0000000000001060 T three
0000000000001080 T four
";

    fn levels(reach: &Reach<'_, '_>) -> Vec<(String, usize)> {
        let below = reach.below(0);
        below
            .map(|reached| (reached.function.name.to_string(), reached.level))
            .collect()
    }

    #[test]
    fn the_nearest_are_reached_first() {
        let code = Code(vec![vec![1, 2], vec![3, 1], vec![3], vec![4], vec![0]]);
        let functions = Functions::read(NAMES).expect("functions");
        let reach = |depth, most| {
            let reader = Reader {
                arch: Arch::X86_64,
                memory: &code,
                functions: &functions,
            };
            Reach::new(reader, functions.named("zero")[0], depth, most)
        };
        let named = |names: &[(&str, usize)]| -> Vec<(String, usize)> {
            let names = names.iter();
            names
                .map(|(name, level)| (name.to_string(), *level))
                .collect()
        };
        let mut two = reach(2, 10);
        assert_eq!(levels(&two), named(&[("one", 1), ("two", 1), ("three", 2)]));
        assert_eq!((two.sites(0).len(), two.left_out()), (3, 0));
        // A pointer leads there by fewer calls: then what it calls is reached, too.
        assert!(two.learn(0x1000, 0x1060));
        assert_eq!(
            levels(&two),
            named(&[("one", 1), ("two", 1), ("three", 1), ("four", 2)])
        );
        assert!(!two.learn(0x1080, 0x1020), "too deep");
        let callees = |hidden: u64| two.callees(|address| address == hidden)[&0x1000].clone();
        assert_eq!(callees(0), [0x1020, 0x1040, 0x1060].into());
        assert_eq!(callees(0x1060), [0x1020, 0x1040, 0x1060, 0x1080].into());
        let few = reach(2, 2);
        assert_eq!(levels(&few), named(&[("one", 1), ("two", 1)]));
        assert_eq!(few.left_out(), 1);
    }
}
