// SPDX-License-Identifier: GPL-2.0

//! What `perf probe -L` does for a function, by its source: `line_range_search_cb` in
//! `tools/perf/util/probe-finder.c` and `die_walk_lines` in `dwarf-aux.c` of Linux.
//!
//! It takes the first unit that defines the function, and there the first entry of that name: the code
//! of this entry alone, or if it is abstract that of all its instances in the unit. Of each it lists
//! the entry, the lines that call inlined functions, and lines of the file behind the definition. These
//! have a statement in the code of the instance, outside of functions that are inlined there. A line is
//! left out if another one is the first at its address.

use crate::reasons::UNSET;
use crate::reverse::Reverse;
use ferroprobe_tools::debug::{self, Unit};
use ferroprobe_tools::error::Result;
use ferroprobe_tools::index::Site;
use ferroprobe_tools::lines::find::Function;
use ferroprobe_tools::scope::{Kind, Line, Scope, Scopes};
use ferroprobe_tools::session::{Session, Source};
use gimli::UnitOffset;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What perf lists of a function.
#[derive(Default)]
pub struct Listing {
    /// The unit that it looks at, if one defines the function.
    unit: Option<u32>,
    /// The code that it looks at.
    ranges: Vec<(u64, u64)>,
    /// Lines and their addresses.
    pub lines: BTreeMap<u32, BTreeSet<u64>>,
    /// Lines that are not the first at their addresses.
    later: BTreeMap<u32, BTreeSet<u64>>,
    /// Lines that begin in code of a function that is inlined there, by the address alone.
    inside: BTreeMap<u32, BTreeSet<u64>>,
    /// Lines that perf lists or not by chance.
    unset: BTreeMap<u32, BTreeSet<u64>>,
}

/// An entry of a function at the top of a unit.
struct Definition {
    entry: UnitOffset,
    /// Whether it is code, and not only what instances have in common.
    is_code: bool,
}

impl Listing {
    /// Of `function`.
    pub fn new<'s>(session: &Session<'s>, function: &Function<'s>) -> Result<Self> {
        let mut listing = Self::default();
        for number in session.index.units_of_file(&function.path) {
            let source = session.source(number)?;
            let Some(definition) = definition(session, &source, function)? else {
                continue;
            };
            listing.unit = Some(number);
            let walk = Walk::new(session, &source, function)?;
            for scopes in &walk.functions {
                for (at, scope) in scopes.all.iter().enumerate() {
                    let is_wanted = match definition.is_code {
                        true => scope.entry == definition.entry,
                        false => is_instance(scope, definition.entry),
                    };
                    if is_wanted {
                        walk.instance(scopes, at, &mut listing);
                    }
                }
            }
            break;
        }
        Ok(listing)
    }

    /// Why it has no lines at all.
    pub fn refuses(&self) -> Option<&'static str> {
        match (self.unit, self.ranges.is_empty()) {
            (Some(_), true) => {
                Some("the first unit that defines the function has no code of it that perf takes")
            }
            (Some(_), false) => Some("other lines are the first at all of its addresses"),
            (None, _) => None,
        }
    }

    /// Why a line is not there that this crate has at `address`.
    pub fn why_not(&self, line: u32, unit: u32, address: u64) -> Option<&'static str> {
        let has = |lines: &BTreeMap<u32, BTreeSet<u64>>| {
            let addresses = lines.get(&line);
            addresses.is_some_and(|addresses| addresses.contains(&address))
        };
        if has(&self.unset) {
            return Some(UNSET);
        }
        if has(&self.lines) {
            return None;
        }
        if has(&self.later) {
            return Some("another line is the first at its address");
        }
        if has(&self.inside) {
            return Some("by the address alone it is the code of a function that is inlined there");
        }
        if self.unit != Some(unit) {
            return Some("perf looks at the first unit that defines the function alone");
        }
        let mut ranges = self.ranges.iter();
        let is_seen = ranges.any(|(start, end)| (*start..*end).contains(&address));
        (!is_seen).then_some("perf looks at the first entry of the function alone")
    }
}

/// Whether perf takes a scope for an instance of an abstract entry: not where a macro defines both the
/// function and the one that it is inlined in.
fn is_instance(scope: &Scope<'_>, entry: UnitOffset) -> bool {
    let is_macro = scope.called.is_some() && scope.called == scope.declared;
    scope.origin == Some(entry) && scope.start.is_some() && !is_macro
}

