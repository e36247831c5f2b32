// SPDX-License-Identifier: GPL-2.0

//! Finds names similar to a misspelt one.

use core::fmt;

use crate::engine::util::text::Plain;

/// Longest suggested name. Rust symbols are long.
const MAX_LEN: usize = 160;

/// Maximum number of suggested names.
const MAX_NAMES: usize = 3;

/// Rank of one edit: more than any number of additional letters.
const EDIT: usize = 2 * MAX_LEN;

/// Shortest name that is searched as a substring.
const MIN_WHOLE: usize = 4;

/// The kernel's prefixes of system call functions, current and former.
const OF_CALLS: [&[u8]; 4] = [b"__x64_sys_", b"__arm64_sys_", b"__x64_", b"__arm64_"];

/// Prefixes of symbols that compilers add for a function, where no function begins.
const OF_COMPILERS: [&[u8]; 2] = [b"__pfx_", b"__cfi_"];

/// The kernel's suffix of allocation functions.
const NO_PROFILE: &[u8] = b"_noprof";

/// A similar name.
#[derive(Clone, Copy)]
struct Similar {
    /// Lower is more similar.
    rank: usize,
    len: usize,
    bytes: [u8; MAX_LEN],
}

impl Similar {
    fn name(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Length and set of letters of a name, a cheap test that rules out most names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    letters: u64,
    len: u32,
    /// The number of dots.
    dots: u32,
}

impl Outline {
    /// Returns the outline of `name`.
    pub fn of(name: &[u8]) -> Self {
        let number = |count| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            letters: letters(name),
            len: number(name.len()),
            dots: number(name.iter().filter(|&&byte| byte == b'.').count()),
        }
    }

    /// Appends the outline `rest`. Numbers wrap, which is faster; no name is that long.
    #[inline]
    pub fn append(&mut self, rest: &Self) {
        self.letters |= rest.letters;
        self.len = self.len.wrapping_add(rest.len);
        self.dots = self.dots.wrapping_add(rest.dots);
    }
}

/// The outlines that names similar to a given one can have.
#[derive(Clone, Copy)]
pub struct Look {
    len: u32,
    letters: u64,
    most: u32,
    /// The letters of a name that must occur in names which contain it as a substring, if those are
    /// sought.
    whole: Option<u64>,
}

impl Look {
    /// Returns whether no symbol with a prefix of this outline can be similar, or a clone of a
    /// similar one.
    #[inline]
    pub fn rules_out(&self, start: &Outline) -> bool {
        // A name that contains the given one may have any prefix.
        self.whole.is_none() && start.dots == 0 && !self.is_within(start.letters & !self.letters)
    }

    /// Returns whether a symbol of this outline can be similar, or a clone of a similar one. This
    /// cheap test rules out most names.
    #[inline]
    pub fn may_be(&self, outline: &Outline) -> bool {
        if self
            .whole
            .is_some_and(|whole| whole & !outline.letters == 0)
        {
            return true;
        }
        if outline.dots == 0 || self.letters & DOT != 0 {
            return self.is_near(outline.len, outline.letters);
        }
        // The part before the dot may be similar.
        self.len <= outline.len.saturating_add(self.most)
            && self.is_within(self.letters & !outline.letters)
    }

    #[inline]
    fn is_near(&self, len: u32, letters: u64) -> bool {
        // An edit adds and removes at most one letter.
        self.len.abs_diff(len) <= self.most
            && self.is_within(letters & !self.letters)
            && self.is_within(self.letters & !letters)
    }

    /// Returns whether `set` has no more bits than edits are allowed.
    #[inline]
    fn is_within(&self, set: u64) -> bool {
        const { assert!(MOST == 2) };
        // Without a population count, which many of the kernel's target processors lack.
        let without_lowest = |set: u64| set & set.wrapping_sub(1);
        let rest = match self.most {
            0 => set,
            1 => without_lowest(set),
            _ => without_lowest(without_lowest(set)),
        };
        rest == 0
    }
}

/// The known names most similar to a given one, in descending order of similarity.
///
/// Does not allocate, so that names can be considered in atomic context.
pub struct Nearest<'a> {
    name: &'a [u8],
    look: Look,
    names: [Option<Similar>; MAX_NAMES],
}

impl<'a> Nearest<'a> {
    /// Searches for names similar to `name`: one edit for each four characters, at most two.
    pub fn to(name: &'a [u8]) -> Self {
        Self::within(name, (name.len() / 4).min(MOST))
    }

