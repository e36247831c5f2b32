// SPDX-License-Identifier: GPL-2.0

//! What calls cost: seconds, and how much memory at most.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The most memory that a process has had so far, in MiB.
fn peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}

/// Runs a command, and prints its row.
fn measure(what: &str, command: &mut Command) {
    let began = Instant::now();
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut most = 0;
    let status = loop {
        most = most.max(peak(child.id()).unwrap_or(0));
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => thread::sleep(Duration::from_millis(2)),
            Err(error) => panic!("{what}: {error}"),
        }
    };
    assert!(status.success(), "{what}: {status}");
    println!("{what:<44}{:>8.2}{most:>8}", began.elapsed().as_secs_f64());
}

/// Measures `program` and perf on the same file, in one run.
pub fn print(vmlinux: &Path, program: &Path) {
    let cache = std::env::temp_dir().join(format!("beside_perf.{}", std::process::id()));
    println!("{:<44}{:>8}{:>8}", "call", "seconds", "MiB");
    let ferroprobe = |words: &[&str]| {
        let mut command = Command::new(program);
        command
            .env("XDG_CACHE_HOME", &cache)
            .args(words)
            .args(["--other", "-k"])
            .arg(vmlinux);
        command
    };
    let perf = |words: &[&str]| {
        let mut command = Command::new("perf");
        command.args(["probe", "-k"]).arg(vmlinux).args(words);
        command
    };
    let line = "vfs_read:11 count file";
    measure(
        "ferroprobe define, the first: with an index",
        &mut ferroprobe(&["define", line]),
    );
    for _ in 0..3 {
        measure(
            "ferroprobe define, later",
            &mut ferroprobe(&["define", line]),
        );
    }
    measure("ferroprobe vars", &mut ferroprobe(&["vars", "vfs_read:11"]));
    measure("ferroprobe lines", &mut ferroprobe(&["lines", "vfs_read"]));
    for _ in 0..2 {
        measure("perf probe -D", &mut perf(&["-D", line]));
    }
    measure("perf probe -V", &mut perf(&["-V", "vfs_read:11"]));
    // What is left behind is small, and a folder of this process alone.
    let _ = fs::remove_dir_all(&cache);
}
