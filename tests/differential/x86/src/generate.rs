// SPDX-License-Identifier: GPL-2.0

//! Bytes to decode: at random, at random with the shape of an instruction, and
//! every shape there is.

/// A small generator of pseudorandom numbers (xorshift64*).
pub struct Random(u64);

impl Random {
    /// A generator; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.number()) * bound as u128) >> 64) as usize
    }
}

/// The kinds of random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sixteen random bytes.
    Bytes,
    /// Prefixes in any order, then an opcode of any map.
    Prefixed,
    /// An opcode of any legacy map, REX or not, with few prefixes.
    Legacy,
    /// VEX, EVEX, XOP and REX2.
    Vector,
    /// The emulate prefixes.
    Emulate,
}

/// All kinds.
pub const KINDS: [Kind; 5] = [
    Kind::Bytes,
    Kind::Prefixed,
    Kind::Legacy,
    Kind::Vector,
    Kind::Emulate,
];

const LEGACY_PREFIXES: [u8; 11] = [
    0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3,
];

/// Sixteen bytes of a kind.
pub fn bytes(random: &mut Random, kind: Kind) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random.number().to_le_bytes());
    bytes[8..].copy_from_slice(&random.number().to_le_bytes());
    let mut at = 0;
    let put = |bytes: &mut [u8; 16], at: &mut usize, byte: u8| {
        if let Some(slot) = bytes.get_mut(*at) {
            *slot = byte;
        }
        *at += 1;
    };
    if kind == Kind::Bytes {
        return bytes;
    }
    if kind == Kind::Emulate {
        let prefix = [b"\x0f\x0bxen", b"\x0f\x0bkvm"][random.below(2)];
        bytes[..5].copy_from_slice(prefix);
        at = 5 - usize::from(random.below(16) == 0);
    }
    let count = match kind {
        Kind::Prefixed => random.below(9),
        _ => random.below(3),
    };
    for _ in 0..count {
        let prefix = match random.below(8) {
            0 if kind == Kind::Prefixed => 0x40 | random.below(16) as u8,
            1 | 2 => 0x66,
            3 => 0xf2,
            4 => 0xf3,
            _ => LEGACY_PREFIXES[random.below(LEGACY_PREFIXES.len())],
        };
        put(&mut bytes, &mut at, prefix);
    }
    if random.below(3) == 0 {
        put(&mut bytes, &mut at, 0x40 | random.below(16) as u8);
    }
    let vector = kind == Kind::Vector || kind == Kind::Prefixed && random.below(6) == 0;
    if vector {
        let first = [0xc5, 0xc4, 0x62, 0x8f, 0xd5][random.below(5)];
        put(&mut bytes, &mut at, first);
        if matches!(first, 0xc4 | 0x8f) && random.below(4) != 0 {
            if let Some(map) = bytes.get_mut(at) {
                *map = *map & 0xe0 | random.below(12) as u8;
            }
        }
    } else {
        match random.below(6) {
            0 | 1 => {}
            2 | 3 => put(&mut bytes, &mut at, 0x0f),
            4 => {
                put(&mut bytes, &mut at, 0x0f);
                put(&mut bytes, &mut at, 0x38);
            }
            _ => {
                put(&mut bytes, &mut at, 0x0f);
                put(&mut bytes, &mut at, 0x3a);
            }
        }
    }
    bytes
}

/// Calls `visit` with every combination of a few prefixes, an opcode of any
/// map, and every ModRM byte with telling SIB bytes.
pub fn every_shape(mut visit: impl FnMut(&[u8])) {
    let prefixes: [&[u8]; 14] = [
        &[],
        &[0x66],
        &[0xf3],
        &[0xf2],
        &[0x67],
        &[0x2e],
        &[0x66, 0xf3],
        &[0x66, 0xf2],
        &[0xf2, 0x66],
        &[0x67, 0x66],
        &[0x48],
        &[0x66, 0x48],
        &[0xf3, 0x49],
        &[0x67, 0x4f],
    ];
    for prefix in prefixes {
        for map in [&[][..], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]] {
            every_opcode(&[prefix, map].concat(), &mut visit);
        }
        for payload in [0x00, 0x08, 0x80, 0x88, 0x7f, 0xff] {
            every_opcode(&[prefix, &[0xd5, payload]].concat(), &mut visit);
        }
    }
    for prefix in [&[][..], &[0x66], &[0x67], &[0x48]] {
        for payload in 0..=0xff {
            every_opcode(&[prefix, &[0xc5, payload]].concat(), &mut visit);
        }
        for wide in [0, 0x80] {
            for mandatory in 0..4 {
                for map in 0..32 {
                    let payload = 0x78 | wide | mandatory;
                    every_opcode(&[prefix, &[0xc4, 0xe0 | map, payload]].concat(), &mut visit);
                    every_opcode(&[prefix, &[0x8f, 0xe0 | map, payload]].concat(), &mut visit);
                }
                for map in 0..16 {
                    let payload = 0x7c | wide | mandatory;
                    let evex = [0x62, 0xf0 | map, payload, 0x08];
                    every_opcode(&[prefix, &evex].concat(), &mut visit);
                }
            }
        }
    }
}

fn every_opcode(before: &[u8], visit: &mut impl FnMut(&[u8])) {
    let mut bytes = [0x11; 24];
    bytes[..before.len()].copy_from_slice(before);
    let at = before.len();
    for op in 0..=0xff {
        bytes[at] = op;
        for modrm in 0..=0xff {
            // Other registers of memory operands change nothing.
            if modrm < 0xc0 && !matches!(modrm & 7, 0 | 4 | 5) {
                continue;
            }
            bytes[at + 1] = modrm;
            bytes[at + 2] = 0x25;
            visit(&bytes[..15]);
            if modrm & 0xc7 == 0x04 {
                bytes[at + 2] = 0x24;
                visit(&bytes[..15]);
            }
        }
    }
}
