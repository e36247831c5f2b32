// SPDX-License-Identifier: GPL-2.0

//! An instance whose histograms have to do with each other.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ferroprobe_engine::engine::hist::{
    self, AtHand, Decision, Emit, EmittedValues, Existing, HistScope, Histogram, InterEventRoom,
    KeySource, KnownHistogram, SynthField, ValueSort, Values, STACK_DEPTH, TEXT_ROOM,
};
use ferroprobe_engine::engine::language::lex::Span;
use ferroprobe_engine::engine::refusal::error::{Error, Kind};
use ferroprobe_engine::sys::{OnCpu, PerCpu};

use super::{compile, Compiled, Kernel};

/// An event with its fields.
pub struct Event {
    group: String,
    name: String,
    program: Compiled,
}

/// A histogram that is set.
pub struct Set {
    event: usize,
    histogram: Rc<Histogram>,
    filter: Option<Vec<u8>>,
    is_hidden: bool,
}

/// An instance.
#[derive(Default)]
pub struct Instance {
    events: Vec<Event>,
    sets: Vec<Set>,
    synthetic: Vec<(String, Vec<SynthField>)>,
    /// What was emitted: event and values.
    pub emitted: RefCell<Vec<(String, Vec<u64>)>>,
    pub snapshots: Cell<usize>,
    /// Whether what is at hand is tried first, as on a hit.
    pub is_fast: Cell<bool>,
    /// Hits that were served so.
    pub fast: Cell<usize>,
}

/// The values of a hit, by the indexes of the fields.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    pub numbers: Vec<u64>,
    pub text: &'static str,
    pub pid: u32,
    pub now: u64,
}

impl Values for Fields {
    fn number(&self, source: KeySource, in_usecs: bool) -> u64 {
        match source {
            KeySource::Argument { index, .. } => self.numbers[usize::from(index)],
            KeySource::Pid => self.pid.into(),
            KeySource::Time if in_usecs => self.now / 1000,
            KeySource::Time => self.now,
            KeySource::Hits => 1,
            _ => 0,
        }
    }

    fn element(&self, _index: u8, n: u8) -> u64 {
        u64::from(n)
    }

    fn text(&self, _index: u8, out: &mut [u8; TEXT_ROOM]) -> Option<usize> {
        let text = [self.text.as_bytes(), b"\0"].concat();
        let length = text.len().min(TEXT_ROOM);
        out[..length].copy_from_slice(&text[..length]);
        Some(length)
    }

    fn comm(&self) -> [u8; 16] {
        *b"some-task\0\0\0\0\0\0\0"
    }

    fn stack(&self, frames: &mut [u64; STACK_DEPTH]) {
        frames[0] = 0x8010;
        frames[1] = 0x8020;
    }

    fn user_stack(&self, _frames: &mut [u64; STACK_DEPTH]) -> u32 {
        0
    }
}

/// All numbers are at hand.
struct FieldsAtHand<'a>(&'a Fields);

impl AtHand for FieldsAtHand<'_> {
    fn number(&self, source: KeySource) -> Option<u64> {
        Some(Values::number(self.0, source, false))
    }
}

struct Around<'a> {
    instance: &'a Instance,
    own: usize,
    known: Vec<KnownHistogram<'a>>,
}

impl HistScope for Around<'_> {
    fn own(&self) -> (&[u8], &[u8]) {
        let own = &self.instance.events[self.own];
        (own.group.as_bytes(), own.name.as_bytes())
    }

    fn histograms(&self) -> &[KnownHistogram<'_>] {
        &self.known
    }

    fn has_event(&self, group: &[u8], event: &[u8]) -> bool {
        self.instance.find(group, event).is_some()
    }

    fn synthetic(&self, name: &[u8]) -> Option<&[SynthField]> {
        let mut all = self.instance.synthetic.iter();
        let found = all.find(|(own, _)| own.as_bytes() == name)?;
        Some(&found.1)
    }
}

struct Emitter<'a>(&'a Instance, &'a Histogram);

impl Emit for Emitter<'_> {
    fn emit(&self, action: usize, values: EmittedValues<'_>) {
        let event = &self.1.spec().actions()[action].event;
        let event = String::from_utf8(event.to_vec()).unwrap();
        self.0
            .emitted
            .borrow_mut()
            .push((event, values.iter().collect()));
    }

    fn lend(&self, work: impl FnOnce(&mut InterEventRoom)) -> bool {
        work(&mut [u64::MAX; 80]);
        true
    }

    fn snapshot(&self) {
        self.0.snapshots.set(self.0.snapshots.get() + 1);
    }
}

impl Instance {
    /// Adds the event `GROUP:NAME` with `arguments`.
    pub fn add_event(&mut self, name: &str, arguments: &str) {
        let (group, name) = name.split_once(':').expect("an event");
        let definition = format!("p {name} {arguments}");
        let (_, program) = compile(&definition, &mut Kernel::default()).expect(&definition);
        let (group, name) = (group.to_owned(), name.to_owned());
        self.events.push(Event {
            group,
            name,
            program,
        });
    }

    /// Adds the synthetic event `name` with fields such as `u64`, `s32`, `text`, `stack`.
    pub fn add_synthetic(&mut self, name: &str, fields: &str) {
        let field = |text: &str| {
            let sort = match text {
                "text" => ValueSort::Text,
                "stack" => ValueSort::Stack,
                _ => ValueSort::Number,
            };
            let bits: u32 = text[1..].parse().unwrap_or(64);
            SynthField {
                sort,
                size: (bits / 8) as u8,
                signed: text.starts_with('s') && sort == ValueSort::Number,
            }
        };
        let fields = fields.split_whitespace().map(field).collect();
        self.synthetic.push((name.to_owned(), fields));
    }

