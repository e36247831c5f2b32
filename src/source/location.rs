// SPDX-License-Identifier: GPL-2.0

//! Finds and judges the address of a definition's location.
//!
//! ferroprobe's own judgement comes first; the kernel decides last. If both refuse, the
//! refusal has ferroprobe's reason, because the kernel gives none.

use crate::{
    engine::{
        code::{
            noreturn::is_noreturn,
            placement::{Judgement, Placement, Refuser, SpecialRole, Verdict, Why},
        },
        definition::{
            ast::{Definition, Place, Which},
            kind::{Location, Mechanism},
        },
        language::functions::is_end,
        refusal::error::{Errno, Error as Refusal, Kind},
        util::text::Plain,
    },
    kapi::{
        functions::Site,
        kprobe, module,
        symbol::{self, Symbol},
        tracepoint::{Tracepoint, Tracepoints},
        uprobe::ProgramFile,
    },
    source::{
        functions::{self, FunctionEntry, SiteGroup},
        live::{is_text, Live, Original},
        machine::errno,
        names::Names,
        namesakes,
        points::{self, Point},
        tables, types,
        user::{self, InProgram},
        watched,
    },
    sys::{AllocError, Vec},
};
use core::fmt;
use kernel::prelude::*;

pub(crate) use super::namesakes::no_symbol;

/// Symbols that mark the start of the kernel's text and are not functions. `perf probe` counts
/// offsets from them.
const MARKS: [&[u8]; 2] = [b"_text", b"_stext"];

/// A location to probe.
pub(crate) struct Found {
    /// The address that is passed to the kernel and recorded; for a tracepoint, that of its stub.
    pub(crate) address: u64,
    /// Whether the location is at a function's entry, with arguments in place.
    pub(crate) at_entry: bool,
    /// The original bytes, if known.
    pub(crate) original: Option<Original>,
    /// The place where ftrace reports the entry, if a function's entry is probed.
    site: Option<Site>,
    /// Whether ftrace still has to confirm that place.
    is_open: bool,
    what: FoundAt,
}

/// The kind of location. Large variants are boxed, as it is passed through many functions.
enum FoundAt {
    /// The instructions of a function, if one is known there.
    Text(Option<KBox<Live>>),
    Tracepoint(Point),
    /// The entry of a function, reported by ftrace, with the symbol if it is needed.
    Entry(Option<KBox<Symbol>>),
    /// The functions that patterns select.
    Functions(Vec<SiteGroup>),
    File(InProgram),
    /// Data, with its module; or nothing.
    Data(Option<Vec<u8>>),
}

/// Looks up and judges the location of `definition`. `probes` are ferroprobe's own.
/// Returns `None` if the location is in a module that is not loaded.
///
/// # Errors
///
/// `NO_TRACEPOINT`, see [`points::find`].
///
/// `BAD_PROBE_ADDR` for a symbol that does not exist; `NON_UNIQ_SYMBOL` for a symbol that
/// exists more than once; `BAD_PLACE` for a location that the kernel would accept, but
/// where the probe could not work; `BAD_RETPROBE` for a return probe that is not at a
/// function's entry.
///
/// Context: process, may sleep.
#[inline(never)]
pub(crate) fn find<'a>(
    definition: &Definition,
    names: &mut Names,
    tracepoints: &Tracepoints,
    probes: impl Iterator<Item = &'a Original>,
) -> Result<Option<Found>, Refusal> {
    if definition.kind.mechanism == Mechanism::Tracepoint {
        return Ok(points::find(definition, tracepoints)?.map(Found::tracepoint_of));
    }
    let at = definition.place_at;
    if definition.kind.location == Some(Location::Function) {
        functions::check_support(at)?;
    }
    let (name, which, offset) = match &definition.place {
        Place::Address(address) => {
            return Found::new(definition, None, *address, names, probes).map(Some)
        }
        Place::Symbol {
            name,
            which,
            offset,
        } => (name, *which, *offset),
        Place::File(place) => {
            return Ok(Some(Found::in_program(user::find(definition, place)?)));
        }
        // These are not locations.
        Place::Event { .. } | Place::Pair(_) | Place::None => return Ok(None),
        Place::Every(_) => return Ok(Some(Found::data(0, None))),
        Place::Data(watched) => {
            let found = watched::find(definition, watched, names)?;
            return Ok(found.map(|(address, module)| Found::data(address, module)));
        }
        Place::Functions(patterns) => {
            if definition.kind.is_return {
                functions::check_returns(at)?;
            }
            let groups = functions::find(patterns, names, at)?;
            return Ok(Some(Found::functions_of(groups)));
        }
    };
    let (module, symbol) = definition.place.symbol().unwrap_or((None, name));
    let no_memory = || Refusal::new(Kind::NoMemory, at);
    let known = match which {
        Which::Only => only((module, symbol), name, names, at)?,
        Which::Number(number) => namesakes::address(definition, number, names)?,
        Which::All => return Err(Refusal::new(Kind::NonUniqSymbol, at)),
    };
    let Some(address) = known else {
        let is_awaited = match module {
            Some(module) => !module::is_loaded(module).map_err(|_| no_memory())?,
            None => false,
        };
        return match (is_awaited, definition.kind.is_return && offset != 0) {
            (true, false) => {
                check_module(definition, module.unwrap_or_default(), symbol, names)?;
                Ok(None)
            }
            (true, true) => Err(Refusal::new(Kind::BadRetprobe, at)),
            (false, _) => {
                let refusal = Refusal::new(Kind::BadProbeAddr, at);
                Err(no_symbol(refusal, module, symbol, names))
            }
        };
    };
    if definition.kind.mechanism == Mechanism::Function {
        return Found::entry(definition, address, names).map(Some);
    }
    let place = address.wrapping_add(u64::from(offset));
    // An offset from a mark leads into other functions.
    let start = Some(address).filter(|_| !MARKS.contains(&symbol));
    Found::new(definition, start, place, names, probes).map(Some)
}

