// SPDX-License-Identifier: GPL-2.0

//! Cuts a list of operations down to what shows a fault.
//!
//! Each try boots a guest, so what takes few tries is taken first: what follows the fault, then
//! halves, quarters and so on, as delta debugging does; crates that shrink values try element by
//! element, and have no limit of time.

use std::time::Instant;

/// Returns the shortest list found before `until` for which `shows` is still true.
pub fn shrink(
    mut lines: Vec<String>,
    until: Instant,
    mut shows: impl FnMut(&[String]) -> Result<bool, String>,
) -> Result<Vec<String>, String> {
    let mut size = lines.len().div_ceil(2).max(1);
    while !lines.is_empty() {
        let mut at = 0;
        let mut is_shorter = false;
        while at < lines.len() {
            if Instant::now() >= until {
                return Ok(lines);
            }
            let mut rest = lines.clone();
            rest.drain(at..(at + size).min(lines.len()));
            if shows(&rest)? {
                lines = rest;
                is_shorter = true;
            } else {
                at += size;
            }
        }
        if size == 1 && !is_shorter {
            break;
        }
        size = size.div_ceil(2).min(lines.len().max(1));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_needed_stays() {
        let lines: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let until = Instant::now() + Duration::from_secs(60);
        let mut tries = 0;
        let rest = shrink(lines, until, |lines| {
            tries += 1;
            let has = |text: &str| lines.iter().any(|line| line == text);
            Ok(has("3") && has("77"))
        });
        assert_eq!(rest.unwrap(), ["3", "77"]);
        assert!(tries < 60, "{tries} tries");
    }

    #[test]
    fn no_time_no_change() {
        let lines = vec!["a".to_string()];
        let rest = shrink(lines.clone(), Instant::now(), |_| Ok(true));
        assert_eq!(rest.unwrap(), lines);
    }
}
