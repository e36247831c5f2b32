// SPDX-License-Identifier: GPL-2.0

//! Where indexes are kept: in the user's cache, by build-id.

use super::{build, Index};
use crate::data::Data;
use crate::debug::Debug;
use crate::error::{Refusal, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// The bytes of an index.
pub enum Bytes {
    /// Of a file in the cache.
    Mapped(Data),
    /// Made now.
    Made(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(data) => data,
            Self::Made(bytes) => bytes,
        }
    }
}

/// The folder of the cache.
fn folder() -> Option<PathBuf> {
    let given = env::var_os("XDG_CACHE_HOME").filter(|path| Path::new(path).is_absolute());
    let base = match given {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(env::var_os("HOME")?).join(".cache"),
    };
    Some(base.join("ferroprobe/index"))
}

/// The index of `debug`: from the cache, or made and left there.
///
/// `size` is that of the file, which is part of the name: a file can be compressed or stripped
/// and keep its build-id. Without a build-id nothing is kept.
pub fn open(debug: &Debug<'_>, build_id: Option<&str>, size: usize) -> Result<Index<Bytes>> {
    let path = folder()
        .zip(build_id)
        .map(|(folder, id)| folder.join(format!("{id}-{size:x}")));
    if let Some(data) = path.as_ref().and_then(|path| Data::open(path).ok()) {
        if let Some(index) = Index::new(Bytes::Mapped(data)) {
            return Ok(index);
        }
    }
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("reading debug information {wide_bar} {percent} %");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let bytes = build::build(debug, &|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    if let Some(path) = path {
        if let Err(error) = keep(&path, &bytes) {
            eprintln!(
                "ferroprobe: the index is not kept, so the next call takes as long: {}: {error}",
                path.display()
            );
        }
    }
    Index::new(Bytes::Made(bytes)).ok_or_else(|| Refusal::new("the index was written wrong"))
}

/// Writes a file whole: who opens it meanwhile sees all of it or none.
fn keep(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let new = path.with_extension(format!("new.{}", process::id()));
    fs::write(&new, bytes)?;
    fs::rename(&new, path)
}
