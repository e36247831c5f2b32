// SPDX-License-Identifier: GPL-2.0

//! The directory of the module, and what is written to its files.

use super::error_log;
use super::mapped::Mapped;
use super::refused::{self, Refused};
use crate::error::{Refusal, Result};
use crate::refuse;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where debugfs shows it.
const IN_DEBUGFS: &str = "/sys/kernel/debug/ferroprobe";

/// The file whose opening owns definitions.
const PRIVATE: &str = "private_events";

/// The directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    root: PathBuf,
}

impl Directory {
    /// The directory at `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Finds the directory, which is `given` or where the kernel shows it. Loads the module if there
    /// is none.
    pub fn find(given: Option<&Path>) -> Result<Self> {
        if let Some(root) = given {
            let directory = Self::at(root);
            if !directory.is_there() {
                refuse!(
                    "{}: it has no {PRIVATE}: give the directory of ferroprobe with --dir",
                    root.display()
                );
            }
            return Ok(directory);
        }
        if let Some(directory) = Self::shown() {
            return Ok(directory);
        }
        // A user sees it in /sys, but not what is in debugfs.
        let loaded = match Path::new("/sys/module/ferroprobe").exists() {
            true => Ok(()),
            false => load(),
        };
        if let Some(directory) = Self::shown() {
            return Ok(directory);
        }
        loaded?;
        refuse!(
            "the module is loaded, but its directory is not to be seen: be root, and mount -t debugfs debugfs /sys/kernel/debug"
        )
    }

    /// The directory, if it is shown somewhere.
    fn shown() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mut roots = vec![PathBuf::from(IN_DEBUGFS)];
        roots.extend(mounted(&mounts));
        roots.into_iter().map(Self::at).find(Self::is_there)
    }

    fn is_there(&self) -> bool {
        self.path(PRIVATE).exists()
    }

    /// The path of one of its files.
    pub fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.root.join(file)
    }

    /// What a file has.
    pub fn read(&self, file: impl AsRef<Path>) -> Result<String> {
        let path = self.path(file);
        fs::read_to_string(&path).map_err(|error| Refusal::from(error).about(path.display()))
    }

    /// Opens what owns definitions: they are there until it is dropped.
    pub fn owner(&self) -> Result<Owner> {
        let path = self.path(PRIVATE);
        let opened = OpenOptions::new().append(true).open(&path);
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Refusal::new(format!(
                "{}: {error}: be root, or mount the files for your group",
                path.display()
            )),
            _ => Refusal::from(error).about(path.display()),
        })?;
        Ok(Owner { file })
    }

    /// Writes a setting.
    pub fn set(&self, file: impl AsRef<Path>, value: &str) -> Result<()> {
        let path = self.path(file);
        let opened = OpenOptions::new().append(true).open(&path);
        let written = opened.and_then(|mut file| file.write_all(value.as_bytes()));
        written.map_err(|error| {
            let reason = match self.reason(value) {
                Some(entry) => entry.text,
                None => error.to_string(),
            };
            Refusal::new(reason).about(path.display())
        })
    }

    /// Writes what stands for a part of `written`, to a file.
    pub fn set_written(
        &self,
        file: impl AsRef<Path>,
        text: &Mapped,
        written: &str,
    ) -> std::result::Result<(), Refused> {
        let opened = OpenOptions::new().append(true).open(self.path(file));
        let done = opened.and_then(|mut file| file.write_all(text.text().as_bytes()));
        done.map_err(|error| self.refused(&error, text, written))
    }

    /// Why `text` was refused, with the place in what the user wrote.
    fn refused(&self, error: &io::Error, text: &Mapped, written: &str) -> Refused {
        let entry = self.reason(text.text());
        let (reason, column) = match entry {
            Some(entry) => (refused::for_session(&entry.text), entry.column),
            None => (error.to_string(), 0),
        };
        Refused {
            reason,
            written: written.into(),
            at: text.origin(column),
        }
    }

    /// What the kernel says of a write that failed.
    fn reason(&self, command: &str) -> Option<error_log::Entry> {
        let log = self.read("error_log").ok()?;
        error_log::newest(&log, command)
    }
}

