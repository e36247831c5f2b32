// SPDX-License-Identifier: GPL-2.0

//! `beside_perf VMLINUX COPY COUNT SEED [PROGRAM]`: draws lines and variables of a kernel, asks this
//! crate and `perf probe` for definitions, and tells where they differ; and draws functions, and asks both
//! which of their lines can be probed. perf is asked for COPY, which may have fewer symbols, and which this
//! writes to. With PROGRAM, which is `ferroprobe`, it measures both as well. Of the environment:
//!
//! * `LIMIT`: after so many seconds it stops, and says so;
//! * `ANSWERS`: the file in which it keeps what perf answered;
//! * `SPOTS`: what it looks at in place of what it would draw, `FUNCTION:LINE [VARIABLE]` or `FUNCTION`,
//!   with commas between them;
//! * `EXAMPLES`: how many of each reason it shows;
//! * `DEFINITIONS`: the file to which it writes `WRITTEN` of the definitions that are printed.
//!
//! `qemu/test-lines` runs it where `perf` is. It fails if something differs without a reason that it
//! knows, and has checked; and if a definition is printed for a place that ferroprobe refuses.

mod answers;
mod computed;
mod cost;
mod draw;
mod listed;
mod listing;
mod narrow;
mod perf;
mod printed;
mod reasons;
mod reverse;
mod tally;

use draw::{Draw, Spot};
use ferroprobe_tools::data::Data;
use ferroprobe_tools::debug::{Debug, Sections};
use ferroprobe_tools::error::Result;
use ferroprobe_tools::fetch::expression::Expression;
use ferroprobe_tools::fetch::render::Names;
use ferroprobe_tools::fetch::variable;
use ferroprobe_tools::image::Image;
use ferroprobe_tools::index::cache;
use ferroprobe_tools::lines::find::{self, Location};
use ferroprobe_tools::session::Session;
use ferroprobe_tools::symbols::Symbols;
use ferroprobe_tools::target::Target;
use perf::{Answer, Perf};
use printed::Printed;
use reasons::Facts;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tally::Tally;

/// What this crate has at an address: nothing or the place of the variable, or why not.
struct Own {
    place: Place,
    /// The same for the last line that begins at the address, if that is another moment: what one
    /// who does not read views takes.
    last: Option<Place>,
}

type Place = std::result::Result<String, String>;

/// What this crate has at each address of a line.
type Ours = BTreeMap<u64, Own>;

/// The addresses of a line and, if `variable` is one, what fetches it there.
fn ours<'s>(session: &Session<'s>, line: &str, variable: Option<&str>) -> Result<Ours> {
    let symbols = Symbols::new(session.image, None);
    let names = Names {
        arch: session.image.arch,
        symbols: &symbols,
    };
    let fetched = |location: &Location<'s>| -> Place {
        let Some(name) = variable else {
            return Ok(String::new());
        };
        let fetch = || variable::fetch(session, &names, location, &Expression::parse(name)?);
        let fetch = fetch().map_err(|refusal| refusal.to_string())?;
        Ok(format!("{}:{}", fetch.text, fetch.kind))
    };
    let mut found = Ours::new();
    for mut location in find::locations(session, &Target::parse(line)?)? {
        let address = location.moment.0;
        let judged = match symbols.is_gone(address) {
            true => Err("it is only run at boot".into()),
            false => location
                .check()
                .and_then(|()| session.boundaries().judge(address))
                .map_err(|refusal| refusal.to_string()),
        };
        let place = judged.and_then(|()| fetched(&location));
        let last = location.source.table.last_at(address).map(|row| row.view);
        let last = last.filter(|view| *view != location.moment.1);
        let last = last.map(|view| {
            location.moment.1 = view;
            fetched(&location)
        });
        found.insert(address, Own { place, last });
    }
    Ok(found)
}

