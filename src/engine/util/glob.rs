// SPDX-License-Identifier: GPL-2.0

//! Matches text against a pattern with `*`, `?`, `[...]` and `\`.

use crate::engine::util::steps::StepBudget;

/// Returns whether all of `text` matches `pattern`.
///
/// `*` matches any bytes, `?` one byte; `[abc]`, `[a-c]` and `[!abc]` match one byte of a
/// set; `\` makes the next byte literal. A `[` that is not closed is literal. Takes time
/// proportional to the product of the lengths, and no memory.
///
/// Context: any.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    matches_within(pattern, text, &mut StepBudget::plenty()).unwrap_or(false)
}

/// [`matches`] with a budget of `steps`; `None` if it does not suffice. A step compares a byte of
/// the text with one place of the pattern or one byte of a set.
///
/// Context: any.
pub fn matches_within(pattern: &[u8], text: &[u8], steps: &mut StepBudget) -> Option<bool> {
    let (mut pattern, mut text) = (pattern, text);
    // The state to resume from if the part behind the last `*` does not match.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        steps.take(1);
        if steps.are_over() {
            return None;
        }
        if let Some(rest) = pattern.strip_prefix(b"*") {
            pattern = rest;
            retry = Some((rest, text));
            continue;
        }
        let step = match (pattern.is_empty(), text.split_first()) {
            (true, None) => return Some(true),
            (false, Some((&byte, rest))) => one(pattern, byte, steps).map(|after| (after, rest)),
            _ => None,
        };
        (pattern, text) = match (step, retry) {
            (Some(next), _) => next,
            // Let the star match one byte more.
            (None, Some((after, [_, rest @ ..]))) => {
                retry = Some((after, rest));
                (after, rest)
            }
            (None, _) => return Some(false),
        };
    }
}

/// Matches `byte` with the start of `pattern`; returns the rest of the pattern.
#[inline(always)]
fn one<'p>(pattern: &'p [u8], byte: u8, steps: &mut StepBudget) -> Option<&'p [u8]> {
    match pattern {
        [b'?', rest @ ..] => Some(rest),
        [b'\\', literal, rest @ ..] => (*literal == byte).then_some(rest),
        [b'[', set @ ..] => {
            let found = class(set, byte);
            let rest = found.map_or(0, |(_, rest)| rest.len());
            steps.take(set.len().saturating_sub(rest));
            match found {
                Some((true, rest)) => Some(rest),
                Some((false, _)) => None,
                None => (byte == b'[').then_some(set),
            }
        }
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

/// Longest pattern of a [`Partial`] match.
pub const LONGEST: usize = 255;

/// Matches a text that comes in pieces.
///
/// Keeps the places of the pattern that the text so far can have reached, not the text. Reaching a
/// `*` makes all earlier places obsolete, so all places lie in one part of the pattern between two
/// `*`.
///
/// Context: any.
pub struct Partial<'a> {
    pattern: &'a [u8],
    /// A bit for each place.
    places: [u64; LONGEST.div_ceil(64)],
}

impl<'a> Partial<'a> {
    /// Begins to match the empty text with `pattern`, of at most [`LONGEST`] bytes.
    pub fn new(pattern: &'a [u8]) -> Self {
        let mut partial = Self {
            pattern,
            places: Default::default(),
        };
        partial.reach(0);
        partial
    }

    /// Appends `piece` to the text. Takes time proportional to the product of the lengths; when
    /// `steps` are exhausted, the rest is ignored.
    pub fn add(&mut self, piece: &[u8], steps: &mut StepBudget) {
        for &byte in piece {
            steps.take(1);
            if steps.are_over() {
                return;
            }
            let before = core::mem::take(&mut self.places);
            for (nth, mut word) in before.into_iter().enumerate() {
                while word != 0 {
                    // CAST: less than 64.
                    let bit = word.trailing_zeros() as usize;
                    word &= word.wrapping_sub(1);
                    steps.take(1);
                    self.step(nth.wrapping_mul(64).wrapping_add(bit), byte, steps);
                }
            }
        }
    }

