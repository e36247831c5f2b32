// SPDX-License-Identifier: GPL-2.0

//! Safe abstractions that the `kernel` crate lacks.
//!
//! Each file wraps one kernel interface. The files depend on the kernel only, not on
//! ferroprobe, and could move to `rust/kernel`.

mod arch;
pub mod arrivals;
pub mod atomic;
pub mod batch;
mod bindings;
pub mod c_string;
mod calls;
pub mod cgroup;
pub mod clock;
pub mod cold;
pub mod context;
pub mod errno;
pub mod file;
pub mod functions;
pub mod handler;
pub mod interrupt;
pub mod irq_deferred;
pub mod kprobe;
pub mod kretprobe;
pub mod local;
pub mod lockdown;
pub mod mapping;
pub mod memory;
pub mod module;
pub mod nofault;
pub mod oops;
pub mod pages;
pub mod parameters;
pub mod paths;
pub mod per_task;
pub mod percpu;
mod probe_place;
pub mod rcu;
pub mod registration;
pub mod regs;
pub mod scratch;
pub mod serving;
pub mod stack;
pub mod stack_room;
pub mod symbol;
pub mod tasks;
pub mod tracepoint;
pub mod tree;
pub mod unaligned;
pub mod uprobe;
pub mod user;
pub mod user_room;
pub mod vfs;
pub mod wake;
pub mod work;

/// Converts a machine word, the kernel's `unsigned long`, to `u64`: both have 64 bits on
/// the supported architectures.
#[inline(always)]
const fn word(value: usize) -> u64 {
    // CAST: Lossless, see above.
    value as u64
}
