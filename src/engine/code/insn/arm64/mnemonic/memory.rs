// SPDX-License-Identifier: GPL-2.0

//! Loads, stores and atomics.

use super::bits::{bit, bits, is_31, pick};

pub(super) fn name(word: u32) -> &'static str {
    let vector = bit(word, 26);
    match bits(word, 29, 28) {
        0b00 if !vector => exclusive_or_ordered(word),
        0b01 if !bit(word, 24) => literal(word, vector),
        0b01 => copy_or_set_or_tag(word, vector),
        0b10 => pair(word, vector),
        0b11 => single(word, vector),
        _ => "",
    }
}

/// Four names that differ by the size of the access: byte, halfword and, twice, a whole
/// register.
macro_rules! sized {
    ($name:literal) => {
        [concat!($name, "b"), concat!($name, "h"), $name, $name]
    };
}

/// The names of an atomic by size, and by ordering: none, release, acquire, both.
macro_rules! ordered {
    ($name:literal) => {
        [
            sized!($name),
            [
                concat!($name, "lb"),
                concat!($name, "lh"),
                concat!($name, "l"),
                concat!($name, "l"),
            ],
            [
                concat!($name, "ab"),
                concat!($name, "ah"),
                concat!($name, "a"),
                concat!($name, "a"),
            ],
            [
                concat!($name, "alb"),
                concat!($name, "alh"),
                concat!($name, "al"),
                concat!($name, "al"),
            ],
        ]
    };
}

type Sized = [&'static str; 4];
type Ordered = [Sized; 4];

/// Returns the name for the size in bits 31 and 30.
fn by_size(names: &Sized, word: u32) -> &'static str {
    pick(names, bits(word, 31, 30))
}

/// Returns the name for that size and an ordering.
fn by_order(names: &Ordered, acquire: bool, release: bool, word: u32) -> &'static str {
    let order = u32::from(acquire) << 1 | u32::from(release);
    by_size(&pick(names, order), word)
}

fn exclusive_or_ordered(word: u32) -> &'static str {
    const CAS: Ordered = ordered!("cas");
    const CASP: Ordered = ordered!("casp");
    const CAST: Ordered = ordered!("cast");
    /// By bit 15, acquire or release, and bit 22, load.
    const EXCLUSIVE: [[Sized; 2]; 2] = [
        [sized!("stxr"), sized!("ldxr")],
        [sized!("stlxr"), sized!("ldaxr")],
    ];
    const ORDERED: [[Sized; 2]; 2] = [
        [sized!("stllr"), sized!("ldlar")],
        [sized!("stlr"), sized!("ldar")],
    ];
    const PAIR: [[&str; 2]; 2] = [["stxp", "ldxp"], ["stlxp", "ldaxp"]];
    const UNPRIVILEGED: [[&str; 2]; 2] = [["sttxr", "ldtxr"], ["stltxr", "ldatxr"]];

    let load = bits(word, 22, 22);
    let ordering = bits(word, 15, 15);
    let compare = is_31(word, 10);
    let (acquire, release) = (bit(word, 22), bit(word, 15));
    match (bits(word, 24, 23), bit(word, 21)) {
        (0b00, false) => by_size(&pick(&pick(&EXCLUSIVE, ordering), load), word),
        (0b00, true) if bit(word, 31) => pick(&pick(&PAIR, ordering), load),
        // Always of register size.
        (0b00, true) if compare => by_order(&CASP, acquire, release, word | 1 << 31),
        (0b01, false) => by_size(&pick(&pick(&ORDERED, ordering), load), word),
        (0b01, true) if compare => by_order(&CAS, acquire, release, word),
        (0b10, false) if bit(word, 31) => pick(&pick(&UNPRIVILEGED, ordering), load),
        (0b11, false) if compare && bits(word, 31, 30) == 3 => {
            by_order(&CAST, acquire, release, word)
        }
        _ => "",
    }
}

fn literal(word: u32, vector: bool) -> &'static str {
    match bits(word, 31, 30) {
        0b00 | 0b01 => "ldr",
        0b10 if vector => "ldr",
        0b10 => "ldrsw",
        _ if vector => "",
        _ => "prfm",
    }
}

/// Returns the name of a word with bits 29 to 27 and 24 as 011 and 1.
fn copy_or_set_or_tag(word: u32, vector: bool) -> &'static str {
    const CLEAR_PAIR: [&str; 4] = ["ldclrp", "ldclrpl", "ldclrpa", "ldclrpal"];
    const SET_PAIR: [&str; 4] = ["ldsetp", "ldsetpl", "ldsetpa", "ldsetpal"];
    const SWAP_PAIR: [&str; 4] = ["swpp", "swppl", "swppa", "swppal"];
    const STORE_TAG: [[&str; 4]; 4] = [
        ["stzgm", "stg", "stg", "stg"],
        ["ldg", "stzg", "stzg", "stzg"],
        ["stgm", "st2g", "st2g", "st2g"],
        ["ldgm", "stz2g", "stz2g", "stz2g"],
    ];
    match (bit(word, 21), bits(word, 11, 10)) {
        (false, 0b00) if !vector => unscaled_ordered(word),
        (false, 0b01) => copy_or_set(word, vector),
        (true, form) if !vector && bits(word, 31, 30) == 3 => {
            pick(&pick(&STORE_TAG, bits(word, 23, 22)), form)
        }
        (true, 0b00) if !vector && !bit(word, 31) => match bits(word, 15, 12) {
            1 => pick(&CLEAR_PAIR, bits(word, 23, 22)),
            3 => pick(&SET_PAIR, bits(word, 23, 22)),
            8 => pick(&SWAP_PAIR, bits(word, 23, 22)),
            _ => "",
        },
        _ => "",
    }
}

