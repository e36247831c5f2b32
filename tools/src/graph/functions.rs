// SPDX-License-Identifier: GPL-2.0

//! The functions of the running kernel and its modules, by `/proc/kallsyms`.

use crate::error::Result;
use crate::refuse;

/// The longest code that is taken for one function: nothing says where the last one ends.
const LONGEST: u64 = 64 << 10;

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function<'t> {
    /// Where it begins.
    pub address: u64,
    /// Where the next one does.
    pub end: u64,
    /// Its name.
    pub name: &'t str,
    /// The module that it is in.
    pub module: Option<&'t str>,
}

/// All functions, by their addresses.
#[derive(Debug, Default)]
pub struct Functions<'t> {
    all: Vec<Function<'t>>,
}

impl<'t> Functions<'t> {
    /// Reads the text of `/proc/kallsyms`.
    pub fn read(text: &'t str) -> Result<Self> {
        let mut all: Vec<Function<'t>> = text.lines().filter_map(function).collect();
        if all.iter().all(|function| function.address == 0) {
            refuse!("/proc/kallsyms shows no addresses: be root");
        }
        // A stable sort: functions at one address stay in the order of the file.
        all.sort_by_key(|function| function.address);
        let mut end = u64::MAX;
        let mut next = u64::MAX;
        for function in all.iter_mut().rev() {
            if function.address != next {
                (end, next) = (next, function.address);
            }
            function.end = end.min(function.address.saturating_add(LONGEST));
        }
        all.retain(|function| !is_mark(function.name));
        Ok(Self { all })
    }

    /// The functions that begin at `address`: one may have several names.
    pub fn at(&self, address: u64) -> &[Function<'t>] {
        let from = self.all.partition_point(|other| other.address < address);
        let rest = self.all.get(from..).unwrap_or_default();
        let len = rest.partition_point(|other| other.address == address);
        rest.get(..len).unwrap_or_default()
    }

    /// The function that a call to `address` enters: calls may pass over a landing pad, or go to
    /// the check before a function.
    pub fn entered(&self, address: u64) -> Option<&Function<'t>> {
        /// `endbr64` is shorter, and so is the check of `CONFIG_FINEIBT` before a function.
        const NEAR: u64 = 16;

        if let Some(found) = self.at(address).first() {
            return Some(found);
        }
        let behind = self.all.partition_point(|other| other.address <= address);
        let near = |other: &&Function<'t>| other.address.abs_diff(address) <= NEAR;
        let before = behind.checked_sub(1).and_then(|at| self.all.get(at));
        before
            .filter(near)
            .or_else(|| self.all.get(behind).filter(near))
    }

    /// The functions called `name`, which may be `MODULE:NAME` or `NAME#NUMBER`.
    pub fn named(&self, name: &str) -> Vec<&Function<'t>> {
        let (module, name) = match name.split_once(':') {
            Some((module, name)) => (Some(module), name),
            None => (None, name),
        };
        let (name, number) = match name.split_once('#') {
            Some((name, number)) => (name, number.parse::<usize>().ok()),
            None => (name, None),
        };
        let all = self.all.iter().filter(|other| other.name == name);
        let all = all.filter(|other| module.is_none() || other.module == module);
        match number {
            Some(number) => all.skip(number.saturating_sub(1)).take(1).collect(),
            None => all.collect(),
        }
    }
}

/// A line of the file, if it is one of a function.
fn function(line: &str) -> Option<Function<'_>> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
    let name = words.next()?;
    let module = words.next().map(|word| word.trim_matches(['[', ']']));
    is_code.then_some(Function {
        address,
        end: 0,
        name,
        module,
    })
}

/// Whether a symbol is before a function and not in its place.
fn is_mark(name: &str) -> bool {
    name.starts_with("__pfx_") || name.starts_with("__cfi_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
ffffffff81000000 T _text
ffffffff81000000 T first
ffffffff81000030 t __pfx_second
ffffffff81000040 t second
ffffffff82000000 D data
ffffffffc0000000 t second\t[sample]
";

    #[test]
    fn functions_have_names_and_ends() {
        let functions = Functions::read(TEXT).expect("functions");
        let first = functions.at(0xffff_ffff_8100_0000);
        assert_eq!((first.len(), first[1].name), (2, "first"));
        assert_eq!(first[1].end, 0xffff_ffff_8100_0030);
        assert_eq!(functions.named("second").len(), 2);
        let module = functions.named("sample:second");
        assert_eq!((module.len(), module[0].module), (1, Some("sample")));
        assert_eq!(functions.named("second#1")[0].module, None);
        assert!(functions.named("data").is_empty());
        let entered = |address| functions.entered(address).map(|found| found.name);
        assert_eq!(entered(0xffff_ffff_8100_0044), Some("second"));
        assert_eq!(entered(0xffff_ffff_8100_0030), Some("second"));
        assert_eq!(entered(0xffff_ffff_8100_0020), None);
    }

    #[test]
    fn hidden_addresses_are_refused() {
        assert!(Functions::read("0000000000000000 T _text\n").is_err());
    }
}
