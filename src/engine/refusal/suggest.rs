// SPDX-License-Identifier: GPL-2.0

//! Adds suggestions to the refusal of an unknown name.

pub mod distance;
pub mod events;

use core::{cell::Cell, fmt};

use crate::engine::refusal::error::Error;
use crate::engine::util::text::Plain;
use distance::Nearest;

/// Maximum number of names that are listed.
const MAX_LISTED: usize = 40;

/// Like [`suggest()`], for names that may be many: if none is similar and they do not fit a list,
/// `error` keeps its remedy.
#[cold]
pub fn suggest_of_many(error: Error, name: &[u8], known: impl Fn(&mut dyn FnMut(&[u8]))) -> Error {
    suggest_from(error, name, true, &known)
}

/// Adds the known names that are similar to `name` to `error`, or all known names if none is
/// similar. `known` passes each of them to its argument.
#[cold]
pub fn suggest(error: Error, name: &[u8], known: impl Fn(&mut dyn FnMut(&[u8]))) -> Error {
    suggest_from(error, name, false, &known)
}

/// Passes each known name to its argument.
type Known<'a> = &'a dyn Fn(&mut dyn FnMut(&[u8]));

/// The implementation of [`suggest()`] and, if `are_many`, of [`suggest_of_many()`]. One copy
/// serves all callers.
#[cold]
#[inline(never)]
fn suggest_from(error: Error, name: &[u8], are_many: bool, known: Known<'_>) -> Error {
    let mut nearest = Nearest::to_wrong(name);
    let mut count = 0usize;
    known(&mut |other| {
        nearest.consider(other);
        count = count.saturating_add(1);
    });
    match (nearest.is_none(), count) {
        (false, _) => error.with_detail(format_args!("did you mean {nearest}?")),
        (true, 0) => error,
        (true, count) if are_many && count > MAX_LISTED => error,
        (true, _) => error.with_detail(format_args!("there is {}", Listed(known))),
    }
}

/// Displays names, with commas between them.
struct Listed<'a>(Known<'a>);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = Cell::new(0usize);
        let mut result = Ok(());
        (self.0)(&mut |name| {
            let comma = if n.get() == 0 { "" } else { ", " };
            if result.is_ok() && n.get() < MAX_LISTED {
                result = write!(f, "{comma}{}", Plain(name));
            }
            n.set(n.get().saturating_add(1));
        });
        result?;
        match n.get() > MAX_LISTED {
            true => f.write_str(", ..."),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::refusal::error::Kind;

    fn detail(name: &str, known: &[&str]) -> String {
        let error = Error::new(Kind::BadVar, 0);
        let error = suggest(error, name.as_bytes(), |each| {
            known.iter().for_each(|name| each(name.as_bytes()));
        });
        String::from_utf8(error.detail().to_vec()).unwrap()
    }

    #[test]
    fn many_are_not_listed() {
        let detail = |name: &str, count| {
            let error = Error::new(Kind::BadVar, 0);
            let error = suggest_of_many(error, name.as_bytes(), |each| {
                (0..count).for_each(|_| each(b"file"));
            });
            String::from_utf8(error.detail().to_vec()).unwrap()
        };
        assert_eq!(detail("flie", 41), "did you mean file?");
        assert_eq!(detail("other", 41), "");
        assert_eq!(detail("other", 1), "there is file");
    }

    #[test]
    fn the_similar_or_all_are_named() {
        assert_eq!(detail("flie", &["file", "buf"]), "did you mean file?");
        assert_eq!(detail("other", &["file", "buf"]), "there is file, buf");
        assert_eq!(detail("other", &[]), "");
        assert!(detail("other", &["a"; 50]).ends_with("a, ..."));
        assert!(detail("other", &["a"; 40]).ends_with("a, a"));
    }
}
