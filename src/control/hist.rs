// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/EVENT/hist` and `hist_graph`: what the event's histograms have counted.

use super::{
    member::Member,
    rejected,
    text::{Show, Text},
};
use crate::{
    engine::{
        filter::Filter,
        hist::{Heading, Modifier, Names},
        print::SymbolNames,
        seq_buf::SeqBuf,
    },
    kapi::{
        debugfs::{File, OpenFile, FAILED, READABLE, URGENT},
        wake::PollTable,
    },
    print::KernelNames,
    sys::Vec,
};
use core::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// A file that shows histograms, and that tells by `poll` when they have changed.
pub(crate) struct Polled<S>(PhantomData<S>);

/// One opening.
pub(crate) struct Open<S: Show<Data = Member>> {
    text: Pin<KBox<Text<S>>>,
    /// The number of hits when the text was made; 0 before.
    read: AtomicU64,
    /// The number of hits when the text was made, or at the last `poll`, or when it was opened.
    polled: AtomicU64,
}

/// Returns the number of hits in all histograms of the event.
fn hits(member: &Member) -> u64 {
    let file = member.event().file(member.instance.id);
    let plan = file.map(|file| file.current_plan());
    let actions = plan.iter().flat_map(|plan| plan.actions());
    let histograms = actions.filter_map(|action| action.histogram());
    histograms.fold(0, |sum, histogram| sum.wrapping_add(histogram.hits()))
}

impl<S: Show<Data = Member>> File for Polled<S> {
    type Data = Member;
    type Open = Open<S>;

    fn open(member: ArcBorrow<'_, Member>, _file: &OpenFile) -> Result<Pin<KBox<Open<S>>>> {
        let member: Arc<Member> = member.into();
        let polled = AtomicU64::new(hits(&member));
        let open = Open {
            text: Text::open(member)?,
            read: AtomicU64::new(0),
            polled,
        };
        Ok(KBox::pin(open, GFP_KERNEL)?)
    }

    fn read(
        open: &Open<S>,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        if *offset == 0 {
            // Hits that are counted while the text is made are news.
            let hits = hits(&open.text.data);
            open.read.store(hits, Ordering::Relaxed);
            open.polled.store(hits, Ordering::Relaxed);
        }
        open.text.read(to, offset)
    }

    fn write(open: &Open<S>, file: &OpenFile, from: UserSliceReader) -> Result {
        rejected::read_only(&*open.text.data, file, from)
    }

    /// As in the kernel: it can be read once there are hits that were not read, and what is
    /// urgent are hits since the last call.
    fn poll<'open>(open: &'open Open<S>, file: &OpenFile, table: &PollTable<'open>) -> u32 {
        let member = &open.text.data;
        let instance = &member.instance;
        if !instance.tracer.registry.lock().has(&member.event()) {
            return FAILED;
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

/// The file `hist`.
pub(crate) struct HistFile;

/// The file `hist_graph`.
pub(crate) struct GraphFile;

impl Show for HistFile {
    type Data = Member;

    fn show(member: &Arc<Member>, out: &mut dyn fmt::Write) -> fmt::Result {
        show(member, out, false)
    }
}

impl Show for GraphFile {
    type Data = Member;

    fn show(member: &Arc<Member>, out: &mut dyn fmt::Write) -> fmt::Result {
        show(member, out, true)
    }
}

fn show(member: &Arc<Member>, out: &mut dyn fmt::Write, as_graph: bool) -> fmt::Result {
    let Some(file) = member.event().file(member.instance.id) else {
        return Ok(());
    };
    let plan = file.current_plan();
    let mut names = HistNames {
        symbols: KernelNames::new(),
        calls: Vec::new(),
    };
    let histograms = plan.actions().iter().filter_map(|action| {
        let filter = action.filter().map(Filter::text);
        Some((action.histogram()?, filter))
    });
    for (index, (histogram, filter)) in histograms.enumerate() {
        let mut keys = histogram.spec().keys.iter();
        if names.calls.is_empty() && keys.any(|key| key.modifier == Modifier::Syscall) {
            let mut registry = member.instance.tracer.registry.lock();
            names.calls = registry.call_names().map_err(|_| fmt::Error)?;
        }
        let snapshot = histogram.read().map_err(|_| fmt::Error)?;
        let heading = Heading {
            filter,
            is_paused: histogram.is_paused(),
            index,
        };
        if as_graph {
            snapshot.write_graph(out, heading, &mut names)?;
        } else {
            snapshot.write(out, heading, &mut names)?;
        }
    }
    Ok(())
}

/// The names that the kernel knows.
struct HistNames {
    symbols: KernelNames,
    /// The system calls by their numbers, ascending; empty before a histogram needs them.
    calls: Vec<(u32, Vec<u8>)>,
}

impl SymbolNames for HistNames {
    fn symbolize(&mut self, address: u64, with_offset: bool, buf: &mut SeqBuf<'_>) {
        self.symbols.symbolize(address, with_offset, buf);
    }
}

impl Names for HistNames {
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
