// SPDX-License-Identifier: GPL-2.0

//! The properties of the kernel and the location that compiling needs.

use crate::engine::code::arch::Arch;
use crate::engine::definition::kind::{ArgumentsFrom, ProbeKind};
use crate::engine::program::btf::{Btf, BtfFunction, Parameter};
use crate::engine::refusal::suggest::distance::Nearest;

/// Maximum number of arguments of a tracepoint: the kernel's limit for functions that BPF traces.
pub const MAX_TRACEPOINT_ARGUMENTS: u8 = 12;

/// Looks up data symbols.
pub trait Symbols {
    /// Returns the address of the symbol called `name`, or `None`.
    fn address(&mut self, name: &[u8]) -> Option<u64>;

    /// Returns whether the symbol at `address` is a per-CPU variable.
    fn is_per_cpu(&mut self, address: u64) -> bool;

    /// Returns the address of `cpu`'s instance of the per-CPU variable at `address`.
    fn of_cpu(&mut self, address: u64, cpu: u32) -> CpuInstance;

    /// Passes data symbols to `nearest`, for a name that does not exist. May take milliseconds.
    fn each_similar_data(&mut self, nearest: &mut Nearest<'_>);
}

/// A CPU's instance of a per-CPU variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuInstance {
    /// Its address.
    At(u64),
    /// There is no such CPU; the last one has this number.
    Last(u32),
}

/// Offsets of the members that lead to a path's last component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathOffsets {
    /// Offset of `d_name.name` in `struct dentry`.
    pub dentry_name: u32,
    /// Offset of `f_path.dentry` in `struct file`.
    pub file_dentry: u32,
}

/// The properties of the kernel and the location that compiling needs.
pub struct Target<'a> {
    /// The architecture.
    pub arch: Arch,
    /// Whether the location is the entry of a function.
    pub at_entry: bool,
    /// Where the arguments of a static point of a program are, if the location is one, see
    /// [`point`](crate::engine::code::arch::point).
    pub point: Option<&'a [u8]>,
    /// Looks up the symbols of `@SYMBOL`.
    pub symbols: &'a mut dyn Symbols,
    /// Structure offsets for `%pd` and `%pD`.
    pub paths: PathOffsets,
    /// Type information of the module that contains the location, or of the kernel.
    pub btf: Option<Btf<'a>>,
    /// Name of the probed function, without its module, or of the function with the type of a
    /// tracepoint's probes; `None` if the probe is inside a function.
    pub function: Option<&'a [u8]>,
}

/// Returns the parameters of `function` that a definition of `kind` can name. A tracepoint's probe
/// has one parameter of its own before them.
pub(super) fn parameters<'a>(
    function: &BtfFunction<'a>,
    kind: ProbeKind,
) -> impl Iterator<Item = Parameter<'a>> + 'a {
    function
        .parameters()
        .skip(usize::from(kind.arguments == ArgumentsFrom::Passed))
}
