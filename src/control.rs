// SPDX-License-Identifier: GPL-2.0

//! The directory and its files: one source file for each file or family.

mod available_filter_functions;
mod available_tracepoints;
mod buffer_percent;
mod buffer_size;
mod clock_source;
mod enabled_functions;
mod error_log;
mod event_files;
mod filter;
mod functions;
mod group_filter;
mod headers;
mod hist;
mod hit_limit;
mod instances;
mod kprobe_events;
mod listing;
mod member;
mod mode;
mod options;
mod per_cpu;
mod placement;
mod private_events;
mod profile;
mod raw;
mod readme;
mod rejected;
mod saved_cmdlines;
mod scope;
mod set_event;
mod set_event_pid;
mod snapshot;
mod snapshot_raw;
mod stats;
mod switch;
mod syscall_user_buf_size;
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
    engine::{
        print::{Json, Text},
        record::{KERNEL_STACK, PRINT, RAW_DATA, USER_STACK},
    },
    events::event_file::InstanceId,
    instance::Instance,
    kapi::debugfs::{Dir, Entry, File},
    sys::Vec,
    tracer::Tracer,
};
pub(crate) use instances::Instances;
use kernel::{prelude::*, sync::Arc};
use member::Member;
use mode::{READ, READ_WRITE, WRITE};
use scope::Scope;
use switch::{Switch, Switched};
use text::{SettingFile, Show, Store, TextFile};

/// A file outside `events/GROUP`, `options` and `per_cpu`.
struct Row {
    /// Whether each instance has it, and not only the top directory.
    is_in_each: bool,
    directory: Directory,
    name: &'static CStr,
    mode: u16,
    make: Make,
}

/// Makes the file of a row in its directory.
type Make = fn(&Row, &Arc<Dir>, &Arc<Instance>) -> Result<KBox<dyn Made>>;

/// In which directory a file is.
#[derive(Clone, Copy)]
enum Directory {
    /// The directory of the instance.
    Root,
    /// `events`.
    Events,
    /// `events/ftrace/print`.
    Print,
    /// `events/ftrace/raw_data`.
    RawData,
    /// `events/ftrace/kernel_stack`.
    KernelStack,
    /// `events/ftrace/user_stack`.
    UserStack,
}

/// A file; removed when dropped.
trait Made: Send + Sync {}

impl<F: File> Made for Entry<F> {}

