// SPDX-License-Identifier: GPL-2.0

//! A view as text: columns that fit into a width, for a terminal as for a pipe.

use super::rows::{Column, Meter, Row};
use super::slowest::Hit;
use super::view::{Subject, View};
use crate::trace::units;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The least columns of the last cell, before another one is left out for it.
const LAST: usize = 14;

/// The same where there is an error behind a name.
const LAST_ERROR: usize = 24;

/// Columns of the longest bar.
const BAR: usize = 50;

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Its heading.
    pub title: String,
    /// What it sorts by.
    pub column: Option<Column>,
    /// Whether it is to the left.
    is_left: bool,
    /// Which go first where there is no room: those with greater numbers.
    rank: u8,
}

/// Rows of cells. The last cell has the rest of the line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    /// The columns.
    pub heads: Vec<Head>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// The least columns of the last cell.
    least: usize,
    /// How long the bar of each row is, of the longest, if the last cell is one.
    pub bars: Option<Vec<f64>>,
}

/// A sheet in a width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The columns that are shown, with their widths; the last one may be shorter than its cells.
    columns: Vec<(usize, usize)>,
}

/// The columns by which a view can be sorted.
pub fn columns(view: &View, subjects: &[Subject]) -> Vec<Column> {
    let has_time = subjects.iter().any(|subject| subject.duration().is_some());
    let has_bytes = subjects.iter().any(|subject| subject.bytes().is_some());
    let mut columns = vec![Column::Rate, Column::Count];
    match view {
        View::Slowest => return Vec::new(),
        View::Bars(_) => return columns,
        _ => {}
    }
    if has_time {
        columns.extend([Column::Mean, Column::Longest, Column::Time]);
    }
    if has_bytes {
        columns.push(Column::Bytes);
    }
    columns.push(Column::Name);
    columns
}

impl Sheet {
    /// The rows of a view that counts.
    pub fn of_rows(view: &View, columns: &[Column], meter: &Meter, rows: &[&Row]) -> Self {
        let mut heads: Vec<Head> = columns.iter().map(|column| head(*column, view)).collect();
        let cells = rows.iter().map(|row| {
            let cells = columns.iter().map(|column| cell(row, *column));
            cells.collect::<Vec<String>>()
        });
        let mut sheet = Self {
            rows: cells.collect(),
            least: match view {
                View::Errors => LAST_ERROR,
                _ => LAST,
            },
            ..Self::default()
        };
        if let View::Bars(_) = view {
            let largest = rows.iter().map(|row| row.tally.count).max().unwrap_or(0);
            let total = meter.total().count;
            for (title, is_left) in [("SHARE", false), (view.title(), false), ("", true)] {
                heads.push(Head {
                    title: title.into(),
                    column: None,
                    is_left,
                    rank: if title == "SHARE" { 4 } else { 0 },
                });
            }
            for (cells, row) in sheet.rows.iter_mut().zip(rows) {
                cells.push(format!("{:.1}%", 100.0 * part(row.tally.count, total)));
                cells.extend([row.key.clone(), String::new()]);
            }
            let bars = rows.iter().map(|row| part(row.tally.count, largest));
            sheet.bars = Some(bars.collect());
        }
        sheet.heads = heads;
        sheet
    }

    /// The hits that took longest.
    pub fn of_hits(hits: &[&Hit]) -> Self {
        let head = |title: &str, is_left: bool, rank: u8| Head {
            title: title.into(),
            column: None,
            is_left,
            rank,
        };
        let row = |hit: &&Hit| {
            vec![
                units::duration(hit.duration),
                format!(
                    "{}.{:03}",
                    hit.time / 1_000_000_000,
                    hit.time / 1_000_000 % 1_000
                ),
                hit.task.clone(),
                hit.name.clone(),
                hit.values.clone(),
            ]
        };
        Self {
            heads: vec![
                head("DURATION", false, 0),
                head("SECONDS", false, 4),
                head("TASK-PID", true, 1),
                head("NAME", true, 0),
                head("VALUES", true, 0),
            ],
            rows: hits.iter().map(row).collect(),
            least: LAST,
            bars: None,
        }
    }

    /// Has a column left out as late as that of the rates.
    pub fn keep(&mut self, column: Column) {
        for head in &mut self.heads {
            if head.column == Some(column) {
                head.rank = head.rank.min(1);
            }
        }
    }

