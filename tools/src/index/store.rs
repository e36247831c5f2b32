// SPDX-License-Identifier: GPL-2.0

//! The index as bytes: tables sorted by name, which are searched where they lie.
//!
//! All numbers are little-endian. Behind the header, which is [`MAGIC`] and nine counts of 64
//! bits, come: the offsets of the units; the tables of functions and of files, with the places of
//! their names and lists; the lists; the names.

use super::Site;
use std::collections::{BTreeMap, BTreeSet};

/// The name of the format and its version.
const MAGIC: &[u8; 8] = b"FPINDEX1";
/// The counts in the header: units, functions, files, sites, numbers, bytes of names.
const COUNTS: usize = 6;
/// A row of the table of functions: name, its length, first site, count of sites.
const FUNCTION: usize = 4;
/// A row of the table of files: name, its length, first number, count of units, count of
/// declarations.
const FILE: usize = 5;

/// What the index has of a file.
#[derive(Default)]
pub struct FileRecord {
    /// The units with lines of it.
    pub units: BTreeSet<u32>,
    /// The lines on which functions are defined.
    pub declarations: BTreeSet<u32>,
}

/// Writes the index of `functions`, which are sorted, and `files`.
pub(super) fn encode(
    units: &[u64],
    functions: &[(&str, Site)],
    files: &BTreeMap<String, FileRecord>,
) -> Vec<u8> {
    let mut names = String::new();
    let mut table: Vec<u32> = Vec::new();
    let mut sites: Vec<u32> = Vec::new();
    let mut count = 0;
    // CAST: none of them reaches 4 GiB, because they are less than the debug information, of
    // which `Site` holds offsets of 32 bits.
    for group in functions.chunk_by(|(a, _), (b, _)| a == b) {
        let Some((name, _)) = group.first() else {
            continue;
        };
        table.extend([names.len() as u32, name.len() as u32]);
        table.extend([(sites.len() / 2) as u32, group.len() as u32]);
        names.push_str(name);
        sites.extend(group.iter().flat_map(|(_, site)| [site.unit, site.entry]));
        count += 1;
    }
    let mut numbers: Vec<u32> = Vec::new();
    for (name, record) in files {
        table.extend([names.len() as u32, name.len() as u32, numbers.len() as u32]);
        table.extend([record.units.len() as u32, record.declarations.len() as u32]);
        names.push_str(name);
        numbers.extend(&record.units);
        numbers.extend(&record.declarations);
    }
    let mut bytes = MAGIC.to_vec();
    for count in [
        units.len(),
        count,
        files.len(),
        sites.len(),
        numbers.len(),
        names.len(),
    ] {
        bytes.extend((count as u64).to_le_bytes());
    }
    bytes.extend(units.iter().flat_map(|offset| offset.to_le_bytes()));
    for part in [table, sites, numbers] {
        bytes.extend(part.iter().flat_map(|number| number.to_le_bytes()));
    }
    bytes.extend(names.as_bytes());
    bytes
}

/// An index in memory.
pub struct Index<D> {
    data: D,
    counts: [usize; COUNTS],
}

impl<D: std::ops::Deref<Target = [u8]>> Index<D> {
    /// The index in `data`, `None` if it is none, of another version, or cut off.
    pub fn new(data: D) -> Option<Self> {
        if data.get(..MAGIC.len())? != MAGIC {
            return None;
        }
        let mut counts = [0; COUNTS];
        for (at, count) in counts.iter_mut().enumerate() {
            let start = MAGIC.len() + 8 * at;
            let bytes = data.get(start..start + 8)?.try_into().ok()?;
            *count = usize::try_from(u64::from_le_bytes(bytes)).ok()?;
        }
        let index = Self { data, counts };
        (index.names_start().checked_add(index.counts[5])? == index.data.len()).then_some(index)
    }

    fn units_start(&self) -> usize {
        MAGIC.len() + 8 * COUNTS
    }

    fn functions_start(&self) -> usize {
        self.units_start()
            .saturating_add(self.counts[0].saturating_mul(8))
    }

    fn files_start(&self) -> usize {
        self.functions_start()
            .saturating_add(self.counts[1].saturating_mul(4 * FUNCTION))
    }

    fn sites_start(&self) -> usize {
        self.files_start()
            .saturating_add(self.counts[2].saturating_mul(4 * FILE))
    }

    fn numbers_start(&self) -> usize {
        self.sites_start()
            .saturating_add(self.counts[3].saturating_mul(4))
    }

    fn names_start(&self) -> usize {
        self.numbers_start()
            .saturating_add(self.counts[4].saturating_mul(4))
    }

