// SPDX-License-Identifier: GPL-2.0

//! The kernel's symbols, and what was looked up in their table.

use crate::{
    engine::{
        code::{
            kallsyms::{self, NameIndex, OffsetOrigin, Sought, Tables},
            placement::{Ways, NO_RETURN},
        },
        filter::{KnownNumber, LookupFunctions},
        program::btf::Btf,
        program::fetch::{CpuInstance, Symbols},
        refusal::suggest::distance::Nearest,
    },
    kapi::{
        context::is_being_killed,
        module, nofault, percpu,
        symbol::{self, Symbol},
    },
    source::{machine::MACHINE, types::Cache},
    sys::{AllocError, Vec},
};
use core::{ffi::CStr, ops::Range};

/// Maximum number of addresses of one name that are returned.
const MAX_TOLD: usize = 16;

pub(crate) struct Names {
    /// The kernel's symbol table, once looked up; `Some(None)` if it is unusable.
    tables: Option<Option<(Tables, NameIndex)>>,
    /// The range of the kernel's text, once looked up.
    text: Option<Range<u64>>,
    /// The functions that do not return, once looked up.
    no_return: Vec<u64>,
    /// Results of [`Names::first`].
    remembered: Vec<(&'static CStr, Option<u64>)>,
    /// The control flow that the kernel's tables describe, once they were read.
    pub(super) ways: Option<Ways>,
}

/// The addresses of one name.
pub(crate) struct Addresses {
    /// Their number.
    pub(crate) count: usize,
    /// The first of them, at most [`MAX_TOLD`].
    pub(crate) first: Vec<u64>,
}

impl Names {
    /// Makes an empty cache.
    pub(crate) const fn new() -> Self {
        Self {
            tables: None,
            text: None,
            no_return: Vec::new(),
            remembered: Vec::new(),
            ways: None,
        }
    }

    /// Returns all addresses of the symbol `name` in the kernel, without its modules;
    /// `None` if the kernel's table cannot be used.
    ///
    /// Much cheaper than [`symbol::lookup`], for which the kernel searches all tables that might
    /// forbid a probe.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn addresses(&mut self, name: &[u8]) -> Result<Option<Addresses>, AllocError> {
        let mut found = Addresses {
            count: 0,
            first: Vec::new(),
        };
        let mut memory = Ok(());
        let is_read = self.each_address(name, |address| {
            found.count = found.count.saturating_add(1);
            if found.count <= MAX_TOLD && memory.is_ok() {
                memory = found.first.push(address);
            }
        })?;
        memory?;
        Ok(is_read.then_some(found))
    }

    /// Calls `each` with all addresses of a symbol, see [`Names::addresses`], in ascending order.
    /// Returns false if the kernel's table cannot be used.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(super) fn each_address(
        &mut self,
        name: &[u8],
        each: impl FnMut(u64),
    ) -> Result<bool, AllocError> {
        let Some(table) = self.usable()? else {
            return Ok(false);
        };
        let read = kallsyms::each_address(table, &mut KernelMemory, name, each);
        Ok(read.is_some())
    }
}

