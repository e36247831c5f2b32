// SPDX-License-Identifier: GPL-2.0

//! Symbols of the kernel and its modules, by address and by name.
//!
//! C header: [`include/linux/kallsyms.h`](srctree/include/linux/kallsyms.h)

use super::{
    bindings as extra, calls,
    probe_place::{fill, ProbePlace},
    word,
};
use kernel::{bindings, error::to_result, prelude::*};

/// The room for `name+0xoffset/0xsize [module]` with the longest name.
const SYMBOL_LEN: usize = extra::FERROPROBE_SYMBOL_LEN as usize;

/// The original code under a kprobe's breakpoint: a byte on x86, a word on arm64.
pub type Opcode = extra::kprobe_opcode_t;

/// The symbol that an address belongs to.
pub struct Symbol {
    text: [u8; SYMBOL_LEN],
    name: usize,
    /// The address.
    pub address: u64,
    /// Distance of the address from the symbol, in bytes.
    pub offset: u64,
    /// Number of bytes from the symbol to the next one.
    pub size: u64,
    module: Option<(usize, usize)>,
}

impl Symbol {
    /// Returns the symbol that contains `address`; `None` if there is none. It is large: keep it
    /// [boxed](Self::boxed) across calls.
    ///
    /// Context: any that may take a reference to a module.
    #[inline(never)]
    pub fn at(address: u64) -> Option<Self> {
        // A single value, constructed in place.
        let mut this = Some(Self {
            text: [0; SYMBOL_LEN],
            name: 0,
            address,
            offset: 0,
            size: 0,
            module: None,
        });
        if this.as_mut().and_then(|this| this.fill(address)).is_none() {
            this = None;
        }
        this
    }

    /// [`Symbol::at`] in a box.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep.
    #[inline(never)]
    pub fn boxed(address: u64) -> Result<Option<KBox<Self>>> {
        let symbol = Self::at(address).map(|symbol| KBox::new(symbol, GFP_KERNEL));
        Ok(symbol.transpose()?)
    }

    /// Returns start and size of the symbol that contains `address`; `None` if there is none.
    ///
    /// Context: any that may take a reference to a module.
    #[inline(never)]
    pub fn extent(address: u64) -> Option<(u64, u64)> {
        let symbol = Self::at(address)?;
        Some((address.wrapping_sub(symbol.offset), symbol.size))
    }

    /// Returns whether `address` belongs to a symbol of a module.
    ///
    /// Context: any that may take a reference to a module.
    #[inline(never)]
    pub fn is_in_module(address: u64) -> bool {
        Self::at(address).is_some_and(|symbol| symbol.module.is_some())
    }

    /// Looks up `address`; returns `None` if it is in no symbol.
    fn fill(&mut self, address: u64) -> Option<()> {
        let length = describe(address, &mut self.text)?;
        self.parse(length)
    }

    /// Returns the symbol that contains the target of `pointer`. On arm64 with pointer
    /// authentication, return addresses on the stack and in the link register are signed;
    /// the authentication code is stripped.
    ///
    /// Context: any that may take a reference to a module.
    pub fn of_pointer(pointer: u64) -> Option<Self> {
        Self::at(calls::ferroprobe_strip_code(pointer))
    }

    /// Parses `name+0xoffset/0xsize [module]`, the first `length` bytes of the text.
    fn parse(&mut self, length: usize) -> Option<()> {
        let whole = self.text.get(..length)?;
        let name = whole.iter().rposition(|&byte| byte == b'+')?;
        let numbers = whole.get(name.checked_add(1)?..)?;
        let end = numbers.iter().position(|&byte| byte == b' ');
        let mut parts = numbers
            .get(..end.unwrap_or(numbers.len()))?
            .split(|&byte| byte == b'/');
        let offset = hexadecimal(parts.next()?)?;
        let size = hexadecimal(parts.next()?)?;
        let module = whole
            .iter()
            .rposition(|&byte| byte == b'[')
            .and_then(|open| {
                let from = open.checked_add(1)?;
                let name = whole.get(from..)?;
                // A build ID may follow the name.
                let length = name.iter().position(|&byte| byte == b']' || byte == b' ')?;
                Some((from, from.checked_add(length)?))
            });
        self.name = name;
        self.offset = offset;
        self.size = size;
        self.module = module;
        Some(())
    }

    /// Returns the name of the symbol.
    pub fn name(&self) -> &[u8] {
        self.text.get(..self.name).unwrap_or_default()
    }

