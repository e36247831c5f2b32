// SPDX-License-Identifier: GPL-2.0

//! The directory and its files: one source file for each file or family.

pub(crate) mod at_load;
mod available_filter_functions;
mod available_tracepoints;
mod buffer_percent;
mod buffer_size;
mod call_string_size;
mod clock_source;
mod dump_on_oops;
mod enable;
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
mod reset;
mod saved_cmdlines;
mod scope;
mod set_event;
mod set_event_pid;
mod snapshot;
mod snapshot_raw;
mod stats;
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
use hist::{HistData, HistFile};
pub(crate) use instances::InstancesDirectory;
use kernel::{prelude::*, sync::Arc};
use member::EventMember;
use named::{file, Described, READ, READ_WRITE, WRITE};
use scope::Scope;
use text::TextOps;
use FileKind::{OfInstance, OfMarks, OfTracer, Other};

/// A file outside `events/GROUP`, `options` and `per_cpu`.
struct FileRow {
    /// Whether each instance has it, and not only the top directory.
    is_in_each: bool,
    directory: Folder,
    file: Described,
    kind: FileKind,
}

/// What a file belongs to, and its operations.
enum FileKind {
    /// A text that all instances share.
    OfTracer(TextOps<Tracer>),
    OfInstance(TextOps<Instance>),
    OfMarks(TextOps<EventMember>),
    /// Another file, and the function that makes it.
    Other(fn(&Described, &Arc<Dir>, &Arc<Instance>) -> Result<TreeFile>),
}