    fn number(&self, start: usize, at: usize) -> Option<u32> {
        let start = start.checked_add(at.checked_mul(4)?)?;
        let bytes = self.data.get(start..start.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    fn name(&self, row: usize) -> Option<&str> {
        let start = self.names_start() + self.number(row, 0)? as usize;
        let name = self
            .data
            .get(start..start + self.number(row, 1)? as usize)?;
        std::str::from_utf8(name).ok()
    }

    /// The offset of the unit `number` in `.debug_info`.
    pub fn unit(&self, number: u32) -> Option<u64> {
        let start = self.units_start() + 8 * number as usize;
        let bytes = self.data.get(start..start + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Where the function `name` has code.
    pub fn function(&self, name: &str) -> Vec<Site> {
        self.find_function(name).unwrap_or_default()
    }

    fn find_function(&self, name: &str) -> Option<Vec<Site>> {
        let row = |at: usize| self.functions_start() + 4 * FUNCTION * at;
        let (mut low, mut high) = (0, self.counts[1]);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(row(middle))?.cmp(name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.sites(row(middle)),
            }
        }
        None
    }

    fn sites(&self, row: usize) -> Option<Vec<Site>> {
        let first = self.number(row, 2)? as usize;
        let count = self.number(row, 3)? as usize;
        let site = |at: usize| {
            Some(Site {
                unit: self.number(self.sites_start(), 2 * at)?,
                entry: self.number(self.sites_start(), 2 * at + 1)?,
            })
        };
        (first..first.checked_add(count)?).map(site).collect()
    }

    /// The names of all functions with code, in their order.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        (0..self.counts[1]).filter_map(|at| self.name(self.functions_start() + 4 * FUNCTION * at))
    }

    /// The names of all files with lines.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        (0..self.counts[2]).filter_map(|at| self.name(self.file_row(at)))
    }

    fn file_row(&self, at: usize) -> usize {
        self.files_start() + 4 * FILE * at
    }

    fn find_file(&self, name: &str) -> Option<usize> {
        let rows = (0..self.counts[2]).map(|at| self.file_row(at));
        let mut named = rows.filter(|row| self.name(*row) == Some(name));
        named.next()
    }

    /// The units with lines of the file `name`.
    pub fn units_of_file(&self, name: &str) -> Vec<u32> {
        let units = || {
            let row = self.find_file(name)?;
            let first = self.number(row, 2)? as usize;
            let count = self.number(row, 3)? as usize;
            let number = |at| self.number(self.numbers_start(), at);
            (first..first.checked_add(count)?)
                .map(number)
                .collect::<Option<Vec<u32>>>()
        };
        units().unwrap_or_default()
    }

    /// The lines of the file `name` on which functions are defined, ascending.
    pub fn declarations(&self, name: &str) -> Vec<u32> {
        let lines = || {
            let row = self.find_file(name)?;
            let units = self.number(row, 3)? as usize;
            let first = (self.number(row, 2)? as usize).checked_add(units)?;
            let count = self.number(row, 4)? as usize;
            let number = |at| self.number(self.numbers_start(), at);
            (first..first.checked_add(count)?)
                .map(number)
                .collect::<Option<Vec<u32>>>()
        };
        lines().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Vec<u8> {
        let site = |unit, entry| Site { unit, entry };
        let functions = [
            ("alpha", site(0, 7)),
            ("alpha", site(1, 9)),
            ("beta", site(1, 30)),
        ];
        let record = FileRecord {
            units: [0, 1].into(),
            declarations: [5, 80].into(),
        };
        let files = [("fs/a.c".to_string(), record)].into();
        encode(&[0, 4096], &functions, &files)
    }

    #[test]
    fn what_is_written_is_found() {
        let bytes = example();
        let index = Index::new(&bytes[..]).expect("an index");
        assert_eq!(index.function("alpha").len(), 2);
        assert_eq!(index.function("beta"), [Site { unit: 1, entry: 30 }]);
        assert_eq!(index.function("gamma"), []);
        assert_eq!(index.unit(1), Some(4096));
        assert_eq!(index.unit(2).filter(|_| false), None);
        assert_eq!(index.units_of_file("fs/a.c"), [0, 1]);
        assert_eq!(index.declarations("fs/a.c"), [5, 80]);
        assert_eq!(index.functions().collect::<Vec<_>>(), ["alpha", "beta"]);
    }

    #[test]
    fn an_index_that_is_cut_off_is_none() {
        let bytes = example();
        for len in 0..bytes.len() {
            assert!(Index::new(&bytes[..len]).is_none(), "{len}");
        }
    }
}
