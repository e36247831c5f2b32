// SPDX-License-Identifier: GPL-2.0

//! The directory and its files: one source file for each file or family.

mod available_filter_functions;
mod available_tracepoints;
mod buffer_percent;
mod buffer_size;
mod call_string_size;
mod clock_source;
mod dump_on_oops;
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
mod named;
mod options;
mod pairs;
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
mod synthetic_events;
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
        print::{Json, PrintedText},
        record::{KERNEL_STACK, PRINT, RAW_DATA, USER_STACK},
    },
    events::event_file::InstanceId,
    instance::Instance,
    kapi::tree::{Dir, File, TreeFile},
    sys::Vec,
    tracer::Tracer,
};
use core::fmt;
pub(crate) use instances::InstancesDirectory;
use kernel::{prelude::*, sync::Arc};
use member::EventMember;
use named::{file, Described, READ, READ_WRITE, WRITE};
use scope::Scope;
use switch::{SwitchFile, Switched};
use text::{SettingFile, Show, TakesText, TextFile};

/// A file outside `events/GROUP`, `options` and `per_cpu`.
struct FileRow {
    /// Whether each instance has it, and not only the top directory.
    is_in_each: bool,
    directory: Folder,
    file: Described,
    make: Make,
}

/// Makes the file of a row in its directory.
type Make = fn(&FileRow, &Arc<Dir>, &Arc<Instance>) -> Result<KBox<dyn MadeFile>>;

/// In which directory a file is.
#[derive(Clone, Copy)]
enum Folder {
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

impl Folder {
    /// Returns the path before the names of its files.
    const fn path(self) -> &'static str {
        match self {
            Self::Root => "",
            Self::Events => "events/",
            Self::Print => "events/ftrace/print/",
            Self::RawData => "events/ftrace/raw_data/",
            Self::KernelStack => "events/ftrace/kernel_stack/",
            Self::UserStack => "events/ftrace/user_stack/",
        }
    }
}

/// A file; removed when dropped.
trait MadeFile: Send + Sync {}

impl<F: File> MadeFile for TreeFile<F> {}

