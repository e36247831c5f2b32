// SPDX-License-Identifier: GPL-2.0

//! The hits that took longest. The kernel is told from which duration on it has to record.

use std::collections::HashMap;

/// How many are kept.
const KEPT: usize = 100;

/// A hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// How many nanoseconds it took.
    pub duration: u64,
    /// When it ended, in nanoseconds since the beginning.
    pub time: u64,
    /// The task and its pid.
    pub task: String,
    /// What was hit.
    pub name: String,
    /// The number of the system call, as long as its name is not known.
    pub call: Option<i64>,
    /// What else was recorded.
    pub values: String,
}

/// The longest ones so far, in their order.
#[derive(Debug, Clone, Default)]
pub struct Slowest {
    hits: Vec<Hit>,
}

impl Slowest {
    /// Takes a hit, if it is one of the longest.
    pub fn offer(&mut self, hit: Hit) {
        if hit.duration <= self.threshold() && self.is_full() {
            return;
        }
        let at = self
            .hits
            .partition_point(|other| other.duration >= hit.duration);
        self.hits.insert(at, hit);
        self.hits.truncate(KEPT);
    }

    /// Gives system calls their names, by their numbers.
    pub fn name(&mut self, names: &HashMap<i64, String>) {
        for hit in &mut self.hits {
            if let Some(name) = hit.call.and_then(|call| names.get(&call)) {
                hit.name.clone_from(name);
                hit.call = None;
            }
        }
    }

    fn is_full(&self) -> bool {
        self.hits.len() >= KEPT
    }

    /// The duration above which a hit may be one of them.
    pub fn threshold(&self) -> u64 {
        match self.hits.last() {
            Some(last) if self.is_full() => last.duration,
            _ => 0,
        }
    }

    /// The hits that have `filter`, the longest first.
    pub fn hits(&self, filter: &str) -> Vec<&Hit> {
        let filter = filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&filter);
        let is_meant = |hit: &&Hit| has(&hit.name) || has(&hit.task) || has(&hit.values);
        self.hits.iter().filter(is_meant).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn hit(duration: u64, name: &str) -> Hit {
        Hit {
            duration,
            time: 1_500_000_000,
            task: "sh-7".into(),
            name: name.into(),
            call: None,
            values: "ret=-ENOENT".into(),
        }
    }

    #[test]
    fn the_longest_are_kept_in_their_order() {
        let mut slowest = Slowest::default();
        for duration in 0..1000 {
            // Not in their order: 7 and 1000 have no common divisor.
            slowest.offer(hit(duration * 7 % 1000, "read"));
        }
        assert_eq!(slowest.threshold(), 900);
        let durations: Vec<u64> = slowest.hits("").iter().map(|hit| hit.duration).collect();
        assert_eq!(durations, (900..1000).rev().collect::<Vec<u64>>());
        slowest.offer(hit(900, "late"));
        assert_eq!(slowest.hits("LATE").len(), 0);
    }

    #[test]
    fn calls_are_named_when_their_names_are_known() {
        let mut slowest = Slowest::default();
        for call in [61, 999] {
            slowest.offer(Hit {
                call: Some(call),
                ..hit(7, &format!("call {call}"))
            });
        }
        slowest.name(&HashMap::from([(61, "wait4".into())]));
        let names: Vec<&str> = slowest
            .hits("")
            .iter()
            .map(|hit| hit.name.as_str())
            .collect();
        assert_eq!(names, ["wait4", "call 999"]);
    }

    #[test]
    fn hits_are_filtered_by_what_is_shown() {
        let mut slowest = Slowest::default();
        slowest.offer(hit(1, "read"));
        slowest.offer(hit(2, "open"));
        assert_eq!(slowest.threshold(), 0);
        assert_eq!(slowest.hits("OPE").len(), 1);
        assert_eq!(slowest.hits("enoent").len(), 2);
        assert_eq!(slowest.hits("sh-").len(), 2);
    }
}
