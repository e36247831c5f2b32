// SPDX-License-Identifier: GPL-2.0

//! `per_cpu/cpuN`: the files of one CPU's ring.
//!
//! Every CPU that can ever be online has a ring and its files from the start.

use super::{
    buffer_size::CpuBufferSize,
    mode::{READ, READ_WRITE},
    raw::RawPipe,
    scope::{OneCpu, Scope},
    snapshot::Snapshot,
    snapshot_raw::SnapshotRaw,
    text::{SettingFile, Show, TextFile},
    trace::Trace,
    trace_pipe::TracePipe,
};
use crate::{
    buffer::{now_by, Side},
    engine::print::{Json, Text},
    instance::Instance,
    kapi::{
        clock::Clock,
        debugfs::{Dir, Entry},
        percpu::possible_cpus,
    },
    sys::Vec,
};
use core::fmt;
use kernel::{prelude::*, str::CString, sync::Arc};

/// The files of one CPU; removed when dropped.
pub(crate) struct CpuFiles {
    _trace: Entry<Trace>,
    _trace_pipe: Entry<TracePipe<Text>>,
    _trace_json: Entry<TracePipe<Json>>,
    _raw: Entry<RawPipe>,
    _snapshot: Entry<Snapshot>,
    _snapshot_raw: Entry<SnapshotRaw>,
    _stats: Entry<TextFile<StatsFile>>,
    _size: Entry<SettingFile<CpuBufferSize>>,
}

/// Makes the directories of all CPUs in `root`.
///
/// # Errors
///
/// As for [`Dir::new`] and [`Entry::new`].
pub(crate) fn make(instance: &Arc<Instance>, root: &Arc<Dir>) -> Result<Vec<CpuFiles>> {
    let above = Dir::new(c"per_cpu", Some(root.clone()))?;
    let mut files = Vec::new();
    for cpu in possible_cpus() {
        let name = CString::try_from_fmt(fmt!("cpu{cpu}"))?;
        let dir = Dir::new(&name, Some(above.clone()))?;
        let scope = Scope::new(instance, Side::Live, Some(cpu))?;
        let aside = Scope::new(instance, Side::Snapshot, Some(cpu))?;
        let instance = instance.clone();
        let one = Arc::new(OneCpu { instance, cpu }, GFP_KERNEL)?;
        files.push(CpuFiles {
            _trace: Entry::new(c"trace", READ_WRITE, &dir, scope.clone())?,
            _trace_pipe: Entry::new(c"trace_pipe", READ, &dir, scope.clone())?,
            _trace_json: Entry::new(c"trace_json", READ, &dir, scope)?,
            _raw: Entry::new(c"trace_pipe_raw", READ, &dir, one.clone())?,
            _snapshot: Entry::new(c"snapshot", READ_WRITE, &dir, aside)?,
            _snapshot_raw: Entry::new(c"snapshot_raw", READ, &dir, one.clone())?,
            _stats: Entry::new(c"stats", READ, &dir, one.clone())?,
            _size: Entry::new(c"buffer_size_kb", READ_WRITE, &dir, one)?,
        })?;
    }
    Ok(files)
}

/// `stats`.
pub(crate) struct StatsFile;

impl Show for StatsFile {
    type Data = OneCpu;

    fn show(one: &Arc<OneCpu>, out: &mut dyn fmt::Write) -> fmt::Result {
        let Some((stats, oldest)) = one.instance.buffer.stats(one.cpu) else {
            return Ok(());
        };
        writeln!(out, "entries: {}", stats.entries)?;
        writeln!(out, "overrun: {}", stats.overrun)?;
        writeln!(out, "commit overrun: {}", stats.commit_overrun)?;
        writeln!(out, "bytes: {}", stats.bytes)?;
        let clock = one.instance.buffer.clock();
        time(out, clock, "oldest event ts", oldest.unwrap_or(0))?;
        time(out, clock, "now ts", now_by(clock))?;
        writeln!(out, "dropped events: {}", stats.dropped)?;
        writeln!(out, "read events: {}", stats.read)?;
        // Not among the kernel's: it does not count these.
        writeln!(out, "too large events: {}", stats.too_large)
    }
}

/// A line with the time `ts` of `clock`; nanoseconds as seconds.
fn time(out: &mut dyn fmt::Write, clock: Clock, what: &str, ts: u64) -> fmt::Result {
    if !clock.is_nanoseconds() {
        return writeln!(out, "{what}: {ts}");
    }
    // Rounded, as in the lines of events.
    let micros = ts.saturating_add(500) / 1000;
    writeln!(
        out,
        "{what}: {:5}.{:06}",
        micros / 1_000_000,
        micros % 1_000_000
    )
}