fn unscaled_ordered(word: u32) -> &'static str {
    const NAMES: [Sized; 4] = [
        ["stlurb", "stlurh", "stlur", "stlur"],
        ["ldapurb", "ldapurh", "ldapur", "ldapur"],
        ["ldapursb", "ldapursh", "ldapursw", ""],
        ["ldapursb", "ldapursh", "", ""],
    ];
    by_size(&pick(&NAMES, bits(word, 23, 22)), word)
}

/// Returns the name of a memory copy or set; its variants for privilege and temporality are
/// not distinguished.
fn copy_or_set(word: u32, vector: bool) -> &'static str {
    const COPY: [[&str; 4]; 2] = [
        ["cpyfp", "cpyfm", "cpyfe", ""],
        ["cpyp", "cpym", "cpye", ""],
    ];
    const SET: [[&str; 4]; 2] = [
        ["setp", "setm", "sete", ""],
        ["setgp", "setgm", "setge", ""],
    ];
    match bits(word, 23, 22) {
        // The stage of a set is in its second opcode field.
        0b11 => pick(&pick(&SET, u32::from(vector)), bits(word, 15, 14)),
        stage => pick(&pick(&COPY, u32::from(vector)), stage),
    }
}

fn pair(word: u32, vector: bool) -> &'static str {
    let load = bit(word, 22);
    let size = bits(word, 31, 30);
    match (size, bits(word, 24, 23)) {
        (0b11, _) => "",
        (0b01, 0b00) if !vector => "",
        (_, 0b00) if load => "ldnp",
        (_, 0b00) => "stnp",
        (0b01, _) if !vector && load => "ldpsw",
        (0b01, _) if !vector => "stgp",
        _ if load => "ldp",
        _ => "stp",
    }
}

/// Returns the name of an access to one register, in the addressing modes of bits 24, 21,
/// 11 and 10.
fn single(word: u32, vector: bool) -> &'static str {
    const SCALED: [Sized; 4] = [
        ["strb", "strh", "str", "str"],
        ["ldrb", "ldrh", "ldr", "ldr"],
        ["ldrsb", "ldrsh", "ldrsw", "prfm"],
        ["ldrsb", "ldrsh", "", ""],
    ];
    const UNSCALED: [Sized; 4] = [
        ["sturb", "sturh", "stur", "stur"],
        ["ldurb", "ldurh", "ldur", "ldur"],
        ["ldursb", "ldursh", "ldursw", "prfum"],
        ["ldursb", "ldursh", "", ""],
    ];
    const UNPRIVILEGED: [Sized; 4] = [
        ["sttrb", "sttrh", "sttr", "sttr"],
        ["ldtrb", "ldtrh", "ldtr", "ldtr"],
        ["ldtrsb", "ldtrsh", "ldtrsw", ""],
        ["ldtrsb", "ldtrsh", "", ""],
    ];
    let operation = bits(word, 23, 22);
    let named = |names: &[Sized; 4]| by_size(&pick(names, operation), word);
    let load = bit(word, 22);

    match (bit(word, 24), bit(word, 21), bits(word, 11, 10)) {
        (false, false, 0b00) if vector => if_load(load, "ldur", "stur"),
        (false, true, 0b01 | 0b11) if vector => "",
        (false, true, 0b00) if vector => "",
        (false, false, 0b10) if vector => "",
        _ if vector => if_load(load, "ldr", "str"),
        (true, _, _) | (false, false, 0b01 | 0b11) | (false, true, 0b10) => named(&SCALED),
        (false, false, 0b00) => named(&UNSCALED),
        (false, false, _) => named(&UNPRIVILEGED),
        (false, true, 0b00) => atomic(word),
        (false, true, _) if bits(word, 31, 30) == 3 && bit(word, 23) => "ldrab",
        (false, true, _) if bits(word, 31, 30) == 3 => "ldraa",
        _ => "",
    }
}

fn if_load(load: bool, yes: &'static str, no: &'static str) -> &'static str {
    if load {
        yes
    } else {
        no
    }
}

fn atomic(word: u32) -> &'static str {
    const LOAD: [Ordered; 8] = [
        ordered!("ldadd"),
        ordered!("ldclr"),
        ordered!("ldeor"),
        ordered!("ldset"),
        ordered!("ldsmax"),
        ordered!("ldsmin"),
        ordered!("ldumax"),
        ordered!("ldumin"),
    ];
    const STORE: [Ordered; 8] = [
        ordered!("stadd"),
        ordered!("stclr"),
        ordered!("steor"),
        ordered!("stset"),
        ordered!("stsmax"),
        ordered!("stsmin"),
        ordered!("stumax"),
        ordered!("stumin"),
    ];
    const SWAP: Ordered = ordered!("swp");
    const LOAD_ACQUIRE: Sized = sized!("ldapr");

    let (acquire, release) = (bit(word, 23), bit(word, 22));
    let discards = is_31(word, 0) && !acquire;
    match bits(word, 15, 12) {
        operation @ 0..=7 => {
            let names = if discards { &STORE } else { &LOAD };
            by_order(&pick(names, operation), acquire, release, word)
        }
        8 => by_order(&SWAP, acquire, release, word),
        12 if acquire && !release => by_size(&LOAD_ACQUIRE, word),
        _ => "",
    }
}
