// SPDX-License-Identifier: GPL-2.0

//! Where ftrace may report the entry of a function, by its first bytes.

/// The bytes that are looked at.
pub(super) const LOOKED_AT: usize = 16;

/// Offsets in a function at which ftrace may patch an instruction: the likeliest first.
pub(super) type Candidates = [Option<u8>; 2];

/// Returns where ftrace may patch the function that begins with `bytes`: a nop or a call of
/// five bytes, at the function's start or behind its landing pad. A breakpoint may hide the
/// first byte of either.
#[cfg(target_arch = "x86_64")]
pub(super) fn candidates(bytes: &[u8]) -> Candidates {
    const NOP: &[u8] = &[0x0f, 0x1f, 0x44, 0x00, 0x00];
    const CALL: u8 = 0xe8;
    const INT3: u8 = 0xcc;
    const ENDBR64: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
    /// What the kernel writes over landing pads that nothing needs.
    const SEALED: [&[u8]; 2] = [&[0x66, 0x0f, 0x1f, 0x00], &[0x0f, 0x1f, 0x40, 0xd6]];

    let may_be =
        |bytes: &[u8]| bytes.starts_with(NOP) || matches!(bytes.first(), Some(&(CALL | INT3)));
    let start = may_be(bytes).then_some(0);
    let behind = bytes
        .split_at_checked(ENDBR64.len())
        .filter(|(pad, behind)| {
            let is_pad = *pad == ENDBR64 || SEALED.contains(pad);
            (is_pad || pad.first() == Some(&INT3)) && may_be(behind)
        });
    // CAST: A small constant.
    [start, behind.map(|_| ENDBR64.len() as u8)]
}

/// Returns where ftrace may patch the function that begins with `bytes`: behind the `mov x9,
/// x30` that the kernel writes at boot, in the first three words. A breakpoint may hide it.
#[cfg(target_arch = "aarch64")]
pub(super) fn candidates(bytes: &[u8]) -> Candidates {
    const MOV_X9_X30: u32 = 0xaa1e_03e9;
    /// `brk`, without its number.
    const BRK: u32 = 0xd420_0000;

    let mut found = [None; 2];
    let mut rest = found.iter_mut();
    for (index, word) in (1..=3_u8).zip(bytes.chunks_exact(4)) {
        let &[a, b, c, d] = word else { break };
        let word = u32::from_le_bytes([a, b, c, d]);
        if word == MOV_X9_X30 || word & !0x001f_ffe0 == BRK {
            if let Some(to) = rest.next() {
                *to = Some(index.wrapping_mul(4));
            }
        }
    }
    found
}
