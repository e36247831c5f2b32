// SPDX-License-Identifier: GPL-2.0

//! All that is known of the views, apart from where it comes from and how it is drawn.

use super::counts::Counts;
use super::rows::{Column, Meter};
use super::sheet::{self, Sheet};
use super::slowest::Slowest;
use super::view::{self, Subject, View};
use crate::error::Result;
use crate::refuse;
use std::time::Duration;

/// How a view is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// What it is sorted by, if it has that column.
    pub column: Column,
    /// The least first.
    pub reverse: bool,
    /// What a row must have.
    pub filter: String,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            column: Column::Rate,
            reverse: false,
            filter: String::new(),
        }
    }
}

/// The views with what they have.
#[derive(Debug, Clone)]
pub struct Board {
    /// The views.
    pub views: Vec<View>,
    /// The columns of each.
    columns: Vec<Vec<Column>>,
    meters: Vec<Meter>,
    /// The slowest hits.
    pub slowest: Slowest,
    /// What is missing.
    pub missing: Vec<String>,
}

impl Board {
    /// The views of `subjects`, all empty.
    pub fn new(subjects: &[Subject]) -> Self {
        let views = view::all(subjects);
        let columns = views.iter().map(|view| sheet::columns(view, subjects));
        Self {
            columns: columns.collect(),
            meters: vec![Meter::default(); views.len()],
            views,
            slowest: Slowest::default(),
            missing: Vec::new(),
        }
    }

    /// The number of the view that is called `name`.
    pub fn find(&self, name: &str) -> Result<usize> {
        let is_meant = |title: &str| {
            let rest = name.strip_prefix(title);
            rest.is_some_and(|rest| matches!(rest, "" | "s" | "es"))
        };
        let mut views = self.views.iter();
        let found = views.position(|view| is_meant(view.title()));
        let Some(found) = found else {
            let titles: Vec<&str> = self.views.iter().map(View::title).collect();
            refuse!("there is no view by {name}: there is {}", titles.join(", "));
        };
        Ok(found)
    }

    /// The columns of a view.
    pub fn columns(&self, view: usize) -> &[Column] {
        self.columns.get(view).map_or(&[], Vec::as_slice)
    }

    /// Takes what a view has counted in the time `at` since its beginning.
    pub fn update(&mut self, view: usize, at: Duration, counts: Counts) {
        if let Some(meter) = self.meters.get_mut(view) {
            meter.update(at, counts);
        }
    }

    /// What a view has.
    pub fn meter(&self, view: usize) -> Option<&Meter> {
        self.meters.get(view)
    }

    /// A view as it is wanted.
    pub fn sheet(&self, view: usize, look: &Look) -> Sheet {
        match (self.views.get(view), self.meters.get(view)) {
            (Some(View::Slowest), _) => Sheet::of_hits(&self.slowest.hits(&look.filter)),
            (Some(kind), Some(meter)) => {
                let columns = self.columns(view);
                let column = match columns.contains(&look.column) {
                    true => look.column,
                    false => Column::Rate,
                };
                let rows = meter.rows(column, look.reverse, &look.filter);
                let mut sheet = Sheet::of_rows(kind, columns, meter, &rows);
                // What it is sorted by is seen.
                sheet.keep(column);
                sheet
            }
            _ => Sheet::default(),
        }
    }

    /// What is missing of a view.
    pub fn missing(&self, view: usize) -> Option<String> {
        let mut texts = self.missing.clone();
        let dropped = self.meter(view).map_or(0, |meter| meter.dropped);
        if dropped > 0 {
            texts.push(format!("{dropped} hits without room for their keys"));
        }
        (!texts.is_empty()).then(|| format!("missing: {}", texts.join(", ")))
    }

    /// The text of a view with a line about it, for a pipe or a file.
    pub fn text(&self, view: usize, look: &Look, width: Option<usize>, most: usize) -> String {
        let title = self.views.get(view).map_or("", View::title);
        let mut text = match (self.views.get(view), self.meter(view)) {
            (Some(View::Slowest), _) | (_, None) => format!("{title}\n"),
            (_, Some(meter)) => format!(
                "by {title}, {:.1} s, {} hits\n",
                meter.at().as_secs_f64(),
                meter.total().count
            ),
        };
        text.push_str(&self.sheet(view, look).text(width, most));
        if let Some(missing) = self.missing(view) {
            text.push_str(&missing);
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::counts::Tally;
    use super::super::slowest::tests::hit;
    use super::super::view::tests::subject;
    use super::*;
    use crate::hist::table::Key;

    /// Two seconds of two functions.
    pub(crate) fn board() -> Board {
        let mut board = Board::new(&[subject()]);
        let mut counts = Counts::default();
        for (key, count, time) in [("vfs_read", 1000, 50_000_000), ("vfs_write", 7, 900)] {
            let tally = Tally {
                count,
                time,
                longest: 1_000_000,
                bytes: 1 << 20,
            };
            counts.entries.insert(key.into(), (None, tally));
        }
        board.update(0, Duration::from_secs(2), counts);
        let mut counts = Counts::default();
        for (key, power, count) in [("<= 2.0 us", 11, 30), ("<= 4.1 us", 12, 977)] {
            let tally = Tally {
                count,
                ..Tally::default()
            };
            counts
                .entries
                .insert(key.into(), (Some(Key::Power(power)), tally));
        }
        let duration = board.find("duration").expect("a view");
        board.update(duration, Duration::from_secs(2), counts);
        board.slowest.offer(hit(1_204_000, "vfs_read"));
        board
    }

    #[test]
    fn views_are_found_by_their_names() {
        let board = board();
        assert_eq!(board.find("name").expect("a view"), 0);
        assert_eq!(board.find("processes").expect("a view"), 1);
        assert_eq!(board.find("errors").expect("a view"), 2);
        let refusal = board.find("nosuch").expect_err("no view").to_string();
        assert!(refusal.contains("name, process, error, file, count, duration, slowest"));
    }

    #[test]
    fn what_is_missing_is_told() {
        let mut board = board();
        assert_eq!(board.missing(0), None);
        board.missing.push("5 hits missed".into());
        let counts = Counts {
            dropped: 3,
            ..Counts::default()
        };
        board.update(0, Duration::from_secs(3), counts);
        let text = board.text(0, &Look::default(), Some(80), 9);
        assert!(text.starts_with("by name, 3.0 s, 0 hits\nRATE/s"), "{text}");
        let missing = "\nmissing: 5 hits missed, 3 hits without room for their keys\n";
        assert!(text.ends_with(missing), "{text}");
        assert!(board
            .text(1, &Look::default(), None, 9)
            .ends_with("5 hits missed\n"));
    }

    #[test]
    fn what_a_view_is_sorted_by_is_seen() {
        let board = board();
        for (column, is_seen) in [(Column::Longest, true), (Column::Rate, false)] {
            let look = Look {
                column,
                ..Look::default()
            };
            let text = board.text(0, &look, Some(40), 9);
            assert_eq!(text.contains("MAX"), is_seen, "{text}");
        }
    }

    #[test]
    fn the_slowest_are_a_view() {
        let board = board();
        let view = board.find("slowest").expect("a view");
        let text = board.text(view, &Look::default(), Some(80), 9);
        assert!(text.starts_with("slowest\nDURATION"), "{text}");
        assert!(text.contains("1.204 ms"), "{text}");
    }
}
