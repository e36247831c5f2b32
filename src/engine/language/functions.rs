// SPDX-License-Identifier: GPL-2.0

//! Patterns that select functions by name: `tcp_*,udp_*,!tcp_v4_*`.

mod selection;

pub use selection::Selection;

use core::fmt;

use crate::engine::language::lex::Span;
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::util::glob;
use crate::engine::util::text::Plain;
use crate::sys::{AllocError, Vec};

/// A list of patterns, separated by commas. A function is selected if a pattern matches its name
/// and no earlier pattern with `!` does, see [`glob::matches`].
///
/// A pattern `MODULE:FUNCTION` matches functions of the modules whose names match, also of
/// modules that are loaded later. A pattern without a module matches functions of the kernel
/// and of the modules that are loaded when the event is defined, as ftrace's do.
#[derive(Debug, PartialEq, Eq)]
pub struct Patterns(Vec<u8>);

/// Maximum number of different patterns with wildcards: each is compared with the names of all
/// functions.
const MAX_WILD: usize = 64;

/// One pattern of a list.
#[derive(Clone, Copy)]
struct Pattern<'a> {
    excludes: bool,
    module: Option<&'a [u8]>,
    function: &'a [u8],
}

impl Pattern<'_> {
    fn matches(&self, module: Option<&[u8]>, function: &[u8]) -> bool {
        let is_there = match (self.module, module) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(pattern), Some(module)) => glob::matches(pattern, module),
        };
        is_there && glob::matches(self.function, function)
    }
}

/// Returns whether `byte` may occur in a list, but not in a function name.
fn is_special(byte: u8) -> bool {
    is_wild(byte) || matches!(byte, b',' | b'!')
}

/// Returns whether `byte` is special in a pattern, see [`glob::matches`].
fn is_wild(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

impl Patterns {
    /// Returns whether `text` is a list of patterns and not the name of one function.
    pub fn is_list(text: &[u8]) -> bool {
        text.iter().any(|&byte| is_special(byte))
    }

    /// Parses a list; `more` are further lists.
    ///
    /// # Errors
    ///
    /// `BAD_PROBE_ADDR` for an empty pattern, for a list that selects nothing, and for one with
    /// more than [`MAX_WILD`] patterns that are not the name of a function; `BAD_ADDR_SUFFIX`
    /// for a suffix in the middle of it.
    pub fn parse<'a>(list: Span<'a>, more: impl Iterator<Item = Span<'a>>) -> Result<Self, Error> {
        let mut text = Vec::new();
        let mut selects = false;
        for word in Iterator::chain(core::iter::once(list), more) {
            let mut rest = Some(word);
            while let Some(word) = rest {
                let (item, behind) = word.first_item(b',');
                rest = behind;
                let pattern = item.strip(b"!").unwrap_or(item);
                selects |= pattern.bytes.len() == item.bytes.len();
                if item.bytes.is_empty() && rest.is_none() && !text.is_empty() {
                    return Err(ends_in_comma(item));
                }
                check(pattern)?;
                if !text.is_empty() {
                    text.push(b',')?;
                }
                let start = text.len();
                text.extend_from_slice(item.bytes)?;
                underscore_module(text.get_mut(start..).unwrap_or_default());
            }
        }
        if !selects {
            let refusal = list.error(Kind::BadProbeAddr);
            return Err(refusal.with_detail(format_args!("no pattern selects a function")));
        }
        let patterns = Self(text);
        let wild = Selection::new(&patterns)?.wild();
        if wild > MAX_WILD {
            return Err(list.error(Kind::BadProbeAddr).with_detail(format_args!(
                "{wild} patterns with * or ? or [, at most {MAX_WILD}: names without them are not \
                 counted"
            )));
        }
        Ok(patterns)
    }

    /// Returns the list as text, separated by commas only.
    pub fn text(&self) -> &[u8] {
        &self.0
    }

    fn all(&self) -> impl Iterator<Item = Pattern<'_>> + Clone {
        self.0.split(|&byte| byte == b',').map(|item| {
            let positive = item.strip_prefix(b"!");
            let text = positive.unwrap_or(item);
            let colon = text.iter().position(|&byte| byte == b':');
            let parts = colon.and_then(|colon| {
                let function = text.get(colon.saturating_add(1)..)?;
                Some((text.get(..colon)?, function))
            });
            Pattern {
                excludes: positive.is_some(),
                module: parts.map(|(module, _)| module),
                function: parts.map_or(text, |(_, function)| function),
            }
        })
    }

    fn selecting(&self) -> impl Iterator<Item = Pattern<'_>> + Clone {
        self.all().filter(|pattern| !pattern.excludes)
    }

    /// Returns whether the list selects functions of `module` if it is loaded later.
    pub fn await_module(&self, module: &[u8]) -> bool {
        let mut modules = self.selecting().filter_map(|pattern| pattern.module);
        modules.any(|pattern| glob::matches(pattern, module))
    }

    /// Returns the first pattern of the form `FUNCTION:entry` or `FUNCTION:return`, see
    /// [`Patterns::is_end`].
    pub fn with_end(&self) -> Option<(&[u8], &[u8])> {
        self.selecting()
            .filter_map(|of| of.module.zip(Some(of.function)))
            .find(|(_, function)| is_end(function))
    }

    /// Returns whether the list can select functions of modules that are loaded later.
    pub fn await_modules(&self) -> bool {
        self.selecting().any(|pattern| pattern.module.is_some())
    }
}

