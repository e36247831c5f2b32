// SPDX-License-Identifier: GPL-2.0

//! Saves a view to a file with a name that no other has.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// More files than anybody saves.
const MOST: u32 = 10_000;

/// Writes `text` to a new file in `folder`, and returns its path.
pub fn save(folder: &Path, text: &str) -> io::Result<PathBuf> {
    for number in 1..MOST {
        let path = folder.join(format!("ferroprobe-top-{number}.txt"));
        match File::create_new(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                return Ok(path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = save(folder.path(), "a").expect("a file");
        let second = save(folder.path(), "b").expect("a file");
        assert_eq!(std::fs::read_to_string(first).expect("a file"), "a");
        assert!(second.ends_with("ferroprobe-top-2.txt"));
        assert!(save(&folder.path().join("nosuch"), "c").is_err());
    }
}
