// SPDX-License-Identifier: GPL-2.0

//! A file to which a command writes beside the session: each appends, or one would overwrite what
//! the other has written, because `sendfile()` takes the offset first and moves it at the end.

use rustix::fs::{fcntl_getfl, fcntl_setfl, OFlags};
use std::fs::File;

/// Makes all who share the opening of a regular file append, until it is dropped.
#[derive(Debug)]
pub struct Appending {
    /// The file, and its flags before.
    changed: Option<(File, OFlags)>,
}

impl Appending {
    /// For what is no regular file, this does nothing.
    pub fn new(file: File) -> Self {
        let is_file = file.metadata().is_ok_and(|data| data.is_file());
        let flags = fcntl_getfl(&file).ok().filter(|_| is_file);
        let flags = flags.filter(|flags| !flags.contains(OFlags::APPEND));
        let changed = flags.filter(|flags| fcntl_setfl(&file, *flags | OFlags::APPEND).is_ok());
        Self {
            changed: changed.map(|flags| (file, flags)),
        }
    }
}

impl Drop for Appending {
    fn drop(&mut self) {
        if let Some((file, flags)) = &self.changed {
            let _ = fcntl_setfl(file, *flags);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    #[test]
    fn nobody_overwrites_what_others_wrote() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        let mut file = File::create(&path).expect("a file");
        let appending = Appending::new(file.try_clone().expect("a file"));
        std::fs::write(&path, "other\n").expect("a file");
        file.write_all(b"own\n").expect("a file");
        assert_eq!(
            std::fs::read_to_string(&path).expect("a file"),
            "other\nown\n"
        );
        drop(appending);
        file.rewind().expect("a file");
        file.write_all(b"first").expect("a file");
        assert_eq!(
            std::fs::read_to_string(&path).expect("a file"),
            "first\nown\n"
        );
    }

    #[test]
    fn what_is_no_file_stays_as_it_is() {
        let null = File::options()
            .write(true)
            .open("/dev/null")
            .expect("a file");
        let appending = Appending::new(null);
        assert!(appending.changed.is_none());
    }
}