/// The files, in the order in which they are made.
#[rustfmt::skip]
const FILES: &[FileRow] = &[
    root(file(c"kprobe_events", READ_WRITE, "Create/append/remove/show the kernel dynamic events"),
        setting::<kprobe_events::DefinedEvents<false>>),
    root(file(c"dynamic_events", READ_WRITE, "Create/append/remove/show the generic dynamic events"),
        setting::<kprobe_events::DefinedEvents<true>>),
    root(file(c"synthetic_events", READ_WRITE, "Create/append/remove/show synthetic events"),
        setting::<synthetic_events::SyntheticEvents>),
    root(file(c"private_events", READ_WRITE, "definitions that go when the file is closed"),
        one::<private_events::PrivateEvents>),
    each(file(c"trace", READ_WRITE, "the buffer as text; > clears it"),
        live::<trace::Trace>),
    each(file(c"trace_pipe", READ, "the same, consumed as it is read; waits for events"),
        live::<trace_pipe::TracePipe<PrintedText>>),
    each(file(c"trace_json", READ, "the same as JSON, one object a line"),
        live::<trace_pipe::TracePipe<Json>>),
    each(file(c"snapshot", READ_WRITE, "what was set aside: 1 sets the buffer aside, 0 frees that"),
        aside::<snapshot::SnapshotFile>),
    each(file(c"trace_marker", WRITE, "text that is written here goes to the buffer"),
        one::<trace_marker::TraceMarker<false>>),
    each(file(c"trace_marker_raw", WRITE, "so do bytes; the first four are a number for them"),
        one::<trace_marker::TraceMarker<true>>),
    each(file(c"set_event", READ_WRITE, "the enabled events; write names to enable, !names to disable\n\
         Can enable module events via: :mod:<module>"),
        setting::<set_event::SetEvent>),
    each(file(c"set_event_pid", READ_WRITE, "the tasks whose hits count, all if there is none"),
        setting::<set_event_pid::SetEventPid<false>>),
    each(file(c"set_event_notrace_pid", READ_WRITE, "the tasks whose hits do not count"),
        setting::<set_event_pid::SetEventPid<true>>),
    root(file(c"available_events", READ, "all events"),
        shown::<set_event::AvailableEvents>),
    root(file(c"available_tracepoints", READ, "the tracepoints, with their arguments"),
        shown::<available_tracepoints::AvailableTracepoints>),
    root(file(c"available_filter_functions", READ, "the functions that f events can probe"),
        shown::<available_filter_functions::AvailableFunctions>),
    root(file(c"enabled_functions", READ, "the functions of the enabled f events"),
        shown::<enabled_functions::EnabledFunctions>),
    each(file(c"current_tracer", READ_WRITE, "nop"),
        setting::<tracers::Tracers>),
    each(file(c"available_tracers", READ, "nop"),
        shown::<tracers::Tracers>),
    each(file(c"tracing_on", READ_WRITE, "1 or 0: record events or not"),
        switched::<tracing_on::TracingOn>),
    root(file(c"kprobe_profile", READ, "event, hits, misses of each probe"),
        shown::<profile::Profile>),
    root(file(c"kprobe_stats", READ, "place, hits and how they ended, for each probe"),
        shown::<stats::StatsText>),
    root(file(c"pairs", READ, "what became of the beginnings of pairs, and which are open"),
        shown::<pairs::Pairs>),
    root(file(c"syscall_stats", READ, "the same of the system calls' events, and 32-bit calls"),
        shown::<stats::SyscallStats>),
    each(file(c"error_log", READ_WRITE, "why the last writes to any file failed"),
        setting::<error_log::ErrorLogFile>),
    root(file(c"README", READ, "this text"),
        shown::<Readme>),
    each(file(c"buffer_size_kb", READ_WRITE, "KiB of each CPU's buffer; another size keeps the events\nthat fit into it"),
        setting::<buffer_size::BufferSize>),
    each(file(c"buffer_subbuf_size_kb", READ_WRITE, "KiB of a sub-buffer; another size clears the buffer"),
        setting::<buffer_size::SubBufferSize>),
    each(file(c"buffer_percent", READ_WRITE, "how full a buffer wakes who waits for trace_pipe_raw"),
        setting::<buffer_percent::BufferPercent>),
    root(file(c"hit_limit", READ_WRITE, "hits a second on a CPU above which an event is disabled"),
        setting::<hit_limit::HitLimitFile>),
    root(file(c"dump_on_oops", READ_WRITE, "1 prints the newest events when the kernel oopses or panics; 2 those of\nthat CPU; a second number says how many, 0 prints none"),
        setting::<dump_on_oops::DumpFile>),
    root(file(c"syscall_user_buf_size", READ_WRITE, "bytes of user memory that these record of an argument"),
        setting::<syscall_user_buf_size::SyscallUserBufSize>),
    root(file(c"call_string_size", READ_WRITE, "bytes of a string that events/calls record"),
        setting::<call_string_size::CallStringSize>),
    each(file(c"tracing_cpumask", READ_WRITE, "the CPUs that record, in hexadecimal"),
        setting::<tracing_cpumask::TracingCpumask>),
    root(file(c"placement", READ_WRITE, "write a symbol or address, read what can be probed there"),
        setting::<placement::PlacementFile>),
    each(file(c"buffer_total_size_kb", READ, "KiB of all"),
        shown::<headers::BufferTotalSize>),
    each(file(c"trace_clock", READ_WRITE, "the clocks, [the one in use]; another one clears the buffer"),
        setting::<trace_clock::TraceClock>),
    root(file(c"clock_source", READ, "what the clock local is taken from: counter or kernel"),
        shown::<clock_source::ClockSource>),
    root(file(c"printk_formats", READ, "nothing"),
        shown::<headers::PrintkFormats>),
    root(file(c"saved_cmdlines", READ, "number and name of tasks, of saved_cmdlines_size at most"),
        shown::<saved_cmdlines::SavedCmdlines>),
    root(file(c"saved_cmdlines_size", READ_WRITE, "how many names are kept of records that were read in binary"),
        setting::<saved_cmdlines::SavedCmdlinesSize>),
    each(file(c"saved_tgids", READ, "thread and process, of those that ran with record-tgid"),
        shown::<saved_cmdlines::SavedTgids>),
    each(file(c"trace_options", READ_WRITE, "the options, options/NAME one of them: 1 or 0"),
        setting::<options::TraceOptions>),
    row(Folder::Events, file(c"enable", READ_WRITE, "arm or disarm all events"),
        switched::<event_files::EnableAll>),
    row(Folder::Events, file(c"header_page", READ, "the layout of a sub-buffer"),
        shown::<headers::HeaderPage>),
    row(Folder::Events, file(c"header_event", READ, "the layout of an event in it"),
        shown::<headers::HeaderEvent>),
    row(Folder::Print, file(c"format", READ, "the fields of the event of trace_marker"),
        shown::<headers::BuiltinFormat<{ PRINT.id }>>),
    row(Folder::Print, file(c"trigger", READ_WRITE, "what else is done on a write to trace_marker"),
        of_marks::<SettingFile<trigger::TriggerFile>>),
    row(Folder::Print, file(c"hist", READ, "what its histograms have counted"),
        of_marks::<hist::HistFile<false>>),
    row(Folder::Print, file(c"hist_graph", READ, "the same as bars"),
        of_marks::<hist::HistFile<true>>),
    row(Folder::RawData, file(c"format", READ, "the fields of the event of trace_marker_raw"),
        shown::<headers::BuiltinFormat<{ RAW_DATA.id }>>),
    row(Folder::KernelStack, file(c"format", READ, "the fields of the stacks of the kernel"),
        shown::<headers::BuiltinFormat<{ KERNEL_STACK.id }>>),
    row(Folder::UserStack, file(c"format", READ, "the fields of the stacks of users"),
        shown::<headers::BuiltinFormat<{ USER_STACK.id }>>),
];

