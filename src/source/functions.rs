// SPDX-License-Identifier: GPL-2.0

//! The functions that patterns select, and the places where ftrace reports their entries.
//!
//! Each pattern is compared with the kernel's symbol table, by prefix if the pattern begins with
//! letters, and with the symbols of modules. The first bytes of a function tell where ftrace may
//! report its entry; all places are checked with ftrace in one call, which is split in halves if
//! ftrace refuses. The functions of the kernel, of each module, and of each module's init code form
//! a [`SiteGroup`], which is added and removed as a whole.

use crate::{
    engine::{
        code::arch::isa::ENTRY_LEN,
        definition::kind::Location,
        language::{
            functions::{is_function, Patterns, Selection},
            lex::Span,
        },
        refusal::{
            error::{Errno, Error as Refusal, Kind},
            suggest::distance::Nearest,
        },
        util::{sort::sort, text::Plain},
    },
    kapi::{
        context::{cond_resched, is_being_killed},
        functions::{self, Site, SitesOwner},
        module, nofault,
        symbol::Symbol,
    },
    source::{machine::MACHINE, names::Names},
    sys::{AllocError, Vec},
};
use core::iter;
use kernel::{prelude::*, str::CString};

/// The functions of one owner: the kernel, a module, or a module's init code.
pub(crate) struct SiteGroup {
    module: Option<CString>,
    is_init: bool,
    /// Sorted by address.
    pub(crate) sites: Vec<Site>,
}

impl SiteGroup {
    /// Returns the owner.
    pub(crate) fn owner(&self) -> SitesOwner<'_> {
        SitesOwner {
            module: self.module.as_deref(),
            is_init: self.is_init,
        }
    }
}

/// Refuses a definition on function entries, with the caret at column `at`, if the kernel does not
/// support them.
pub(super) fn check_support(at: usize) -> Result<(), Refusal> {
    match functions::are_supported() {
        true => Ok(()),
        false => Err(Refusal::new(Kind::BadProbeAddr, at)
            .with_errno(Errno::EOPNOTSUPP)
            .with_detail(format_args!(
                "this kernel has no ftrace (CONFIG_DYNAMIC_FTRACE): use p and r"
            ))),
    }
}

/// Refuses a definition on the returns of many functions, with the caret at column `at`, if the
/// kernel does not support them.
pub(super) fn check_returns(at: usize) -> Result<(), Refusal> {
    match functions::are_returns_supported() {
        true => Ok(()),
        false => Err(Refusal::new(Kind::BadProbeAddr, at)
            .with_errno(Errno::EOPNOTSUPP)
            .with_detail(format_args!(
                "this kernel has no fprobes (CONFIG_FPROBE): write %return behind one function"
            ))),
    }
}

/// Finds the functions that `patterns` select now, grouped by owner.
///
/// # Errors
///
/// `BAD_PROBE_ADDR`, with the caret at column `at`, if there are none and no module can add any;
/// [`killed`] if the task is being killed.
///
/// Context: process, may sleep.
pub(crate) fn find(
    patterns: &Patterns,
    names: &mut Names,
    at: usize,
) -> Result<Vec<SiteGroup>, Refusal> {
    let mut selection = Selection::new(patterns)?;
    let prefixes = selection.prefixes()?;
    let mut groups = Vec::new();
    let mut own = Vec::new();
    let mut memory = Ok(());
    let mut watch = KillWatch::new();
    let read = names.each_function(prefixes.iter().copied(), |name, address| {
        if selection.select(None, name) {
            memory = own.push(address);
        }
        memory.is_ok() && !watch.is_killed()
    })?;
    memory?;
    if is_being_killed() {
        return Err(killed(at));
    }
    if !read {
        let refusal = Refusal::new(Kind::BadProbeAddr, at).with_errno(Errno::EOPNOTSUPP);
        return Err(refusal.with_detail(format_args!(
            "the kernel's table of symbols cannot be read: name functions one by one"
        )));
    }
    sort(&mut own);
    let mut selected = own.len();
    push_group(&mut groups, None, false, own)?;
    let of_modules = push_modules(&mut groups, &mut selection, names, (None, is_being_killed))?;
    if is_being_killed() {
        return Err(killed(at));
    }
    selected = selected.saturating_add(of_modules);
    if let Some((offset, pattern)) = selection.unseen() {
        let at = at.saturating_add(offset);
        return Err(selects_none(
            Refusal::new(Kind::BadProbeAddr, at),
            pattern,
            names,
        ));
    }
    if let (0, Some((name, _))) = (selected, patterns.with_end()) {
        return Err(ends_of(at, name, Some(Location::Function)));
    }
    let sites = groups.iter().map(|group| group.sites.len());
    if sites.fold(0, usize::saturating_add) > 0 || patterns.await_modules() {
        return Ok(groups);
    }
    let refusal = Refusal::new(Kind::BadProbeAddr, at);
    Err(match selected {
        1 => refusal.with_detail(format_args!("ftrace does not report the function: use p")),
        _ => refusal.with_detail(format_args!(
            "ftrace reports none of the {selected} functions: use p"
        )),
    })
}

