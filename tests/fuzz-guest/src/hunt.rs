// SPDX-License-Identifier: GPL-2.0

//! Looks for faults for a while, and tells what shows one.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::boot::{Guests, Outcome};
use crate::draw::draw;
use crate::shrink::shrink;

/// What to look for, and for how long.
pub struct Plan {
    /// For how long guests are booted.
    pub seconds: u64,
    /// What operations are drawn by.
    pub seed: u64,
    /// How many rounds of operations one guest performs.
    pub rounds: usize,
    /// Which architecture the guest has.
    pub is_arm64: bool,
}

/// For how long a list may be cut.
const SHRINK_SECONDS: u64 = 600;

/// Boots guests with operations that are drawn until the time is over or a fault is found; returns
/// whether none was.
pub fn hunt(guests: &Guests, plan: &Plan) -> Result<bool, String> {
    let begin = Instant::now();
    let (mut operations, mut refused, mut windows) = (0, 0, 0);
    let (mut number, mut found) = (0, 0);
    let keeps_going = std::env::var_os("KEEP_GOING").is_some();
    // Faults of other classes are passed over.
    let classes = std::env::var("CLASSES").unwrap_or_default();
    // While a fault is known and not mended: words of operations that are left out.
    let without = std::env::var("WITHOUT").unwrap_or_default();
    println!("# seed {}, {} seconds", plan.seed, plan.seconds);
    while number == 0 || begin.elapsed().as_secs() < plan.seconds {
        // Guests of one seed differ, and those of two seeds, too.
        let seed = plan.seed.wrapping_mul(1_000_003).wrapping_add(number);
        let mut lines = draw(seed, plan.rounds, plan.is_arm64);
        lines.retain(|line| !without.split_whitespace().any(|word| line.contains(word)));
        let mut outcome = guests.perform(&lines)?;
        outcome.faults.retain(|fault| {
            classes.is_empty() || classes.split('|').any(|class| class == fault.class)
        });
        number += 1;
        operations += outcome.results.0 + outcome.results.1;
        refused += outcome.results.1;
        windows += outcome.windows;
        if !outcome.faults.is_empty() {
            println!(
                "# guest {number} of seed {}, after {} s",
                plan.seed,
                begin.elapsed().as_secs()
            );
            if keeps_going {
                outcome
                    .faults
                    .iter()
                    .for_each(|fault| println!("not ok - {fault}"));
                found += 1;
                continue;
            }
            tell(guests, &lines, &outcome)?;
            return Ok(false);
        }
    }
    println!(
        "# {number} guests, {operations} operations, {refused} of them refused, {windows} windows, \
         {} s",
        begin.elapsed().as_secs()
    );
    if found > 0 {
        println!("not ok - {found} guests had faults with seed {}", plan.seed);
    } else {
        println!("ok - nothing was found with seed {}", plan.seed);
    }
    Ok(found == 0)
}

/// Performs a list once; returns whether nothing was found.
pub fn replay(guests: &Guests, lines: &[String]) -> Result<bool, String> {
    let outcome = guests.perform(lines)?;
    for fault in &outcome.faults {
        println!("not ok - {fault}");
    }
    if outcome.faults.is_empty() {
        println!(
            "ok - nothing was found: {} accepted, {} refused, {} windows",
            outcome.results.0, outcome.results.1, outcome.windows
        );
    }
    Ok(outcome.faults.is_empty())
}

/// Tells of the faults, and cuts the list to what shows the first one.
fn tell(guests: &Guests, lines: &[String], outcome: &Outcome) -> Result<(), String> {
    for fault in &outcome.faults {
        println!("not ok - {fault}");
    }
    let Some(first) = outcome.faults.first() else {
        return Ok(());
    };
    // The guests that follow write to the same file.
    let wrong = |error: std::io::Error| error.to_string();
    let kept_log = guests.out().join("failed.log");
    fs::copy(guests.out().join("guest/result.log"), &kept_log).map_err(wrong)?;
    println!("# what the guest said: {}", shown(&kept_log));
    let seconds = std::env::var("SHRINK_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(SHRINK_SECONDS);
    let until = Instant::now() + Duration::from_secs(seconds);
    let shows = |lines: &[String]| {
        let outcome = guests.perform(lines)?;
        Ok(outcome
            .faults
            .iter()
            .any(|fault| fault.class == first.class))
    };
    // What comes after it has no part in it.
    let cut = first.line.max(1).min(lines.len());
    let mut kept = lines.to_vec();
    if cut < lines.len() && Instant::now() < until && shows(&lines[..cut])? {
        kept.truncate(cut);
    }
    let kept = shrink(kept, until, shows)?;
    let path = guests.out().join("shortest");
    fs::write(&path, kept.join("\n") + "\n").map_err(wrong)?;
    println!(
        "# {} operations of {} show it, after {} guests:",
        kept.len(),
        lines.len(),
        guests.booted()
    );
    for line in &kept {
        println!("#   {line}");
    }
    println!("# again: make fuzz OPS={}", shown(&path));
    Ok(())
}

/// Returns a path as it is shown: from the current folder on.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}