/// The files, in the order in which they are made.
#[rustfmt::skip]
const FILES: &[Row] = &[
    root(c"kprobe_events", READ_WRITE, setting::<kprobe_events::KprobeEvents>),
    root(c"dynamic_events", READ_WRITE, setting::<kprobe_events::KprobeEvents>),
    root(c"private_events", READ_WRITE, one::<private_events::PrivateEvents>),
    each(c"trace", READ_WRITE, live::<trace::Trace>),
    each(c"trace_pipe", READ, live::<trace_pipe::TracePipe<Text>>),
    each(c"trace_json", READ, live::<trace_pipe::TracePipe<Json>>),
    each(c"snapshot", READ_WRITE, aside::<snapshot::Snapshot>),
    each(c"trace_marker", WRITE, one::<trace_marker::TraceMarker<false>>),
    each(c"trace_marker_raw", WRITE, one::<trace_marker::TraceMarker<true>>),
    each(c"set_event", READ_WRITE, setting::<set_event::SetEvent>),
    each(c"set_event_pid", READ_WRITE, setting::<set_event_pid::SetEventPid<false>>),
    each(c"set_event_notrace_pid", READ_WRITE, setting::<set_event_pid::SetEventPid<true>>),
    root(c"available_events", READ, shown::<set_event::AvailableEvents>),
    root(c"available_tracepoints", READ, shown::<available_tracepoints::AvailableTracepoints>),
    root(c"available_filter_functions", READ, shown::<available_filter_functions::AvailableFunctions>),
    root(c"enabled_functions", READ, shown::<enabled_functions::EnabledFunctions>),
    each(c"current_tracer", READ_WRITE, setting::<tracers::Tracers>),
    each(c"available_tracers", READ, shown::<tracers::Tracers>),
    each(c"tracing_on", READ_WRITE, switched::<tracing_on::TracingOn>),
    root(c"kprobe_profile", READ, shown::<profile::Profile>),
    root(c"kprobe_stats", READ, shown::<stats::Stats>),
    root(c"syscall_stats", READ, shown::<stats::SyscallStats>),
    each(c"error_log", READ_WRITE, setting::<error_log::ErrorLogFile>),
    root(c"README", READ, shown::<readme::Readme>),
    each(c"buffer_size_kb", READ_WRITE, setting::<buffer_size::BufferSize>),
    each(c"buffer_subbuf_size_kb", READ_WRITE, setting::<buffer_size::SubBufferSize>),
    each(c"buffer_percent", READ_WRITE, setting::<buffer_percent::BufferPercent>),
    root(c"hit_limit", READ_WRITE, setting::<hit_limit::HitLimitFile>),
    root(c"syscall_user_buf_size", READ_WRITE, setting::<syscall_user_buf_size::SyscallUserBufSize>),
    each(c"tracing_cpumask", READ_WRITE, setting::<tracing_cpumask::TracingCpumask>),
    root(c"placement", READ_WRITE, setting::<placement::PlacementFile>),
    each(c"buffer_total_size_kb", READ, shown::<headers::BufferTotalSize>),
    each(c"trace_clock", READ_WRITE, setting::<trace_clock::TraceClock>),
    root(c"clock_source", READ, shown::<clock_source::ClockSource>),
    root(c"printk_formats", READ, shown::<headers::PrintkFormats>),
    root(c"saved_cmdlines", READ, shown::<saved_cmdlines::SavedCmdlines>),
    root(c"saved_cmdlines_size", READ, shown::<saved_cmdlines::SavedCmdlinesSize>),
    each(c"saved_tgids", READ, shown::<saved_cmdlines::SavedTgids>),
    each(c"trace_options", READ_WRITE, setting::<options::TraceOptions>),
    row(Directory::Events, c"enable", READ_WRITE, switched::<event_files::EnableAll>),
    row(Directory::Events, c"header_page", READ, shown::<headers::HeaderPage>),
    row(Directory::Events, c"header_event", READ, shown::<headers::HeaderEvent>),
    row(Directory::Print, c"format", READ, shown::<headers::BuiltinFormat<{ PRINT.id }>>),
    row(Directory::Print, c"trigger", READ_WRITE, of_marks::<SettingFile<trigger::TriggerFile>>),
    row(Directory::Print, c"hist", READ, of_marks::<hist::Polled<hist::HistFile>>),
    row(Directory::Print, c"hist_graph", READ, of_marks::<hist::Polled<hist::GraphFile>>),
    row(Directory::RawData, c"format", READ, shown::<headers::BuiltinFormat<{ RAW_DATA.id }>>),
    row(Directory::KernelStack, c"format", READ, shown::<headers::BuiltinFormat<{ KERNEL_STACK.id }>>),
    row(Directory::UserStack, c"format", READ, shown::<headers::BuiltinFormat<{ USER_STACK.id }>>),
];

const fn row(directory: Directory, name: &'static CStr, mode: u16, make: Make) -> Row {
    Row {
        is_in_each: true,
        directory,
        name,
        mode,
        make,
    }
}

const fn each(name: &'static CStr, mode: u16, make: Make) -> Row {
    row(Directory::Root, name, mode, make)
}

const fn root(name: &'static CStr, mode: u16, make: Make) -> Row {
    Row {
        is_in_each: false,
        ..each(name, mode, make)
    }
}

/// What a file outside `events/GROUP`, `options` and `per_cpu` is of.
trait Subject: Send + Sync {
    /// Returns the subject of the files of `instance`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn of(instance: &Arc<Instance>) -> Result<Arc<Self>>;
}

impl Subject for Instance {
    fn of(instance: &Arc<Instance>) -> Result<Arc<Self>> {
        Ok(instance.clone())
    }
}

