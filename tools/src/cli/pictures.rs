// SPDX-License-Identifier: GPL-2.0

//! The commands that make pictures, and files for viewers.

use super::print;
use clap::ValueEnum;
use ferroprobe_tools::convert::{chrome, firefox};
use ferroprobe_tools::error::{Refusal, Result};
use ferroprobe_tools::hist::chart::{self, Chart};
use ferroprobe_tools::hist::{over_time, svg, table};
use ferroprobe_tools::stream::Stream;
use ferroprobe_tools::{flame, refuse, tree};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What opens a converted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Viewer {
    /// The JSON of Chrome's tracing: ui.perfetto.dev, chrome://tracing
    Perfetto,
    /// A processed profile: profiler.firefox.com
    Firefox,
}

/// Whether a path stands for the standard input.
fn is_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The whole of a text file, or of the standard input.
fn read(path: &Path) -> Result<String> {
    let text = match is_input(path) {
        true => io::read_to_string(io::stdin().lock()),
        false => std::fs::read_to_string(path),
    };
    text.map_err(|error| Refusal::from(error).about(path.display()))
}

/// The events of a file, or of the standard input.
fn stream(path: &Path) -> Result<Stream> {
    let stream = match is_input(path) {
        true => Stream::read(io::stdin().lock()),
        false => {
            let file = File::open(path).map_err(Refusal::from);
            file.and_then(|file| Stream::read(BufReader::new(file)))
        }
    };
    stream.map_err(|refusal| refusal.about(path.display()))
}

/// Writes to a file, or to the standard output.
fn write(bytes: &[u8], output: Option<&Path>) -> Result<ExitCode> {
    let Some(path) = output else {
        return print(&String::from_utf8_lossy(bytes));
    };
    let written = std::fs::write(path, bytes);
    written.map_err(|error| Refusal::from(error).about(path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Draws a flame graph.
pub(super) fn flame(
    file: &Path,
    value: Option<&str>,
    title: &str,
    output: Option<&Path>,
) -> Result<ExitCode> {
    let text = read(file)?;
    let about = |refusal: Refusal| refusal.about(file.display());
    let folded = flame::fold(&text, value).map_err(about)?;
    write(&flame::svg(&folded, title, value)?, output)
}

/// What a hist file has, or what came between readings of one.
pub(super) fn histogram(files: &[PathBuf], value: &str) -> Result<Chart> {
    let mut readings = Vec::new();
    for file in files {
        let about = |refusal: Refusal| refusal.about(file.display());
        let name = file.file_name().unwrap_or(file.as_os_str());
        let name = name.to_string_lossy().into_owned();
        readings.push((name, table::read(&read(file)?, value).map_err(about)?));
    }
    match readings.as_slice() {
        [(_, table)] => chart::of_table(table),
        readings => chart::of_readings(readings),
    }
}

/// A number of events over time.
pub(super) fn over_time(files: &[PathBuf], field: &str, event: Option<&str>) -> Result<Chart> {
    let [file] = files else {
        refuse!("--field takes one file");
    };
    over_time::chart(&stream(file)?, field, event)
}

/// Draws a chart.
pub(super) fn draw(chart: &Chart, title: &str, output: Option<&Path>) -> Result<ExitCode> {
    write(svg::draw(chart, title).as_bytes(), output)
}

/// Shows calls as a tree.
pub(super) fn tree(file: &Path, wanted: &tree::Wanted<'_>) -> Result<ExitCode> {
    let about = |refusal: Refusal| refusal.about(file.display());
    print(&tree::text(&stream(file)?, wanted).map_err(about)?)
}

/// Writes events for a viewer.
pub(super) fn convert(
    to: Viewer,
    duration: &str,
    file: &Path,
    output: Option<&Path>,
) -> Result<ExitCode> {
    let stream = stream(file)?;
    let bytes = match to {
        Viewer::Perfetto => chrome::json(&stream, duration)?,
        Viewer::Firefox => firefox::json(&stream, duration)?,
    };
    write(&bytes, output)
}