impl Names {
    /// Calls `each` with name and address of each kernel function that has one of `prefixes`, none
    /// of which is a prefix of another, until it returns false. Returns false if the kernel's table
    /// cannot be used.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn each_function<'a>(
        &mut self,
        mut prefixes: impl Iterator<Item = &'a [u8]>,
        mut each: impl FnMut(&[u8], u64) -> bool,
    ) -> Result<bool, AllocError> {
        let Some(text) = self.text()? else {
            return Ok(false);
        };
        let Some((tables, index)) = self.usable()? else {
            return Ok(false);
        };
        // BOUND: By `each`.
        let mut goes_on = true;
        let found = prefixes.try_for_each(|prefix| {
            let table = (tables, &mut *index);
            let wanted = (prefix, &text);
            match goes_on {
                true => kallsyms::each_function(table, &mut KernelMemory, wanted, |name, at| {
                    goes_on = each(name, at);
                    goes_on
                }),
                false => Some(()),
            }
        });
        Ok(found.is_some())
    }

    /// Returns the kernel's symbol table; `None` if it cannot be used.
    fn usable(&mut self) -> Result<Option<(&Tables, &mut NameIndex)>, AllocError> {
        if self.tables.is_none() {
            self.tables = Some(usable_tables()?);
        }
        let usable = self.tables.as_mut().and_then(Option::as_mut);
        Ok(usable.map(|(tables, index)| (&*tables, index)))
    }

    /// Passes the functions of `module`, or of the kernel and all modules, to `nearest`, as far as
    /// the tables can be read. For a name that does not exist: takes milliseconds.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    #[inline(never)]
    pub(crate) fn each_similar(
        &mut self,
        module: Option<&[u8]>,
        nearest: &mut Nearest<'_>,
    ) -> Result<(), AllocError> {
        if let (None, Some(text), Some(table)) = (module, self.text()?, self.usable()?) {
            let wanted = (nearest.look(), Sought::Functions(&text));
            let consider = |name: &[u8]| nearest.consider_symbol(name);
            // If the table cannot be read to its end, the names read so far count.
            let _ = kallsyms::each_like(table, &mut KernelMemory, wanted, consider);
        }
        if let Some(list) = self.modules()? {
            // A kernel without symbols of modules has none.
            let _ = module::each_function(list, module, |function| {
                let of = function.module.to_bytes();
                nearest.consider_symbol_of(Some(of), function.name.to_bytes());
                // A task that is being killed reads no suggestion.
                !is_being_killed()
            });
        }
        Ok(())
    }

    /// Returns the address of the kernel's list of modules, if known.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn modules(&mut self) -> Result<Option<u64>, AllocError> {
        self.first(c"modules")
    }

    /// Returns the range of the kernel's text, without init text and modules; `None` if unknown.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn text(&mut self) -> Result<Option<Range<u64>>, AllocError> {
        if self.text.is_none() {
            let limits = self.first(c"_stext")?.zip(self.first(c"_etext")?);
            self.text = limits.map(|(start, end)| start..end);
        }
        Ok(self.text.clone())
    }

    /// Returns the functions that do not return.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn no_return(&mut self) -> Result<&[u64], AllocError> {
        if self.no_return.is_empty() {
            let mut found = Vec::new();
            for name in NO_RETURN {
                if let Some(all) = self.addresses(name.to_bytes())? {
                    for address in &all.first {
                        found.push(*address)?;
                    }
                }
            }
            self.no_return = found;
        }
        Ok(&self.no_return)
    }

    /// Returns the first address of the kernel symbol `name`, and caches it.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn first(&mut self, name: &'static CStr) -> Result<Option<u64>, AllocError> {
        let mut all = self.remembered.iter();
        if let Some((_, address)) = all.find(|(known, _)| *known == name) {
            return Ok(*address);
        }
        let address = match self.addresses(name.to_bytes())? {
            Some(all) => all.first.first().copied(),
            None => symbol::lookup(name),
        };
        self.remembered.push((name, address))?;
        Ok(address)
    }
}

/// Returns the kernel's symbol table if it has the expected form: it must list itself at the
/// address that the kernel reports for it.
///
/// # Errors
///
/// [`AllocError`] when there is no memory.
#[inline(never)]
fn usable_tables() -> Result<Option<(Tables, NameIndex)>, AllocError> {
    let Some(tables) = known_tables() else {
        return Ok(None);
    };
    let Some(mut index) = NameIndex::read(&tables, &mut KernelMemory)? else {
        return Ok(None);
    };
    let mut is_sound = false;
    let (table, name) = ((&tables, &mut index), b"kallsyms_names");
    let read = kallsyms::each_address(table, &mut KernelMemory, name, |address| {
        is_sound |= address == tables.names;
    });
    Ok(read.filter(|()| is_sound).map(|()| (tables, index)))
}

/// Returns the addresses of the parts of the kernel's symbol table, as the kernel reports them.
#[inline(never)]
fn known_tables() -> Option<Tables> {
    Some(Tables {
        count: symbol::lookup(c"kallsyms_num_syms")?,
        names: symbol::lookup(c"kallsyms_names")?,
        token_table: symbol::lookup(c"kallsyms_token_table")?,
        token_index: symbol::lookup(c"kallsyms_token_index")?,
        offsets: symbol::lookup(c"kallsyms_offsets")?,
        origin: origin()?,
        sequence: symbol::lookup(c"kallsyms_seqs_of_names")?,
    })
}

/// Returns what the offsets of symbols are relative to; `None` if it cannot be read.
fn origin() -> Option<OffsetOrigin> {
    let Some(base) = symbol::lookup(c"kallsyms_relative_base") else {
        return Some(OffsetOrigin::Entry);
    };
    let mut bytes = [0; 8];
    let base = nofault::read_kernel(base, &mut bytes).then(|| u64::from_le_bytes(bytes))?;
    Some(match cfg!(CONFIG_KALLSYMS_ABSOLUTE_PERCPU) {
        true => OffsetOrigin::BaseOrPerCpu(base),
        false => OffsetOrigin::Base(base),
    })
}

struct KernelMemory;

