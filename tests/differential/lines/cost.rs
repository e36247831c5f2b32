// SPDX-License-Identifier: GPL-2.0

//! What calls cost: elapsed seconds, seconds of processor time, and the largest memory use.

use crate::perf::Sources;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

/// The most memory that a process has had so far, in MiB.
fn peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}

/// The seconds of processor time, in user space and in the kernel, of all commands so far.
fn processor() -> f64 {
    /// Behind the name: time in user space and in the kernel of children that have ended, in ticks.
    const FIELDS: [usize; 2] = [13, 14];
    /// `USER_HZ` of Linux.
    const TICKS: f64 = 100.0;

    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<_> = behind_name.split_whitespace().collect();
    let ticks = FIELDS
        .iter()
        .filter_map(|at| fields.get(*at)?.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS
}

/// Runs a command so many times, and prints its row: the mean of each time.
fn measure(what: &str, times: u16, command: &mut Command) {
    let (began, before) = (Instant::now(), processor());
    let mut most = 0;
    for _ in 0..times {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{what}: {error}"));
        let status = loop {
            most = most.max(peak(child.id()).unwrap_or(0));
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => thread::sleep(Duration::from_millis(2)),
                Err(error) => panic!("{what}: {error}"),
            }
        };
        assert!(status.success(), "{what}: {status}");
    }
    let mean = |seconds: f64| seconds / f64::from(times);
    let (all, used) = (
        mean(began.elapsed().as_secs_f64()),
        mean(processor() - before),
    );
    println!("{what:<44}{all:>8.2}{used:>10.3}{most:>7}");
}

/// So many calls are needed for the processor's time of one, which is counted in hundredths of seconds.
const LATER: u16 = 20;

/// Measures `program` and perf on the same file, in one run.
///
/// # Errors
///
/// What perf takes for the sources cannot be written.
pub fn print(vmlinux: &Path, program: &Path) -> io::Result<()> {
    let cache = std::env::temp_dir().join(format!("beside_perf.{}", std::process::id()));
    let sources = Sources::new()?;
    sources.add("fs/read_write.c")?;
    println!(
        "{:<44}{:>8}{:>10}{:>7}",
        "call", "seconds", "processor", "MiB"
    );
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
    let places = "file_start_write%inlined";
    let function = "vfs_read";
    let define = ["define", line];
    let lines = ["lines", function];
    // Whichever comes first finds no index.
    for (what, words) in [("define", define), ("lines", lines)] {
        let _ = fs::remove_dir_all(&cache);
        let what = format!("ferroprobe {what}, the first: with an index");
        measure(&what, 1, &mut ferroprobe(&words));
    }
    let later = |what: &str, words: &[&str]| measure(what, LATER, &mut ferroprobe(words));
    later("ferroprobe define, later", &define);
    later("ferroprobe define, 11 inlined places", &["define", places]);
    later("ferroprobe vars, later", &["vars", "vfs_read:11"]);
    later("ferroprobe lines, later", &lines);
    let measure_perf = |what: &str, words: &[&str]| measure(what, 2, &mut perf(words));
    measure_perf("perf probe -D", &["-D", line]);
    measure_perf(
        "perf probe -D, 11 inlined places",
        &["-D", "file_start_write"],
    );
    measure_perf("perf probe -V", &["-V", "vfs_read:11"]);
    let folder = sources.folder.to_string_lossy();
    measure_perf("perf probe -L", &["--source", &folder, "-L", function]);
    // What is left behind is small, and a folder of this process alone.
    let _ = fs::remove_dir_all(&cache);
    Ok(())
}
