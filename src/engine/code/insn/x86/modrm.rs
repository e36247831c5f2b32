// SPDX-License-Identifier: GPL-2.0

//! The number of bytes that belong to a ModRM byte.

/// The bytes of ModRM, SIB and displacement by ModRM byte, without a displacement that
/// depends on the SIB byte.
pub(super) static MODRM_LENGTH: [u8; 256] = {
    let mut table = [0; 256];
    let mut modrm = 0;
    while modrm < 256 {
        table[modrm] = measure(modrm >> 6, modrm & 7);
        modrm += 1;
    }
    table
};

const fn measure(mode: usize, rm: usize) -> u8 {
    match (mode, rm) {
        (0, 4) => 2,
        (0, 5) => 5,
        (0, _) => 1,
        (1, 4) => 3,
        (1, _) => 2,
        (2, 4) => 6,
        (2, _) => 5,
        _ => 1,
    }
}

/// Returns whether the SIB byte `sib` behind `modrm` has a displacement of four bytes in
/// place of a base; false if `modrm` has no SIB byte.
#[inline(always)]
pub(super) fn is_without_base(modrm: u8, sib: u8) -> bool {
    (modrm & 0xc7, sib & 7) == (4, 5)
}

/// Returns the bytes of ModRM, SIB and displacement; `sib` is the byte behind `modrm`,
/// whether it is a SIB byte or not.
#[inline(always)]
pub(super) fn modrm_length(modrm: u8, sib: u8) -> usize {
    // PANIC: a byte cannot exceed a table of 256.
    let len = usize::from(MODRM_LENGTH[usize::from(modrm)]);
    if is_without_base(modrm, sib) {
        len.wrapping_add(4)
    } else {
        len
    }
}
