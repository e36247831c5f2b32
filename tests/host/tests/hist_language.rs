// SPDX-License-Identifier: GPL-2.0

//! The language of histograms: what is accepted, how it is listed, how it is refused.

use crate::support;

use std::collections::BTreeSet;

use ferroprobe_engine::engine::hist::{self, Decision, Existing, HistRequest, Spec, Verb};
use ferroprobe_engine::engine::language::lex::Span;
use ferroprobe_engine::engine::refusal::error::{Error, Kind, Subject};
use ferroprobe_engine::sys::fail_allocation_after;
use support::{compile, Alone, Compiled, Kernel};

const EVENT: &str = "p vfs_read num=%cx neg=%bx:s32 big=%bx byte=%bx:u8 bits=%cx:b4@0/8 \
    place=%bp str=+8(%di):string empty=+13(%di):string array=+0(%r9):s8[4] \
    chars=+0(%r9):char[8] wide=+0(%r9):u64[49] texts=+0(%r9):string[2]";

fn event() -> Compiled {
    let (_, program) = compile(EVENT, &mut Kernel::default()).expect("the event");
    program
}

const PREFIX: &str = "hist:";

fn parse<'a>(text: &'a str, event: &Compiled) -> Result<HistRequest<'a>, Error> {
    let span = Span {
        bytes: text.as_bytes(),
        at: 0,
    };
    let rest = span.strip(PREFIX.as_bytes()).expect(PREFIX);
    hist::parse(rest, event.layout(), &Alone)
}

fn listed(spec: &Spec) -> String {
    let mut out = String::new();
    spec.write(&mut out).expect("a String");
    out
}

fn cases() -> Vec<(&'static str, &'static str)> {
    let lines = include_str!("../../data/lang-hist.txt").lines();
    let lines = lines.filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines
        .map(|l| l.split_once(' ').expect(l))
        .map(|(kind, text)| (kind, text.trim_start()))
        .collect()
}

#[test]
fn triggers_are_listed_or_refused() {
    let event = event();
    let mut refused = 0;
    for (kind, text) in cases() {
        let (text, expected) = match kind {
            "ok" => (text, text),
            "as" => text.split_once(" => ").expect(text),
            kind => {
                let error = parse(&text.replacen('^', "", 1), &event).expect_err(text);
                assert_eq!(error.kind.name(), kind, "{text}");
                assert_eq!(Some(error.at), text.find('^'), "{text}: {kind}");
                refused += 1;
                continue;
            }
        };
        let request = parse(text, &event).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        assert_eq!(listed(&request.spec), expected, "{text}");
        let again = parse(expected, &event).unwrap_or_else(|e| panic!("{expected}: {e:?}"));
        assert_eq!(again.spec.keys, request.spec.keys, "{text}");
        assert_eq!(listed(&again.spec), expected, "{text}");
    }
    assert!(refused >= 60, "{refused}");
}

/// Kinds of [`hist::decide`], which are tested below.
const DECIDED: [&str; 2] = ["NAMED_MISMATCH", "TRIGGER_ENOENT_CLEAR"];

/// The kind that the selftest `memory` raises.
const OF_MEMORY: &str = "HIST_NO_MEMORY";

#[test]
fn every_kind_has_a_test() {
    // Those of histograms that have to do with each other are tested by hist_inter.rs.
    let others = include_str!("../../data/lang-hist-inter.txt").lines();
    let others = others.filter_map(|line| line.split_once(' '));
    let all = Iterator::chain(cases().into_iter(), others);
    let tested: BTreeSet<_> = all.map(|(kind, _)| kind).collect();
    let kinds = Kind::ALL.iter();
    for kind in kinds.filter(|kind| kind.subject() == Subject::Histogram) {
        let name = kind.name();
        let is_elsewhere = DECIDED.contains(&name) || name == OF_MEMORY;
        assert!(tested.contains(name) != is_elsewhere, "{name}");
    }
}

#[test]
fn filters_and_verbs_are_found() {
    let event = event();
    let verb = |text: &str| parse(text, &event).expect(text).verb;
    assert_eq!(verb("hist:keys=num"), Verb::Set);
    assert_eq!(verb("hist:keys=num:pause"), Verb::Pause);
    assert_eq!(verb("hist:keys=num:cont:clear"), Verb::Continue);
    assert_eq!(verb("hist:keys=num:clear"), Verb::Clear);
    let filter = |text| {
        let request = parse(text, &event).expect("a trigger");
        request.filter.map(|f| (f.at, f.bytes.to_vec()))
    };
    assert_eq!(filter("hist:keys=num"), None);
    let text = "hist:keys=num:sort=num  if  num == 1 && neg:x ";
    assert_eq!(filter(text), Some((28, b"num == 1 && neg:x".to_vec())));
    let mut out = String::new();
    let spec = parse("hist:keys=num if x", &event).unwrap().spec;
    spec.write_line(&mut out, Some(b"x"), true).unwrap();
    assert_eq!(
        out,
        "hist:keys=num:vals=hitcount:sort=hitcount:size=2048 if x [paused]\n"
    );
}

