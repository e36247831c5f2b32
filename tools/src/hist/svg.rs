// SPDX-License-Identifier: GPL-2.0

//! Draws charts as SVG, without scripts: what a mark stands for is its `<title>`, which browsers
//! show under the pointer.

use super::chart::{Bars, Chart, Heat};
use std::fmt::Write;

/// The width of a picture, in pixels.
const WIDTH: usize = 960;
/// The height of a bar or of a row, and from a text to the next.
const LINE: usize = 18;
/// The room above: for the title, and what is counted.
const TOP: usize = 56;
/// The room below the rows of a map: for two lines.
const BOTTOM: usize = 48;
/// The room at the right of bars, for their numbers.
const RIGHT: usize = 110;
/// A character of the font is so wide, in tenths of a pixel.
const CHARACTER: usize = 73;
/// Labels that are longer are cut.
const LONGEST: usize = 48;

/// The picture of `chart`.
pub fn draw(chart: &Chart, title: &str) -> String {
    match chart {
        Chart::Bars(bars) => draw_bars(bars, title),
        Chart::Heat(heat) => draw_heat(heat, title),
    }
}

/// A text as XML has it. Characters that XML does not have are replaced.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A label, cut if it is long.
fn label(text: &str) -> String {
    match text.chars().count() > LONGEST {
        true => text.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => text.into(),
    }
}

/// How wide the widest label is, in pixels.
fn room<'t>(labels: impl Iterator<Item = &'t str>) -> usize {
    let longest = labels.map(|text| label(text).chars().count()).max();
    longest.unwrap_or(0) * CHARACTER / 10 + 20
}

struct Picture(String);

impl Picture {
    fn new(height: usize, title: &str) -> Self {
        let mut out = Self(String::new());
        out.line(format_args!(
            "<?xml version=\"1.0\" standalone=\"no\"?>\n\
             <svg version=\"1.1\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             xmlns=\"http://www.w3.org/2000/svg\" font-family=\"monospace\" font-size=\"12\" fill=\"#222\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
        ));
        let middle = WIDTH / 2;
        out.line(format_args!(
            "<text id=\"title\" x=\"{middle}\" y=\"22\" text-anchor=\"middle\" font-size=\"16\">{}</text>",
            escape(title)
        ));
        out
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{text}");
    }

