// SPDX-License-Identifier: GPL-2.0

//! Build-ids: which build a kernel or a module is.

use std::fmt::Write;
use std::path::Path;

/// `bytes` in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The build-id in a file of ELF notes, such as `/sys/kernel/notes`.
pub fn in_notes(mut notes: &[u8]) -> Option<String> {
    const GNU_BUILD_ID: u32 = 3;

    let word = |at: usize, notes: &[u8]| {
        let bytes = notes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    loop {
        let name_size = word(0, notes)? as usize;
        let size = word(4, notes)? as usize;
        let kind = word(8, notes)?;
        let name = notes.get(12..12 + name_size)?;
        let start = 12 + name_size.next_multiple_of(4);
        let description = notes.get(start..start + size)?;
        if kind == GNU_BUILD_ID && name == b"GNU\0" {
            return Some(hex(description));
        }
        notes = notes.get(start + size.next_multiple_of(4)..)?;
    }
}

/// The build-id of the running kernel.
pub fn of_running_kernel() -> Option<String> {
    in_notes(&std::fs::read("/sys/kernel/notes").ok()?)
}

/// The build-id of a loaded module.
pub fn of_loaded_module(name: &str) -> Option<String> {
    let notes = Path::new("/sys/module").join(name).join("notes");
    in_notes(&std::fs::read(notes.join(".note.gnu.build-id")).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_id_is_found_behind_other_notes() {
        let mut notes = Vec::new();
        for (name, kind, description) in [
            (&b"Linux\0"[..], 0x100_u32, &b"abc"[..]),
            (&b"GNU\0"[..], 1, &b"abcd"[..]),
            (&b"GNU\0"[..], 3, &b"\x01\xfe\x10"[..]),
        ] {
            notes.extend((name.len() as u32).to_le_bytes());
            notes.extend((description.len() as u32).to_le_bytes());
            notes.extend(kind.to_le_bytes());
            for part in [name, description] {
                notes.extend(part);
                notes.resize(notes.len().next_multiple_of(4), 0);
            }
        }
        assert_eq!(in_notes(&notes).as_deref(), Some("01fe10"));
        assert_eq!(in_notes(&notes[..notes.len() - 4]), None);
        assert_eq!(in_notes(&[]), None);
    }
}
