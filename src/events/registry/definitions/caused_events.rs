// SPDX-License-Identifier: GPL-2.0

//! Makes the probes of events that other events cause: event probes, pairs and synthetic events.

use super::Definitions;
use crate::{
    engine::{
        definition::{
            ast::{Definition, Place},
            kind::ProbeKind,
        },
        filter::Filter,
        hist::{SynthField, ValueSort},
        language::{lex::Span, trigger::Count},
        pairs::DEFAULT_PAIRS,
        program::fetch::{self, Taken},
        record::LayoutNames,
        refusal::{
            error::{Error as Refusal, Kind},
            suggest::events::suggest_event,
        },
        util::text::{Appender, Plain},
    },
    events::{attachment::Attachment, event::Event, probe::Probe, registry::write::Write},
    hit::{
        action::{Action, ActionKind, SendTo},
        caused_event::{AttachedFields, CausedEvent},
        open_pairs::OpenPairs,
        pair::Pair,
        plan::{Plan, ReplacedPlans},
        recorder_builder::RecorderBuilder,
        sinks::HitSink,
    },
    kapi::memory,
    source::registered::Registered,
    sys::{Box, Vec},
};
use core::fmt::Write as _;
use kernel::{prelude::*, sync::Arc};

/// Maximum number of event probes in a chain of attachments: each level takes stack.
const MAX_ATTACHED: usize = 3;

/// Memory that a definition takes, in bytes, roughly.
const MEMORY: usize = 16 << 10;

