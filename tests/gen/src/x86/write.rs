// SPDX-License-Identifier: GPL-2.0

//! Writes the x86-64 opcode tables as Rust.

use super::{Description, Grid, Group, CLASSES, PREFIXES, SLOTS};
use std::collections::BTreeMap;
use std::fmt::Write;

// The encoding of an entry; src/engine/code/insn/x86/entry.rs reads it.
const MODRM: u16 = 1 << 5;
const IMMEDIATE: u16 = 6;
const SIZED: u16 = 1 << 10;
const SELECTOR: u16 = 11;
const PREFIX: u16 = 29;
const ESCAPE: u16 = 30;
const VECTOR_ONLY: u16 = 31;

/// How vector cells name a group.
const VECTOR_GROUP: u8 = 0x10;

const HEAD: &str = "\
// SPDX-License-Identifier: GPL-2.0

//! The x86-64 opcode tables.
//!
//! Written by `cargo run -p ferroprobe-gen` from `tests/gen/x86-opcodes.txt`;
//! do not edit. `entry.rs` explains the encoding.
";

/// The whole text of `tables.rs`.
pub(super) fn tables(made: &Description) -> String {
    let mut out = String::from(HEAD);
    let mut groups = Vec::new();
    let numbers = number_groups(&made.legacy_groups);
    for ((map, op), group) in &made.legacy_groups {
        groups.push(legacy_group(made, *map, *op, group));
    }
    let grids: Vec<[[u16; 256]; PREFIXES]> = (0..made.legacy.len())
        .map(|map| legacy_grid(made, &numbers, map))
        .collect();
    words(&mut out, "ONE_BYTE", "The one-byte opcodes.", &grids[0][0]);
    let docs = [
        ("TWO_BYTE", "The opcodes behind `0F`, by mandatory prefix."),
        (
            "MAP_0F38",
            "The opcodes behind `0F 38`, by mandatory prefix.",
        ),
        (
            "MAP_0F3A",
            "The opcodes behind `0F 3A`, by mandatory prefix.",
        ),
    ];
    for ((name, doc), grid) in docs.iter().zip(&grids[1..]) {
        nested(&mut out, name, doc, "u16; 256", grid.as_slice());
    }
    let flat: Vec<Vec<[u16; SLOTS]>> = groups;
    let _ = writeln!(
        out,
        "\n/// The groups of the legacy maps, by mandatory prefix and slot.\n#[rustfmt::skip]\npub(super) static GROUPS: [[[u16; {SLOTS}]; {PREFIXES}]; {}] = [",
        flat.len()
    );
    for group in &flat {
        out.push_str("    [\n");
        for slots in group {
            let _ = writeln!(out, "        [{}],", list(slots));
        }
        out.push_str("    ],\n");
    }
    out.push_str("];\n");
    vectors(&mut out, made);
    names(&mut out, made);
    out
}

fn number_groups(groups: &BTreeMap<(usize, u8), Group>) -> BTreeMap<(usize, u8), u16> {
    groups.keys().copied().zip(1..).collect()
}

/// The form of a legacy letter, without class and selector.
fn form(letter: char) -> u16 {
    match letter {
        'm' | 'v' => MODRM,
        'i' => MODRM | 1 << IMMEDIATE,
        'j' => MODRM | 2 << IMMEDIATE,
        'z' => MODRM | 4 << IMMEDIATE | SIZED,
        'b' => 1 << IMMEDIATE,
        'w' => 2 << IMMEDIATE,
        'E' => 3 << IMMEDIATE,
        'J' => 4 << IMMEDIATE,
        'Z' | 'V' => 4 << IMMEDIATE | SIZED,
        'O' => 8 << IMMEDIATE,
        _ => 0,
    }
}

fn class_of(name: &str) -> u16 {
    CLASSES
        .iter()
        .position(|known| *known == name)
        .and_then(|class| u16::try_from(class).ok())
        .unwrap_or(0)
}

