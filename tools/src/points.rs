// SPDX-License-Identifier: GPL-2.0

//! The static points of a program (USDT), as they are written in definitions.

use crate::error::Result;
use crate::refuse;
use ferroprobe_engine::engine::code::arch::Arch;
use ferroprobe_engine::engine::code::elf::{Elf, ElfError, FileBytes};
use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

struct Contents(File);

impl FileBytes for Contents {
    fn read(&self, offset: u64, out: &mut [u8]) -> Option<usize> {
        let mut done = 0;
        while done < out.len() {
            match self.0.read_at(&mut out[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(done)
    }
}

/// Returns a line for each static point of the program at `path`: its definition, its offset in the
/// file with that of its counter, and where its arguments are.
pub fn text(path: &Path) -> Result<String> {
    let file = Contents(File::open(path)?);
    let mut elf = Elf::open(&file, Arch::X86_64);
    if matches!(elf, Err(ElfError::OtherMachine)) {
        elf = Elf::open(&file, Arch::Arm64);
    }
    let mut text = String::new();
    let listed = elf.and_then(|elf| {
        elf.each_point(&mut |point| {
            let name = |bytes| String::from_utf8_lossy(bytes).into_owned();
            let (provider, called) = (name(point.provider), name(point.name));
            let counter = match point.counter {
                0 => String::new(),
                counter => format!("({counter:#x})"),
            };
            let _ = writeln!(
                text,
                "usdt:{}:{provider}:{called}\t{:#x}{counter}\t{}",
                path.display(),
                point.offset,
                name(point.arguments)
            );
            true
        })
    });
    match listed {
        Ok(()) if text.is_empty() => refuse!("{} has no static points", path.display()),
        Ok(()) => Ok(text),
        Err(error) => refuse!("{} {}", path.display(), error.describe()),
    }
}
