// SPDX-License-Identifier: GPL-2.0

//! Units in filters: `duration > 1ms` is `duration > 1000000` to the kernel.

use super::mapped::Mapped;
use super::units;

/// Appends the filter `text`, which the user wrote at the column `at`, with numbers in place of
/// those with units, unless they are compared with a field of which `is_text` says that it is text.
pub fn translate(text: &str, at: usize, is_text: impl Fn(&str) -> bool, to: &mut Mapped) {
    let mut field = "";
    let mut rest = text;
    while let Some((word, behind)) = split_word(rest) {
        let here = at + text.len() - rest.len();
        rest = behind;
        let number = units::number(word).filter(|_| !is_text(field));
        match number {
            Some(number) => to.push_instead(&number.to_string(), here),
            None => to.push_written(word, here),
        }
        if is_name(word) {
            field = word.split('.').next().unwrap_or(word);
        }
    }
}

/// Splits the first word, text in quotes, or other character off; `None` at the end.
fn split_word(rest: &str) -> Option<(&str, &str)> {
    let first = rest.chars().next()?;
    let length = match first {
        '"' | '\'' => quoted(rest, first),
        _ if is_of_word(first) => {
            let end = rest.find(|c: char| !is_of_word(c));
            end.unwrap_or(rest.len())
        }
        _ => first.len_utf8(),
    };
    Some(rest.split_at(length))
}

/// The names of the fields in a filter.
pub fn names(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((word, behind)) = split_word(rest) {
        rest = behind;
        if is_name(word) {
            found.push(word.split('.').next().unwrap_or(word));
        }
    }
    found
}

/// Whether a word is the name of a field.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Whether a name or a number can have it.
fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | 'µ')
}

/// How long the text in quotes is that `rest` begins with.
fn quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(text: &str) -> String {
        let mut to = Mapped::default();
        translate(text, 10, |field| field == "file", &mut to);
        to.text().into()
    }

    #[test]
    fn units_become_numbers() {
        for (text, expected) in [
            ("duration > 1ms", "duration > 1000000"),
            ("count>=64K&&ret<0", "count>=65536&&ret<0"),
            (
                "(count > 4K || duration > 1.5s) && !(x & 1K)",
                "(count > 4096 || duration > 1500000000) && !(x & 1024)",
            ),
            ("count > 0x1K", "count > 0x1K"),
            ("count == 10xs", "count == 10xs"),
            ("a1 > b2", "a1 > b2"),
        ] {
            assert_eq!(translated(text), expected);
        }
    }

    #[test]
    fn fields_have_names() {
        let text = r#"duration > 1ms && (comm == "a b" || x.ustring ~ 'c*')"#;
        assert_eq!(names(text), ["duration", "comm", "x"]);
    }

    #[test]
    fn text_stays_what_it_is() {
        for text in [
            r#"file == "1ms""#,
            "file ~ '*1K'",
            "file == 1ms",
            r#"comm == "a\"1ms" && x == 1"#,
            r#"comm == "1ms"#,
        ] {
            assert_eq!(translated(text), text);
        }
        assert_eq!(
            translated("file == 1ms && n == 1K"),
            "file == 1ms && n == 1024"
        );
    }

    #[test]
    fn a_caret_in_a_filter_is_where_the_user_wrote_it() {
        let mut to = Mapped::default();
        translate("duration > 1ms && zz == 3", 10, |_| false, &mut to);
        let at = to.text().find("zz").expect("a field");
        assert_eq!(to.origin(at), 10 + "duration > 1ms && ".len());
        assert_eq!(
            to.origin(to.text().find("1000000").expect("a number") + 3),
            21
        );
    }
}