    /// Searches for names similar to `name`, which is known to be wrong: one edit for each three
    /// characters, at most two.
    pub fn to_wrong(name: &'a [u8]) -> Self {
        Self::within(name, (name.len() / 3).min(MOST))
    }

    /// Like [`Nearest::to_wrong`], for a symbol. Symbols that contain the name as whole words rank
    /// before those with edits: the name may come from an older kernel.
    pub fn to_wrong_symbol(name: &'a [u8]) -> Self {
        let mut nearest = Self::to_wrong(name);
        let whole = nearest.whole();
        if whole.len() >= MIN_WHOLE && !whole.contains(&b'.') {
            nearest.look.whole = Some(letters(whole));
        }
        nearest
    }

    fn within(name: &'a [u8], most: usize) -> Self {
        // Longer names have no suggestions, and would take long to compare.
        let (name, most) = match name.len() <= const { MAX_LEN + MOST } {
            true => (name, most),
            false => (&[][..], 0),
        };
        Self {
            name,
            look: Look {
                len: u32::try_from(name.len()).unwrap_or(u32::MAX),
                letters: letters(name),
                most: u32::try_from(most).unwrap_or(u32::MAX),
                whole: None,
            },
            names: [None; MAX_NAMES],
        }
    }

    /// Returns the outlines of possible suggestions.
    pub fn look(&self) -> Look {
        self.look
    }

    /// Considers `other`.
    pub fn consider(&mut self, other: &[u8]) {
        self.consider_whole(None, other);
    }

    fn consider_whole(&mut self, module: Option<&[u8]>, other: &[u8]) {
        if let Some(edits) = self.distance(other).filter(|edits| *edits > 0) {
            self.add(module, other, rank(edits));
        }
    }

    /// Considers the symbol `other`. If the given name has no suffix, a clone made by the compiler,
    /// such as `NAME.isra.0`, ranks like `NAME`.
    pub fn consider_symbol(&mut self, other: &[u8]) {
        self.consider_symbol_of(None, other);
    }

    /// Considers the symbol `other` of `module`, as `MODULE:SYMBOL`.
    pub fn consider_symbol_of(&mut self, module: Option<&[u8]>, other: &[u8]) {
        if self.name.is_empty() || OF_COMPILERS.iter().any(|it| other.starts_with(it)) {
            return;
        }
        let dot = other.iter().position(|&byte| byte == b'.');
        let Some((base, suffix)) = dot
            .filter(|_| !self.name.contains(&b'.'))
            .and_then(|dot| other.split_at_checked(dot))
        else {
            return match self.besides(other) {
                Some(besides) => self.add(module, other, besides),
                None => self.consider_whole(module, other),
            };
        };
        // The cold part of a function is rarely meant.
        let is_cold = suffix
            .split(|&byte| byte == b'.')
            .any(|part| part == b"cold");
        match (self.distance(base), self.besides(base)) {
            (Some(0), _) if is_cold => self.add(module, other, const { EDIT - 1 }),
            (Some(0), _) => self.add(module, other, 0),
            (_, Some(besides)) if !is_cold => self.add(module, other, besides),
            (Some(edits), _) if !is_cold => self.add(module, other, rank(edits)),
            // The name may lack a dot.
            _ => self.consider_whole(module, other),
        }
    }