    fn text(&mut self, x: usize, y: usize, anchor: &str, text: &str) {
        let text = escape(text);
        self.line(format_args!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    /// A rectangle, which tells what it is.
    fn mark(
        &mut self,
        (x, y): (f64, usize),
        (width, height): (f64, usize),
        fill: &str,
        tells: &str,
    ) {
        let tells = escape(tells);
        self.line(format_args!(
            "<rect class=\"mark\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\" \
             fill=\"{fill}\"><title>{tells}</title></rect>"
        ));
    }

    fn end(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }
}

/// What part of `most` a value is; a part that is not 0 can be seen.
fn share(value: u64, most: u64) -> f64 {
    match value {
        0 => 0.0,
        value => (value as f64 / most.max(1) as f64).max(0.002),
    }
}

fn draw_bars(bars: &Bars, title: &str) -> String {
    let mut out = Picture::new(TOP + bars.rows.len() * LINE + 14, title);
    let labels = bars.rows.iter().map(|(key, _)| key.as_str());
    let left = room(labels.chain([bars.key.as_str()]));
    out.text(left - 10, TOP - 12, "end", &label(&bars.key));
    out.text(left, TOP - 12, "start", &bars.value);
    let width = WIDTH.saturating_sub(left + RIGHT);
    let most = bars.rows.iter().map(|(_, value)| *value).max().unwrap_or(0);
    let all: u128 = bars.rows.iter().map(|(_, value)| u128::from(*value)).sum();
    for (at, (key, value)) in bars.rows.iter().enumerate() {
        let y = TOP + at * LINE;
        let long = share(*value, most) * width as f64;
        let percent = *value as f64 * 100.0 / all.max(1) as f64;
        out.text(left - 10, y + LINE - 5, "end", &label(key));
        let tells = format!("{key}: {value} ({percent:.1}%)");
        out.mark((left as f64, y + 2), (long, LINE - 4), "#4878a8", &tells);
        let end = left + long.ceil() as usize + 6;
        out.text(end, y + LINE - 5, "start", &value.to_string());
    }
    out.end()
}

/// From light to dark. Counts differ by powers, so the colour goes by their logarithm.
fn color(value: u64, most: u64) -> String {
    const FROM: [f64; 3] = [255.0, 237.0, 200.0];
    const TO: [f64; 3] = [140.0, 10.0, 40.0];
    let part = match most {
        0 | 1 => 1.0,
        most => (value as f64).ln() / (most as f64).ln(),
    };
    let mut text = String::from("#");
    for (from, to) in FROM.iter().zip(TO) {
        // CAST: between 0 and 255.
        let _ = write!(text, "{:02x}", (from + (to - from) * part).round() as u8);
    }
    text
}

fn draw_heat(heat: &Heat, title: &str) -> String {
    let rows = heat.rows.len();
    let below = TOP + rows * LINE;
    let mut out = Picture::new(below + BOTTOM, title);
    let left = room(
        heat.rows
            .iter()
            .map(String::as_str)
            .chain([heat.upwards.as_str()]),
    );
    out.text(left - 10, TOP - 12, "end", &label(&heat.upwards));
    let most = heat.fields.values().copied().max().unwrap_or(0);
    let legend = format!("{}: 1 to {most}, dark is more", heat.value);
    out.text(left, TOP - 12, "start", &legend);
    let width = WIDTH.saturating_sub(left + 20) as f64 / heat.columns.len().max(1) as f64;
    let whole = width * heat.columns.len() as f64;
    out.line(format_args!(
        "<rect x=\"{left}\" y=\"{TOP}\" width=\"{whole:.1}\" height=\"{}\" fill=\"#f6f6f6\"/>",
        rows * LINE
    ));
    for (at, row) in heat.rows.iter().enumerate() {
        out.text(left - 10, below - at * LINE - 5, "end", &label(row));
    }
    for ((column, row), value) in &heat.fields {
        let name = |names: &[String], at: usize| names.get(at).cloned().unwrap_or_default();
        let tells = format!(
            "{} {}, {} {}: {value}",
            heat.across,
            name(&heat.columns, *column),
            heat.upwards,
            name(&heat.rows, *row)
        );
        let x = left as f64 + *column as f64 * width;
        let y = below - (row + 1) * LINE;
        out.mark((x, y), (width, LINE), &color(*value, most), &tells);
    }
    columns(&mut out, heat, left, width, below);
    out.end()
}

/// Names below the columns: as many as there is room for.
fn columns(out: &mut Picture, heat: &Heat, left: usize, width: f64, below: usize) {
    let wide = room(heat.columns.iter().map(String::as_str)) as f64;
    let step = (wide / width).ceil().max(1.0) as usize;
    for (at, column) in heat.columns.iter().enumerate().step_by(step) {
        let x = left as f64 + (at as f64 + 0.5) * width;
        let x = x.round() as usize;
        let (from, to) = (below + 1, below + 5);
        out.line(format_args!(
            "<line x1=\"{x}\" y1=\"{from}\" x2=\"{x}\" y2=\"{to}\" stroke=\"#222\"/>"
        ));
        out.text(x, below + 18, "middle", &label(column));
    }
    out.text((left + WIDTH) / 2, below + 38, "middle", &heat.across);
}

#[cfg(test)]
mod tests {
    use super::super::{chart, table};
    use super::*;

    fn table(keys: &str, lines: &[&str]) -> table::Table {
        let text = format!(
            "# trigger info: hist:keys={keys}:vals=hitcount:sort=hitcount:size=2048 [active]\n{}\n",
            lines.join("\n")
        );
        table::read(&text, "hitcount").expect("a table")
    }

    fn marks(picture: &str) -> Vec<&str> {
        let marks = picture
            .lines()
            .filter(|line| line.contains("class=\"mark\""));
        marks
            .map(|line| {
                line.split("<title>")
                    .nth(1)
                    .and_then(|text| text.split("</title>").next())
                    .expect(line)
            })
            .collect()
    }

    #[test]
    fn bars_of_powers_have_no_gaps() {
        let table = table(
            "bytes.log2",
            &[
                "{ bytes: ~ 2^12 } hitcount:  1",
                "{ bytes: ~ 2^10 } hitcount:  3",
            ],
        );
        let picture = draw(&chart::of_table(&table).expect("a chart"), "sizes");
        assert_eq!(
            marks(&picture),
            ["1K: 3 (75.0%)", "2K: 0 (0.0%)", "4K: 1 (25.0%)"]
        );
        assert!(picture.starts_with("<?xml") && picture.ends_with("</svg>\n"));
        assert!(picture.contains(">sizes</text>"));
    }

    #[test]
    fn bars_of_texts_are_sorted_and_escaped() {
        let table = table(
            "comm",
            &[
                "{ comm: a&b    } hitcount:  1",
                "{ comm: <init> } hitcount:  3",
            ],
        );
        let picture = draw(&chart::of_table(&table).expect("a chart"), "x");
        assert_eq!(
            marks(&picture),
            ["&lt;init&gt;: 3 (75.0%)", "a&amp;b: 1 (25.0%)"]
        );
    }

    #[test]
    fn many_bars_are_joined() {
        let lines: Vec<String> = (0..70)
            .map(|n| format!("{{ comm: c{n} }} hitcount:  {}", n + 1))
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let picture = draw(
            &chart::of_table(&table("comm", &lines)).expect("a chart"),
            "x",
        );
        let marks = marks(&picture);
        assert_eq!(marks.len(), 61);
        assert!(marks[60].starts_with("10 others: 55 "), "{}", marks[60]);
    }

    #[test]
    fn two_keys_are_a_map() {
        let lines = [
            "{ cpu:  0, bytes: ~ 2^10 } hitcount:  3",
            "{ cpu:  1, bytes: ~ 2^12 } hitcount:  9",
        ];
        let picture = draw(
            &chart::of_table(&table("cpu,bytes.log2", &lines)).expect("a chart"),
            "x",
        );
        assert_eq!(
            marks(&picture),
            ["cpu 0, bytes 1K: 3", "cpu 1, bytes 4K: 9"]
        );
        // The most is the darkest.
        assert!(picture.contains("fill=\"#8c0a28\""));
    }

    #[test]
    fn readings_show_what_came_between_them() {
        let reading = |name: &str, hits: u64| {
            let line = format!("{{ bytes: ~ 2^10 }} hitcount:  {hits}");
            (name.to_string(), table("bytes.log2", &[line.as_str()]))
        };
        // It was cleared before the last.
        let readings = [reading("1", 5), reading("2", 12), reading("3", 4)];
        let picture = draw(&chart::of_readings(&readings).expect("a chart"), "x");
        assert_eq!(
            marks(&picture),
            ["reading 2, bytes 1K: 7", "reading 3, bytes 1K: 4"]
        );
        assert!(chart::of_readings(&readings[..1]).is_err());
        let other = [
            reading("1", 5),
            (
                "2".to_string(),
                table("comm", &["{ comm: x } hitcount:  1"]),
            ),
        ];
        assert!(chart::of_readings(&other).is_err());
    }

    #[test]
    fn what_has_no_picture_is_refused() {
        let three = table("a,b,c", &["{ a: 1, b: 2, c: 3 } hitcount:  1"]);
        assert!(chart::of_table(&three).is_err());
        let lines: Vec<String> = (0..70)
            .map(|n| format!("{{ a: 1, b: {n} }} hitcount:  1"))
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let refusal = chart::of_table(&table("a,b", &lines))
            .expect_err("a map")
            .to_string();
        assert!(refusal.contains(".buckets"), "{refusal}");
    }
}