    fn find(&self, group: &[u8], event: &[u8]) -> Option<usize> {
        let mut all = self.events.iter();
        all.position(|it| it.group.as_bytes() == group && it.name.as_bytes() == event)
    }

    fn event(&self, name: &str) -> usize {
        let (group, event) = name.split_once(':').expect(name);
        self.find(group.as_bytes(), event.as_bytes()).expect(name)
    }

    /// Writes `text` to `trigger` of the event.
    pub fn write(&mut self, event: &str, text: &str) -> Result<(), Error> {
        let event = self.event(event);
        self.write_of(event, text, false)
    }

    fn around(&self, own: usize) -> Around<'_> {
        let mut all = vec![];
        for (event, names) in self.events.iter().enumerate() {
            for set in self.sets.iter().filter(|set| set.event == event) {
                all.push(KnownHistogram {
                    group: names.group.as_bytes(),
                    event: names.name.as_bytes(),
                    histogram: &set.histogram,
                    filter: set.filter.as_deref(),
                });
            }
        }
        Around {
            instance: self,
            own,
            known: all,
        }
    }

    fn write_of(&mut self, event: usize, text: &str, is_hidden: bool) -> Result<(), Error> {
        let (removes, rest) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let rest = rest.strip_prefix("hist:").expect(text);
        let span = Span {
            bytes: rest.as_bytes(),
            at: text.len() - rest.len(),
        };
        let (made, filter) = loop {
            let layout = self.events[event].program.layout();
            let around = self.around(event);
            let mut request = hist::parse(span, layout, &around)?;
            let mut existing = vec![];
            for set in &self.sets {
                existing.push(Existing {
                    spec: set.histogram.spec(),
                    filter: set.filter.as_deref(),
                    is_here: set.event == event,
                });
            }
            if removes {
                let Some(index) = hist::find(&request, &existing) else {
                    return Ok(());
                };
                return self.remove(index);
            }
            let is_paused = match hist::decide(&request, &existing, span.at)? {
                Decision::Set { is_paused } => is_paused,
                Decision::SetPaused { index, is_paused } => {
                    self.sets[index].histogram.set_paused(is_paused);
                    return Ok(());
                }
                Decision::Clear { index } => {
                    self.sets[index].histogram.clear_inter_event(|| ());
                    return Ok(());
                }
                Decision::Share { .. } => panic!("no names"),
            };
            let needed = request.bind(layout, &around)?;
            if let Some(needed) = needed {
                let on = self.find(&needed.group, &needed.event).expect("an event");
                let text = String::from_utf8(needed.text.to_vec()).unwrap();
                let result = self.write_of(on, &format!("hist:{text}"), true);
                result.map_err(|error| needed.refused(&error))?;
                continue;
            }
            let filter = request.filter.map(|filter| filter.bytes.to_vec());
            let spec = request.spec;
            let tables = PerCpu::new(2, |_| spec.own_table(true)).expect("memory");
            let shared = spec.shared_table(&tables).expect("memory");
            let made = Histogram::inter_event(spec, (tables, shared), is_paused).expect("memory");
            break (made, filter);
        };
        self.sets.push(Set {
            event,
            histogram: Rc::new(made),
            filter,
            is_hidden,
        });
        Ok(())
    }

    fn remove(&mut self, index: usize) -> Result<(), Error> {
        if self.is_used(index) {
            return Err(Error::new(Kind::HistInUse, 0));
        }
        self.sets.remove(index);
        while let Some(index) =
            (0..self.sets.len()).find(|&n| self.sets[n].is_hidden && !self.is_used(n))
        {
            self.sets.remove(index);
        }
        Ok(())
    }

    fn is_used(&self, index: usize) -> bool {
        let Some(table) = self.sets[index].histogram.var_table() else {
            return false;
        };
        let others = self.sets.iter().enumerate();
        let mut others = others.filter(|(n, _)| *n != index);
        others.any(|(_, other)| other.histogram.spec().refers_to(table))
    }

    /// Serves a hit of the event by all its histograms.
    pub fn hit(&self, event: &str, fields: &Fields) {
        let event = self.event(event);
        // SAFETY: each test has one thread.
        let here = unsafe { OnCpu::new(0) };
        for set in self.sets.iter().filter(|set| set.event == event) {
            let histogram = &set.histogram;
            match histogram.spec().is_inter_event() {
                true => {
                    let in_usecs = histogram.counts_usecs();
                    let time = || Some(Values::number(fields, KeySource::Time, in_usecs));
                    let (hit, emitter) = (&FieldsAtHand(fields), &Emitter(self, histogram));
                    let is_done = self.is_fast.get()
                        && (histogram.stamp(hit, time)
                            || histogram.update_inter_event_fast(hit, time, emitter));
                    match is_done {
                        true => self.fast.set(self.fast.get() + 1),
                        false => histogram.update_inter_event(fields, emitter),
                    }
                }
                false => histogram.update(fields, &here),
            }
        }
    }

    /// What `trigger` of the event lists.
    pub fn listed(&self, event: &str) -> Vec<String> {
        let event = self.event(event);
        let of = self.sets.iter().filter(|set| set.event == event);
        of.map(|set| {
            let mut out = String::new();
            set.histogram.spec().write(&mut out).unwrap();
            out
        })
        .collect()
    }

    /// The histograms of the event.
    pub fn histograms(&self, event: &str) -> Vec<Rc<Histogram>> {
        let event = self.event(event);
        let of = self.sets.iter().filter(|set| set.event == event);
        of.map(|set| set.histogram.clone()).collect()
    }
}
