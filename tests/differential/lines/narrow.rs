// SPDX-License-Identifier: GPL-2.0

//! Makes perf read less: it looks into every unit of the debug information for each question, although
//! only those that have a line of the file can have an answer. In its copy of the kernel all others are
//! hidden: one unit is made so long that it covers those behind it, up to the next that is wanted.

use object::{CompressionFormat, Object, ObjectSection, ReadCache};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file, some of whose units are hidden.
pub struct Narrow {
    file: File,
    /// Where the units are in the file.
    units: Vec<Range<u64>>,
}

/// Bytes before a unit that say how long it is.
const LENGTH: u64 = 4;
/// What is no length: it begins the 64-bit form.
const NO_LENGTH: u64 = 0xffff_fff0;

impl Narrow {
    /// The file at `path`, with all units.
    ///
    /// # Errors
    ///
    /// It cannot be read and written, or is in no form that is known here.
    pub fn open(path: &Path) -> io::Result<Self> {
        let unknown = || io::Error::other("debug information in an unknown form");
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let Range { start, end } = section(&file).ok_or_else(unknown)?;
        let mut units = Vec::new();
        let mut at = start;
        while at < end {
            let mut length = [0; LENGTH as usize];
            file.read_exact_at(&mut length, at)?;
            let length = u64::from(u32::from_le_bytes(length));
            let next = at + LENGTH + length;
            if length >= NO_LENGTH || next > end {
                return Err(unknown());
            }
            units.push(at..next);
            at = next;
        }
        Ok(Self { file, units })
    }

    /// Hides all units but those at these offsets.
    pub fn only(&self, offsets: &BTreeSet<u64>) -> io::Result<()> {
        self.all()?;
        let start = self.units.first().map_or(0, |unit| unit.start);
        let mut hidden: Option<Range<u64>> = None;
        for unit in &self.units {
            let around = hidden.take();
            if offsets.contains(&(unit.start - start)) {
                self.set(around)?;
                continue;
            }
            let from = around.map_or(unit.start, |hidden| hidden.start);
            hidden = Some(from..unit.end);
        }
        self.set(hidden)
    }

    /// Hides none.
    pub fn all(&self) -> io::Result<()> {
        let mut units = self.units.iter();
        units.try_for_each(|unit| self.set(Some(unit.clone())))
    }

    /// Makes a unit of a range.
    fn set(&self, unit: Option<Range<u64>>) -> io::Result<()> {
        let Some(unit) = unit else {
            return Ok(());
        };
        let length = u32::try_from(unit.end - unit.start - LENGTH);
        let length = length.map_err(|_| io::Error::other("4 GiB of debug information"))?;
        self.file.write_all_at(&length.to_le_bytes(), unit.start)
    }
}

/// Where `.debug_info` is in a file, unless it is compressed.
fn section(file: &File) -> Option<Range<u64>> {
    let cache = ReadCache::new(file);
    let parsed = object::File::parse(&cache).ok()?;
    let range = parsed.section_by_name(".debug_info")?;
    let range = range.compressed_file_range().ok()?;
    (range.format == CompressionFormat::None)
        .then(|| range.offset..range.offset + range.uncompressed_size)
}
