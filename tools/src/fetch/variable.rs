// SPDX-License-Identifier: GPL-2.0

//! Finds a variable of a function at a location, and what fetches it.

use super::access::{self, Object};
use super::expression::Expression;
use super::locate::place;
use super::render::{Fetch, Names};
use crate::debug::{attribute, inherited, origin, reference, unsigned, Debug, Unit};
use crate::error::{Refusal, Result};
use crate::lines::find::Location;
use crate::refuse;
use crate::scope::Line;
use crate::session::Session;
use crate::types::{self, Kind, Type};
use gimli::{constants as dw, UnitOffset};

/// A variable or parameter of a function.
#[derive(Debug, Clone)]
pub struct Variable<'s> {
    /// Its name.
    pub name: &'s str,
    /// Its entry.
    pub entry: UnitOffset,
    /// The scope that it is in; the function's if only the abstract entry has it.
    pub scope: usize,
    /// Whether it is a parameter.
    pub is_parameter: bool,
    /// Whether the code at hand has it; otherwise only the source does.
    pub is_concrete: bool,
    /// Where it is declared.
    pub declared: Option<Line>,
    /// The abstract entry that it is an instance of.
    origin: Option<UnitOffset>,
    /// The abstract entry of its block.
    block: Option<UnitOffset>,
}

/// The variables that a function's text has at a location, the innermost first.
pub fn visible<'s>(session: &Session<'s>, location: &Location<'s>) -> Result<Vec<Variable<'s>>> {
    let Some(function) = location.owner else {
        refuse!("the compiler left no scope for this line, so its variables are not known");
    };
    let mut found = all(session, location, function)?;
    let scopes = &location.scopes;
    let concrete = |variable: &Variable<'_>| {
        let scope = scopes.all.get(variable.scope);
        !variable.is_concrete
            || variable.scope == function
            || scope.is_some_and(|scope| scope.contains(location.moment.0))
    };
    found.retain(|variable| concrete(variable) && !is_later(variable, location));
    // Inner scopes are behind outer ones.
    found.sort_by_key(|variable| std::cmp::Reverse((variable.is_concrete, variable.scope)));
    Ok(found)
}

/// Whether it is declared behind the line, so that the line means another one.
fn is_later(variable: &Variable<'_>, location: &Location<'_>) -> bool {
    match (variable.declared, location.line) {
        (Some(declared), Some(line)) => declared.file == line.file && declared.line > line.line,
        _ => false,
    }
}

/// All variables of a function: of its code, and those of its text that the code lost.
fn all<'s>(
    session: &Session<'s>,
    location: &Location<'s>,
    function: usize,
) -> Result<Vec<Variable<'s>>> {
    let (debug, unit) = (session.debug, &location.source.unit);
    let scopes = &location.scopes;
    let mut found: Vec<Variable<'s>> = Vec::new();
    for at in scopes.own(function) {
        let scope = scopes.get(at)?;
        for entry in &scope.variables {
            found.extend(variable(debug, unit, *entry, at, scope.origin)?);
        }
    }
    if let Some(abstract_entry) = scopes.get(function)?.origin {
        let mut lost = Vec::new();
        let mut tree = unit.entries_tree(Some(abstract_entry))?;
        abstract_variables(debug, unit, tree.root()?, function, &mut lost)?;
        lost.retain(|lost| !found.iter().any(|known| known.origin == Some(lost.entry)));
        found.extend(lost);
    }
    Ok(found)
}

fn variable<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    offset: UnitOffset,
    scope: usize,
    block: Option<UnitOffset>,
) -> Result<Option<Variable<'s>>> {
    let entry = unit.entry(offset)?;
    let Some(name) = debug.name(unit, &entry) else {
        return Ok(None);
    };
    let file = inherited(unit, &entry, dw::DW_AT_decl_file)?.and_then(unsigned);
    let line = inherited(unit, &entry, dw::DW_AT_decl_line)?.and_then(unsigned);
    let line = line.and_then(|line| u32::try_from(line).ok());
    Ok(Some(Variable {
        name,
        entry: offset,
        scope,
        is_parameter: entry.tag() == dw::DW_TAG_formal_parameter,
        is_concrete: true,
        declared: file.zip(line).map(|(file, line)| Line { file, line }),
        origin: origin(unit, &entry)?,
        block,
    }))
}

fn abstract_variables<'s>(
    debug: &Debug<'s>,
    unit: &Unit<'s>,
    node: gimli::EntriesTreeNode<'_, '_, '_, crate::debug::Slice<'s>>,
    function: usize,
    found: &mut Vec<Variable<'s>>,
) -> Result<()> {
    let block = node.entry().offset();
    let mut children = node.children();
    while let Some(child) = children.next()? {
        match child.entry().tag() {
            dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => {
                let offset = child.entry().offset();
                let read = variable(debug, unit, offset, function, Some(block))?;
                found.extend(read.map(|variable| Variable {
                    is_concrete: false,
                    ..variable
                }));
            }
            dw::DW_TAG_lexical_block => abstract_variables(debug, unit, child, function, found)?,
            _ => {}
        }
    }
    Ok(())
}

