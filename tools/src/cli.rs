// SPDX-License-Identifier: GPL-2.0

//! The commands and what they are told.

use clap::{Args, Parser, Subcommand};
use ferroprobe_tools::data::Data;
use ferroprobe_tools::debug::{Debug, Sections};
use ferroprobe_tools::error::{Refusal, Result};
use ferroprobe_tools::find::{self, Wanted};
use ferroprobe_tools::image::Image;
use ferroprobe_tools::index::cache;
use ferroprobe_tools::lines;
use ferroprobe_tools::session::Session;
use ferroprobe_tools::target::Target;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Define kernel probes by source line and variable
#[derive(Parser)]
#[command(name = "ferroprobe", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
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
        let debug = Debug::new(&sections).map_err(about)?;
        let build_id = image.build_id();
        let index = cache::open(&debug, build_id.as_deref(), data.len()).map_err(about)?;
        work(&Session::new(&image, &debug, index))
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
    match Cli::parse().command {
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
    }
}
