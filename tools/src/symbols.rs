// SPDX-License-Identifier: GPL-2.0

//! Names of addresses, as definitions have them.

use crate::error::{Refusal, Result};
use crate::image::{Image, Symbol};
use crate::refuse;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

/// The symbols of a file, by name and address.
pub struct Symbols<'a, 'd> {
    image: &'a Image<'d>,
    /// Whether a name is of one symbol alone, of the names that were looked for.
    alone: RefCell<HashMap<&'d str, bool>>,
    /// The same of all names, once many were looked for.
    counts: OnceCell<HashMap<&'d str, usize>>,
    module: Option<String>,
}

impl<'a, 'd> Symbols<'a, 'd> {
    /// Those of `image`; `module` is the name of the module that it is.
    pub fn new(image: &'a Image<'d>, module: Option<String>) -> Self {
        Self {
            image,
            alone: RefCell::default(),
            counts: OnceCell::new(),
            module,
        }
    }

    /// Whether no other symbol has its name.
    fn is_alone(&self, symbol: &Symbol<'d>) -> bool {
        /// So many names cost as much as all at once.
        const MANY: usize = 32;

        if let Some(counts) = self.counts.get() {
            return counts.get(symbol.name) == Some(&1);
        }
        if let Some(known) = self.alone.borrow().get(symbol.name) {
            return *known;
        }
        if self.alone.borrow().len() >= MANY {
            let counts = self.counts.get_or_init(|| {
                let mut counts = HashMap::new();
                for symbol in self.image.symbols() {
                    *counts.entry(symbol.name).or_insert(0) += 1;
                }
                counts
            });
            return counts.get(symbol.name) == Some(&1);
        }
        let symbols = self.image.symbols().iter();
        let alone = symbols
            .filter(|other| other.name == symbol.name)
            .take(2)
            .count()
            == 1;
        self.alone.borrow_mut().insert(symbol.name, alone);
        alone
    }

    /// The last symbol that is not behind `address`, of its section and kind; of several at one
    /// address the one called `preferred`, or a global one.
    fn before(&self, address: u64, code: bool, preferred: Option<&str>) -> Option<&'a Symbol<'d>> {
        let section = self.image.section_at(address)?;
        let symbols = self.image.symbols();
        let end = symbols.partition_point(|symbol| symbol.address <= address);
        let before = symbols.get(..end)?.iter().rev();
        let mut before = before.filter(|symbol| symbol.is_code == code && !is_mark(symbol.name));
        let first = before.next()?;
        if first.address < section.address {
            return None;
        }
        let same = before.take_while(|symbol| symbol.address == first.address);
        std::iter::once(first).chain(same).max_by_key(|symbol| {
            (
                Some(symbol.name) == preferred,
                self.is_alone(symbol),
                symbol.size > 0,
                symbol.is_global,
            )
        })
    }

    /// Whether what is at `address` is removed from memory after boot, or after a module was loaded.
    pub fn is_gone(&self, address: u64) -> bool {
        let section = self.image.section_at(address);
        let name = section.map_or("", |section| section.name.as_str());
        name.starts_with(".init") || name.starts_with(".exit")
    }

    /// The location of code at `address`, in the function that the debug information calls
    /// `function`.
    pub fn code(&self, address: u64, function: Option<&str>) -> Result<String> {
        let Some(section) = self.image.section_at(address) else {
            refuse!("{address:#x} is in no section of the file");
        };
        if self.is_gone(address) {
            refuse!("it is in {}, which is not in memory any more", section.name);
        }
        let Some(symbol) = self.before(address, true, function) else {
            refuse!("no symbol is before the code at {address:#x}");
        };
        let offset = address - symbol.address;
        let with = |name: &str, offset: u64| match offset {
            0 => name.to_string(),
            offset => format!("{name}+{offset}"),
        };
        let alone = self.is_alone(symbol);
        match (&self.module, alone) {
            (None, true) => Ok(with(symbol.name, offset)),
            (Some(module), true) => Ok(format!("{module}:{}", with(symbol.name, offset))),
            // Several have the name: as perf probe does.
            (None, false) => match self
                .image
                .symbols()
                .iter()
                .find(|symbol| symbol.name == "_text")
            {
                Some(text) => Ok(with("_text", address.wrapping_sub(text.address))),
                None => refuse!("several symbols are called {}", symbol.name),
            },
            (Some(module), false) => {
                let named = || {
                    self.image
                        .symbols()
                        .iter()
                        .filter(|other| other.name == symbol.name)
                };
                if named().any(|other| other.section != symbol.section) {
                    refuse!("several symbols are called {}, in several sections, whose order in memory is not known", symbol.name);
                }
                let number = 1 + named()
                    .take_while(|other| other.address < symbol.address)
                    .count();
                Ok(format!(
                    "{module}:{}",
                    with(&format!("{}#{number}", symbol.name), offset)
                ))
            }
        }
    }

    /// A variable at `address`, as `SYMBOL+OFFSET`.
    pub fn data(&self, address: u64) -> Result<String> {
        let section = self.image.section_at(address);
        let section = section.ok_or_else(|| Refusal::new("it is in no section of the file"))?;
        if section.name.contains("percpu") {
            refuse!("it is a per-CPU variable: write this_cpu_read(@NAME) in a definition");
        }
        if section.name.starts_with(".init") {
            refuse!("it is in {}, which is not in memory any more", section.name);
        }
        if self.module.is_some() {
            refuse!("it is a variable of a module, and @NAME would find one of the kernel of the same name");
        }
        let symbol = self.before(address, false, None);
        let symbol = symbol.filter(|symbol| address - symbol.address < symbol.size.max(1));
        let Some(symbol) = symbol else {
            refuse!("no symbol has the address {address:#x} of it");
        };
        if !self.is_alone(symbol) {
            refuse!("several symbols are called {}", symbol.name);
        }
        Ok(match address - symbol.address {
            0 => symbol.name.to_string(),
            offset => format!("{}+{offset}", symbol.name),
        })
    }
}

/// Whether a symbol is before a function and not in its place.
fn is_mark(name: &str) -> bool {
    name.starts_with("__pfx_") || name.starts_with("__cfi_")
}