impl Subject for Tracer {
    fn of(instance: &Arc<Instance>) -> Result<Arc<Self>> {
        Ok(instance.tracer.clone())
    }
}

/// Makes a file of any kind.
fn one<F: File<Data: Subject>>(
    row: &Row,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn Made>> {
    made::<F>(row, dir, Subject::of(instance)?)
}

/// Makes a file of the event of marks.
fn of_marks<F: File<Data = Member>>(
    row: &Row,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn Made>> {
    let event = &instance.marks.event;
    made::<F>(row, dir, Member::new(instance, event)?)
}

/// Makes a file that shows a text.
fn shown<S: Show<Data: Subject>>(
    row: &Row,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn Made>> {
    one::<TextFile<S>>(row, dir, instance)
}

/// Makes a file that shows a text and takes another.
fn setting<S: Store<Data: Subject>>(
    row: &Row,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn Made>> {
    one::<SettingFile<S>>(row, dir, instance)
}

/// Makes a file that shows and takes 0 or 1.
fn switched<S: Switched<Data: Subject>>(
    row: &Row,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn Made>> {
    one::<Switch<S>>(row, dir, instance)
}

/// Makes a file of the events that are recorded.
fn live<F: File<Data = Scope>>(
    row: &Row,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn Made>> {
    made::<F>(row, dir, Scope::new(instance, Side::Live, None)?)
}

/// Makes a file of the events of the snapshot.
fn aside<F: File<Data = Scope>>(
    row: &Row,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn Made>> {
    made::<F>(row, dir, Scope::new(instance, Side::Snapshot, None)?)
}

fn made<F: File>(row: &Row, dir: &Arc<Dir>, data: Arc<F::Data>) -> Result<KBox<dyn Made>> {
    let entry = Entry::<F>::new(row.name, row.mode, dir, data)?;
    let entry = KBox::new(entry, GFP_KERNEL)?;
    Ok(entry)
}

/// The files of an instance outside `events/GROUP`; they are removed when dropped.
pub(crate) struct Files {
    _files: Vec<KBox<dyn Made>>,
    _options: Vec<Entry<Switch<options::OneOption>>>,
    _cpus: Vec<per_cpu::CpuFiles>,
}

impl Files {
    /// Makes the files of `instance` in `root`, and gives the registry the directory `events`.
    ///
    /// # Errors
    ///
    /// As for [`Dir::new`] and [`Entry::new`].
    ///
    /// Context: process, may sleep.
    pub(crate) fn new(instance: &Arc<Instance>, root: &Arc<Dir>) -> Result<Self> {
        let is_top = instance.id == InstanceId::TOP;
        let events = Dir::new(c"events", Some(root.clone()))?;
        let ftrace = Dir::new(c"ftrace", Some(events.clone()))?;
        let print = Dir::new(c"print", Some(ftrace.clone()))?;
        let raw_data = Dir::new(c"raw_data", Some(ftrace.clone()))?;
        let kernel_stack = Dir::new(c"kernel_stack", Some(ftrace.clone()))?;
        let user_stack = Dir::new(c"user_stack", Some(ftrace))?;
        let mut files = Vec::new();
        for row in FILES.iter().filter(|row| is_top || row.is_in_each) {
            let dir = match row.directory {
                Directory::Root => root,
                Directory::Events => &events,
                Directory::Print => &print,
                Directory::RawData => &raw_data,
                Directory::KernelStack => &kernel_stack,
                Directory::UserStack => &user_stack,
            };
            files.push((row.make)(row, dir, instance)?)?;
        }
        let files = Self {
            _files: files,
            _options: options::make(instance, root)?,
            _cpus: per_cpu::make(instance, root)?,
        };
        let events = event_files::directory(instance, events)?;
        let mut registry = instance.tracer.registry.lock();
        registry.set_directory(instance.id, events)?;
        Ok(files)
    }
}

/// Makes the directory `ferroprobe`.
///
/// # Errors
///
/// As for [`Dir::new`].
///
/// Context: process, may sleep.
pub(crate) fn directory() -> Result<Arc<Dir>> {
    Dir::new(c"ferroprobe", None)
}
