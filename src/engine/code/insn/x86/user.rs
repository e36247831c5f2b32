// SPDX-License-Identifier: GPL-2.0

//! Why an x86-64 instruction of a program cannot carry a uprobe.
//!
//! The kernel decides in `arch/x86/kernel/uprobes.c` (`uprobe_init_insn`), by prefixes and by a
//! table of opcode bytes. Behind a VEX or EVEX prefix it looks at the byte of another map, and so
//! refuses vector instructions with the opcode of one that programs may not execute.

use super::class::X86Class;
use super::insn::{OpcodeMap, X86Insn};

impl X86Insn {
    /// Returns why the instruction, which `bytes` begin with, cannot carry a uprobe; `None` if it
    /// can.
    pub fn user_refusal(&self, bytes: &[u8]) -> Option<&'static str> {
        let prefixes = bytes.iter().take_while(|&&byte| is_prefix(byte));
        let has_any = |refused: &[u8]| prefixes.clone().any(|byte| refused.contains(byte));
        let [opcode, second, ..] = self.head.to_le_bytes();
        let is_one = !matches!(
            self.map(),
            OpcodeMap::Two | OpcodeMap::Three38 | OpcodeMap::Three3a
        );
        // Newer series accept a nop of ten bytes, as it can become a call.
        let is_nop = !is_one && second == 0x1f && self.len() == 10;
        if has_any(&[0xf0]) {
            return Some("the kernel does not step instructions with LOCK in programs");
        }
        if has_any(&[0x26, 0x2e, 0x36, 0x3e]) && !is_nop {
            return Some("the kernel does not step instructions with this segment prefix");
        }
        // The second byte is the ModRM, behind a VEX prefix, too.
        let is_mov_ss = is_one && opcode == 0x8e && second & 0x38 == 0x10;
        if self.class() == X86Class::MasksException || is_mov_ss {
            return Some("it holds back exceptions until the next instruction");
        }
        match is_one && is_refused(opcode) {
            true => Some("the kernel does not step instructions with its opcode byte in programs"),
            false => None,
        }
    }
}

/// Returns whether `byte` is a legacy prefix or REX. The bytes of other prefixes, such as VEX, can
/// have any value.
fn is_prefix(byte: u8) -> bool {
    matches!(
        byte,
        0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3
    )
}

/// Returns whether the kernel's table lacks the opcode byte.
fn is_refused(opcode: u8) -> bool {
    matches!(
        opcode,
        0x06 | 0x07 | 0x0e | 0x16 | 0x17 | 0x1e | 0x1f | 0x27 | 0x2f | 0x37 | 0x3f | 0x60..=0x62
            | 0x6c..=0x6f | 0x82 | 0x9a | 0xcc..=0xcf | 0xd4..=0xd6 | 0xe4..=0xe7 | 0xea
            | 0xec..=0xef | 0xf1 | 0xf4 | 0xfa | 0xfb
    )
}

#[cfg(test)]
mod tests {
    use crate::engine::code::insn::x86::decode;

    #[test]
    fn the_kernels_table_decides() {
        let accepted: &[&[u8]] = &[
            &[0x90],
            &[0x55],
            &[0xc3],
            &[0xf3, 0x0f, 0x1e, 0xfa],
            &[0x0f, 0x05],
            &[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0],
            &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
            &[0xe8, 0, 0, 0, 0],
            // vaddps and vaddpd: bytes of the VEX prefix that would be LOCK or a segment elsewhere.
            &[0xc5, 0xf0, 0x58, 0xc2],
            &[0xc5, 0x2e, 0x58, 0xc2],
            &[0xc4, 0xe1, 0x36, 0x58, 0xc2],
            &[0x62, 0xf1, 0x3e, 0x48, 0x58, 0xc2],
        ];
        let refused: &[&[u8]] = &[
            &[0xcc],
            &[0xf4],
            &[0xcd, 0x80],
            &[0xf0, 0xff, 0x07],
            &[0x2e, 0x90],
            // vmovdqa, whose opcode byte is that of outs.
            &[0xc5, 0xfd, 0x6f, 0x07],
            &[0x8e, 0xd0],
            // vpmaskmovd, which the kernel takes for the mov to ss before.
            &[0xc4, 0xe2, 0x75, 0x8e, 0x10],
            &[0xf0, 0x48, 0xff, 0x07],
        ];
        for (all, is) in [(accepted, false), (refused, true)] {
            for bytes in all {
                let insn = decode(bytes).expect("an instruction");
                assert_eq!(insn.user_refusal(bytes).is_some(), is, "{bytes:02x?}");
            }
        }
    }
}
