// SPDX-License-Identifier: GPL-2.0

//! What functions return, by the kernel's type information, and how it is shown.

use ferroprobe_engine::engine::program::btf::parts::Scalar;
use ferroprobe_engine::engine::program::btf::{Btf, BtfFunction, Index};
use ferroprobe_engine::engine::util::errno;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// What a function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returns {
    /// Nothing, or a structure.
    Nothing,
    /// A number of so many bits, with or without a sign.
    Number(u8, bool),
    /// An address.
    Pointer,
    /// The type information does not say.
    Unknown,
}

impl Returns {
    /// The type of the fetch argument for it, if there is something to fetch.
    pub fn fetch_type(self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Number(bits, is_signed) => {
                Some(format!("{}{bits}", if is_signed { 's' } else { 'u' }))
            }
            Self::Pointer | Self::Unknown => Some("s64".into()),
        }
    }

    /// The value in a register, and the number of the error that it is.
    fn value(self, register: i64) -> (i64, Option<i64>) {
        let is_error = |value: i64| (-4095..0).contains(&value).then_some(value);
        match self {
            Self::Number(bits @ 1..=63, is_signed) => {
                let unused = 64 - u32::from(bits);
                let high = register << unused;
                match is_signed {
                    true => (high >> unused, is_error(high >> unused)),
                    // What is no error has no sign.
                    false => (((high as u64) >> unused) as i64, None),
                }
            }
            Self::Unknown => {
                // Of an int the other half means nothing.
                let half = i64::from(register as i32);
                match is_error(register).or(is_error(half)) {
                    Some(error) => (error, Some(error)),
                    None => (register, None),
                }
            }
            // An unsigned long may be an error, too.
            _ => (register, is_error(register)),
        }
    }

    /// The value in a register as text, with the name of an error.
    pub fn text(self, register: i64) -> Option<String> {
        let (value, error) = self.value(register);
        if let Some(name) = error.and_then(errno::name).filter(|name| !name.is_empty()) {
            return (self != Self::Nothing).then(|| format!("-{name}"));
        }
        match self {
            Self::Nothing => None,
            Self::Number(64, false) => Some((value as u64).to_string()),
            Self::Number(..) => Some(value.to_string()),
            Self::Pointer if value == 0 => Some("NULL".into()),
            Self::Unknown if i32::try_from(value).is_ok() => Some(value.to_string()),
            Self::Pointer | Self::Unknown => Some(format!("{value:#x}")),
        }
    }

    /// The value in a register as a number, for programs.
    pub fn number(self, register: i64) -> Option<serde_json::Value> {
        let (value, error) = self.value(register);
        match self {
            Self::Nothing => None,
            Self::Number(64, false) | Self::Pointer if error.is_none() => {
                Some((value as u64).into())
            }
            _ => Some(value.into()),
        }
    }
}

fn returns(function: &BtfFunction<'_>) -> Returns {
    let Some(returned) = function.returned() else {
        return Returns::Unknown;
    };
    match returned.scalar() {
        Some(Scalar::Integer(bits, is_signed) | Scalar::Enum(bits, is_signed)) => {
            Returns::Number(bits, is_signed)
        }
        Some(Scalar::Character) => Returns::Number(8, true),
        Some(Scalar::Pointer | Scalar::Function) => Returns::Pointer,
        None if returned.is_void() || returned.is_structure() => Returns::Nothing,
        None => Returns::Unknown,
    }
}

/// What the functions of a kernel and its modules return.
#[derive(Debug, Default)]
pub struct Results {
    /// By the name of the function.
    known: HashMap<String, Returns>,
    kernel: Vec<u8>,
}

impl Results {
    /// Looks for functions, each with its module; `folder` has the type information.
    pub fn learn(&mut self, folder: &Path, functions: &[(&str, Option<&str>)]) {
        if self.kernel.is_empty() {
            self.kernel = fs::read(folder.join("vmlinux")).unwrap_or_default();
        }
        let Ok(index) = Index::build(&self.kernel, None) else {
            return;
        };
        let Some(kernel) = Btf::new(&self.kernel, &index, None) else {
            return;
        };
        let mut modules: Vec<Option<&str>> = functions.iter().map(|(_, module)| *module).collect();
        modules.sort_unstable();
        modules.dedup();
        for module in modules {
            let wanted = functions.iter().filter(|(_, of)| *of == module);
            // A part that the compiler made of a function is not known by its name.
            let wanted: HashMap<&[u8], &str> =
                wanted.map(|(name, _)| (name.as_bytes(), *name)).collect();
            let mut found = |name: &[u8], function: BtfFunction<'_>| {
                if let Some(name) = wanted.get(name) {
                    self.known.insert((*name).into(), returns(&function));
                }
            };
            let Some(module) = module else {
                kernel.each_function(b"", &mut found);
                continue;
            };
            let blob = fs::read(folder.join(module)).unwrap_or_default();
            if let Ok(index) = Index::build(&blob, Some(&index)) {
                if let Some(btf) = Btf::new(&blob, &index, Some(&kernel)) {
                    btf.each_function(b"", &mut found);
                }
            }
        }
    }

    /// What `function` returns.
    pub fn of(&self, function: &str) -> Returns {
        self.known
            .get(function)
            .copied()
            .unwrap_or(Returns::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_by_their_types() {
        let text = |returns: Returns, value: i64| returns.text(value).unwrap_or_default();
        let half = 0xffff_fffe;
        assert_eq!(text(Returns::Number(32, true), half), "-ENOENT");
        assert_eq!(text(Returns::Number(32, false), half), "4294967294");
        assert_eq!(text(Returns::Number(64, true), half), "4294967294");
        assert_eq!(text(Returns::Number(64, false), -14), "-EFAULT");
        assert_eq!(text(Returns::Number(8, false), 0x1701), "1");
        assert_eq!(text(Returns::Number(32, true), -5000), "-5000");
        assert_eq!(text(Returns::Pointer, 0), "NULL");
        assert_eq!(text(Returns::Pointer, -2), "-ENOENT");
        assert_eq!(text(Returns::Pointer, 0x1000), "0x1000");
        assert_eq!(text(Returns::Unknown, half), "-ENOENT");
        assert_eq!(text(Returns::Unknown, 3), "3");
        assert_eq!(text(Returns::Nothing, -2), "");
        let number = |returns: Returns, value: i64| returns.number(value);
        assert_eq!(number(Returns::Number(32, true), half), Some((-2).into()));
        assert_eq!(
            number(Returns::Pointer, -4096),
            Some((-4096i64 as u64).into())
        );
        assert_eq!(number(Returns::Nothing, 0), None);
    }

    #[test]
    fn without_type_information_nothing_is_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut results = Results::default();
        results.learn(folder.path(), &[("vfs_read", None)]);
        assert_eq!(results.of("vfs_read"), Returns::Unknown);
    }
}
