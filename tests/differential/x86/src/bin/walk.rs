// SPDX-License-Identifier: GPL-2.0

//! Walks over raw code with our decoder and with the kernel's and prints where
//! they differ.

use ferroprobe_differential_x86::kernel;
use ferroprobe_engine::engine::insn::x86::decode;

fn main() {
    if !kernel::PRESENT {
        println!("{}", kernel::MISSING);
        return;
    }
    for path in std::env::args().skip(1) {
        let text = std::fs::read(&path).unwrap();
        let mut lengths = vec![0; text.len()];
        let count = kernel::walk(&text, &mut lengths);
        let mut at = 0;
        let mut different = 0;
        let mut undecodable = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let ours = decode(rest).map_or(0, |insn| insn.len());
            let theirs = usize::from(lengths[at]);
            undecodable += usize::from(ours == 0);
            if ours != theirs {
                different += 1;
                println!(
                    "{path}+{at:#x}: {ours}, kernel {theirs}: {:02x?}",
                    &rest[..15.min(rest.len())]
                );
            }
            at += theirs.max(1);
        }
        println!("{path}: {count} instructions, {undecodable} undecodable, {different} different");
    }
}