impl Write<'_> {
    /// Adds the probe of `definition`, which another event or an action causes.
    #[inline(never)]
    pub(super) fn create_caused_event(
        &mut self,
        mut definition: Definition,
    ) -> Result<(), Refusal> {
        let is_synthetic = definition.kind == ProbeKind::Synthetic;
        let exists = match is_synthetic {
            true => Refusal::new(Kind::SynthEventExists, definition.place_at),
            false => Refusal::new(Kind::EventExist, 0),
        };
        if super::define::is_taken(&definition) || self.registry.definitions.calls.have(&definition)
        {
            return Err(exists);
        }
        let to = self.all_attachable(&definition)?;
        let no_memory = |_: Error| Refusal::new(Kind::NoMemory, 0);
        // The second event of a pair causes its hit.
        let (begin, end) = match &*to {
            [] => (None, None),
            [only] => (None, Some(&only.format.layout)),
            [begin, end, ..] => (Some(&begin.format.layout), Some(&end.format.layout)),
        };
        let (mut taken, mut fields) = (Taken::default(), AttachedFields::NONE);
        if let Some(end) = end {
            taken = fetch::attach(&mut definition, end, begin)?;
            let texts = core::mem::take(&mut taken.texts);
            fields = AttachedFields::of(end, texts).map_err(no_memory)?;
        }
        let mut keys = [Vec::new(), Vec::new()];
        if let Place::Pair(sides) = &definition.place {
            for ((keys, side), to) in keys.iter_mut().zip(sides).zip(&to) {
                *keys = fetch::pair_keys(side, &to.format.layout)?;
            }
        }
        let (program, mut layout) = self.registry.definitions.compile_alone(&definition)?;
        layout.names = Some(Box::new(names(&definition, &to)?)?);
        if !memory::suffices(MEMORY) {
            return Err(Refusal::new(Kind::NoMemory, 0));
        }
        self.make_way(&definition)?;
        if self.siblings(&definition).next().is_some() {
            return Err(exists);
        }
        if let Some(other) = self.other_of(&definition) {
            return Err(other.belongs_to_other(exists.kind, exists.at));
        }
        let condition = self
            .registry
            .definitions
            .condition(&definition, to.last())?;
        let (event, format) = self.new_event(&definition, layout)?;
        let recorder =
            RecorderBuilder::new(&format, program, event.active(), 0).map_err(no_memory)?;
        let values = synthetic_fields(&definition)?;
        let fields = (fields, values);
        let [begin_keys, end_keys] = keys;
        let mut open = None;
        if let Place::Pair(_) = definition.place {
            let room = match definition.maxactive {
                0 => DEFAULT_PAIRS,
                // CAST: u32 to usize widens.
                room => room as usize,
            };
            let made = OpenPairs::new(begin_keys, taken.begun, room);
            open = Some(made.map_err(no_memory)?);
        }
        let definitions = &self.registry.definitions;
        let nesting = definitions.nesting.clone();
        let caused_event = CausedEvent::new(recorder, fields, open.clone(), nesting);
        let caused_event = caused_event.map_err(no_memory)?;
        let pair = open.map(|open| Pair::new(caused_event.clone(), open, end_keys));
        let pair = pair.transpose().map_err(no_memory)?;
        let attached = definitions.attachments(&caused_event, pair.as_ref(), to, condition);
        let attached = attached.map_err(no_memory)?;
        let registered = Registered::of_caused_event(caused_event).map_err(no_memory)?;
        let definition = Arc::init(definition, GFP_KERNEL).map_err(no_memory)?;
        let attached = (attached, pair);
        let probe = Probe::of_caused_event((event, definition), format, registered, attached);
        self.add(probe.map_err(no_memory)?)
    }

    /// Returns the events that `definition` attaches to, in order.
    #[inline(never)]
    fn all_attachable(&self, definition: &Definition) -> Result<Vec<Arc<Event>>, Refusal> {
        let mut all = Vec::new();
        match &definition.place {
            Place::Event { group, event } => {
                all.push(self.attachable((group, event), definition.place_at)?)?;
            }
            Place::Pair(sides) => {
                for side in sides {
                    all.push(self.attachable((&side.group, &side.event), side.at)?)?;
                }
            }
            _ => {}
        }
        Ok(all)
    }

    /// Returns the event to attach to. `at` is the column of its names.
    fn attachable(&self, (group, name): (&[u8], &[u8]), at: usize) -> Result<Arc<Event>, Refusal> {
        let is_it = |probe: &&Arc<Probe>| {
            let definition = probe.definition();
            *definition.group == *group && *definition.event == *name
        };
        let defined = self.all().filter(|probe| !self.removes(&probe.event));
        let calls = self.registry.definitions.syscall_probes();
        let found = Iterator::chain(defined, calls).find(is_it);
        let Some(found) = found else {
            return Err(self.no_event((group, name), at));
        };
        let event = &found.event;
        let owner = event.owner().filter(|owner| !owner.is_builtin());
        if owner.is_some() && !event.is_of(self.owner.as_ref()) {
            return Err(event.belongs_to_other(Kind::BadAttachEvent, at));
        }
        if self.depth(event, MAX_ATTACHED) >= MAX_ATTACHED {
            return Err(Refusal::new(Kind::AttachedTooDeep, at));
        }
        Ok(event.clone())
    }

    /// Returns the length of the longest chain of event probes that ends at `event`, at most
    /// `most`.
    fn depth(&self, event: &Event, most: usize) -> usize {
        let mut deepest = 0;
        // Each level loops over all probes; `most` limits the levels.
        for probe in self.all().filter(|probe| probe.event.id() == event.id()) {
            for attachment in probe.attachments() {
                let below = match most.checked_sub(1) {
                    None | Some(0) => 0,
                    Some(most) => self.depth(attachment.to(), most),
                };
                deepest = below.saturating_add(1).max(deepest);
            }
        }
        deepest.min(most)
    }

    #[cold]
    #[inline(never)]
    fn no_event(&self, (group, name): (&[u8], &[u8]), at: usize) -> Refusal {
        let refusal = Refusal::new(Kind::BadAttachEvent, at);
        let mut both = Vec::new();
        let written = write!(Appender(&mut both), "{}.{}", Plain(group), Plain(name));
        match written {
            Ok(()) => suggest_event(refusal, &both, b'.', &|each| self.registry.each_name(each)),
            Err(_) => refusal,
        }
    }
}

impl Definitions {
    /// Returns the attachments that make the events `to` send their hits: to `caused_event`, or to
    /// the two sides of `pair`. The last event only sends hits that `condition` accepts.
    #[inline(never)]
    fn attachments(
        &self,
        caused_event: &Arc<CausedEvent>,
        pair: Option<&Arc<Pair>>,
        to: Vec<Arc<Event>>,
        mut condition: Option<Filter>,
    ) -> Result<Vec<Attachment>> {
        let last = to.len().wrapping_sub(1);
        let mut all = Vec::new();
        for (n, event) in to.into_iter().enumerate() {
            let begins = pair
                .filter(|_| n < last)
                .map(|pair| pair.open_pairs().clone());
            let to: KBox<dyn HitSink> = match (&begins, pair) {
                (Some(open), _) => KBox::new(open.clone(), GFP_KERNEL)?,
                (None, Some(pair)) => KBox::new(pair.clone(), GFP_KERNEL)?,
                (None, None) => KBox::new(caused_event.clone(), GFP_KERNEL)?,
            };
            let condition = if n == last { condition.take() } else { None };
            let to = Arc::new(SendTo { to, begins }, GFP_KERNEL)?;
            let action = ActionKind::Send(to);
            let action = Action::new(action, condition, Count::Unlimited)?;
            all.push(Attachment::new(event, action, self.attachments.clone()))?;
        }
        Ok(all)
    }

