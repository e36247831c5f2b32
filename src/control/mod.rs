// SPDX-License-Identifier: GPL-2.0

//! The directory and its files: one source file for each file or family.

mod buffer_percent;
mod buffer_size;
mod error_log;
pub(crate) mod event_files;
pub(crate) mod filter;
mod group_filter;
mod headers;
mod hit_limit;
mod kprobe_events;
mod listing;
mod options;
mod per_cpu;
mod placement;
mod profile;
mod raw;
mod readme;
mod saved_cmdlines;
mod scope;
mod set_event;
mod snapshot;
mod snapshot_raw;
mod stats;
mod switch;
mod text;
mod trace;
mod trace_clock;
mod trace_marker;
mod trace_pipe;
mod tracers;
mod tracing_cpumask;
mod tracing_on;
mod trigger;

use crate::{
    buffer::Side,
    kapi::debugfs::{Dir, Entry},
    sys::Vec,
    tracer::Tracer,
};
use kernel::{prelude::*, sync::Arc};

/// Permissions of a file that is read and written.
const READ_WRITE: u16 = 0o600;
/// Permissions of a file that is only written.
const WRITE: u16 = 0o200;
/// Permissions of a file that is only read.
const READ: u16 = 0o400;

/// The files outside `events/GROUP`; they are removed when dropped.
pub(crate) struct Files {
    _kprobe_events: Entry<kprobe_events::KprobeEvents>,
    _dynamic_events: Entry<kprobe_events::KprobeEvents>,
    _trace: Entry<trace::Trace>,
    _trace_pipe: Entry<trace_pipe::TracePipe>,
    _snapshot: Entry<snapshot::Snapshot>,
    _trace_marker: Entry<trace_marker::TraceMarker>,
    _set_event: Entry<set_event::SetEvent>,
    _available_events: Entry<text::TextFile<set_event::AvailableEvents>>,
    _current_tracer: Entry<tracers::CurrentTracer>,
    _available_tracers: Entry<text::TextFile<tracers::Tracers>>,
    _tracing_on: Entry<switch::Switch<tracing_on::TracingOn>>,
    _profile: Entry<text::TextFile<profile::Profile>>,
    _stats: Entry<text::TextFile<stats::Stats>>,
    _error_log: Entry<error_log::ErrorLogFile>,
    _readme: Entry<text::TextFile<readme::Readme>>,
    _buffer_size: Entry<text::SettingFile<buffer_size::BufferSize>>,
    _sub_buffer_size: Entry<text::SettingFile<buffer_size::SubBufferSize>>,
    _buffer_percent: Entry<text::SettingFile<buffer_percent::BufferPercent>>,
    _hit_limit: Entry<text::SettingFile<hit_limit::HitLimitFile>>,
    _cpumask: Entry<text::SettingFile<tracing_cpumask::TracingCpumask>>,
    _placement: Entry<text::SettingFile<placement::PlacementFile>>,
    _enable: Entry<switch::Switch<event_files::EnableAll>>,
    _total_size: Entry<text::TextFile<headers::BufferTotalSize>>,
    _clock: Entry<text::SettingFile<trace_clock::TraceClock>>,
    _printk_formats: Entry<text::TextFile<headers::PrintkFormats>>,
    _saved_cmdlines: Entry<text::TextFile<saved_cmdlines::SavedCmdlines>>,
    _saved_cmdlines_size: Entry<text::TextFile<saved_cmdlines::SavedCmdlinesSize>>,
    _header_page: Entry<text::TextFile<headers::HeaderPage>>,
    _header_event: Entry<text::TextFile<headers::HeaderEvent>>,
    _print_format: Entry<text::TextFile<headers::PrintFormat>>,
    _trace_options: Entry<text::SettingFile<options::TraceOptions>>,
    _options: Vec<Entry<switch::Switch<options::OneOption>>>,
    _cpus: Vec<per_cpu::CpuFiles>,
}

impl Files {
    /// Makes the directory `ferroprobe` with its files, and gives the registry
    /// the directory `events`.
    ///
    /// # Errors
    ///
    /// As for [`Dir::new`] and [`Entry::new`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(tracer: &Arc<Tracer>) -> Result<Self> {
        let root = Dir::new(c"ferroprobe", None)?;
        let events = Dir::new(c"events", Some(root.clone()))?;
        let ftrace = Dir::new(c"ftrace", Some(events.clone()))?;
        let print = Dir::new(c"print", Some(ftrace))?;
        let of = || tracer.clone();
        let all = scope::Scope::new(tracer, Side::Live, None)?;
        let aside = scope::Scope::new(tracer, Side::Snapshot, None)?;
        let files = Self {
            _kprobe_events: Entry::new(c"kprobe_events", READ_WRITE, &root, of())?,
            _dynamic_events: Entry::new(c"dynamic_events", READ_WRITE, &root, of())?,
            _trace: Entry::new(c"trace", READ_WRITE, &root, all.clone())?,
            _trace_pipe: Entry::new(c"trace_pipe", READ, &root, all)?,
            _snapshot: Entry::new(c"snapshot", READ_WRITE, &root, aside)?,
            _trace_marker: Entry::new(c"trace_marker", WRITE, &root, of())?,
            _set_event: Entry::new(c"set_event", READ_WRITE, &root, of())?,
            _available_events: Entry::new(c"available_events", READ, &root, of())?,
            _current_tracer: Entry::new(c"current_tracer", READ_WRITE, &root, of())?,
            _available_tracers: Entry::new(c"available_tracers", READ, &root, of())?,
            _tracing_on: Entry::new(c"tracing_on", READ_WRITE, &root, of())?,
            _profile: Entry::new(c"kprobe_profile", READ, &root, of())?,
            _stats: Entry::new(c"kprobe_stats", READ, &root, of())?,
            _error_log: Entry::new(c"error_log", READ_WRITE, &root, of())?,
            _readme: Entry::new(c"README", READ, &root, of())?,
            _buffer_size: Entry::new(c"buffer_size_kb", READ_WRITE, &root, of())?,
            _sub_buffer_size: Entry::new(c"buffer_subbuf_size_kb", READ_WRITE, &root, of())?,
            _buffer_percent: Entry::new(c"buffer_percent", READ_WRITE, &root, of())?,
            _hit_limit: Entry::new(c"hit_limit", READ_WRITE, &root, of())?,
            _cpumask: Entry::new(c"tracing_cpumask", READ_WRITE, &root, of())?,
            _placement: Entry::new(c"placement", READ_WRITE, &root, of())?,
            _enable: Entry::new(c"enable", READ_WRITE, &events, of())?,
            _total_size: Entry::new(c"buffer_total_size_kb", READ, &root, of())?,
            _clock: Entry::new(c"trace_clock", READ_WRITE, &root, of())?,
            _printk_formats: Entry::new(c"printk_formats", READ, &root, of())?,
            _saved_cmdlines: Entry::new(c"saved_cmdlines", READ, &root, of())?,
            _saved_cmdlines_size: Entry::new(c"saved_cmdlines_size", READ, &root, of())?,
            _header_page: Entry::new(c"header_page", READ, &events, of())?,
            _header_event: Entry::new(c"header_event", READ, &events, of())?,
            _print_format: Entry::new(c"format", READ, &print, of())?,
            _trace_options: Entry::new(c"trace_options", READ_WRITE, &root, of())?,
            _options: options::make(tracer, &root)?,
            _cpus: per_cpu::make(tracer, &root)?,
        };
        tracer.registry.lock().set_directory(Some(events));
        Ok(files)
    }
}