/// Checks whether `module`, which is not loaded, may be a module: other tools write
/// `FUNCTION:entry`, and such a probe would wait forever.
///
/// # Errors
///
/// `BAD_PROBE_ADDR`.
#[inline(never)]
fn check_module(
    definition: &Definition,
    module: &[u8],
    symbol: &[u8],
    names: &mut Names,
) -> Result<(), Refusal> {
    let mut is_function = false;
    if is_end(symbol) {
        names.each_address(module, |_| is_function = true)?;
    }
    if !is_function {
        return Ok(());
    }
    Err(functions::ends_of(
        definition.place_at,
        module,
        definition.kind.location,
    ))
}

/// Returns the address of `symbol` in `module`, or in the kernel; `None` if there is none. `name`
/// is the text as written.
///
/// # Errors
///
/// `NON_UNIQ_SYMBOL` if the kernel, or the module, has several; or if modules together have
/// several, and the kernel has none.
fn only(
    (module, symbol): (Option<&[u8]>, &[u8]),
    name: &[u8],
    names: &mut Names,
    at: usize,
) -> Result<Option<u64>, Refusal> {
    // The kernel's own table does not have functions of modules.
    let (mut own, mut is_only, mut is_read) = (None, true, true);
    if module.is_none() {
        is_read = names.each_address(name, |address| {
            is_only = own.is_none();
            own = own.or(Some(address));
        })?;
    }
    let known = own.or_else(|| symbol::lookup_bytes(name));
    let is_modules = own.is_none() && known.is_some() && is_read;
    if !is_only || (is_modules && namesakes::are_several(module, symbol, names)?) {
        return Err(Refusal::new(Kind::NonUniqSymbol, at));
    }
    Ok(known)
}

