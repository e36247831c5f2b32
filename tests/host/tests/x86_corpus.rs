// SPDX-License-Identifier: GPL-2.0

//! The hard cases of `tests/data/x86-insn.txt`.

use ferroprobe_engine::engine::code::insn::x86::{decode, DecodeError};

const CASES: &str = include_str!("../../data/x86-insn.txt");

fn bytes(text: &str) -> Vec<u8> {
    text.split_whitespace()
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

/// What a line of the data says of some bytes, in the words of the data.
fn described(bytes: &[u8]) -> [String; 4] {
    match decode(bytes) {
        Ok(insn) => [
            insn.len().to_string(),
            format!("{:?}", insn.class()),
            insn.refusal()
                .map_or("-".into(), |refusal| format!("{refusal:?}")),
            insn.mnemonic().into(),
        ],
        Err(DecodeError::Truncated) => ["short".into(), "".into(), "".into(), "".into()],
        Err(DecodeError::Invalid(_)) => ["bad".into(), "".into(), "".into(), "".into()],
    }
}

#[test]
fn every_case_decodes_as_it_says() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (number, line) in CASES.lines().enumerate() {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        count += 1;
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [code, expected @ .., _comment] = columns.as_slice() else {
            panic!("line {}: no columns", number + 1);
        };
        // Alone, where fewer than fifteen bytes take the general path, and
        // with more behind it, which takes the short ones.
        let mut code = bytes(code);
        let alone = described(&code);
        if alone != expected {
            wrong.push(format!("line {}: {alone:?}, not {line}", number + 1));
        }
        if expected[0] != "short" {
            code.resize(code.len() + 16, 0x90);
            let amid = described(&code);
            if amid != expected {
                wrong.push(format!(
                    "line {}, amid others: {amid:?}, not {line}",
                    number + 1
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 150);
}

#[test]
fn relative_branches_name_their_target() {
    for (code, target) in [
        ("eb fe", Some(-2)),
        ("e9 00 00 00 80", Some(-0x8000_0000)),
        ("e8 ff ff ff 7f", Some(0x7fff_ffff)),
        ("66 e9 04 00 00 00", Some(4)),
        ("0f 84 fb ff ff ff", Some(-5)),
        ("3e 0f 84 fb ff ff ff", Some(-5)),
        ("74 7f", Some(127)),
        ("e3 80", Some(-128)),
        ("c7 f8 10 00 00 00", Some(16)),
        ("66 c7 f8 f0 ff", Some(-16)),
        ("ff e0", None),
        ("c3", None),
        ("c5 f9 eb c1", None),
    ] {
        let mut code = bytes(code);
        assert_eq!(decode(&code).unwrap().relative(), target, "{code:02x?}");
        code.resize(code.len() + 16, 0x90);
        assert_eq!(decode(&code).unwrap().relative(), target, "{code:02x?}");
    }
}

#[test]
fn details_of_an_instruction() {
    let decoded = |code| decode(&bytes(code)).unwrap();
    assert_eq!(decoded("48 8b 05 00 00 00 00").opcode_at(), 1);
    assert_eq!(decoded("66 41 0f 1f 00").opcode_at(), 2);
    assert_eq!(decoded("c5 f9 6f c1").opcode_at(), 2);
    assert_eq!(decoded("0f 0b 78 65 6e 0f a2").opcode_at(), 5);
    assert!(decoded("48 8b 05 00 00 00 00").is_rip_relative());
    assert!(!decoded("48 8b 04 25 00 00 00 00").is_rip_relative());
    assert!(!decoded("e8 05 00 00 00").is_rip_relative());
    assert!(decoded("c5 f9 6f 05 00 00 00 00").is_rip_relative());
    assert!(decoded("0f 0b 78 65 6e 0f a2").has_emulate_prefix());
    assert!(!decoded("0f 0b").has_emulate_prefix());
}
