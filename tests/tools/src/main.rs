// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe-insn`: the decoders and the judgement of places, on files.
//!
//! It serves both architectures on either. The modes `walk`, `lengths` and
//! `verdicts` are for programs that compare decoders; `map` is for people, and
//! with `--json` for programs.

mod btf;
mod elf;
mod extents;
mod facts;
mod map;
mod raw;
mod unpack;

use clap::{Parser, Subcommand, ValueEnum};
use ferroprobe_engine::engine::code::arch::Arch;
use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Where in a kernel or module a probe can be placed, from its file.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    mode: Mode,
}

#[derive(Subcommand)]
enum Mode {
    /// Decode raw code from its first byte to its last; print how many
    /// instructions there are
    Walk {
        /// Whose instructions they are
        #[arg(long)]
        arch: ArchName,
        /// The code, without headers
        file: PathBuf,
    },
    /// Write one byte for every offset of raw code: the length of the
    /// instruction decoded there, 0 if none
    Lengths {
        /// Whose instructions they are
        #[arg(long)]
        arch: ArchName,
        /// The code, without headers
        file: PathBuf,
    },
    /// Write one byte for every instruction word: 0 rejected by the kernel,
    /// 1 simulated, 2 stepped out of line
    Verdicts {
        /// Whose instructions they are
        #[arg(long)]
        arch: ArchName,
        /// The first word
        #[arg(value_parser = number)]
        start: u64,
        /// How many words
        #[arg(value_parser = number)]
        count: u64,
    },
    /// Print every instruction of a function, and whether a probe can be
    /// placed there
    Map(map::Arguments),
    /// Compare what is called probeable with the sizes of the symbols
    Extents {
        /// A kernel (vmlinux) or module that was not stripped
        file: PathBuf,
    },
    /// Write the kernel inside a bootable image (vmlinuz), uncompressed
    Unpack {
        /// The image
        file: PathBuf,
    },
    /// Write the type information (BTF) of a kernel
    Btf {
        /// Its bootable image, or vmlinux
        file: PathBuf,
    },
}

/// The architectures, by the names that `uname -m` and the kernel give them.
#[derive(Clone, Copy, ValueEnum)]
enum ArchName {
    #[value(name = "x86_64")]
    X86_64,
    #[value(alias = "aarch64")]
    Arm64,
}

impl From<ArchName> for Arch {
    fn from(name: ArchName) -> Self {
        match name {
            ArchName::X86_64 => Self::X86_64,
            ArchName::Arm64 => Self::Arm64,
        }
    }
}

/// A number in decimal, or in hexadecimal behind `0x`.
fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| error.to_string())
}

/// What a mode that failed has to say.
type Failure = Box<dyn Error>;

/// The whole of the file at `path`.
fn read(path: &PathBuf) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn run(mode: Mode, out: &mut impl Write) -> Result<(), Failure> {
    match mode {
        Mode::Walk { arch, file } => raw::walk(arch.into(), &read(&file)?, out)?,
        Mode::Lengths { arch, file } => raw::lengths(arch.into(), &read(&file)?, out)?,
        Mode::Verdicts { arch, start, count } => raw::verdicts(arch.into(), start, count, out)?,
        Mode::Map(arguments) => {
            let data = read(&arguments.file)?;
            map::run(&arguments, &unpack::unpack(&data)?, out)?;
        }
        Mode::Extents { file } => extents::run(&read(&file)?, out)?,
        Mode::Unpack { file } => {
            let data = read(&file)?;
            out.write_all(&unpack::unpack(&data)?)?;
        }
        Mode::Btf { file } => {
            let data = read(&file)?;
            out.write_all(btf::find(&unpack::unpack(&data)?)?)?;
        }
    }
    Ok(out.flush()?)
}

fn main() -> ExitCode {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let Err(failure) = run(Cli::parse().mode, &mut out) else {
        return ExitCode::SUCCESS;
    };
    // Whoever reads our output may stop when it has seen enough.
    let closed = failure
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    if closed {
        return ExitCode::SUCCESS;
    }
    eprintln!("ferroprobe-insn: {failure}");
    ExitCode::FAILURE
}
