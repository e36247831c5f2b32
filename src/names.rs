// SPDX-License-Identifier: GPL-2.0

//! The kernel's names: the address of one, and whether it has only one.

use crate::{
    engine::{
        fetch::Symbols,
        kallsyms::{self, Tables},
    },
    kapi::{nofault, symbol},
    sys::{AllocError, Vec},
};

/// Most addresses of one name that are told.
const MAX_TOLD: usize = 16;

/// The kernel's symbols.
pub(crate) struct Names {
    /// Where the kernel's own table is; `None` within if it cannot be used.
    tables: Option<Option<Tables>>,
}

/// The addresses of one name.
pub(crate) struct Addresses {
    /// How many there are.
    pub(crate) count: usize,
    /// The first of them, a few.
    pub(crate) first: Vec<u64>,
}

impl Names {
    /// Nothing looked up yet.
    pub(crate) const fn new() -> Self {
        Self { tables: None }
    }

    /// All addresses in the kernel, without its modules, of the symbol `name`;
    /// `None` where the kernel does not tell.
    ///
    /// This is much cheaper than [`symbol::lookup`], for which the kernel searches
    /// all tables that might forbid a probe.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn addresses(&mut self, name: &[u8]) -> Result<Option<Addresses>, AllocError> {
        let Some(tables) = self.tables.get_or_insert_with(usable_tables) else {
            return Ok(None);
        };
        let mut found = Addresses {
            count: 0,
            first: Vec::new(),
        };
        let mut memory = Ok(());
        let read = kallsyms::each_address(tables, &mut KernelMemory, name, |address| {
            found.count = found.count.saturating_add(1);
            if found.count <= MAX_TOLD && memory.is_ok() {
                memory = found.first.push(address);
            }
        });
        memory?;
        Ok(read.map(|()| found))
    }
}

/// Where the kernel's table of symbols is, if it has the form that is expected:
/// if it tells of itself what the kernel tells.
fn usable_tables() -> Option<Tables> {
    let tables = Tables {
        count: symbol::lookup(c"kallsyms_num_syms")?,
        names: symbol::lookup(c"kallsyms_names")?,
        markers: symbol::lookup(c"kallsyms_markers")?,
        token_table: symbol::lookup(c"kallsyms_token_table")?,
        token_index: symbol::lookup(c"kallsyms_token_index")?,
        offsets: symbol::lookup(c"kallsyms_offsets")?,
        sequence: symbol::lookup(c"kallsyms_seqs_of_names")?,
    };
    let mut is_sound = false;
    kallsyms::each_address(&tables, &mut KernelMemory, b"kallsyms_names", |address| {
        is_sound |= address == tables.names;
    })?;
    is_sound.then_some(tables)
}

struct KernelMemory;

impl kallsyms::Memory for KernelMemory {
    fn read(&mut self, address: u64, out: &mut [u8]) -> bool {
        nofault::read_kernel(address, out)
    }
}

impl Symbols for Names {
    fn address(&mut self, name: &[u8]) -> Option<u64> {
        symbol::lookup_bytes(name)
    }
}