fn entry(letter: char, class: Option<u8>) -> u16 {
    let nonexistent = class_of("Nonexistent");
    let class = class.map_or(0, u16::from);
    match letter {
        'p' => PREFIX << SELECTOR,
        'e' => ESCAPE << SELECTOR,
        'v' => VECTOR_ONLY << SELECTOR | MODRM | nonexistent,
        'u' => PREFIX << SELECTOR | class,
        '.' | 'x' => nonexistent,
        _ => form(letter) | class,
    }
}

fn legacy_grid(
    made: &Description,
    groups: &BTreeMap<(usize, u8), u16>,
    map: usize,
) -> [[u16; 256]; PREFIXES] {
    let mut grid = [[0; 256]; PREFIXES];
    for (prefix, table) in grid.iter_mut().enumerate() {
        for (op, slot) in (0..=u8::MAX).zip(table.iter_mut()) {
            let letter = made.legacy[map][usize::from(op)][prefix];
            *slot = entry(letter, made.classes.get(&(map, op)).copied());
            if let Some(group) = groups.get(&(map, op)) {
                *slot |= group << SELECTOR;
            }
        }
    }
    grid
}

fn legacy_group(made: &Description, map: usize, op: u8, group: &Group) -> Vec<[u16; SLOTS]> {
    let class = made.classes.get(&(map, op)).copied();
    (0..PREFIXES)
        .map(|prefix| {
            std::array::from_fn(|slot| {
                let base = made.legacy[map][usize::from(op)][prefix];
                let register = slot % 8;
                let own = group.letters.get(&register).map(|letters| letters[prefix]);
                let class = group.classes.get(&slot).copied().or(class);
                match own {
                    _ if group.absent[register] => form(base) | class_of("Nonexistent"),
                    Some('.') => form(base) | class_of("Nonexistent"),
                    Some(letter) => entry(letter, class),
                    None => entry(base, class),
                }
            })
        })
        .collect()
}

fn vector_cell(letter: char) -> u8 {
    match letter {
        'n' => 1,
        'v' => 2,
        'w' => 3,
        'd' => 4,
        'e' => 5,
        'f' => 6,
        'Y' => 7,
        _ => 0,
    }
}

fn vectors(out: &mut String, made: &Description) {
    let numbers: BTreeMap<(usize, u8), u8> = made
        .vector_groups
        .keys()
        .copied()
        .zip(VECTOR_GROUP..=u8::MAX)
        .collect();
    let mut pages: Vec<[u8; 256]> = vec![[0; 256]];
    let mut index = vec![[0u8; PREFIXES]; made.vector.len()];
    for (map, grid) in made.vector.iter().enumerate() {
        for (prefix, place) in index[map].iter_mut().enumerate() {
            let page = vector_page(grid, &numbers, map, prefix);
            let at = pages.iter().position(|known| *known == page);
            let at = at.unwrap_or_else(|| {
                pages.push(page);
                pages.len() - 1
            });
            *place = u8::try_from(at).expect("fewer than 256 pages");
        }
    }
    nested(
        out,
        "VECTOR_PAGE",
        "Which page of [`VECTOR`] holds a vector map, by mandatory prefix.",
        "u8; 4",
        &index,
    );
    nested(
        out,
        "VECTOR",
        "The opcodes of the vector maps; page 0 is the map without any.",
        "u8; 256",
        &pages,
    );
    let groups: Vec<[u8; 32]> = made
        .vector_groups
        .iter()
        .map(|((map, op), group)| {
            std::array::from_fn(|at| {
                let (prefix, register) = (at / 8, at % 8);
                let base = made.vector[*map][usize::from(*op)][prefix];
                vector_cell(group.letters.get(&register).map_or(base, |own| own[prefix]))
            })
        })
        .collect();
    nested(
        out,
        "VECTOR_GROUPS",
        "The groups of the vector maps; the slot is the prefix times 8 plus the register.",
        "u8; 32",
        &groups,
    );
}