/// The entry of a unit that perf takes for a function.
fn definition<'s>(
    session: &Session<'s>,
    source: &Source<'s>,
    function: &Function<'s>,
) -> Result<Option<Definition>> {
    let unit: &Unit<'s> = &source.unit;
    let mut tree = unit.entries_tree(None)?;
    let mut children = tree.root()?.children();
    while let Some(child) = children.next()? {
        let entry = child.entry();
        if entry.tag() != gimli::DW_TAG_subprogram
            || session.debug.name(unit, entry) != Some(&function.name)
        {
            continue;
        }
        let has = |name| entry.attr(name).is_ok_and(|value| value.is_some());
        let is_code = has(gimli::DW_AT_low_pc) || has(gimli::DW_AT_ranges);
        let is_inline = debug::inherited(unit, entry, gimli::DW_AT_inline)?.is_some();
        let file = debug::inherited(unit, entry, gimli::DW_AT_decl_file)?;
        let file = file.and_then(debug::unsigned);
        let is_here = file.and_then(|file| source.table.path(file)) == Some(&function.path);
        if is_here && !has(gimli::DW_AT_declaration) && (is_code || is_inline) {
            return Ok(Some(Definition {
                entry: entry.offset(),
                is_code,
            }));
        }
    }
    Ok(None)
}

/// A unit that perf walks on.
struct Walk<'a, 's> {
    source: &'a Rc<Source<'s>>,
    function: &'a Function<'s>,
    functions: Vec<Rc<Scopes<'s>>>,
    reverse: Reverse<'a, 's>,
}

impl<'a, 's> Walk<'a, 's> {
    fn new(
        session: &Session<'s>,
        source: &'a Rc<Source<'s>>,
        function: &'a Function<'s>,
    ) -> Result<Self> {
        let mut functions = Vec::new();
        let mut tree = source.unit.entries_tree(None)?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            let offset = u32::try_from(entry.offset().0);
            if let (gimli::DW_TAG_subprogram, Ok(entry)) = (entry.tag(), offset) {
                let unit = source.number;
                functions.push(session.scopes(Site { unit, entry })?);
            }
        }
        Ok(Self {
            source,
            function,
            reverse: Reverse::new(source, &functions)?,
            functions,
        })
    }

    /// Walks on the lines of an instance.
    fn instance(&self, scopes: &Scopes<'s>, at: usize, listing: &mut Listing) {
        let Some(instance) = scopes.all.get(at) else {
            return;
        };
        listing.ranges.extend(&instance.ranges);
        for row in self.source.table.rows.iter().filter(|row| row.is_statement) {
            let line = Line {
                file: row.file,
                line: row.line,
            };
            let is_own = || match inner(scopes, at, row.address) {
                None => true,
                Some(inner) => {
                    let called = inner.called.filter(|called| called.line == row.line);
                    called.is_some_and(|called| self.is_own_file(called))
                        || inner.declared == instance.declared
                }
            };
            if !instance.contains(row.address) {
                continue;
            }
            if is_own() {
                self.found(line, row.address, listing);
            } else if self.is_own_file(line) {
                let inside = listing.inside.entry(row.line).or_default();
                inside.insert(row.address);
            }
        }
        if let Some((line, (address, _))) = instance.declared.zip(instance.start) {
            self.found(line, address, listing);
        }
        for inlined in scopes.all.iter().filter(|scope| {
            scope.kind == Kind::Inlined && scope.parent.map(|at| scopes.function_of(at)) == Some(at)
        }) {
            if let Some((line, (address, _))) = inlined.called.zip(inlined.start) {
                self.found(line, address, listing);
            }
        }
    }

    fn is_own_file(&self, line: Line) -> bool {
        self.source.table.path(line.file) == Some(&self.function.path)
    }

    /// A line of the unit.
    fn found(&self, line: Line, address: u64, listing: &mut Listing) {
        if line.line < self.function.line || !self.is_own_file(line) {
            return;
        }
        let add = |lines: &mut BTreeMap<u32, BTreeSet<u64>>| {
            lines.entry(line.line).or_default().insert(address);
        };
        match self.reverse.line(address) {
            Some(first) if first.line != line.line || !self.is_own_file(first) => {
                add(&mut listing.later);
            }
            Some(_) => add(&mut listing.lines),
            None => {
                add(&mut listing.unset);
                add(&mut listing.lines);
            }
        }
    }
}

/// The innermost function that is inlined in a scope and has code at `address`.
fn inner<'a, 's>(scopes: &'a Scopes<'s>, at: usize, address: u64) -> Option<&'a Scope<'s>> {
    let is_inside = |inner: usize, outer: usize| {
        let parent = |at: usize| scopes.all.get(at).and_then(|scope| scope.parent);
        std::iter::successors(parent(inner), |at| parent(*at)).any(|at| at == outer)
    };
    let (mut found, mut around) = (None, at);
    for (at, scope) in scopes.all.iter().enumerate().skip(at + 1) {
        if scope.kind == Kind::Inlined && scope.contains(address) && is_inside(at, around) {
            found = Some(scope);
            around = at;
        }
    }
    found
}
