// SPDX-License-Identifier: GPL-2.0

//! Data processing with an immediate operand.

use super::bits::{bit, bits, is_31};

pub(super) fn name(word: u32) -> &'static str {
    match bits(word, 25, 23) {
        0b000 | 0b001 => match bit(word, 31) {
            false => "adr",
            true => "adrp",
        },
        0b010 => add_subtract(word),
        0b100 => logical(word),
        0b101 => move_wide(word),
        0b110 => bitfield(word),
        0b111 if word & 0xffe0_001f == 0xf380_001f => "autiasppc",
        0b111 if word & 0xffe0_001f == 0xf3a0_001f => "autibsppc",
        0b111 if bits(word, 30, 29) != 0 => "",
        0b111 => match bits(word, 9, 5) == bits(word, 20, 16) {
            true => "ror",
            false => "extr",
        },
        _ => "",
    }
}

fn add_subtract(word: u32) -> &'static str {
    let to_or_from_sp = is_31(word, 0) || is_31(word, 5);
    match bits(word, 30, 29) {
        // Without an amount, between the stack pointer and another register.
        0b00 if to_or_from_sp && bits(word, 22, 10) == 0 => "mov",
        0b00 => "add",
        0b01 if is_31(word, 0) => "cmn",
        0b01 => "adds",
        0b10 => "sub",
        _ if is_31(word, 0) => "cmp",
        _ => "subs",
    }
}

fn logical(word: u32) -> &'static str {
    match bits(word, 30, 29) {
        0b00 => "and",
        0b01 if is_31(word, 5) && !fits_move_wide(word) => "mov",
        0b01 => "orr",
        0b10 => "eor",
        _ if is_31(word, 0) => "tst",
        _ => "ands",
    }
}

/// Returns whether `movz` or `movn` could load a bitmask immediate; `orr` then keeps its
/// name.
fn fits_move_wide(word: u32) -> bool {
    let ones_less_1 = bits(word, 15, 10);
    let rotation = bits(word, 21, 16);
    let wide = bit(word, 31);
    let element_is_register = match wide {
        true => bit(word, 22),
        false => !bit(word, 22) && ones_less_1 & 0x20 == 0,
    };
    let width: u32 = if wide { 64 } else { 32 };

    if !element_is_register {
        return false;
    }
    if ones_less_1 < 16 {
        // movz: the ones lie within sixteen bits.
        let shift_in_16 = (16 - rotation % 16) % 16;
        return shift_in_16 <= 15 - ones_less_1;
    }
    // movn: the zeros lie within sixteen bits.
    ones_less_1 + 15 >= width && rotation % 16 + width <= ones_less_1 + 15
}

fn move_wide(word: u32) -> &'static str {
    let immediate_is_0 = bits(word, 20, 5) == 0;
    let all_ones = bits(word, 20, 5) == 0xffff;
    let shifted = bits(word, 22, 21) != 0;
    match bits(word, 30, 29) {
        0b00 if immediate_is_0 && shifted || all_ones && !bit(word, 31) => "movn",
        0b10 if immediate_is_0 && shifted => "movz",
        0b00 | 0b10 => "mov",
        0b11 => "movk",
        _ => "",
    }
}

fn bitfield(word: u32) -> &'static str {
    let rotation = bits(word, 21, 16);
    let last = bits(word, 15, 10);
    let top = if bit(word, 31) { 63 } else { 31 };
    let insert = last < rotation;
    match bits(word, 30, 29) {
        0b00 => match last {
            _ if last == top => "asr",
            _ if insert => "sbfiz",
            7 if rotation == 0 => "sxtb",
            15 if rotation == 0 => "sxth",
            31 if rotation == 0 => "sxtw",
            _ => "sbfx",
        },
        0b01 if insert && is_31(word, 5) => "bfc",
        0b01 if insert => "bfi",
        0b01 => "bfxil",
        0b10 => match last {
            _ if last == top => "lsr",
            _ if last + 1 == rotation => "lsl",
            _ if insert => "ubfiz",
            7 if rotation == 0 && top == 31 => "uxtb",
            15 if rotation == 0 && top == 31 => "uxth",
            _ => "ubfx",
        },
        _ => "",
    }
}