    /// Returns the substring to search for: the name without leading underscores.
    fn whole(&self) -> &'a [u8] {
        let start = self.name.iter().take_while(|&&byte| byte == b'_').count();
        self.name.get(start..).unwrap_or_default()
    }

    /// If `other` contains the name as whole words, returns the number of its further letters, not
    /// counting the kernel's prefixes and suffixes.
    fn besides(&self, other: &[u8]) -> Option<usize> {
        self.look.whole?;
        let whole = self.whole();
        let last = other.len().checked_sub(whole.len())?;
        let ends = |byte: Option<&u8>| byte.is_none_or(|byte| *byte == b'_');
        let (before, behind) = (0..=last).find_map(|at| {
            let (before, rest) = other.split_at_checked(at)?;
            let behind = rest.strip_prefix(whole)?;
            (ends(before.last()) && ends(behind.first())).then_some((before, behind))
        })?;
        let is_same = before.len().saturating_add(behind.len()) == 0 && whole == self.name;
        let before = match OF_CALLS.contains(&before) {
            true => 0,
            false => before.len(),
        };
        let underscores = other.iter().take_while(|&&byte| byte == b'_').count();
        let behind = behind.strip_suffix(NO_PROFILE).unwrap_or(behind).len();
        let besides = before.saturating_sub(underscores).saturating_add(behind);
        (!is_same && other.len() <= MAX_LEN).then_some(besides.saturating_add(1))
    }

    /// Returns the distance between the name and `other`, if they are similar.
    fn distance(&self, other: &[u8]) -> Option<usize> {
        // CAST: At most MOST.
        let most = self.look.most as usize;
        let may_be = self.name.len().abs_diff(other.len()) <= most
            && self.look.is_near(self.look.len, letters(other));
        may_be.then(|| distance(self.name, other, most)).flatten()
    }

    fn add(&mut self, module: Option<&[u8]>, other: &[u8], rank: usize) {
        let mut bytes = [0; MAX_LEN];
        let mut len = 0usize;
        let colon: &[u8] = if module.is_some() { b":" } else { b"" };
        for part in [module.unwrap_or_default(), colon, other] {
            let end = len.saturating_add(part.len());
            let Some(to) = bytes.get_mut(len..end) else {
                return;
            };
            to.copy_from_slice(part);
            len = end;
        }
        let new = Similar { rank, len, bytes };
        if self.names().any(|name| name == new.name()) {
            return;
        }
        let mut new = Some(new);
        // Less similar names move back, and the last one is dropped.
        let mut is_placed = false;
        for slot in &mut self.names {
            is_placed |= slot.as_ref().is_none_or(|old| rank < old.rank);
            if is_placed {
                core::mem::swap(slot, &mut new);
            }
        }
    }

    fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().flatten().map(Similar::name)
    }

    /// Returns whether no name is similar.
    pub fn is_none(&self) -> bool {
        self.names().next().is_none()
    }
}

impl fmt::Display for Nearest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, name) in self.names().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            write!(f, "{comma}{}", Plain(name))?;
        }
        Ok(())
    }
}

/// Returns the rank for a number of edits.
fn rank(edits: usize) -> usize {
    edits.wrapping_mul(EDIT)
}

/// The bit of the dot that begins a suffix.
const DOT: u64 = bit(b'.');

/// Returns the bit of a character. Digits and the dot share bits with some capital letters.
const fn bit(letter: u8) -> u64 {
    let mask = if letter < b'@' { 15 } else { 63 };
    1u64.wrapping_shl((letter & mask) as u32)
}

/// Returns the set of characters of `name`; some characters share a bit.
fn letters(name: &[u8]) -> u64 {
    name.iter().fold(0, |all, &letter| all | bit(letter))
}

/// Maximum number of allowed edits.
const MOST: usize = 2;

/// Width of the band of the distance table that can be within [`MOST`]: cell `k` of row `i` is the
/// distance between the first `i` characters and the first `i + k - MOST` of the other name.
const WIDTH: usize = 2 * MOST + 1;

/// A distance beyond the limit.
const FAR: u8 = u8::MAX / 2;

