// SPDX-License-Identifier: GPL-2.0

//! Data processing between registers.

use super::bits::{bit, bits, is_31, pick};

pub(super) fn name(word: u32) -> &'static str {
    match (bit(word, 28), bits(word, 24, 21)) {
        (false, 0b0000..=0b0111) => logical(word),
        // With bit 21 the second operand is extended, otherwise shifted.
        (false, _) => add_subtract(word, bit(word, 21)),
        (true, 0b0000) => with_carry(word),
        (true, 0b0010) => match bit(word, 30) {
            false => "ccmn",
            true => "ccmp",
        },
        (true, 0b0100) => select(word),
        (true, 0b0110) => match bit(word, 30) {
            false => two_sources(word),
            true => one_source(word),
        },
        (true, 0b1000..=0b1111) => three_sources(word),
        _ => "",
    }
}

fn logical(word: u32) -> &'static str {
    let no_shift = bits(word, 23, 22) == 0 && bits(word, 15, 10) == 0;
    match (bits(word, 30, 29), bit(word, 21)) {
        (0b00, false) => "and",
        (0b00, true) => "bic",
        (0b01, false) if is_31(word, 5) && no_shift => "mov",
        (0b01, false) => "orr",
        (0b01, true) if is_31(word, 5) => "mvn",
        (0b01, true) => "orn",
        (0b10, false) => "eor",
        (0b10, true) => "eon",
        (_, false) if is_31(word, 0) => "tst",
        (_, false) => "ands",
        (_, true) => "bics",
    }
}

fn add_subtract(word: u32, extended: bool) -> &'static str {
    let negates = !extended && is_31(word, 5);
    match bits(word, 30, 29) {
        0b00 => "add",
        0b01 if is_31(word, 0) => "cmn",
        0b01 => "adds",
        0b10 if negates => "neg",
        0b10 => "sub",
        _ if is_31(word, 0) => "cmp",
        _ if negates => "negs",
        _ => "subs",
    }
}

fn with_carry(word: u32) -> &'static str {
    match (bits(word, 15, 10), bits(word, 30, 29)) {
        (0, 0b00) => "adc",
        (0, 0b01) => "adcs",
        (0, 0b10) if is_31(word, 5) => "ngc",
        (0, 0b10) => "sbc",
        (0, _) if is_31(word, 5) => "ngcs",
        (0, _) => "sbcs",
        (0b0_00001 | 0b1_00001, 0b01) => "rmif",
        (0b0_00010, 0b01) => "setf8",
        (0b0_10010, 0b01) => "setf16",
        _ => "",
    }
}

fn select(word: u32) -> &'static str {
    let same = bits(word, 9, 5) == bits(word, 20, 16);
    let zero = same && is_31(word, 5);
    let usual = bits(word, 15, 13) != 0b111;
    match (bit(word, 30), bits(word, 11, 10)) {
        (false, 0b00) => "csel",
        (false, 0b01) if zero && usual => "cset",
        (false, 0b01) if same && usual && !zero => "cinc",
        (false, 0b01) => "csinc",
        (true, 0b00) if zero && usual => "csetm",
        (true, 0b00) if same && usual && !zero => "cinv",
        (true, 0b00) => "csinv",
        (true, 0b01) if same && usual => "cneg",
        (true, 0b01) => "csneg",
        _ => "",
    }
}

fn two_sources(word: u32) -> &'static str {
    match bits(word, 15, 10) {
        0b000010 => "udiv",
        0b000011 => "sdiv",
        0b000100 => "irg",
        0b000101 => "gmi",
        0b001000 => "lsl",
        0b001001 => "lsr",
        0b001010 => "asr",
        0b001011 => "ror",
        0b001100 => "pacga",
        0b010000 => "crc32b",
        0b010001 => "crc32h",
        0b010010 => "crc32w",
        0b010011 => "crc32x",
        0b010100 => "crc32cb",
        0b010101 => "crc32ch",
        0b010110 => "crc32cw",
        0b010111 => "crc32cx",
        0b011000 => "smax",
        0b011001 => "umax",
        0b011010 => "smin",
        0b011011 => "umin",
        0b000000 if bit(word, 29) && is_31(word, 0) => "cmpp",
        0b000000 if bit(word, 29) => "subps",
        0b000000 => "subp",
        _ => "",
    }
}

fn one_source(word: u32) -> &'static str {
    const AUTHENTICATION: [&str; 18] = [
        "pacia", "pacib", "pacda", "pacdb", "autia", "autib", "autda", "autdb", "paciza", "pacizb",
        "pacdza", "pacdzb", "autiza", "autizb", "autdza", "autdzb", "xpaci", "xpacd",
    ];
    let operation = bits(word, 15, 10);
    match (bits(word, 20, 16), operation) {
        (0, 0) => "rbit",
        (0, 1) => "rev16",
        (0, 2) if bit(word, 31) => "rev32",
        (0, 2 | 3) => "rev",
        (0, 4) => "clz",
        (0, 5) => "cls",
        (0, 6) => "ctz",
        (0, 7) => "cnt",
        (0, 8) => "abs",
        (1, 0..=17) => pick(&AUTHENTICATION, operation),
        (1, 0b100000) => "pacnbiasppc",
        (1, 0b100001) => "pacnbibsppc",
        (1, 0b101000) => "paciasppc",
        (1, 0b101001) => "pacibsppc",
        _ => "",
    }
}

fn three_sources(word: u32) -> &'static str {
    let no_addend = is_31(word, 10);
    match (bits(word, 23, 21), bit(word, 15)) {
        (0b000, false) if no_addend => "mul",
        (0b000, false) => "madd",
        (0b000, true) if no_addend => "mneg",
        (0b000, true) => "msub",
        (0b001, false) if no_addend => "smull",
        (0b001, false) => "smaddl",
        (0b001, true) if no_addend => "smnegl",
        (0b001, true) => "smsubl",
        (0b010, false) => "smulh",
        (0b011, false) => "maddpt",
        (0b011, true) => "msubpt",
        (0b101, false) if no_addend => "umull",
        (0b101, false) => "umaddl",
        (0b101, true) if no_addend => "umnegl",
        (0b101, true) => "umsubl",
        (0b110, false) => "umulh",
        _ => "",
    }
}
