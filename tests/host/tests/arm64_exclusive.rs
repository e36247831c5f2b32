// SPDX-License-Identifier: GPL-2.0

//! Exclusive sequences: the cases of `tests/data/arm64-exclusive.txt`, long
//! ones, and random functions against a plain closure of the flow graph.

use ferroprobe_engine::engine::code::insn::arm64::exclusive::{kernel_scan, sequences};
use ferroprobe_engine::engine::code::insn::arm64::{self, ProbeVerdict};
use ferroprobe_engine::engine::code::insn::exclusive::Sequence;
use ferroprobe_engine::sys::{fail_allocation_after, AllocError};
use proptest::prelude::*;

const CASES: &str = include_str!("../../data/arm64-exclusive.txt");

const NOP: u32 = 0xd503_201f;
const LDXR: u32 = 0x885f_7c41;
const STXR: u32 = 0x8800_7c41;
const RET: u32 = 0xd65f_03c0;

/// One word of a case: a name, and for a branch the distance.
fn assemble(token: &str) -> u32 {
    let (name, distance) = match token.find(['+', '-']) {
        Some(at) => (&token[..at], token[at..].parse::<i32>().unwrap()),
        None => (token, 0),
    };
    let field = |bits: u32, shift: u32| ((distance as u32) & ((1 << bits) - 1)) << shift;
    match name {
        "nop" => NOP,
        "wfe" => 0xd503_205f,
        "ldxr" => LDXR,
        "stxr" => STXR,
        "ldaxr" => 0x885f_fc41,
        "stlxr" => 0x8800_fc41,
        "ldxp" => 0xc87f_0440,
        "stxp" => 0xc823_0440,
        "ldtxr" => 0x895f_7c41,
        "sttxr" => 0x8900_7c41,
        "casp" => 0x4820_7c82,
        "caspal" => 0x4860_fc82,
        "cas" => 0x88a0_7c41,
        "ldadd" => 0xb820_0041,
        "ldar" => 0x88df_fc41,
        "clrex" => 0xd503_3f5f,
        "add" => 0x8b01_0000,
        "sub" => 0xcb01_0000,
        "eor" => 0xca01_0000,
        "cmp" => 0xeb01_001f,
        "ret" => RET,
        "br" => 0xd61f_0000,
        "blr" => 0xd63f_0000,
        "brk" => 0xd421_0000,
        "b" => 0x1400_0000 | field(26, 0),
        "bl" => 0x9400_0000 | field(26, 0),
        "b.cond" => 0x5400_0000 | field(19, 5),
        "cbz" => 0xb400_0000 | field(19, 5),
        "cbnz" => 0xb500_0000 | field(19, 5),
        "tbz" => 0x3600_0000 | field(14, 5),
        _ => panic!("no such word: {token}"),
    }
}

fn refusals(words: &[u32]) -> String {
    let exclusives = sequences(&words).unwrap();
    (0..words.len())
        .map(|at| {
            let ours = exclusives.contains(at);
            let kernels = kernel_scan(&words, at).is_some();
            let ours = ours || arm64::hazard(words[at]).is_some();
            match (arm64::verdict(words[at]), ours, kernels) {
                (ProbeVerdict::Rejected(_), _, _) => '!',
                (_, true, true) => 'x',
                (_, true, false) => 'o',
                (_, false, true) => 'k',
                (_, false, false) => '.',
            }
        })
        .collect()
}

