// SPDX-License-Identifier: GPL-2.0

//! Symbols with the same name: `SYMBOL#N`, `SYMBOL#*`, and the refusal of an ambiguous name.
//!
//! They are numbered by address: a name alone counts the kernel's own symbols, `MODULE:SYMBOL`
//! those of the module without its init code. So a number does not change when other modules are
//! loaded or unloaded.

use super::{names::Names, types};
use crate::{
    engine::{
        definition::ast::{Definition, Place, Which},
        program::btf::declare::Parameters,
        refusal::{
            error::{Error as Refusal, Kind},
            suggest::distance::Nearest,
        },
        util::{
            sort::sort,
            text::{Appender, Plain},
        },
    },
    kapi::{module, symbol::Symbol},
    sys::{AllocError, Vec},
};
use core::fmt::{self, Write};

/// Maximum number of symbols of one name, in the kernel or in modules.
const MAX: usize = 512;

/// Maximum number of symbols that a refusal shows.
const MAX_SHOWN: usize = 16;

/// One of several symbols with the same name.
struct Namesake {
    address: u64,
    /// `[MODULE:]SYMBOL`.
    name: Vec<u8>,
    which: Which,
}

/// Returns the address of symbol `number` with the name in `definition`; `None` if no symbol has
/// the name.
///
/// # Errors
///
/// `BAD_PROBE_ADDR` if there are fewer.
///
/// Context: process, may sleep.
pub(super) fn address(
    definition: &Definition,
    number: u16,
    names: &mut Names,
) -> Result<Option<u64>, Refusal> {
    let Some((module, symbol)) = definition.place.symbol() else {
        return Ok(None);
    };
    let addresses = match module {
        None => in_kernel(symbol, names)?,
        Some(module) => in_modules(Some(module), symbol, names)?,
    };
    let index = usize::from(number).saturating_sub(1);
    if let Some(address) = addresses.get(index) {
        return Ok(Some(*address));
    }
    let refusal = Refusal::new(Kind::BadProbeAddr, definition.place_at);
    let plain = Plain(symbol);
    match addresses.len() {
        0 => (),
        1 => {
            return Err(refusal.with_detail(format_args!("there is one {plain}: leave # out")));
        }
        count => {
            return Err(refusal.with_detail(format_args!(
                "{count} of this name: {plain}#1 to {plain}#{count}"
            )));
        }
    }
    let others = of_modules(symbol, names)?;
    match others.first().filter(|_| module.is_none()) {
        None => Ok(None),
        Some(other) => Err(refusal.with_detail(format_args!(
            "in modules only: write {}{}",
            Plain(&other.name),
            other.which
        ))),
    }
}

/// Returns whether `module`, or all modules together, have more than one function `symbol`.
///
/// # Errors
///
/// [`AllocError`] when there is no memory.
///
/// Context: process, may sleep.
pub(super) fn are_several(
    module: Option<&[u8]>,
    symbol: &[u8],
    names: &mut Names,
) -> Result<bool, AllocError> {
    let Some(list) = names.modules()? else {
        return Ok(false);
    };
    let mut count = 0usize;
    each_in_modules(list, module, symbol, |_| count = count.saturating_add(1));
    Ok(count > 1)
}

