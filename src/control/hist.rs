// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/EVENT/hist` and `hist_graph`: what the event's histograms have counted.
//!
//! The text is made as it is read, one entry after the other, from the counts at the first read.
//! Between two reads only the number of a histogram is kept: a slow reader keeps no removed
//! histogram alive.

use super::{member::EventMember, rejected::Logged, text};
use crate::{
    engine::{
        filter::Filter,
        hist::{Heading, Histogram, KeyNames, Modifier, Printing, Snapshot, Stop},
        print::SymbolNames,
        util::seq_buf::SeqBuf,
    },
    former_code::FormerCode,
    hit::{action::Action, plan::Plan},
    kapi::{
        context,
        tree::{File, OpenFile, ReadTo, FAILED, READABLE, URGENT},
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
    sync::{Arc, Mutex},
    uaccess::UserSliceReader,
};

/// Number of bytes of text that are made ahead of the reader.
const AHEAD: usize = 16 * 1024;

/// Replaces the rest of a histogram that is removed between two reads.
const REMOVED: &[u8] = b"# removed or cleared while it was read\n";

/// `hist` or `hist_graph`. `poll` reports when the histograms have changed.
pub(crate) struct HistFile;

/// The data of such a file.
pub(crate) struct HistData {
    /// The event whose histograms are shown.
    pub(super) member: Arc<EventMember>,
    /// Whether it is `hist_graph`.
    pub(super) as_graph: bool,
}

#[pin_data]
pub(crate) struct OpenHist {
    member: Arc<EventMember>,
    as_graph: bool,
    #[pin]
    pass: Mutex<Option<HistPass>>,
    /// The number of hits at the start of the text; 0 before.
    read: AtomicU64,
    /// The number of hits at the start of the text, at the last `poll`, or at the opening.
    polled: AtomicU64,
}

/// Returns the plan of the event.
fn plan(member: &EventMember) -> Option<Arc<Plan>> {
    let event = member.event();
    let file = event.and_then(|event| event.file(member.instance.id));
    file.map(|file| file.plan())
}

/// Returns the number of hits in all histograms of the event.
fn hits(member: &EventMember) -> u64 {
    let plan = plan(member);
    let actions = plan.iter().flat_map(|plan| plan.actions());
    let histograms = actions.filter_map(|action| action.counts());
    histograms.fold(0, |sum, histogram| sum.wrapping_add(histogram.hits()))
}

impl File for HistFile {
    type Data = HistData;
    type Open = OpenHist;

    fn open(data: &HistData, _file: &OpenFile) -> Result<Pin<KBox<OpenHist>>> {
        let polled = AtomicU64::new(hits(&data.member));
        KBox::pin_init(
            pin_init!(OpenHist {
                member: data.member.clone(),
                as_graph: data.as_graph,
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
        to: &mut ReadTo<'_>,
        offset: &mut i64,
    ) -> Result<usize> {
        if *offset == 0 {
            open.member.check()?;
            // Hits during the read count as new.
            let hits = hits(&open.member);
            open.read.store(hits, Ordering::Relaxed);
            open.polled.store(hits, Ordering::Relaxed);
        }
        open.read_text(to, offset)
    }

    fn write(open: &OpenHist, file: &OpenFile, from: UserSliceReader) -> Result {
        text::read_only(open.member.tracer(), file, from)
    }

    /// Returns, like the kernel, readable if there are unread hits, and urgent if there are hits
    /// since the last call.
    fn poll<'open>(open: &'open OpenHist, file: &OpenFile, table: &PollTable<'open>) -> u32 {
        let member = &open.member;
        let instance = &member.instance;
        if let Some(event) = member.event() {
            if !instance.tracer.registry.lock().instances.has(&event) {
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
    /// Reads at `offset` of the text, and advances it.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an offset before the beginning, `ENOMEM`, `EFAULT`; `EINTR` if the task is
    /// killed.
    fn read_text(&self, to: &mut ReadTo<'_>, offset: &mut i64) -> Result<usize> {
        let at = usize::try_from(*offset).map_err(|_| EINVAL)?;
        let mut guard = self.pass.lock();
        // A reader that seeks back sees the current counts.
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
            if !pass.fill(&self.member, self.as_graph)? {
                return Ok(0);
            }
        }
    }
}

/// The text of one pass over the histograms.
struct HistPass {
    /// The numbers of the event's histograms.
    histograms: Vec<u64>,
    /// The index of the current one.
    index: usize,
    /// Its text, once begun.
    printing: Option<Printing<()>>,
    names: HistNames,
    /// Text that is not yet read; it begins at `offset` of the file.
    text: Vec<u8>,
    offset: usize,
}

impl HistPass {
    fn new(member: &EventMember) -> Result<Self> {
        let mut histograms = Vec::new();
        let plan = plan(member);
        for action in plan.iter().flat_map(|plan| plan.actions()) {
            if let Some(histogram) = action.counts() {
                histograms.push(histogram.number())?;
            }
        }
        Ok(Self {
            histograms,
            index: 0,
            printing: None,
            names: HistNames {
                symbols: KernelNames::new(),
                former_code: member.instance.former_code.clone(),
                since: 0,
                calls: Vec::new(),
            },
            text: Vec::new(),
            offset: 0,
        })
    }

    /// Makes more text; returns false at the end.
    fn fill(&mut self, member: &EventMember, as_graph: bool) -> Result<bool> {
        while self.text.len() < AHEAD {
            let Some(&number) = self.histograms.get(self.index) else {
                break;
            };
            let plan = plan(member);
            let mut actions = plan.iter().flat_map(|plan| plan.actions());
            let is_it = |action: &&Arc<Action>| {
                let counts = action.counts();
                counts.is_some_and(|histogram| histogram.number() == number)
            };
            let is_done = match actions.find(is_it) {
                Some(action) => self.fill_of(action, member, as_graph)?,
                None => {
                    if self.printing.take().is_some() {
                        self.text.extend_from_slice(REMOVED)?;
                    }
                    true
                }
            };
            if is_done {
                self.index = self.index.saturating_add(1);
            }
        }
        Ok(!self.text.is_empty())
    }

    /// Makes more text of the histogram of `action`; returns whether it is complete.
    fn fill_of(&mut self, action: &Action, member: &EventMember, as_graph: bool) -> Result<bool> {
        let Some(histogram) = action.counts() else {
            return Ok(true);
        };
        let mut printing = match self.printing.take() {
            Some(printing) => printing.refer_by(&**histogram),
            None => {
                self.names.prepare_for(histogram, member)?;
                let snapshot = Snapshot::of(&**histogram);
                let printing = snapshot.and_then(|snapshot| Printing::new(snapshot, as_graph));
                printing.map_err(|stop| match stop {
                    Stop::NoMemory => ENOMEM,
                    Stop::Killed => EINTR,
                })?
            }
        };
        let heading = Heading {
            filter: action.filter().map(Filter::text),
            is_paused: histogram.is_paused(),
            index: self.index,
        };
        let mut is_done = Ok(false);
        while self.text.len() < AHEAD && matches!(is_done, Ok(false)) {
            is_done = match context::is_being_killed() {
                true => Err(EINTR),
                false => match printing.write_next(&mut self.text, heading, &mut self.names) {
                    Ok(more) => Ok(!more),
                    Err(_) => Err(ENOMEM),
                },
            };
        }
        if !matches!(is_done, Ok(true)) {
            self.printing = Some(printing.refer_by(()));
        }
        is_done
    }
}

/// The kernel's names, for a histogram.
struct HistNames {
    symbols: KernelNames,
    former_code: Arc<FormerCode>,
    /// When the histogram began, see [`Histogram::begin`].
    since: u64,
    /// The names of system calls by number, ascending; empty until needed.
    calls: Vec<(u32, Vec<u8>)>,
}

impl HistNames {
    /// Looks up the names that `histogram` needs.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn prepare_for(&mut self, histogram: &Histogram, member: &EventMember) -> Result {
        self.symbols.forget();
        self.since = histogram.since();
        let mut keys = histogram.spec().keys.iter();
        if self.calls.is_empty() && keys.any(|key| key.modifier == Modifier::Syscall) {
            let mut registry = member.instance.tracer.registry.lock();
            self.calls = registry.definitions.call_names()?;
        }
        Ok(())
    }
}

impl SymbolNames for HistNames {
    fn symbolize(&mut self, address: u64, with_offset: bool, buf: &mut SeqBuf<'_>) {
        let is_former = |address| self.former_code.in_histogram(self.since, address);
        self.symbols.put(address, with_offset, buf, &is_former);
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