/// Returns the Damerau-Levenshtein distance between `a` and `b`, in which neighbours may be
/// swapped; `None` if it is more than `most`.
///
/// Ends at the first row without a cell within `most`, so that most pairs of names take a few rows.
fn distance(a: &[u8], b: &[u8], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most.min(MOST) {
        return None;
    }
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (a.get(same..)?, b.get(same..)?);
    // Rows of the table for the last two characters of `a`, besides the current row.
    let (mut before_last, mut last) = ([FAR; WIDTH], [FAR, FAR, 0, 1, 2]);
    for (i, &x) in (1usize..).zip(a) {
        let mut row = [FAR; WIDTH];
        let (mut left, mut least) = (FAR, FAR);
        let above = last.iter().skip(1).chain(&[FAR]);
        let cells = row.iter_mut().zip(&last).zip(above).zip(&before_last);
        for (k, (((cell, &diagonal), &above), &swapped)) in cells.enumerate() {
            // The length of the prefix of `b`.
            let Some(j) = i.saturating_add(k).checked_sub(MOST) else {
                continue;
            };
            let Some(at) = j.checked_sub(1) else {
                // CAST: At most MOST, as k is 0 or more.
                *cell = i as u8;
                (left, least) = (*cell, least.min(*cell));
                continue;
            };
            let Some(&y) = b.get(at) else {
                break;
            };
            let mut edits = diagonal.saturating_add(u8::from(x != y));
            edits = edits
                .min(above.saturating_add(1))
                .min(left.saturating_add(1));
            let before = |name: &[u8], n: usize| name.get(n.checked_sub(2)?).copied();
            if x != y && before(a, i) == Some(y) && before(b, j) == Some(x) {
                edits = edits.min(swapped.saturating_add(1));
            }
            *cell = edits;
            (left, least) = (edits, least.min(edits));
        }
        if usize::from(least) > most {
            return None;
        }
        (before_last, last) = (last, row);
    }
    // The band is centred on the diagonal: for equal lengths, the result is in its middle.
    let end = b.len().saturating_add(MOST).checked_sub(a.len())?;
    let edits = usize::from(*last.get(end)?);
    (edits <= most).then_some(edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(name: &str, others: &[&str]) -> String {
        let mut nearest = Nearest::to(name.as_bytes());
        for other in others {
            nearest.consider(other.as_bytes());
        }
        nearest.to_string()
    }

    #[test]
    fn the_most_similar_names_are_found() {
        let known = ["sched_switch", "sched_wakeup", "sched_waking", "sys_enter"];
        assert_eq!(nearest("sched_swich", &known), "sched_switch");
        assert_eq!(nearest("sched_wakeupp", &known), "sched_wakeup");
        assert_eq!(nearest("sys_etner", &known), "sys_enter");
        assert_eq!(nearest("foo_bar", &known), "");
        assert_eq!(nearest("sys", &["sy", "syx"]), "");
    }

    #[test]
    fn the_most_similar_come_first_and_three_are_kept() {
        let known = [
            "vfs_wrxte",
            "vfs_wrxyte",
            "vfs_wirte",
            "vfs_read",
            "vfs_write",
            "vfs_wxyte",
        ];
        assert_eq!(
            nearest("vfs_writ", &known),
            "vfs_write, vfs_wrxte, vfs_wirte"
        );
    }

    #[test]
    fn clones_are_as_similar_as_their_function() {
        let mut nearest = Nearest::to_wrong(b"vfs_read");
        for symbol in [
            "vfs_reab",
            "vfs_read.isra.0.cold",
            "vfs_read.isra.0",
            "vfs_reed.isra.0",
            "vfs_reed.cold",
        ] {
            nearest.consider_symbol(symbol.as_bytes());
        }
        assert_eq!(
            nearest.to_string(),
            "vfs_read.isra.0, vfs_read.isra.0.cold, vfs_reab"
        );
    }

    #[test]
    fn what_contains_the_name_as_words_comes_first() {
        let similar = |name: &str, others: &[&str]| {
            let mut nearest = Nearest::to_wrong_symbol(name.as_bytes());
            for symbol in others {
                let look = nearest.look();
                let start = Outline::of(&symbol.as_bytes()[..symbol.len() / 2]);
                let may_be = look.may_be(&Outline::of(symbol.as_bytes()));
                let before = nearest.to_string();
                nearest.consider_symbol(symbol.as_bytes());
                if nearest.to_string() != before {
                    assert!(may_be && !look.rules_out(&start), "{name} {symbol}");
                }
            }
            nearest.to_string()
        };
        let open = [
            "sgx_open",
            "vfs_open",
            "do_sys_openat2",
            "__ia32_compat_sys_open",
            "__ia32_sys_open",
            "do_sys_open",
            "__arm64_sys_openat",
            "__x64_sys_open",
        ];
        let found = "__x64_sys_open, do_sys_open, __ia32_sys_open";
        assert_eq!(similar("sys_open", &open), found);
        assert_eq!(
            similar("open", &["sgx_open", "__arm64_sys_open"]),
            "__arm64_sys_open, sgx_open"
        );
        let alloc = [
            "kmem_cache_alloc_lru_noprof",
            "kmem_cache_alloc_bulk_noprof.cold",
            "kmem_cache_allocs",
            "kmem_cache_alloc_noprof",
        ];
        let found = "kmem_cache_alloc_noprof, kmem_cache_alloc_lru_noprof, kmem_cache_allocs";
        assert_eq!(similar("kmem_cache_alloc", &alloc), found);
        assert_eq!(
            similar("__kmalloc", &["__kmalloc_noprof"]),
            "__kmalloc_noprof"
        );
        assert_eq!(similar("__vfs_read", &["vfs_read"]), "vfs_read");
        assert_eq!(similar("vfs_read", &["vfs_read"]), "");
        // A clone is as good as its function, its cold part is not.
        let clones = ["finish.isra.0.cold", "finish.isra.0"];
        assert_eq!(
            similar("finish", &clones),
            "finish.isra.0, finish.isra.0.cold"
        );
        // Short names are in too many.
        assert_eq!(similar("sys", &["do_sys_open"]), "");
    }

    /// Returns a name of at most eight characters, of few kinds, and advances `state`.
    fn drawn(state: &mut u32) -> std::vec::Vec<u8> {
        let mut next = || {
            *state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
            (*state >> 16) as usize
        };
        let len = next() % 9;
        (0..len).map(|_| b"abcdef._"[next() % 8]).collect()
    }

    #[test]
    fn what_is_similar_looks_similar() {
        let mut state = 19;
        let mut similar = 0;
        for _ in 0..100_000 {
            let (name, other) = (drawn(&mut state), drawn(&mut state));
            let mut nearest = Nearest::to_wrong(&name);
            nearest.consider_symbol(&other);
            let mut outline = Outline::of(&other[..other.len() / 2]);
            outline.append(&Outline::of(&other[other.len() / 2..]));
            assert_eq!(outline, Outline::of(&other));
            if !nearest.is_none() {
                similar += 1;
                let look = nearest.look();
                assert!(look.may_be(&outline), "{name:?} {other:?}");
                let start = Outline::of(&other[..other.len() / 2]);
                assert!(!look.rules_out(&start), "{name:?} {other:?}");
            }
        }
        assert!(similar > 100, "{similar}");
        let look = Nearest::to_wrong(b"vfs_read").look();
        for other in ["vfs_reconfigure", "tcp_send", "tcp_ack.isra.0", "a.cold"] {
            assert!(!look.may_be(&Outline::of(other.as_bytes())), "{other}");
        }
        assert!(look.rules_out(&Outline::of(b"tcp_")));
        assert!(!look.rules_out(&Outline::of(b"vfs_")));
    }

    #[test]
    fn nothing_is_similar_to_what_no_name_can_be() {
        let long = [&[b'_'; 1 << 20][..], b"eeee"].concat();
        let mut nearest = Nearest::to_wrong_symbol(&long);
        assert!(nearest.look().rules_out(&Outline::of(b"ee")));
        assert!(!nearest.look().may_be(&Outline::of(b"see_eeee")));
        for other in ["eeee", "__eeee", "see_eeee", ".eeee", "eeee.isra.0"] {
            nearest.consider_symbol(other.as_bytes());
        }
        assert!(nearest.is_none());
        // The longest that can be misspelt.
        let name = [b'a'; MAX_LEN];
        let mut nearest = Nearest::to_wrong_symbol(&name);
        nearest.consider_symbol(&name[..MAX_LEN - 2]);
        assert!(!nearest.is_none());
    }

    #[test]
    fn the_module_of_a_symbol_is_named() {
        let mut nearest = Nearest::to_wrong(b"ext4_raed");
        nearest.consider_symbol(b"ext4_reap");
        for symbol in ["ext4_read", "ext4_read.isra.0", "ext4_write"] {
            nearest.consider_symbol_of(Some(b"ext4"), symbol.as_bytes());
        }
        assert_eq!(
            nearest.to_string(),
            "ext4:ext4_read, ext4:ext4_read.isra.0, ext4_reap"
        );
    }

    #[test]
    fn edits_are_counted() {
        for (a, b, edits) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abc", "ab", 1),
            ("abc", "abxc", 1),
            ("abc", "xbc", 1),
            ("abcd", "badc", 2),
            ("abc", "cab", 2),
            ("xabc", "abcx", 2),
            ("aab", "aba", 1),
            ("a", "abc", 2),
            ("abc", "c", 2),
            ("ab", "", 2),
        ] {
            assert_eq!(
                distance(a.as_bytes(), b.as_bytes(), 2),
                Some(edits),
                "{a} {b}"
            );
        }
        assert_eq!(distance(b"abc", b"xyz", 2), None);
        assert_eq!(distance(b"abcd", b"abxyd", 1), None);
        assert_eq!(distance(&[b'a'; 300], &[b'a'; 302], 2), Some(2));
        assert_eq!(distance(&[b'a'; 300], &[b'a'; 303], 2), None);
    }
}