    /// Advances one place by one byte.
    fn step(&mut self, place: usize, byte: u8, steps: &mut StepBudget) {
        let rest = self.pattern.get(place..).unwrap_or_default();
        if rest.first() == Some(&b'*') {
            self.reach(place);
        } else if let Some(behind) = one(rest, byte, steps) {
            self.reach(self.pattern.len().wrapping_sub(behind.len()));
        }
    }

    /// Adds a place, and the places behind any `*` that starts there.
    fn reach(&mut self, place: usize) {
        let rest = self.pattern.get(place..).unwrap_or_default();
        let stars = rest.iter().take_while(|&&byte| byte == b'*').count();
        if stars == 0 {
            return self.mark(place);
        }
        self.places = Default::default();
        let behind = place.wrapping_add(stars);
        self.mark(behind.wrapping_sub(1));
        self.mark(behind);
    }

    fn mark(&mut self, place: usize) {
        if let Some(word) = self.places.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    fn is_at(&self, place: usize) -> bool {
        let word = self.places.get(place / 64).copied().unwrap_or(0);
        word >> (place % 64) & 1 != 0
    }

    /// Returns whether the text so far matches.
    pub fn is_match(&self) -> bool {
        self.is_at(self.pattern.len())
    }

    /// Returns whether the text matches, if later pieces cannot change that.
    pub fn decided(&self) -> Option<bool> {
        if self.places.iter().all(|&word| word == 0) {
            return Some(false);
        }
        // Only an unescaped star outside of sets is a place.
        let last = self.pattern.len().checked_sub(1)?;
        let is_star = self.pattern.last() == Some(&b'*');
        (is_star && self.is_at(last)).then_some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::{matches, matches_within, Partial, StepBudget};

    #[test]
    fn pieces_match_as_the_whole() {
        let patterns: [&[u8]; 20] = [
            b"", b"*", b"**", b"a*", b"*a", b"*ab*", b"*a*b", b"a?b", b"?*?", b"*[ab]c*",
            b"[!a]*b", b"\\**", b"*\\*", b"a[*]", b"*[", b"[]a]*", b"*aab", b"*a?a*b?", b"a**b",
            b"\\",
        ];
        let letters = b"abc*[\\";
        let mut seed = 1u32;
        for n in 0..20_000usize {
            let mut random = |below: usize| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 16) as usize % below
            };
            let text: Vec<u8> = (0..random(12)).map(|_| letters[random(6)]).collect();
            let pattern = patterns[n % patterns.len()];
            let whole = matches(pattern, &text);
            let (first, second) = text.split_at(random(text.len() + 1));
            let mut partial = Partial::new(pattern);
            partial.add(first, &mut StepBudget::plenty());
            assert!(
                partial.decided().is_none_or(|it| it == whole),
                "{pattern:?} {text:?}"
            );
            partial.add(second, &mut StepBudget::plenty());
            assert_eq!(partial.is_match(), whole, "{pattern:?} {text:?}");
        }
    }

    #[test]
    fn long_patterns_match_in_pieces() {
        let pattern = [&b"*"[..], &b"?".repeat(253), b"x"].concat();
        for (length, last) in [(253, b'x'), (252, b'x'), (4000, b'x'), (4000, b'y')] {
            let mut text = b"y".repeat(length);
            text.push(last);
            let mut partial = Partial::new(&pattern);
            let pieces = text.chunks(100);
            pieces.for_each(|piece| partial.add(piece, &mut StepBudget::plenty()));
            assert_eq!(
                partial.is_match(),
                length >= 253 && last == b'x',
                "{length}"
            );
        }
    }

    #[test]
    fn steps_are_bounded() {
        let set = [&b"*["[..], &b"b".repeat(200), b"]c"].concat();
        for pattern in [&[b"*", &b"a".repeat(200)[..], b"b"].concat(), &set] {
            let text = b"a".repeat(4000);
            assert!(!matches(pattern, &text));
            assert_eq!(
                matches_within(pattern, &text, &mut StepBudget::new(100_000)),
                None
            );
            let mut steps = StepBudget::new(100_000);
            Partial::new(pattern).add(&text, &mut steps);
            assert!(steps.are_over());
            let mut steps = StepBudget::new(100_000);
            assert_eq!(
                matches_within(pattern, &text[..200], &mut steps),
                Some(false)
            );
            assert!(!steps.are_over());
        }
    }

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
