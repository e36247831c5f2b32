// SPDX-License-Identifier: GPL-2.0

//! How values are shown to people: with units, names of errors, and no character that a terminal
//! would obey.

use super::definition::Meaning;
use super::units;
use ferroprobe_engine::engine::util::errno;
use serde_json::Value;
use std::fmt::Write;
use unicode_width::UnicodeWidthChar;

/// How a value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Without a unit.
    Plain,
    /// In hexadecimal.
    Hexadecimal,
    /// An address in code; in hexadecimal if it has no name.
    Symbol,
    /// Nanoseconds, with a unit.
    Duration,
    /// Bytes, with a unit.
    Size,
    /// With the name of an error.
    Errno,
}

impl From<Meaning> for Kind {
    fn from(meaning: Meaning) -> Self {
        match meaning {
            Meaning::Duration => Self::Duration,
            Meaning::Errno => Self::Errno,
        }
    }
}

/// What it is, for its colour and its place in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A number, to the right.
    Number,
    /// Text, to the left.
    Text,
    /// An error, or what could not be read.
    Bad,
}

/// The names of what is a number of bytes.
const SIZES: [&str; 11] = [
    "size",
    "len",
    "length",
    "count",
    "bytes",
    "nbytes",
    "nr_bytes",
    "bytes_req",
    "bytes_alloc",
    "bytecount",
    "datalen",
];

/// Whether an argument of that name is a number of bytes.
pub fn is_size(name: &str) -> bool {
    let ends = ["_size", "_len", "_bytes"]
        .iter()
        .any(|end| name.ends_with(end));
    ends || SIZES.contains(&name)
}

/// A value as text; `is_cut` says that there was more of it.
pub fn text(value: &Value, kind: Kind, is_cut: bool) -> (String, Look) {
    let mut text = String::new();
    let look = write(&mut text, value, kind);
    if is_cut {
        text.push_str("...");
    }
    (text, look)
}

fn write(out: &mut String, value: &Value, kind: Kind) -> Look {
    match value {
        Value::Null => {
            out.push_str("(fault)");
            return Look::Bad;
        }
        Value::String(text) => {
            quoted(out, text);
            return Look::Text;
        }
        Value::Array(elements) => {
            for (number, element) in elements.iter().enumerate() {
                out.push(if number == 0 { '{' } else { ',' });
                write(out, element, kind);
            }
            out.push_str(if elements.is_empty() { "{}" } else { "}" });
            return Look::Text;
        }
        Value::Object(members) => {
            for (number, (name, member)) in members.iter().enumerate() {
                out.push(if number == 0 { '{' } else { ' ' });
                out.push_str(name);
                out.push('=');
                write(out, member, Kind::Plain);
            }
            out.push_str(if members.is_empty() { "{}" } else { "}" });
            return Look::Text;
        }
        Value::Bool(_) | Value::Number(_) => {}
    }
    let error = value.as_i64().filter(|_| kind == Kind::Errno);
    if let Some(name) = error.and_then(errno::name).filter(|name| !name.is_empty()) {
        out.push('-');
        out.push_str(name);
        return Look::Bad;
    }
    // Writing to a string does not fail.
    let _ = match (kind, value.as_u64()) {
        (Kind::Hexadecimal | Kind::Symbol, Some(number)) => write!(out, "{number:#x}"),
        (Kind::Duration, Some(number)) => write!(out, "{}", units::duration(number)),
        (Kind::Size, Some(number)) => write!(out, "{}", units::size(number)),
        _ => write!(out, "{value}"),
    };
    Look::Number
}

/// Text in quotes, if it would not be one word without.
fn quoted(out: &mut String, text: &str) {
    let is_word = !text.is_empty() && !text.contains([' ', '"', '=', ',', '{', '}']);
    if is_word {
        plain(out, text);
        return;
    }
    out.push('"');
    plain(out, text);
    out.push('"');
}

/// Text without characters that a terminal obeys or that take no column.
pub fn plain(out: &mut String, text: &str) {
    for c in text.chars() {
        // Writing to a string does not fail.
        let _ = match u32::from(c) {
            0x0a => write!(out, "\\n"),
            0x09 => write!(out, "\\t"),
            // What trace_json has for a byte that is not UTF-8.
            code @ 0xef80..=0xefff => write!(out, "\\x{:02x}", code - 0xef00),
            code if c.is_control() => write!(out, "\\x{code:02x}"),
            code if c.width().unwrap_or(0) == 0 => write!(out, "\\u{{{code:x}}}"),
            _ => write!(out, "{c}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(value: Value, kind: Kind) -> String {
        text(&value, kind, false).0
    }

    #[test]
    fn numbers_have_their_units() {
        assert_eq!(shown(json!(1_204_567), Kind::Duration), "1.204 ms");
        assert_eq!(shown(json!(131_072), Kind::Size), "128K");
        assert_eq!(shown(json!(-1), Kind::Size), "-1");
        assert_eq!(shown(json!(40), Kind::Hexadecimal), "0x28");
        assert_eq!(shown(json!([1, 2]), Kind::Hexadecimal), "{0x1,0x2}");
        assert_eq!(shown(json!(u64::MAX), Kind::Plain), "18446744073709551615");
        for size in ["count", "i_size", "len"] {
            assert!(is_size(size), "{size}");
        }
        assert!(!is_size("account") && !is_size("ret"));
    }

    #[test]
    fn errors_have_their_names() {
        assert_eq!(
            text(&json!(-2), Kind::Errno, false),
            ("-ENOENT".into(), Look::Bad)
        );
        assert_eq!(
            text(&json!(3), Kind::Errno, false),
            ("3".into(), Look::Number)
        );
        assert_eq!(shown(json!(-4095), Kind::Errno), "-4095");
        assert_eq!(shown(json!(-2), Kind::Plain), "-2");
        assert_eq!(
            text(&json!(null), Kind::Plain, false),
            ("(fault)".into(), Look::Bad)
        );
    }

    #[test]
    fn text_is_one_word() {
        assert_eq!(shown(json!("/proc/version"), Kind::Plain), "/proc/version");
        assert_eq!(shown(json!("a b"), Kind::Plain), "\"a b\"");
        assert_eq!(shown(json!(""), Kind::Plain), "\"\"");
        assert_eq!(text(&json!("abc"), Kind::Plain, true).0, "abc...");
        assert_eq!(
            shown(json!({"a": 1, "b": {"c": "x"}}), Kind::Plain),
            "{a=1 b={c=x}}"
        );
        assert_eq!(shown(json!({}), Kind::Plain), "{}");
    }

    #[test]
    fn a_terminal_gets_no_orders() {
        assert_eq!(
            shown(json!("a\u{1b}[31m\nb"), Kind::Plain),
            "a\\x1b[31m\\nb"
        );
        assert_eq!(shown(json!("\u{efff}é"), Kind::Plain), "\\xffé");
        assert_eq!(shown(json!("a\u{202e}b"), Kind::Plain), "a\\u{202e}b");
    }
}
