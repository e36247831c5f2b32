// SPDX-License-Identifier: GPL-2.0

//! Safe abstractions over what the `kernel` crate lacks.
//!
//! Each file wraps one kernel interface. Nothing here knows of ferroprobe: the
//! files name the kernel only, and could move to `rust/kernel` as they are.

#[cfg_attr(target_arch = "x86_64", path = "arch/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "arch/arm64.rs")]
mod arch;
pub mod atomic;
mod bindings;
mod calls;
pub mod clock;
pub mod context;
pub mod debugfs;
pub mod kprobe;
pub mod kretprobe;
pub mod local;
pub mod lockdown;
pub mod mapping;
pub mod module;
pub mod nofault;
pub mod pages;
pub mod paths;
pub mod percpu;
pub mod rcu;
pub mod regs;
pub mod scratch;
pub mod symbol;
pub mod unaligned;
pub mod vfs;
pub mod wake;
pub mod work;

/// A machine word as the kernel's `unsigned long` and as our `u64`: both have
/// 64 bits on the architectures supported.
#[inline(always)]
const fn word(value: usize) -> u64 {
    // CAST: Lossless, see above.
    value as u64
}
