// SPDX-License-Identifier: GPL-2.0

//! Where perf finds a variable: `find_variable` and `convert_variable_location` in
//! `tools/perf/util/probe-finder.c` of Linux.
//!
//! In the function whose line it is or, if the scopes say that the address is not its code, in the one that is
//! not inlined there, it takes the first variable of the name whose block has the address, and of its
//! locations the first that holds there, by the address alone. A parameter that is nowhere at the
//! entry of the function is looked for behind it. Of a location it knows a few operations.

use ferroprobe_tools::debug::{attribute, Slice};
use ferroprobe_tools::place::loclist::{Location, Span};
use ferroprobe_tools::scope::{Kind, Scope, Scopes};
use ferroprobe_tools::session::{Session, Source};
use gimli::{DwOp, Expression, UnitOffset};

/// Whether perf does not know the operation that says where the variable `name` of a scope is at an
/// address.
pub fn is_computed<'s>(
    session: &Session<'s>,
    source: &Source<'s>,
    scopes: &Scopes<'s>,
    place: (usize, u64),
    name: &str,
) -> bool {
    let operation = expression(session, source, scopes, place, name)
        .and_then(|expression| expression.0.first().copied());
    operation.is_some_and(|operation| !is_known(operation))
}

/// Whether several operations say where the variable `name` of a scope is at an address, of which perf
/// knows the first: it reads no others.
pub fn is_cut<'s>(
    session: &Session<'s>,
    source: &Source<'s>,
    scopes: &Scopes<'s>,
    place: (usize, u64),
    name: &str,
) -> bool {
    let Some(expression) = expression(session, source, scopes, place, name) else {
        return false;
    };
    let first = expression.0.first().copied();
    let mut operations = expression.operations(source.unit.encoding());
    let mut count = 0;
    while let Ok(Some(_)) = operations.next() {
        count += 1;
    }
    count > 1 && first.is_some_and(is_known)
}

/// Whether perf takes for the variable `name` the one of another part of `function`: GCC inlines a part of
/// a function into the other, and both have the name.
pub fn is_of_other_part<'s>(
    session: &Session<'s>,
    source: &Source<'s>,
    scopes: &Scopes<'s>,
    (function, address): (&str, u64),
    name: &str,
) -> bool {
    let mut functions = scopes.functions_at(address).into_iter();
    let inner = functions.find(|at| {
        let scope = scopes.all.get(*at);
        scope.is_some_and(|scope| scope.name == Some(function))
    });
    let of = |scope| variable(session, source, scopes, (scope, address), name);
    let outer = of(scope_of(scopes, function, address));
    let inner = inner.and_then(of);
    inner.is_some() && outer.is_some() && inner != outer
}

/// What says where perf finds the variable `name` of a scope at an address, if it is none that has one
/// value or is another file's.
fn expression<'s>(
    session: &Session<'s>,
    source: &Source<'s>,
    scopes: &Scopes<'s>,
    (scope, address): (usize, u64),
    name: &str,
) -> Option<Expression<Slice<'s>>> {
    let variable = variable(session, source, scopes, (scope, address), name)?;
    let entry = source.unit.entry(variable).ok()?;
    let has = |name| attribute(&entry, name).is_ok_and(|value| value.is_some());
    if has(gimli::DW_AT_external) || has(gimli::DW_AT_const_value) {
        return None;
    }
    match Location::read(session.debug, &source.unit, &entry) {
        Ok(Location::Fixed(expression)) => Some(expression),
        Ok(Location::Listed(spans, _)) => {
            let is_parameter = entry.tag() == gimli::DW_TAG_formal_parameter;
            let behind = is_parameter.then(|| scopes.all.first()).flatten();
            let span = at(&spans, address).or_else(|| first_behind(&spans, behind?, address));
            span.map(|span| span.expression)
        }
        _ => None,
    }
}

/// Where perf looks for variables of a line: the outermost function of the name whose code is at an address, or else the one that is not inlined.
pub fn scope_of(scopes: &Scopes<'_>, function: &str, address: u64) -> usize {
    let chain = scopes.functions_at(address).into_iter().rev();
    chain
        .filter_map(|at| Some((at, scopes.all.get(at)?)))
        .find(|(_, scope)| scope.name == Some(function))
        .map_or(0, |(at, _)| at)
}

/// The entry of the first variable of a name, in a scope and those inside that have the address.
fn variable<'s>(
    session: &Session<'s>,
    source: &Source<'s>,
    scopes: &Scopes<'s>,
    (scope, address): (usize, u64),
    name: &str,
) -> Option<UnitOffset> {
    let is_seen = |at: usize| {
        let mut around = std::iter::successors(Some(at), |at| scopes.all.get(*at)?.parent);
        let inside = around.by_ref().take_while(|at| *at != scope);
        let has_address = inside.into_iter().all(|at| {
            let scope = scopes.all.get(at);
            scope.is_some_and(|scope| scope.contains(address))
        });
        let mut around = std::iter::successors(Some(at), |at| scopes.all.get(*at)?.parent);
        has_address && around.any(|at| at == scope)
    };
    let seen = (scope..scopes.all.len()).filter(|at| is_seen(*at));
    let variables = seen.filter_map(|at| scopes.all.get(at));
    let mut variables = variables.flat_map(|scope| &scope.variables).copied();
    variables.find(|offset| {
        let Ok(entry) = source.unit.entry(*offset) else {
            return false;
        };
        let has = |name| attribute(&entry, name).is_ok_and(|value| value.is_some());
        let is_somewhere = has(gimli::DW_AT_external)
            || has(gimli::DW_AT_location)
            || has(gimli::DW_AT_const_value);
        is_somewhere && session.debug.name(&source.unit, &entry) == Some(name)
    })
}

/// The first location of a list that holds at an address.
fn at<'a, 's>(spans: &'a [Span<'s>], address: u64) -> Option<&'a Span<'s>> {
    spans
        .iter()
        .find(|span| (span.start.0..span.end.0).contains(&address))
}

/// The location at the first address behind the entry of `function` that has one, if `entry` is that.
fn first_behind<'a, 's>(
    spans: &'a [Span<'s>],
    function: &Scope<'s>,
    entry: u64,
) -> Option<&'a Span<'s>> {
    let is_entry =
        function.kind == Kind::Function && function.start.is_some_and(|(start, _)| start == entry);
    if !is_entry {
        return None;
    }
    let behind = spans.iter().map(|span| span.start.0.max(entry + 1));
    let addresses = behind.filter(|address| function.contains(*address));
    at(spans, addresses.min()?)
}

/// Whether perf knows an operation: an address, registers, and what is relative to one.
fn is_known(operation: u8) -> bool {
    matches!(
        DwOp(operation),
        gimli::DW_OP_addr
            | gimli::DW_OP_regx
            | gimli::DW_OP_bregx
            | gimli::DW_OP_fbreg
            | DwOp(0x50..=0x8f)
    )
}