impl fmt::Display for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Plain(&self.0))
    }
}

/// Replaces dashes in the module of `[MODULE:]FUNCTION` by underscores: module files have dashes,
/// module names do not. Dashes in a character set stay.
pub fn underscore_module(text: &mut [u8]) {
    let Some(colon) = text.iter().position(|&byte| byte == b':') else {
        return;
    };
    let mut in_set = false;
    for byte in text.iter_mut().take(colon) {
        match *byte {
            b'[' => in_set = true,
            b']' => in_set = false,
            b'-' if !in_set => *byte = b'_',
            _ => {}
        }
    }
}

/// If `text` begins with the place `name`, whose module may be written with dashes, returns the
/// rest.
pub fn behind_place<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = text.split_at_checked(name.len())?;
    let colon = name.iter().position(|&byte| byte == b':').unwrap_or(0);
    let mut bytes = start.iter().zip(name).enumerate();
    let is_same = |(at, (&written, &byte)): (usize, (&u8, &u8))| {
        written == byte || (at < colon && written == b'-' && byte == b'_')
    };
    bytes.all(is_same).then_some(rest)
}

/// Returns whether `function`, behind a colon, is a word such as `entry`: some tools write
/// `FUNCTION:entry`.
pub fn is_end(function: &[u8]) -> bool {
    matches!(function, b"entry" | b"enter" | b"return" | b"ret" | b"exit")
}

/// Returns whether `pattern` is the name of a function, without wildcards.
pub fn is_function(pattern: &[u8]) -> bool {
    !pattern.iter().copied().any(is_wild)
}

/// Returns the refusal of a list that ends in a comma, behind which `nothing` stands.
#[cold]
#[inline(never)]
fn ends_in_comma(nothing: Span<'_>) -> Error {
    nothing.error(Kind::BadProbeAddr).with_detail(format_args!(
        "an empty pattern: leave the comma out, arguments follow behind a blank"
    ))
}

/// Checks one pattern, without its `!`.
fn check(pattern: Span<'_>) -> Result<(), Error> {
    let refuse = |at: Span<'_>, why: &str| {
        Err(at
            .error(Kind::BadProbeAddr)
            .with_detail(format_args!("{why}")))
    };
    let function = match pattern.find(b':') {
        Some(0) => return refuse(pattern, "no module before the colon"),
        Some(colon) => pattern.around(colon).1,
        None => pattern,
    };
    if let Some(percent) = function.find(b'%') {
        let suffix = function.skip(percent).error(Kind::BadAddrSuffix);
        return Err(suffix.with_detail(format_args!("%return stands behind the whole list")));
    }
    match function.first() {
        None => refuse(function, "an empty pattern"),
        Some(b'!') => refuse(function, "one ! excludes, and stands before the pattern"),
        Some(_) if function.find(b'+').is_some() => {
            refuse(function, "only p probes inside of a function")
        }
        Some(_) if function.find(b':').is_some() => refuse(function, "one colon, behind a module"),
        Some(_) => Ok(()),
    }
}