    /// Returns the module that contains the symbol; `None` for the kernel itself.
    pub fn module(&self) -> Option<&[u8]> {
        self.module.and_then(|(from, to)| self.text.get(from..to))
    }
}

/// Writes `name+0xoffset/0xsize [module]` and a NUL for the target of `pointer` to `out`, skipping
/// the first `skip` bytes, as much as fits; see [`Symbol::of_pointer`]. Returns the number of
/// bytes.
///
/// Context: any that may take a reference to a module.
pub fn write_name(pointer: u64, skip: usize, out: &mut [u8]) -> Option<usize> {
    let mut text = [0; SYMBOL_LEN];
    let mut length = describe(calls::ferroprobe_strip_code(pointer), &mut text)?;
    if text.starts_with(b"0x") {
        // No symbol: this describes the pointer with its authentication code.
        length = describe(pointer, &mut text)?;
    }
    let text = text.get(..length.checked_add(1)?)?.get(skip..)?;
    let length = text.len().min(out.len());
    out.get_mut(..length)?.copy_from_slice(text.get(..length)?);
    Some(length)
}

/// Returns the address of the symbol `name`, or `module:name`, of any kind, data included.
///
/// The kernel exports no lookup by name. But `register_kprobe()` writes the address that it found
/// into the probe before it checks the address. So this function registers a disabled probe one
/// byte after the symbol, which is hardly ever an instruction boundary: the kernel refuses the
/// probe, but has written the address. If the kernel accepts the probe, it is unregistered at once;
/// it is never armed. Finding `kallsyms_lookup_name()` by a probe and calling it would fault on a
/// kernel with indirect branch tracking.
///
/// Context: process, may sleep.
pub fn lookup(name: &CStr) -> Option<u64> {
    // The result of the registration is irrelevant.
    let (probe, _) = registered(ProbePlace::Symbol { name, offset: 1 });
    word(probe.addr.addr()).checked_sub(1)
}

/// Calls [`lookup`] with a name that has no NUL.
///
/// Context: process, may sleep.
pub fn lookup_bytes(name: &[u8]) -> Option<u64> {
    // No symbol has a longer name, so no allocation is needed.
    let mut text = [0; SYMBOL_LEN];
    text.get_mut(..name.len())?.copy_from_slice(name);
    // A name that fills the array, or contains a NUL, is not a symbol's.
    let name = CStr::from_bytes_with_nul(text.get(..=name.len())?).ok()?;
    lookup(name)
}

/// Returns the original code under the breakpoint at `address`: a byte on x86, a word on arm64. For
/// a kprobe's breakpoint this is the kernel's copy; for another one, on x86, the breakpoint itself.
/// Returns `None` if the kernel refuses the probe that would show it.
///
/// # Errors
///
/// `ENOMEM`.
///
/// Context: process, may sleep.
pub fn original_opcode(address: u64) -> Result<Option<Opcode>> {
    let (probe, result) = registered(ProbePlace::Address(address));
    match result {
        Err(error) if error == ENOMEM => Err(error),
        Err(_) => Ok(None),
        Ok(()) => Ok(Some(probe.opcode)),
    }
}

/// Registers a disabled probe at `place`, and unregisters it at once if that succeeds.
/// Returns the probe as the kernel filled it in, and the result of the registration.
fn registered(place: ProbePlace<'_>) -> (extra::kprobe, Result) {
    let name = match place {
        ProbePlace::Symbol { name, .. } => Some(name),
        ProbePlace::Address(_) => None,
    };
    let mut probe = pin_init::zeroed();
    fill(&mut probe, place, name);
    // SAFETY: The probe outlives its registration, which ends here.
    let result = unsafe {
        let result = to_result(extra::register_kprobe(&mut probe));
        if result.is_ok() {
            extra::unregister_kprobe(&mut probe);
        }
        result
    };
    (probe, result)
}

/// Writes `name+0xoffset/0xsize [module]` of `address` with a NUL to `text`, and returns its
/// length without the NUL.
fn describe(address: u64, text: &mut [u8; SYMBOL_LEN]) -> Option<usize> {
    // SAFETY: The function writes at most KSYM_SYMBOL_LEN bytes.
    let length = unsafe { bindings::sprint_symbol(text.as_mut_ptr().cast(), address as usize) };
    usize::try_from(length).ok()
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_prefix(b"0x")?;
    u64::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
}
