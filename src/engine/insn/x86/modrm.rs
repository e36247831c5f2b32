// SPDX-License-Identifier: GPL-2.0

//! How many bytes a ModRM byte brings with it.

/// The bytes of ModRM, SIB and displacement by ModRM byte, without the
/// displacement that only the SIB byte can tell of: [`SIB_BASE`] marks those.
pub(super) static MODRM_LENGTH: [u8; 256] = {
    let mut table = [0; 256];
    let mut modrm = 0;
    while modrm < 256 {
        table[modrm] = measure(modrm >> 6, modrm & 7);
        modrm += 1;
    }
    table
};

/// Set in a slot of [`MODRM_LENGTH`] when a SIB byte with base 5 adds a
/// displacement of four bytes.
pub(super) const SIB_BASE: u8 = 0x40;

const fn measure(mode: usize, rm: usize) -> u8 {
    match (mode, rm) {
        (0, 4) => 2 | SIB_BASE,
        (0, 5) => 5,
        (0, _) => 1,
        (1, 4) => 3,
        (1, _) => 2,
        (2, 4) => 6,
        (2, _) => 5,
        _ => 1,
    }
}

/// The bytes of ModRM, SIB and displacement; `sib` is the byte behind `modrm`,
/// whether that is a SIB byte or not.
#[inline(always)]
pub(super) fn modrm_length(modrm: u8, sib: u8) -> usize {
    // PANIC: a byte cannot exceed a table of 256.
    let slot = MODRM_LENGTH[usize::from(modrm)];
    if slot & SIB_BASE == 0 {
        usize::from(slot)
    } else {
        usize::from(with_sib(sib))
    }
}

/// The bytes where [`SIB_BASE`] is set: ModRM, `sib`, and a displacement if
/// that has no base.
#[inline(always)]
pub(super) fn with_sib(sib: u8) -> u8 {
    if sib & 7 == 5 {
        6
    } else {
        2
    }
}
