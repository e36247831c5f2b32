// SPDX-License-Identifier: GPL-2.0

//! What holds of the x86-64 decoder for any bytes.

use ferroprobe_engine::engine::code::insn::x86::{decode, DecodeError, MAX_LEN};
use proptest::prelude::*;

/// Bytes with the shape of an instruction more often than chance would have.
fn code() -> impl Strategy<Value = Vec<u8>> {
    let prefix = prop::sample::select(vec![
        0x26, 0x2e, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x41, 0x48, 0x4f,
    ]);
    let opener = prop::sample::select(vec![
        vec![],
        vec![0x0f],
        vec![0x0f, 0x38],
        vec![0x0f, 0x3a],
        vec![0xc5],
        vec![0xc4, 0xe2],
        vec![0x62, 0xf1],
        vec![0x8f, 0xe9],
        vec![0xd5],
        b"\x0f\x0bxen".to_vec(),
    ]);
    (
        prop::collection::vec(prefix, 0..6),
        opener,
        prop::collection::vec(any::<u8>(), 0..24),
    )
        .prop_map(|(prefixes, opener, rest)| [prefixes, opener, rest].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn a_length_lies_within_the_bytes(code in code()) {
        if let Ok(insn) = decode(&code) {
            prop_assert!((1..=MAX_LEN).contains(&insn.len()));
            prop_assert!(insn.len() <= code.len());
            prop_assert!(insn.opcode_at() < insn.len());
            prop_assert_eq!(insn.relative().is_some(), insn.class().is_relative());
            prop_assert!(!insn.mnemonic().is_empty());
            prop_assert!(insn.refusal().is_none_or(|refusal| !refusal.describe().is_empty()));
        }
    }

    #[test]
    fn only_the_bytes_of_the_instruction_matter(code in code(), tail in any::<[u8; 16]>()) {
        if let Ok(insn) = decode(&code) {
            let own = &code[..insn.len()];
            prop_assert_eq!(decode(own), Ok(insn));
            // Letters behind UD2 make a prefix of it.
            if own != b"\x0f\x0b" {
                prop_assert_eq!(decode(&[own, &tail].concat()), Ok(insn));
            }
        }
    }

    #[test]
    fn every_cut_asks_for_more(code in code()) {
        if let Ok(insn) = decode(&code) {
            let emulate = insn.has_emulate_prefix();
            for cut in (0..insn.len()).filter(|cut| !emulate || !(2..5).contains(cut)) {
                prop_assert_eq!(decode(&code[..cut]), Err(DecodeError::Truncated));
            }
        }
    }

    #[test]
    fn more_than_fifteen_bytes_change_nothing(code in code()) {
        if code.len() >= MAX_LEN {
            prop_assert_eq!(decode(&code), decode(&code[..MAX_LEN]));
            prop_assert_ne!(decode(&code), Err(DecodeError::Truncated));
        }
    }

    #[test]
    fn a_walk_ends(code in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut at = 0;
        let mut steps = 0;
        while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
            match decode(rest) {
                Ok(insn) => at += insn.len(),
                Err(_) => break,
            }
            steps += 1;
            prop_assert!(steps <= code.len());
        }
        prop_assert!(at <= code.len());
    }
}
