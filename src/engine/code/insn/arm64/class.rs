// SPDX-License-Identifier: GPL-2.0

//! The class of an arm64 instruction with respect to control flow, exclusive monitors and
//! landing pads.

/// The class of a word.
///
/// Displacements are in bytes, relative to the instruction's own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm64Class {
    /// Any other instruction.
    Ordinary,
    /// `nop`.
    Nop,
    /// `bti` with any target, `paciasp` or `pacibsp`: where an indirect call or branch may
    /// arrive.
    LandingPad,
    /// Any other hint.
    Hint,
    /// `b`.
    Branch {
        /// Distance to the target.
        displacement: i32,
    },
    /// `b.cond`, `bc.cond`, `cbz`, `cbnz`, `tbz`, `tbnz` and `cb<cond>`.
    ConditionalBranch {
        /// Distance to the target.
        displacement: i32,
    },
    /// `bl`.
    Call {
        /// Distance to the target.
        displacement: i32,
    },
    /// `br` and its authenticated forms.
    IndirectBranch,
    /// `blr` and its authenticated forms.
    IndirectCall,
    /// `ret` and its authenticated forms.
    Return,
    /// `eret` and its authenticated forms.
    ExceptionReturn,
    /// `brk`.
    Breakpoint {
        /// Its immediate, which distinguishes kprobes, BUG and the sanitizers.
        immediate: u16,
    },
    /// `svc`, `hvc`, `smc`, `hlt`, `dcps` and the unallocated words there.
    Exception,
    /// `udf`.
    Undefined,
    /// A load that sets the exclusive monitor.
    LoadExclusive,
    /// A store that depends on the exclusive monitor and clears it.
    StoreExclusive,
    /// `clrex`.
    ClearExclusive,
    /// A single-instruction atomic: compare and swap, swap, load and operate.
    Atomic,
    /// `adr`, `adrp`, or a load or prefetch relative to the program counter.
    Literal,
}

/// The numbers of the hints that this decoder distinguishes.
pub(super) mod hint {
    pub(in super::super) const NOP: u32 = 0x00;
    pub(in super::super) const XPACLRI: u32 = 0x07;
    pub(in super::super) const PACIA1716: u32 = 0x08;
    pub(in super::super) const PACIB1716: u32 = 0x0a;
    pub(in super::super) const PACIAZ: u32 = 0x18;
    pub(in super::super) const PACIASP: u32 = 0x19;
    pub(in super::super) const PACIBZ: u32 = 0x1a;
    pub(in super::super) const PACIBSP: u32 = 0x1b;
    pub(in super::super) const BTI: u32 = 0x20;
    pub(in super::super) const BTI_C: u32 = 0x22;
    pub(in super::super) const BTI_J: u32 = 0x24;
    pub(in super::super) const BTI_JC: u32 = 0x26;
}

/// Returns the number of a hint instruction, CRm and op2 together.
pub(super) const fn hint_number(word: u32) -> u32 {
    (word >> 5) & 0x7f
}

/// Returns whether `word` is `casp`, in any of its orderings.
///
/// It shares its encoding space with the exclusive pairs, which differ in bit 31.
pub(super) const fn is_compare_and_swap_pair(word: u32) -> bool {
    word & 0xbfa0_7c00 == 0x0820_7c00
}

/// Returns the class of `word`.
pub const fn class(word: u32) -> Arm64Class {
    match (word >> 24) & 0x1f {
        0x14..=0x17 => branch_or_system(word),
        0x10 => Arm64Class::Literal,
        0x18 | 0x1c if word & (1 << 29) == 0 => Arm64Class::Literal,
        0x08 | 0x09 if word & (1 << 29) == 0 => exclusive_or_atomic(word),
        // Atomic memory operations; with bits 15 and 14, ldapr.
        0x18 if word & 0x2020_0c00 == 0x2020_0000 => match (word >> 12) & 0xf {
            0..=8 => Arm64Class::Atomic,
            _ => Arm64Class::Ordinary,
        },
        // ldclrp, ldsetp, swpp
        0x19 if word & 0xbf20_0c00 == 0x1920_0000 => match (word >> 12) & 0xf {
            1 | 3 | 8 => Arm64Class::Atomic,
            _ => Arm64Class::Ordinary,
        },
        _ if word >> 16 == 0 => Arm64Class::Undefined,
        _ => Arm64Class::Ordinary,
    }
}