/// Compares one spot.
fn compare(
    tally: &mut Tally,
    spot: &Spot,
    ours: Result<Ours>,
    facts: &Facts<'_, '_>,
    perf: &Answer,
) {
    let what = spot.to_string();
    match (ours, perf) {
        (Err(refusal), Err(_)) => tally.both_refuse(&what, &refusal.to_string()),
        (Err(refusal), Ok(_)) => tally.ours_refuses(&what, &refusal.to_string()),
        (Ok(ours), Err(reason)) => {
            let refusal = ours.values().find_map(|own| own.place.as_ref().err());
            match refusal {
                Some(refusal) if ours.values().all(|own| own.place.is_err()) => {
                    tally.both_refuse(&what, refusal);
                }
                _ => tally.perf_refuses(
                    &what,
                    reason,
                    facts.of_refusal(reason, spot.variable.as_deref(), &ours),
                ),
            }
        }
        (Ok(ours), Ok(perf)) => {
            let mut by_address = BTreeMap::new();
            for defined in perf {
                let has_line = |at: &u64| ours.contains_key(at) || facts.has_line_at(*at);
                let mut lines = defined.addresses.iter().copied().filter(has_line);
                let (name, offset) = &defined.place;
                // Of several functions of the name perf means the one that has the line.
                let meant = match defined.addresses.as_slice() {
                    [_, _, ..] => {
                        tally.unclear(&what, NAMESAKES);
                        lines.find(|at| !by_address.contains_key(at))
                    }
                    [..] => lines.next().or_else(|| {
                        let replaced = facts.in_replaced(name, *offset);
                        let replaced = replaced.filter(|at| !defined.addresses.contains(at))?;
                        tally.unclear(&what, REPLACED);
                        Some(replaced)
                    }),
                };
                let meant = meant.or(defined.addresses.first().copied());
                by_address.extend(meant.map(|address| (address, defined.fetched.clone())));
            }
            tally.spot(&what, (&ours, spot.variable.as_deref()), facts, &by_address);
        }
    }
}

/// Why the kernel does not take a probe of perf's, or takes it elsewhere.
const NAMESAKES: &str =
    "several functions have the name that it writes, and the kernel refuses that";
const REPLACED: &str = "it names a weak function, and means the one that has replaced it";

/// After so many of each it tells how far it is, and may stop.
const PART: usize = 50;

/// One of the two things that are compared.
struct Side<'a, 's> {
    what: &'static str,
    draw: Draw<'a, 's>,
    with_variable: bool,
    tally: Tally,
    asked: usize,
}

impl Side<'_, '_> {
    /// Draws and compares `count` spots.
    fn part(
        &mut self,
        session: &Session<'_>,
        perf: &Perf<'_>,
        printed: &mut Printed<'_, '_>,
        count: usize,
    ) -> Result<()> {
        let mut spots = Vec::new();
        while spots.len() < count {
            let Some(spot) = self.draw.next(self.with_variable)? else {
                break;
            };
            spots.push(spot);
        }
        self.compare(session, perf, printed, &spots)
    }

    /// Compares spots.
    fn compare(
        &mut self,
        session: &Session<'_>,
        perf: &Perf<'_>,
        printed: &mut Printed<'_, '_>,
        spots: &[Spot],
    ) -> Result<()> {
        let answers = perf.ask(session, spots)?;
        for (spot, answer) in spots.iter().zip(&answers) {
            let ours = ours(session, &spot.line, spot.variable.as_deref());
            let facts = Facts::new(session, &spot.line)?;
            printed.add(session, spot, &ours)?;
            compare(&mut self.tally, spot, ours, &facts, answer);
        }
        self.asked += spots.len();
        eprintln!("# {} {}: {}", self.asked, self.what, self.tally.summary());
        Ok(())
    }
}

/// For so many lines it asks for the lines of one function.
const LINES_TO_LISTS: usize = 2;

/// The lines of functions.
struct Lists<'a, 's> {
    draw: Draw<'a, 's>,
    tally: Tally,
    asked: usize,
}

impl Lists<'_, '_> {
    /// Draws and compares `count` functions.
    fn part(&mut self, session: &Session<'_>, perf: &Perf<'_>, count: usize) -> Result<()> {
        let mut functions = Vec::new();
        while functions.len() < count {
            let Some(function) = self.draw.next_function()? else {
                break;
            };
            functions.push(function);
        }
        self.compare(session, perf, &functions)
    }

