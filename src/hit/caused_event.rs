// SPDX-License-Identifier: GPL-2.0

//! [`CausedEvent`]: serves the hits of a probe that another event causes.
//!
//! Numbers are read from the other event's sample when they are asked for. Texts are copied, so
//! that there is an address at which they can be read.

use crate::{
    engine::{
        hist::{EmittedValues, SynthField},
        program::{
            exec,
            fetch::{BegunField, FieldShape, FIRST_BEGUN, MAX_TEXTS, PAIR_DURATION},
        },
        record::Layout,
    },
    hit::{
        nesting::{Nesting, SentTexts},
        open_pairs::OpenPairs,
        recorder::Recorder,
        recorder_builder::RecorderBuilder,
        sample::{HitArgs, Sample, SentFields, SentHit},
        sinks::{HitSink, ValueSink},
        source::Source,
    },
    kapi::context::OnCpu,
    sys::Vec,
};
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use kernel::{prelude::*, sync::Arc};

/// What another event sends, as a source of hits. It is generic, so that calls are not indirect.
struct SentBy<'a, S>(&'a S);

impl<S> Clone for SentBy<'_, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for SentBy<'_, S> {}

impl<S: SentFields> Source for SentBy<'_, S> {
    #[inline(always)]
    fn sample(&self) -> Sample<'_> {
        Sample::of(HitArgs::Sent(self.0, self.0.hit().context))
    }

    #[inline(always)]
    fn is_plain(self) -> bool {
        self.0.hit().plain.is_plain()
    }
}

/// The fields of the event to which a probe is attached.
pub(crate) struct AttachedFields {
    /// Size and sign of each.
    shapes: Vec<FieldShape>,
    /// The indices of the text fields, which are copied.
    texts: Vec<u8>,
}

impl AttachedFields {
    /// The fields for a synthetic event, which is attached to no event.
    pub(crate) const NONE: Self = Self {
        shapes: Vec::new(),
        texts: Vec::new(),
    };

    /// Returns the fields of an event with `layout`; the fields with the indices `texts` are
    /// copied.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn of(layout: &Layout, texts: Vec<u8>) -> Result<Self> {
        let mut shapes = Vec::new();
        for field in &layout.fields {
            shapes.push(FieldShape::of(field.base))?;
        }
        Ok(Self { shapes, texts })
    }
}

/// Hits are served.
const ARMED: u8 = 1;
/// The program fetches only numbers that are sent, and reads no memory.
const READS_NO_MEMORY: u8 = 2;

/// Serves the hits of a probe that another event causes.
pub(crate) struct CausedEvent {
    recorder: Recorder,
    /// Whether it is [armed](ARMED), and whether its program [reads no memory](READS_NO_MEMORY).
    state: AtomicU8,
    fields: AttachedFields,
    /// The fields of a synthetic event.
    values: Vec<SynthField>,
    /// The number of actions that emit it.
    uses: AtomicUsize,
    /// Of a pair: where its beginnings are kept; armed together with it.
    open: Option<Arc<OpenPairs>>,
    nesting: Arc<Nesting>,
}

