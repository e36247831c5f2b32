// SPDX-License-Identifier: GPL-2.0

//! Places of functions: the cases of `tests/data/placement.txt`, and properties
//! of the walk over arbitrary bytes.

use std::collections::BTreeSet;

use ferroprobe_engine::engine::code::arch::Arch;
use ferroprobe_engine::engine::code::placement::{
    Facts, JudgedFunction, Patch, Placement, Refuser, Region, SpecialRole, Verdict, Why,
};
use ferroprobe_engine::sys::{fail_allocation_after, AllocError};
use proptest::prelude::*;

const CASES: &str = include_str!("../../data/placement.txt");
const ADDRESS: u64 = 0xffff_ffff_8100_0000;

#[derive(Default)]
struct Case {
    name: String,
    arch: String,
    text: Vec<u8>,
    patches: Vec<(u64, Vec<u8>)>,
    regions: Vec<Region>,
    kprobes_on_ftrace: bool,
    cfi: bool,
    all_patches_known: bool,
    call_ops: bool,
    next: Vec<u8>,
    landings: Vec<u64>,
    no_return: Vec<u64>,
    probed: Vec<(usize, usize)>,
    judgements: Vec<(usize, String)>,
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn offset(text: &str) -> usize {
    usize::try_from(number(text)).unwrap()
}

fn bytes<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<u8> {
    texts
        .into_iter()
        .map(|text| u8::from_str_radix(text, 16).unwrap())
        .collect()
}

fn role(text: &str) -> SpecialRole {
    match text {
        "blacklisted" => SpecialRole::Blacklisted,
        "ftrace" => SpecialRole::Ftrace,
        "jump_label" => SpecialRole::JumpLabel,
        "static_call" => SpecialRole::StaticCall,
        "bug" => SpecialRole::Bug,
        "alternative" => SpecialRole::Alternative,
        "exception_table" => SpecialRole::ExceptionTable,
        _ => panic!("no such role: {text}"),
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let lines = CASES.lines();
    for line in lines.filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (verb, rest) = line.split_once(' ').unwrap();
        let words: Vec<&str> = rest.split_whitespace().collect();
        if verb == "function" {
            cases.push(Case {
                name: words[0].into(),
                arch: words[1].into(),
                ..Case::default()
            });
            continue;
        }
        let case = cases.last_mut().unwrap();
        match verb {
            "text" => case.text.extend(bytes(words)),
            "word" => {
                for word in words {
                    let word = u32::try_from(number(word)).unwrap();
                    case.text.extend(word.to_le_bytes());
                }
            }
            "patch" => {
                let at = ADDRESS + number(words[0]);
                case.patches.push((at, bytes(words[1..].iter().copied())));
            }
            "region" => {
                let at = ADDRESS + number(words[1]);
                case.regions
                    .push(Region::new(at, number(words[2]), role(words[0])));
            }
            "flag" if rest == "kprobes_on_ftrace" => case.kprobes_on_ftrace = true,
            "flag" if rest == "cfi" => case.cfi = true,
            "flag" if rest == "call_ops" => case.call_ops = true,
            "next" => {
                for word in words {
                    let word = u32::try_from(number(word)).unwrap();
                    case.next.extend(word.to_le_bytes());
                }
            }
            "landing" => case.landings.push(ADDRESS + number(rest)),
            "no_return" => case.no_return.push(ADDRESS + number(rest)),
            "flag" if rest == "all_patches_known" => case.all_patches_known = true,
            "probed" => case.probed.push((offset(words[0]), offset(words[2]))),
            _ => {
                let at = verb.strip_suffix(':').expect("an offset and a colon");
                case.judgements.push((offset(at), rest.into()));
            }
        }
    }
    cases
}

impl Case {
    fn with<T>(&self, look: impl FnOnce(Placement<'_>) -> T) -> T {
        let patches: Vec<_> = self
            .patches
            .iter()
            .map(|(address, original)| Patch {
                address: *address,
                original,
            })
            .collect();
        let function = JudgedFunction {
            name: self.name.as_bytes(),
            address: ADDRESS,
            bytes: &self.text,
            arch: match self.arch.as_str() {
                "x86_64" => Arch::X86_64,
                "arm64" => Arch::Arm64,
                other => panic!("no such architecture: {other}"),
            },
            facts: Facts {
                patches: &patches,
                foreign: &[],
                all_patches_known: self.all_patches_known,
                regions: &self.regions,
                kprobes_on_ftrace: self.kprobes_on_ftrace,
                cfi: self.cfi,
                call_ops: self.call_ops,
                next: &self.next,
                landings: &self.landings,
                no_return: &self.no_return,
            },
        };
        look(Placement::of(function))
    }
}

#[test]
fn places_are_judged_as_written() {
    let mut wrong = Vec::new();
    for case in cases() {
        case.with(|placement| {
            for (at, expected) in &case.judgements {
                let expected = format!("{}{at:+#x} {expected}", case.name);
                let found = placement.judge(*at).unwrap().to_string();
                if found != expected {
                    wrong.push(format!("expected {expected}\n   found {found}"));
                }
            }
            for &(asked, expected) in &case.probed {
                assert_eq!(placement.probed(asked), expected, "{}", case.name);
                assert_eq!(placement.address(asked), ADDRESS + expected as u64);
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A number for every reason and role: a new one does not compile without.
fn kind(arch: Arch, by: Refuser, why: &Why) -> usize {
    match why {
        Why::Outside { .. } => 0,
        Why::Inside(_) => 1,
        Why::Undecodable { .. } => 2,
        Why::Cut => 3,
        Why::Hidden { .. } => 4,
        Why::Insn(_) => match (arch, by) {
            (Arch::X86_64, _) => 5,
            (Arch::Arm64, Refuser::Kernel) => 6,
            (Arch::Arm64, Refuser::Us) => 7,
        },
        Why::ExclusiveSequence { .. } => 8,
        Why::LooksExclusive { .. } => 9,
        Why::TypeCheck => 10,
        Why::Preamble => 11,
        Why::Padding => 12,
        Why::Role(SpecialRole::Blacklisted) => 13,
        Why::Role(SpecialRole::Ftrace) => 14,
        Why::Role(SpecialRole::JumpLabel) => 15,
        Why::Role(SpecialRole::StaticCall) => 16,
        Why::Role(SpecialRole::Bug) => 17,
        Why::Role(SpecialRole::Alternative) => 18,
        Why::Role(SpecialRole::ExceptionTable) => 19,
        Why::Behind { .. } => 20,
        Why::OpsPointer => 21,
        Why::TypeWord => 22,
        Why::Literal => 23,
    }
}

#[test]
fn every_reason_has_a_case() {
    let mut found = BTreeSet::new();
    for case in cases() {
        case.with(|placement| {
            for (at, _) in &case.judgements {
                if let Verdict::Refused { by, why } = placement.judge(*at).unwrap().verdict {
                    found.insert(kind(placement.function().arch, by, &why));
                }
            }
        });
    }
    assert!(found.into_iter().eq(0..24));
}

#[test]
fn the_map_says_what_judging_says() {
    for case in cases() {
        case.with(|placement| {
            for boundary in placement.map() {
                let boundary = boundary.unwrap();
                let judged = placement.judge(boundary.offset).unwrap().verdict;
                assert_eq!(
                    boundary.verdict, judged,
                    "{} {:#x}",
                    case.name, boundary.offset
                );
            }
        });
    }
}

/// The maps in the documentation are those of the cases that they name.
#[test]
fn the_documented_maps_are_real() {
    const PLACEMENT: &str = include_str!("../../../Documentation/placement.rst");
    const ARM64: &str = include_str!("../../../Documentation/decoders-arm64.rst");

    let cases = cases();
    let mut maps = 0;
    for block in PLACEMENT
        .split(".. map of ")
        .chain(ARM64.split(".. map of "))
        .skip(1)
    {
        let Some((name, rest)) = block.split_once("\n\n::\n\n") else {
            continue;
        };
        let wanted = |case: &&Case| format!("{} {}", case.name, case.arch) == name;
        let case = cases.iter().find(wanted).expect("a case of that name");
        let documented: Vec<_> = rest
            .lines()
            .map_while(|line| line.strip_prefix("    "))
            .collect();
        case.with(|placement| {
            let map: Vec<_> = placement
                .map()
                .map(|line| line.unwrap().to_string())
                .collect();
            assert_eq!(documented, map, "{name}");
        });
        maps += 1;
    }
    assert_eq!(maps, 3);
}

#[test]
fn without_memory_there_is_no_answer() {
    let case = cases()
        .into_iter()
        .find(|case| case.name == "loop")
        .unwrap();
    case.with(|placement| {
        assert!(placement.judge(12).is_ok());
        fail_allocation_after(Some(0));
        // The ends of a sequence take memory, other places none.
        assert_eq!(placement.judge(4).unwrap_err(), AllocError);
        assert!(placement.judge(12).is_ok());
        assert_eq!(placement.map().filter(Result::is_err).count(), 1);
        let another = Placement::of(*placement.function());
        assert_eq!(another.judge(12).unwrap_err(), AllocError);
        fail_allocation_after(None);
    });
}

/// Instructions of every length, most of them from a kernel.
const X86_CODE: &[&[u8]] = &[
    &[0x55],
    &[0xc3],
    &[0x31, 0xc0],
    &[0x48, 0x89, 0xe5],
    &[0xf3, 0x0f, 0x1e, 0xfa],
    &[0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0xe8, 0x10, 0x20, 0x30, 0x40],
    &[0x0f, 0x84, 0x05, 0x00, 0x00, 0x00],
    &[0x48, 0x8b, 0x05, 0x01, 0x02, 0x03, 0x04],
    &[0x65, 0x48, 0x8b, 0x0c, 0x25, 0x28, 0x00, 0x00, 0x00],
    &[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8],
    &[0x48, 0xc7, 0x84, 0x24, 1, 2, 3, 4, 5, 6, 7, 8],
    &[0x0f, 0x0b],
    &[0x8e, 0xd0],
    &[0xcf],
];

fn code() -> impl Strategy<Value = (Vec<u8>, Vec<usize>)> {
    prop::collection::vec(prop::sample::select(X86_CODE), 1..40).prop_map(|insns| {
        let mut starts = Vec::new();
        let mut text = Vec::new();
        for insn in insns {
            starts.push(text.len());
            text.extend(insn);
        }
        (text, starts)
    })
}

fn function<'a>(arch: Arch, bytes: &'a [u8], facts: Facts<'a>) -> JudgedFunction<'a> {
    JudgedFunction {
        name: b"f",
        address: ADDRESS,
        bytes,
        arch,
        facts,
    }
}

/// What lies between two sections counts as a function, and has a breakpoint in
/// each byte: that must not take a time with the square of its length.
#[test]
fn a_gap_of_a_million_breakpoints_is_judged_soon() {
    let mut bytes = vec![0xcc; 1 << 20];
    bytes[0] = 0xc3;
    for last in [0xcc, 0x90] {
        *bytes.last_mut().expect("a byte") = last;
        let placement = Placement::of(function(Arch::X86_64, &bytes, Facts::default()));
        assert!(placement.suspects(0).all(|found| found.jumps_to.is_none()));
        let suspect = placement.suspects(2).next().map(|found| found.offset);
        // In a gap at the end, one breakpoint is as good as all.
        assert_eq!(suspect, (last != 0xcc).then_some(2));
        assert!(placement.judge(5).is_ok());
    }
}

fn facts() -> impl Strategy<Value = (Vec<(u64, Vec<u8>)>, Vec<Region>)> {
    let near = ADDRESS - 20..ADDRESS + 80;
    let role = prop::sample::select(vec![
        SpecialRole::Ftrace,
        SpecialRole::Blacklisted,
        SpecialRole::Bug,
        SpecialRole::ExceptionTable,
        SpecialRole::Alternative,
    ]);
    let patch = (near.clone(), prop::collection::vec(any::<u8>(), 0..12));
    let region = (near, 0_u64..20, role).prop_map(|(at, len, role)| Region::new(at, len, role));
    (
        prop::collection::vec(patch, 0..4),
        prop::collection::vec(region, 0..3),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever the bytes and the facts: the walk begins with the first byte,
    /// leaves no gap, and ends with the last; every offset has a judgement.
    #[test]
    fn the_map_covers_a_function_from_end_to_end(
        bytes in prop::collection::vec(any::<u8>(), 0..64),
        facts in facts(),
        arm64: bool,
        kprobes_on_ftrace: bool,
        cfi: bool,
        all_patches_known: bool,
    ) {
        let patches: Vec<_> = facts.0.iter().map(|(address, original)| Patch {
            address: *address,
            original,
        }).collect();
        let arch = if arm64 { Arch::Arm64 } else { Arch::X86_64 };
        let facts = Facts { foreign: &[], patches: &patches, regions: &facts.1, kprobes_on_ftrace, cfi, all_patches_known, call_ops: cfi, ..Facts::default() };
        let placement = Placement::of(function(arch, &bytes, facts));
        let mut end = 0;
        for boundary in placement.map() {
            let boundary = boundary.unwrap();
            prop_assert_eq!(boundary.offset, end);
            prop_assert!(boundary.len > 0);
            end += boundary.len;
        }
        prop_assert_eq!(end, bytes.len());
        for at in 0..bytes.len() + 4 {
            let outside = placement.judge(at).unwrap().to_string().contains("the function ends at ");
            prop_assert_eq!(outside, placement.probed(at) >= bytes.len());
        }
    }

    /// Breakpoints on known places change no judgement, and neither do jumps
    /// that overwrite several instructions.
    #[test]
    fn known_patches_change_nothing(
        (text, starts) in code(),
        armed in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..6),
    ) {
        let mut patched = text.clone();
        let mut originals: Vec<(usize, usize)> = Vec::new();
        for (index, optimised) in armed {
            let at = starts[index.index(starts.len())];
            let len = if optimised { 5.min(text.len() - at) } else { 1 };
            if originals.iter().any(|&(from, n)| at < from + n && from < at + len) {
                continue;
            }
            patched[at] = if optimised { 0xe9 } else { 0xcc };
            patched[at + 1..at + len].fill(0x90);
            originals.push((at, len));
        }
        originals.sort_unstable();
        let patches: Vec<_> = originals.iter().map(|&(at, len)| Patch {
            address: ADDRESS + at as u64,
            original: &text[at..at + len],
        }).collect();
        let facts = Facts { patches: &patches, ..Facts::default() };
        let live = Placement::of(function(Arch::X86_64, &patched, facts));
        let original = Placement::of(function(Arch::X86_64, &text, Facts::default()));
        for at in 0..=text.len() {
            let mut kept = [0; 20];
            let count = live.original(at, &mut kept);
            prop_assert_eq!(count, 15.min(text.len() - at));
            prop_assert_eq!(&kept[..count], &text[at..at + count]);
        }
        for at in 0..text.len() {
            prop_assert_eq!(live.judge(at).unwrap(), original.judge(at).unwrap());
        }
    }

    /// Every instruction start is a boundary and no other place is, and the
    /// boundaries named are the nearest.
    #[test]
    fn boundaries_are_the_starts_of_instructions((text, starts) in code()) {
        let placement = Placement::of(function(Arch::X86_64, &text, Facts::default()));
        for at in 1..text.len() {
            let before = *starts.iter().rfind(|&&start| start <= at).unwrap();
            let after = starts.iter().copied().find(|&start| start > at);
            match placement.judge(at).unwrap().verdict {
                Verdict::Refused { why: Why::Inside(inside), .. } => {
                    prop_assert!(!starts.contains(&at));
                    prop_assert_eq!((inside.start, inside.after), (before, after));
                }
                _ => prop_assert!(starts.contains(&at), "+{:#x}", at),
            }
        }
    }
}
