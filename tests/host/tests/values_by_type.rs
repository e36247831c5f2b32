// SPDX-License-Identifier: GPL-2.0

//! A number has the size and the sign of its type wherever it is compared or shown: each type,
//! with values at its ends, against a model in 128 bits. JSON has the values of the text, see
//! `lang_json`.

use crate::support;

use ferroprobe_engine::engine::filter::{Filter, Hit, LookupFunctions};
use ferroprobe_engine::engine::hist::{Heading, KeyNames, Printing};
use ferroprobe_engine::engine::print::SymbolNames;
use ferroprobe_engine::engine::record::Header;
use ferroprobe_engine::engine::refusal::error::Kind;
use ferroprobe_engine::engine::util::seq_buf::SeqBuf;
use ferroprobe_engine::sys;
use proptest::prelude::*;
use support::linked::{Fields, Instance};
use support::{compile, printed, Kernel};

/// A type: its name, bits and sign.
#[derive(Clone, Copy, Debug)]
struct Type(&'static str, u32, bool);

const TYPES: [Type; 9] = [
    Type("u8", 8, false),
    Type("s8", 8, true),
    Type("u16", 16, false),
    Type("s16", 16, true),
    Type("u32", 32, false),
    Type("s32", 32, true),
    Type("u64", 64, false),
    Type("s64", 64, true),
    Type("errno", 32, true),
];

impl Type {
    fn least(self) -> i128 {
        if self.2 {
            -(1 << (self.1 - 1))
        } else {
            0
        }
    }

    fn greatest(self) -> i128 {
        self.least() + (1 << self.1) - 1
    }

    /// The value that has these lowest bits.
    fn value(self, bits: u64) -> i128 {
        let low = i128::from(bits) & ((1 << self.1) - 1);
        match self.2 && low > self.greatest() {
            true => low - (1 << self.1),
            false => low,
        }
    }

    /// The 64 bits of the value, with its sign.
    fn extended(self, bits: u64) -> u64 {
        self.value(bits) as u64
    }
}

/// Bits at the ends of all types, and any.
fn bits() -> impl Strategy<Value = u64> {
    let ends = [7u32, 8, 15, 16, 31, 32, 63].map(|bit| 1u64 << bit);
    let near = (prop::sample::select(ends.to_vec()), 0..5u64);
    prop_oneof![
        near.prop_map(|(end, n)| end.wrapping_add(n).wrapping_sub(2)),
        (0..5u64).prop_map(|n| n.wrapping_sub(2)),
        any::<u64>(),
    ]
}

/// A number that can be written: of 64 bits, with a sign or without.
fn numbers() -> impl Strategy<Value = i128> {
    (bits(), any::<bool>()).prop_map(|(bits, signed)| match signed {
        true => i128::from(bits as i64),
        false => i128::from(bits),
    })
}

fn types() -> impl Strategy<Value = Type> {
    prop::sample::select(TYPES.to_vec())
}

struct Symbols;

impl LookupFunctions for Symbols {
    fn last_cpu(&self) -> u32 {
        3
    }

    fn named(&mut self, _name: &[u8]) -> Option<(u64, u64)> {
        None
    }

    fn around(&mut self, _address: u64) -> Option<(u64, u64)> {
        None
    }
}

const HIT: Hit = Hit {
    header: Header {
        event: 9,
        flags: 0,
        preempt_count: 0,
        pid: 42,
    },
    cpu: 0,
    place: 0x8010,
};

/// What `v OPERATOR number` says, or why it is refused.
fn model(of: Type, value: i128, operator: &str, number: i128) -> Result<bool, Kind> {
    let span = 1i128 << of.1;
    let is_order = matches!(operator, "<" | "<=" | ">" | ">=");
    let is_high = (of.greatest() + 1..span).contains(&number);
    if is_order && of.2 && (is_high || number > i64::MAX.into()) {
        return Err(Kind::FiltNeverHigh);
    }
    if is_order && !of.2 && (number < 0 || (operator == "<" && number == 0)) {
        return Err(Kind::FiltNoSign);
    }
    // Otherwise a number may have the bits of the value.
    let number = match (of.2, number) {
        (true, number) if is_high => number - span,
        (true, number) if number > i64::MAX.into() => number - (1 << 64),
        (false, number) if number < 0 => number.rem_euclid(span),
        (_, number) => number,
    };
    Ok(match operator {
        "==" => value == number,
        "!=" => value != number,
        "<" => value < number,
        "<=" => value <= number,
        ">" => value > number,
        ">=" => value >= number,
        _ => value as u64 & number as u64 != 0,
    })
}

/// Whether a hit with these bits passes `filter`.
fn passes(of: Type, bits: u64, filter: &str) -> Result<bool, Kind> {
    let mut kernel = Kernel::default();
    kernel.set("bx", bits);
    kernel.write(0x3400, &bits.to_le_bytes());
    kernel.set("r9", 0x3400);
    let arguments = format!("p vfs_read v=%bx:{0} m=+0(%r9):{0} zero=%ax:s8", of.0);
    let (_, program) = compile(&arguments, &mut kernel).expect(&arguments);
    let made = Filter::compile(filter.as_bytes(), program.layout(), &mut Symbols);
    let made = made.map_err(|error| error.kind)?;
    let decision = made.matches(&program, &kernel, &HIT);
    if let Some(fast) = made.decide_fast(&program, &kernel) {
        assert_eq!(fast, decision, "{filter}");
    }
    Ok(decision)
}

struct NoNames;

impl SymbolNames for NoNames {
    fn symbolize(&mut self, _address: u64, _with_offset: bool, _buf: &mut SeqBuf<'_>) {}
}

impl KeyNames for NoNames {
    fn syscall(&mut self, _number: u64, _buf: &mut SeqBuf<'_>) -> bool {
        false
    }
}

/// What `hist` shows after hits with these values.
fn hist(of: Type, trigger: &str, all: &[u64]) -> String {
    let mut it = Instance::default();
    it.add_event("any:event", &format!("k=%ax:u8 v=%bx:{}", of.0));
    it.write("any:event", trigger).expect(trigger);
    for &bits in all {
        let fields = Fields {
            numbers: vec![1, of.extended(bits)],
            ..Fields::default()
        };
        it.hit("any:event", &fields);
    }
    let histogram = &it.histograms("any:event")[0];
    let mut printing = Printing::new(histogram.read().unwrap(), false).unwrap();
    let mut out = sys::Vec::new();
    let heading = Heading {
        filter: None,
        is_paused: false,
        index: 0,
    };
    while printing
        .write_next(&mut out, heading, &mut NoNames)
        .unwrap()
    {}
    String::from_utf8(out.to_vec()).unwrap()
}

/// The numbers behind `label` in a text.
fn behind(text: &str, label: &str) -> Vec<i128> {
    let parts = text.split(label).skip(1);
    let number = |part: &str| {
        let word = part.split_whitespace().next().unwrap_or_default();
        word.trim_end_matches(',')
            .parse()
            .unwrap_or_else(|_| panic!("{text}"))
    };
    parts.map(number).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn filters_compare(of in types(), bits in bits(), number in numbers()) {
        let value = of.value(bits);
        for operator in ["==", "!=", "<", "<=", ">", ">=", "&"] {
            let expected = model(of, value, operator, number);
            for field in ["v", "m"] {
                let filter = format!("{field} {operator} {number}");
                prop_assert_eq!(passes(of, bits, &filter), expected, "{:?} {}: {}", of, value, filter);
            }
            // Two fields are compared by their values.
            if operator != "&" && i64::try_from(number).is_ok_and(|n| n > 0) {
                let filter = format!("v {operator} zero + {number}");
                let expected = match operator {
                    "==" => value == number,
                    "!=" => value != number,
                    "<" => value < number,
                    "<=" => value <= number,
                    ">" => value > number,
                    _ => value >= number,
                };
                prop_assert_eq!(passes(of, bits, &filter), Ok(expected), "{:?} {}: {}", of, value, filter);
            }
        }
    }

    #[test]
    fn text_shows(of in types(), bits in bits()) {
        if of.0 != "errno" {
            let mut kernel = Kernel::default();
            kernel.set("bx", bits);
            let text = printed(&format!("p vfs_read v=%bx:{}", of.0), &mut kernel);
            prop_assert_eq!(text, format!("v={}", of.value(bits)));
        }
    }

    #[test]
    fn histograms_sort_and_fold(of in types(), all in prop::collection::vec(bits(), 1..8)) {
        let mut values: Vec<i128> = all.iter().map(|&bits| of.value(bits)).collect();
        let sum = values.iter().fold(0u64, |sum, &value| sum.wrapping_add(value as u64));
        let sum = if of.2 { i128::from(sum as i64) } else { i128::from(sum) };
        let (least, greatest) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
        let folded = hist(of, "hist:keys=k:vals=v,v.min,v.max", &all);
        prop_assert_eq!(behind(&folded, "  v: "), [sum], "{}", folded);
        prop_assert_eq!(behind(&folded, "v (min): "), [least], "{}", folded);
        prop_assert_eq!(behind(&folded, "v (max): "), [greatest], "{}", folded);
        values.sort();
        values.dedup();
        let keys = hist(of, "hist:keys=v:sort=v", &all);
        prop_assert_eq!(&behind(&keys, "{ v: "), &values, "{}", keys);
        values.reverse();
        let keys = hist(of, "hist:keys=v:vals=v.max:sort=v.max.descending", &all);
        prop_assert_eq!(&behind(&keys, "v (max): "), &values, "{}", keys);
    }

    #[test]
    fn quotients_have_the_sign_of_what_is_divided(of in types(), bits in bits(), by in 1..2_000i128) {
        let divided = hist(of, &format!("hist:keys=k:x=v/{by}:onmax($x).save(v)"), &[bits]);
        // What has no sign begins as 0.
        if of.2 || of.value(bits) / by > 0 {
            prop_assert_eq!(behind(&divided, "max: "), [of.value(bits) / by], "{}", divided);
        }
        let keys = hist(of, &format!("hist:keys=v/{by}"), &[bits]);
        prop_assert_eq!(behind(&keys, &format!("{{ v/{by}: ")), [of.value(bits) / by], "{}", keys);
    }

    #[test]
    fn actions_compare_and_keep(of in types(), all in prop::collection::vec(bits(), 1..8)) {
        let values: Vec<i128> = all.iter().map(|&bits| of.value(bits)).collect();
        let greatest = *values.iter().max().unwrap();
        let max = hist(of, "hist:keys=k:x=v:onmax($x).save(v):onmax($x).snapshot()", &all);
        prop_assert_eq!(behind(&max, "max: "), [greatest], "{}", max);
        prop_assert_eq!(behind(&max, "  v: "), [greatest], "{}", max);
        // What has no sign begins as 0.
        if of.2 || greatest > 0 {
            prop_assert_eq!(behind(&max, "onmax($x) }: "), [greatest], "{}", max);
        }
        let change = hist(of, "hist:keys=k:x=v:onchange($x).save(v)", &all);
        let last = *values.last().unwrap();
        prop_assert_eq!(behind(&change, "changed: "), [last], "{}", change);
        prop_assert_eq!(behind(&change, "  v: "), [last], "{}", change);
    }
}

#[test]
fn shares_have_signs() {
    let of = Type("s64", 64, true);
    let with = |trigger: &str, all: &[i64]| {
        let all: Vec<u64> = all.iter().map(|&n| n as u64).collect();
        hist(of, trigger, &all)
    };
    let text = with("hist:keys=v:vals=v.percent:sort=v", &[-5, 15]);
    let shares: Vec<&str> = text.split("v (%): ").skip(1).collect();
    assert!(shares[0].starts_with("-50.00\n"), "{text}");
    assert!(shares[1].starts_with("150.00\n"), "{text}");
    let text = with("hist:keys=v:vals=v.graph:sort=v", &[-5, 5, 10]);
    let bars: Vec<usize> = text
        .split("v: ")
        .skip(1)
        .map(|part| part.lines().next().unwrap().matches('#').count())
        .collect();
    let bars: Vec<usize> = bars.into_iter().filter(|&n| n > 0).collect();
    assert_eq!(bars, [10, 20], "{text}");
}
