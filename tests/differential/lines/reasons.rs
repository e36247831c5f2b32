// SPDX-License-Identifier: GPL-2.0

//! Why the two differ at a line: rules, each of which is checked with the debug information and the
//! code before it is named. What no rule explains has no reason.
//!
//! What perf does is in `tools/perf/util/probe-finder.c` and `dwarf-aux.c` of Linux. Of each unit that
//! defines the function it takes all statements of the line, in whatever function they are; the
//! entries of functions that are defined on the line; and the beginnings of inlined functions that are
//! called on it. If the first line of such an address is another one of the file, it refuses the line; the
//! first line of a function's entry is the one that it is defined on.

use crate::computed;
use crate::perf::SILENT;
use crate::reverse::Reverse;
use crate::tally::{OUTSIDE, VIEWS};
use crate::Ours;
use ferroprobe_tools::error::Result;
use ferroprobe_tools::index::Site;
use ferroprobe_tools::lines::find::{self, Function, Instance};
use ferroprobe_tools::lines::table::Row;
use ferroprobe_tools::scope::{Line, Scope, Scopes};
use ferroprobe_tools::session::{Session, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A line of a function.
pub struct Facts<'a, 's> {
    session: &'a Session<'s>,
    function: Function<'s>,
    /// Counted from the first of the file.
    line: u32,
    /// The units with code of the function.
    units: BTreeMap<u32, Rc<Source<'s>>>,
}

impl<'a, 's> Facts<'a, 's> {
    /// Of `target`, which is `FUNCTION:LINE`.
    pub fn new(session: &'a Session<'s>, target: &str) -> Result<Self> {
        let (name, offset) = target.split_once(':').unwrap_or((target, "0"));
        let function = find::function(session, name, None)?;
        let units = function.instances.iter();
        let units = units.map(|instance| (instance.source.number, instance.source.clone()));
        Ok(Self {
            session,
            line: function.line.saturating_add(offset.parse().unwrap_or(0)),
            units: units.collect(),
            function,
        })
    }

    /// The statements of the line in a unit.
    fn rows_of<'b>(&self, source: &'b Source<'s>) -> Vec<&'b Row> {
        let rows = source.table.rows.iter();
        rows.filter(|row| {
            let line = Line {
                file: row.file,
                line: row.line,
            };
            row.is_statement && row.line == self.line && self.is_own_file(source, line)
        })
        .collect()
    }

    /// The scopes of the function whose code is at `address`.
    fn scopes_at(&self, address: u64) -> Option<Rc<Scopes<'s>>> {
        let symbols = self.session.image.symbols();
        let behind = symbols.partition_point(|symbol| symbol.address <= address);
        let before = symbols.get(..behind)?.iter().rev();
        let symbol = before.into_iter().find(|symbol| symbol.is_code)?;
        // GCC names the parts of a function after it.
        let name = symbol.name.split('.').next()?;
        let sites = self.session.index.function(name).into_iter();
        let mut scopes = sites.filter_map(|site| self.session.scopes(site).ok());
        scopes.find(|scopes| {
            let function = scopes.all.first();
            function.is_some_and(|function| function.contains(address))
        })
    }

    /// Whether an inlined function that is called on the line begins at `address`.
    fn calls_inlined(&self, address: u64) -> bool {
        let is_called = |scope: &Scope<'_>| {
            scope.start.is_some_and(|(start, _)| start == address)
                && scope.called.is_some_and(|called| called.line == self.line)
        };
        self.scopes_at(address)
            .is_some_and(|scopes| scopes.all.iter().any(is_called))
    }

    /// Whether code of the function is at `address`.
    fn has_code_at(&self, address: u64) -> bool {
        let mut instances = self.function.instances.iter();
        instances.any(|instance| {
            let scope = instance.scopes.all.get(instance.scope);
            scope.is_some_and(|scope| scope.contains(address))
        })
    }

    /// Whether the line is here the one of another function, which the same macro defines and which
    /// is inlined at `address`.
    fn is_of_twin(&self, address: u64) -> bool {
        let Some(scopes) = self.scopes_at(address) else {
            return false;
        };
        let inlined = scopes.functions_at(address).into_iter();
        let mut inlined = inlined.filter_map(|at| scopes.all.get(at));
        inlined.any(|scope| {
            let is_twin = scope.called.is_some()
                && scope.called == scope.declared
                && scope.name != Some(self.function.name.as_str());
            let twin = scope.name.filter(|_| is_twin);
            let twin = twin.and_then(|name| find::function(self.session, name, None).ok());
            let lines = twin.and_then(|twin| find::by_line(self.session, &twin).ok());
            let locations = lines.as_ref().and_then(|lines| lines.get(&self.line));
            locations.is_some_and(|locations| {
                let mut locations = locations.iter();
                locations.any(|location| location.moment.0 == address)
            })
        })
    }

    /// Why perf alone has an address.
    pub fn of_perf_alone(&self, address: u64) -> Option<&'static str> {
        if self.is_of_twin(address) {
            return Some("a macro defines both the function and the one that is inlined in it, whose line it is");
        }
        if self.has_line_at(address) && !self.has_code_at(address) {
            return Some("the line of an inlined function of which no code is left: by the scopes it is another function's");
        }
        self.calls_inlined(address)
            .then_some("the line begins before, and calls a function that is inlined here")
    }

    /// Why this crate alone has an address.
    pub fn of_ours_alone(&self, address: u64) -> Option<&'static str> {
        let mut instances = self.function.instances.iter();
        instances
            .any(|instance| begins_in_macro(instance) == Some(address))
            .then_some(MACRO)
    }

    /// Where `name` and `offset` are in a function that the debug information calls so, but no symbol,
    /// if the line is there: the function was weak, and another one has replaced it.
    pub fn in_replaced(&self, name: &str, offset: u64) -> Option<u64> {
        let sites = self.session.index.function(name).into_iter();
        let mut scopes = sites.filter_map(|site| self.session.scopes(site).ok());
        scopes.find_map(|scopes| {
            let function = scopes
                .all
                .first()
                .filter(|scope| scope.name == Some(name))?;
            let address = function.start?.0.checked_add(offset)?;
            (function.contains(address) && self.has_code_at(address)).then_some(address)
        })
    }

    /// Why perf refuses the line, having said `reason`; this crate has `ours`.
    pub fn of_refusal(
        &self,
        reason: &str,
        variable: Option<&str>,
        ours: &Ours,
    ) -> Option<&'static str> {
        if reason.contains("sharing the address") {
            return self.of_shared();
        }
        if reason.starts_with("signal") {
            return Some("it crashes");
        }
        if reason.contains("Too many") {
            return (ours.len() > MOST_PROBES).then_some("it takes at most 128 probes");
        }
        if reason.contains("Failed to find scope") {
            let is_in_none = |source: &Rc<Source<'s>>| {
                let functions = self.functions(source);
                let in_one = |row: &Row| {
                    let mut functions = functions.iter().filter_map(|scopes| scopes.all.first());
                    functions.any(|function| function.contains(row.address))
                };
                self.rows_of(source).into_iter().any(|row| !in_one(row))
            };
            return self
                .units
                .values()
                .any(is_in_none)
                .then_some("the line has a statement behind the end of all functions");
        }
        if reason.contains("not found") || reason == SILENT {
            let mut instances = self.function.instances.iter();
            return instances
                .all(|instance| begins_in_macro(instance).is_some())
                .then_some(MACRO);
        }
        if reason.contains("Failed to find") || reason.contains("--range") {
            let mut had = ours.iter().filter(|(_, own)| own.place.is_ok());
            let is_outside = |address: &u64| self.begins_outside(*address);
            return match had.clone().all(|(address, _)| is_outside(address)) {
                true => Some(OUTSIDE),
                false => had
                    .all(|(address, own)| is_outside(address) || matches!(own.last, Some(Err(_))))
                    .then_some(VIEWS),
            };
        }
        if reason.contains("don't support") {
            return variable.filter(|name| self.is_computed(name)).map(|_| {
                "at one location of the line the variable is neither in a register nor in memory"
            });
        }
        None
    }

    /// Why perf has another place for the variable `name` at `address`.
    pub fn of_place(
        &self,
        name: &str,
        address: u64,
        own: &str,
        perf: &str,
    ) -> Option<&'static str> {
        let mut units = self.units.values();
        units.find_map(|source| {
            let functions = self.functions(source);
            let scopes = functions.iter().find(|scopes| {
                let function = scopes.all.first();
                function.is_some_and(|function| function.contains(address))
            })?;
            let function = self.function.name.as_str();
            let scope = computed::scope_of(scopes, function, address);
            if computed::is_of_other_part(self.session, source, scopes, (function, address), name) {
                return Some(OTHER_PART);
            }
            let is_cut = computed::is_cut(self.session, source, scopes, (scope, address), name);
            (is_cut && is_inside(own, perf)).then_some(CUT)
        })
    }

    /// Whether an operation that perf does not know says where a variable is at an address that it takes.
    fn is_computed(&self, name: &str) -> bool {
        // At the entries of a function perf looks into the entry itself, wherever its code is.
        let mut instances = self.function.instances.iter();
        let is_entry = self.line == self.function.line;
        if is_entry {
            return instances.any(|instance| {
                let scope = instance.scopes.all.get(instance.scope);
                let start = scope.and_then(|scope| scope.start);
                start.is_some_and(|(start, _)| {
                    let place = (instance.scope, start);
                    computed::is_computed(
                        self.session,
                        &instance.source,
                        &instance.scopes,
                        place,
                        name,
                    )
                })
            });
        }
        let mut units = self.units.values();
        units.any(|source| {
            let functions = self.functions(source);
            let addresses = self.addresses(source, &functions);
            addresses.into_iter().any(|address| {
                let scopes = functions.iter().find(|scopes| {
                    let function = scopes.all.first();
                    function.is_some_and(|function| function.contains(address))
                });
                scopes.is_some_and(|scopes| {
                    let scope = computed::scope_of(scopes, &self.function.name, address);
                    computed::is_computed(self.session, source, scopes, (scope, address), name)
                })
            })
        })
    }

    /// Whether an instance of the function begins at `address`, and has no code there.
    pub fn begins_outside(&self, address: u64) -> bool {
        let mut instances = self.function.instances.iter();
        instances.any(|instance| {
            let scope = instance.scopes.all.get(instance.scope);
            scope.is_some_and(|scope| {
                scope.start.is_some_and(|(start, _)| start == address) && !scope.contains(address)
            })
        })
    }

    /// Whether a statement of the line is at `address`.
    pub fn has_line_at(&self, address: u64) -> bool {
        let mut units = self.units.values();
        units.any(|source| {
            self.rows_of(source)
                .iter()
                .any(|row| row.address == address)
        })
    }

    /// The addresses that perf takes for the line in a unit, other than entries of functions.
    fn addresses(&self, source: &Source<'s>, functions: &[Rc<Scopes<'s>>]) -> BTreeSet<u64> {
        let called = functions.iter().flat_map(|scopes| &scopes.all);
        let called = called.filter(|scope| {
            scope
                .called
                .is_some_and(|called| called.line == self.line && self.is_own_file(source, called))
        });
        let called = called.filter_map(|scope| Some(scope.start?.0));
        let rows = self.rows_of(source).into_iter().map(|row| row.address);
        rows.chain(called).collect()
    }

    /// Why perf takes another line of the file for the one of an address of the line.
    fn of_shared(&self) -> Option<&'static str> {
        let mut is_unset = false;
        for source in self.units.values() {
            let functions = self.functions(source);
            let reverse = Reverse::new(source, &functions).ok()?;
            for address in self.addresses(source, &functions) {
                match reverse.line(address) {
                    Some(line) if line.line != self.line && self.is_own_file(source, line) => {
                        return Some("another line of the file begins at an address of it, too");
                    }
                    Some(_) => {}
                    None => is_unset = true,
                }
            }
        }
        is_unset.then_some(UNSET)
    }

    fn is_own_file(&self, source: &Source<'s>, line: Line) -> bool {
        source.table.path(line.file) == Some(&self.function.path)
    }

    /// The scopes of all functions of a unit.
    fn functions(&self, source: &Rc<Source<'s>>) -> Vec<Rc<Scopes<'s>>> {
        let mut found = Vec::new();
        let Ok(mut tree) = source.unit.entries_tree(None) else {
            return found;
        };
        let Ok(root) = tree.root() else {
            return found;
        };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            let offset = u32::try_from(entry.offset().0);
            if let (gimli::DW_TAG_subprogram, Ok(entry)) = (entry.tag(), offset) {
                let site = Site {
                    unit: source.number,
                    entry,
                };
                found.extend(self.session.scopes(site));
            }
        }
        found
    }
}