/// Returns the class of a word whose bits 29 to 24 are 00100x: exclusives, ordered loads
/// and stores, and compare and swap.
const fn exclusive_or_atomic(word: u32) -> Arm64Class {
    let bit_31 = word & (1 << 31) != 0;
    let bit_21 = word & (1 << 21) != 0;
    let load = word & (1 << 22) != 0;

    match (word >> 23) & 0b11 {
        // Size 0x with bit 21 is casp, size 1x a pair.
        0b00 if bit_21 && !bit_31 => match is_compare_and_swap_pair(word) {
            true => Arm64Class::Atomic,
            false => Arm64Class::Ordinary,
        },
        0b00 => exclusive(load),
        0b01 if bit_21 => Arm64Class::Atomic,
        // The unprivileged exclusives, ldtxr and sttxr.
        0b10 if bit_31 && !bit_21 => exclusive(load),
        // cast, caspt
        0b11 if !bit_21 && word & 0x7c00 == 0x7c00 => Arm64Class::Atomic,
        _ => Arm64Class::Ordinary,
    }
}

const fn exclusive(load: bool) -> Arm64Class {
    if load {
        Arm64Class::LoadExclusive
    } else {
        Arm64Class::StoreExclusive
    }
}

const fn branch_or_system(word: u32) -> Arm64Class {
    match word >> 24 {
        0x14..=0x17 => Arm64Class::Branch {
            displacement: displacement::<0, 26>(word),
        },
        0x94..=0x97 => Arm64Class::Call {
            displacement: displacement::<0, 26>(word),
        },
        0x34 | 0x35 | 0xb4 | 0xb5 | 0x54 => Arm64Class::ConditionalBranch {
            displacement: displacement::<5, 19>(word),
        },
        0x36 | 0x37 | 0xb6 | 0xb7 => Arm64Class::ConditionalBranch {
            displacement: displacement::<5, 14>(word),
        },
        0x74 | 0x75 | 0xf4 | 0xf5 => Arm64Class::ConditionalBranch {
            displacement: displacement::<5, 9>(word),
        },
        // retaasppc, retabsppc
        0x55 if word & 0xffc0_001f == 0x5500_001f => Arm64Class::Return,
        0xd4 if word & 0xffe0_001f == 0xd420_0000 => Arm64Class::Breakpoint {
            // CAST: masked to 16 bits.
            immediate: ((word >> 5) & 0xffff) as u16,
        },
        0xd4 => Arm64Class::Exception,
        0xd5 => system(word),
        0xd6 | 0xd7 => branch_to_register(word),
        _ => Arm64Class::Ordinary,
    }
}

/// Returns the signed field of `WIDTH` bits at `SHIFT`, which counts instructions, in
/// bytes.
const fn displacement<const SHIFT: u32, const WIDTH: u32>(word: u32) -> i32 {
    // CAST: reinterprets the bits; the arithmetic shift then extends the sign.
    let top = (word << (32 - WIDTH - SHIFT)) as i32;
    (top >> (32 - WIDTH)) << 2
}

const fn system(word: u32) -> Arm64Class {
    if word & 0xffff_f01f == 0xd503_201f {
        return match hint_number(word) {
            hint::NOP => Arm64Class::Nop,
            hint::PACIASP
            | hint::PACIBSP
            | hint::BTI
            | hint::BTI_C
            | hint::BTI_J
            | hint::BTI_JC => Arm64Class::LandingPad,
            _ => Arm64Class::Hint,
        };
    }
    if word & 0xffff_f0ff == 0xd503_305f {
        return Arm64Class::ClearExclusive;
    }
    Arm64Class::Ordinary
}

const fn branch_to_register(word: u32) -> Arm64Class {
    if (word >> 16) & 0x1f != 0x1f {
        return Arm64Class::Ordinary;
    }
    match (word >> 21) & 0b111 {
        0b000 => Arm64Class::IndirectBranch,
        0b001 => Arm64Class::IndirectCall,
        0b010 => Arm64Class::Return,
        0b100 => Arm64Class::ExceptionReturn,
        _ => Arm64Class::Ordinary,
    }
}