#[test]
fn what_becomes_of_a_trigger() {
    let event = event();
    let spec = |text| parse(text, &event).expect(text).spec;
    let (plain, named) = (spec("hist:keys=num"), spec("hist:keys=num:name=foo"));
    let existing = [
        Existing {
            spec: &named,
            filter: None,
            is_here: false,
        },
        Existing {
            spec: &plain,
            filter: None,
            is_here: true,
        },
        Existing {
            spec: &plain,
            filter: Some(b"num > 1"),
            is_here: true,
        },
    ];
    let decide = |text| {
        let request = parse(text, &event).expect("a trigger");
        hist::decide(&request, &existing, 5).map_err(|error| error.kind)
    };
    let set = |index, is_paused| Ok(Decision::SetPaused { index, is_paused });
    assert_eq!(decide("hist:keys=num"), Err(Kind::TriggerEexist));
    assert_eq!(decide("hist:keys=num:size=128"), Err(Kind::TriggerEexist));
    assert_eq!(decide("hist:keys=num:pause"), set(1, true));
    assert_eq!(decide("hist:keys=num:cont"), set(1, false));
    assert_eq!(decide("hist:keys=num:cont if num > 1"), set(2, false));
    assert_eq!(
        decide("hist:keys=num:clear if num > 1"),
        Ok(Decision::Clear { index: 2 })
    );
    let new = |is_paused| Ok(Decision::Set { is_paused });
    assert_eq!(decide("hist:keys=num if num > 2"), new(false));
    assert_eq!(decide("hist:keys=num.hex:pause"), new(true));
    assert_eq!(decide("hist:keys=neg:clear"), Err(Kind::TriggerEnoentClear));
    assert_eq!(decide("hist:keys=neg:cont"), Err(Kind::TriggerEnoentClear));
    assert_eq!(
        decide("hist:keys=num:name=foo"),
        Ok(Decision::Share {
            with: 0,
            is_paused: false
        })
    );
    assert_eq!(decide("hist:keys=neg:name=foo"), Err(Kind::NamedMismatch));
    assert_eq!(decide("hist:keys=num:name=bar"), new(false));
    let request = parse("hist:keys=num if num > 1", &event).unwrap();
    assert_eq!(hist::find(&request, &existing), Some(2));
}

#[test]
fn every_failed_allocation_is_survived() {
    let event = event();
    let text = "hist:keys=num.log2,common_pid:vals=neg,big.max:sort=num,big:name=n:clock=mono";
    for n in 0.. {
        fail_allocation_after(Some(n));
        let result = parse(text, &event);
        fail_allocation_after(None);
        match result {
            Ok(_) => {
                assert!(n > 8, "only {n} allocations");
                break;
            }
            Err(error) => assert_eq!(error.kind, Kind::NoMemory, "allocation {n}"),
        }
    }
}

#[test]
fn fields_are_looked_up_as_in_the_kernel() {
    // The event's own fields hide the old names of those that all have.
    let (_, own) = compile("p f cpu=%cx comm=%bx", &mut Kernel::default()).unwrap();
    let names = ["cpu", "comm"];
    for name in names {
        let text = format!("hist:keys={name}");
        let spec = parse(&text, &own).unwrap().spec;
        assert!(matches!(
            spec.keys[0].source,
            hist::KeySource::Argument { .. }
        ));
    }
    let (_, back) = compile("r f", &mut Kernel::default()).unwrap();
    assert!(parse("hist:keys=__probe_func,__probe_ret_ip", &back).is_ok());
}

mod random {
    use super::{event, listed, parse};
    use proptest::prelude::*;

    fn word() -> impl Strategy<Value = String> {
        let words = prop::sample::select(vec![
            "keys=",
            "vals=",
            "sort=",
            "size=",
            "name=",
            "clock=",
            "num",
            "neg",
            "big",
            "str",
            "common_pid",
            "common_timestamp",
            "stacktrace",
            "hitcount",
            ".log2",
            ".hex",
            ".min",
            ".buckets=",
            ".execname",
            ".descending",
            ".percent",
            ",",
            ":",
            "pause",
            "clear",
            "7",
            "4096",
            " if ",
            "nohitcount",
            "mono",
            "=",
            ".",
            "-",
        ]);
        prop_oneof![9 => words.prop_map(String::from), 1 => "[ -~]{0,6}"]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn nothing_panics_and_what_is_listed_is_a_fixed_point(
            keys in prop::collection::vec(word(), 0..5),
            words in prop::collection::vec(word(), 0..12),
        ) {
            let event = event();
            let text = format!("hist:keys={}:{}", keys.concat(), words.concat());
            match parse(&text, &event) {
                Ok(request) => {
                    let first = listed(&request.spec);
                    let again = parse(&first, &event).expect(&first);
                    prop_assert_eq!(listed(&again.spec), first);
                }
                Err(error) => prop_assert!(error.at <= text.len(), "{}", text),
            }
        }
    }
}

#[test]
fn variables_of_the_task_are_alike_in_all_events() {
    let one = event();
    let (_, other) = compile("p vfs_read other=%cx", &mut Kernel::default()).expect("the event");
    for (text, alike) in [
        ("hist:name=n:keys=common_pid:t=common_tgid", true),
        ("hist:name=n:keys=common_pid:c=common_cgroup", true),
        ("hist:name=n:keys=common_pid:t=common_comm", true),
        ("hist:name=n:keys=common_pid:t=num", false),
    ] {
        let request = parse(text, &one).expect(text);
        let same = request.spec.has_same_fields(one.layout(), other.layout());
        assert_eq!(same, alike, "{text}");
    }
}