/// Why perf has or refuses a line by chance.
pub const UNSET: &str =
    "no statement begins at an address of it, and perf compares it with a number that it has not set";

/// Why perf does not know where a function is inlined.
pub const MACRO: &str = "a macro defines both the function and the one that it is inlined in";

/// Where it begins, if it is inlined where it is called on the very line that it is defined on: perf
/// ignores these.
fn begins_in_macro(instance: &Instance<'_>) -> Option<u64> {
    let scope = instance.scopes.all.get(instance.scope)?;
    let is_same = scope.called.is_some() && scope.called == scope.declared;
    Some(scope.start.filter(|_| is_same)?.0)
}

/// Why perf has the variable of another scope.
const OTHER_PART: &str =
    "a part of the function is inlined into the other, and perf takes the other's variable";

/// Why perf makes one step of several.
const CUT: &str = "perf reads the first of several operations that say where the variable is";

/// Whether what perf fetches is the inner part of `own`: `+40(%x0)` of `+920(+40(%x0))`.
fn is_inside(own: &str, perf: &str) -> bool {
    let place = |fetched: &str| fetched.rsplit_once(':').map(|(place, _)| place.to_string());
    let (own, perf) = (place(own), place(perf));
    perf.zip(own)
        .is_some_and(|(perf, own)| own.contains(&format!("({perf})")))
}

/// Probes of an event that perf takes.
const MOST_PROBES: usize = 128;
