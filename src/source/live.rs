// SPDX-License-Identifier: GPL-2.0

//! A function in memory, with the facts known about it.

use crate::{
    engine::code::{
        arch::isa::{Isa, MAX_PATCH},
        placement::{End, Facts, JudgedFunction, Patch, Placement, Region, SpecialRole},
    },
    kapi::{
        kprobe, nofault,
        symbol::{self, Opcode, Symbol},
    },
    source::{machine::MACHINE, names::Names, tables},
    sys::{AllocError, Vec},
};
use kernel::prelude::*;

/// Maximum number of bytes of a function; none is that long.
const MAX_FUNCTION: usize = 1 << 20;

/// Bytes to read behind the function: they show whether the next function is traced.
const NEXT: usize = 12;

/// Number of bytes that suffice to see whether a function only runs into a BUG.
const MAX_BUG: usize = 64;

/// Largest size of an entry of a jump table, in bytes.
const MAX_ENTRY: usize = 4;

/// The architecture of the machine.
const ISA: &dyn Isa = MACHINE.arch.isa();

/// The original bytes at the location of a probe.
#[derive(Clone, Copy)]
pub(crate) struct Original {
    address: u64,
    bytes: [u8; MAX_PATCH],
    len: usize,
}

impl Original {
    /// Returns the original bytes at `offset`, according to `placement`.
    pub(super) fn of(placement: &Placement<'_>, offset: usize) -> Self {
        let mut original = Self {
            address: placement.address(offset),
            bytes: [0; MAX_PATCH],
            len: 0,
        };
        let patched = original
            .bytes
            .get_mut(..ISA.patch_len())
            .unwrap_or_default();
        original.len = placement.original(placement.probed(offset), patched);
        original
    }

    /// Makes it from the kernel's copy of the instruction at `address`, which a breakpoint has
    /// overwritten.
    fn of_bytes(address: u64, opcode: &[u8]) -> Self {
        let mut bytes = [0; MAX_PATCH];
        for (to, from) in bytes.iter_mut().zip(opcode) {
            *to = *from;
        }
        Self {
            address,
            bytes,
            len: opcode.len().min(MAX_PATCH),
        }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Drops the bytes from address `end` on.
    fn cut(&mut self, end: u64) {
        let len = usize::try_from(end.saturating_sub(self.address));
        self.len = self.len.min(len.unwrap_or(usize::MAX));
    }
}

/// The bytes of a function in memory, and the facts known about it.
pub(crate) struct Live {
    pub(super) symbol: KBox<Symbol>,
    pub(super) address: u64,
    bytes: Vec<u8>,
    /// Known patches, sorted by address, without overlaps.
    patched: Vec<Original>,
    /// Addresses of foreign probes whose original bytes are not all known.
    foreign: Vec<u64>,
    regions: Vec<Region>,
    /// The bytes behind the function.
    next: [u8; NEXT],
    /// Addresses to which the kernel's tables transfer control.
    landings: Vec<u64>,
    /// Functions and traps that do not return.
    no_return: Vec<u64>,
    /// Where it ends, once that is known.
    end: Option<End>,
}

impl Live {
    /// Returns the function that contains `address`; `None` if no readable function does,
    /// as for data. `probes` are ferroprobe's own.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn at<'a>(
        address: u64,
        names: &mut Names,
        probes: impl Iterator<Item = &'a Original>,
    ) -> Result<Option<Self>, AllocError> {
        if !is_text(address, names)? {
            return Ok(None);
        }
        let Some(symbol) = Symbol::boxed(address).map_err(|_| AllocError)? else {
            return Ok(None);
        };
        let start = address.wrapping_sub(symbol.offset);
        let size = usize::try_from(symbol.size).unwrap_or(MAX_FUNCTION);
        let size = size.min(MAX_FUNCTION);
        let mut bytes = Vec::with_capacity(size)?;
        for _ in 0..size {
            bytes.push(0)?;
        }
        if !nofault::read_kernel(start, &mut bytes) {
            return Ok(None);
        }
        let mut live = Self {
            symbol,
            address: start,
            bytes,
            patched: Vec::new(),
            foreign: Vec::new(),
            regions: Vec::new(),
            next: [0; NEXT],
            landings: Vec::new(),
            no_return: Vec::new(),
            end: None,
        };
        // Memory that cannot be read holds no traced function.
        let end = start.wrapping_add(live.bytes.len() as u64);
        if !nofault::read_kernel(end, &mut live.next) {
            live.next = [0; NEXT];
        }
        for probe in probes {
            live.learn_probe(probe)?;
        }
        live.learn_patches()?;
        live.learn_ftrace_site()?;
        live.learn_end(names)?;
        Ok(Some(live))
    }

