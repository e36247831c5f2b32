// SPDX-License-Identifier: GPL-2.0

//! The architectures: their registers in DWARF's numbers and in definitions.

use std::borrow::Cow;

/// An architecture that ferroprobe supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// x86-64.
    X86_64,
    /// 64-bit Arm.
    Arm64,
}

impl Arch {
    /// The name of a 64-bit general register in a definition.
    ///
    /// The numbers are those of the System V ABI for x86-64, figure 3.36, and of the DWARF
    /// for Arm 64-bit architecture, table 2.
    pub fn register(self, number: u16) -> Option<Cow<'static, str>> {
        const X86: [&str; 8] = ["ax", "dx", "cx", "bx", "si", "di", "bp", "sp"];

        Some(match (self, number) {
            (Self::X86_64, 0..=7) => (*X86.get(usize::from(number))?).into(),
            (Self::X86_64, 8..=15) => format!("r{number}").into(),
            (Self::Arm64, 0..=30) => format!("x{number}").into(),
            (Self::Arm64, 31) => "sp".into(),
            _ => return None,
        })
    }

    /// Its name as `uname -m` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Arm64 => "arm64",
        }
    }
}
