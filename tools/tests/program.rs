// SPDX-License-Identifier: GPL-2.0

//! The program itself: what it writes where, and how it fails.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{compile, Compiled};
use tempfile::TempDir;

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferroprobe"));
    command.args(arguments).output().expect("the program")
}

/// What it prints.
fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

/// Why it fails.
fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

fn object() -> Compiled {
    compile("gcc", "shapes.c", &["-O2", "-c", "-ffreestanding"])
}

/// A folder with a file `kprobe_events` that has a line.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("kprobe_events"), "p:old vfs_read\n").expect("a file");
    folder
}

fn define(object: &Compiled, write: &Path, definition: &str) -> Output {
    run(&[
        "define",
        "--other",
        "--module",
        &object.path.to_string_lossy(),
        &format!("--write={}", write.display()),
        definition,
    ])
}

#[test]
fn definitions_are_appended_to_those_that_are_there() {
    let (object, folder) = (object(), folder());
    let output = define(&object, folder.path(), "always%inlined value");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{said}"
    );
    let text = fs::read_to_string(folder.path().join("kprobe_events")).expect("a file");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines.len()), ("p:old vfs_read", 4), "{text}");
    assert!(
        lines[1..]
            .iter()
            .all(|line| line.starts_with("p:always out:")),
        "{text}"
    );
}

#[test]
fn nothing_is_written_if_something_is_refused() {
    let (object, folder) = (object(), folder());
    for definition in ["entry nothing", "nowhere", "entry number:string"] {
        assert!(!define(&object, folder.path(), definition).status.success());
    }
    let text = fs::read_to_string(folder.path().join("kprobe_events")).expect("a file");
    assert_eq!(text, "p:old vfs_read\n");
}

#[test]
fn what_the_kernel_says_of_a_refusal_is_shown() {
    let (object, folder) = (object(), tempfile::tempdir().expect("a folder"));
    // Every write to it fails.
    symlink("/dev/full", folder.path().join("kprobe_events")).expect("a link");
    let log =
        "[    3.819841] trace_kprobe: error: Event already exists\n  Command: p:entry\n     ^\n";
    fs::write(folder.path().join("error_log"), log).expect("a file");
    let output = define(&object, folder.path(), "entry number");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        said.trim_end()
            .ends_with("kprobe_events: Event already exists"),
        "{said}"
    );
}

#[test]
fn no_module_is_loaded_where_there_is_no_folder() {
    let object = object();
    let output = define(&object, Path::new("/nowhere"), "entry number");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("/nowhere/kprobe_events: No such file"),
        "{said}"
    );
}

#[test]
fn a_file_of_another_build_needs_to_be_allowed() {
    let object = object();
    let said = refused(&[
        "define",
        "-m",
        &object.path.to_string_lossy(),
        "entry number",
    ]);
    assert!(said.contains("--other"), "{said}");
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    printed(&["man", &folder.path().to_string_lossy()]);
    let shells = ["bash", "zsh"].map(|shell| printed(&["completions", shell]));
    for command in [
        "trace", "top", "graph", "lines", "vars", "define", "flame", "hist", "tree", "convert",
        "reset", "doctor",
    ] {
        let page = folder.path().join(format!("ferroprobe-{command}.1"));
        assert!(
            fs::read_to_string(&page).is_ok_and(|text| text.contains(".TH")),
            "{command}"
        );
        assert!(
            shells.iter().all(|text| text.contains(command)),
            "{command}"
        );
    }
}

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    path.join(name).to_string_lossy().into_owned()
}

#[test]
fn what_a_guest_recorded_is_drawn() {
    let bars = printed(&["hist", "--title", "a title", &data("hist-read")]);
    assert!(
        bars.contains(">a title<") && bars.contains("<title>65.53 us to 131.0 us: 24660 ("),
        "{bars}"
    );
    let map = printed(&["hist", &data("hist-write")]);
    assert!(
        map.contains("<title>common_comm cat, duration 8.192 us to 16.38 us: 10683<"),
        "{map}"
    );
    let readings: Vec<String> = (1..=6).map(|n| data(&format!("reading-{n}"))).collect();
    let mut arguments = vec!["hist"];
    arguments.extend(readings.iter().map(String::as_str));
    let over = printed(&arguments);
    assert!(over.contains("<title>reading reading-2, ") && !over.contains("reading reading-1,"));
    let stream = data("stream");
    let over = printed(&[
        "hist",
        "--field",
        "duration",
        "--event",
        "calls/read",
        &stream,
    ]);
    assert!(
        over.contains(">time<") && over.contains("duration 8.192 us to 16.38 us: "),
        "{over}"
    );
    let said = refused(&["hist", &data("hist-stacks")]);
    assert!(said.contains("ferroprobe flame"), "{said}");
}

#[test]
fn calls_are_a_tree() {
    let text = printed(&["tree", "--below", "openat", "--failed", &data("stream")]);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("ls-230"), "{text}");
    let call = lines.next().unwrap_or_default();
    assert!(
        call.starts_with("   129.170817786      56.690 us  openat dfd=-100 ")
            && call.ends_with(" ret=-2"),
        "{call}"
    );
    let said = refused(&["tree", "--duration", "ns", &data("stream")]);
    assert!(said.contains("no event has an argument ns"), "{said}");
}

#[test]
fn what_a_guest_recorded_is_converted() {
    let stream = data("stream");
    for (viewer, words) in [
        ("perfetto", ["traceEvents", "\"ph\":\"X\"", "path_lookupat"]),
        (
            "firefox",
            ["preprocessedProfileVersion", "argument0", "path_lookupat"],
        ),
    ] {
        let text = printed(&["convert", "--to", viewer, &stream]);
        for word in words {
            assert!(text.contains(word), "{viewer}: {word}");
        }
    }
    let said = refused(&["convert", "--to", "perfetto", &data("hist-read")]);
    assert!(said.contains("line 1: "), "{said}");
}

#[test]
fn what_cannot_be_traced_is_said_below_what_was_written() {
    let folder = tempfile::tempdir().expect("a folder");
    // Every write to it fails.
    symlink("/dev/full", folder.path().join("private_events")).expect("a link");
    let dir = format!("--dir={}", folder.path().display());
    let said = refused(&["trace", &dir, "vfs_raed file", "r vfs_write"]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 6, "{said}");
    assert_eq!(lines[1..3], ["  vfs_raed file", "  ^"]);
    let said = refused(&["trace", &dir, "r vfs_read if"]);
    assert!(
        said.ends_with("\n  r vfs_read if\n               ^\n"),
        "{said}"
    );
    let said = refused(&["trace", "--dir=/nowhere", "vfs_read"]);
    assert!(
        said.contains("/nowhere: it has no private_events"),
        "{said}"
    );
    let said = refused(&["trace", &dir, "-o", "/nowhere/file", "vfs_read"]);
    assert!(said.contains("/nowhere/file: "), "{said}");
}
