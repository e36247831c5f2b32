// SPDX-License-Identifier: GPL-2.0

//! Matches text against a pattern with `*`, `?`, `[...]` and `\`.

/// Returns whether all of `text` matches `pattern`.
///
/// `*` matches any bytes, `?` one byte; `[abc]`, `[a-c]` and `[!abc]` match one byte of a
/// set; `\` makes the next byte literal. A `[` that is not closed is literal. Takes time
/// proportional to the product of the lengths, and no memory.
///
/// Context: any.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    // The state to resume from if the part behind the last `*` does not match.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let Some(rest) = pattern.strip_prefix(b"*") {
            pattern = rest;
            retry = Some((rest, text));
            continue;
        }
        let step = match (pattern.is_empty(), text.split_first()) {
            (true, None) => return true,
            (false, Some((&byte, rest))) => one(pattern, byte).map(|after| (after, rest)),
            _ => None,
        };
        (pattern, text) = match (step, retry) {
            (Some(next), _) => next,
            // The star matches one byte more.
            (None, Some((after, [_, rest @ ..]))) => {
                retry = Some((after, rest));
                (after, rest)
            }
            (None, _) => return false,
        };
    }
}

/// Matches `byte` with the start of `pattern`; returns the rest of the pattern.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [b'?', rest @ ..] => Some(rest),
        [b'\\', literal, rest @ ..] => (*literal == byte).then_some(rest),
        [b'[', set @ ..] => match class(set, byte) {
            Some((true, rest)) => Some(rest),
            Some((false, _)) => None,
            None => (byte == b'[').then_some(set),
        },
        [literal, rest @ ..] => (*literal == byte).then_some(rest),
        [] => None,
    }
}

/// Returns whether `byte` is in the set that starts behind `[`, and the part behind the
/// set; `None` if the set is not closed.
fn class(set: &[u8], byte: u8) -> Option<(bool, &[u8])> {
    let (inverted, mut set) = match set {
        [b'!', rest @ ..] => (true, rest),
        set => (false, set),
    };
    let mut found = false;
    let mut first = true;
    loop {
        let low;
        (low, set) = match set {
            [b']', rest @ ..] if !first => return Some((found != inverted, rest)),
            [low, rest @ ..] => (*low, rest),
            [] => return None,
        };
        first = false;
        let high = match set {
            [b'-', high, rest @ ..] if *high != b']' => {
                set = rest;
                *high
            }
            _ => low,
        };
        found |= (low..=high).contains(&byte);
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        let yes = [
            ("", ""),
            ("*", ""),
            ("*", "abc"),
            ("a*c", "abbc"),
            ("a*b*c", "a1b2b3c"),
            ("?b", "ab"),
            ("[ab]c", "bc"),
            ("[a-c]", "b"),
            ("[!a-c]", "d"),
            ("[]]", "]"),
            ("[a-]", "-"),
            ("\\*", "*"),
            ("[abc", "[abc"),
            ("*ab", "aab"),
        ];
        for (pattern, text) in yes {
            assert!(
                matches(pattern.as_bytes(), text.as_bytes()),
                "{pattern} {text}"
            );
        }
        let no = [
            ("", "a"),
            ("a", ""),
            ("a*c", "ab"),
            ("?", ""),
            ("[ab]", "c"),
            ("[!a]", "a"),
            ("\\*", "a"),
            ("a?", "a"),
            ("*ab", "aba"),
        ];
        for (pattern, text) in no {
            assert!(
                !matches(pattern.as_bytes(), text.as_bytes()),
                "{pattern} {text}"
            );
        }
    }
}
