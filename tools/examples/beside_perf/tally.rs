// SPDX-License-Identifier: GPL-2.0

//! What came of the comparison.

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
    Differs,
}

impl Row {
    fn text(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::BothRefuse => "both refuse",
            Self::PerfRefuses => "perf refuses",
            Self::OursRefuses => "ferroprobe refuses",
            Self::OnlyOurs => "more addresses here",
            Self::OnlyPerf => "more addresses by perf",
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

impl Tally {
    fn count(&mut self, row: Row, why: &str, what: String) {
        // Each of them is to be explained.
        if matches!(row, Row::Differs | Row::OnlyPerf) {
            eprintln!("# {}: {what}", row.text());
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

    /// perf refuses what this crate has.
    pub fn perf_refuses(&mut self, what: &str, reason: &str) {
        self.count(Row::PerfRefuses, reason, what.into());
    }

    /// Both have something.
    pub fn spot(
        &mut self,
        what: &str,
        ours: &BTreeMap<u64, Result<String, String>>,
        perf: &BTreeMap<u64, String>,
    ) {
        let mut equal = true;
        let all: BTreeSet<u64> = ours.keys().chain(perf.keys()).copied().collect();
        for address in all {
            let at = format!("{what} at {address:#x}");
            let (row, why, what) = match (ours.get(&address), perf.get(&address)) {
                (Some(Err(_)), Some(theirs)) if is_mark(theirs) => continue,
                (Some(Ok(own)), Some(theirs)) if is_mark(theirs) => {
                    let why = "it records a mark in place of the value";
                    (
                        Row::PerfRefuses,
                        why.to_string(),
                        format!("{at}: {own}, perf: {theirs}"),
                    )
                }
                (Some(Ok(own)), Some(theirs)) if plain(own) == plain(theirs) => continue,
                (Some(Ok(own)), Some(theirs)) => {
                    let why = if is_read_through(own, theirs) {
                        READ_THROUGH
                    } else {
                        ""
                    };
                    let text = format!("{at}: {own}, perf: {theirs}");
                    (Row::Differs, why.to_string(), text)
                }
                (Some(Err(why)), Some(theirs)) => {
                    let text = format!("{at}: {why}, perf: {theirs}");
                    (Row::OursRefuses, kind_of(why), text)
                }
                // What neither of them takes.
                (Some(Err(_)), None) => continue,
                (Some(Ok(own)), None) => (Row::OnlyOurs, String::new(), format!("{at}: {own}")),
                (None, Some(theirs)) => (Row::OnlyPerf, String::new(), format!("{at}: {theirs}")),
                (None, None) => continue,
            };
            equal = false;
            self.count(row, &why, what);
        }
        if equal {
            self.count(Row::Equal, "", what.into());
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

    /// Prints a table with examples; whether nothing differs without a reason.
    pub fn print(&self, title: &str) -> bool {
        /// Of each row.
        const EXAMPLES: usize = 4;

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
                // Each of them is to be explained.
                Row::Differs | Row::OnlyPerf => usize::MAX,
                _ => EXAMPLES,
            };
            for example in what.iter().take(shown) {
                println!("          {example}");
            }
        }
        let mut kinds = self.rows.keys();
        !kinds.any(|(row, why)| *row == Row::Differs && why.is_empty())
    }
}