    /// Compares functions.
    fn compare(
        &mut self,
        session: &Session<'_>,
        perf: &Perf<'_>,
        functions: &[Spot],
    ) -> Result<()> {
        let answers = perf.list(session, functions)?;
        for (function, answer) in functions.iter().zip(&answers) {
            listed::compare(session, &mut self.tally, function, answer)?;
        }
        self.asked += functions.len();
        eprintln!("# {} lists: {}", self.asked, self.tally.summary());
        Ok(())
    }
}

fn beside(
    vmlinux: &Path,
    for_perf: &Path,
    count: usize,
    seed: u64,
    limit: Duration,
) -> Result<bool> {
    let began = Instant::now();
    let data = Data::open(vmlinux)?;
    let image = Image::parse(&data)?;
    let sections = Sections::load(&image)?;
    let debug = Debug::new(&sections, vmlinux)?;
    let index = cache::open(&debug, image.build_id().as_deref(), data.len())?;
    let session = Session::new(&image, &debug, index);
    let kept = std::env::var_os("ANSWERS").map(PathBuf::from);
    let perf = Perf::new(for_perf, &image, kept.as_deref())?;
    let side = |what, with_variable| Side {
        what,
        draw: Draw::new(&session, seed),
        with_variable,
        tally: Tally::default(),
        asked: 0,
    };
    let mut sides = [side("lines", false), side("variables", true)];
    let mut printed = Printed::new(&image);
    let mut lists = Lists {
        draw: Draw::new(&session, seed),
        tally: Tally::default(),
        asked: 0,
    };
    let mut done = 0;
    // SPOTS are looked at in place of what is drawn.
    if let Ok(spots) = std::env::var("SPOTS") {
        let spots = spots.split(',').map(|spot| draw::given(&session, spot));
        let (spots, functions): (Vec<_>, Vec<_>) = spots
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .partition(|spot| spot.line.contains(':'));
        let [lines, _] = &mut sides;
        lines.compare(&session, &perf, &mut printed, &spots)?;
        lists.compare(&session, &perf, &functions)?;
        done = count;
    }
    while done < count && began.elapsed() < limit {
        let part = PART.min(count - done);
        for side in &mut sides {
            side.part(&session, &perf, &mut printed, part)?;
        }
        lists.part(&session, &perf, part.div_ceil(LINES_TO_LISTS))?;
        done += part;
    }
    let examples = number("EXAMPLES").unwrap_or(4);
    let mut good = true;
    for side in &sides {
        let title = format!(
            "{} {} of {:?}, drawn by {seed}",
            side.asked, side.what, image.arch
        );
        good &= side.tally.print(&title, examples);
    }
    let title = format!(
        "lines of {} functions of {:?}, drawn by {seed}",
        lists.asked, image.arch
    );
    good &= lists.tally.print(&title, examples);
    good &= printed.print();
    if let Some(path) = std::env::var_os("DEFINITIONS") {
        printed.write(Path::new(&path), number("WRITTEN").unwrap_or(500))?;
    }
    if done < count {
        println!("stopped by LIMIT={}", limit.as_secs());
    }
    Ok(good)
}

/// A number of the environment.
fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [vmlinux, for_perf, count, seed, program @ ..] = arguments.as_slice() else {
        eprintln!("usage: beside_perf VMLINUX COPY COUNT SEED [PROGRAM]");
        return ExitCode::FAILURE;
    };
    let vmlinux = PathBuf::from(vmlinux);
    let (Ok(count), Ok(seed)) = (count.parse(), seed.parse()) else {
        eprintln!("COUNT and SEED are numbers");
        return ExitCode::FAILURE;
    };
    if let [program] = program {
        if let Err(error) = cost::print(&vmlinux, Path::new(program)) {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    let limit = number("LIMIT").map_or(Duration::MAX, Duration::from_secs);
    match beside(&vmlinux, Path::new(for_perf), count, seed, limit) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(refusal) => {
            eprintln!("{refusal}");
            ExitCode::FAILURE
        }
    }
}