impl CausedEvent {
    /// Makes a caused event that is not armed.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        recorder: RecorderBuilder,
        (fields, values): (AttachedFields, Vec<SynthField>),
        open: Option<Arc<OpenPairs>>,
        nesting: Arc<Nesting>,
    ) -> Result<Arc<Self>> {
        let state = match recorder.reads_no_memory() && fields.texts.is_empty() {
            true => READS_NO_MEMORY,
            false => 0,
        };
        let caused_event = init!(Self {
            recorder <- recorder.init(),
            state: AtomicU8::new(state),
            fields,
            values,
            uses: AtomicUsize::new(0),
            open,
            nesting,
        });
        Arc::init(caused_event, GFP_KERNEL)
    }

    /// Returns the recorder of the hits.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Returns the fields of a synthetic event.
    pub(crate) fn fields(&self) -> &[SynthField] {
        &self.values
    }

    /// Returns whether actions emit it.
    pub(crate) fn is_used(&self) -> bool {
        self.uses.load(Ordering::Relaxed) != 0
    }

    /// Arms or disarms it.
    pub(crate) fn set_armed(&self, armed: bool) {
        match armed {
            true => self.state.fetch_or(ARMED, Ordering::Relaxed),
            false => self.state.fetch_and(!ARMED, Ordering::Relaxed),
        };
        if let Some(open) = &self.open {
            open.set_armed(armed);
        }
    }

    #[inline(always)]
    pub(super) fn is_armed(&self) -> bool {
        self.state.load(Ordering::Relaxed) & ARMED != 0
    }

    /// Returns whether it is armed, and its program reads no memory.
    #[inline(always)]
    pub(super) fn is_ready(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ARMED | READS_NO_MEMORY
    }

    /// Records a hit with the values of `sent`, if it is plain and the plan only records, so that
    /// it causes no other event. Otherwise returns false, with no effect. The caused event must be
    /// [ready](Self::is_ready).
    #[inline(always)]
    pub(super) fn records(&self, sent: &impl SentFields, here: &OnCpu) -> bool {
        self.recorder.records_sent(SentBy(sent), here)
    }

    /// Serves any hit with the values of `sent`, or counts it as missed.
    #[inline(never)]
    fn serve_any(&self, sent: &dyn SentFields, here: &OnCpu) {
        match self.nesting.enter(here) {
            Some(nested) => {
                self.serve_in(sent, here);
                nested.leave();
            }
            None => self.recorder.count_missed(here),
        }
    }

    #[inline(always)]
    fn serve_in(&self, sent: &dyn SentFields, here: &OnCpu) {
        let sent = DynSent(sent);
        let source = SentBy(&sent);
        if !self.recorder.serve_short::<false>(source, here).is_done() {
            source.serve_slow(&self.recorder, here);
        }
    }

    /// Serves `hit`, which an event has sent, with `fields`.
    #[inline(never)]
    pub(super) fn serve_hit(&self, hit: &SentHit<'_>, fields: &dyn SentFields, here: &OnCpu) {
        if !self.is_armed() {
            return;
        }
        match self.fields.texts.is_empty() {
            true => self.serve_any(fields, here),
            false => self.serve_with_texts(hit, fields, here),
        }
    }

    /// Returns the fields of a hit as numbers.
    #[inline(always)]
    pub(super) fn fields_of<'a>(&'a self, hit: &'a SentHit<'a>) -> FieldsOf<'a> {
        let caused_event = self;
        FieldsOf { caused_event, hit }
    }

    /// Serves a hit with copies of its texts.
    #[inline(never)]
    fn serve_with_texts(&self, hit: &SentHit<'_>, fields: &dyn SentFields, here: &OnCpu) {
        let served = self.nesting.enter(here).and_then(|nested| {
            let served = self.nesting.with_texts(here, |memory| {
                let texts = &self.copy_texts(hit, memory);
                let texts = texts.get(..self.fields.texts.len()).unwrap_or(texts);
                self.serve_in(&WithTexts { fields, texts }, here);
            });
            nested.leave();
            served
        });
        if served.is_none() {
            self.recorder.count_missed(here);
        }
    }

    /// Copies the texts of a hit to `rooms`, and returns the addresses of the copies.
    #[inline(never)]
    fn copy_texts(&self, hit: &SentHit<'_>, rooms: &mut SentTexts) -> TextAddresses {
        let mut texts = TextAddresses::default();
        for ((text, room), &index) in texts.iter_mut().zip(rooms).zip(&self.fields.texts) {
            let is_found = exec::copy_text(hit.program, index, hit.sample, room);
            // CAST: An address, at which a probe reads as at any other.
            let address = if is_found { room.as_ptr() as u64 } else { 0 };
            *text = (index, address);
        }
        texts
    }
}

/// Index and address of each copied text; the address is 0 if the text could not be read. Elements
/// behind the last text have no meaning.
type TextAddresses = [(u8, u64); MAX_TEXTS];

impl HitSink for Arc<CausedEvent> {
    fn receive_hit(&self, hit: &SentHit<'_>, here: &OnCpu) {
        let fields = self.fields_of(hit);
        let is_recorded = self.is_ready() && self.records(&fields, here);
        if !is_recorded {
            self.serve_hit(hit, &fields, here);
        }
    }
}