    /// Which columns are shown in `width`, and how wide each is.
    pub fn layout(&self, width: Option<usize>) -> Layout {
        let mut columns: Vec<(usize, usize)> = (0..self.heads.len())
            .map(|at| {
                let cells = self.rows.iter().filter_map(|row| row.get(at));
                let longest = cells.map(|cell| cell.width()).max().unwrap_or(0);
                (at, longest.max(self.heads[at].title.width()))
            })
            .collect();
        let Some(width) = width else {
            if let Some(last) = columns.last_mut().filter(|_| self.bars.is_some()) {
                last.1 = BAR;
            }
            return Layout { columns };
        };
        let fixed = |columns: &[(usize, usize)]| -> usize {
            let before = columns.split_last().map_or(&[][..], |(_, before)| before);
            before.iter().map(|(_, width)| width + 2).sum()
        };
        while fixed(&columns) + self.least.min(width) > width {
            let rank = |at: &(usize, usize)| self.heads[at.0].rank;
            let dropped = (0..columns.len()).max_by_key(|at| rank(&columns[*at]));
            match dropped.filter(|at| rank(&columns[*at]) > 0) {
                Some(at) => columns.remove(at),
                None => break,
            };
        }
        let rest = width.saturating_sub(fixed(&columns));
        if let Some(last) = columns.last_mut() {
            last.1 = match self.bars.is_some() {
                true => rest.min(BAR),
                false => rest,
            };
        }
        Layout { columns }
    }

    /// The headings, each with its column and its text; together they are a line.
    pub fn heading<'a>(&'a self, layout: &'a Layout) -> Vec<(Option<Column>, String)> {
        let last = layout.columns.len().saturating_sub(1);
        let columns = layout.columns.iter().enumerate();
        columns
            .map(|(number, (at, width))| {
                let head = &self.heads[*at];
                let text = fill(&head.title, *width, head.is_left, number == last);
                (head.column, text)
            })
            .collect()
    }

    /// A row as a line, without its bar.
    pub fn line(&self, number: usize, layout: &Layout) -> String {
        let Some(cells) = self.rows.get(number) else {
            return String::new();
        };
        let last = layout.columns.len().saturating_sub(1);
        let mut line = String::new();
        for (number, (at, width)) in layout.columns.iter().enumerate() {
            let text = cells.get(*at).map_or("", String::as_str);
            line.push_str(&fill(text, *width, self.heads[*at].is_left, number == last));
        }
        line
    }

    /// How many columns the bar of a row has, in eighths.
    pub fn bar(&self, number: usize, layout: &Layout) -> usize {
        let bars = self.bars.as_ref();
        let part = bars.and_then(|bars| bars.get(number)).copied();
        let width = layout.columns.last().map_or(0, |(_, width)| *width);
        eighths(part.unwrap_or(0.0), width)
    }

    /// All as text, with at most `most` rows.
    pub fn text(&self, width: Option<usize>, most: usize) -> String {
        let layout = self.layout(width);
        let heading = self.heading(&layout);
        let heading: String = heading.into_iter().map(|(_, text)| text).collect();
        let mut lines = vec![heading];
        for number in 0..self.rows.len().min(most) {
            let bar = "@".repeat(self.bar(number, &layout).div_ceil(8));
            lines.push(self.line(number, &layout) + &bar);
        }
        if self.rows.len() > most {
            lines.push(format!("... and {} more", self.rows.len() - most));
        }
        let lines = lines.iter().map(|line| format!("{}\n", line.trim_end()));
        lines.collect()
    }
}

/// A bar's length: what is counted at all has one.
fn eighths(part: f64, width: usize) -> usize {
    let length = (part.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize;
    match part > 0.0 {
        true => length.max(1),
        false => 0,
    }
}

/// A part of a whole.
fn part(count: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => count as f64 / whole as f64,
    }
}

fn head(column: Column, view: &View) -> Head {
    let title = match (column, view) {
        (Column::Name, View::Names | View::Errors) => "NAME".into(),
        (Column::Name, View::Processes) => "PROCESS".into(),
        // The heading is the name of the field.
        (Column::Name, _) => view.title().into(),
        _ => column.title().into(),
    };
    let rank = match column {
        Column::Name => 0,
        Column::Rate => 1,
        Column::Count => 2,
        Column::Mean => 3,
        Column::Longest => 4,
        Column::Bytes => 5,
        Column::Time => 6,
    };
    Head {
        title,
        column: Some(column),
        is_left: column == Column::Name,
        rank,
    }
}

fn cell(row: &Row, column: Column) -> String {
    match column {
        Column::Rate if row.rate > 0.0 && row.rate < 9.95 => format!("{:.1}", row.rate),
        Column::Rate => format!("{:.0}", row.rate),
        Column::Count => row.tally.count.to_string(),
        Column::Mean => units::duration(row.mean()),
        Column::Longest => units::duration(row.tally.longest),
        Column::Time => units::duration(row.tally.time),
        Column::Bytes => units::size(row.tally.bytes),
        Column::Name => row.key.clone(),
    }
}