/// Returns a location for each symbol in the text that `definition`, of [`Which::All`], matches.
///
/// # Errors
///
/// `BAD_PROBE_ADDR` if there are none, or too many.
///
/// Context: process, may sleep.
#[inline(never)]
pub(crate) fn each(definition: &Definition, names: &mut Names) -> Result<Vec<Place>, Refusal> {
    let refusal = || Refusal::new(Kind::BadProbeAddr, definition.place_at);
    let mut places = Vec::new();
    let Place::Symbol { offset, .. } = definition.place else {
        return Ok(places);
    };
    let Some((module, symbol)) = definition.place.symbol() else {
        return Ok(places);
    };
    let text = names.text()?;
    let is_text = |namesake: &Namesake| match &text {
        // Symbols of modules are functions.
        Some(text) if !namesake.name.contains(&b':') => text.contains(&namesake.address),
        _ => true,
    };
    let all = all(module, symbol, names)?;
    if all.len() > MAX {
        return Err(refusal().with_detail(format_args!("more than {MAX} have this name")));
    }
    for namesake in all.into_iter().filter(is_text) {
        let Namesake { name, which, .. } = namesake;
        places.push(Place::Symbol {
            name,
            which,
            offset,
        })?;
    }
    if !places.is_empty() {
        return Ok(places);
    }
    Err(match module {
        Some(module) => refusal().with_detail(format_args!(
            "no loaded module {} has a function {}",
            Plain(module),
            Plain(symbol)
        )),
        None => no_symbol(refusal(), None, symbol, names),
    })
}

/// If `definition` is refused because several symbols have the name, adds them to the refusal.
///
/// Context: process, may sleep.
#[cold]
#[inline(never)]
pub(crate) fn describe(
    refusal: Refusal,
    definition: &Definition,
    names: &mut Names,
    types: &mut types::Cache,
) -> Refusal {
    let (Some((module, symbol)), Place::Symbol { name, .. }) =
        (definition.place.symbol(), &definition.place)
    else {
        return refusal;
    };
    if refusal.kind != Kind::NonUniqSymbol {
        return refusal;
    }
    let Ok(all) = all(module, symbol, names) else {
        return refusal;
    };
    let Some(second) = all.get(1) else {
        return refusal;
    };
    let mut text = Vec::new();
    let written = list(&all, &mut text).and_then(|()| {
        let parameters = types.with(module, |btf| {
            let function = btf.and_then(|btf| btf.function(symbol));
            function.map(|function| Parameters::of(&function, 0))
        })?;
        match parameters {
            Some(parameters) => added(&mut text, format_args!("; BTF has ({})", parameters?)),
            None => Ok(()),
        }
    });
    match written {
        Err(AllocError) => refusal,
        Ok(()) => refusal.with_detail(format_args!(
            "{}: write {}{}, or {}#* for all",
            Plain(&text),
            Plain(&second.name),
            second.which,
            Plain(name)
        )),
    }
}

/// Appends the symbols as they can be written, with their addresses.
fn list(all: &[Namesake], text: &mut Vec<u8>) -> Result<(), AllocError> {
    for (n, namesake) in all.iter().take(MAX_SHOWN).enumerate() {
        let Namesake {
            address,
            name,
            which,
        } = namesake;
        let comma = if n == 0 { "" } else { ", " };
        added(
            text,
            format_args!("{comma}{}{which} is at {address:#x}", Plain(name)),
        )?;
    }
    match all.len().checked_sub(MAX_SHOWN) {
        None | Some(0) => Ok(()),
        Some(more) => added(text, format_args!(" and {more} more")),
    }
}

fn added(text: &mut Vec<u8>, more: fmt::Arguments<'_>) -> Result<(), AllocError> {
    Appender(text).write_fmt(more).map_err(|_| AllocError)
}

/// Returns all symbols of a name: those of `module`, or of the kernel and then of modules.
fn all(
    module: Option<&[u8]>,
    symbol: &[u8],
    names: &mut Names,
) -> Result<Vec<Namesake>, AllocError> {
    let mut all = Vec::new();
    if module.is_none() {
        for (address, number) in in_kernel(symbol, names)?.into_iter().zip(1..) {
            all.push(Namesake {
                address,
                name: Vec::from_slice(symbol)?,
                which: Which::Number(number),
            })?;
        }
    }
    for namesake in of_modules(symbol, names)? {
        let is_there = |module: &[u8]| namesake.name.split(|b| *b == b':').next() == Some(module);
        if module.is_none_or(is_there) {
            all.push(namesake)?;
        }
    }
    Ok(all)
}