const fn row(directory: Folder, file: Described, make: Make) -> FileRow {
    FileRow {
        is_in_each: true,
        directory,
        file,
        make,
    }
}

const fn each(file: Described, make: Make) -> FileRow {
    row(Folder::Root, file, make)
}

const fn root(file: Described, make: Make) -> FileRow {
    FileRow {
        is_in_each: false,
        ..each(file, make)
    }
}

/// The other files and directories, with the path before their names.
const OTHERS: &[(&str, &[&Described])] = &[
    ("events/GROUP/", event_files::OF_GROUP),
    ("events/GROUP/EVENT/", event_files::OF_EVENT),
    ("", &[&options::DIRECTORY, &per_cpu::DIRECTORY]),
    ("per_cpu/cpuN/", per_cpu::FILES),
    ("", &[&instances::DIRECTORY]),
];

/// `README`.
struct Readme;

impl Show for Readme {
    type Data = Tracer;

    fn show(_tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str(readme::BEGINNING)?;
        for row in FILES {
            readme::line(out, row.directory.path(), &row.file)?;
        }
        for (path, files) in OTHERS {
            for file in *files {
                readme::line(out, path, file)?;
            }
        }
        readme::end(out)
    }
}

/// What a file outside `events/GROUP`, `options` and `per_cpu` is of.
trait FileSubject: Send + Sync {
    /// Returns the subject of the files of `instance`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn of(instance: &Arc<Instance>) -> Result<Arc<Self>>;
}

impl FileSubject for Instance {
    fn of(instance: &Arc<Instance>) -> Result<Arc<Self>> {
        Ok(instance.clone())
    }
}

impl FileSubject for Tracer {
    fn of(instance: &Arc<Instance>) -> Result<Arc<Self>> {
        Ok(instance.tracer.clone())
    }
}

/// Makes a file of any kind.
fn one<F: File<Data: FileSubject>>(
    row: &FileRow,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn MadeFile>> {
    made::<F>(row, dir, FileSubject::of(instance)?)
}

/// Makes a file of the event of marks.
fn of_marks<F: File<Data = EventMember>>(
    row: &FileRow,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn MadeFile>> {
    let event = &instance.marks.event;
    made::<F>(row, dir, EventMember::new(instance, event)?)
}

/// Makes a file that shows a text.
fn shown<S: Show<Data: FileSubject>>(
    row: &FileRow,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn MadeFile>> {
    one::<TextFile<S>>(row, dir, instance)
}

/// Makes a file that shows a text and takes another.
fn setting<S: TakesText<Data: FileSubject>>(
    row: &FileRow,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn MadeFile>> {
    one::<SettingFile<S>>(row, dir, instance)
}

/// Makes a file that shows and takes 0 or 1.
fn switched<S: Switched<Data: FileSubject>>(
    row: &FileRow,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn MadeFile>> {
    one::<SwitchFile<S>>(row, dir, instance)
}

/// Makes a file of the events that are recorded.
fn live<F: File<Data = Scope>>(
    row: &FileRow,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn MadeFile>> {
    made::<F>(row, dir, Scope::new(instance, Side::Live, None)?)
}

/// Makes a file of the events of the snapshot.
fn aside<F: File<Data = Scope>>(
    row: &FileRow,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<KBox<dyn MadeFile>> {
    made::<F>(row, dir, Scope::new(instance, Side::Snapshot, None)?)
}

fn made<F: File>(row: &FileRow, dir: &Arc<Dir>, data: Arc<F::Data>) -> Result<KBox<dyn MadeFile>> {
    let entry = row.file.make::<F>(dir, data)?;
    let entry = KBox::new(entry, GFP_KERNEL)?;
    Ok(entry)
}

/// The files of an instance outside `events/GROUP`; they are removed when dropped.
pub(crate) struct InstanceFiles {
    _files: Vec<KBox<dyn MadeFile>>,
    _options: Vec<TreeFile<SwitchFile<options::OneOption>>>,
    _cpus: Vec<per_cpu::CpuFiles>,
}

impl InstanceFiles {
    /// Makes the files of `instance` in `root`, and gives the registry the directory `events`.
    ///
    /// # Errors
    ///
    /// As for [`Dir::new`] and [`TreeFile::new`].
    ///
    /// Context: process, may sleep.
    #[inline(never)]
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
                Folder::Root => root,
                Folder::Events => &events,
                Folder::Print => &print,
                Folder::RawData => &raw_data,
                Folder::KernelStack => &kernel_stack,
                Folder::UserStack => &user_stack,
            };
            files.push((row.make)(row, dir, instance)?)?;
        }
        let files = Self {
            _files: files,
            _options: options::make(instance, root)?,
            _cpus: per_cpu::make(instance, root)?,
        };
        let events = event_files::directory(instance, events)?;
        let tracer = &instance.tracer;
        tracer.change(|registry, removed| registry.set_directory(instance.id, events, removed))?;
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
