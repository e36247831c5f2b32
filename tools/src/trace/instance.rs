// SPDX-License-Identifier: GPL-2.0

//! An instance of the directory for one session, and the process that keeps it: it makes the
//! instance, waits until the session's end of a pipe is closed, however that comes about, and
//! removes the instance.
//!
//! The keeper is in a session of its own, so that neither Ctrl-C nor a terminal that goes reach it.
//! If both are killed at once, the next session removes the instance: its name has the pid.

use super::directory::Directory;
use crate::error::{Refusal, Result};
use crate::refuse;
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// What the names of instances and groups begin with; the pid follows.
const PREFIX: &str = "trace_";

/// How often a keeper tries to remove an instance whose files are still open, and how long it waits
/// in between.
const TRIES: u32 = 600;
const PAUSE: Duration = Duration::from_millis(50);

/// The name of this process's instance, and of the group of its events.
pub fn name() -> String {
    format!("{PREFIX}{}", std::process::id())
}

/// The instance, which is removed when it is dropped. Files in it must be closed before.
#[derive(Debug)]
pub struct Instance {
    directory: Directory,
    path: PathBuf,
    keeper: Child,
    end: Option<ChildStdin>,
}

impl Instance {
    /// Makes the instance of this process. `program` is what starts a keeper: `program PATH`.
    pub fn new(above: &Directory, mut program: Command) -> Result<Self> {
        remove_stale(above, Path::new("/proc"));
        let path = above.path("instances").join(name());
        program
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut keeper = program.spawn()?;
        let end = keeper.stdin.take();
        let mut said = String::new();
        if let Some(mut output) = keeper.stdout.take() {
            output.read_to_string(&mut said)?;
        }
        let instance = Self {
            directory: Directory::at(&path),
            path,
            keeper,
            end,
        };
        match said.trim() {
            "made" => Ok(instance),
            "" => refuse!(
                "{}: the process that keeps it was killed",
                instance.path.display()
            ),
            said => refuse!("{}: {said}", instance.path.display()),
        }
    }

    /// Its files.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.end.take();
        let _ = self.keeper.wait();
        // If somebody has killed it.
        let _ = fs::remove_dir(&self.path);
    }
}

/// What a keeper does: makes the instance at `path`, says so, and removes it at the end of the
/// input.
pub fn keep(path: &Path) -> Result<()> {
    // Handlers, so that these do not end it.
    for signal in [SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    // This fails only if it leads a group, because it was started by hand.
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
    let made = fs::create_dir(path);
    let said = match &made {
        Ok(()) => "made".into(),
        Err(error) => error.to_string(),
    };
    // A session that does not hear it has ended.
    let _ = writeln!(io::stdout(), "{said}");
    // The session waits for the end of what is said.
    let null = fs::File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null).map_err(io::Error::from)?;
    made.map_err(Refusal::from)?;
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    for _ in 0..TRIES {
        match fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(PAUSE),
            _ => break,
        }
    }
    Ok(())
}

/// Removes the instances of sessions that are dead. Of those that live, the kernel does not let it
/// remove any: their files are open.
fn remove_stale(above: &Directory, processes: &Path) {
    let Ok(instances) = fs::read_dir(above.path("instances")) else {
        return;
    };
    for instance in instances.flatten() {
        let name = instance.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let pid = pid.and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !processes.join(pid.to_string()).exists()) {
            let _ = fs::remove_dir(instance.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_of_the_dead_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let instances = folder.path().join("instances");
        for name in ["trace_12", "trace_34", "trace_x", "mine"] {
            fs::create_dir_all(instances.join(name)).expect("a folder");
        }
        let processes = folder.path().join("proc");
        fs::create_dir_all(processes.join("34")).expect("a folder");
        remove_stale(&Directory::at(folder.path()), &processes);
        let names = fs::read_dir(&instances).expect("a folder").flatten();
        let mut names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        names.sort();
        assert_eq!(names, ["mine", "trace_34", "trace_x"]);
    }
}
