// SPDX-License-Identifier: GPL-2.0

//! From the place in a definition to the address to be probed, judged.
//!
//! Our own judgement comes first; the kernel has the last word. Where both
//! refuse, the reason is ours, because the kernel gives none.

use crate::{
    engine::{
        arch::{Arch, Machine},
        ast::{Definition, Place},
        error::{Errno, Error as Refusal, Kind},
        placement::{
            Facts, Function, Judgement, Patch, Placement, Refuser, Region, Role, Verdict, Why,
        },
        text::Plain,
    },
    kapi::{
        kprobe, module, nofault,
        regs::STACK_WORDS,
        symbol::{self, Opcode, Symbol},
    },
    names::{Addresses, Names},
    probe::errno,
    sys::{AllocError, Vec},
    tables,
};
use core::fmt;
use kernel::{prelude::*, str::CString};

/// What the module runs on.
pub(crate) const MACHINE: Machine = Machine {
    arch: if cfg!(target_arch = "aarch64") {
        Arch::Arm64
    } else {
        Arch::X86_64
    },
    stack_words: STACK_WORDS,
};

/// Most bytes of a function that are looked at; no function is that long.
const MAX_FUNCTION: usize = 1 << 20;

/// Bytes that the kernel overwrites at most for a probe: a breakpoint, or on
/// x86 the jump of an optimised probe.
const MAX_PATCH: usize = match MACHINE.arch {
    Arch::X86_64 => 5,
    Arch::Arm64 => 4,
};

/// What stood at the place of a probe before there was one.
#[derive(Clone, Copy)]
pub(crate) struct Original {
    address: u64,
    bytes: [u8; MAX_PATCH],
    len: usize,
}

impl Original {
    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Leaves out what lies from `end` on.
    fn cut(&mut self, end: u64) {
        let len = usize::try_from(end.saturating_sub(self.address));
        self.len = self.len.min(len.unwrap_or(usize::MAX));
    }
}

/// The bytes of a function that is in memory, and what is known about it.
pub(crate) struct Live {
    symbol: Symbol,
    address: u64,
    bytes: Vec<u8>,
    /// In the order of their addresses, without overlaps.
    patched: Vec<Original>,
    /// Probes of others that have overwritten more than is known.
    foreign: Vec<u64>,
    regions: Vec<Region>,
}

impl Live {
    /// The function that contains `address`; `None` if there is none that can
    /// be read. `probes` are those of our own.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    ///
    /// Context: process, may sleep.
    pub(crate) fn at(
        address: u64,
        probes: impl Iterator<Item = Original>,
    ) -> Result<Option<Self>, AllocError> {
        let Some(symbol) = Symbol::at(address) else {
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
        };
        for probe in probes {
            live.learn_probe(probe)?;
        }
        live.learn_patches()?;
        live.learn_ftrace_site()?;
        Ok(Some(live))
    }

    /// Takes in what one of our own probes has overwritten, if it has: it may
    /// be disarmed, sit on a place of ftrace, or be gone with its module.
    fn learn_probe(&mut self, probe: Original) -> Result<(), AllocError> {
        let offset = usize::try_from(probe.address.wrapping_sub(self.address)).ok();
        let live = offset.and_then(|offset| self.bytes.get(offset..));
        if live.is_some_and(is_patched) {
            self.patch(probe)?;
        }
        Ok(())
    }