    /// Reads the facts that determine the end of the function, as far as needed.
    #[inline(never)]
    fn learn_end(&mut self, names: &mut Names) -> Result<(), AllocError> {
        for address in names.no_return()? {
            self.no_return.push(*address)?;
        }
        let end = self.judged(|placement| placement.end())?;
        if !end.is_doubtful() {
            self.end = Some(end);
            return Ok(());
        }
        let text = self.address..self.address.wrapping_add(self.bytes.len() as u64);
        let ways = tables::ways(names)?;
        for to in ways.landings.within(&text) {
            self.landings.push(to)?;
        }
        for at in ways.stops.within(&text) {
            self.no_return.push(at)?;
        }
        let landings = self.judged(|placement| {
            let mut landings = Vec::new();
            for table in placement.jump_tables() {
                let len = table.entry_len.min(MAX_ENTRY);
                for index in 0..table.count {
                    let mut entry = [0; MAX_ENTRY];
                    let at = index.wrapping_mul(len) as u64;
                    let Some(entry) = entry.get_mut(..len) else {
                        break;
                    };
                    if !nofault::read_kernel(table.address.wrapping_add(at), entry) {
                        break;
                    }
                    if let Some(to) = table.target(entry) {
                        landings.push(to)?;
                    }
                }
            }
            Ok::<_, AllocError>(landings)
        })??;
        for to in &landings {
            self.landings.push(*to)?;
        }
        let calls = self.judged(|placement| {
            let mut calls = Vec::new();
            for callee in placement.last_calls() {
                calls.push(callee)?;
            }
            Ok::<_, AllocError>(calls)
        })??;
        for callee in &calls {
            if is_only_bug(*callee, names)? {
                self.no_return.push(*callee)?;
            }
        }
        Ok(())
    }

    /// Notes the bytes that `probe`, one of ferroprobe's own, has overwritten, if any: it may be
    /// disarmed, sit on an ftrace location, or be gone with its module.
    #[inline]
    fn learn_probe(&mut self, probe: &Original) -> Result<(), AllocError> {
        let offset = usize::try_from(probe.address.wrapping_sub(self.address)).ok();
        match offset.and_then(|offset| self.bytes.get(offset..)) {
            Some(live) if ISA.is_patched(live) => self.patch(*probe),
            _ => Ok(()),
        }
    }

    /// Adds `new` to the known patches. Overlapping patches agree on the common bytes; one of them
    /// is cut.
    fn patch(&mut self, mut new: Original) -> Result<(), AllocError> {
        let mut at = self.patched.len();
        for (index, known) in self.patched.iter_mut().enumerate() {
            if known.address == new.address {
                return Ok(());
            }
            if known.address < new.address {
                known.cut(new.address);
            } else {
                new.cut(known.address);
                at = at.min(index);
            }
        }
        self.patched.push(new)?;
        if let Some(behind) = self.patched.get_mut(at..) {
            // Rotates, without the bounds check of rotate_right.
            behind.reverse();
            if let [_, rest @ ..] = behind {
                rest.reverse();
            }
        }
        Ok(())
    }

    /// Gets the original bytes under kprobes' breakpoints from the kernel.
    fn learn_patches(&mut self) -> Result<(), AllocError> {
        match ISA.fixed_len() {
            Some(len) => self.learn_words(len),
            None => self.learn_suspects(),
        }
    }

