// SPDX-License-Identifier: GPL-2.0

//! The scopes of one function's code: itself, blocks, and functions that are inlined into it.

use crate::debug::{attribute, inherited, number, origin, unsigned, Debug, Entry, Unit};
use crate::error::{Refusal, Result};
use gimli::{constants as dw, AttributeValue, DwAt, EntriesTreeNode, UnitOffset};

const DW_AT_GNU_ENTRY_VIEW: DwAt = DwAt(0x2138);

/// What a scope is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The function whose code it is.
    Function,
    /// A function inlined here.
    Inlined,
    /// A block in braces.
    Block,
}

/// A place in a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line {
    /// The file, by its number in the unit.
    pub file: u64,
    /// The line.
    pub line: u32,
}

/// A scope.
#[derive(Debug)]
pub struct Scope<'s> {
    /// What it is.
    pub kind: Kind,
    /// Its entry.
    pub entry: UnitOffset,
    /// The abstract entry that it is an instance of.
    pub origin: Option<UnitOffset>,
    /// The name of a function.
    pub name: Option<&'s str>,
    /// Where a function is defined.
    pub declared: Option<Line>,
    /// Where its code is; a block without code has none.
    pub ranges: Vec<(u64, u64)>,
    /// Where a function begins: the address and its view.
    pub start: Option<(u64, u64)>,
    /// Where an inlined function is called.
    pub called: Option<Line>,
    /// The scope around it.
    pub parent: Option<usize>,
    /// The entries of its parameters and variables.
    pub variables: Vec<UnitOffset>,
    /// How DWARF says where the frame is, of a function.
    pub has_frame_base: bool,
}

impl Scope<'_> {
    /// Whether its code is at `address`.
    pub fn contains(&self, address: u64) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|(start, end)| (*start..*end).contains(&address))
    }

    /// Whether it is a function, its own or inlined.
    pub fn is_function(&self) -> bool {
        self.kind != Kind::Block
    }
}

/// All scopes of a function's code. The first is the function; outer ones are before inner ones.
pub struct Scopes<'s> {
    /// The scopes.
    pub all: Vec<Scope<'s>>,
}

impl<'s> Scopes<'s> {
    /// Reads those of the function at `entry`.
    pub fn read(debug: &Debug<'s>, unit: &Unit<'s>, entry: UnitOffset) -> Result<Self> {
        let mut scopes = Self { all: Vec::new() };
        let mut tree = unit.entries_tree(Some(entry))?;
        let root = tree.root()?;
        scopes.add(debug, unit, root, None)?;
        Ok(scopes)
    }

