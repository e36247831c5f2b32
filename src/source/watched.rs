// SPDX-License-Identifier: GPL-2.0

//! What interrupts report: the period of a sample, the data of a watchpoint.

use crate::{
    engine::{
        definition::{
            ast::{Definition, Place},
            watched::{Access, Watched},
        },
        program::fetch::Symbols,
        refusal::{
            error::{Errno, Error as Refusal, Kind},
            suggest::distance::Nearest,
        },
        util::text::Plain,
    },
    kapi::{
        interrupt::{InterruptCause, WatchedAccess},
        module,
        symbol::{self, Symbol},
    },
    source::{names::Names, namesakes},
    sys::{AllocError, Vec},
};
use kernel::prelude::*;

/// The lowest address of the kernel.
const KERNEL: u64 = 1 << 63;

/// Returns what causes the interrupts of `definition`, whose data, if any, is at `address`.
pub(super) fn cause_of(definition: &Definition, address: u64) -> Option<InterruptCause> {
    match &definition.place {
        Place::Every(period) => Some(InterruptCause::Timer(period.nanoseconds())),
        Place::Data(watched) => {
            let access = access_of(watched.access)?;
            Some(InterruptCause::Watchpoint(access, address, watched.length))
        }
        _ => None,
    }
}

/// Returns the access for the kernel; `None` for reads alone, which processors report with writes.
fn access_of(access: Access) -> Option<WatchedAccess> {
    match access {
        Access::Read => None,
        Access::Write => Some(WatchedAccess::Write),
        Access::Both => Some(WatchedAccess::Both),
        Access::Execute => Some(WatchedAccess::Execute),
    }
}

/// An address, and the module of the data there.
type WatchedPlace = (u64, Option<Vec<u8>>);

/// Finds the data of `definition`, which is at `watched`: its address, and its module. Returns `None`
/// if it is in a module that is not loaded.
///
/// # Errors
///
/// `NO_DATA_SYMBOL`, `NON_UNIQ_SYMBOL`, `BAD_WATCH`, `NOSUP_WATCH`.
///
/// Context: process, may sleep.
#[inline(never)]
pub(super) fn find(
    definition: &Definition,
    watched: &Watched,
    names: &mut Names,
) -> Result<Option<WatchedPlace>, Refusal> {
    let at = definition.place_at;
    if access_of(watched.access).is_none() {
        return Err(Refusal::new(Kind::NosupWatch, at).with_detail(format_args!(
            "the processor reports reads with writes only: write rw@"
        )));
    }
    let mut base = 0;
    if let Some(name) = &watched.symbol {
        match symbol::lookup_bytes(name) {
            Some(address) => {
                base = address;
                check_unique(name, address, names, at)?;
            }
            None => {
                let module = definition.place.symbol().and_then(|(module, _)| module);
                let is_loaded = module.map(module::is_loaded).transpose();
                if is_loaded.map_err(|_| Refusal::new(Kind::NoMemory, at))? == Some(false) {
                    return Ok(None);
                }
                let place = definition.place.symbol().unwrap_or((None, name));
                return Err(no_symbol(place, watched.access, names, at));
            }
        }
    }
    let address = watched.address(base);
    let refusal = || Refusal::new(Kind::BadWatch, at);
    if let Some(name) = watched.symbol.as_ref().filter(|_| names.is_per_cpu(base)) {
        let name = Plain(name);
        return Err(refusal().with_detail(format_args!(
            "each CPU has its own: write an address, as this_cpu_ptr(@{name}) of a probe is"
        )));
    }
    if address < KERNEL {
        return Err(refusal().with_detail(format_args!("{address:#x} is no address of the kernel")));
    }
    let length = u64::from(watched.length);
    let is_data = watched.access != Access::Execute;
    if is_data && address & length.wrapping_sub(1) != 0 {
        return Err(refusal().with_detail(format_args!(
            "{address:#x} is no multiple of the length {length}"
        )));
    }
    let symbol = Symbol::boxed(address).map_err(|_| AllocError)?;
    let module = symbol.as_ref().and_then(|symbol| symbol.module());
    let module = module.map(Vec::from_slice).transpose()?;
    Ok(Some((address, module)))
}

/// Returns the refusal of an unknown symbol, of the kernel and its modules, or of `module`, which is
/// loaded; with similar names.
#[cold]
#[inline(never)]
fn no_symbol(
    (module, symbol): (Option<&[u8]>, &[u8]),
    access: Access,
    names: &mut Names,
    at: usize,
) -> Refusal {
    let refusal = Refusal::new(Kind::NoDataSymbol, at);
    if access == Access::Execute {
        return namesakes::no_symbol(refusal, module, symbol, names);
    }
    let mut nearest = Nearest::to_wrong_symbol(symbol);
    let name = Plain(symbol);
    if let Some(module) = module.map(Plain) {
        return refusal.with_detail(format_args!(
            "module {module} has no variable {name}, see /proc/kallsyms"
        ));
    }
    names.each_similar_data(&mut nearest);
    match nearest.is_none() {
        true => refusal.with_detail(format_args!(
            "there is no symbol {name}: see /proc/kallsyms, write MODULE:{name} if its module is \
             not loaded"
        )),
        false => refusal.with_detail(format_args!(
            "there is no symbol {name}, did you mean {nearest}?"
        )),
    }
}

/// Checks that the symbol `name`, which is at `address`, is the kernel's only one of that name.
fn check_unique(name: &[u8], address: u64, names: &mut Names, at: usize) -> Result<(), Refusal> {
    let mut is_only = true;
    names.each_address(name, |other| is_only &= other == address)?;
    match is_only {
        true => Ok(()),
        false => Err(
            Refusal::new(Kind::NonUniqSymbol, at).with_detail(format_args!(
                "write the address of one of them, see /proc/kallsyms"
            )),
        ),
    }
}

/// Returns the refusal of a watchpoint for which the kernel returns `errno`, with the caret at column
/// `at`.
#[cold]
#[inline(never)]
pub(super) fn refused(errno: Errno, at: usize) -> Refusal {
    match errno {
        Errno::ENOMEM => Refusal::new(Kind::NoMemory, at),
        Errno::ENOSPC => Refusal::new(Kind::NoWatchpoint, at),
        Errno::EOPNOTSUPP => Refusal::new(Kind::NosupWatch, at),
        _ => Refusal::registration(errno, at)
            .with_detail(format_args!("the kernel allows no watchpoint there")),
    }
}
