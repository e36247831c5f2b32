// SPDX-License-Identifier: GPL-2.0

//! Asks `perf probe` for definitions, and for the lines of functions.

use crate::answers::{Answers, Said};
use crate::draw::Spot;
use crate::listed::Listed;
use crate::narrow::Narrow;
use ferroprobe_tools::image::Image;
use ferroprobe_tools::session::Session;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;
use std::{fs, io};

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
fn on_all_cpus<S: Sync, T: Send>(spots: &[S], ask: impl Fn(&S) -> T + Sync) -> Vec<T> {
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

/// Where the units are that have lines of the files of `spots`.
fn units(session: &Session<'_>, spots: &[Spot]) -> BTreeSet<u64> {
    let paths: BTreeSet<&str> = spots.iter().map(|spot| spot.path.as_str()).collect();
    let numbers = paths
        .into_iter()
        .flat_map(|path| session.index.units_of_file(path));
    numbers
        .filter_map(|number| session.index.unit(number))
        .collect()
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
    narrow: Narrow,
    symbols: HashMap<String, Vec<u64>>,
    answers: Answers,
    sources: Sources,
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
            narrow: Narrow::open(vmlinux)?,
            symbols: addresses(image),
            answers: Answers::open(kept, &format!("{} {id}", version.trim()))?,
            sources: Sources::new()?,
        })
    }

    /// Asks for all spots. Each is a call of its own: one that perf refuses makes it refuse all.
    ///
    /// With the file perf needs half of the time, for it looks at no other one; should it not find the
    /// function there, it looks everywhere.
    ///
    /// # Errors
    ///
    /// The file that perf reads cannot be written.
    pub fn ask(&self, session: &Session<'_>, spots: &[Spot]) -> io::Result<Vec<Answer>> {
        self.narrow.only(&units(session, spots))?;
        let of_file = on_all_cpus(spots, |spot| {
            let variable = spot.variable.as_deref().unwrap_or_default();
            let (function, line) = spot.line.split_once(':').unwrap_or((&spot.line, "0"));
            self.say(&format!("{function}@{}:{line} {variable}", spot.file))
        });
        self.narrow.all()?;
        let asked: Vec<_> = spots.iter().zip(of_file).collect();
        Ok(on_all_cpus(&asked, |(spot, said)| {
            let said = match said {
                Err(said) if said.contains(NOT_FOUND) || reason(said) == SILENT => {
                    self.say(&spot.to_string())
                }
                said => said.clone(),
            };
            said.map_err(|said| reason(&said))
                .and_then(|said| self.read(&said))
        }))
    }

    /// Asks which lines of each function can be probed; of the file first, as for definitions: perf
    /// compares the paths of files as they are written, with `.` and `..`.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn list(&self, session: &Session<'_>, functions: &[Spot]) -> io::Result<Vec<Listed>> {
        for function in functions {
            self.sources.add(&function.path)?;
        }
        self.narrow.only(&units(session, functions))?;
        let of_file = on_all_cpus(functions, |function| {
            self.say_lines(&format!("{}@{}", function.line, function.file))
        });
        self.narrow.all()?;
        let asked: Vec<_> = functions.iter().zip(of_file).collect();
        Ok(on_all_cpus(&asked, |(function, said)| {
            let said = match said {
                Err(_) => self.say_lines(&function.line),
                said => said.clone(),
            };
            said.map(|said| listed(&said)).map_err(|said| reason(&said))
        }))
    }

    /// What perf says of the lines of a function, now or before.
    fn say_lines(&self, question: &str) -> Said {
        let folder = self.sources.folder.as_os_str();
        let words = ["--source".as_ref(), folder, "-L".as_ref()];
        self.ask_perf(&format!("-L {question}"), &words, question)
    }

    /// What perf says of a definition, now or before.
    fn say(&self, question: &str) -> Said {
        let question = question.trim();
        self.ask_perf(question, &["-D".as_ref()], &format!("spot={question}"))
    }

    /// What perf says to `words` and `question`, now or before, when it was kept as `key`.
    fn ask_perf(&self, key: &str, words: &[&OsStr], question: &str) -> Said {
        if let Some(said) = self.answers.get(key) {
            return said;
        }
        let mut command = Command::new("perf");
        command.args(["probe", "-k"]).arg(self.vmlinux);
        command.args(words).arg(question);
        let output = command.output().map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = match output.status.code() {
            Some(0) => Ok(text(&output.stdout)),
            Some(_) => Err(text(&output.stderr)),
            // It was killed, and has not answered.
            None => return Err(output.status.to_string()),
        };
        self.answers.keep(key, &said);
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

/// The numbers of a listing: the first seven columns of its lines.
fn listed(said: &str) -> BTreeSet<u32> {
    let numbers = said.lines().filter_map(|line| line.get(..7));
    numbers
        .filter_map(|number| number.trim().parse().ok())
        .collect()
}

/// Files in place of the sources, without which perf lists nothing. All are empty lines.
pub struct Sources {
    /// The folder that has them.
    pub folder: PathBuf,
}

impl Sources {
    /// No file has more lines.
    const LINES: usize = 100_000;

    /// An empty folder.
    pub fn new() -> io::Result<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);

        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("beside_perf_sources.{}.{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("blank"), "\n".repeat(Self::LINES))?;
        Ok(Self { folder })
    }

    /// Adds a file, below each end of its path: perf's has fewer folders before it.
    pub fn add(&self, path: &str) -> io::Result<()> {
        let ends = std::iter::successors(Some(path), |path| Some(path.split_once('/')?.1));
        for path in ends {
            let path = self.folder.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
            match symlink(self.folder.join("blank"), path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Sources {
    fn drop(&mut self) {
        // What is left behind is small, and a folder of this process alone.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What perf says if no function of the file has the name, and for a variable.
const NOT_FOUND: &str = "not found";
pub const SILENT: &str = "nothing was said";

/// What perf says of a refusal, without names and numbers.
fn reason(said: &str) -> String {
    let lines = said.lines().filter(|line| {
        !line.contains("Failed to add events")
            && !line.contains("Failed to show lines")
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
