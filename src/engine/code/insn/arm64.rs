// SPDX-License-Identifier: GPL-2.0

//! arm64: what a kprobe does with one instruction word, and why it may refuse it.
//!
//! [`verdict`] gives the kernel's answer (`arch/arm64/kernel/probes/decode-insn.c`) for
//! every one of the 2^32 words; the crate `tests/differential/arm64` compares all of them
//! with the kernel's own code. [`hazard`] identifies the words that the kernel accepts
//! although they behave differently out of line. The encodings are those of the Arm
//! Architecture Reference Manual, section C4.1.
//!
//! Whether a word lies between a load-exclusive and its store-exclusive cannot be seen from
//! the word alone; [`exclusive`] decides that.

pub mod class;
pub mod exclusive;
pub mod mnemonic;

pub use self::class::{class, Arm64Class};
pub use self::mnemonic::mnemonic;

/// The length of every instruction, in bytes.
pub const INSN_LEN: usize = 4;

/// What a kprobe does with the instruction it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeVerdict {
    /// A copy of the instruction is executed in a slot elsewhere.
    SteppableOutOfLine,
    /// The breakpoint handler simulates the instruction.
    Simulated,
    /// The kernel can do neither.
    Rejected(Reason),
}

/// Why the kernel cannot put a kprobe on an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// `mrs` of DAIF, whose bits the kernel changes for the step.
    ReadsInterruptMask,
    /// `msr` of a system register.
    WritesSystemRegister,
    /// `msr` with an immediate: a field of PSTATE.
    WritesProcessState,
    /// `svc`, `hvc`, `smc`, `brk`, `hlt` and the rest of their group.
    GeneratesException,
    /// `eret`, with or without authentication.
    ReturnsFromException,
    /// A branch, call or return to an authenticated pointer.
    AuthenticatedBranch,
    /// A hint other than the harmless ones.
    Hint,
    /// A prefetch relative to the program counter.
    PrefetchesLiteral,
    /// A load-exclusive or store-exclusive.
    Exclusive,
    /// `casp`: not an exclusive, but the kernel treats it as one.
    CompareAndSwapPair,
    /// One of the three parts of a memory copy or set.
    MemoryCopyOrSet,
}

impl Reason {
    /// Returns the reason, for use behind "cannot be probed: ".
    pub const fn describe(self) -> &'static str {
        match self {
            Self::ReadsInterruptMask => "it reads DAIF, which the step itself changes",
            Self::WritesSystemRegister => "it writes a system register",
            Self::WritesProcessState => "it writes a field of the processor state",
            Self::GeneratesException => "it generates an exception",
            Self::ReturnsFromException => "it returns from an exception",
            Self::AuthenticatedBranch => "it branches to an authenticated pointer",
            Self::Hint => "it is a hint that may not be stepped",
            Self::PrefetchesLiteral => "it prefetches relative to the program counter",
            Self::Exclusive => "it is an exclusive load or store",
            Self::CompareAndSwapPair => "it is a casp, which the kernel takes for an exclusive",
            Self::MemoryCopyOrSet => "it is part of a memory copy or set",
        }
    }
}

/// Returns what the kernel does with a kprobe on `word`.
///
/// This excludes the scan for exclusive sequences, which looks at the words before: see
/// [`exclusive::kernel_scan`].
#[inline]
pub const fn verdict(word: u32) -> ProbeVerdict {
    match (word >> 24) & 0x1f {
        // Bits 28 to 26: branches, exceptions and system instructions.
        0x14..=0x17 => branch_or_system(word),
        // adr, adrp
        0x10 => ProbeVerdict::Simulated,
        // ldr, ldrsw and prfm of a literal; with bit 29 other loads and stores.
        0x18 if word & BIT_29 == 0 => match word >> 30 {
            0b11 => ProbeVerdict::Rejected(Reason::PrefetchesLiteral),
            _ => ProbeVerdict::Simulated,
        },
        0x08 if word & (BIT_29 | BIT_23) == 0 => {
            ProbeVerdict::Rejected(if class::is_compare_and_swap_pair(word) {
                Reason::CompareAndSwapPair
            } else {
                Reason::Exclusive
            })
        }
        0x19 | 0x1d if word & (BIT_29 | 0x0020_0c00) == 0x400 => {
            ProbeVerdict::Rejected(Reason::MemoryCopyOrSet)
        }
        _ => ProbeVerdict::SteppableOutOfLine,
    }
}