/// The opening that owns definitions. However the program ends, the kernel removes them.
#[derive(Debug)]
pub struct Owner {
    file: File,
}

impl Owner {
    /// Defines what the user `written`.
    pub fn define(
        &mut self,
        directory: &Directory,
        line: &Mapped,
        written: &str,
    ) -> std::result::Result<(), Refused> {
        // In one write, which is all or nothing.
        let done = self.file.write_all(line.text().as_bytes());
        done.map_err(|error| directory.refused(&error, line, written))
    }
}

/// Where the module's own file system is mounted, of the text of `/proc/self/mounts`.
fn mounted(mounts: &str) -> Vec<PathBuf> {
    let fields = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    fields
        .filter_map(|fields| match fields.as_slice() {
            [_, place, "ferroprobe", ..] => Some(PathBuf::from(place)),
            _ => None,
        })
        .collect()
}

/// Loads the module.
fn load() -> Result<()> {
    let mut command = Command::new("modprobe");
    command.arg("ferroprobe").stdin(Stdio::null());
    let said = match command.output() {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    let said = said.lines().last().unwrap_or("it failed").trim();
    let said = said.strip_prefix("modprobe: ").unwrap_or(said);
    refuse!("the module is not loaded, and modprobe ferroprobe does not load it: {said}: be root, install it, or insmod ferroprobe.ko; 'ferroprobe doctor' says what is missing")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
[    1.000000] trace_kprobe: error: Invalid probed address or symbol: did you mean vfs_read?
  Command: p:g/n vfs_raed
                 ^
";

    fn directory() -> (tempfile::TempDir, Directory) {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(PRIVATE), "").expect("a file");
        fs::write(folder.path().join("error_log"), LOG).expect("a file");
        let directory = Directory::find(Some(folder.path())).expect("a directory");
        (folder, directory)
    }

    fn raed() -> Mapped {
        let mut line = Mapped::default();
        line.push_instead("p:g/n ", 0);
        line.push_written("vfs_raed", 0);
        line
    }

    #[test]
    fn definitions_are_written_to_what_owns_them() {
        let (_folder, directory) = directory();
        let mut owner = directory.owner().expect("an owner");
        owner
            .define(&directory, &raed(), "vfs_raed")
            .expect("it takes all");
        assert_eq!(directory.read(PRIVATE).expect("a file"), "p:g/n vfs_raed");
    }

    #[test]
    fn a_refusal_is_shown_in_what_the_user_wrote() {
        let (folder, directory) = directory();
        // Every write to it fails.
        std::os::unix::fs::symlink("/dev/full", folder.path().join("full")).expect("a link");
        let refused = directory.set_written("full", &raed(), "vfs_raed");
        let refused = refused.expect_err("a full file");
        assert_eq!(refused.at, 0);
        assert!(
            refused.reason.ends_with("did you mean vfs_read?"),
            "{refused}"
        );
        let refusal = directory.set("full", "4").expect_err("a full file");
        assert!(
            refusal.to_string().contains("full: No space left"),
            "{refusal}"
        );
    }

    #[test]
    fn another_folder_is_no_directory() {
        let folder = tempfile::tempdir().expect("a folder");
        let refusal = Directory::find(Some(folder.path())).expect_err("no directory");
        assert!(refusal.to_string().contains("--dir"), "{refusal}");
    }

    #[test]
    fn mounts_are_found() {
        let mounts = "none /sys/kernel/ferroprobe ferroprobe rw 0 0\nproc /proc proc rw 0 0\n";
        assert_eq!(mounted(mounts), [Path::new("/sys/kernel/ferroprobe")]);
    }
}
