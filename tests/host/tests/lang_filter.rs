// SPDX-License-Identifier: GPL-2.0

//! Filters: what they accept, and how they are refused.

use crate::support;

use std::collections::BTreeSet;

use ferroprobe_engine::engine::filter::{self, Filter, Hit, LookupFunctions};
use ferroprobe_engine::engine::record::Header;
use ferroprobe_engine::engine::refusal::error::{Error, Kind, Subject};
use ferroprobe_engine::engine::refusal::suggest::distance::Nearest;
use ferroprobe_engine::sys;
use support::{compile, Kernel};

const EVENT: &str = "p vfs_read num=%cx neg=%bx:s32 big=%bx byte=%bx:u8 bits=%cx:b4@0/8 \
    place=%bp task=$comm const=\\\"a b\" str=+8(%di):string empty=+13(%di):string ptr=%r8 \
    names=+0(%si):string[2] array=+0(%r9):s8[4] fault=+0(%r10) faulttext=+0(%r10):string \
    err=%bx:errno port=%cx:be16 ip=+0(%r9):ip4 mac=+8(%di):mac six=+0(%r11):ip6 \
    faultmac=+0(%r10):mac";

struct Symbols;

impl LookupFunctions for Symbols {
    fn last_cpu(&self) -> u32 {
        3
    }

    fn named(&mut self, name: &[u8]) -> Option<(u64, u64)> {
        match name {
            b"vfs_read" => Some((0x8000, 0x9000)),
            b"other" => Some((0x9000, 0x9100)),
            _ => None,
        }
    }

    fn around(&mut self, address: u64) -> Option<(u64, u64)> {
        (0x8000..0x9000)
            .contains(&address)
            .then_some((0x8000, 0x9000))
    }

    fn each_similar(&mut self, nearest: &mut Nearest<'_>) {
        nearest.consider(b"vfs_read");
        nearest.consider(b"other");
    }
}

