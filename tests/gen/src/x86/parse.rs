// SPDX-License-Identifier: GPL-2.0

//! Reads the description of the x86-64 opcode maps.

use super::{Description, Grid, Group, CLASSES, LEGACY, PREFIXES, VECTOR_MAPS};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The conditions in the order of their encoding.
const CONDITIONS: [&str; 16] = [
    "o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g",
];

/// Which map a statement is about.
#[derive(Clone, Copy)]
enum Map {
    Legacy(usize),
    Vector(usize),
}

/// Reads a whole description.
pub(super) fn description(text: &str) -> Result<Description, String> {
    let empty: Grid = [['.'; PREFIXES]; 256];
    let mut made = Description {
        legacy: vec![empty; LEGACY.len()],
        vector: vec![empty; VECTOR_MAPS],
        legacy_groups: BTreeMap::new(),
        vector_groups: BTreeMap::new(),
        classes: BTreeMap::new(),
        names: BTreeMap::new(),
        group_names: BTreeMap::new(),
    };
    let mut current = None;
    for (number, line) in text.lines().enumerate() {
        statement(&mut made, &mut current, line)
            .map_err(|message| format!("line {}: {message}", number + 1))?;
    }
    Ok(made)
}

fn statement(made: &mut Description, current: &mut Option<Map>, line: &str) -> Result<(), String> {
    let code = line.split('#').next().unwrap_or("");
    let words: Vec<&str> = code.split_whitespace().collect();
    match words.as_slice() {
        [] => Ok(()),
        cells if line.starts_with(' ') => row(made, *current, cells),
        ["map", name] => {
            *current = Some(Map::Legacy(legacy(name)?));
            Ok(())
        }
        ["vector", number] => {
            *current = Some(vector(number)?);
            Ok(())
        }
        ["group", map, op, rest @ ..] => group(made, map, byte(op)?, rest),
        ["class", map, place, name] => class(made, legacy(map)?, place, name),
        ["names", map, place, rest @ ..] => names(made, legacy(map)?, place, rest),
        [word, ..] => Err(format!("`{word}` begins no statement")),
    }
}

fn legacy(name: &str) -> Result<usize, String> {
    LEGACY
        .iter()
        .position(|known| *known == name)
        .ok_or(format!("no map is called `{name}`"))
}

fn vector(number: &str) -> Result<Map, String> {
    number
        .parse()
        .ok()
        .filter(|number| (1..VECTOR_MAPS).contains(number))
        .map(Map::Vector)
        .ok_or(format!("there is no vector map {number}"))
}

fn byte(text: &str) -> Result<u8, String> {
    u8::from_str_radix(text, 16).map_err(|_| format!("`{text}` is no byte"))
}

fn bytes(text: &str) -> Result<RangeInclusive<u8>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Ok(byte(first)?..=byte(last)?)
}

fn cell(text: &str) -> Result<[char; PREFIXES], String> {
    match text.chars().collect::<Vec<_>>().as_slice() {
        [one] => Ok([*one; PREFIXES]),
        [none, p66, f3, f2] => Ok([*none, *p66, *f3, *f2]),
        _ => Err(format!("the cell `{text}` has not one letter or four")),
    }
}

fn row(made: &mut Description, current: Option<Map>, cells: &[&str]) -> Result<(), String> {
    let grid = match current {
        Some(Map::Legacy(map)) => &mut made.legacy[map],
        Some(Map::Vector(map)) => &mut made.vector[map],
        None => return Err("a row outside a map".into()),
    };
    let [first, cells @ ..] = cells else {
        return Err("a row without its number".into());
    };
    let first = usize::from(byte(first)?);
    if cells.len() != 16 {
        return Err(format!("a row has 16 cells, not {}", cells.len()));
    }
    for (slot, text) in grid[first..].iter_mut().zip(cells) {
        *slot = cell(text)?;
    }
    Ok(())
}

fn group(made: &mut Description, map: &str, op: u8, items: &[&str]) -> Result<(), String> {
    let group = match map.strip_prefix("vector") {
        Some(number) => {
            let Map::Vector(map) = vector(number)? else {
                return Err(format!("there is no vector map {number}"));
            };
            made.vector_groups.entry((map, op)).or_default()
        }
        None => made.legacy_groups.entry((legacy(map)?, op)).or_default(),
    };
    for item in items {
        let wrong = || format!("`{item}` names no register");
        let (register, letters) = item.split_once('=').ok_or_else(wrong)?;
        let (first, last) = register.split_once('-').unwrap_or((register, register));
        let first: usize = first.parse().map_err(|_| wrong())?;
        let last: usize = last.parse().map_err(|_| wrong())?;
        if last > 7 {
            return Err(wrong());
        }
        for register in first..=last {
            if letters == "none" {
                group.absent[register] = true;
            } else {
                group.letters.insert(register, cell(letters)?);
            }
        }
    }
    Ok(())
}

fn class(made: &mut Description, map: usize, place: &str, name: &str) -> Result<(), String> {
    let class = CLASSES
        .iter()
        .position(|known| *known == name)
        .and_then(|class| u8::try_from(class).ok())
        .ok_or(format!("no class is called `{name}`"))?;
    let Some((op, slot)) = place.split_once('/') else {
        for op in bytes(place)? {
            made.classes.insert((map, op), class);
        }
        return Ok(());
    };
    let group: &mut Group = made.legacy_groups.entry((map, byte(op)?)).or_default();
    let (register, memory, direct) = match slot.strip_suffix('r') {
        Some(register) => (register, false, true),
        None => match slot.strip_suffix('m') {
            Some(register) => (register, true, false),
            None => (slot, true, true),
        },
    };
    let register: usize = register
        .parse()
        .ok()
        .filter(|register| *register < 8)
        .ok_or(format!("`{slot}` names no register"))?;
    if memory {
        group.classes.insert(register, class);
    }
    if direct {
        group.classes.insert(register + 8, class);
    }
    Ok(())
}

fn names(made: &mut Description, map: usize, place: &str, words: &[&str]) -> Result<(), String> {
    if let Some(op) = place.strip_suffix('/') {
        if words.len() != 8 {
            return Err(format!("a group has 8 names, not {}", words.len()));
        }
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        made.group_names.insert((map, byte(op)?), words);
        return Ok(());
    }
    let words: Vec<String> = match words {
        [pattern] if pattern.ends_with('*') => CONDITIONS
            .iter()
            .map(|condition| pattern.replace('*', condition))
            .collect(),
        words => words.iter().map(|word| (*word).to_owned()).collect(),
    };
    if words.len() != 16 {
        return Err(format!("a row has 16 names, not {}", words.len()));
    }
    for (op, word) in (byte(place)?..=u8::MAX).zip(words) {
        if word != "." {
            made.names.insert((map, op), word);
        }
    }
    Ok(())
}
