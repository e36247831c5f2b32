// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/EVENT/hist` and `hist_graph`: what the event's histograms have counted.
//!
//! The text is made as it is read, one entry after the other, from what had been counted at the
//! first read.

use super::{member::EventMember, rejected::Logged, text};
use crate::{
    engine::{
        filter::Filter,
        hist::{Heading, Histogram, KeyNames, Modifier, Printing, Snapshot, Stop},
        print::SymbolNames,
        seq_buf::SeqBuf,
        text::Appender,
    },
    hit::action::Action,
    kapi::{
        context,
        tree::{File, OpenFile, FAILED, READABLE, URGENT},
        wake::PollTable,
    },
    print::KernelNames,
    sys::Vec,
};
use core::{
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{Arc, ArcBorrow, Mutex},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// Bytes of text that are made ahead of the reader.
const AHEAD: usize = 16 * 1024;

/// One of the two files: `hist_graph` if `AS_GRAPH`. It tells by `poll` when the histograms have
/// changed.
pub(crate) struct HistFile<const AS_GRAPH: bool>;

/// One opening.
#[pin_data]
pub(crate) struct OpenHist {
    member: Arc<EventMember>,
    #[pin]
    pass: Mutex<Option<HistPass>>,
    /// The number of hits when the text was begun; 0 before.
    read: AtomicU64,
    /// The number of hits when the text was begun, or at the last `poll`, or when it was opened.
    polled: AtomicU64,
}

/// Returns the number of hits in all histograms of the event.
fn hits(member: &EventMember) -> u64 {
    let event = member.event();
    let file = event.and_then(|event| event.file(member.instance.id));
    let plan = file.map(|file| file.current_plan());
    let actions = plan.iter().flat_map(|plan| plan.actions());
    let histograms = actions.filter_map(|action| action.counts());
    histograms.fold(0, |sum, histogram| sum.wrapping_add(histogram.hits()))
}

impl<const AS_GRAPH: bool> File for HistFile<AS_GRAPH> {
    type Data = EventMember;
    type Open = OpenHist;

    fn open(member: ArcBorrow<'_, EventMember>, _file: &OpenFile) -> Result<Pin<KBox<OpenHist>>> {
        let member: Arc<EventMember> = member.into();
        let polled = AtomicU64::new(hits(&member));
        KBox::pin_init(
            pin_init!(OpenHist {
                member,
                pass <- new_mutex!(None),
                read: AtomicU64::new(0),
                polled,
            }),
            GFP_KERNEL,
        )
    }

    fn read(
        open: &OpenHist,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        if *offset == 0 {
            open.member.check()?;
            // Hits that are counted while the text is made are news.
            let hits = hits(&open.member);
            open.read.store(hits, Ordering::Relaxed);
            open.polled.store(hits, Ordering::Relaxed);
        }
        open.read_text(AS_GRAPH, to, offset)
    }

    fn write(open: &OpenHist, file: &OpenFile, from: UserSliceReader) -> Result {
        text::read_only(&*open.member, file, from)
    }

    /// As in the kernel: it can be read once there are hits that were not read, and what is
    /// urgent are hits since the last call.
    fn poll<'open>(open: &'open OpenHist, file: &OpenFile, table: &PollTable<'open>) -> u32 {
        let member = &open.member;
        let instance = &member.instance;
        if let Some(event) = member.event() {
            if !instance.tracer.registry.lock().has(&event) {
                return FAILED;
            }
        }
        instance.counted.register(file, table);
        let hits = hits(member);
        let mut events = 0;
        if open.read.load(Ordering::Relaxed) != hits {
            events |= READABLE;
        }
        if open.polled.swap(hits, Ordering::Relaxed) != hits {
            events |= URGENT;
        }
        events
    }
}

