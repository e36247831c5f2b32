// SPDX-License-Identifier: GPL-2.0

//! `events/GROUP/EVENT/hist` and `hist_graph`: what the event's histograms have counted.

use super::{member::Member, text::Show};
use crate::{
    engine::{
        filter::Filter,
        hist::{Heading, Modifier, Names},
        print::SymbolNames,
        seq_buf::SeqBuf,
    },
    print::KernelNames,
    sys::Vec,
};
use core::fmt;
use kernel::sync::Arc;

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
    let plan = member.event().file.current_plan();
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
