// SPDX-License-Identifier: GPL-2.0

//! Running the tool.

#![allow(dead_code, reason = "each test uses some of it")]

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that is gone when this is.
pub struct TempFile(PathBuf);

impl TempFile {
    /// A file with this content.
    pub fn new(content: &[u8]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ferroprobe-insn-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    /// Its path.
    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ferroprobe-insn"))
        .args(arguments)
        .output()
        .unwrap()
}

/// What the tool writes to standard output, bytes.
pub fn writes(arguments: &[&str]) -> Vec<u8> {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    assert_eq!(errors, "");
    output.stdout
}

/// The same as text.
pub fn prints(arguments: &[&str]) -> String {
    String::from_utf8(writes(arguments)).unwrap()
}

/// What the tool says when it fails, as it must.
pub fn fails(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{arguments:?} did not fail");
    assert!(output.stdout.is_empty(), "{arguments:?} printed something");
    String::from_utf8(output.stderr).unwrap()
}