    /// Adds `new` to what was overwritten. Where pieces overlap both tell the
    /// same; one of them is cut.
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
            // Rotates, without the bound that rotate_right checks.
            behind.reverse();
            if let [_, rest @ ..] = behind {
                rest.reverse();
            }
        }
        Ok(())
    }

    /// Asks the kernel what stood where now a kprobe's breakpoint is.
    #[cfg(target_arch = "x86_64")]
    fn learn_patches(&mut self) -> Result<(), AllocError> {
        const INT3: u8 = 0xcc;

        let mut from = 0;
        // What one probe hid may lead to the next.
        while let Some(suspect) = self.judged(|placement| self.may_be_probe(placement, from))? {
            from = suspect.offset.wrapping_add(1);
            let address = self.address.wrapping_add(suspect.offset as u64);
            match suspect.jumps_to {
                None => {
                    let original = original_opcode(address)?.unwrap_or(INT3);
                    let mut bytes = [0; MAX_PATCH];
                    let [first, ..] = &mut bytes;
                    *first = original;
                    self.patch(Original {
                        address,
                        bytes,
                        len: 1,
                    })?;
                }
                // What belongs to no symbol is where optimised probes go.
                Some(to) if Symbol::at(to).is_none() => self.foreign.push(address)?,
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The first suspect from `from` on at which there may be a kprobe at all.
    #[cfg(target_arch = "x86_64")]
    fn may_be_probe(
        &self,
        placement: &Placement<'_>,
        from: usize,
    ) -> Option<crate::engine::placement::Suspect> {
        let mut suspects = placement.suspects(from);
        suspects.find(|suspect| kprobe::may_be_at(self.address.wrapping_add(suspect.offset as u64)))
    }

    /// Asks the kernel what stood where now a kprobe's breakpoint is. That hides
    /// no boundary on arm64, but a branch may be under it, or what marks the
    /// place of ftrace.
    #[cfg(target_arch = "aarch64")]
    fn learn_patches(&mut self) -> Result<(), AllocError> {
        for offset in (0..self.bytes.len()).step_by(MAX_PATCH) {
            let address = self.address.wrapping_add(offset as u64);
            let is_hidden = self.bytes.get(offset..).is_some_and(is_patched)
                && !self.patched.iter().any(|known| known.address == address);
            if !is_hidden || !kprobe::may_be_at(address) {
                continue;
            }
            if let Some(word) = original_opcode(address)? {
                self.patch(Original {
                    address,
                    bytes: word.to_le_bytes(),
                    len: MAX_PATCH,
                })?;
            }
        }
        Ok(())
    }

    /// Finds the instruction that ftrace patches. The kernel writes
    /// `mov x9, x30` before each of them at boot.
    #[cfg(target_arch = "aarch64")]
    fn learn_ftrace_site(&mut self) -> Result<(), AllocError> {
        const MOV_X9_X30: [u8; 4] = 0xaa1e_03e9_u32.to_le_bytes();

        let marks = (0..3_u64).map(|index| self.address.wrapping_add(index.wrapping_mul(4)));
        let live = self.bytes.chunks_exact(MAX_PATCH);
        let mark = marks.zip(live).find(|(address, live)| {
            // A probe may be on it.
            let hidden = self.patched.iter().find(|known| known.address == *address);
            hidden.map_or(*live, Original::bytes) == MOV_X9_X30
        });
        if let Some((address, _)) = mark {
            let site = address.wrapping_add(4);
            self.regions.push(Region::new(site, 4, Role::Ftrace))?;
        }
        Ok(())
    }

    /// On x86 the kernel takes probes on ftrace's places.
    #[cfg(target_arch = "x86_64")]
    fn learn_ftrace_site(&mut self) -> Result<(), AllocError> {
        Ok(())
    }

    /// Calls `look` with the function prepared for judgement.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
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
        let function = Function {
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
            },
        };
        Ok(look(&Placement::of(function)?))
    }

    /// Name and address of the function.
    pub(crate) fn symbol(&self) -> (&[u8], u64) {
        (self.symbol.name(), self.address)
    }
}

/// An address to be probed.
pub(crate) struct Found {
    /// The address that is given to the kernel, and that records name.
    pub(crate) address: u64,
    /// Whether a function begins there.
    pub(crate) at_entry: bool,
    /// What stands there, if it is known.
    pub(crate) original: Option<Original>,
    live: Option<Live>,
}

/// What [`symbol::original_opcode`] says.
fn original_opcode(address: u64) -> Result<Option<Opcode>, AllocError> {
    symbol::original_opcode(address).map_err(|_| AllocError)
}

/// Whether `text` begins with what the kernel puts there for a probe.
fn is_patched(text: &[u8]) -> bool {
    match MACHINE.arch {
        // A breakpoint, or the jump of an optimised probe.
        Arch::X86_64 => matches!(text, [0xcc | 0xe9, ..]),
        // brk #4
        Arch::Arm64 => text.starts_with(&0xd420_0080_u32.to_le_bytes()),
    }
}