impl kallsyms::TableMemory for KernelMemory {
    fn read(&mut self, address: u64, out: &mut [u8]) -> bool {
        nofault::read_kernel(address, out)
    }
}

impl Symbols for Names {
    /// Without memory finds no per-CPU variable where these are at no address of the kernel.
    fn address(&mut self, name: &[u8]) -> Option<u64> {
        let found = symbol::lookup_bytes(name);
        if !cfg!(CONFIG_KALLSYMS_ABSOLUTE_PERCPU) || found.is_some() {
            return found;
        }
        let mut first = None;
        let read = self.each_address(name, |address| first = first.or(Some(address)));
        read.ok().and(first)
    }

    /// Without memory returns false.
    fn is_per_cpu(&mut self, address: u64) -> bool {
        let start = self.first(c"__per_cpu_start").ok().flatten();
        let end = self.first(c"__per_cpu_end").ok().flatten();
        let range = start.zip(end);
        range.is_some_and(|(start, end)| (start..end).contains(&address))
    }

    fn of_cpu(&mut self, address: u64, cpu: u32) -> CpuInstance {
        match percpu::address_of(address, cpu) {
            Some(place) => CpuInstance::At(place),
            None => CpuInstance::Last(percpu::possible_cpus().last().unwrap_or_default()),
        }
    }

    /// Skips symbols of modules; without memory passes none.
    fn each_similar_data(&mut self, nearest: &mut Nearest<'_>) {
        if let (Ok(Some(text)), Ok(Some(table))) = (self.text(), self.usable()) {
            let wanted = (nearest.look(), Sought::Data(&text));
            let consider = |name: &[u8]| nearest.consider_symbol(name);
            // If the table cannot be read to its end, the names read so far count.
            // BOUND: Some milliseconds, for the one name that is refused.
            let _ = kallsyms::each_like(table, &mut KernelMemory, wanted, consider);
        }
    }
}

/// Looks up kernel functions and, in the kernel's types, numbers; with `Names`, similar names.
pub(crate) struct KernelFunctions<'a> {
    names: Option<&'a mut Names>,
    types: &'a mut Cache,
    /// The numbers that were looked up: a filter is compiled for each event of a group.
    numbers: Vec<(Vec<u8>, KnownNumber)>,
}

impl<'a> KernelFunctions<'a> {
    /// Looks up in `types`; suggests from `names`.
    pub(crate) fn new(names: Option<&'a mut Names>, types: &'a mut Cache) -> Self {
        Self {
            names,
            types,
            numbers: Vec::new(),
        }
    }

    /// Looks up the value of an enumeration of the kernel that is called `name`, in milliseconds.
    #[inline(never)]
    fn look_up(&mut self, name: &[u8]) -> KnownNumber {
        let look = |btf: Option<Btf<'_>>| {
            let mut found = KnownNumber::Nothing;
            if let Some(btf) = btf {
                btf.each_number(name, &mut |value| {
                    // CAST: two's complement.
                    let value = KnownNumber::One(value as i64);
                    found = match found {
                        KnownNumber::Nothing => value,
                        known if known == value => known,
                        _ => KnownNumber::Several,
                    };
                });
            }
            found
        };
        self.types.with(None, look).unwrap_or(KnownNumber::Nothing)
    }
}

impl LookupFunctions for KernelFunctions<'_> {
    fn named(&mut self, name: &[u8]) -> Option<(u64, u64)> {
        self.around(symbol::lookup_bytes(name)?)
    }

    fn around(&mut self, address: u64) -> Option<(u64, u64)> {
        let (start, size) = Symbol::extent(address)?;
        Some((start, start.wrapping_add(size)))
    }

    fn open_flag(&self, name: &[u8]) -> Option<u32> {
        let flags = MACHINE.arch.isa().open_flags();
        let known = flags.iter().find(|(_, known)| known.as_bytes() == name);
        known.map(|(bits, _)| *bits)
    }

    /// Without memory finds none.
    fn number_called(&mut self, name: &[u8]) -> KnownNumber {
        let mut known = self.numbers.iter();
        if let Some((_, number)) = known.find(|(known, _)| **known == *name) {
            return *number;
        }
        let number = self.look_up(name);
        // Without memory it is looked up again.
        if let Ok(name) = Vec::from_slice(name) {
            let _ = self.numbers.push((name, number));
        }
        number
    }

    fn last_cpu(&self) -> u32 {
        percpu::cpu_limit().saturating_sub(1)
    }

    /// Without memory passes none.
    fn each_similar(&mut self, nearest: &mut Nearest<'_>) {
        if let Some(names) = &mut self.names {
            let _ = names.each_similar(None, nearest);
        }
    }
}
