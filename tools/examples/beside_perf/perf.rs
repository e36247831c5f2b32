// SPDX-License-Identifier: GPL-2.0

//! Asks `perf probe` for definitions.

use crate::draw::Spot;
use ferroprobe_tools::image::Image;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

/// At each address what fetches the variable, if one was asked for; or why perf refuses.
pub type Answer = Result<BTreeMap<u64, String>, String>;

/// The addresses of symbols that alone have their name.
fn addresses(image: &Image<'_>) -> HashMap<String, u64> {
    let mut found: HashMap<String, Option<u64>> = HashMap::new();
    for symbol in image.symbols().iter().filter(|symbol| symbol.is_code) {
        found
            .entry(symbol.name.into())
            .and_modify(|address| *address = address.filter(|known| *known == symbol.address))
            .or_insert(Some(symbol.address));
    }
    let alone = found.into_iter();
    alone
        .filter_map(|(name, address)| Some((name, address?)))
        .collect()
}

/// perf, on one kernel.
pub struct Perf<'a> {
    vmlinux: &'a Path,
    symbols: HashMap<String, u64>,
}

impl<'a> Perf<'a> {
    /// On the kernel at `vmlinux`, which is `image`.
    pub fn new(vmlinux: &'a Path, image: &Image<'_>) -> Self {
        Self {
            vmlinux,
            symbols: addresses(image),
        }
    }

    /// Asks for all spots, on all CPUs. Each is a call of its own: one that perf refuses makes it
    /// refuse all.
    pub fn ask(&self, spots: &[Spot]) -> Vec<Answer> {
        let answers = Mutex::new(vec![Err("perf was not asked".into()); spots.len()]);
        let next = AtomicUsize::new(0);
        let work = || loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(spot) = spots.get(at) else {
                break;
            };
            let answer = self.ask_one(spot);
            let mut answers = answers.lock().expect("no thread panics with it");
            if let Some(place) = answers.get_mut(at) {
                *place = answer;
            }
        };
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(work);
            }
        });
        answers.into_inner().expect("no thread panics with it")
    }

    /// With the file perf needs half of the time, for it looks at no other one; should it not find
    /// the function there, it looks everywhere.
    fn ask_one(&self, spot: &Spot) -> Answer {
        let variable = spot.variable.as_deref().unwrap_or_default();
        let (function, line) = spot.line.split_once(':').unwrap_or((&spot.line, "0"));
        let narrow = self.call(&format!("{function}@{}:{line} {variable}", spot.file));
        match narrow {
            Err(reason) if !reason.contains(SHARED) => self.call(&spot.to_string()),
            answer => answer,
        }
    }

    /// One call of perf.
    fn call(&self, spot: &str) -> Answer {
        let mut command = Command::new("perf");
        command.args(["probe", "-k"]).arg(self.vmlinux);
        command.arg("-D").arg(format!("spot={spot}"));
        let output = command.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(reason(&String::from_utf8_lossy(&output.stderr)));
        }
        let mut answer = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            // p:probe/spot[_1] SYMBOL[+OFFSET] [VARIABLE=PLACE:TYPE]
            let mut words = line.split(' ').skip(1);
            let place = words.next().unwrap_or_default();
            let (name, offset) = place.split_once('+').unwrap_or((place, "0"));
            let address = self.symbols.get(name).zip(offset.parse::<u64>().ok());
            let Some((start, offset)) = address else {
                return Err(format!("an answer that was not understood: {line}"));
            };
            let fetched = words.next().and_then(|word| word.split_once('='));
            let fetched = fetched.map_or("", |(_, fetched)| fetched);
            answer.insert(start + offset, fetched.into());
        }
        Ok(answer)
    }
}

/// What perf says of a line whose address is that of another one, too.
const SHARED: &str = "sharing the address";

/// What perf says of a refusal, without names and numbers.
fn reason(said: &str) -> String {
    let lines = said.lines().filter(|line| {
        !line.contains("Failed to add events")
            && !line.trim().is_empty()
            && !line.starts_with("Please")
    });
    let line = lines.last().unwrap_or("nothing was said").trim();
    let words = line.split(' ').map(|word| {
        let plain = word.trim_matches(['\'', '"', '.', ',', ':', ')', '(']);
        let is_name = plain.contains(['_', '+', '/']) || plain.parse::<u64>().is_ok();
        if is_name {
            "…"
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
