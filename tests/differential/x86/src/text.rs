// SPDX-License-Identifier: GPL-2.0

//! The executable sections of ELF files.

use object::{Object, ObjectSection, SectionFlags};
use std::path::Path;

/// A section's name and contents.
pub type Section = (String, Vec<u8>);

/// The contents of all executable, read-only sections of the ELF file at `path`; a file that is no ELF file counts as one section.
///
/// # Errors
///
/// When the file cannot be read, or a section of it cannot.
pub fn sections(path: &Path) -> Result<Vec<Section>, Box<dyn std::error::Error>> {
    let data = std::fs::read(path)?;
    if !data.starts_with(b"\x7fELF") {
        return Ok(vec![("raw".into(), data)]);
    }
    let file = object::File::parse(&*data)?;
    let mut found = Vec::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else {
            continue;
        };
        // A kernel's .data is marked executable as well, but it is no code.
        let kind = sh_flags & u64::from(object::elf::SHF_EXECINSTR | object::elf::SHF_WRITE);
        if kind == u64::from(object::elf::SHF_EXECINSTR) {
            let text = section.uncompressed_data()?.into_owned();
            found.push((section.name()?.to_owned(), text));
        }
    }
    Ok(found)
}