/// Finds all functions whose entries ftrace reports, like [`find`].
///
/// # Errors
///
/// The refusal of an event on such functions.
///
/// Context: process, may sleep.
pub(crate) fn all(names: &mut Names) -> Result<Vec<SiteGroup>, Refusal> {
    check_support(0)?;
    let any = Span { bytes: b"*", at: 0 };
    find(&Patterns::parse(any, iter::empty())?, names, 0)
}

/// Finds the functions of the module `name` that `patterns` select.
///
/// # Errors
///
/// [`AllocError`] when there is no memory.
///
/// Context: process, may sleep.
pub(crate) fn of_module(
    patterns: &Patterns,
    names: &mut Names,
    name: &[u8],
) -> Result<Vec<SiteGroup>, AllocError> {
    let mut groups = Vec::new();
    let mut selection = Selection::new(patterns)?;
    // Loading of a module continues even if the loading task is being killed.
    push_modules(&mut groups, &mut selection, names, (Some(name), || false))?;
    Ok(groups)
}

/// Returns `refusal` with the words for `pattern`, which selects no function.
#[cold]
#[inline(never)]
fn selects_none(refusal: Refusal, pattern: &[u8], names: &mut Names) -> Refusal {
    let mut nearest = Nearest::to_wrong_symbol(pattern);
    if is_function(pattern) && names.each_similar(None, &mut nearest).is_err() {
        return refusal;
    }
    let pattern = Plain(pattern);
    match nearest.is_none() {
        true => refusal.with_detail(format_args!("{pattern} selects no function")),
        false => refusal.with_detail(format_args!(
            "{pattern} selects no function, did you mean {nearest}?"
        )),
    }
}

/// Returns a refusal for a task that is being killed, which nobody reads.
#[cold]
pub(super) fn killed(at: usize) -> Refusal {
    Refusal::new(Kind::NoMemory, at).with_errno(Errno::EINTR)
}

/// Checks for a kill signal from time to time, in a loop over names.
struct KillWatch(u32);

impl KillWatch {
    const fn new() -> Self {
        Self(0)
    }

    /// Returns whether the task is being killed, as of the last check. Reschedules every few
    /// hundred calls.
    fn is_killed(&mut self) -> bool {
        self.0 = self.0.wrapping_add(1);
        if self.0 % 256 != 0 {
            return false;
        }
        cond_resched();
        is_being_killed()
    }
}

/// The module to search, `None` for all, and a function that tells whether to stop.
type Wanted<'a> = (Option<&'a [u8]>, fn() -> bool);