/// Returns the symbols of a name in modules.
fn of_modules(symbol: &[u8], names: &mut Names) -> Result<Vec<Namesake>, AllocError> {
    let mut found: Vec<Namesake> = Vec::new();
    for address in in_modules(None, symbol, names)? {
        let at = Symbol::boxed(address).map_err(|_| AllocError)?;
        let Some(module) = at.as_ref().and_then(|symbol| symbol.module()) else {
            continue;
        };
        let mut name = Vec::from_slice(module)?;
        name.push(b':')?;
        name.extend_from_slice(symbol)?;
        let mut which = Which::Only;
        let mut before = found.iter_mut().rev();
        if let Some(last) = before.find(|other| *other.name == *name) {
            let number = match last.which {
                Which::Number(n) => n,
                Which::Only | Which::All => 1,
            };
            last.which = Which::Number(number);
            which = Which::Number(number.saturating_add(1));
        }
        found.push(Namesake {
            address,
            name,
            which,
        })?;
    }
    Ok(found)
}

/// Returns the addresses of a name in the kernel, without modules.
fn in_kernel(symbol: &[u8], names: &mut Names) -> Result<Vec<u64>, AllocError> {
    let mut addresses = Vec::new();
    let mut memory = Ok(());
    names.each_address(symbol, |address| {
        if memory.is_ok() && addresses.len() <= MAX {
            memory = addresses.push(address);
        }
    })?;
    memory.map(|()| addresses)
}

/// Returns the addresses of functions of a name in module `only`, or in all modules, in ascending
/// order.
fn in_modules(
    only: Option<&[u8]>,
    symbol: &[u8],
    names: &mut Names,
) -> Result<Vec<u64>, AllocError> {
    let mut addresses = Vec::with_capacity(MAX)?;
    let Some(list) = names.modules()? else {
        return Ok(addresses);
    };
    each_in_modules(list, only, symbol, |address| {
        if addresses.len() < MAX {
            // There is room, so this does not sleep.
            let _ = addresses.push(address);
        }
    });
    sort(&mut addresses);
    Ok(addresses)
}

/// Calls `each` with the address of each function `symbol` in module `only`, or in all modules.
/// `each` may not sleep.
fn each_in_modules(list: u64, only: Option<&[u8]>, symbol: &[u8], mut each: impl FnMut(u64)) {
    // A kernel without symbols of modules has none.
    // BOUND: One comparison for each function of modules.
    let _ = module::each_function(list, only, |function| {
        if *function.name.to_bytes() == *symbol && !function.is_init {
            each(function.address);
        }
        true
    });
}

/// Adds functions with similar names to the refusal of the unknown function `name`: of the kernel
/// and its modules, or of `module`, which is loaded.
#[cold]
#[inline(never)]
pub(crate) fn no_symbol(
    refusal: Refusal,
    module: Option<&[u8]>,
    name: &[u8],
    names: &mut Names,
) -> Refusal {
    let mut nearest = Nearest::to_wrong_symbol(name);
    if names.each_similar(module, &mut nearest).is_err() {
        return refusal;
    }
    let name = Plain(name);
    match (module.map(Plain), nearest.is_none()) {
        (None, true) => refusal.with_detail(format_args!(
            "there is no symbol {name}: see /proc/kallsyms, probe a caller if it is inlined, \
             write MODULE:{name} if its module is not loaded"
        )),
        (None, false) => refusal.with_detail(format_args!(
            "there is no symbol {name}, did you mean {nearest}?"
        )),
        (Some(module), true) => refusal.with_detail(format_args!(
            "module {module} has no function {name}: see /proc/kallsyms, or probe a caller if it \
             is inlined"
        )),
        (Some(module), false) => refusal.with_detail(format_args!(
            "module {module} has no function {name}, did you mean {nearest}?"
        )),
    }
}