/// A cell with blanks, and two behind it, unless it is the last one.
fn fill(text: &str, width: usize, is_left: bool, is_last: bool) -> String {
    let text = cut(text, width);
    let blanks = " ".repeat(width - text.width());
    match (is_left, is_last) {
        (true, true) => text,
        (true, false) => format!("{text}{blanks}  "),
        (false, true) => format!("{blanks}{text}"),
        (false, false) => format!("{blanks}{text}  "),
    }
}

/// What fits into `width`; a mark says that there is more.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.into();
    }
    let mut room = width.saturating_sub(1);
    let mut shown = String::new();
    for c in text.chars() {
        let Some(rest) = room.checked_sub(c.width().unwrap_or(0)) else {
            break;
        };
        room = rest;
        shown.push(c);
    }
    if width > 0 {
        shown.push('>');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::counts::{Counts, Tally};
    use super::super::slowest::tests::hit;
    use super::super::view::tests::subject;
    use super::*;
    use crate::hist::table::Key;
    use std::time::Duration;

    fn meter() -> Meter {
        let mut meter = Meter::default();
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
        meter.update(Duration::from_secs(2), counts);
        meter
    }

    fn text(width: Option<usize>, most: usize) -> String {
        let meter = meter();
        let columns = columns(&View::Names, &[subject()]);
        let rows = meter.rows(Column::Rate, false, "");
        Sheet::of_rows(&View::Names, &columns, &meter, &rows).text(width, most)
    }

    #[test]
    fn columns_are_aligned() {
        let expected = "\
RATE/s  COUNT      MEAN       MAX      TIME  BYTES  NAME
   500   1000  50.00 us  1.000 ms  50.00 ms     1M  vfs_read
   3.5      7    128 ns  1.000 ms    900 ns     1M  vfs_write
";
        assert_eq!(text(None, 9), expected);
    }

    #[test]
    fn columns_go_where_there_is_no_room() {
        let expected = "\
RATE/s  COUNT      MEAN  NAME
   500   1000  50.00 us  vfs_read
   3.5      7    128 ns  vfs_write
";
        assert_eq!(text(Some(40), 9), expected);
        assert_eq!(text(Some(14), 1), "NAME\nvfs_read\n... and 1 more\n");
        for width in 0..100 {
            let text = text(Some(width), 9);
            let longest = text.lines().map(|line| line.width()).max();
            assert!(longest <= Some(width.max(8)), "{width}: {text}");
        }
    }

    #[test]
    fn bars_are_as_long_as_they_count() {
        let mut counts = Counts::default();
        for (key, power, count) in [("<= 4", 2, 1), ("<= 16", 4, 100), ("<= 8", 3, 50)] {
            let tally = Tally {
                count,
                ..Tally::default()
            };
            counts
                .entries
                .insert(key.into(), (Some(Key::Power(power)), tally));
        }
        let mut meter = Meter::default();
        meter.update(Duration::from_secs(1), counts);
        let view = View::Bars("count".into());
        let rows = meter.rows(Column::Rate, false, "");
        let columns = columns(&view, &[subject()]);
        let sheet = Sheet::of_rows(&view, &columns, &meter, &rows);
        let expected = "\
RATE/s  COUNT  SHARE  count
   1.0      1   0.7%   <= 4  @
    50     50  33.1%   <= 8  @@@@@@@
   100    100  66.2%  <= 16  @@@@@@@@@@@@@@
";
        assert_eq!(sheet.text(Some(43), 9), expected);
        assert_eq!(sheet.bar(0, &sheet.layout(Some(43))), 1);
        assert_eq!(eighths(0.0, 10), 0);
    }

    #[test]
    fn the_slowest_have_their_values() {
        let hit = hit(1_204_000, "openat");
        let sheet = Sheet::of_hits(&[&hit]);
        let expected = "\
DURATION  SECONDS  TASK-PID  NAME    VALUES
1.204 ms    1.500  sh-7      openat  ret=-ENOENT
";
        assert_eq!(sheet.text(Some(80), 9), expected);
        let expected =
            "DURATION  TASK-PID  NAME    VALUES\n1.204 ms  sh-7      openat  ret=-ENOENT\n";
        assert_eq!(sheet.text(Some(42), 9), expected);
    }

    #[test]
    fn a_cut_text_has_a_mark() {
        assert_eq!(cut("vfs_read", 8), "vfs_read");
        assert_eq!(cut("vfs_read", 5), "vfs_>");
        assert_eq!(cut("名名名", 4), "名>");
        assert_eq!(cut("x", 0), "");
    }
}
