// SPDX-License-Identifier: GPL-2.0

//! `beside_perf VMLINUX COUNT SEED [PROGRAM]`: draws lines and variables of a kernel, asks this
//! crate and `perf probe` for definitions, and tells where they differ. With PROGRAM, which is
//! `ferroprobe`, it measures both as well. After LIMIT seconds of the environment it stops, and says
//! so.
//!
//! `qemu/test-lines` runs it where `perf` is. It fails if an address or a place differs.

mod cost;
mod draw;
mod perf;
mod tally;

use draw::{Draw, Spot};
use ferroprobe_tools::boundary::Boundaries;
use ferroprobe_tools::data::Data;
use ferroprobe_tools::debug::{Debug, Sections};
use ferroprobe_tools::error::Result;
use ferroprobe_tools::fetch::expression::Expression;
use ferroprobe_tools::fetch::render::Names;
use ferroprobe_tools::fetch::variable;
use ferroprobe_tools::image::Image;
use ferroprobe_tools::index::cache;
use ferroprobe_tools::lines::find;
use ferroprobe_tools::session::Session;
use ferroprobe_tools::symbols::Symbols;
use ferroprobe_tools::target::Target;
use perf::{Answer, Perf};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tally::Tally;

/// What this crate has at each address of a line: the place of the variable, or why not.
type Ours = BTreeMap<u64, std::result::Result<String, String>>;

/// The addresses of a line and, if `variable` is one, what fetches it there.
fn ours(session: &Session<'_>, line: &str, variable: Option<&str>) -> Result<Ours> {
    let symbols = Symbols::new(session.image, None);
    let names = Names {
        arch: session.image.arch,
        symbols: &symbols,
    };
    let boundaries = Boundaries::new(session.image);
    let mut found = Ours::new();
    for location in find::locations(session, &Target::parse(line)?)? {
        let address = location.moment.0;
        if symbols.is_gone(address) {
            found.insert(address, Err("it is only run at boot".into()));
            continue;
        }
        // perf has a line once more where a function that it calls is inlined.
        for called in location.scopes.all.iter().filter(|scope| {
            let pair = scope.called.zip(location.line);
            pair.is_some_and(|(called, line)| called == line)
        }) {
            if let Some((start, _)) = called.start.filter(|(start, _)| *start != address) {
                let why = "the line begins before, and calls an inlined function here";
                found.entry(start).or_insert_with(|| Err(why.into()));
            }
        }
        let judged = location.check().and_then(|()| boundaries.judge(address));
        let place = judged.and_then(|()| match variable {
            Some(name) => {
                let argument = Expression::parse(name)?;
                let fetch = variable::fetch(session, &names, &location, &argument)?;
                Ok(format!("{}:{}", fetch.text, fetch.kind))
            }
            None => Ok(String::new()),
        });
        found.insert(address, place.map_err(|refusal| refusal.to_string()));
    }
    Ok(found)
}

/// Compares one spot.
fn compare(tally: &mut Tally, spot: &Spot, ours: Result<Ours>, perf: &Answer) {
    let what = spot.to_string();
    let (ours, perf) = match (ours, perf) {
        (Err(refusal), Err(_)) => return tally.both_refuse(&what, &refusal.to_string()),
        (Err(refusal), Ok(_)) => return tally.ours_refuses(&what, &refusal.to_string()),
        (Ok(ours), Err(reason)) => {
            match ours.values().find_map(|place| place.as_ref().err()) {
                Some(refusal) if ours.values().all(std::result::Result::is_err) => {
                    tally.both_refuse(&what, refusal);
                }
                _ => tally.perf_refuses(&what, reason),
            }
            return;
        }
        (Ok(ours), Ok(perf)) => (ours, perf),
    };
    tally.spot(&what, &ours, perf);
}

/// After so many of each it tells how far it is, and may stop.
const PART: usize = 100;

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
    fn part(&mut self, session: &Session<'_>, perf: &Perf<'_>, count: usize) -> Result<()> {
        let mut spots = Vec::new();
        while spots.len() < count {
            let Some(spot) = self.draw.next(self.with_variable)? else {
                break;
            };
            spots.push(spot);
        }
        let answers = perf.ask(&spots);
        for (spot, answer) in spots.iter().zip(&answers) {
            let ours = ours(session, &spot.line, spot.variable.as_deref());
            compare(&mut self.tally, spot, ours, answer);
        }
        self.asked += spots.len();
        eprintln!("# {} {}: {}", self.asked, self.what, self.tally.summary());
        Ok(())
    }
}

fn beside(vmlinux: &Path, count: usize, seed: u64, limit: Duration) -> Result<bool> {
    let began = Instant::now();
    let data = Data::open(vmlinux)?;
    let image = Image::parse(&data)?;
    let sections = Sections::load(&image)?;
    let debug = Debug::new(&sections, vmlinux)?;
    let index = cache::open(&debug, image.build_id().as_deref(), data.len())?;
    let session = Session::new(&image, &debug, index);
    let perf = Perf::new(vmlinux, &image);
    let side = |what, with_variable| Side {
        what,
        draw: Draw::new(&session, seed),
        with_variable,
        tally: Tally::default(),
        asked: 0,
    };
    let mut sides = [side("lines", false), side("variables", true)];
    let mut done = 0;
    while done < count && began.elapsed() < limit {
        let part = PART.min(count - done);
        for side in &mut sides {
            side.part(&session, &perf, part)?;
        }
        done += part;
    }
    let mut good = true;
    for side in &sides {
        let title = format!(
            "{} {} of {:?}, drawn by {seed}",
            side.asked, side.what, image.arch
        );
        good &= side.tally.print(&title);
    }
    if done < count {
        println!("stopped by LIMIT={}", limit.as_secs());
    }
    Ok(good)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [vmlinux, count, seed, program @ ..] = arguments.as_slice() else {
        eprintln!("usage: beside_perf VMLINUX COUNT SEED [PROGRAM]");
        return ExitCode::FAILURE;
    };
    let vmlinux = PathBuf::from(vmlinux);
    let (Ok(count), Ok(seed)) = (count.parse(), seed.parse()) else {
        eprintln!("COUNT and SEED are numbers");
        return ExitCode::FAILURE;
    };
    if let [program] = program {
        cost::print(&vmlinux, Path::new(program));
    }
    let limit = std::env::var("LIMIT")
        .ok()
        .and_then(|limit| limit.parse().ok());
    let limit = limit.map_or(Duration::MAX, Duration::from_secs);
    match beside(&vmlinux, count, seed, limit) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(refusal) => {
            eprintln!("{refusal}");
            ExitCode::FAILURE
        }
    }
}
