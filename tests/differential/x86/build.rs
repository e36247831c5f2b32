// SPDX-License-Identifier: GPL-2.0

//! Compiles the kernel's x86 decoder from the tree that
//! `FERROPROBE_KERNEL_SOURCE` names, and does without when it names none; and,
//! on such a machine, what asks the processor itself.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rustc-check-cfg=cfg(kernel_oracle)");
    println!("cargo:rerun-if-env-changed=FERROPROBE_KERNEL_SOURCE");
    println!("cargo:rerun-if-changed=oracle/oracle.c");
    println!("cargo:rustc-check-cfg=cfg(processor_oracle)");
    println!("cargo:rerun-if-changed=oracle/processor.c");
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("x86_64") {
        cc::Build::new()
            .file("oracle/processor.c")
            .compile("processor-x86-decoder");
        println!("cargo:rustc-cfg=processor_oracle");
    }
    let Some(source) = std::env::var_os("FERROPROBE_KERNEL_SOURCE") else {
        return;
    };
    let source = PathBuf::from(source);
    let tools = source.join("tools");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    opcode_tables(&tools, &out);
    kprobe_checks(&source.join("arch/x86/kernel/kprobes/core.c"), &out);
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

/// Copies out of the kernel's kprobes the functions that judge an instruction.
fn kprobe_checks(core: &Path, out: &Path) {
    println!("cargo:rerun-if-changed={}", core.display());
    let text = std::fs::read_to_string(core).expect("the kernel source has core.c");
    let checks: String = [
        "static inline bool is_exception_insn(",
        "static int prepare_emulation(",
    ]
    .iter()
    .map(|begin| function(&text, begin))
    .collect();
    std::fs::write(out.join("kprobe-checks.c"), checks).expect("OUT_DIR can be written");
}

/// The function of a kernel source that begins with the line `begin`.
fn function<'a>(text: &'a str, begin: &str) -> &'a str {
    let from = text
        .find(begin)
        .unwrap_or_else(|| panic!("core.c has no `{begin}`"));
    let rest = &text[from..];
    let end = rest.find("\n}\n").expect("a function ends");
    &rest[..end + 3]
}