/// The directory of a file.
#[derive(Clone, Copy)]
enum Folder {
    /// The directory of the instance.
    Root,
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
    /// Returns the path of the directory.
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

/// The files, in the order in which they are made.
#[rustfmt::skip]
const FILES: &[FileRow] = &[
    root(file(c"kprobe_events", READ_WRITE, "Create/append/remove/show the kernel dynamic events"),
        OfTracer(kprobe_events::KPROBE_EVENTS)),
    root(file(c"uprobe_events", READ_WRITE, "Create/append/remove/show the userspace dynamic events"),
        OfTracer(kprobe_events::UPROBE_EVENTS)),
    root(file(c"dynamic_events", READ_WRITE, "Create/append/remove/show the generic dynamic events"),
        OfTracer(kprobe_events::DYNAMIC_EVENTS)),
    root(file(c"synthetic_events", READ_WRITE, "Create/append/remove/show synthetic events"),
        OfTracer(synthetic_events::FILE)),
    root(file(c"private_events", READ_WRITE, "definitions that go when the file is closed"),
        Other(of_tracer::<private_events::PrivateEvents>)),
    each(file(c"trace", READ_WRITE, "the buffer as text; > clears it"),
        Other(live::<trace::Trace>)),
    each(file(c"trace_pipe", READ, "the same, consumed as it is read; waits for events"),
        Other(live::<trace_pipe::TracePipe<PrintedText>>)),
    each(file(c"trace_json", READ, "the same as JSON, one object a line"),
        Other(live::<trace_pipe::TracePipe<Json>>)),
    each(file(c"snapshot", READ_WRITE, "what was set aside: 1 sets the buffer aside, 0 frees that"),
        Other(aside::<snapshot::SnapshotFile>)),
    each(file(c"trace_marker", WRITE, "text that is written here goes to the buffer"),
        Other(of_instance::<trace_marker::TraceMarker<false>>)),
    each(file(c"trace_marker_raw", WRITE, "so do bytes; the first four are a number for them"),
        Other(of_instance::<trace_marker::TraceMarker<true>>)),
    each(file(c"set_event", READ_WRITE, "the enabled events; write names to enable, !names to disable\n\
         Can enable module events via: :mod:<module>"),
        OfInstance(set_event::SET_EVENT)),
    each(file(c"set_event_pid", READ_WRITE, "the tasks whose hits count, all if there is none"),
        OfInstance(set_event_pid::SET_EVENT_PID)),
    each(file(c"set_event_notrace_pid", READ_WRITE, "the tasks whose hits do not count"),
        OfInstance(set_event_pid::SET_EVENT_NOTRACE_PID)),
    root(file(c"available_events", READ, "all events"),
        OfInstance(set_event::AVAILABLE_EVENTS)),
    root(file(c"available_tracepoints", READ, "the tracepoints, with their arguments"),
        OfTracer(available_tracepoints::FILE)),
    root(file(c"available_filter_functions", READ, "the functions that f events can probe"),
        OfTracer(available_filter_functions::FILE)),
    root(file(c"enabled_functions", READ, "the functions of the enabled f events"),
        OfTracer(enabled_functions::FILE)),
    each(file(c"current_tracer", READ_WRITE, "nop"),
        OfInstance(tracers::CURRENT_TRACER)),
    each(file(c"available_tracers", READ, "nop"),
        OfInstance(tracers::AVAILABLE_TRACERS)),
    each(file(c"tracing_on", READ_WRITE, "1 or 0: record events or not"),
        OfInstance(tracing_on::FILE)),
    root(file(c"kprobe_profile", READ, "event, hits, misses of each probe"),
        OfTracer(profile::KPROBES)),
    root(file(c"uprobe_profile", READ, "file, event and hits of each probe of a program"),
        OfTracer(profile::UPROBES)),
    root(file(c"kprobe_stats", READ, "place, hits and how they ended, for each probe"),
        OfTracer(stats::KPROBE_STATS)),
    root(file(c"pairs", READ, "what became of the beginnings of pairs, and which are open"),
        OfTracer(pairs::FILE)),
    root(file(c"syscall_stats", READ, "the same of the system calls' events, and 32-bit calls"),
        OfTracer(stats::SYSCALL_STATS)),
    each(file(c"error_log", READ_WRITE, "why the last writes to any file failed"),
        OfTracer(error_log::FILE)),
    each(file(c"reset", READ_WRITE, "1 removes all events, filters and triggers, and resets the options;\nthen shows what was removed"),
        OfInstance(reset::FILE)),
    root(file(c"README", READ, "this text"),
        OfTracer(TextOps::shows(show_readme))),
    each(file(c"buffer_size_kb", READ_WRITE, "KiB of each CPU's buffer; another size keeps the events\nthat fit into it"),
        OfInstance(buffer_size::BUFFER_SIZE)),
    each(file(c"buffer_subbuf_size_kb", READ_WRITE, "KiB of a sub-buffer; another size clears the buffer"),
        OfInstance(buffer_size::SUB_BUFFER_SIZE)),
    each(file(c"buffer_percent", READ_WRITE, "how full a buffer wakes who waits for trace_pipe_raw"),
        OfInstance(buffer_percent::FILE)),
    root(file(c"hit_limit", READ_WRITE, "hits a second on a CPU above which an event is disabled"),
        OfTracer(hit_limit::FILE)),
    root(file(c"dump_on_oops", READ_WRITE, "1 prints the newest events when the kernel oopses or panics; 2 those of\nthat CPU; a second number says how many, 0 prints none"),
        OfTracer(dump_on_oops::FILE)),
    root(file(c"syscall_user_buf_size", READ_WRITE, "bytes of user memory that these record of an argument"),
        OfTracer(syscall_user_buf_size::FILE)),
    root(file(c"call_string_size", READ_WRITE, "bytes of a string that events/calls record"),
        OfTracer(call_string_size::FILE)),
    each(file(c"tracing_cpumask", READ_WRITE, "the CPUs that record, in hexadecimal"),
        OfInstance(tracing_cpumask::FILE)),
    root(file(c"placement", READ_WRITE, "write a symbol or address, read what can be probed there"),
        OfTracer(placement::FILE)),
    each(file(c"buffer_total_size_kb", READ, "KiB of all"),
        OfInstance(headers::BUFFER_TOTAL_SIZE)),
    each(file(c"trace_clock", READ_WRITE, "the clocks, [the one in use]; another one clears the buffer"),
        OfInstance(trace_clock::FILE)),
    root(file(c"clock_source", READ, "what the clock local is taken from: counter or kernel"),
        OfTracer(clock_source::FILE)),
    root(file(c"printk_formats", READ, "nothing"),
        OfInstance(headers::PRINTK_FORMATS)),
    root(file(c"saved_cmdlines", READ, "number and name of tasks, of saved_cmdlines_size at most"),
        OfTracer(saved_cmdlines::SAVED_CMDLINES)),
    root(file(c"saved_cmdlines_size", READ_WRITE, "how many names are kept of records that were read in binary"),
        OfInstance(saved_cmdlines::SAVED_CMDLINES_SIZE)),
    each(file(c"saved_tgids", READ, "thread and process, of those that ran with record-tgid"),
        OfInstance(saved_cmdlines::SAVED_TGIDS)),
    each(file(c"trace_options", READ_WRITE, "the options, options/NAME one of them: 1 or 0"),
        OfInstance(options::TRACE_OPTIONS)),
    row(Folder::Events, file(c"enable", READ_WRITE, "arm or disarm all events"),
        OfInstance(enable::OF_ALL)),
    row(Folder::Events, file(c"header_page", READ, "the layout of a sub-buffer"),
        OfInstance(headers::HEADER_PAGE)),
    row(Folder::Events, file(c"header_event", READ, "the layout of an event in it"),
        OfInstance(headers::HEADER_EVENT)),
    row(Folder::Print, file(c"format", READ, "the fields of the event of trace_marker"),
        OfInstance(headers::builtin_format::<{ PRINT.id }>())),
    row(Folder::Print, file(c"trigger", READ_WRITE, "what else is done on a write to trace_marker"),
        OfMarks(trigger::FILE)),
    row(Folder::Print, file(c"hist", READ, "what its histograms have counted"),
        Other(hist_of_marks::<false>)),
    row(Folder::Print, file(c"hist_graph", READ, "the same as bars"),
        Other(hist_of_marks::<true>)),
    row(Folder::RawData, file(c"format", READ, "the fields of the event of trace_marker_raw"),
        OfInstance(headers::builtin_format::<{ RAW_DATA.id }>())),
    row(Folder::KernelStack, file(c"format", READ, "the fields of the stacks of the kernel"),
        OfInstance(headers::builtin_format::<{ KERNEL_STACK.id }>())),
    row(Folder::UserStack, file(c"format", READ, "the fields of the stacks of users"),
        OfInstance(headers::builtin_format::<{ USER_STACK.id }>())),
];

const fn row(directory: Folder, file: Described, kind: FileKind) -> FileRow {
    FileRow {
        is_in_each: true,
        directory,
        file,
        kind,
    }
}

const fn each(file: Described, kind: FileKind) -> FileRow {
    row(Folder::Root, file, kind)
}

const fn root(file: Described, kind: FileKind) -> FileRow {
    FileRow {
        is_in_each: false,
        ..each(file, kind)
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

fn show_readme(_tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
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

impl FileRow {
    /// Makes the file in `dir`, for `instance`.
    fn make(&'static self, dir: &Arc<Dir>, instance: &Arc<Instance>) -> Result<TreeFile> {
        match &self.kind {
            OfTracer(ops) => self.file.text(dir, ops, &instance.tracer),
            OfInstance(ops) => self.file.text(dir, ops, instance),
            OfMarks(ops) => self.file.text(dir, ops, &marks(instance)?),
            Other(make) => make(&self.file, dir, instance),
        }
    }
}

/// Returns the event `print`, for its files.
fn marks(instance: &Arc<Instance>) -> Result<Arc<EventMember>> {
    EventMember::new(instance, &instance.marks.event)
}

/// Makes a file that shows the histograms of the event `print`.
fn hist_of_marks<const AS_GRAPH: bool>(
    file: &Described,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<TreeFile> {
    let data = HistData {
        member: marks(instance)?,
        as_graph: AS_GRAPH,
    };
    file.make::<HistFile>(dir, data)
}

/// Makes a file that all instances share.
fn of_tracer<F: File<Data = Arc<Tracer>>>(
    file: &Described,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<TreeFile> {
    file.make::<F>(dir, instance.tracer.clone())
}

/// Makes a file of an instance.
fn of_instance<F: File<Data = Arc<Instance>>>(
    file: &Described,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<TreeFile> {
    file.make::<F>(dir, instance.clone())
}

/// Makes a file for the events in the buffer.
fn live<F: File<Data = Arc<Scope>>>(
    file: &Described,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<TreeFile> {
    file.make::<F>(dir, Scope::new(instance, Side::Live, None)?)
}

/// Makes a file for the events in the snapshot.
fn aside<F: File<Data = Arc<Scope>>>(
    file: &Described,
    dir: &Arc<Dir>,
    instance: &Arc<Instance>,
) -> Result<TreeFile> {
    file.make::<F>(dir, Scope::new(instance, Side::Snapshot, None)?)
}

/// The files of an instance outside `events/GROUP`; they are removed when dropped.
pub(crate) struct InstanceFiles {
    _files: Vec<TreeFile>,
    _options: Vec<TreeFile>,
    _cpus: Vec<TreeFile>,
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
            files.push(row.make(dir, instance)?)?;
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
