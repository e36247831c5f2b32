// SPDX-License-Identifier: GPL-2.0

//! Asks `perf probe` for definitions.

use crate::answers::{Answers, Said};
use crate::draw::Spot;
use ferroprobe_tools::image::Image;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

/// A probe that perf defines.
#[derive(Debug, Clone)]
pub struct Defined {
    /// The function that perf names, and how far in it.
    pub place: (String, u64),
    /// Where that is: several addresses if several functions have the name.
    pub addresses: Vec<u64>,
    /// What fetches the variable, if one was asked for.
    pub fetched: String,
}

/// The probes that perf defines, or why it refuses.
pub type Answer = Result<Vec<Defined>, String>;

/// What `ask` has for each spot.
fn on_all_cpus<T: Send>(spots: &[Spot], ask: impl Fn(&Spot) -> T + Sync) -> Vec<T> {
    let answers = Mutex::new(BTreeMap::new());
    let next = AtomicUsize::new(0);
    let work = || loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(spot) = spots.get(at) else {
            break;
        };
        let answer = ask(spot);
        let mut answers = answers.lock().expect("no thread panics with it");
        answers.insert(at, answer);
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let answers = answers.into_inner().expect("no thread panics with it");
    answers.into_values().collect()
}

/// The addresses of functions, by name.
fn addresses(image: &Image<'_>) -> HashMap<String, Vec<u64>> {
    let mut found: HashMap<String, Vec<u64>> = HashMap::new();
    for symbol in image.symbols().iter().filter(|symbol| symbol.is_code) {
        let known = found.entry(symbol.name.into()).or_default();
        if !known.contains(&symbol.address) {
            known.push(symbol.address);
        }
    }
    found
}

/// perf, on one kernel.
pub struct Perf<'a> {
    vmlinux: &'a Path,
    symbols: HashMap<String, Vec<u64>>,
    answers: Answers,
}

impl<'a> Perf<'a> {
    /// On the kernel at `vmlinux`, which is `image`; `kept` is the file of its answers.
    ///
    /// # Errors
    ///
    /// That file cannot be read or written.
    pub fn new(vmlinux: &'a Path, image: &Image<'_>, kept: Option<&Path>) -> io::Result<Self> {
        let version = Command::new("perf").arg("--version").output()?;
        let version = String::from_utf8_lossy(&version.stdout);
        let id = image.build_id().unwrap_or_default();
        Ok(Self {
            vmlinux,
            symbols: addresses(image),
            answers: Answers::open(kept, &format!("{} {id}", version.trim()))?,
        })
    }

    /// Asks for all spots. Each is a call of its own: one that perf refuses makes it refuse all.
    pub fn ask(&self, spots: &[Spot]) -> Vec<Answer> {
        on_all_cpus(spots, |spot| self.ask_one(spot))
    }

    /// With the file perf needs half of the time, for it looks at no other one; should it not find
    /// the function there, it looks everywhere.
    fn ask_one(&self, spot: &Spot) -> Answer {
        let variable = spot.variable.as_deref().unwrap_or_default();
        let (function, line) = spot.line.split_once(':').unwrap_or((&spot.line, "0"));
        let narrow = self.say(&format!("{function}@{}:{line} {variable}", spot.file));
        let said = match narrow {
            Err(said) if said.contains(NOT_FOUND) || reason(&said) == SILENT => {
                self.say(&spot.to_string())
            }
            said => said,
        };
        said.map_err(|said| reason(&said))
            .and_then(|said| self.read(&said))
    }

    /// What perf says, now or before.
    fn say(&self, question: &str) -> Said {
        let question = question.trim();
        if let Some(said) = self.answers.get(question) {
            return said;
        }
        let mut command = Command::new("perf");
        command.args(["probe", "-k"]).arg(self.vmlinux);
        command.arg("-D").arg(format!("spot={question}"));
        let output = command.output().map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = match output.status.code() {
            Some(0) => Ok(text(&output.stdout)),
            Some(_) => Err(text(&output.stderr)),
            // It was killed, and has not answered.
            None => return Err(output.status.to_string()),
        };
        self.answers.keep(question, &said);
        said
    }

    /// Reads what perf defines.
    fn read(&self, said: &str) -> Answer {
        let mut answer = Vec::new();
        for line in said.lines() {
            // p:probe/spot[_1] SYMBOL[+OFFSET] [VARIABLE=PLACE:TYPE]
            let mut words = line.split(' ').skip(1);
            let place = words.next().unwrap_or_default();
            let (name, offset) = place.split_once('+').unwrap_or((place, "0"));
            let address = self.symbols.get(name).zip(offset.parse::<u64>().ok());
            let Some((starts, offset)) = address else {
                return Err(format!("an answer that was not understood: {line}"));
            };
            let fetched = words.next().and_then(|word| word.split_once('='));
            answer.push(Defined {
                place: (name.into(), offset),
                addresses: starts.iter().map(|start| start + offset).collect(),
                fetched: fetched.map_or("", |(_, fetched)| fetched).into(),
            });
        }
        Ok(answer)
    }
}

/// What perf says if no function of the file has the name, and for a variable.
const NOT_FOUND: &str = "not found";
pub const SILENT: &str = "nothing was said";

/// What perf says of a refusal, without names and numbers.
fn reason(said: &str) -> String {
    let lines = said.lines().filter(|line| {
        !line.contains("Failed to add events")
            && !line.trim().is_empty()
            && !line.starts_with("Please")
    });
    let line = lines.last().unwrap_or(SILENT).trim();
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
