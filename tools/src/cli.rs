// SPDX-License-Identifier: GPL-2.0

//! The commands and what they are told.

mod graph;
mod pictures;
mod prepare;
mod top;
mod trace;

use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use ferroprobe_tools::data::Data;
use ferroprobe_tools::debug::{Debug, Sections};
use ferroprobe_tools::define::{self, Definitions, Request};
use ferroprobe_tools::doctor::Machine;
use ferroprobe_tools::error::{Refusal, Result};
use ferroprobe_tools::find::{self, Wanted};
use ferroprobe_tools::image::Image;
use ferroprobe_tools::index::cache;
use ferroprobe_tools::lines;
use ferroprobe_tools::points;
use ferroprobe_tools::session::Session;
use ferroprobe_tools::target::Target;
use ferroprobe_tools::trace::directory::Directory;
use ferroprobe_tools::trace::{command, instance};
use ferroprobe_tools::{refuse, tree, vars};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Trace the kernel: define probes, follow, count and draw what they record
#[derive(Parser)]
#[command(name = "ferroprobe", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Trace: define, enable and follow, and leave nothing behind
    Trace(trace::TraceArgs),
    /// Count: a live view of what is hit most, takes longest or fails
    Top(top::TopArgs),
    /// Show the calls below a function as a tree, with their times and errors
    Graph(graph::GraphArgs),
    /// Show a function or a file, with a number before each line that can be probed
    Lines {
        #[command(flatten)]
        file: FileArgs,
        /// Folder of the source files
        #[arg(long, value_name = "DIR")]
        source: Option<PathBuf>,
        /// FUNCTION[@FILE][:LINE] or FILE[:LINE]
        target: String,
    },
    /// Show the variables of a line: where each is, and on which lines
    Vars {
        #[command(flatten)]
        file: FileArgs,
        /// FUNCTION[@FILE][:LINE], FUNCTION%inlined or FILE:LINE
        target: String,
    },
    /// Print the definitions of an event on a line, with variables
    Define {
        #[command(flatten)]
        file: FileArgs,
        /// Name of the event, default: after the target
        #[arg(long, short, value_name = "[GROUP/]NAME")]
        event: Option<String>,
        /// Leave out locations where a variable cannot be fetched
        #[arg(long)]
        skip: bool,
        /// Take lines whose address jumps may lead to without running them
        #[arg(long)]
        shared: bool,
        /// Append the definitions to DIR/kprobe_events
        #[arg(
            long,
            short,
            value_name = "DIR",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "/sys/kernel/debug/ferroprobe"
        )]
        write: Option<PathBuf>,
        /// TARGET [[NAME=]VARIABLE[->MEMBER|.MEMBER|[NUMBER]]...[:TYPE]]...
        #[arg(required = true, value_name = "DEFINITION")]
        definition: Vec<String>,
    },
    /// List the static points (USDT) of a program or library
    Points {
        /// The program
        file: PathBuf,
    },
    /// Draw the stacks of a hist file or of a trace as a flame graph
    Flame {
        /// Value of a histogram that stacks count for, default: hitcount
        #[arg(long, value_name = "NAME")]
        value: Option<String>,
        /// Title of the picture
        #[arg(long, default_value = "Stacks")]
        title: String,
        /// Write the picture to a file, default: the standard output
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The hist file or trace; - is the standard input
        file: PathBuf,
    },
    /// Draw a histogram: bars, or a heat map of two keys or over time
    Hist {
        /// What counts in a hist file, default: hitcount
        #[arg(long, value_name = "NAME", conflicts_with = "field")]
        value: Option<String>,
        /// Draw this number of the events of a trace_json over time
        #[arg(long, value_name = "NAME")]
        field: Option<String>,
        /// Only of these events
        #[arg(long, value_name = "[GROUP/]NAME", requires = "field")]
        event: Option<String>,
        /// Title of the picture
        #[arg(long, default_value = "Histogram")]
        title: String,
        /// Write the picture to a file, default: the standard output
        #[arg(long, short = 'o', visible_alias = "output", value_name = "FILE")]
        svg: Option<PathBuf>,
        /// A hist file, several readings of one, or with --field a trace_json; - is the standard
        /// input
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Show the calls in a trace_json as a tree, with their times and values
    Tree {
        /// The argument that is how many nanoseconds a call took
        #[arg(long, value_name = "NAME", default_value = "duration")]
        duration: String,
        /// Only calls of this function, or events of this name, and what is inside of them
        #[arg(long, value_name = "NAME")]
        below: Option<String>,
        /// Only so many levels
        #[arg(long, value_name = "NUMBER")]
        levels: Option<usize>,
        /// Only what failed: where this argument is an error, or is one inside of a call
        #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true,
            default_missing_value = "ret")]
        failed: Option<String>,
        /// What trace_json had; - is the standard input
        file: PathBuf,
    },
    /// Write a trace_json as a file for Perfetto or the Firefox Profiler
    Convert {
        /// For which of them
        #[arg(long, value_enum)]
        to: pictures::Viewer,
        /// The argument that is how many nanoseconds an event took
        #[arg(long, value_name = "NAME", default_value = "duration")]
        duration: String,
        /// Write to a file, default: the standard output
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// What trace_json had; - is the standard input
        file: PathBuf,
    },
    /// Keep an instance while the standard input is open
    #[command(hide = true)]
    TraceKeeper {
        /// The instance
        path: PathBuf,
    },
    /// Wait at a gate, and become a command
    #[command(hide = true)]
    TraceGate {
        /// The gate
        gate: PathBuf,
        /// The command
        #[arg(trailing_var_arg = true)]
        words: Vec<std::ffi::OsString>,
    },
    /// Remove all events, filters and triggers, set the options as after loading, and say which
    Reset {
        /// Only those of this instance
        #[arg(value_name = "INSTANCE")]
        instance: Option<PathBuf>,
        /// The directory of ferroprobe, default: where the kernel shows it
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Say what this kernel and machine can do, and what to do about the rest
    Doctor,
    /// Print the completions of a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Write manual pages to a folder
    Man {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// Which kernel or module.
#[derive(Args)]
struct FileArgs {
    /// The kernel with its debug information, default: found by the build-id of the running one
    #[arg(long, short = 'k', value_name = "FILE")]
    vmlinux: Option<PathBuf>,
    /// A module, by name or as a file with debug information
    #[arg(long, short, value_name = "MODULE", conflicts_with = "vmlinux")]
    module: Option<String>,
    /// Folder to look for debug information in, default: /usr/lib/debug
    #[arg(long, value_name = "DIR")]
    debug_dir: Option<PathBuf>,
    /// Take a file that is not the running kernel's: the definitions are for another machine
    #[arg(long)]
    other: bool,
}

impl FileArgs {
    /// Finds and reads the file, and calls `work` with it.
    fn with<T>(&self, work: impl FnOnce(&Session<'_>) -> Result<T>) -> Result<T> {
        let wanted = Wanted {
            vmlinux: self.vmlinux.as_deref(),
            module: self.module.as_deref(),
            debug_dir: self.debug_dir.as_deref(),
            other: self.other,
        };
        let path = find::debug_file(&wanted)?;
        let about = |refusal: Refusal| refusal.about(path.display());
        let data = Data::open(&path)?;
        let image = Image::parse(&data).map_err(about)?;
        let sections = Sections::load(&image).map_err(about)?;
        let debug = Debug::new(&sections, &path).map_err(about)?;
        let build_id = image.build_id();
        let index = cache::open(&debug, build_id.as_deref(), data.len()).map_err(about)?;
        work(&Session::new(&image, &debug, index))
    }

    /// The name of the module, of which definitions are to be.
    fn module_name(&self, image: &Image<'_>) -> Result<Option<String>> {
        let Some(given) = &self.module else {
            return match image.is_module() {
                true => refuse!("it is a module: give it with --module"),
                false => Ok(None),
            };
        };
        let path = Path::new(given);
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .replace('-', "_");
        Ok(Some(image.module_name().unwrap_or(name)))
    }
}

/// Prints to the standard output; a reader that has seen enough is no error.
fn print(text: &str) -> Result<ExitCode> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

pub(crate) fn run() -> Result<ExitCode> {
    let (line, rest) = prepare::split(std::env::args_os().collect());
    match Cli::parse_from(line).command {
        Command::Trace(args) => trace::run(args, rest),
        Command::Top(args) => top::run(args, rest),
        Command::Graph(args) => graph::run(args, rest),
        Command::TraceKeeper { path } => {
            instance::keep(&path)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::TraceGate { gate, words } => {
            Ok(ExitCode::from(command::wait_and_become(&gate, &words)))
        }
        Command::Points { file } => print(&points::text(&file)?),
        Command::Lines {
            file,
            source,
            target,
        } => {
            let target = Target::parse(&target)?;
            let text =
                file.with(|session| lines::list::text(session, &target, source.as_deref()))?;
            print(&text)
        }
        Command::Vars { file, target } => {
            let target = Target::parse(&target)?;
            let text = file.with(|session| {
                let module = file.module_name(session.image)?;
                vars::text(session, &target, module)
            })?;
            print(&text)
        }
        Command::Define {
            file,
            event,
            skip,
            shared,
            write,
            definition,
        } => {
            let mut request = Request::parse(&definition.join(" "))?;
            request.shared = shared;
            let all = file.with(|session| {
                let module = file.module_name(session.image)?;
                define::definitions(session, &request, event.as_deref(), module)
            })?;
            give(&all, skip, write)
        }
        Command::Flame {
            value,
            title,
            output,
            file,
        } => pictures::flame(&file, value.as_deref(), &title, output.as_deref()),
        Command::Hist {
            value,
            field,
            event,
            title,
            svg,
            files,
        } => {
            let chart = match field {
                Some(field) => pictures::over_time(&files, &field, event.as_deref())?,
                None => pictures::histogram(&files, value.as_deref().unwrap_or("hitcount"))?,
            };
            pictures::draw(&chart, &title, svg.as_deref())
        }
        Command::Tree {
            duration,
            below,
            levels,
            failed,
            file,
        } => {
            let wanted = tree::Wanted {
                duration: &duration,
                below: below.as_deref(),
                levels,
                failed: failed.as_deref(),
            };
            pictures::tree(&file, &wanted)
        }
        Command::Convert {
            to,
            duration,
            output,
            file,
        } => pictures::convert(to, &duration, &file, output.as_deref()),
        Command::Reset { instance, dir } => {
            let directory = Directory::find(dir.as_deref())?;
            let file = match instance {
                Some(name) => Path::new("instances").join(name).join("reset"),
                None => "reset".into(),
            };
            directory.set(&file, "1")?;
            print(&directory.read(&file)?)
        }
        Command::Doctor => {
            let machine = Machine { root: "/".into() };
            let (text, works) = machine.report();
            print(&text)?;
            Ok(if works {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            })
        }
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "ferroprobe", &mut text);
            print(&String::from_utf8_lossy(&text))
        }
        Command::Man { folder } => {
            let written = clap_mangen::generate_to(Cli::command(), &folder);
            written.map_err(|error| Refusal::from(error).about(folder.display()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Prints or writes definitions, all or, with `skip`, those that there are.
fn give(all: &Definitions, skip: bool, write: Option<PathBuf>) -> Result<ExitCode> {
    /// More refusals say nothing new.
    const SHOWN: usize = 10;

    for refused in all.refused.iter().take(SHOWN) {
        eprintln!("ferroprobe: {refused}");
    }
    let (bad, good) = (all.refused.len(), all.lines.len());
    if bad > SHOWN {
        eprintln!("ferroprobe: and {} more", bad - SHOWN);
    }
    if all.gone > 0 {
        eprintln!(
            "ferroprobe: left out {} in code that is only run at boot",
            all.gone
        );
    }
    if good == 0 {
        return Ok(ExitCode::FAILURE);
    }
    if bad > 0 && !skip {
        refuse!(
            "{bad} of {} locations are refused: --skip leaves them out",
            bad + good
        );
    }
    let text = all.lines.iter().map(|line| format!("{line}\n"));
    let text: String = text.collect();
    let Some(folder) = write else {
        return print(&text);
    };
    let path = folder.join("kprobe_events");
    let about = |error: io::Error| {
        let log = folder.join("error_log");
        let said = std::fs::read_to_string(log).unwrap_or_default();
        let said = said
            .lines()
            .rev()
            .find_map(|line| line.split_once("error: "));
        let said = said.map_or_else(|| error.to_string(), |(_, said)| said.to_string());
        Refusal::new(said).about(path.display())
    };
    let mut file = OpenOptions::new().append(true).open(&path).map_err(about)?;
    // In one write, which is all or nothing.
    file.write_all(text.as_bytes()).map_err(about)?;
    Ok(ExitCode::SUCCESS)
}