impl OpenHist {
    /// Reads at `offset` of the text, and moves it.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an offset before the beginning, `ENOMEM`, `EFAULT`; `EINTR` if the task is
    /// killed.
    fn read_text(
        &self,
        as_graph: bool,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        let at = usize::try_from(*offset).map_err(|_| EINVAL)?;
        let mut guard = self.pass.lock();
        // A reader that goes back sees what has been counted by now.
        if at == 0 || guard.as_ref().is_some_and(|pass| at < pass.offset) {
            *guard = None;
        }
        let pass = match &mut *guard {
            Some(pass) => pass,
            empty => empty.insert(HistPass::new(&self.member)?),
        };
        loop {
            let skip = at.saturating_sub(pass.offset);
            let rest = pass.text.get(skip..).unwrap_or_default();
            if !rest.is_empty() {
                let length = rest.len().min(to.len());
                to.write_slice(rest.get(..length).unwrap_or_default())?;
                // CAST: A length in memory.
                *offset = offset.wrapping_add(length as i64);
                return Ok(length);
            }
            pass.offset = pass.offset.saturating_add(pass.text.len());
            pass.text.clear();
            if !pass.fill(&self.member, as_graph)? {
                return Ok(0);
            }
        }
    }
}

/// The text of one pass over the histograms.
struct HistPass {
    /// The histograms of the event, with the triggers that count in them.
    histograms: Vec<(Arc<Histogram>, Arc<Action>)>,
    /// The index of the one whose text is made.
    index: usize,
    /// Its text, once that has begun.
    printing: Option<Printing<Arc<Histogram>>>,
    names: HistNames,
    /// Text that is made and not yet read; it begins at `offset` of the file.
    text: Vec<u8>,
    offset: usize,
}

impl HistPass {
    fn new(member: &EventMember) -> Result<Self> {
        let mut histograms = Vec::new();
        let event = member.event();
        let file = event.and_then(|event| event.file(member.instance.id));
        let plan = file.map(|file| file.current_plan());
        for action in plan.iter().flat_map(|plan| plan.actions()) {
            if let Some(histogram) = action.counts() {
                histograms.push((histogram.clone(), action.clone()))?;
            }
        }
        Ok(Self {
            histograms,
            index: 0,
            printing: None,
            names: HistNames {
                symbols: KernelNames::new(),
                calls: Vec::new(),
            },
            text: Vec::new(),
            offset: 0,
        })
    }

    /// Makes more text; returns false at the end.
    fn fill(&mut self, member: &EventMember, as_graph: bool) -> Result<bool> {
        while self.text.len() < AHEAD {
            let Some((histogram, action)) = self.histograms.get(self.index) else {
                break;
            };
            if context::is_being_killed() {
                return Err(EINTR);
            }
            let printing = match &mut self.printing {
                Some(printing) => printing,
                empty => {
                    self.names.prepare_for(histogram, member)?;
                    let printing = Snapshot::of(histogram.clone())
                        .and_then(|snapshot| Printing::new(snapshot, as_graph));
                    empty.insert(printing.map_err(|stop| match stop {
                        Stop::NoMemory => ENOMEM,
                        Stop::Killed => EINTR,
                    })?)
                }
            };
            let heading = Heading {
                filter: action.filter().map(Filter::text),
                is_paused: histogram.is_paused(),
                index: self.index,
            };
            let mut out = Appender(&mut self.text);
            let written = printing.write_next(&mut out, heading, &mut self.names);
            if !written.map_err(|_| ENOMEM)? {
                self.printing = None;
                self.index = self.index.saturating_add(1);
            }
        }
        Ok(!self.text.is_empty())
    }
}

/// The names that the kernel knows.
struct HistNames {
    symbols: KernelNames,
    /// The system calls by their numbers, ascending; empty before a histogram needs them.
    calls: Vec<(u32, Vec<u8>)>,
}

impl HistNames {
    /// Learns the names that `histogram` needs.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn prepare_for(&mut self, histogram: &Histogram, member: &EventMember) -> Result {
        let mut keys = histogram.spec().keys.iter();
        if self.calls.is_empty() && keys.any(|key| key.modifier == Modifier::Syscall) {
            let mut registry = member.instance.tracer.registry.lock();
            self.calls = registry.call_names()?;
        }
        Ok(())
    }
}

impl SymbolNames for HistNames {
    fn symbolize(&mut self, address: u64, with_offset: bool, buf: &mut SeqBuf<'_>) {
        self.symbols.symbolize(address, with_offset, buf);
    }
}

impl KeyNames for HistNames {
    fn syscall(&mut self, number: u64, buf: &mut SeqBuf<'_>) -> bool {
        let search = |(each, _): &(u32, Vec<u8>)| u64::from(*each).cmp(&number);
        let found = self.calls.binary_search_by(search);
        let name = found.ok().and_then(|index| self.calls.get(index));
        if let Some((_, name)) = name {
            buf.bytes(name);
        }
        name.is_some()
    }
}