/// Looks up and judges the place of `definition`, among `probes` of our own;
/// `None` if it is in a module that is not loaded.
///
/// # Errors
///
/// `BAD_PROBE_ADDR` for a symbol that does not exist; `NON_UNIQ_SYMBOL` for one
/// that exists more than once; `BAD_PLACE` for a place that the kernel would
/// take, and where the probe could not work; `BAD_RETPROBE` for a return probe
/// that is not at a function's entry.
///
/// Context: process, may sleep.
pub(crate) fn find(
    definition: &Definition,
    names: &mut Names,
    probes: impl Iterator<Item = Original>,
) -> Result<Option<Found>, Refusal> {
    let at = definition.place_at;
    let (name, offset) = match &definition.place {
        Place::Address(address) => return Found::new(definition, *address, probes).map(Some),
        Place::Symbol { name, offset } => (name, *offset),
    };
    let module = definition.place.symbol().and_then(|(module, _)| module);
    let no_memory = || Refusal::new(Kind::NoMemory, at);
    // The name of a module's function is in none of the kernel's own tables.
    let own = match module {
        None => names.addresses(name)?,
        Some(_) => None,
    };
    if let Some(all) = own.as_ref().filter(|all| all.count > 1) {
        return Err(
            Refusal::new(Kind::NonUniqSymbol, at).with_detail(format_args!(
                "{} is at {}",
                Plain(name),
                Candidates(all)
            )),
        );
    }
    let known = own.and_then(|all| all.first.first().copied());
    let Some(address) = known.or_else(|| symbol::lookup_bytes(name)) else {
        let is_awaited = match module {
            Some(module) => !module::is_loaded(module).map_err(|_| no_memory())?,
            None => false,
        };
        return match (is_awaited, definition.kind.is_return() && offset != 0) {
            (true, false) => Ok(None),
            (true, true) => Err(Refusal::new(Kind::BadRetprobe, at)),
            (false, _) => Err(Refusal::new(Kind::BadProbeAddr, at)
                .with_detail(format_args!("there is no symbol {}", Plain(name)))),
        };
    };
    let address = address.wrapping_add(u64::from(offset));
    Found::new(definition, address, probes).map(Some)
}

/// Writes the addresses of one name.
struct Candidates<'a>(&'a Addresses);

impl fmt::Display for Candidates<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, address) in self.0.first.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{address:#x}")?;
        }
        match self.0.count.checked_sub(self.0.first.len()) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, " and {more} more"),
        }
    }
}

impl Found {
    /// Judges `address`, the place of `definition`, among `probes` of our own.
    fn new(
        definition: &Definition,
        address: u64,
        probes: impl Iterator<Item = Original>,
    ) -> Result<Self, Refusal> {
        let at = definition.place_at;
        // Not judged for want of memory, it is not probed.
        let live = Live::at(address, probes)?;
        let mut found = Self {
            address,
            at_entry: false,
            original: None,
            live,
        };
        let (Some(offset), Some(live)) = (found.offset(), &found.live) else {
            return Ok(found);
        };
        let mut refusal = None;
        let seen = live.judged(|placement| {
            let mut original = Original {
                address: placement.address(offset),
                bytes: [0; MAX_PATCH],
                len: 0,
            };
            original.len = placement.original(placement.probed(offset), &mut original.bytes);
            refusal = our_refusal(&placement.judge(offset)?, at);
            Ok::<_, AllocError>((placement.is_entry(offset), original))
        });
        let (at_entry, original) = seen??;
        if definition.kind.is_return() && !at_entry {
            let name = Plain(live.symbol.name());
            return Err(Refusal::new(Kind::BadRetprobe, at)
                .with_detail(format_args!("{name} begins at +0x0")));
        }
        found.at_entry = at_entry;
        found.original = Some(original);
        match refusal {
            Some(refusal) => Err(refusal),
            None => Ok(found),
        }
    }