/// Returns a copy of `words`, joined by commas, as [`Patterns::text`] has them.
///
/// # Errors
///
/// [`AllocError`] when there is no memory.
pub fn joined<'a>(words: impl Iterator<Item = &'a [u8]>) -> Result<Vec<u8>, AllocError> {
    let mut text = Vec::new();
    for word in words {
        if !text.is_empty() {
            text.push(b',')?;
        }
        text.extend_from_slice(word)?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Patterns, (Kind, usize)> {
        let mut at = 0;
        let mut words = vec![];
        for word in text.split(' ') {
            let bytes = word.as_bytes();
            words.push(Span { bytes, at });
            at += word.len() + 1;
        }
        let parsed = Patterns::parse(words[0], words[1..].iter().copied());
        parsed.map_err(|error| (error.kind, error.at))
    }

    #[test]
    fn names_are_selected() {
        let patterns = parse("tcp_*,udp_v?_x !tcp_v4_*,!*_dead nf*:nf_[a-c]*").unwrap();
        assert_eq!(
            patterns.to_string(),
            "tcp_*,udp_v?_x,!tcp_v4_*,!*_dead,nf*:nf_[a-c]*"
        );
        let mut selection = Selection::new(&patterns).unwrap();
        let mut select = |module, name: &str| selection.select(module, name.as_bytes());
        for name in ["tcp_", "tcp_v6_x", "udp_v4_x"] {
            assert!(select(None, name), "{name}");
            assert!(select(Some(b"ipv6"), name), "{name}");
        }
        for name in ["xtcp_", "tcp_v4_rcv", "tcp_dead", "udp_v_x", "nf_a", ""] {
            assert!(!select(None, name), "{name}");
        }
        assert!(select(Some(b"nf_nat"), "nf_alloc"));
        assert!(!select(Some(b"nf_nat"), "nf_dead"));
        assert!(!select(Some(b"xt"), "nf_alloc"));
        assert!(patterns.await_module(b"nf_nat") && !patterns.await_module(b"ipv6"));
        assert!(patterns.await_modules() && !parse("a,b").unwrap().await_modules());
    }

    #[test]
    fn patterns_that_select_nothing_are_told() {
        let patterns = parse("tcp_*,b,udp_v?_x,a,b !*_dead nf*:nf_[a-c]*").unwrap();
        let mut seen = Selection::new(&patterns).unwrap();
        assert!(seen.select(None, b"tcp_x"));
        assert!(!seen.select(None, b"tcp_dead"));
        // The first of the list, whatever the order of the names.
        for (name, unseen) in [(&b"b"[..], (8, "udp_v?_x")), (b"udp_v1_x", (17, "a"))] {
            assert!(seen.select(None, name));
            assert_eq!(seen.unseen(), Some((unseen.0, unseen.1.as_bytes())));
        }
        assert!(seen.select(None, b"a"));
        assert_eq!(seen.unseen(), None);
    }

    #[test]
    fn names_are_found_with_their_modules() {
        let patterns = parse("b,n:a,m:a,m?:c,!m:b,*z").unwrap();
        let mut selection = Selection::new(&patterns).unwrap();
        let selected = [
            (None, "b"),
            (Some("n"), "b"),
            (Some("m"), "a"),
            (Some("n"), "a"),
        ];
        for (module, name) in selected.into_iter().chain([(Some("mx"), "c"), (None, "z")]) {
            let module = module.map(str::as_bytes);
            assert!(selection.select(module, name.as_bytes()), "{name}");
        }
        for (module, name) in [(None, "a"), (Some("o"), "a"), (Some("m"), "b"), (None, "c")] {
            let module = module.map(str::as_bytes);
            assert!(!selection.select(module, name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn one_walk_suffices() {
        for (text, prefixes) in [
            ("tcp_*,udp_v?_x,!a*,m:b*", "tcp_,udp_v"),
            ("vfs_read,*,*,*", ""),
            ("vfs_rea*,vfs_read,vfs_r*,vg,vfs,vfs_read", "vfs,vg"),
            ("b,ab,a*,b[xy],bz", "a,b"),
        ] {
            let patterns = parse(text).unwrap();
            let fewest = Selection::new(&patterns).unwrap().prefixes().unwrap();
            let fewest: std::vec::Vec<_> = fewest
                .iter()
                .map(|it| it.escape_ascii().to_string())
                .collect();
            assert_eq!(fewest.join(","), prefixes, "{text}");
        }
    }

    #[test]
    fn patterns_are_few_and_names_many() {
        let names = (0..5000).map(|n| format!("function_{n}"));
        let text = names.collect::<std::vec::Vec<_>>().join(",");
        let again = "a*,".repeat(1000);
        let wild = |count| (0..count).map(|n| format!("{n}*,")).collect::<String>();
        let most = wild(MAX_WILD - 1);
        let patterns = parse(&format!("{again}{most}{text}")).unwrap();
        let mut selection = Selection::new(&patterns).unwrap();
        assert!(selection.select(None, b"function_4711") && !selection.select(None, b"function_"));
        let more = parse(&format!("{again}{most}!b?,{text}"));
        assert_eq!(more, Err((Kind::BadProbeAddr, 0)));
    }

    #[test]
    fn modules_have_underscores() {
        let patterns = parse("snd-*:a-b,!x-[a-c]-y:*,c-d*").unwrap();
        assert_eq!(patterns.to_string(), "snd_*:a-b,!x_[a-c]_y:*,c-d*");
        for (text, name, rest) in [
            ("a-b:c-d+1", "a_b:c-d", Some("+1")),
            ("a_b:c", "a_b:c", Some("")),
            ("a-b", "a_b", None),
            ("a-b:c_d", "a_b:c-d", None),
            ("a", "a_b:c", None),
        ] {
            let behind = behind_place(text.as_bytes(), name.as_bytes());
            assert_eq!(behind, rest.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn bad_lists_are_refused_where_they_are_bad() {
        for (text, at) in [
            ("a,,b", 2),
            ("a,", 2),
            (",a", 0),
            ("!a", 0),
            ("!a,!b*", 0),
            ("a* !", 4),
            ("a*,!!b", 4),
            ("a*,b+4", 3),
            (":a*", 0),
            ("m:", 2),
            ("m:n:a*", 2),
        ] {
            assert_eq!(parse(text), Err((Kind::BadProbeAddr, at)), "{text}");
        }
        assert!(!Patterns::is_list(b"vfs_read") && Patterns::is_list(b"vfs_rea?"));
    }
}
