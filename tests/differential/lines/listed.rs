// SPDX-License-Identifier: GPL-2.0

//! Compares which lines of functions both say can be probed: `ferroprobe lines` and `perf probe -L`.

use crate::draw::Spot;
use crate::listing::Listing;
use crate::reasons::{Facts, MACRO};
use crate::tally::Tally;
use ferroprobe_tools::error::Result;
use ferroprobe_tools::lines::find::{self, Function, Location};
use ferroprobe_tools::lines::list::{self, Lines};
use ferroprobe_tools::session::Session;
use std::collections::{BTreeMap, BTreeSet};

/// What perf has: lines counted from the one on which the function is defined, or why not.
pub type Listed = std::result::Result<BTreeSet<u32>, String>;

/// Compares a function.
pub fn compare(session: &Session<'_>, tally: &mut Tally, spot: &Spot, perf: &Listed) -> Result<()> {
    let function = find::function(session, &spot.line, None)?;
    let sides = Sides {
        session,
        listing: Listing::new(session, &function)?,
        locations: find::by_line(session, &function)?,
        ours: list::of_function(session, &function)?,
        function: &function,
    };
    let offset = |line: &u32| line.checked_sub(function.line);
    let ours: BTreeSet<u32> = sides.ours.keys().filter_map(offset).collect();
    let perf = match perf {
        Ok(perf) => perf,
        Err(reason) if ours.is_empty() => {
            tally.both_refuse(&spot.line, reason);
            return Ok(());
        }
        Err(reason) => {
            tally.perf_refuses(&spot.line, reason, sides.of_refusal(reason));
            return Ok(());
        }
    };
    let differ: Vec<u32> = ours.symmetric_difference(perf).copied().collect();
    if differ.is_empty() {
        tally.equal(&spot.line);
    }
    for offset in differ {
        let what = format!("{}:{offset}", spot.line);
        let line = function.line.saturating_add(offset);
        match ours.contains(&offset) {
            true => tally.only_ours(&what, sides.of_ours_alone(line)),
            false => tally.only_perf(&what, sides.of_perf_alone(line)?.as_deref()),
        }
    }
    Ok(())
}

/// What there is about a function.
struct Sides<'a, 's> {
    session: &'a Session<'s>,
    function: &'a Function<'s>,
    /// What perf does, as its source says.
    listing: Listing,
    /// All locations of this crate, with those that it refuses.
    locations: BTreeMap<u32, Vec<Location<'s>>>,
    ours: Lines,
}

impl Sides<'_, '_> {
    /// Why perf does not have a line: why it has none of its addresses.
    fn of_ours_alone(&self, line: u32) -> Option<&'static str> {
        let locations = self.locations.get(&line)?.iter();
        let taken = self.ours.get(&line)?;
        let locations = locations.filter(|location| taken.contains(&location.moment.0));
        let why = |location: &Location<'_>| {
            let (unit, address) = (location.source.number, location.moment.0);
            let mut instances = self.function.instances.iter();
            let is_macro = instances.any(|instance| {
                let scope = instance.scopes.all.get(instance.scope);
                let is_same = scope
                    .is_some_and(|scope| scope.called.is_some() && scope.called == scope.declared);
                is_same && scope.is_some_and(|scope| scope.contains(address))
            });
            match is_macro {
                true => Some(MACRO),
                false => self.listing.why_not(line, unit, address),
            }
        };
        let reasons: Option<BTreeSet<_>> = locations.map(why).collect();
        reasons?.into_iter().next()
    }

    /// Why this crate does not have a line: why it has none of the addresses that perf takes.
    fn of_perf_alone(&self, line: u32) -> Result<Option<String>> {
        let Some(addresses) = self.listing.lines.get(&line) else {
            return Ok(None);
        };
        let offset = line.saturating_sub(self.function.line);
        let facts = Facts::new(self.session, &format!("{}:{offset}", self.function.name))?;
        let own = self.locations.get(&line).map_or(&[][..], Vec::as_slice);
        let why = |address: &u64| {
            let own = own.iter().find(|location| location.moment.0 == *address);
            let Some(own) = own else {
                if self.is_of_other_text(line) {
                    return Some("the line is in the text of another function");
                }
                if line == self.function.line && !self.is_entry(*address) {
                    return Some(
                        "the line on which a function is defined is its entry here, and no more",
                    );
                }
                return facts.of_perf_alone(*address);
            };
            if own.shared_with.is_some() {
                return Some("jumps lead to its address without the line");
            }
            if own.guarded_by.is_some() {
                return Some("the branch of the line is behind its address");
            }
            let judged = self.session.boundaries().judge(*address);
            judged.is_err().then_some("no probe can be here")
        };
        let reasons: Option<BTreeSet<_>> = addresses.iter().map(why).collect();
        let reasons: Vec<_> = reasons.unwrap_or_default().into_iter().collect();
        Ok((!reasons.is_empty()).then(|| reasons.join("; ")))
    }

    /// Whether the function begins at an address.
    fn is_entry(&self, address: u64) -> bool {
        let mut instances = self.function.instances.iter();
        instances.any(|instance| {
            let scope = instance.scopes.all.get(instance.scope);
            let start = scope.and_then(|scope| scope.start);
            start.is_some_and(|(start, _)| start == address)
        })
    }

    /// Whether another function is defined between the beginning of the function and the line.
    fn is_of_other_text(&self, line: u32) -> bool {
        let declarations = self.session.declarations(&self.function.path);
        let mut declarations = declarations.iter();
        declarations.any(|start| (self.function.line + 1..=line).contains(start))
    }

    /// Why perf lists nothing.
    fn of_refusal(&self, reason: &str) -> Option<&'static str> {
        if reason.starts_with("signal") {
            return Some("it crashes");
        }
        // perf retries with the name of a symbol, which it cannot do for a file, and fails.
        let is_not_found = reason.contains("not found") || reason.contains("analysis failed");
        if !is_not_found || !self.listing.lines.is_empty() {
            return None;
        }
        self.listing.refuses()
    }
}
