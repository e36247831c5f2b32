// SPDX-License-Identifier: GPL-2.0

//! What the `format` file of an event says of its fields.

use std::collections::{HashMap, HashSet};

/// How fields are, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Format {
    names: Vec<String>,
    texts: HashSet<String>,
    hexadecimal: HashSet<String>,
    symbols: HashSet<String>,
    decimal: HashSet<String>,
    types: HashMap<String, &'static str>,
}

impl Format {
    /// Reads the text of a `format` file.
    pub fn parse(text: &str) -> Self {
        let mut format = Self::default();
        for line in text.lines() {
            let line = line.trim();
            if let Some(field) = line.strip_prefix("field:") {
                let mut columns = field.split(';');
                let field = columns.next().unwrap_or(field);
                let (kind, name) = field.rsplit_once(' ').unwrap_or(("", field));
                let is_array = name.contains('[');
                let name = name.split('[').next().unwrap_or(name);
                format.names.push(name.into());
                let number = integer(&columns.map(str::trim).collect::<Vec<_>>());
                if let Some(number) = number.filter(|_| !is_array) {
                    format.types.insert(name.into(), number);
                }
                if kind.contains("char") && (kind.contains('[') || field.ends_with(']')) {
                    format.texts.insert(name.into());
                }
            } else if let Some(printed) = line.strip_prefix("print fmt:") {
                format.read_printed(printed);
            }
        }
        format
    }

    fn read_printed(&mut self, printed: &str) {
        // What is printed, without what it is printed of.
        let end = printed.find("\", ").unwrap_or(printed.len());
        for word in printed[..end].split([' ', '"']) {
            let Some((name, shown)) = word.split_once('=') else {
                continue;
            };
            if shown.starts_with("%pS") || shown.starts_with("%ps") {
                self.symbols.insert(name.into());
            } else if ["0x%", "%p", "%#"]
                .iter()
                .any(|begin| shown.trim_start_matches('{').starts_with(begin))
            {
                self.hexadecimal.insert(name.into());
            } else if is_decimal(shown) {
                self.decimal.insert(name.into());
            }
        }
    }

    /// The fields, in their order, without those of all events and of the probe.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = |name: &&str| !name.starts_with("common_") && !name.starts_with("__");
        self.names.iter().map(String::as_str).filter(own)
    }

    /// Whether there is such a field.
    pub fn has(&self, field: &str) -> bool {
        self.names.iter().any(|name| name == field)
    }

    /// Whether a field is one number.
    pub fn is_number(&self, field: &str) -> bool {
        self.types.contains_key(field)
    }

    /// Whether a field is a number that may be below zero.
    pub fn is_signed(&self, field: &str) -> bool {
        let number = self.types.get(field);
        number.is_some_and(|number| number.starts_with('s'))
    }

    /// Whether a field has text.
    pub fn is_text(&self, field: &str) -> bool {
        self.texts.contains(field)
    }

    /// Whether a field is shown in hexadecimal.
    pub fn is_hexadecimal(&self, field: &str) -> bool {
        self.hexadecimal.contains(field)
    }

    /// Whether a field is an address in code, which is shown by its name.
    pub fn is_symbol(&self, field: &str) -> bool {
        self.symbols.contains(field)
    }

    /// The fetch type of a field that is no address or mask: it has a sign, or is shown as a decimal
    /// number.
    pub fn decimal_type(&self, field: &str) -> Option<&'static str> {
        let number = self.types.get(field).copied();
        number.filter(|number| number.starts_with('s') || self.decimal.contains(field))
    }
}

/// The fetch type of a number, of the columns behind its name: `offset:8`, `size:4`, `signed:1`.
fn integer(columns: &[&str]) -> Option<&'static str> {
    let column = |name: &str| columns.iter().find_map(|column| column.strip_prefix(name));
    Some(match (column("size:")?, column("signed:")?) {
        ("1", "0") => "u8",
        ("1", _) => "s8",
        ("2", "0") => "u16",
        ("2", _) => "s16",
        ("4", "0") => "u32",
        ("4", _) => "s32",
        ("8", "0") => "u64",
        ("8", _) => "s64",
        _ => return None,
    })
}

/// Whether a `printf` format is one of decimal numbers: `%d`, `%03d`, `%Lu`.
fn is_decimal(shown: &str) -> bool {
    let width = |c: char| c.is_ascii_digit() || matches!(c, 'h' | 'l' | 'L' | 'z' | '-');
    let letter = shown
        .strip_prefix('%')
        .map(|rest| rest.trim_start_matches(width));
    letter.is_some_and(|rest| rest.starts_with(['d', 'i', 'u']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_what_the_format_says() {
        let format = Format::parse(
            "name: open\nID: 33000\nformat:\n\
             \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
             \tfield:__data_loc char[] file;\toffset:24;\tsize:4;\tsigned:0;\n\
             \tfield:char comm[16];\toffset:24;\tsize:16;\tsigned:0;\n\
             \tfield:unsigned char c;\toffset:28;\tsize:1;\tsigned:0;\n\
             \tfield:u64 flags;\toffset:32;\tsize:8;\tsigned:0;\n\n\
             print fmt: \"(%lx) file=\\\"%s\\\" flags=0x%Lx how={0x%Lx,0x%Lx} n=%d at=%pS p=%p\", REC->__probe_ip, x=0x%\n",
        );
        assert!(format.is_text("file") && format.is_text("comm"));
        assert!(!format.is_text("c") && !format.is_text("flags") && !format.is_text("common_type"));
        assert!(format.is_hexadecimal("flags") && format.is_hexadecimal("how"));
        assert!(format.is_symbol("at") && format.is_hexadecimal("p") && !format.is_symbol("p"));
        assert!(!format.is_hexadecimal("n") && !format.is_hexadecimal("x"));
    }

    #[test]
    fn numbers_have_the_types_of_their_fields() {
        let format = Format::parse(
            "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
             \tfield:pid_t next_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
             \tfield:size_t bytes;\toffset:32;\tsize:8;\tsigned:0;\n\
             \tfield:const void * ptr;\toffset:40;\tsize:8;\tsigned:0;\n\
             \tfield:u8 cpus[4];\toffset:48;\tsize:4;\tsigned:0;\n\
             \tfield:long ret;\toffset:56;\tsize:8;\tsigned:1;\n\
             \tfield:u32 flags;\toffset:52;\tsize:4;\tsigned:0;\n\n\
             print fmt: \"prev_comm=%s next_pid=%d bytes=%zu ptr=%p cpus=%d flags=0x%x\", REC->ptr\n",
        );
        assert_eq!(format.decimal_type("next_pid"), Some("s32"));
        assert_eq!(format.decimal_type("bytes"), Some("u64"));
        assert_eq!(format.decimal_type("ret"), Some("s64"));
        for other in ["prev_comm", "ptr", "cpus", "flags", "nosuch"] {
            assert_eq!(format.decimal_type(other), None, "{other}");
        }
        assert!(is_decimal("%03d") && !is_decimal("%s") && !is_decimal("d"));
    }
}
