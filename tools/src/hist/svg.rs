// SPDX-License-Identifier: GPL-2.0

//! Draws charts as SVG, without scripts: what a mark stands for is its `<title>`, which browsers
//! show under the pointer.

use super::axis::{Axis, Scale, Unit};
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
/// The room at the right of a map, for half of a label.
const MARGIN: usize = 30;
/// A character of the font is so wide, in tenths of a pixel.
const CHARACTER: usize = 73;
/// Labels that are longer are cut.
const LONGEST: usize = 48;
/// The room for the label of a tick below a map.
const LABEL: usize = 70;

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
    labels.map(wide).max().unwrap_or(0) + 20
}

/// How wide a label is, in pixels.
fn wide(text: &str) -> usize {
    label(text).chars().count() * CHARACTER / 10
}

/// The room at the left of an axis from above or from below.
fn room_of(axis: &Axis) -> usize {
    let ticks = axis.ticks(1.0);
    let ticks = ticks.iter().map(|tick| tick.text.as_str());
    let labels = axis.slots.iter().map(|slot| slot.label.as_str());
    room(labels.chain(ticks).chain([axis.name.as_str()]))
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

    fn rule(&mut self, from: (usize, usize), to: (usize, usize), style: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.line(format_args!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {style}/>"
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

/// The line of a tick.
const TICK: &str = "stroke=\"#222\"";
/// Between numbers that are shown to scale and those that are not.
const BREAK: &str = "stroke=\"#888\" stroke-dasharray=\"6 4\"";

/// The labels and ticks at the left of `x`, of an axis whose place `at` is `y(at)`; and, up to
/// `right`, where its scale breaks off.
fn labels(out: &mut Picture, axis: &Axis, (x, right): (usize, usize), y: impl Fn(f64) -> f64) {
    for (at, slot) in axis.slots.iter().enumerate() {
        if !slot.label.is_empty() {
            let middle = y(at as f64 + 0.5).round() as usize;
            out.text(x - 10, middle + 4, "end", &label(&slot.label));
        }
    }
    for tick in axis.ticks(1.0) {
        let y = y(tick.at).round() as usize;
        out.text(x - 10, y + 4, "end", &tick.text);
        out.rule((x - 5, y), (x - 1, y), TICK);
    }
    for at in breaks(axis) {
        let y = y(at as f64).round() as usize;
        out.rule((x, y), (right, y), BREAK);
    }
}

/// The ends of the scale of an axis beyond which there are slots.
fn breaks(axis: &Axis) -> impl Iterator<Item = usize> {
    let (before, end) = (axis.before, axis.slots.len() - axis.behind);
    let before = (before > 0).then_some(before);
    before.into_iter().chain((axis.behind > 0).then_some(end))
}

/// Where the median, the 90th and the 99th percentile are, if the bars are counts of numbers.
fn percentiles(bars: &Bars) -> Option<String> {
    if bars.key.scale == Scale::Names || bars.value != "hitcount" {
        return None;
    }
    let all: u128 = bars.values.iter().map(|value| u128::from(*value)).sum();
    let at = |percent: u128| {
        let rank = (all * percent).div_ceil(100);
        let mut counted = 0;
        let mut slots = bars.key.slots.iter().zip(&bars.values);
        let (slot, _) = slots.find(|(_, value)| {
            counted += u128::from(**value);
            counted >= rank
        })?;
        Some(format!("p{percent} {}", slot.tells))
    };
    Some([at(50)?, at(90)?, at(99)?].join(" · "))
}

fn draw_bars(bars: &Bars, title: &str) -> String {
    let below = TOP + bars.values.len() * LINE;
    let mut out = Picture::new(below + 14, title);
    let left = room_of(&bars.key);
    out.text(left - 10, TOP - 18, "end", &label(&bars.key.name));
    out.text(left, TOP - 18, "start", &bars.value);
    if let Some(percentiles) = percentiles(bars) {
        out.text(WIDTH - 20, TOP - 18, "end", &percentiles);
    }
    let unit = Unit::of(&bars.value);
    let width = WIDTH.saturating_sub(left + RIGHT);
    let most = bars.values.iter().copied().max().unwrap_or(0);
    let all: u128 = bars.values.iter().map(|value| u128::from(*value)).sum();
    out.rule((left, TOP), (left, below), TICK);
    let y = |at: f64| TOP as f64 + at * LINE as f64;
    labels(&mut out, &bars.key, (left, left + width), y);
    for (at, (slot, value)) in bars.key.slots.iter().zip(&bars.values).enumerate() {
        let y = TOP + at * LINE;
        let long = share(*value, most) * width as f64;
        let percent = *value as f64 * 100.0 / all.max(1) as f64;
        let shown = unit.show(*value);
        let tells = format!("{}: {shown} ({percent:.1}%)", slot.tells);
        out.mark((left as f64, y + 2), (long, LINE - 4), "#4878a8", &tells);
        let end = left + long.ceil() as usize + 6;
        out.text(end, y + LINE - 5, "start", &shown);
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

/// The colours, with numbers below them, from `left` on: the powers of ten up to the most, which is the
/// last.
fn legend(out: &mut Picture, value: &str, most: u64, left: usize) {
    let decades = (0..20).filter_map(|n| 10u64.checked_pow(n));
    // One that is nearly the most has the same colour.
    let below = decades.take_while(|number| *number <= most / 2);
    let unit = Unit::of(value);
    let mut x = left;
    out.text(x, TOP - 18, "start", value);
    x += wide(value) + 12;
    for number in below.chain([most]) {
        let text = unit.show(number);
        let fill = color(number, most);
        out.line(format_args!(
            "<rect x=\"{x}\" y=\"{}\" width=\"14\" height=\"12\" fill=\"{fill}\"/>",
            TOP - 28
        ));
        out.text(x + 18, TOP - 18, "start", &text);
        x += 18 + wide(&text) + 14;
    }
}

fn draw_heat(heat: &Heat, title: &str) -> String {
    let rows = heat.upwards.slots.len();
    let below = TOP + rows * LINE;
    let mut out = Picture::new(below + BOTTOM, title);
    let left = room_of(&heat.upwards);
    out.text(left - 10, TOP - 18, "end", &label(&heat.upwards.name));
    let most = heat.fields.values().copied().max().unwrap_or(0);
    legend(&mut out, &heat.value, most, left);
    let whole = WIDTH.saturating_sub(left + MARGIN);
    let width = whole as f64 / heat.across.slots.len().max(1) as f64;
    out.line(format_args!(
        "<rect x=\"{left}\" y=\"{TOP}\" width=\"{whole}\" height=\"{}\" fill=\"#f6f6f6\"/>",
        rows * LINE
    ));
    let unit = Unit::of(&heat.value);
    for ((column, row), value) in &heat.fields {
        let tells = |axis: &Axis, at: usize| match axis.slots.get(at) {
            Some(slot) => format!("{} {}", axis.name, slot.tells),
            None => String::new(),
        };
        let tells = format!(
            "{}, {}: {}",
            tells(&heat.across, *column),
            tells(&heat.upwards, *row),
            unit.show(*value)
        );
        let x = left as f64 + *column as f64 * width;
        let y = below - (row + 1) * LINE;
        out.mark((x, y), (width, LINE), &color(*value, most), &tells);
    }
    labels(&mut out, &heat.upwards, (left, left + whole), |at| {
        below as f64 - at * LINE as f64
    });
    columns(&mut out, &heat.across, (left, left + whole), below);
    out.end()
}

/// What is below the columns: their names, as many as there is room for, or the round numbers.
fn columns(out: &mut Picture, axis: &Axis, (left, right): (usize, usize), below: usize) {
    let width = (right - left) as f64 / axis.slots.len().max(1) as f64;
    let x = |at: f64| (left as f64 + at * width).round() as usize;
    let mut marks: Vec<(usize, String)> = Vec::new();
    if axis.scale == Scale::Names {
        let wide = room(axis.slots.iter().map(|slot| slot.label.as_str())) as f64;
        let step = (wide / width).ceil().max(1.0) as usize;
        let named = axis.slots.iter().enumerate().step_by(step);
        marks.extend(named.map(|(at, slot)| (x(at as f64 + 0.5), label(&slot.label))));
    } else {
        // A label of a tick is narrower.
        let ticks = axis.ticks(LABEL as f64 / width).into_iter();
        marks.extend(ticks.map(|tick| (x(tick.at), tick.text)));
    }
    for (x, text) in marks {
        out.rule((x, below + 1), (x, below + 5), TICK);
        out.text(x, below + 18, "middle", &text);
    }
    for at in breaks(axis) {
        let x = x(at as f64);
        out.rule((x, TOP), (x, below), BREAK);
    }
    // What lies beyond the ends may be narrower than its label.
    let beyond = |slots: &[super::axis::Slot]| {
        let labels: Vec<&str> = slots.iter().map(|slot| slot.label.as_str()).collect();
        labels.join(", ")
    };
    let (before, rest) = axis.slots.split_at(axis.before.min(axis.slots.len()));
    let behind = rest.get(rest.len().saturating_sub(axis.behind)..);
    out.text(left, below + 38, "start", &beyond(before));
    out.text(
        right,
        below + 38,
        "end",
        &beyond(behind.unwrap_or_default()),
    );
    out.text((left + right) / 2, below + 38, "middle", &axis.name);
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
            [
                "512 B to 1 KiB: 3 (75.0%)",
                "1 KiB to 2 KiB: 0 (0.0%)",
                "2 KiB to 4 KiB: 1 (25.0%)"
            ]
        );
        assert!(picture
            .contains(">p50 512 B to 1 KiB · p90 2 KiB to 4 KiB · p99 2 KiB to 4 KiB</text>"));
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
        assert!(!picture.contains("p50"));
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
            [
                "cpu 0, bytes 512 B to 1 KiB: 3",
                "cpu 1, bytes 2 KiB to 4 KiB: 9"
            ]
        );
        // The most is the darkest, in the legend as well.
        assert_eq!(picture.matches("fill=\"#8c0a28\"").count(), 2);
        for number in ["1", "9", "512 B", "1 KiB", "4 KiB"] {
            assert!(picture.contains(&format!(">{number}</text>")), "{number}");
        }
    }

    #[test]
    fn a_stray_is_beyond_a_line() {
        let lines = [
            "{ ns: ~ 2^0 } hitcount:  2",
            "{ ns: ~ 2^20 } hitcount:  50",
            "{ ns: ~ 2^22 } hitcount:  50",
        ];
        let picture = draw(
            &chart::of_table(&table("ns.log2", &lines)).expect("a chart"),
            "x",
        );
        assert_eq!(marks(&picture).len(), 4);
        assert!(picture.contains(">2 below</text>") && picture.contains("stroke-dasharray"));
        assert!(picture.contains(">1 ms</text>") && picture.contains(">2 ms</text>"));
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
            [
                "reading 2, bytes 512 B to 1 KiB: 7",
                "reading 3, bytes 512 B to 1 KiB: 4"
            ]
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