    fn add(
        &mut self,
        debug: &Debug<'s>,
        unit: &Unit<'s>,
        node: EntriesTreeNode<'_, '_, '_, crate::debug::Slice<'s>>,
        parent: Option<usize>,
    ) -> Result<()> {
        let kind = match node.entry().tag() {
            dw::DW_TAG_subprogram => Kind::Function,
            dw::DW_TAG_inlined_subroutine => Kind::Inlined,
            _ => Kind::Block,
        };
        let scope = read(debug, unit, node.entry(), kind, parent)?;
        let at = self.all.len();
        self.all.push(scope);
        let mut children = node.children();
        while let Some(child) = children.next()? {
            match child.entry().tag() {
                dw::DW_TAG_lexical_block | dw::DW_TAG_inlined_subroutine => {
                    self.add(debug, unit, child, Some(at))?;
                }
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => {
                    let offset = child.entry().offset();
                    if let Some(scope) = self.all.get_mut(at) {
                        scope.variables.push(offset);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The scope `at`.
    pub fn get(&self, at: usize) -> Result<&Scope<'s>> {
        let scope = self.all.get(at);
        scope.ok_or_else(|| Refusal::new("damaged debug information: no such scope"))
    }

    /// The functions whose code is at `address`, the innermost first.
    pub fn functions_at(&self, address: u64) -> Vec<usize> {
        let mut at = self.innermost(address);
        let mut found = Vec::new();
        while let Some(scope) = at.and_then(|at| self.all.get(at).map(|scope| (at, scope))) {
            if scope.1.is_function() {
                found.push(scope.0);
            }
            at = scope.1.parent;
        }
        found
    }

    /// The innermost scope at `address`.
    fn innermost(&self, address: u64) -> Option<usize> {
        // Inner ones are behind outer ones, and siblings do not overlap; but one whose parent
        // does not contain the address is no part of a chain.
        let mut found = None;
        for (at, scope) in self.all.iter().enumerate() {
            if scope.contains(address)
                && scope
                    .parent
                    .is_none_or(|parent| self.leads_to(parent, address))
            {
                found = Some(at);
            }
        }
        found
    }

    fn leads_to(&self, at: usize, address: u64) -> bool {
        let Some(scope) = self.all.get(at) else {
            return false;
        };
        scope.contains(address)
            && scope
                .parent
                .is_none_or(|parent| self.leads_to(parent, address))
    }

    /// The function that the scope `at` belongs to, itself if it is one.
    pub fn function_of(&self, mut at: usize) -> usize {
        while let Some(scope) = self.all.get(at) {
            match scope.parent {
                Some(parent) if !scope.is_function() => at = parent,
                _ => break,
            }
        }
        at
    }

    /// Whether the scope `at` is the rest of a function whose beginning is around it: GCC splits some
    /// functions in two, to inline the first part alone, and then inlines the second one, too. It says
    /// that it is called on the line that the function is defined on. Who comes there has already
    /// entered the function.
    pub fn is_rest(&self, at: usize) -> bool {
        let Some(scope) = self.all.get(at).filter(|scope| scope.called.is_some()) else {
            return false;
        };
        let around = scope.parent.map(|parent| self.function_of(parent));
        let around = around.and_then(|around| self.all.get(around));
        around.is_some_and(|around| {
            scope.origin.is_some()
                && scope.origin == around.origin
                && scope.called == scope.declared
        })
    }

    /// The scope `at` and those around it, outwards.
    pub fn outwards(&self, at: Option<usize>) -> impl Iterator<Item = &Scope<'s>> {
        let scope = move |at: Option<usize>| self.all.get(at?);
        std::iter::successors(scope(at), move |inner| scope(inner.parent))
    }

    /// The scopes of the function `function`, without those of functions inlined into it.
    pub fn own(&self, function: usize) -> impl Iterator<Item = usize> + '_ {
        (function..self.all.len()).filter(move |at| self.function_of(*at) == function)
    }
}

fn read<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    entry: &Entry<'_, '_, 's>,
    kind: Kind,
    parent: Option<usize>,
) -> Result<Scope<'s>> {
    let mut ranges = Vec::new();
    let mut iter = debug.of(unit).die_ranges(unit, entry)?;
    while let Some(range) = iter.next()? {
        if range.begin < range.end {
            ranges.push((range.begin, range.end));
        }
    }
    let mut scope = Scope {
        kind,
        entry: entry.offset(),
        origin: origin(unit, entry)?,
        name: None,
        declared: None,
        ranges,
        start: None,
        called: None,
        parent,
        variables: Vec::new(),
        has_frame_base: attribute(entry, dw::DW_AT_frame_base)?.is_some(),
    };
    if kind != Kind::Block {
        scope.name = debug.name(unit, entry);
        let file = inherited(unit, entry, dw::DW_AT_decl_file)?.and_then(unsigned);
        let line = inherited(unit, entry, dw::DW_AT_decl_line)?.and_then(unsigned);
        scope.declared = line_of(file, line);
        let view = number(entry, DW_AT_GNU_ENTRY_VIEW)?.unwrap_or(0);
        scope.start = start(debug, unit, entry, &scope.ranges)?.map(|address| (address, view));
        let file = number(entry, dw::DW_AT_call_file)?;
        scope.called = line_of(file, number(entry, dw::DW_AT_call_line)?);
    }
    Ok(scope)
}

fn line_of(file: Option<u64>, line: Option<u64>) -> Option<Line> {
    Some(Line {
        file: file?,
        line: u32::try_from(line?).ok()?,
    })
}

/// Where the code of a function is entered.
fn start<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    entry: &Entry<'_, '_, 's>,
    ranges: &[(u64, u64)],
) -> Result<Option<u64>> {
    let first = ranges.first().map(|(start, _)| *start);
    // DWARF 5, 2.18: a constant counts from the lowest address of the entry.
    Ok(match attribute(entry, dw::DW_AT_entry_pc)? {
        Some(AttributeValue::Addr(address)) => Some(address),
        Some(AttributeValue::DebugAddrIndex(index)) => Some(debug.of(unit).address(unit, index)?),
        Some(value) => unsigned(value)
            .zip(first)
            .map(|(offset, first)| first.wrapping_add(offset)),
        None => first,
    })
}