/// Adds groups of the functions found by [`of_modules`]; returns the number of functions.
fn push_modules(
    groups: &mut Vec<SiteGroup>,
    selection: &mut Selection<'_>,
    names: &mut Names,
    wanted: Wanted<'_>,
) -> Result<usize, AllocError> {
    let mut count = 0usize;
    for found in of_modules(selection, names, wanted)? {
        count = count.saturating_add(found.functions.len());
        push_group(groups, Some(found.module), found.is_init, found.functions)?;
    }
    Ok(count)
}

/// Sorts functions, and adds a group of those whose entries ftrace reports.
fn push_group(
    groups: &mut Vec<SiteGroup>,
    module: Option<CString>,
    is_init: bool,
    functions: Vec<u64>,
) -> Result<(), AllocError> {
    let sites = sites_of(&functions)?;
    if sites.is_empty() {
        return Ok(());
    }
    groups.push(SiteGroup {
        module,
        is_init,
        sites,
    })
}

/// Functions of a module, or of its init code, by ascending address.
struct OfModule {
    module: CString,
    is_init: bool,
    functions: Vec<u64>,
}

/// A function, as noted while the list of modules may not change.
#[derive(Clone, Copy)]
struct NotedFunction {
    address: u64,
    is_init: bool,
}

/// Returns the functions of loaded modules that `selection` selects, as far as `wanted`.
fn of_modules(
    selection: &mut Selection<'_>,
    names: &mut Names,
    wanted: Wanted<'_>,
) -> Result<Vec<OfModule>, AllocError> {
    let noted = note(selection, names, wanted)?;
    let (_, is_over) = wanted;
    let mut all: Vec<OfModule> = Vec::new();
    for noted in &noted {
        if is_over() {
            break;
        }
        let Some(symbol) = Symbol::boxed(noted.address).map_err(|_| AllocError)? else {
            continue;
        };
        let Some(module) = symbol.module() else {
            continue;
        };
        let is_same =
            |of: &&mut OfModule| of.module.to_bytes() == module && of.is_init == noted.is_init;
        // Functions of one module are adjacent.
        let known = all.iter_mut().rev().find(is_same);
        match known {
            Some(of) => of.functions.push(noted.address)?,
            None => {
                let name = core::str::from_utf8(module).unwrap_or_default();
                let module = CString::try_from_fmt(fmt!("{name}")).map_err(|_| AllocError)?;
                let mut functions = Vec::new();
                functions.push(noted.address)?;
                all.push(OfModule {
                    module,
                    is_init: noted.is_init,
                    functions,
                })?;
            }
        }
    }
    for of in all.iter_mut() {
        sort(&mut of.functions);
    }
    Ok(all)
}

/// Notes the functions for [`of_modules`].
fn note(
    selection: &mut Selection<'_>,
    names: &mut Names,
    (only, is_over): Wanted<'_>,
) -> Result<Vec<NotedFunction>, AllocError> {
    let Some(list) = names.modules()? else {
        return Ok(Vec::new());
    };
    let mut noted = Vec::new();
    let mut room = 0usize;
    loop {
        let mut count = 0usize;
        noted.clear();
        // A kernel without symbols of modules has none.
        let _ = module::each_function(list, only, |function| {
            let module = function.module.to_bytes();
            if selection.select(Some(module), function.name.to_bytes()) {
                count = count.saturating_add(1);
                if count <= room {
                    // There is room, so this does not sleep.
                    let _ = noted.push(NotedFunction {
                        address: function.address,
                        is_init: function.is_init,
                    });
                }
            }
            !is_over()
        });
        if count <= room || is_over() {
            return Ok(noted);
        }
        // Some more, because modules may be loaded meanwhile.
        room = count.saturating_mul(2);
        noted.reserve(room)?;
    }
}

/// Returns the refusal of `FUNCTION:entry`, with the caret at column `at`.
#[cold]
#[inline(never)]
pub(super) fn ends_of(at: usize, function: &[u8], location: Option<Location>) -> Refusal {
    let refusal = Refusal::new(Kind::BadProbeAddr, at);
    let function = Plain(function);
    match location {
        Some(Location::Function) => refusal.with_detail(format_args!(
            "{function} is no module: write f {function} for the entry, f {function}%return for the \
             return"
        )),
        _ => refusal.with_detail(format_args!(
            "{function} is no module: write p {function} for the entry, r {function} for the return"
        )),
    }
}

