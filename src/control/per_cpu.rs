// SPDX-License-Identifier: GPL-2.0

//! `per_cpu/cpuN`: the files of one CPU's ring.
//!
//! Every CPU that can ever be online has a ring and files from the start.

use super::{
    buffer_size::CPU_BUFFER_SIZE,
    named::{file, folder, Described, READ, READ_WRITE},
    raw::RawPipe,
    scope::{OneCpu, Scope},
    snapshot::SnapshotFile,
    snapshot_raw::SnapshotRaw,
    text::TextOps,
    trace::Trace,
    trace_pipe::TracePipe,
};
use crate::{
    buffer::{now_by, Side},
    engine::print::{Json, PrintedText},
    instance::Instance,
    kapi::{
        clock::Clock,
        percpu::possible_cpus,
        tree::{Dir, TreeFile},
    },
    sys::Vec,
};
use core::fmt;
use kernel::{prelude::*, str::CString, sync::Arc};

pub(super) const DIRECTORY: Described = folder(c"per_cpu", "cpuN/: the files of one CPU");

const TRACE: Described = file(
    c"trace",
    READ_WRITE,
    "the events of one CPU, as those of all above",
);
const TRACE_PIPE: Described = file(c"trace_pipe", READ, "the same, consumed as it is read");
const TRACE_JSON: Described = file(c"trace_json", READ, "the same as JSON");
const TRACE_PIPE_RAW: Described = file(
    c"trace_pipe_raw",
    READ,
    "its sub-buffers in binary, consumed; can be mapped",
);
const SNAPSHOT: Described = file(c"snapshot", READ_WRITE, "what was set aside of one CPU");
const SNAPSHOT_RAW: Described = file(c"snapshot_raw", READ, "its sub-buffers in binary, consumed");
const STATS: Described = file(
    c"stats",
    READ,
    "how many events its buffer has, and has lost",
);
const BUFFER_SIZE: Described = file(c"buffer_size_kb", READ_WRITE, "KiB of its buffer");

/// The files of one CPU.
pub(super) const FILES: &[&Described] = &[
    &TRACE,
    &TRACE_PIPE,
    &TRACE_JSON,
    &TRACE_PIPE_RAW,
    &SNAPSHOT,
    &SNAPSHOT_RAW,
    &STATS,
    &BUFFER_SIZE,
];

/// Makes the directories of all CPUs in `root`, and returns their files.
///
/// # Errors
///
/// As for [`Dir::new`] and [`TreeFile::new`].
pub(crate) fn make(instance: &Arc<Instance>, root: &Arc<Dir>) -> Result<Vec<TreeFile>> {
    let above = Dir::new(DIRECTORY.name, Some(root.clone()))?;
    let mut files = Vec::new();
    for cpu in possible_cpus() {
        let name = CString::try_from_fmt(fmt!("cpu{cpu}"))?;
        let dir = Dir::new(&name, Some(above.clone()))?;
        let scope = Scope::new(instance, Side::Live, Some(cpu))?;
        let aside = Scope::new(instance, Side::Snapshot, Some(cpu))?;
        let instance = instance.clone();
        let one = Arc::new(OneCpu { instance, cpu }, GFP_KERNEL)?;
        files.push(TRACE.make::<Trace>(&dir, scope.clone())?)?;
        files.push(TRACE_PIPE.make::<TracePipe<PrintedText>>(&dir, scope.clone())?)?;
        files.push(TRACE_JSON.make::<TracePipe<Json>>(&dir, scope)?)?;
        files.push(TRACE_PIPE_RAW.make::<RawPipe>(&dir, one.clone())?)?;
        files.push(SNAPSHOT.make::<SnapshotFile>(&dir, aside)?)?;
        files.push(SNAPSHOT_RAW.make::<SnapshotRaw>(&dir, one.clone())?)?;
        files.push(STATS.text(&dir, &STATS_OPS, &one)?)?;
        files.push(BUFFER_SIZE.text(&dir, &CPU_BUFFER_SIZE, &one)?)?;
    }
    Ok(files)
}

pub(super) const STATS_OPS: TextOps<OneCpu> = TextOps::shows(show_stats);

fn show_stats(one: &Arc<OneCpu>, out: &mut dyn fmt::Write) -> fmt::Result {
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
    // Not in the kernel's file, which does not count these.
    writeln!(out, "too large events: {}", stats.too_large)
}

/// Writes a line with the time `ts` of `clock`; nanoseconds are shown as seconds.
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
