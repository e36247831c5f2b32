// SPDX-License-Identifier: GPL-2.0

//! Compiles the kernel's arm64 probe decoder for the host.
//!
//! `FERROPROBE_KERNEL_SOURCE` names a kernel source tree. The files needed are
//! copied from it to the build directory, where the stubs of `c/include` stand
//! in for the rest of the kernel. Without the variable the crate builds without
//! the oracle, and its tests say that they were skipped.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Copied as they are; the second part is the path for `#include`.
const FILES: &[(&str, &str)] = &[
    ("arch/arm64/kernel/probes", "decode-insn.c"),
    ("arch/arm64/kernel/probes", "decode-insn.h"),
    ("arch/arm64/kernel/probes", "simulate-insn.h"),
    ("arch/arm64/include", "asm/insn.h"),
    ("arch/arm64/include", "asm/insn-def.h"),
    ("arch/arm64/include", "asm/brk-imm.h"),
];

/// The one function needed of a file that needs too much of the kernel.
const LIBRARY: &str = "arch/arm64/lib/insn.c";
const FUNCTION: &str = "u32 aarch64_insn_extract_system_reg(u32 insn)\n{";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rustc-check-cfg=cfg(kernel_oracle)");
    println!("cargo::rerun-if-env-changed=FERROPROBE_KERNEL_SOURCE");
    println!("cargo::rerun-if-changed=c");
    let Some(source) = env::var_os("FERROPROBE_KERNEL_SOURCE").map(PathBuf::from) else {
        return Ok(());
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?).join("kernel");
    copy(&source, &out)?;
    cc::Build::new()
        .file("c/oracle.c")
        .include("c/include")
        .include(&out)
        .opt_level(2)
        .flag("-std=gnu11")
        .compile("oracle");
    println!("cargo::rustc-cfg=kernel_oracle");
    Ok(())
}

fn copy(source: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(out.join("asm"))?;
    for (folder, name) in FILES {
        let from = source.join(folder).join(name);
        println!("cargo::rerun-if-changed={}", from.display());
        fs::copy(&from, out.join(name)).map_err(|e| format!("{}: {e}", from.display()))?;
    }
    let from = source.join(LIBRARY);
    println!("cargo::rerun-if-changed={}", from.display());
    let text = fs::read_to_string(&from).map_err(|e| format!("{}: {e}", from.display()))?;
    let (_, rest) = text.split_once(FUNCTION).ok_or("function not found")?;
    let (body, _) = rest.split_once("\n}").ok_or("function not closed")?;
    fs::write(out.join("extract.c"), format!("{FUNCTION}{body}\n}}\n"))?;
    Ok(())
}