    /// [`Self::learn_patches`] for instructions of variable length: a breakpoint hides the
    /// boundaries behind it.
    fn learn_suspects(&mut self) -> Result<(), AllocError> {
        let mut from = 0;
        // Code hidden by one probe may lead to the next probe.
        while let Some(suspect) = self.judged(|placement| self.may_be_probe(placement, from))? {
            from = suspect.offset.wrapping_add(1);
            let address = self.address.wrapping_add(suspect.offset as u64);
            match suspect.jumps_to {
                None => {
                    let original = match original_opcode(address)? {
                        Some(original) => Original::of_bytes(address, &original.to_le_bytes()),
                        None => Original::of_bytes(address, ISA.breakpoint()),
                    };
                    self.patch(original)?;
                }
                // Optimised probes jump to memory without a symbol.
                Some(to) if Symbol::extent(to).is_none() => self.foreign.push(address)?,
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the first suspect from `from` on that may be a kprobe.
    fn may_be_probe(
        &self,
        placement: &Placement<'_>,
        from: usize,
    ) -> Option<crate::engine::code::placement::Suspect> {
        let mut suspects = placement.suspects(from);
        suspects.find(|suspect| kprobe::may_be_at(self.address.wrapping_add(suspect.offset as u64)))
    }

    /// [`Self::learn_patches`] for instructions of `len` bytes: a breakpoint hides no boundary, but
    /// may hide a branch, or the mark of the ftrace location.
    fn learn_words(&mut self, len: usize) -> Result<(), AllocError> {
        for offset in (0..self.bytes.len()).step_by(len.max(1)) {
            let address = self.address.wrapping_add(offset as u64);
            let live = self.bytes.get(offset..);
            let is_hidden = live.is_some_and(|live| ISA.is_patched(live))
                && !self.patched.iter().any(|known| known.address == address);
            if !is_hidden || !kprobe::may_be_at(address) {
                continue;
            }
            if let Some(word) = original_opcode(address)? {
                self.patch(Original::of_bytes(address, &word.to_le_bytes()))?;
            }
        }
        Ok(())
    }

    /// Finds the instruction that ftrace patches, if the kernel accepts no probe there.
    fn learn_ftrace_site(&mut self) -> Result<(), AllocError> {
        /// Number of instructions among which the mark may be.
        const FIRST: u64 = 3;

        let expected = ISA.ftrace_mark();
        let Some(len) = ISA.fixed_len().filter(|len| expected.len() == *len) else {
            return Ok(());
        };
        // CAST: The length of an instruction.
        let size = len as u64;
        let marks = (0..FIRST).map(|index| self.address.wrapping_add(index.wrapping_mul(size)));
        let live = self.bytes.chunks_exact(len.max(1));
        let mark = marks.zip(live).find(|(address, live)| {
            // A probe may hide the mark.
            let hidden = self.patched.iter().find(|known| known.address == *address);
            hidden.map_or(*live, Original::bytes) == expected
        });
        if let Some((address, _)) = mark {
            let site = address.wrapping_add(size);
            self.regions
                .push(Region::new(site, size, SpecialRole::Ftrace))?;
        }
        Ok(())
    }

    /// Calls `look` with the placement of the function.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    #[inline(never)]
    pub(crate) fn judged<R>(
        &self,
        look: impl FnOnce(&Placement<'_>) -> R,
    ) -> Result<R, AllocError> {
        let mut patches = Vec::new();
        for original in &self.patched {
            patches.push(Patch {
                address: original.address,
                original: original.bytes(),
            })?;
        }
        let function = JudgedFunction {
            name: self.symbol.name(),
            address: self.address,
            bytes: &self.bytes,
            arch: MACHINE.arch,
            facts: Facts {
                patches: &patches,
                foreign: &self.foreign,
                all_patches_known: false,
                regions: &self.regions,
                kprobes_on_ftrace: cfg!(CONFIG_KPROBES_ON_FTRACE),
                cfi: cfg!(CONFIG_CFI),
                call_ops: cfg!(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS),
                next: &self.next,
                landings: &self.landings,
                no_return: &self.no_return,
            },
        };
        let placement = Placement::of(function);
        Ok(look(&match self.end {
            Some(end) => placement.with_end(end),
            None => placement,
        }))
    }

    /// Returns the name and the address of the function.
    pub(crate) fn symbol(&self) -> (&[u8], u64) {
        (self.symbol.name(), self.address)
    }
}

/// Returns whether the function at `address` only runs into a BUG. Compilers outline unlikely code
/// to such functions.
fn is_only_bug(address: u64, names: &mut Names) -> Result<bool, AllocError> {
    let Some(trap) = certain_trap(address) else {
        return Ok(false);
    };
    // The trap may belong to the next function.
    let is_inside = |(start, size)| start == address && trap.wrapping_sub(address) < size;
    if !Symbol::extent(address).is_some_and(is_inside) {
        return Ok(false);
    }
    let at = trap..trap.saturating_add(1);
    Ok(tables::ways(names)?.stops.within(&at).next().is_some())
}

/// Returns the address of the trap that the function at `address` always reaches.
#[inline(never)]
fn certain_trap(address: u64) -> Option<u64> {
    let mut bytes = [0; MAX_BUG];
    if !nofault::read_kernel(address, &mut bytes) {
        return None;
    }
    let function = JudgedFunction {
        name: b"",
        address,
        bytes: &bytes,
        arch: MACHINE.arch,
        facts: Facts::default(),
    };
    Placement::of(function).certain_trap()
}

/// [`symbol::original_opcode`] with the engine's error type.
fn original_opcode(address: u64) -> Result<Option<Opcode>, AllocError> {
    symbol::original_opcode(address).map_err(|_| AllocError)
}

/// Returns whether `address` is in code of the kernel or of a module. Module data counts as code,
/// because the kernel does not distinguish them.
///
/// # Errors
///
/// [`AllocError`] when there is no memory.
pub(super) fn is_text(address: u64, names: &mut Names) -> Result<bool, AllocError> {
    let in_kernel = names.text()?.is_none_or(|text| text.contains(&address));
    Ok(in_kernel || Symbol::is_in_module(address))
}