fn vector_page(
    grid: &Grid,
    groups: &BTreeMap<(usize, u8), u8>,
    map: usize,
    prefix: usize,
) -> [u8; 256] {
    let mut page = [0; 256];
    for (op, slot) in (0..=u8::MAX).zip(page.iter_mut()) {
        *slot = match groups.get(&(map, op)) {
            Some(group) => *group,
            None => vector_cell(grid[usize::from(op)][prefix]),
        };
    }
    page
}

fn names(out: &mut String, made: &Description) {
    let number = |name: &str, all: &mut Vec<String>| -> u8 {
        if name == "." {
            return 0;
        }
        let at = all.iter().position(|known| known == name);
        let at = at.unwrap_or_else(|| {
            all.push(name.to_owned());
            all.len() - 1
        });
        u8::try_from(at).expect("fewer than 256 names")
    };
    let mut all = vec!["insn".to_owned()];
    let mut maps = vec![[0u8; 256]; 2];
    for ((map, op), name) in &made.names {
        maps[*map][usize::from(*op)] = number(name, &mut all);
    }
    let mut groups: Vec<[u8; 8]> = Vec::new();
    let first_group = 232;
    for ((map, op), registers) in &made.group_names {
        groups.push(std::array::from_fn(|at| number(&registers[at], &mut all)));
        maps[*map][usize::from(*op)] =
            u8::try_from(first_group + groups.len() - 1).expect("fewer than 24 groups");
    }
    assert!(all.len() < first_group, "names and groups share a byte");
    nested(
        out,
        "OPCODE_NAMES",
        "Names of the one-byte opcodes and of those behind `0F`: an index into\n/// [`NAMES`], or [`FIRST_NAME_GROUP`] plus one into [`GROUP_NAMES`].",
        "u8; 256",
        &maps,
    );
    let _ = writeln!(
        out,
        "\n/// The first value that stands for a group.\npub(super) const FIRST_NAME_GROUP: u8 = {first_group};"
    );
    nested(
        out,
        "GROUP_NAMES",
        "Names of the members of groups: indices into [`NAMES`].",
        "u8; 8",
        &groups,
    );
    let _ = writeln!(
        out,
        "\n/// The names themselves.\n#[rustfmt::skip]\npub(super) static NAMES: [&str; {}] = [",
        all.len()
    );
    for line in all.chunks(8) {
        let quoted: Vec<String> = line.iter().map(|name| format!("\"{name}\"")).collect();
        let _ = writeln!(out, "    {},", quoted.join(", "));
    }
    out.push_str("];\n");
}

fn list<T: std::fmt::LowerHex>(values: &[T]) -> String {
    let width = 2 * size_of::<T>();
    let texts: Vec<String> = values
        .iter()
        .map(|value| format!("0x{value:0width$x}"))
        .collect();
    texts.join(", ")
}

fn words(out: &mut String, name: &str, doc: &str, values: &[u16; 256]) {
    let _ = writeln!(
        out,
        "\n/// {doc}\n#[rustfmt::skip]\npub(super) static {name}: [u16; 256] = ["
    );
    for line in values.chunks(16) {
        let _ = writeln!(out, "    {},", list(line));
    }
    out.push_str("];\n");
}

fn nested<T: std::fmt::LowerHex, const N: usize>(
    out: &mut String,
    name: &str,
    doc: &str,
    element: &str,
    rows: &[[T; N]],
) {
    let _ = writeln!(
        out,
        "\n/// {doc}\n#[rustfmt::skip]\npub(super) static {name}: [[{element}]; {}] = [",
        rows.len()
    );
    for row in rows {
        if N <= 16 {
            let _ = writeln!(out, "    [{}],", list(row));
            continue;
        }
        out.push_str("    [\n");
        for line in row.chunks(16) {
            let _ = writeln!(out, "        {},", list(line));
        }
        out.push_str("    ],\n");
    }
    out.push_str("];\n");
}
