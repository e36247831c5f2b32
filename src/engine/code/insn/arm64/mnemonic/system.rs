// SPDX-License-Identifier: GPL-2.0

//! Branches, exceptions, hints, barriers and system registers.

use super::super::class::hint_number;
use super::bits::{bit, bits, is_31, pick};

pub(super) fn name(word: u32) -> &'static str {
    match word >> 24 {
        0x14..=0x17 => "b",
        0x94..=0x97 => "bl",
        0x34 | 0xb4 => "cbz",
        0x35 | 0xb5 => "cbnz",
        0x36 | 0xb6 => "tbz",
        0x37 | 0xb7 => "tbnz",
        0x54 => conditional(word),
        0x55 if word & 0xffe0_001f == 0x5500_001f => "retaasppc",
        0x55 if word & 0xffe0_001f == 0x5520_001f => "retabsppc",
        0x74 | 0x75 | 0xf4 | 0xf5 => "cb",
        0xd4 => exception(word),
        0xd5 => system(word),
        0xd6 | 0xd7 => to_register(word),
        _ => "",
    }
}

fn conditional(word: u32) -> &'static str {
    const PLAIN: [&str; 16] = [
        "b.eq", "b.ne", "b.cs", "b.cc", "b.mi", "b.pl", "b.vs", "b.vc", "b.hi", "b.ls", "b.ge",
        "b.lt", "b.gt", "b.le", "b.al", "b.nv",
    ];
    const CONSISTENT: [&str; 16] = [
        "bc.eq", "bc.ne", "bc.cs", "bc.cc", "bc.mi", "bc.pl", "bc.vs", "bc.vc", "bc.hi", "bc.ls",
        "bc.ge", "bc.lt", "bc.gt", "bc.le", "bc.al", "bc.nv",
    ];
    let names = if bit(word, 4) { &CONSISTENT } else { &PLAIN };
    pick(names, bits(word, 3, 0))
}

fn exception(word: u32) -> &'static str {
    match (bits(word, 23, 21), bits(word, 4, 0)) {
        (0b000, 0b00001) => "svc",
        (0b000, 0b00010) => "hvc",
        (0b000, 0b00011) => "smc",
        (0b001, 0b00000) => "brk",
        (0b010, 0b00000) => "hlt",
        (0b101, 0b00001) => "dcps1",
        (0b101, 0b00010) => "dcps2",
        (0b101, 0b00011) => "dcps3",
        _ => "",
    }
}

fn to_register(word: u32) -> &'static str {
    let with_modifier = bit(word, 24);
    match (bits(word, 23, 21), bits(word, 15, 10)) {
        (0b000, 0b00) => "br",
        (0b000, 0b10) if with_modifier => "braa",
        (0b000, 0b11) if with_modifier => "brab",
        (0b000, 0b10) => "braaz",
        (0b000, 0b11) => "brabz",
        (0b001, 0b00) => "blr",
        (0b001, 0b10) if with_modifier => "blraa",
        (0b001, 0b11) if with_modifier => "blrab",
        (0b001, 0b10) => "blraaz",
        (0b001, 0b11) => "blrabz",
        (0b010, 0b00) => "ret",
        (0b010, 0b10) if !is_31(word, 0) => "retaasppcr",
        (0b010, 0b11) if !is_31(word, 0) => "retabsppcr",
        (0b010, 0b10) => "retaa",
        (0b010, 0b11) => "retab",
        (0b100, 0b00) => "eret",
        (0b100, 0b10) => "eretaa",
        (0b100, 0b11) => "eretab",
        (0b101, 0b00) => "drps",
        _ => "",
    }
}

fn system(word: u32) -> &'static str {
    match bits(word, 23, 19) {
        // op0 is 0: hints, barriers and fields of PSTATE.
        0b00000 => match bits(word, 18, 12) {
            0b011_0010 if is_31(word, 0) => hint(word),
            0b011_0011 if is_31(word, 0) => barrier(word),
            0b011_0001 if bits(word, 11, 5) == 0 => "wfet",
            0b011_0001 if bits(word, 11, 5) == 1 => "wfit",
            0b000_0100 if is_31(word, 0) && bits(word, 7, 5) <= 2 => match bits(word, 7, 5) {
                0 => "cfinv",
                1 => "xaflag",
                _ => "axflag",
            },
            _ if bits(word, 15, 12) == 0b0100 && is_31(word, 0) => "msr",
            _ => "",
        },
        0b00001 => operation(word),
        0b00101 => "sysl",
        0b00010 | 0b00011 => "msr",
        0b00110 | 0b00111 => "mrs",
        _ => "",
    }
}

/// Returns the name of `sys` or an alias, distinguished by CRn and CRm.
fn operation(word: u32) -> &'static str {
    match (bits(word, 15, 12), bits(word, 11, 8)) {
        (7, 1 | 5) => "ic",
        (7, 4 | 6 | 10..=14) => "dc",
        (7, 8 | 9) => "at",
        (8 | 9, _) => "tlbi",
        _ => "sys",
    }
}

fn barrier(word: u32) -> &'static str {
    match bits(word, 7, 5) {
        0b001 => "dsb",
        0b010 => "clrex",
        0b100 => "dsb",
        0b101 => "dmb",
        0b110 => "isb",
        0b111 if bits(word, 11, 8) == 0 => "sb",
        _ => "",
    }
}

fn hint(word: u32) -> &'static str {
    match hint_number(word) {
        0x00 => "nop",
        0x01 => "yield",
        0x02 => "wfe",
        0x03 => "wfi",
        0x04 => "sev",
        0x05 => "sevl",
        0x06 => "dgh",
        0x07 => "xpaclri",
        0x08 => "pacia1716",
        0x0a => "pacib1716",
        0x0c => "autia1716",
        0x0e => "autib1716",
        0x10 => "esb",
        0x11 => "psb",
        0x12 => "tsb",
        0x13 => "gcsb",
        0x14 => "csdb",
        0x16 => "clrbhb",
        0x18 => "paciaz",
        0x19 => "paciasp",
        0x1a => "pacibz",
        0x1b => "pacibsp",
        0x1c => "autiaz",
        0x1d => "autiasp",
        0x1e => "autibz",
        0x1f => "autibsp",
        0x20 | 0x22 | 0x24 | 0x26 => "bti",
        0x27 => "pacm",
        _ => "hint",
    }
}