impl Found {
    /// Judges `address`, the location of `definition`. `start` is the address of the function that
    /// the definition names, if any. `probes` are ferroprobe's own.
    fn new<'a>(
        definition: &Definition,
        start: Option<u64>,
        address: u64,
        names: &mut Names,
        probes: impl Iterator<Item = &'a Original>,
    ) -> Result<Self, Refusal> {
        let at = definition.place_at;
        for address in [start.unwrap_or(address), address] {
            if !is_text(address, names)? {
                if let Some(refusal) = not_text(address, at) {
                    return Err(refusal);
                }
            }
        }
        // Without memory for a judgement the probe is refused.
        let live = Live::at(address, names, probes)?;
        let live = live.map(|live| KBox::new(live, GFP_KERNEL));
        let live = live
            .transpose()
            .map_err(|_| Refusal::new(Kind::NoMemory, at))?;
        Self::of_text(definition, start, address, live)
    }

    /// The rest of [`Found::new`], for the instructions `live`. Out of line, because finding these
    /// takes much stack.
    #[inline(never)]
    fn of_text(
        definition: &Definition,
        start: Option<u64>,
        address: u64,
        live: Option<KBox<Live>>,
    ) -> Result<Self, Refusal> {
        let at = definition.place_at;
        if let (Some(start), Some(live)) = (start, &live) {
            // A location at the entry of another function is deliberate; the kernel's tests do
            // this.
            if live.address != start && live.address != address {
                return Err(outside(definition, live, address));
            }
        }
        let mut found = Self {
            address,
            at_entry: false,
            original: None,
            site: None,
            is_open: false,
            what: FoundAt::Text(live),
        };
        let (Some(offset), Some(live)) = (found.offset(), found.live()) else {
            return Ok(found);
        };
        let mut refusal = None;
        let seen = live.judged(|placement| {
            let original = Original::of(placement, offset);
            refusal = our_refusal(&placement.judge(offset)?, at);
            Ok::<_, AllocError>((placement.is_entry(offset), original))
        });
        let (at_entry, original) = seen??;
        if definition.kind.is_return && !at_entry {
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

    /// If `definition`, whose location this is, probes the return, checks that the function
    /// returns.
    ///
    /// # Errors
    ///
    /// `NEVER_RETURNS`.
    pub(crate) fn check_returns(&self, definition: &Definition) -> Result<(), Refusal> {
        let never = |live: &Live| is_noreturn(live.symbol.name());
        if definition.kind.is_return && self.live().is_some_and(never) {
            return Err(Refusal::new(Kind::NeverReturns, definition.place_at));
        }
        Ok(())
    }

    /// Returns the entry of the function at `address`. Does not judge the instructions, because
    /// ftrace knows where it reports entries. If only one place is possible, [`Found::open_site`]
    /// asks ftrace later.
    fn entry(definition: &Definition, address: u64, names: &mut Names) -> Result<Self, Refusal> {
        let at = definition.place_at;
        if !is_text(address, names)? {
            if let Some(refusal) = not_text(address, at) {
                return Err(refusal);
            }
        }
        let mut symbol = None;
        // Nothing else needs the symbol.
        if types::are_needed(definition) {
            let found = Symbol::boxed(address).map_err(|_| Refusal::new(Kind::NoMemory, at))?;
            symbol = Some(found.ok_or(Refusal::new(Kind::BadProbeAddr, at))?);
        }
        let (site, is_open) = match functions::entry_of(address) {
            FunctionEntry::Here(site) => (Some(site), true),
            FunctionEntry::Unclear => (functions::site_of(address)?, false),
            FunctionEntry::Nowhere => (None, false),
        };
        if site.is_none() {
            return Err(unreported(address, at));
        }
        Ok(Self {
            address,
            at_entry: true,
            original: None,
            site,
            is_open,
            what: FoundAt::Entry(symbol),
        })
    }

    /// Returns `point` as a location.
    fn tracepoint_of(point: Point) -> Self {
        Self {
            address: point.tracepoint.stub(),
            at_entry: true,
            original: None,
            site: None,
            is_open: false,
            what: FoundAt::Tracepoint(point),
        }
    }

    /// Returns data at `address` in `module` as a location.
    fn data(address: u64, module: Option<Vec<u8>>) -> Self {
        Self {
            address,
            at_entry: false,
            original: None,
            site: None,
            is_open: false,
            what: FoundAt::Data(module),
        }
    }

    /// Returns the functions of `groups` as a location.
    fn functions_of(groups: Vec<SiteGroup>) -> Self {
        Self {
            address: 0,
            at_entry: true,
            original: None,
            site: None,
            is_open: false,
            what: FoundAt::Functions(groups),
        }
    }

    /// Returns `place` as a location.
    fn in_program(place: InProgram) -> Self {
        Self {
            address: 0,
            at_entry: place.at_entry,
            original: None,
            site: None,
            is_open: false,
            what: FoundAt::File(place),
        }
    }

    /// Returns the file in which the location is, and the offsets there of the location and of the
    /// reference counter, which is 0 if there is none.
    pub(crate) fn program(&self) -> Option<(&ProgramFile, (u64, u64))> {
        match &self.what {
            FoundAt::File(place) => Some((&place.program, (place.offset, place.counter))),
            _ => None,
        }
    }

    /// Returns where the arguments are of a static point of a program.
    pub(crate) fn point_arguments(&self) -> Option<&[u8]> {
        match &self.what {
            FoundAt::File(place) => place.arguments.as_deref(),
            _ => None,
        }
    }

    /// Returns the name of the function whose entry is probed, or of the one with the type of a
    /// tracepoint's probes. Unknown if no type is needed.
    pub(crate) fn function(&self) -> Option<&[u8]> {
        match &self.what {
            FoundAt::Text(live) => {
                let live = live.as_ref()?;
                self.at_entry.then(|| live.symbol.name())
            }
            FoundAt::Tracepoint(point) => Some(&point.function),
            FoundAt::Entry(symbol) => symbol.as_ref().map(|symbol| symbol.name()),
            FoundAt::Functions(_) | FoundAt::File(_) | FoundAt::Data(_) => None,
        }
    }

    /// Returns the module of the location.
    pub(crate) fn module(&self) -> Option<&[u8]> {
        match &self.what {
            FoundAt::Text(live) => live.as_ref()?.symbol.module(),
            FoundAt::Tracepoint(point) => point.tracepoint.module(),
            FoundAt::Entry(symbol) => symbol.as_ref()?.module(),
            FoundAt::Data(module) => module.as_deref(),
            FoundAt::Functions(_) | FoundAt::File(_) => None,
        }
    }

    /// Returns the tracepoint, if the location is one.
    pub(crate) fn tracepoint(&self) -> Option<&Tracepoint> {
        match &self.what {
            FoundAt::Tracepoint(point) => Some(&point.tracepoint),
            _ => None,
        }
    }

    /// Returns the place where ftrace reports the entry, if a function's entry is probed.
    pub(crate) fn site(&self) -> Option<Site> {
        self.site
    }

    /// Returns that place if ftrace still has to confirm it: this is done for all definitions of a
    /// write together. If it does not, the refusal is [`unreported`].
    pub(crate) fn open_site(&self) -> Option<Site> {
        self.site.filter(|_| self.is_open)
    }

    fn live(&self) -> Option<&Live> {
        match &self.what {
            FoundAt::Text(live) => live.as_deref(),
            _ => None,
        }
    }

    /// Returns the functions, if the location is a list of patterns.
    pub(crate) fn groups(&self) -> Option<&[SiteGroup]> {
        match &self.what {
            FoundAt::Functions(groups) => Some(groups),
            _ => None,
        }
    }

    /// Returns the offset of the address in its function.
    fn offset(&self) -> Option<usize> {
        let live = self.live()?;
        usize::try_from(self.address.wrapping_sub(live.address)).ok()
    }

    /// Calls `look` with the judgement of the location; returns `None` without memory.
    fn judge<R>(&self, look: impl FnOnce(&Judgement<'_>) -> R) -> Option<R> {
        let offset = self.offset()?;
        let judgement = |placement: &Placement<'_>| Some(look(&placement.judge(offset).ok()?));
        self.live()?.judged(judgement).ok()?
    }

    /// Returns the refusal for the kernel's `error` at this location, with the caret at column
    /// `at`.
    pub(crate) fn explain(&self, error: Error, at: usize) -> Refusal {
        let errno = errno(error);
        let plain = || Refusal::registration(errno, at);
        if let FoundAt::Data(_) = self.what {
            return watched::refused(errno, at);
        }
        let is_text = matches!(self.what, FoundAt::Text(_));
        if errno == Errno::ENOMEM || !is_text {
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

/// Returns the refusal of a location that the kernel would accept; `None` for locations that the
/// kernel judges itself.
fn our_refusal(judgement: &Judgement<'_>, at: usize) -> Option<Refusal> {
    let Verdict::Refused {
        by: Refuser::Us,
        why,
    } = &judgement.verdict
    else {
        return None;
    };
    let kind = match why {
        // The kernel can see what is hidden from ferroprobe.
        Why::Hidden { .. } => return None,
        Why::Inside(_) => Kind::BadInsnBndry,
        _ => Kind::BadPlace,
    };
    Some(Refusal::new(kind, at).with_detail(format_args!("{judgement}")))
}

/// A reason of the kernel to refuse a location that was judged probeable.
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
        let role = tables::role_of(self.address).or_else(|| {
            (kprobe::is_blacklisted(self.address) == Some(true)).then_some(SpecialRole::Blacklisted)
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

/// Returns the refusal, with the caret at column `at`, of the function at `address`, whose entry
/// ftrace does not report.
#[cold]
#[inline(never)]
pub(crate) fn unreported(address: u64, at: usize) -> Refusal {
    let refusal = Refusal::new(Kind::BadProbeAddr, at);
    match Symbol::at(address) {
        Some(symbol) => {
            let name = Plain(symbol.name());
            refusal.with_detail(format_args!("ftrace does not report {name}: use p"))
        }
        None => refusal,
    }
}

/// Returns the refusal of `address` if it is data. An address without a symbol is left to
/// the kernel, which refuses it.
#[cold]
#[inline(never)]
fn not_text(address: u64, at: usize) -> Option<Refusal> {
    let symbol = Symbol::at(address)?;
    let refusal = Refusal::registration(Errno::EINVAL, at);
    Some(refusal.with_detail(format_args!(
        "{}+{:#x} cannot be probed: it is not in the text of the kernel ({})",
        Plain(symbol.name()),
        symbol.offset,
        Refuser::Kernel
    )))
}

/// Returns the refusal of `address`, which is in the function `live` and not in the one
/// that `definition` names.
#[cold]
#[inline(never)]
fn outside(definition: &Definition, live: &Live, address: u64) -> Refusal {
    let refusal = Refusal::new(Kind::BadPlace, definition.place_at);
    let Place::Symbol { name, offset, .. } = &definition.place else {
        return refusal;
    };
    let there = address.wrapping_sub(live.address);
    refusal.with_detail(format_args!(
        "{}+{offset:#x} lies outside the function: there is {}+{there:#x}",
        Plain(name),
        Plain(live.symbol.name()),
    ))
}