/// The variable that the line means by `name`.
pub fn named<'s>(
    session: &Session<'s>,
    location: &Location<'s>,
    name: &str,
) -> Result<Variable<'s>> {
    let visible = visible(session, location)?;
    let mut named = visible.iter().filter(|variable| variable.name == name);
    let Some(first) = named.next() else {
        let of_file = of_file(session.debug, &location.source.unit, name)?;
        return of_file.ok_or_else(|| unknown(session, location, name, &visible));
    };
    // Of an inner block the code may have nothing left but the variable's declaration.
    let hidden = named.any(|other| {
        first.is_concrete
            && !other.is_concrete
            && other.block != first.block
            && other.declared > first.declared
    });
    if hidden {
        refuse!("several variables are called {name} here, and the compiler left no trace of which one the line means");
    }
    Ok(first.clone())
}

/// The variable `name` that the source file has outside of functions.
fn of_file<'s>(debug: &Debug<'s>, unit: &Unit<'s>, name: &str) -> Result<Option<Variable<'s>>> {
    let mut declared = None;
    let mut tree = unit.entries_tree(None)?;
    let mut children = tree.root()?.children();
    while let Some(child) = children.next()? {
        let entry = child.entry();
        if entry.tag() != dw::DW_TAG_variable || debug.name(unit, entry) != Some(name) {
            continue;
        }
        let found = variable(debug, unit, entry.offset(), 0, None)?;
        if attribute(entry, dw::DW_AT_location)?.is_some() {
            return Ok(found);
        }
        declared = found;
    }
    match declared {
        Some(_) => refuse!("it is defined in another source file: write @{name} in a definition"),
        None => Ok(None),
    }
}

fn unknown<'s>(
    session: &Session<'s>,
    location: &Location<'s>,
    name: &str,
    visible: &[Variable<'s>],
) -> Refusal {
    let function = location.owner;
    let later = function.and_then(|function| all(session, location, function).ok());
    let later = later.is_some_and(|all| all.iter().any(|variable| variable.name == name));
    if later {
        return Refusal::new(format!(
            "{name} is a variable of another block, or is declared below this line"
        ));
    }
    let mut names: Vec<_> = visible.iter().map(|variable| variable.name).collect();
    names.sort_unstable();
    names.dedup();
    Refusal::new(match names.is_empty() {
        true => format!("there is no variable {name}, nor any other, on this line"),
        false => format!(
            "there is no variable {name} on this line: it has {}",
            names.join(", ")
        ),
    })
}

/// The type of a variable.
pub fn kind<'s>(debug: &Debug<'s>, unit: &Unit<'s>, variable: &Variable<'_>) -> Result<Type> {
    let mut entry = unit.entry(variable.entry)?;
    // A chain that is longer is damaged.
    for _ in 0..8 {
        if let Some(kind) = reference(unit, &entry, dw::DW_AT_type)? {
            return types::read(debug, unit, kind);
        }
        match origin(unit, &entry)? {
            Some(next) => entry = unit.entry(next)?,
            None => break,
        }
    }
    refuse!("it has no type");
}

/// What fetches `expression` at a location.
pub fn fetch<'s>(
    session: &Session<'s>,
    names: &Names<'_, '_>,
    location: &Location<'s>,
    expression: &Expression,
) -> Result<Fetch> {
    let (debug, unit) = (session.debug, &location.source.unit);
    let work = || {
        let variable = named(session, location, &expression.variable)?;
        let place = place(session, location, &variable)?;
        let kind = kind(debug, unit, &variable)?;
        let object = Object {
            place,
            start: 0,
            bits: None,
            whole: kind.size.saturating_mul(8),
            kind,
            user: false,
            at_entry: location.is_entry(),
        };
        let object = access::walk(debug, unit, object, &expression.steps, expression.user)?;
        let object = access::only_member(debug, unit, object)?;
        let is_truth = matches!(object.kind.kind, Kind::Integer { truth: true, .. });
        let wanted = match expression.kind.as_deref() {
            // GCC keeps a truth value in a register whose other bits are anything.
            None if is_truth && object.kind.size == 1 && expression.steps.is_empty() => {
                Some("b1@0/8")
            }
            wanted => wanted,
        };
        if matches!(wanted, Some("string" | "ustring")) {
            check_text(debug, unit, &object.kind)?;
        }
        names.fetch(&object, wanted)
    };
    work().map_err(|refusal: Refusal| refusal.about(&expression.variable))
}

/// Refuses text that is not made of characters.
fn check_text<'s>(debug: &Debug<'s>, unit: &Unit<'s>, kind: &Type) -> Result<()> {
    let element = match &kind.kind {
        Kind::Pointer(None) => return Ok(()),
        Kind::Pointer(Some(target)) => *target,
        Kind::Array { element, counts } if counts.len() == 1 => *element,
        _ => {
            refuse!("it is neither a pointer to characters nor an array of them, so it is no text")
        }
    };
    match types::read(debug, unit, element) {
        Ok(Type {
            kind: Kind::Integer { .. },
            size: 1,
            ..
        }) => Ok(()),
        Ok(_) => refuse!("it is not made of characters, so it is no text"),
        // A pointer to const void.
        Err(_) if matches!(kind.kind, Kind::Pointer(_)) => Ok(()),
        Err(refusal) => Err(refusal),
    }
}