#[test]
fn cases() {
    let mut wrong = Vec::new();
    for line in CASES
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        let (code, expected) = line.split_once(" : ").unwrap();
        let words: Vec<u32> = code.split_whitespace().map(assemble).collect();
        let found = refusals(&words);
        if found != expected.trim() {
            wrong.push(format!("{code}: expected {expected}, found {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_sequence_is_found_at_any_length() {
    for gap in [1, 31, 32, 33, 63, 64, 65, 1000, 30_000] {
        let mut words = vec![NOP, LDXR];
        words.resize(gap + 2, NOP);
        words.extend([STXR, RET]);
        let exclusives = sequences(&&words[..]).unwrap();
        let inside: Vec<_> = (0..words.len())
            .filter(|&at| exclusives.contains(at))
            .collect();
        assert!(inside.iter().copied().eq(2..gap + 3), "gap {gap}");
        let ends = Sequence {
            load: 1,
            store: gap + 2,
        };
        for at in [2, gap / 2 + 2, gap + 1, gap + 2] {
            assert_eq!(
                exclusives.around(&&words[..], at),
                Ok(Some(ends)),
                "gap {gap}, word {at}"
            );
        }
        for at in [0, 1, gap + 3, gap + 4, usize::MAX] {
            assert_eq!(
                exclusives.around(&&words[..], at),
                Ok(None),
                "gap {gap}, word {at}"
            );
        }
        // The kernel sees 32 words back and no further.
        let refused: Vec<_> = (0..gap + 2)
            .filter(|&at| kernel_scan(&&words[..], at).is_some())
            .collect();
        assert!(
            refused.iter().copied().eq(2..(gap + 2).min(34)),
            "gap {gap}"
        );
    }
}

#[test]
fn the_nearest_ends_are_named() {
    let words: Vec<u32> = "ldxr add cbz+4 stxr b-4 nop stxr ret ldxr b-7"
        .split_whitespace()
        .map(assemble)
        .collect();
    let exclusives = sequences(&&words[..]).unwrap();
    let around = |at| {
        exclusives
            .around(&&words[..], at)
            .unwrap()
            .map(|s| (s.load, s.store))
    };
    assert_eq!(around(1), Some((0, 3)));
    assert_eq!(around(2), Some((0, 3)));
    assert_eq!(around(4), None);
    assert_eq!(around(6), Some((8, 6)));
    assert_eq!(around(9), Some((8, 6)));
}

#[test]
fn without_memory_there_is_no_answer() {
    let words = [LDXR, NOP, STXR, RET];
    fail_allocation_after(Some(0));
    assert!(sequences(&&words[..]).is_err());
    // A function without a load-exclusive needs none.
    assert!(sequences(&&[NOP, STXR, RET][..]).is_ok_and(|e| !e.contains(1)));
    fail_allocation_after(Some(2));
    let exclusives = sequences(&&words[..]).unwrap();
    assert_eq!(exclusives.around(&&words[..], 1).unwrap_err(), AllocError);
    fail_allocation_after(None);
    assert!(exclusives.contains(1));
}

/// Control zigzags towards the middle, each way taking a sweep of its own: past
/// the bound all is refused, also what an exact answer would call safe.
#[test]
fn an_entangled_function_is_refused_whole() {
    let zigzag = |n: usize| {
        let mut words = vec![NOP; n + 1];
        words[0] = LDXR;
        let (mut low, mut high) = (1, n);
        while low < high {
            let forward = (high - low) as u32;
            words[low] = 0x1400_0000 | forward;
            words[high] = 0x1400_0000 | (0x0400_0000 - (forward - 1));
            low += 1;
            high -= 1;
        }
        words[low] = STXR;
        words.extend([RET, NOP]);
        words
    };
    for (n, settled) in [(21, true), (1001, false)] {
        let words = zigzag(n);
        let exclusives = sequences(&&words[..]).unwrap();
        assert!((1..=n).all(|at| exclusives.contains(at)), "{n} words");
        assert_eq!(exclusives.contains(n + 2), !settled, "{n} words");
    }
}

/// Words with their successors and whether they end a sequence, worked out
/// apart from the decoder.
fn closure(words: &[u32]) -> Vec<bool> {
    let n = words.len();
    let flow = |at: usize| -> Vec<usize> {
        let w = words[at];
        let signed = |bits: u32, shift: u32| ((w >> shift << (32 - bits)) as i32) >> (32 - bits);
        let (next, far) = match w >> 24 {
            0xd6 if w >> 21 & 7 == 1 => (true, None),
            0xd6 => (false, None),
            0x14..=0x17 => (false, Some(signed(26, 0))),
            0x54 | 0xb4 | 0xb5 => (true, Some(signed(19, 5))),
            0x36 => (true, Some(signed(14, 5))),
            _ => (true, None),
        };
        let far = far.map(|d| at as i64 + i64::from(d));
        next.then_some(at as i64 + 1)
            .into_iter()
            .chain(far)
            .filter_map(|to| usize::try_from(to).ok().filter(|&to| to < n))
            .collect()
    };
    let load =
        |at: usize| [0x885f_7c41, 0x885f_fc41, 0xc87f_0440, 0x895f_7c41].contains(&words[at]);
    let store =
        |at: usize| [0x8800_7c41, 0x8800_fc41, 0xc823_0440, 0x8900_7c41].contains(&words[at]);
    let ends = |at: usize| load(at) || store(at) || [0xd503_3f5f, 0xd421_0000].contains(&words[at]);

    // Bit b of reach[a]: from a to b, nothing before b ending the sequence.
    let mut reach: Vec<u64> = (0..n)
        .map(|a| {
            let onward = flow(a).into_iter().filter(|_| !ends(a));
            onward.fold(1 << a, |set, b| set | 1 << b)
        })
        .collect();
    for k in 0..n {
        let further = reach[k];
        for set in reach.iter_mut().filter(|set| **set >> k & 1 != 0) {
            *set |= further;
        }
    }
    let stores = (0..n).filter(|&s| store(s)).fold(0, |set, s| set | 1 << s);
    let after = (0..n)
        .filter(|&l| load(l))
        .flat_map(flow)
        .fold(0, |set, v| set | reach[v]);
    (0..n)
        .map(|p| after >> p & 1 != 0 && reach[p] & stores != 0)
        .collect()
}

fn word() -> impl Strategy<Value = u32> {
    let plain = prop::sample::select(vec![
        "ldxr", "stxr", "ldxp", "stlxr", "ldtxr", "sttxr", "clrex", "brk", "ret", "br", "blr",
        "cas", "casp", "add", "nop",
    ])
    .prop_map(assemble);
    let branch = (
        prop::sample::select(vec!["b", "cbz", "cbnz", "b.cond", "tbz", "bl"]),
        -12_i32..12,
    )
        .prop_map(|(name, distance)| assemble(&format!("{name}{distance:+}")));
    prop_oneof![3 => plain, 2 => branch, 2 => Just(NOP), 1 => Just(LDXR), 1 => Just(STXR)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn random_functions_agree_with_a_closure_of_their_flow(
        words in prop::collection::vec(word(), 0..40)
    ) {
        let exclusives = sequences(&&words[..]).unwrap();
        let ours: Vec<bool> = (0..words.len()).map(|at| exclusives.contains(at)).collect();
        prop_assert_eq!(&ours, &closure(&words));
        for (at, inside) in ours.into_iter().enumerate() {
            match exclusives.around(&&words[..], at).unwrap() {
                None => prop_assert!(!inside),
                Some(Sequence { load, store }) => {
                    prop_assert!(inside);
                    prop_assert_eq!(arm64::class(words[load]), arm64::Arm64Class::LoadExclusive);
                    prop_assert_eq!(arm64::class(words[store]), arm64::Arm64Class::StoreExclusive);
                }
            }
        }
    }
}