    /// The name of the function at whose entry it is.
    pub(crate) fn function(&self) -> Option<&[u8]> {
        let live = self.live.as_ref()?;
        self.at_entry.then(|| live.symbol.name())
    }

    /// The module it lies in.
    pub(crate) fn module(&self) -> Option<&[u8]> {
        self.live.as_ref()?.symbol.module()
    }

    /// The offset of the address in its function.
    fn offset(&self) -> Option<usize> {
        let live = self.live.as_ref()?;
        usize::try_from(self.address.wrapping_sub(live.address)).ok()
    }

    /// Calls `look` with the judgement on the place; `None` without memory.
    fn judge<R>(&self, look: impl FnOnce(&Judgement<'_>) -> R) -> Option<R> {
        let offset = self.offset()?;
        let judgement = |placement: &Placement<'_>| Some(look(&placement.judge(offset).ok()?));
        self.live.as_ref()?.judged(judgement).ok()?
    }

    /// The refusal for what the kernel said of this place; the caret goes to
    /// `at`.
    pub(crate) fn explain(&self, error: Error, at: usize) -> Refusal {
        let errno = errno(error);
        let plain = || Refusal::registration(errno, at);
        if errno == Errno::ENOMEM {
            return plain();
        }
        let reason = self.judge(|judgement| {
            let refusal = match judgement.verdict {
                Verdict::Refused {
                    why: Why::Inside(_),
                    ..
                } => Refusal::new(Kind::BadInsnBndry, at).with_errno(errno),
                _ => plain(),
            };
            match judgement.verdict {
                Verdict::Probeable => None,
                Verdict::Refused { .. } => Some(refusal.with_detail(format_args!("{judgement}"))),
            }
        });
        reason.flatten().unwrap_or_else(|| {
            let detail = Unforeseen {
                address: self.address,
                errno,
            };
            plain().with_detail(format_args!("{detail}"))
        })
    }
}

/// The refusal of a place that the kernel would take; `None` for all that it may
/// judge itself.
fn our_refusal(judgement: &Judgement<'_>, at: usize) -> Option<Refusal> {
    let Verdict::Refused {
        by: Refuser::Us,
        why,
    } = &judgement.verdict
    else {
        return None;
    };
    let kind = match why {
        // What is hidden from us is not hidden from the kernel.
        Why::Hidden { .. } => return None,
        Why::Inside(_) => Kind::BadInsnBndry,
        _ => Kind::BadPlace,
    };
    Some(Refusal::new(kind, at).with_detail(format_args!("{judgement}")))
}

/// Why the kernel refuses what seems to be a good place.
struct Unforeseen {
    address: u64,
    errno: Errno,
}

impl fmt::Display for Unforeseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Symbol::at(self.address) {
            Some(symbol) => write!(f, "{}+{:#x}", Plain(symbol.name()), symbol.offset)?,
            None => return write!(f, "{:#x} is in no function", self.address),
        }
        f.write_str(" cannot be probed: ")?;
        if !is_text(self.address) {
            return f.write_str("it is not in the text of the kernel");
        }
        let role = tables::role_of(self.address).or_else(|| {
            (kprobe::is_blacklisted(self.address) == Some(true)).then_some(Role::Blacklisted)
        });
        match role {
            Some(role) => write!(f, "{} ({})", role.describe(), Refuser::Kernel),
            None => write!(
                f,
                "the kernel refuses with errno {}, and does not say why: it may be named in a \
                 module's table of jump labels, static calls, or BUGs and WARNs",
                self.errno.0
            ),
        }
    }
}

/// Whether `address` lies in code, of the kernel or of a module.
fn is_text(address: u64) -> bool {
    let in_module = Symbol::at(address).is_some_and(|symbol| symbol.module().is_some());
    let limits = symbol::lookup(c"_stext").zip(symbol::lookup(c"_etext"));
    in_module || limits.is_none_or(|(start, end)| (start..end).contains(&address))
}

/// `text` with a NUL; `None` if there is one in it, or no memory.
pub(crate) fn c_string(text: &[u8]) -> Option<CString> {
    let text = core::str::from_utf8(text).ok()?;
    CString::try_from_fmt(kernel::prelude::fmt!("{text}")).ok()
}
