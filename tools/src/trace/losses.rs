// SPDX-License-Identifier: GPL-2.0

//! What was not recorded, and why: from `kprobe_stats` and the `stats` of each CPU's ring.

use std::ops::AddAssign;

/// How the hits of an event ended, of all its probes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hits {
    /// All.
    pub hits: u64,
    /// Recorded hits.
    pub recorded: u64,
    /// Hits that the filter or the list of tasks rejected.
    pub filtered: u64,
    /// Hits whose records were larger than a sub-buffer.
    pub too_large: u64,
    /// Hits that nothing served.
    pub missed: u64,
    /// Whether the event was disabled because it was hit too often.
    pub is_over_limit: bool,
}

impl AddAssign for Hits {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.recorded += other.recorded;
        self.filtered += other.filtered;
        self.too_large += other.too_large;
        self.missed += other.missed;
        self.is_over_limit |= other.is_over_limit;
    }
}

/// The hits of `event`, which is `GROUP/NAME`, of the text of `kprobe_stats`.
pub fn hits(stats: &str, event: &str) -> Hits {
    let mut all = Hits::default();
    for line in stats.lines() {
        // The place may have blanks, of patterns.
        let mut words = line.split_whitespace();
        if words.next() != Some(event) {
            continue;
        }
        let columns: Vec<&str> = words.collect();
        let number = |behind: usize| -> u64 {
            let at = columns.len().checked_sub(behind);
            let column = at.and_then(|at| columns.get(at));
            column.and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        all += Hits {
            hits: number(8),
            recorded: number(7),
            filtered: number(6),
            too_large: number(3),
            missed: number(2),
            is_over_limit: columns.last() == Some(&"hit-limit"),
        };
    }
    all
}

/// The place that `event` waits for, of the text of `kprobe_stats`: in a module, or a tracepoint.
pub fn awaited<'a>(stats: &'a str, event: &str) -> Option<&'a str> {
    let mut lines = stats.lines();
    lines.find_map(|line| {
        let (name, rest) = line.split_once(' ')?;
        let (place, _) = rest.split_once(' ')?;
        (name == event && rest.ends_with(" waiting")).then_some(place)
    })
}

/// How many records a ring has lost, of the text of its `stats`.
pub fn lost(stats: &str) -> u64 {
    let lines = stats.lines().filter_map(|line| line.split_once(':'));
    let lost = lines
        .filter(|(name, _)| matches!(name.trim(), "overrun" | "commit overrun" | "dropped events"));
    lost.filter_map(|(_, number)| number.trim().parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_of_all_probes_of_an_event_are_added() {
        let stats = "\
# event place hits recorded filtered off lost too-large missed state
g/n vfs_read+4 15 4 10 1 0 0 2 enabled
g/n vfs_write 10 9 1 0 0 3 0 hit-limit
g/other vfs_write 7 7 0 0 0 0 0 enabled
";
        let expected = Hits {
            hits: 25,
            recorded: 13,
            filtered: 11,
            too_large: 3,
            missed: 2,
            is_over_limit: true,
        };
        assert_eq!(hits(stats, "g/n"), expected);
        assert_eq!(hits(stats, "g/none"), Hits::default());
        assert_eq!(hits("g/n", "g/n"), Hits::default());
    }

    #[test]
    fn the_place_that_is_awaited_is_known() {
        let stats = "\
# event place hits recorded filtered off lost too-large missed state
g/a vfs_read 0 0 0 0 0 0 0 disabled
g/b ext4:ext4_sync_file 0 0 0 0 0 0 0 waiting
g/c ext4:ext4_sync_file 0 0 0 0 0 0 0 disabled
";
        assert_eq!(awaited(stats, "g/b"), Some("ext4:ext4_sync_file"));
        for other in ["g/a", "g/c", "g/d"] {
            assert_eq!(awaited(stats, other), None);
        }
    }

    #[test]
    fn records_are_lost_in_three_ways() {
        let stats = "entries: 5\noverrun: 100\ncommit overrun: 20\nbytes: 7\ndropped events: 3\n";
        assert_eq!(lost(stats), 123);
        assert_eq!(lost(""), 0);
    }
}
