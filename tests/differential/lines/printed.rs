// SPDX-License-Identifier: GPL-2.0

//! What `ferroprobe define` prints for what was drawn: each address is one that the comparison has, and
//! ferroprobe's own judgement of the code takes it.

use crate::draw::Spot;
use crate::Ours;
use ferroprobe_tools::define::{self, Request};
use ferroprobe_tools::error::Result;
use ferroprobe_tools::image::Image;
use ferroprobe_tools::session::Session;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

/// The definitions so far.
pub struct Printed<'a, 'd> {
    image: &'a Image<'d>,
    /// Where symbols are that no other one has the name of.
    symbols: HashMap<&'d str, Option<u64>>,
    definitions: Vec<String>,
    events: usize,
    wrong: usize,
}

impl<'a, 'd> Printed<'a, 'd> {
    /// None, of `image`.
    pub fn new(image: &'a Image<'d>) -> Self {
        let mut symbols = HashMap::new();
        for symbol in image.symbols() {
            let known = symbols.entry(symbol.name);
            known
                .and_modify(|address| *address = None)
                .or_insert(Some(symbol.address));
        }
        Self {
            image,
            symbols,
            definitions: Vec::new(),
            events: 0,
            wrong: 0,
        }
    }

    /// Adds what is printed for a spot, at which `ours` was compared.
    pub fn add(&mut self, session: &Session<'_>, spot: &Spot, ours: &Result<Ours>) -> Result<()> {
        let Ok(ours) = ours else {
            return Ok(());
        };
        self.events += 1;
        let event = format!("drawn/spot{}", self.events);
        let request = Request::parse(&spot.to_string())?;
        let all = define::definitions(session, &request, Some(&event), None)?;
        for definition in all.lines {
            let wrong = match self.address(&definition) {
                None => Some("names no symbol, or one of several".to_string()),
                Some(at) if ours.get(&at).is_none_or(|own| own.place.is_err()) => {
                    Some(format!("{at:#x} is no address that was compared"))
                }
                Some(at) => session
                    .boundaries()
                    .judge(at)
                    .err()
                    .map(|why| why.to_string()),
            };
            if let Some(wrong) = wrong {
                self.wrong += 1;
                eprintln!("# printed for {spot}: {definition}: {wrong}");
            }
            self.definitions.push(definition);
        }
        Ok(())
    }

    /// The address of `p:EVENT SYMBOL[+OFFSET] ...`.
    fn address(&self, definition: &str) -> Option<u64> {
        let place = definition.split(' ').nth(1)?;
        let (name, offset) = place.split_once('+').unwrap_or((place, "0"));
        let address = self.symbols.get(name).copied()??;
        address.checked_add(offset.parse().ok()?)
    }

    /// Writes `most` definitions to a file, drawn evenly from all.
    pub fn write(&self, path: &Path, most: usize) -> io::Result<()> {
        let step = self.definitions.len().div_ceil(most.max(1)).max(1);
        let lines = self.definitions.iter().step_by(step);
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        fs::write(path, text)
    }

    /// Prints how many there are; whether all are accepted.
    pub fn print(&self) -> bool {
        println!(
            "{} definitions of {:?} are printed, {} of them at places that ferroprobe refuses",
            self.definitions.len(),
            self.image.arch,
            self.wrong
        );
        self.wrong == 0
    }
}
