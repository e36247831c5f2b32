// SPDX-License-Identifier: GPL-2.0

//! What the `format` file of an event says of its fields.

use std::collections::HashSet;

/// How fields are, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Format {
    texts: HashSet<String>,
    hexadecimal: HashSet<String>,
}

impl Format {
    /// Reads the text of a `format` file.
    pub fn parse(text: &str) -> Self {
        let mut format = Self::default();
        for line in text.lines() {
            let line = line.trim();
            if let Some(field) = line.strip_prefix("field:") {
                let field = field.split(';').next().unwrap_or(field);
                let (kind, name) = field.rsplit_once(' ').unwrap_or(("", field));
                let name = name.split('[').next().unwrap_or(name);
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
            if shown.trim_start_matches('{').starts_with("0x%") {
                self.hexadecimal.insert(name.into());
            }
        }
    }

    /// Whether a field has text.
    pub fn is_text(&self, field: &str) -> bool {
        self.texts.contains(field)
    }

    /// Whether a field is shown in hexadecimal.
    pub fn is_hexadecimal(&self, field: &str) -> bool {
        self.hexadecimal.contains(field)
    }
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
             print fmt: \"(%lx) file=\\\"%s\\\" flags=0x%Lx how={0x%Lx,0x%Lx} n=%d\", REC->__probe_ip, x=0x%\n",
        );
        assert!(format.is_text("file") && format.is_text("comm"));
        assert!(!format.is_text("c") && !format.is_text("flags") && !format.is_text("common_type"));
        assert!(format.is_hexadecimal("flags") && format.is_hexadecimal("how"));
        assert!(!format.is_hexadecimal("n") && !format.is_hexadecimal("x"));
    }
}
