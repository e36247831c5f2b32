// SPDX-License-Identifier: GPL-2.0

//! What came of the comparison.

use crate::reasons::Facts;
use crate::{Ours, Own};
use std::collections::{BTreeMap, BTreeSet};

/// Counts, each with some examples.
#[derive(Default)]
pub struct Tally {
    rows: BTreeMap<(Row, String), Vec<String>>,
}

/// How the two can stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Equal,
    BothRefuse,
    PerfRefuses,
    OursRefuses,
    OnlyOurs,
    OnlyPerf,
    Unclear,
    Differs,
}

impl Row {
    /// Whether a rule must explain it: what this crate refuses it explains itself.
    fn needs_reason(self) -> bool {
        matches!(
            self,
            Self::PerfRefuses | Self::OnlyOurs | Self::OnlyPerf | Self::Differs
        )
    }

    fn text(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::BothRefuse => "both refuse",
            Self::PerfRefuses => "perf refuses",
            Self::OursRefuses => "ferroprobe refuses",
            Self::OnlyOurs => "more here",
            Self::OnlyPerf => "more by perf",
            Self::Unclear => "perf is unclear",
            Self::Differs => "differ",
        }
    }
}

/// A refusal without its names and numbers, so that equal ones count together.
fn kind_of(refusal: &str) -> String {
    let text = refusal.rsplit(": ").next().unwrap_or(refusal);
    let text = match refusal.find("begins at this address") {
        Some(_) => "another line begins at this address too",
        None => match refusal.find("no probe can be here") {
            Some(_) => "no probe can be here",
            None => text,
        },
    };
    let words = text.split(' ').map(|word| {
        let is_name =
            word.contains(['_', '+', '/', '%']) || word.contains(|c: char| c.is_ascii_digit());
        if is_name {
            "…"
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What perf writes for a variable that is nowhere, if there is another location where it is
/// somewhere.
fn is_mark(fetched: &str) -> bool {
    fetched.starts_with("\\deade12d")
}

/// Why perf is wrong where the debug information computes the value from a register, such as its lower
/// half: it takes that for an address.
const READ_THROUGH: &str = "perf records what is in memory where the value points to";

/// Why perf has another variable, or none.
pub const OUTSIDE: &str =
    "an inlined function begins where it has no code, and perf looks into the one around it";

/// Why perf has another place, or none.
pub const VIEWS: &str = "perf has what holds for a later line of the address";

fn is_read_through(own: &str, perf: &str) -> bool {
    let place = |fetched: &str| fetched.rsplit_once(':').map(|(place, _)| place.to_string());
    let own = place(own).filter(|place| place.starts_with('%'));
    own.is_some_and(|own| place(perf) == Some(format!("+0({own})")))
}

/// What a type is, apart from its name: a pointer or a truth value has other names here.
fn plain(fetched: &str) -> String {
    let (place, kind) = fetched.rsplit_once(':').unwrap_or((fetched, ""));
    let bits = match kind.strip_prefix('b') {
        // The other bits of a truth value are anything.
        Some(field) => field.split('@').next().map(|_| "8"),
        None => kind.get(1..),
    };
    let kind = match kind.chars().next() {
        Some('s') => "s",
        Some(_) => "u",
        None => "",
    };
    format!("{place}:{kind}{}", bits.unwrap_or_default())
}

/// How two answers for one address differ, if they do, and why.
fn both(own: &Own, theirs: &str, begins_outside: bool) -> Option<(Row, String, String)> {
    let (row, why, own) = match &own.place {
        Err(_) if is_mark(theirs) => return None,
        Err(why) => (Row::OursRefuses, kind_of(why), why),
        Ok(own_place) if plain(own_place) == plain(theirs) => return None,
        Ok(own_place) => {
            let row = match is_mark(theirs) {
                true => Row::PerfRefuses,
                false => Row::Differs,
            };
            let last = own.last.as_ref();
            let is_last = last.is_some_and(|last| match last {
                Ok(last) => plain(last) == plain(theirs),
                Err(_) => is_mark(theirs),
            });
            let why = match is_last {
                true => VIEWS,
                false if begins_outside => OUTSIDE,
                false if is_read_through(own_place, theirs) => READ_THROUGH,
                false => "",
            };
            (row, why.to_string(), own_place)
        }
    };
    Some((row, why, format!("{own}, perf: {theirs}")))
}

impl Tally {
    fn count(&mut self, row: Row, why: &str, what: String) {
        // Each of them is to be explained.
        if row.needs_reason() && why.is_empty() {
            eprintln!("# no reason: {}: {what}", row.text());
        }
        self.rows.entry((row, why.into())).or_default().push(what);
    }

    /// Neither has it.
    pub fn both_refuse(&mut self, what: &str, refusal: &str) {
        self.count(Row::BothRefuse, &kind_of(refusal), what.into());
    }

    /// This crate refuses what perf has.
    pub fn ours_refuses(&mut self, what: &str, refusal: &str) {
        self.count(
            Row::OursRefuses,
            &kind_of(refusal),
            format!("{what}: {refusal}"),
        );
    }

    /// perf refuses what this crate has, and says `reason`; `why` is known, or not.
    pub fn perf_refuses(&mut self, what: &str, reason: &str, why: Option<&str>) {
        let what = format!("{what}: {reason}");
        self.count(Row::PerfRefuses, why.unwrap_or(""), what);
    }

    /// The kernel would not take what perf has.
    pub fn unclear(&mut self, what: &str, why: &str) {
        self.count(Row::Unclear, why, what.into());
    }

    /// Both have the same.
    pub fn equal(&mut self, what: &str) {
        self.count(Row::Equal, "", what.into());
    }

    /// Only this crate has a line; `why` is known, or not.
    pub fn only_ours(&mut self, what: &str, why: Option<&str>) {
        self.count(Row::OnlyOurs, why.unwrap_or(""), what.into());
    }

    /// Only perf has a line; `why` is known, or not.
    pub fn only_perf(&mut self, what: &str, why: Option<&str>) {
        self.count(Row::OnlyPerf, why.unwrap_or(""), what.into());
    }

    /// Both have something.
    pub fn spot(
        &mut self,
        what: &str,
        (ours, variable): (&Ours, Option<&str>),
        facts: &Facts<'_, '_>,
        perf: &BTreeMap<u64, String>,
    ) {
        let mut equal = true;
        let all: BTreeSet<u64> = ours.keys().chain(perf.keys()).copied().collect();
        for address in all {
            let at = format!("{what} at {address:#x}");
            let found = match (ours.get(&address), perf.get(&address)) {
                (Some(own), Some(theirs)) => {
                    both(own, theirs, facts.begins_outside(address)).map(|mut found| {
                        if let (true, Some(name), Ok(own)) =
                            (found.1.is_empty(), variable, &own.place)
                        {
                            let why = facts.of_place(name, address, own, theirs);
                            found.1 = why.unwrap_or_default().to_string();
                        }
                        found
                    })
                }
                // What neither of them takes.
                (Some(Own { place: Err(_), .. }) | None, None) => None,
                (Some(Own { place: Ok(own), .. }), None) => {
                    let why = facts.of_ours_alone(address).unwrap_or_default();
                    Some((Row::OnlyOurs, why.to_string(), own.clone()))
                }
                (None, Some(theirs)) => {
                    let why = facts.of_perf_alone(address).unwrap_or_default();
                    Some((Row::OnlyPerf, why.to_string(), theirs.clone()))
                }
            };
            if let Some((row, why, text)) = found {
                equal = false;
                self.count(row, &why, format!("{at}: {text}"));
            }
        }
        if equal {
            self.equal(what);
        }
    }

    /// The counts, in one line.
    pub fn summary(&self) -> String {
        let mut counts: BTreeMap<Row, usize> = BTreeMap::new();
        for ((row, _), what) in &self.rows {
            *counts.entry(*row).or_default() += what.len();
        }
        let counts = counts
            .iter()
            .map(|(row, count)| format!("{count} {}", row.text()));
        counts.collect::<Vec<_>>().join(", ")
    }

    /// Prints a table, with so many examples of each row; whether nothing differs without a reason.
    pub fn print(&self, title: &str, examples: usize) -> bool {
        println!("{title}:");
        for ((row, why), what) in &self.rows {
            println!(
                "{:>6}  {}{}{why}",
                what.len(),
                row.text(),
                if why.is_empty() { "" } else { ": " }
            );
            let shown = match row {
                Row::Equal | Row::BothRefuse => 0,
                _ if row.needs_reason() && why.is_empty() => usize::MAX,
                _ => examples,
            };
            for example in what.iter().take(shown) {
                println!("          {example}");
            }
        }
        let mut kinds = self.rows.keys();
        !kinds.any(|(row, why)| row.needs_reason() && why.is_empty())
    }
}
