// SPDX-License-Identifier: GPL-2.0

//! Asks `perf probe` for definitions.

use crate::draw::Spot;
use ferroprobe_tools::image::Image;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;

/// At each address what fetches the variable, if one was asked for; or why perf refuses.
pub type Answer = Result<BTreeMap<u64, String>, String>;

/// The addresses of symbols that alone have their name.
pub fn addresses(image: &Image<'_>) -> HashMap<String, u64> {
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

/// Asks for all spots, many in one call: reading the kernel takes long.
pub fn ask(vmlinux: &Path, symbols: &HashMap<String, u64>, spots: &[Spot]) -> Vec<Answer> {
    /// perf takes 128 at most. One that it refuses makes it refuse all.
    const TOGETHER: usize = 16;

    let mut answers: Vec<Answer> = vec![Err(String::new()); spots.len()];
    // Those that it may refuse are asked for alone.
    let (alone, together): (Vec<usize>, Vec<usize>) =
        (0..spots.len()).partition(|at| spots.get(*at).is_some_and(|spot| spot.is_shared));
    let parts = alone.chunks(1).chain(together.chunks(TOGETHER));
    for (number, part) in parts.enumerate() {
        let asked: Vec<&Spot> = part.iter().filter_map(|at| spots.get(*at)).collect();
        for (at, answer) in part.iter().zip(ask_part(vmlinux, symbols, &asked)) {
            if let Some(place) = answers.get_mut(*at) {
                *place = answer;
            }
        }
        if number % 50 == 0 {
            eprintln!("# perf probe: {number} questions");
        }
    }
    answers
}

fn ask_part(vmlinux: &Path, symbols: &HashMap<String, u64>, spots: &[&Spot]) -> Vec<Answer> {
    match call(vmlinux, symbols, spots) {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(reason) if spots.len() <= 1 => vec![Err(reason)],
        Err(_) => {
            let (first, second) = spots.split_at(spots.len() / 2);
            let mut answers = ask_part(vmlinux, symbols, first);
            answers.extend(ask_part(vmlinux, symbols, second));
            answers
        }
    }
}

/// One call of perf.
fn call(
    vmlinux: &Path,
    symbols: &HashMap<String, u64>,
    spots: &[&Spot],
) -> Result<Vec<BTreeMap<u64, String>>, String> {
    let mut command = Command::new("perf");
    command.args(["probe", "-k"]).arg(vmlinux);
    for (at, spot) in spots.iter().enumerate() {
        command.arg("-D").arg(format!("spot{at}x={spot}"));
    }
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(reason(&said));
    }
    let mut answers = vec![BTreeMap::new(); spots.len()];
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // p:probe/spot3x[_1] SYMBOL[+OFFSET] [VARIABLE=PLACE:TYPE]
        let mut words = line.split(' ');
        let number = words
            .next()
            .and_then(|event| event.strip_prefix("p:probe/spot"))
            .and_then(|event| event.split('x').next()?.parse::<usize>().ok());
        let place = words.next().unwrap_or_default();
        let (name, offset) = place.split_once('+').unwrap_or((place, "0"));
        let address = symbols.get(name).zip(offset.parse::<u64>().ok());
        let answer = number.and_then(|number| answers.get_mut(number));
        let (Some((start, offset)), Some(answer)) = (address, answer) else {
            return Err(format!("an answer that was not understood: {line}"));
        };
        let fetched = words.next().and_then(|word| word.split_once('='));
        let fetched = fetched.map_or("", |(_, fetched)| fetched);
        answer.insert(start + offset, fetched.into());
    }
    Ok(answers)
}

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