const BIT_29: u32 = 1 << 29;
const BIT_23: u32 = 1 << 23;

const fn branch_or_system(word: u32) -> ProbeVerdict {
    match word >> 24 {
        // b, bl; cbz, cbnz, tbz, tbnz; b.cond, bc.cond
        0x14..=0x17 | 0x94..=0x97 | 0x34..=0x37 | 0xb4..=0xb7 | 0x54 => ProbeVerdict::Simulated,
        0xd4 => ProbeVerdict::Rejected(Reason::GeneratesException),
        0xd5 => system(word),
        0xd6 | 0xd7 => branch_to_register(word),
        _ => ProbeVerdict::SteppableOutOfLine,
    }
}

const fn system(word: u32) -> ProbeVerdict {
    match (word >> 20) & 0xf {
        0x0 if word & 0x0008_f01f == 0x0000_401f => {
            ProbeVerdict::Rejected(Reason::WritesProcessState)
        }
        0x0 if word & 0x000f_f01f == 0x0003_201f => hint(word),
        0x1 => ProbeVerdict::Rejected(Reason::WritesSystemRegister),
        0x3 if system_register(word) == DAIF => ProbeVerdict::Rejected(Reason::ReadsInterruptMask),
        _ => ProbeVerdict::SteppableOutOfLine,
    }
}

/// Returns the sixteen bits op0 to op2 that name the register of an `mrs` or `msr`.
const fn system_register(word: u32) -> u32 {
    (word >> 5) & 0xffff
}

const fn register(op0: u32, op1: u32, crn: u32, crm: u32, op2: u32) -> u32 {
    op0 << 14 | op1 << 11 | crn << 7 | crm << 3 | op2
}

const DAIF: u32 = register(3, 3, 4, 2, 1);

const fn hint(word: u32) -> ProbeVerdict {
    match class::hint_number(word) {
        class::hint::NOP => ProbeVerdict::Simulated,
        class::hint::XPACLRI
        | class::hint::PACIA1716
        | class::hint::PACIB1716
        | class::hint::PACIAZ
        | class::hint::PACIASP
        | class::hint::PACIBZ
        | class::hint::PACIBSP
        | class::hint::BTI
        | class::hint::BTI_C
        | class::hint::BTI_J
        | class::hint::BTI_JC => ProbeVerdict::SteppableOutOfLine,
        _ => ProbeVerdict::Rejected(Reason::Hint),
    }
}

/// Returns the verdict on `br`, `blr`, `ret` and `eret`, each plain or with authentication.
///
/// Bits 24 and 9 to 0 distinguish the authenticated forms; words that the kernel's masks do
/// not match are steppable.
const fn branch_to_register(word: u32) -> ProbeVerdict {
    let kind = (word >> 21) & 0b111;
    let with_modifier = word & (1 << 24) != 0;
    let fixed = (word >> 16) & 0x1f == 0x1f;
    let middle = (word >> 10) & 0x3f;
    let low = word & 0x1f;
    let all_low = word & 0x3ff;

    if !fixed {
        return ProbeVerdict::SteppableOutOfLine;
    }
    match (kind, with_modifier, middle) {
        (0b000..=0b010, false, 0) if low == 0 => ProbeVerdict::Simulated,
        (0b000 | 0b001, _, 0b10 | 0b11) => ProbeVerdict::Rejected(Reason::AuthenticatedBranch),
        (0b010, false, 0b10 | 0b11) if all_low == 0x3ff => {
            ProbeVerdict::Rejected(Reason::AuthenticatedBranch)
        }
        (0b100, false, 0) if all_low == 0x3e0 => {
            ProbeVerdict::Rejected(Reason::ReturnsFromException)
        }
        (0b100, false, 0b10 | 0b11) if all_low == 0x3ff => {
            ProbeVerdict::Rejected(Reason::ReturnsFromException)
        }
        _ => ProbeVerdict::SteppableOutOfLine,
    }
}