    /// Returns the filter that `definition` applies to hits of the event `to`.
    fn condition(
        &mut self,
        definition: &Definition,
        to: Option<&Arc<Event>>,
    ) -> Result<Option<Filter>, Refusal> {
        let Some((condition, to)) = definition.condition.as_ref().zip(to) else {
            return Ok(None);
        };
        let text = Span {
            bytes: &condition.text,
            at: condition.at,
        };
        self.compile_filter(text, &to.format.layout).map(Some)
    }

    /// Returns the caused event of the synthetic event `name`.
    pub(crate) fn synthetic(&self, name: &[u8]) -> Option<&Arc<CausedEvent>> {
        let is_it = |probe: &&Arc<Probe>| {
            let definition = probe.definition();
            definition.kind == ProbeKind::Synthetic && *definition.event == *name
        };
        self.set.iter().find(is_it)?.caused_event()
    }

    /// Returns an event probe that is armed but not linked, or linked but not armed.
    pub(crate) fn unlinked(&self) -> Option<Arc<Probe>> {
        if !self.attachments.is_any() {
            return None;
        }
        let is_unlinked = |probe: &&Arc<Probe>| {
            let is_armed = probe.is_armed();
            let mut all = probe.attachments().iter();
            all.any(|attachment| attachment.is_linked() != is_armed)
        };
        self.set.iter().find(is_unlinked).cloned()
    }

    /// Removes the plans of events that send to others. An action holds a reference to the event
    /// that it emits, maybe in a circle, which would never be freed. Without memory, a circle
    /// leaks.
    ///
    /// Context: process, may sleep.
    pub(super) fn cut_circles(&self) {
        let is_sent_to = |probe: &&Arc<Probe>| probe.caused_event().is_some();
        let count = self.set.iter().filter(is_sent_to).count();
        if count == 0 {
            return;
        }
        let (Ok(plan), Ok(mut replaced)) = (Plan::recording(None), ReplacedPlans::with_room(count))
        else {
            return;
        };
        for probe in self.set.iter().filter(is_sent_to) {
            probe.set_plan(plan.clone(), &mut replaced);
        }
    }

    /// Returns whether there are event probes.
    pub(crate) fn has_attachments(&self) -> bool {
        self.attachments.is_any()
    }
}

/// Returns the names for messages about `definition`, which attaches to the events `to`.
fn names(definition: &Definition, to: &[Arc<Event>]) -> Result<LayoutNames, Refusal> {
    if !to.is_empty() {
        let mut names = Vec::new();
        for event in to {
            if !names.is_empty() {
                names.extend_from_slice(b" -> ")?;
            }
            names.extend_from_slice(event.format.group.to_bytes())?;
            names.push(b'.')?;
            names.extend_from_slice(event.format.name.to_bytes())?;
        }
        return Ok(LayoutNames::Attached(names));
    }
    let mut types = Vec::new();
    for field in &definition.args {
        types.push(Vec::from_slice(&field.text)?)?;
    }
    Ok(LayoutNames::Types(types))
}

/// Returns the fields of `definition`, if it defines a synthetic event.
fn synthetic_fields(definition: &Definition) -> Result<Vec<SynthField>, Refusal> {
    let mut fields = Vec::new();
    if definition.kind != ProbeKind::Synthetic {
        return Ok(fields);
    }
    for spec in definition.args.iter().map(|arg| &arg.spec) {
        fields.push(SynthField {
            sort: match (spec.base.is_text(), spec.count) {
                (true, _) => ValueSort::Text,
                (false, Some(_)) => ValueSort::Stack,
                (false, None) => ValueSort::Number,
            },
            size: spec.base.size(),
            signed: spec.base.is_signed(),
        })?;
    }
    Ok(fields)
}
