// SPDX-License-Identifier: GPL-2.0

//! Programs in C for the tests, and sessions on what compilers made of them.

#![allow(dead_code)] // Each test uses some of it.

#[cfg(target_arch = "x86_64")]
pub mod compare;
#[cfg(target_arch = "x86_64")]
pub mod fetch;
pub mod language;
#[cfg(target_arch = "x86_64")]
pub mod process;

use ferroprobe_tools::data::Data;
use ferroprobe_tools::debug::{Debug, Sections};
use ferroprobe_tools::define::{self, Definitions, Request};
use ferroprobe_tools::error::Result;
use ferroprobe_tools::image::Image;
use ferroprobe_tools::index::cache::Bytes;
use ferroprobe_tools::index::{build, Index};
use ferroprobe_tools::session::Session;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The folder of the programs.
pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// A compiled file, which is removed with its folder.
pub struct Compiled {
    /// Where it is.
    pub path: PathBuf,
    _folder: TempDir,
}

/// Compiles `program`, a path or a file of the folder of programs, by `compiler` with `flags`.
pub fn compile(compiler: &str, program: impl AsRef<Path>, flags: &[&str]) -> Compiled {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out");
    let output = Command::new(compiler)
        .args(["-g", "-w"])
        .arg("-I")
        .arg(programs())
        .args(flags)
        .arg(programs().join(program))
        .arg("-o")
        .arg(&path)
        .output();
    let output = output.expect(compiler);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler} {flags:?}: {said}");
    Compiled {
        path,
        _folder: folder,
    }
}

/// Calls `work` with a session on the file at `path`, if there can be one.
pub fn try_with<T>(path: &Path, work: impl FnOnce(&Session<'_>) -> T) -> Result<T> {
    let data = Data::open(path)?;
    let image = Image::parse(&data)?;
    let sections = Sections::load(&image)?;
    let debug = Debug::new(&sections, path)?;
    let index = build::build(&debug, &|_, _| {})?;
    let index = Index::new(Bytes::Made(index)).expect("an index");
    Ok(work(&Session::new(&image, &debug, index)))
}

/// Calls `work` with a session on the file at `path`.
pub fn with<T>(path: &Path, work: impl FnOnce(&Session<'_>) -> T) -> T {
    try_with(path, work).expect("debug information")
}

/// The definitions of `text`, which ferroprobe accepts.
pub fn define(session: &Session<'_>, text: &str) -> Result<Definitions> {
    let request = Request::parse(text)?;
    let module = session.image.is_module().then(|| "test".to_string());
    let found = define::definitions(session, &request, Some("e"), module)?;
    for line in &found.lines {
        language::check(line, session.image.arch);
    }
    Ok(found)
}