/// The place where ftrace may report a function's entry.
pub(super) enum FunctionEntry {
    /// At this place, if at all.
    Here(Site),
    /// At one of several places, if at all.
    Unclear,
    Nowhere,
}

/// Returns the place where ftrace may report the entry of `function`, from its first bytes.
///
/// Context: process, may sleep.
pub(super) fn entry_of(function: u64) -> FunctionEntry {
    let mut sites = candidates(function);
    match (sites.next(), sites.next()) {
        (None, _) => FunctionEntry::Nowhere,
        (Some(site), None) => FunctionEntry::Here(site),
        (Some(_), Some(_)) => FunctionEntry::Unclear,
    }
}

/// Returns the place where ftrace reports the entry of `function`, if it does.
///
/// # Errors
///
/// [`AllocError`] when there is no memory.
///
/// Context: process, may sleep.
pub(super) fn site_of(function: u64) -> Result<Option<Site>, AllocError> {
    Ok(sites_of(&[function])?.first().copied())
}

/// Returns the index of the first of `sites` at which ftrace reports nothing. If there is none,
/// this takes a single call, which costs some ten thousand instructions for any number of sites.
///
/// # Errors
///
/// [`AllocError`] when there is no memory.
///
/// Context: process, may sleep.
pub(crate) fn first_unknown(sites: &[Site]) -> Result<Option<usize>, AllocError> {
    if sites.is_empty() || functions::are_sites(sites)? {
        return Ok(None);
    }
    // All of `known` are valid; one of the following `rest` is not.
    let (mut known, mut rest) = (0usize, sites);
    while rest.len() > 1 {
        let (first, second) = rest.split_at_checked(rest.len() / 2).unwrap_or_default();
        if functions::are_sites(first)? {
            known = known.saturating_add(first.len());
            rest = second;
        } else {
            rest = first;
        }
    }
    Ok(Some(known))
}

/// Returns the places where ftrace may report the entry of `function`, from its first bytes, the
/// likeliest first.
fn candidates(function: u64) -> impl Iterator<Item = Site> {
    let mut bytes = [0; ENTRY_LEN];
    let offsets = match nofault::read_kernel(function, &mut bytes) {
        true => MACHINE.arch.isa().ftrace_offsets(&bytes),
        false => Default::default(),
    };
    offsets.into_iter().flatten().map(move |offset| Site {
        function,
        site: function.wrapping_add(u64::from(offset)),
    })
}

/// Returns the places where ftrace reports the entries of `functions`, which ascend; leaves out
/// those that it does not report.
fn sites_of(functions: &[u64]) -> Result<Vec<Site>, AllocError> {
    let mut sites = Vec::with_capacity(functions.len())?;
    let mut last = None;
    for &function in functions {
        // Some functions have several names.
        if last == Some(function) {
            continue;
        }
        last = Some(function);
        for site in candidates(function) {
            sites.push(site)?;
        }
    }
    let mut known: Vec<Site> = Vec::with_capacity(sites.len())?;
    // Parts of the list to check, the next one last.
    let mut parts = Vec::new();
    parts.push(&*sites)?;
    while let Some(part) = parts.pop() {
        if functions::are_sites(part)? {
            for site in part {
                match known.last_mut() {
                    // The same function: the former place was a mark before it.
                    Some(last) if last.site == site.site => *last = *site,
                    Some(last) if last.function == site.function => {}
                    _ => known.push(*site)?,
                }
            }
        } else if part.len() > 1 {
            // Few places are invalid, so most of the list is in parts without one.
            let (first, second) = part.split_at_checked(part.len() / 2).unwrap_or_default();
            parts.push(second)?;
            parts.push(first)?;
        }
    }
    Ok(known)
}
