// SPDX-License-Identifier: GPL-2.0

//! Triggers: what they mean, and how they are refused.

use std::collections::BTreeSet;

use ferroprobe_engine::engine::language::lex::Span;
use ferroprobe_engine::engine::language::trigger::{
    self, Count, EventName, Trigger, TriggerRequest,
};
use ferroprobe_engine::engine::refusal::error::{Kind, Subject};

const DATA: &str = include_str!("../../data/lang-triggers.txt");

/// Refusals that need the events: see lang_errors.rs.
const RAISED_ELSEWHERE: &[&str] = &["TRIGGER_EXIST", "TRIGGER_EVENT_NOT_FOUND"];

fn text(span: Span<'_>) -> String {
    String::from_utf8(span.bytes.to_vec()).expect("text")
}

fn name(trigger: Trigger<'_>) -> String {
    match trigger {
        Trigger::Trace { on: true } => "traceon".into(),
        Trigger::Trace { on: false } => "traceoff".into(),
        Trigger::Snapshot => "snapshot".into(),
        Trigger::Stack => "stacktrace".into(),
        Trigger::Event { on, event } => of_event(on, "event", event),
        Trigger::Histograms { on, event } => of_event(on, "hist", event),
    }
}

fn of_event(on: bool, what: &str, event: EventName<'_>) -> String {
    let verb = if on { "enable" } else { "disable" };
    format!("{verb}_{what}:{}:{}", text(event.group), text(event.event))
}

/// The request in one form.
fn written(request: TriggerRequest<'_>) -> String {
    match request {
        TriggerRequest::Remove(trigger) => format!("!{}", name(trigger)),
        TriggerRequest::Set {
            trigger,
            count,
            filter,
        } => {
            let count = match count {
                Count::Unlimited => "unlimited".to_string(),
                Count::Times(times) => times.to_string(),
            };
            let filter = filter.map_or(String::new(), |filter| format!(" if {}", text(filter)));
            format!("{}:{count}{filter}", name(trigger))
        }
        TriggerRequest::Histogram { text: of, removes } => {
            format!("{}hist:{}", if removes { "!" } else { "" }, text(of))
        }
    }
}

fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = DATA
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    rows.map(|line| line.split_once('\t').expect("a tab"))
}

#[test]
fn each_text_means_what_the_table_says() {
    for (_, row) in rows().filter(|(kind, _)| *kind == "ok") {
        let (expected, text) = row.split_once('\t').expect("a tab");
        let request = trigger::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        assert_eq!(written(request), expected, "{text}");
    }
}

#[test]
fn every_refusal_has_its_kind_and_caret() {
    let mut seen = BTreeSet::new();
    for (kind, marked) in rows().filter(|(kind, _)| *kind != "ok") {
        let caret = marked.find('^').expect("a caret");
        let text = marked.replacen('^', "", 1);
        let error = trigger::parse(text.as_bytes()).expect_err(marked);
        assert_eq!((error.kind.name(), error.at), (kind, caret), "{marked}");
        seen.insert(kind);
    }
    let long = format!("traceoff if {}", "a".repeat(4096));
    let error = trigger::parse(long.as_bytes()).expect_err("too long");
    assert_eq!(error.kind, Kind::TriggerTooLong);
    seen.insert(error.kind.name());
    seen.extend(RAISED_ELSEWHERE);
    for kind in Kind::ALL.iter().filter(|k| k.subject() == Subject::Trigger) {
        assert!(seen.contains(kind.name()), "no row raises {}", kind.name());
    }
}

#[test]
fn the_names_are_the_names_of_triggers() {
    for trigger::TriggerRow { name, .. } in trigger::ROWS {
        let text = format!("!{name}:g:e");
        assert!(trigger::parse(text.as_bytes()).is_ok(), "{name}");
    }
}
