// SPDX-License-Identifier: GPL-2.0

//! The memory of the running kernel, by `/proc/kcore`: its code as it is now, patched.

use crate::error::{Refusal, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Where code is read.
pub trait Memory {
    /// The bytes at `address`, `None` if they cannot be read.
    fn read(&self, address: u64, len: usize) -> Option<Vec<u8>>;
}

/// A part of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    address: u64,
    len: u64,
    /// Where it is in the file.
    offset: u64,
}

/// An open `/proc/kcore`, which is an ELF file for 64 bits of a core.
#[derive(Debug)]
pub struct Kcore {
    file: File,
    segments: Vec<Segment>,
}

/// The type of a program header of what is in memory.
const PT_LOAD: u32 = 1;

impl Kcore {
    /// Opens it, or another file of its form.
    pub fn open(path: &Path) -> Result<Self> {
        let about = |error: std::io::Error| {
            let why =
                "the callees are found in the kernel's code: be root; a kernel that is locked \
                       down for confidentiality does not show it";
            Refusal::new(format!("{error}: {why}")).about(path.display())
        };
        let file = File::open(path).map_err(about)?;
        let mut head = [0; 64];
        file.read_exact_at(&mut head, 0).map_err(about)?;
        let segments = segments(&file, &head);
        let segments = segments.filter(|segments| !segments.is_empty());
        let segments =
            segments.ok_or_else(|| Refusal::new("not a core of 64 bits").about(path.display()))?;
        Ok(Self { file, segments })
    }
}

impl Memory for Kcore {
    fn read(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let mut segments = self.segments.iter();
        let segment = segments.find(|part| address.wrapping_sub(part.address) < part.len)?;
        let behind = address - segment.address;
        let left = usize::try_from(segment.len - behind).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len.min(left)];
        let offset = segment.offset.checked_add(behind)?;
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

/// A number of a header.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    let digits = bytes.iter().rev();
    Some(digits.fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn segments(file: &File, head: &[u8]) -> Option<Vec<Segment>> {
    // ELF, 64 bits, little-endian.
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (offset, len, count) = (
        number(head, 32, 8)?,
        number(head, 54, 2)?,
        number(head, 56, 2)?,
    );
    let mut table = vec![0; usize::try_from(len.checked_mul(count)?).ok()?];
    file.read_exact_at(&mut table, offset).ok()?;
    let entries = table.chunks(usize::try_from(len).ok().filter(|len| *len >= 56)?);
    let parts = entries.filter_map(|entry| {
        (number(entry, 0, 4)? == u64::from(PT_LOAD)).then_some(Segment {
            offset: number(entry, 8, 8)?,
            address: number(entry, 16, 8)?,
            len: number(entry, 32, 8)?,
        })
    });
    Some(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_read_by_address() {
        let mut core = vec![0u8; 64 + 56];
        core[..6].copy_from_slice(b"\x7fELF\x02\x01");
        core[32] = 64;
        core[54] = 56;
        core[56] = 1;
        core[64] = 1;
        core[64 + 8] = 120;
        core[64 + 16..64 + 24].copy_from_slice(&0xffff_ffff_8100_0000u64.to_le_bytes());
        core[64 + 32] = 4;
        core.extend([1, 2, 3, 4]);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kcore");
        std::fs::write(&path, core).expect("a file");
        let kcore = Kcore::open(&path).expect("a core");
        let read = |address, len| kcore.read(address, len);
        assert_eq!(read(0xffff_ffff_8100_0001, 2), Some(vec![2, 3]));
        assert_eq!(read(0xffff_ffff_8100_0003, 9), Some(vec![4]));
        assert_eq!(read(0xffff_ffff_8100_0004, 1), None);
        std::fs::write(&path, [0; 64]).expect("a file");
        assert!(Kcore::open(&path).is_err());
    }
}