fn kernel() -> Kernel {
    let mut k = Kernel::default();
    k.set("cx", 7);
    k.set("bx", u64::MAX - 1);
    k.set("bp", 0x8020);
    k.set("di", 0x3000);
    k.write(0x3008, b"hello\0");
    k.set("r8", 0x3008);
    k.write_user(0x3008, b"user\0");
    k.set("si", 0x3100);
    k.write(0x3100, &0x3200u64.to_le_bytes());
    k.write(0x3108, &0x3300u64.to_le_bytes());
    k.write(0x3200, b"x\0");
    k.write(0x3300, b"inner\0");
    k.set("r9", 0x3400);
    k.write(0x3400, &[0, 1, 2, 0xff]);
    k.set("r11", 0x3500);
    k.write(
        0x3500,
        &[0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    );
    k
}

const HIT: Hit = Hit {
    header: Header {
        event: 9,
        flags: 1,
        preempt_count: 2,
        pid: 42,
    },
    cpu: 3,
    place: 0x8010,
};

fn make(text: &str) -> Result<Filter, Error> {
    let (_, program) = compile(EVENT, &mut kernel()).expect("the event");
    Filter::compile(text.as_bytes(), program.layout(), &mut Symbols)
}

fn evaluate(text: &str, kernel: &mut Kernel) -> bool {
    let (_, program) = compile(EVENT, kernel).expect("the event");
    let filter = make(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    filter.matches(&program, kernel, &HIT)
}

fn cases() -> Vec<(&'static str, &'static str)> {
    let lines = include_str!("../../data/lang-filters.txt").lines();
    lines
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .map(|l| {
            l.split_once(' ')
                .map(|(want, text)| (want, text.trim_start()))
                .expect(l)
        })
        .collect()
}

#[test]
fn filters_decide_or_are_refused() {
    for (want, text) in cases() {
        match want {
            "true" | "false" => {
                assert_eq!(evaluate(text, &mut kernel()).to_string(), want, "{text}");
            }
            kind => {
                let error = make(&text.replacen('^', "", 1)).expect_err(text);
                assert_eq!(error.kind.name(), kind, "{text}");
                assert_eq!(Some(error.at), text.find('^'), "{text}");
            }
        }
    }
}

/// Kinds with a test of their own below, or that only the caller raises.
const ELSEWHERE: [&str; 3] = ["FILT_OPERAND_TOO_LONG", "FILT_NO_FILTER", "FILT_TOO_LONG"];
const BY_CALLER: &str = "FILT_BAD_SUBSYS_FILTER";

#[test]
fn every_kind_has_a_test() {
    let tested: BTreeSet<_> = cases().into_iter().map(|(kind, _)| kind).collect();
    for kind in Kind::ALL
        .iter()
        .filter(|kind| kind.subject() == Subject::Filter)
    {
        let name = kind.name();
        let elsewhere = ELSEWHERE.contains(&name) || name == BY_CALLER;
        assert!(tested.contains(name) != elsewhere, "{name}");
    }
}

#[test]
fn a_cgroup_is_compared_whole_or_not_at_all() {
    let with = |path: Option<Vec<u8>>, filter: &str| {
        let mut k = kernel();
        k.cgroup = path.map(|path| &*path.leak());
        evaluate(filter, &mut k)
    };
    for n in (120..140).chain([500, 2000]) {
        let path = || Some(b"/x".repeat(n));
        let cases = [("cgroup ~ '*/x'", true), ("cgroup ~ '*y'", false)];
        for (filter, decision) in cases {
            assert_eq!(with(path(), filter), decision, "{n} {filter}");
        }
        let same = format!("cgroup == '{}'", "/x".repeat(127));
        assert_eq!(with(path(), &same), n == 127, "{n}");
    }
    // What cannot be read has no relation.
    for filter in ["cgroup ~ '*'", "cgroup != '/'", "cgroup == '/'"] {
        assert!(!with(None, filter), "{filter}");
    }
}

#[test]
fn a_kernel_without_cgroups_says_so() {
    sys::set_cgroups(false);
    for text in ["cgroup == 1", "common_cgroup ~ '*'"] {
        let error = make(text).expect_err(text);
        let mut entry = String::new();
        error.write_entry(&mut entry, 0, text.as_bytes()).unwrap();
        let why = "Field not found: this kernel has no cgroups (CONFIG_CGROUPS)";
        assert!(entry.contains(why), "{entry}");
    }
    sys::set_cgroups(true);
}

#[test]
fn lengths_are_limited() {
    let kind = |text: &str| make(text).map(|_| ()).map_err(|e| e.kind);
    let long = |n: usize| format!("str == \"{}\"", "x".repeat(n));
    assert_eq!(kind(&long(255)), Ok(()));
    assert_eq!(kind(&long(256)), Err(Kind::FiltOperandTooLong));
    assert_eq!(
        kind(&format!("num == 7{}", " && num == 7".repeat(400))),
        Err(Kind::FiltTooLong)
    );
    assert_eq!(kind(""), Err(Kind::FiltNoFilter));
    assert_eq!(kind("  "), Err(Kind::FiltNoFilter));
}

/// What filters on texts of all lengths decide, by the text itself.
#[test]
fn long_texts_are_compared_whole() {
    let event = "p vfs_read kernel=+0(%di):string user=+0(%si):ustring pointer=%di \
        both=+0(%bx):string[2] argv=+0(%bx):string[*]";
    let (_, program) = compile(event, &mut kernel()).expect("the event");
    for length in (250..260).chain([300, 509, 510, 511, 600, 1000, 4000, 4089]) {
        let end = "/needle/the-end";
        let text = "x".repeat(length - end.len()) + end;
        let mut k = Kernel::default();
        for (register, address) in [("di", 0x3000u64), ("si", 0x13000), ("bx", 0x23000)] {
            k.set(register, address);
        }
        k.write(0x3000, format!("{text}\0").as_bytes());
        k.write_user(0x13000, format!("{text}\0").as_bytes());
        k.write(0x23000, &0x33000u64.to_le_bytes());
        k.write(0x33000, b"first\0");
        k.write(0x23008, &0x3000u64.to_le_bytes());
        k.write(0x23010, &0u64.to_le_bytes());
        let decides = |filter: &str| {
            let compiled = Filter::compile(filter.as_bytes(), program.layout(), &mut Symbols);
            let filter = compiled.unwrap_or_else(|e| panic!("{filter}: {e:?}"));
            filter.matches(&program, &k, &HIT)
        };
        for field in ["kernel", "user", "pointer.string", "both", "argv"] {
            for (pattern, is_match) in [
                ("*the-end", true),
                ("*needle*", true),
                ("*x/needle/the-en?", true),
                ("*the-en", false),
                ("*needles*", false),
                ("xx*[dD]", field != "argv"),
                ("y*", false),
            ] {
                let is = |test: &str| decides(&format!("{field} ~ \"{test}\""));
                assert_eq!(is(pattern), is_match, "{field} {length} {pattern}");
                // Of an array one element is enough.
                let differs = !is_match || field == "both";
                assert_eq!(
                    is(&format!("!{pattern}")),
                    differs,
                    "{field} {length} !{pattern}"
                );
            }
            let begin = if field == "argv" { "first " } else { "" };
            let same = format!("{begin}{text}")
                .chars()
                .take(255)
                .collect::<String>();
            let is_same = begin.len() + length <= 255;
            assert_eq!(
                decides(&format!("{field} == \"{same}\"")),
                is_same,
                "{field} {length}"
            );
            let differs = !is_same || field == "both";
            assert_eq!(
                decides(&format!("{field} != \"{same}\"")),
                differs,
                "{field} {length}"
            );
        }
    }
}

/// A text of which a later part cannot be read is one that cannot be read.
#[test]
fn texts_that_end_in_a_fault_have_no_relation() {
    let event = "p vfs_read s=+0(%di):string argv=+0(%bx):string[*]";
    let (_, program) = compile(event, &mut kernel()).expect("the event");
    let mut k = Kernel::default();
    k.set("di", 0x3000);
    k.write(0x3000, &b"x".repeat(700));
    k.set("bx", 0x23000);
    k.write(0x23000, &0x3000u64.to_le_bytes());
    k.write(0x23008, &0u64.to_le_bytes());
    for (filter, decision) in [
        ("s ~ \"x*\"", false),
        ("s ~ \"y*\"", false),
        ("s ~ \"!y*\"", false),
        ("s != \"y\"", false),
        ("!(s ~ \"x*\")", true),
        ("argv == \"(fault)\"", true),
        ("argv ~ \"*x*\"", false),
    ] {
        let compiled = Filter::compile(filter.as_bytes(), program.layout(), &mut Symbols);
        assert_eq!(
            compiled.unwrap().matches(&program, &k, &HIT),
            decision,
            "{filter}"
        );
    }
}

#[test]
fn only_what_is_needed_is_read() {
    let mut k = kernel();
    assert!(evaluate("num == 7 || array == 1", &mut k));
    assert_eq!(k.reads.get(), 0);
    assert!(!evaluate("num == 8 && array == 1", &mut k));
    assert_eq!(k.reads.get(), 0);
    assert!(evaluate("num == 7 && array == 1", &mut k));
    // The second element is the one.
    assert_eq!(k.reads.get(), 2);
}

#[test]
fn the_text_is_kept_and_refusals_are_shown() {
    assert_eq!(make(" num == 7\n").unwrap().text(), b"num == 7");
    assert!(Filter::is_removal(b" 0\n"));
    assert!(!Filter::is_removal(b"00"));
    let error = make("num == x").unwrap_err();
    let mut out = String::new();
    filter::write_refusal(&mut out, b"num == x\n", &error).unwrap();
    assert_eq!(
        out,
        "num == x\n       ^\nparse_error: Invalid value (did you forget quotes)?\n"
    );
    let mut out = String::new();
    error.write_entry(&mut out, 0, b"num == x").unwrap();
    assert!(
        out.contains("] event filter parse error: error: Invalid value"),
        "{out}"
    );
}

/// Of a megabyte that is refused, what is around the caret stays.
#[test]
fn a_long_refused_text_does_not_stay() {
    let text = format!("num == 1 {}", "|| num == 1 ".repeat(1 << 16));
    let error = make(&text).unwrap_err();
    let (mut shown, mut entry) = (String::new(), String::new());
    filter::write_refusal(&mut shown, text.as_bytes(), &error).unwrap();
    error.write_entry(&mut entry, 0, text.as_bytes()).unwrap();
    for out in [shown, entry] {
        assert!(out.len() < 3000, "{} bytes", out.len());
        assert!(
            out.contains("...") && out.contains(" || num == 1 "),
            "{out}"
        );
    }
}

#[test]
fn every_failed_allocation_is_survived() {
    let text = "!(num == 7 && CPU & CPUS{1-70}) || str ~ \"a*\" || (neg < 0 && comm == 'x')";
    let (_, program) = compile(EVENT, &mut kernel()).expect("the event");
    for n in 0.. {
        ferroprobe_engine::sys::fail_allocation_after(Some(n));
        let result = Filter::compile(text.as_bytes(), program.layout(), &mut Symbols);
        ferroprobe_engine::sys::fail_allocation_after(None);
        match result {
            Ok(_) => {
                assert!(n > 5, "only {n} allocations");
                break;
            }
            Err(error) => assert_eq!(error.kind, Kind::NoMemory, "allocation {n}"),
        }
    }
}

#[test]
fn a_return_probe_has_two_places() {
    let mut k = kernel();
    let (_, program) = compile("r vfs_read $retval", &mut k).unwrap();
    let text = b"__probe_func == 0x8010 && __probe_ret_ip == 0x8888";
    let filter = Filter::compile(text, program.layout(), &mut Symbols).unwrap();
    assert!(filter.matches(&program, &k, &HIT));
    let wrong = Filter::compile(b"__probe_ip == 1", program.layout(), &mut Symbols);
    assert_eq!(wrong.unwrap_err().kind, Kind::FiltFieldNotFound);
}

mod random {
    use super::{evaluate, kernel};
    use proptest::prelude::*;

    /// An expression and its value, worked out apart from the filter.
    fn expression() -> impl Strategy<Value = (String, bool)> {
        let leaf = prop_oneof![
            Just(("num == 7".to_string(), true)),
            Just(("num > 7".to_string(), false)),
            Just(("comm == \"bash\"".to_string(), true)),
            Just(("fault == 0".to_string(), false)),
        ];
        leaf.prop_recursive(6, 40, 2, |inner| {
            let pair = (inner.clone(), inner.clone());
            prop_oneof![
                inner.prop_map(|(text, value)| (format!("!({text})"), !value)),
                pair.clone()
                    .prop_map(|((a, x), (b, y))| (format!("({a}) && ({b})"), x && y)),
                pair.prop_map(|((a, x), (b, y))| (format!("({a})||({b})"), x || y)),
            ]
        })
    }

    proptest! {
        #[test]
        fn logic_is_that_of_booleans((text, value) in expression()) {
            prop_assert_eq!(evaluate(&text, &mut kernel()), value, "{}", text);
        }
    }
}

#[test]
fn a_function_that_does_not_exist_has_similar_ones() {
    let (_, program) = compile(EVENT, &mut kernel()).expect("the event");
    let refused = |text: &str| {
        let result = Filter::compile(text.as_bytes(), program.layout(), &mut Symbols);
        let error = result.expect_err("no such function");
        let detail = String::from_utf8(error.detail().to_vec()).expect("text");
        (error.kind.name(), error.at, detail)
    };
    let mistyped = "there is no function vfs_raed, did you mean vfs_read?";
    assert_eq!(
        refused("num > 1 && place.function == vfs_raed"),
        ("FILT_NO_FUNCTION", 29, mistyped.to_string())
    );
    assert!(!refused("place.function == zzzzzzzzzzzz").2.contains("mean"));
}

#[test]
fn what_a_filter_takes_is_bounded_and_counted() {
    let (_, program) = compile(EVENT, &mut kernel()).expect("the event");
    let long = [&b"a".repeat(4000)[..], b"\0"].concat();
    let pattern = format!("*{}b", "a".repeat(200));
    let term = |field: &str| format!("{field} ~ \"{pattern}\"");
    let many = |field: &str| vec![term(field); 18].join(" || ");
    let filter = |text: &str| {
        let made = Filter::compile(text.as_bytes(), program.layout(), &mut Symbols);
        made.unwrap_or_else(|error| panic!("{text}: {error:?}"))
    };
    let mut k = kernel();
    k.write(0x3008, &long);
    k.write_user(0x3008, &long);
    for field in ["str", "ptr.string", "ptr.ustring"] {
        // Neither it nor what is compared afterwards is true, whatever the operator.
        let of_field = filter(&many(field));
        let not = filter(&format!("{} || !(str != \"x\")", many(field)));
        let negated = filter(&format!("{} || str !~ \"x\"", many(field)).replace("!~", "!="));
        for _ in 0..3 {
            assert!(!of_field.matches(&program, &k, &HIT), "{field}");
            assert!(not.matches(&program, &k, &HIT), "{field}");
            assert!(!negated.matches(&program, &k, &HIT), "{field}");
        }
        assert_eq!(of_field.exhausted(), 3, "{field}");
        // A number is still compared.
        let number = filter(&format!("({}) || num == 7", many(field)));
        assert!(number.matches(&program, &k, &HIT), "{field}");
    }
    // What one reads of is enough for usual filters.
    let usual = ["str ~ \"*.log\""; 4].join(" || ");
    let usual = filter(&format!("{usual} || str ~ \"a*\""));
    assert!(usual.matches(&program, &k, &HIT));
    assert_eq!(usual.exhausted(), 0);
    // The elements of arrays.
    let arrays = vec!["array == 100"; 200].join(" || ");
    let arrays = filter(&arrays);
    assert!(!arrays.matches(&program, &k, &HIT));
    assert_eq!(arrays.exhausted(), 0);
    let many = "p vfs_read list=+0(%r9):u8[64] big=%bx";
    k.write(0x3400, &[0; 64]);
    let (_, program) = compile(many, &mut k).expect(many);
    for term in ["list == 1", "list > big"] {
        let text = vec![term; 200].join(" || ");
        let made = Filter::compile(text.as_bytes(), program.layout(), &mut Symbols);
        let made = made.expect(term);
        let before = k.reads.get();
        assert!(!made.matches(&program, &k, &HIT));
        assert_eq!(made.exhausted(), 1, "{term}");
        let reads = k.reads.get() - before;
        assert!(reads < 9_000, "{term}: {reads}");
    }
}

#[test]
fn a_field_alone_is_told_what_to_be_compared_with() {
    let (_, program) = compile(EVENT, &mut kernel()).expect("the event");
    let compiled = |text: &str| Filter::compile(text.as_bytes(), program.layout(), &mut Symbols);
    for (field, value) in [
        ("num", Some("0")),
        ("array", Some("0")),
        ("common_pid", Some("0")),
        ("str", Some("\"\"")),
        ("names", Some("\"\"")),
        ("comm", Some("\"\"")),
        ("ptr.ustring", Some("\"\"")),
        ("six", None),
        ("mac", None),
    ] {
        for text in [field.to_string(), format!("{field} && num == 7")] {
            let error = compiled(&text).expect_err(&text);
            let detail = String::from_utf8(error.detail().to_vec()).expect("text");
            let Some(value) = value else {
                assert!(detail.ends_with("== or !="), "{text}: {detail}");
                continue;
            };
            let (_, advice) = detail.split_once("FIELD").expect(&text);
            assert_eq!(advice, format!(" != {value}"), "{text}");
            // What it advises works.
            compiled(&format!("{field}{advice}")).expect(&text);
        }
    }
}
