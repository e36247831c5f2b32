// SPDX-License-Identifier: GPL-2.0

//! Compiles the kernel's x86 decoder from the tree that
//! `FERROPROBE_KERNEL_SOURCE` names; does without when it names none.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rustc-check-cfg=cfg(kernel_oracle)");
    println!("cargo:rerun-if-env-changed=FERROPROBE_KERNEL_SOURCE");
    println!("cargo:rerun-if-changed=oracle/oracle.c");
    let Some(source) = std::env::var_os("FERROPROBE_KERNEL_SOURCE") else {
        return;
    };
    let tools = PathBuf::from(source).join("tools");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    opcode_tables(&tools, &out);
    cc::Build::new()
        .file("oracle/oracle.c")
        .include(&out)
        .include(tools.join("arch/x86/lib"))
        .include(tools.join("arch/x86/include"))
        .include(tools.join("include"))
        .include(tools.join("include/uapi"))
        .opt_level(2)
        .warnings(false)
        .compile("kernel-x86-decoder");
    println!("cargo:rustc-cfg=kernel_oracle");
}

/// Writes `inat-tables.c` with the kernel's own generator.
fn opcode_tables(tools: &Path, out: &Path) {
    let made = Command::new("awk")
        .arg("-f")
        .arg(tools.join("arch/x86/tools/gen-insn-attr-x86.awk"))
        .arg(tools.join("arch/x86/lib/x86-opcode-map.txt"))
        .output()
        .expect("awk runs");
    assert!(
        made.status.success(),
        "gen-insn-attr-x86.awk: {}",
        String::from_utf8_lossy(&made.stderr)
    );
    std::fs::write(out.join("inat-tables.c"), made.stdout).expect("OUT_DIR can be written");
}