/// Why an instruction that the kernel steps out of line would behave differently there than
/// in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// `cb<cond>` and its variants, which the kernel does not recognize as branches.
    CompareAndBranch,
    /// A load of a SIMD or floating-point register relative to the program counter.
    LoadsLiteral,
    /// Signs, authenticates or returns with the program counter as modifier.
    ProgramCounterAuthentication,
    /// `mrs` of a register that the probe's own exception has overwritten.
    ReadsExceptionState,
    /// `ldtxr` or `sttxr`, which the kernel does not recognize as exclusives.
    UnprivilegedExclusive,
    /// Permanently undefined: it faults wherever it is.
    Undefined,
}

impl Hazard {
    /// Returns the reason, for use behind "cannot be probed: ".
    pub const fn describe(self) -> &'static str {
        match self {
            Self::CompareAndBranch => {
                "it is a compare-and-branch, which the kernel would not simulate"
            }
            Self::LoadsLiteral => "it loads a literal, which the kernel would not simulate",
            Self::ProgramCounterAuthentication => {
                "it authenticates with the program counter, which differs out of line"
            }
            Self::ReadsExceptionState => {
                "it reads a register that the probe's exception overwrites"
            }
            Self::UnprivilegedExclusive => "it is an exclusive load or store",
            Self::Undefined => "it is permanently undefined",
        }
    }
}

/// Returns the hazard of stepping `word`, steppable by the kernel's [`verdict`], out of
/// line; `None` if there is none.
pub const fn hazard(word: u32) -> Option<Hazard> {
    const RETAASPPC: u32 = 0x5500_001f;
    const AUTIASPPC: u32 = 0xf380_001f;
    const RETAASPPCR: u32 = 0xd65f_0be0;

    if word >> 16 == 0 {
        return Some(Hazard::Undefined);
    }
    match word >> 24 {
        0x74 | 0x75 | 0xf4 | 0xf5 => Some(Hazard::CompareAndBranch),
        0x1c | 0x5c | 0x9c => Some(Hazard::LoadsLiteral),
        0x89 | 0xc9 => match class::class(word) {
            Arm64Class::LoadExclusive | Arm64Class::StoreExclusive => {
                Some(Hazard::UnprivilegedExclusive)
            }
            _ => None,
        },
        0x55 if word & 0xffc0_001f == RETAASPPC => Some(Hazard::ProgramCounterAuthentication),
        0xf3 if word & 0xffc0_001f == AUTIASPPC => Some(Hazard::ProgramCounterAuthentication),
        0xd6 if word & 0xffff_fbe0 == RETAASPPCR && word & 0x1f != 0x1f => {
            Some(Hazard::ProgramCounterAuthentication)
        }
        // pacnbiasppc, pacnbibsppc, paciasppc, pacibsppc
        0xda => match word {
            0xdac1_83fe | 0xdac1_87fe | 0xdac1_a3fe | 0xdac1_a7fe => {
                Some(Hazard::ProgramCounterAuthentication)
            }
            _ => None,
        },
        0xd5 if (word >> 20) & 0xf == 3 => match system_register(word) {
            SPSR_EL1 | ELR_EL1 | ESR_EL1 | FAR_EL1 => Some(Hazard::ReadsExceptionState),
            _ => None,
        },
        _ => None,
    }
}

const SPSR_EL1: u32 = register(3, 0, 4, 0, 0);
const ELR_EL1: u32 = register(3, 0, 4, 0, 1);
const ESR_EL1: u32 = register(3, 0, 5, 2, 0);
const FAR_EL1: u32 = register(3, 0, 6, 0, 0);

/// Returns what `word` loads relative to the program counter: the distance from itself and
/// the length, in bytes; `None` if it is not such a load.
pub const fn literal(word: u32) -> Option<(i32, usize)> {
    let is_simd = match (word >> 24) & 0x3f {
        0x18 => false,
        0x1c => true,
        _ => return None,
    };
    let len = match (word >> 30, is_simd) {
        // prfm, and unallocated words
        (0b11, _) => return None,
        (0b00, _) | (0b10, false) => 4,
        (0b10, true) => 16,
        _ => 8,
    };
    // CAST: Reinterprets the bits; the arithmetic shift then extends the sign.
    let distance = ((word << 8) as i32 >> 13) << 2;
    Some((distance, len))
}

/// Returns the word at `index` of little-endian text.
pub fn word_at(text: &[u8], index: usize) -> Option<u32> {
    let start = index.checked_mul(INSN_LEN)?;
    let bytes = text.get(start..)?.first_chunk::<INSN_LEN>()?;
    Some(u32::from_le_bytes(*bytes))
}