impl ValueSink for CausedEvent {
    fn count_use(&self, more: bool) {
        if more {
            self.uses.fetch_add(1, Ordering::Relaxed);
        } else {
            self.uses.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn receive_values(&self, values: EmittedValues<'_>, hit: &SentHit<'_>, here: &OnCpu) {
        let sent = SentValues { values, hit };
        let is_recorded = self.is_ready() && self.records(&sent, here);
        if !is_recorded && self.is_armed() {
            self.serve_any(&sent, here);
        }
    }
}

/// The fields of a hit, as numbers, by index.
pub(super) struct FieldsOf<'a> {
    caused_event: &'a CausedEvent,
    hit: &'a SentHit<'a>,
}

impl SentFields for FieldsOf<'_> {
    #[inline(always)]
    fn value(&self, index: u8) -> u64 {
        let &SentHit {
            program, sample, ..
        } = self.hit;
        let shape = self.caused_event.fields.shapes.get(usize::from(index));
        shape.map_or(0, |&shape| exec::field_value(program, index, shape, sample))
    }

    #[inline(always)]
    fn hit(&self) -> &SentHit<'_> {
        self.hit
    }
}

/// The fields of a hit that ends a pair, and what its beginning has left.
pub(super) struct EndFields<'a> {
    pub(super) end: FieldsOf<'a>,
    /// What the beginning has left, if anything.
    pub(super) left: Option<&'a Left<'a>>,
    /// How long the pair took, in nanoseconds.
    pub(super) duration: u64,
}

/// What the beginning of a pair has left.
pub(super) struct Left<'a> {
    pub(super) begun: &'a [BegunField],
    pub(super) words: &'a [u64],
}

impl Left<'_> {
    /// Returns the value of field `number` among those that the beginning has left.
    #[inline(never)]
    fn value(&self, number: u8) -> u64 {
        let field = self.begun.get(usize::from(number));
        let word = field.and_then(|field| self.words.get(usize::from(field.start)));
        match (field, word) {
            // CAST: An address, at which a probe reads as at any other.
            (Some(field), Some(word)) if field.is_text => core::ptr::from_ref(word) as u64,
            (_, word) => word.copied().unwrap_or(0),
        }
    }
}

impl SentFields for EndFields<'_> {
    #[inline(always)]
    fn value(&self, index: u8) -> u64 {
        match index {
            PAIR_DURATION => self.duration,
            FIRST_BEGUN.. => {
                let number = index.wrapping_sub(FIRST_BEGUN);
                self.left.map_or(0, |left| left.value(number))
            }
            _ => self.end.value(index),
        }
    }

    #[inline(always)]
    fn hit(&self) -> &SentHit<'_> {
        self.end.hit()
    }
}

/// The fields of a hit, of which some are texts.
struct WithTexts<'a> {
    fields: &'a dyn SentFields,
    texts: &'a [(u8, u64)],
}

impl SentFields for WithTexts<'_> {
    fn value(&self, index: u8) -> u64 {
        let mut texts = self.texts.iter();
        match texts.find(|(text, _)| *text == index) {
            Some((_, address)) => *address,
            None => self.fields.value(index),
        }
    }

    #[inline(always)]
    fn hit(&self) -> &SentHit<'_> {
        self.fields.hit()
    }
}

/// What an event sends, as a trait object: all kinds share one copy of the code that serves it.
struct DynSent<'a>(&'a dyn SentFields);

impl SentFields for DynSent<'_> {
    #[inline(always)]
    fn value(&self, index: u8) -> u64 {
        self.0.value(index)
    }

    #[inline(always)]
    fn hit(&self) -> &SentHit<'_> {
        self.0.hit()
    }
}

/// The values of a synthetic event.
struct SentValues<'a> {
    values: EmittedValues<'a>,
    /// The hit on which an action emits it.
    hit: &'a SentHit<'a>,
}

impl SentFields for SentValues<'_> {
    #[inline(always)]
    fn value(&self, index: u8) -> u64 {
        self.values.get(usize::from(index))
    }

    #[inline(always)]
    fn hit(&self) -> &SentHit<'_> {
        self.hit
    }
}
