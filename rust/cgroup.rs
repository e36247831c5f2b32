// SPDX-License-Identifier: GPL-2.0

//! The current task's cgroup in the default hierarchy, cgroup v2.
//!
//! Everything is read as memory that may not be mapped: the task may be moved meanwhile, and its
//! former cgroup freed.
//!
//! C header: [`include/linux/cgroup-defs.h`](srctree/include/linux/cgroup-defs.h)

use super::{nofault, word};
use core::mem;
use kernel::bindings;

/// Whether the kernel has cgroups.
pub const EXIST: bool = cfg!(CONFIG_CGROUPS);

/// Maximum number of levels below the root.
const MAX_LEVELS: usize = 128;

/// Returns the id of the current task's cgroup: what `bpf_get_current_cgroup_id()` returns, the
/// inode number of its directory. 0 if the kernel has no cgroups.
///
/// Context: any, with preemption disabled.
#[inline(never)]
pub fn id() -> u64 {
    let id = CgroupNode::of_current().and_then(|node| node.word(mem::offset_of!(Kernfs, id)));
    id.unwrap_or(0)
}

/// Writes the path of the current task's cgroup, from the root of the hierarchy, and a NUL,
/// skipping the first `skip` bytes. Returns the number of bytes; `out.len()` means that it may not
/// have fit. `None` if the path cannot be read, or has more than 128 levels.
///
/// Context: any, with preemption disabled.
#[inline(never)]
pub fn write_path(skip: usize, out: &mut [u8]) -> Option<usize> {
    let leaf = CgroupNode::of_current()?;
    let mut length = 0usize;
    leaf.each_name(|_, size| {
        length = length.checked_add(size)?.checked_add(1)?;
        Some(())
    })?;
    // The root has no name.
    let length = length.max(1);
    let mut end = length;
    let mut part = PathPart { skip, out };
    part.put(0, b'/');
    leaf.each_name(|name, size| {
        let start = end.checked_sub(size)?;
        part.read(name, start, end)?;
        end = start.checked_sub(1)?;
        part.put(end, b'/');
        Some(())
    })?;
    // Otherwise the length has changed, and part of `out` would stay unwritten.
    if end > 0 && length > 1 {
        return None;
    }
    part.put(length, 0);
    let left = length.saturating_sub(skip).saturating_add(1);
    Some(left.min(part.out.len()))
}

type Kernfs = bindings::kernfs_node;

/// Where a node has its parent.
#[cfg(have_kernfs_parent_rcu)]
const PARENT: usize = mem::offset_of!(Kernfs, __parent);
#[cfg(not(have_kernfs_parent_rcu))]
const PARENT: usize = mem::offset_of!(Kernfs, parent);

/// The address of a `struct kernfs_node`; 0 if there is none.
#[derive(Clone, Copy)]
struct CgroupNode(u64);

impl CgroupNode {
    #[cfg(CONFIG_CGROUPS)]
    fn of_current() -> Option<Self> {
        let task = Self(super::context::current().address());
        let css_set = task.word(mem::offset_of!(bindings::task_struct, cgroups))?;
        let cgroup = Self(css_set).word(mem::offset_of!(bindings::css_set, dfl_cgrp))?;
        let node = Self(cgroup).word(mem::offset_of!(bindings::cgroup, kn))?;
        Some(Self(node))
    }

    #[cfg(not(CONFIG_CGROUPS))]
    fn of_current() -> Option<Self> {
        None
    }

    /// Reads the word `offset` bytes from the address.
    fn word(self, offset: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        let at = self.0.wrapping_add(word(offset));
        nofault::read_word(at, &mut bytes).then(|| u64::from_ne_bytes(bytes))
    }

    /// Calls `each` with address and length of this node's name, and then of its ancestors' names,
    /// without the root.
    #[inline(always)]
    fn each_name(self, mut each: impl FnMut(u64, usize) -> Option<()>) -> Option<()> {
        let mut at = self;
        for _ in 0..=MAX_LEVELS {
            let parent = at.word(PARENT)?;
            if parent == 0 {
                return Some(());
            }
            let name = at.word(mem::offset_of!(Kernfs, name))?;
            each(name, length_of(name)?)?;
            at = Self(parent);
        }
        None
    }
}

/// Returns the length of the string at `address`, without its NUL.
#[inline(never)]
fn length_of(address: u64) -> Option<usize> {
    const PIECE: usize = 64;
    // A name in a file system has at most 255 bytes.
    const PIECES: usize = 5;
    let mut piece = [0; PIECE];
    for done in (0..PIECES).map(|n| n.wrapping_mul(PIECE - 1)) {
        let length = nofault::read_string(address.wrapping_add(word(done)), false, &mut piece)?;
        if length < PIECE {
            return done.wrapping_add(length).checked_sub(1);
        }
    }
    None
}

/// The part of a text from byte `skip` on, as far as there is room.
struct PathPart<'a> {
    skip: usize,
    out: &'a mut [u8],
}

impl PathPart<'_> {
    /// Writes byte `at` of the text.
    fn put(&mut self, at: usize, byte: u8) {
        let at = at.checked_sub(self.skip);
        if let Some(to) = at.and_then(|at| self.out.get_mut(at)) {
            *to = byte;
        }
    }

    /// Reads the bytes from `start` to `end` of the text from `address`.
    fn read(&mut self, address: u64, start: usize, end: usize) -> Option<()> {
        let first = start.max(self.skip);
        let last = end.min(self.skip.saturating_add(self.out.len()));
        let room = first.wrapping_sub(self.skip)..last.wrapping_sub(self.skip);
        let Some(to) = self.out.get_mut(room).filter(|to| !to.is_empty()) else {
            return Some(());
        };
        let from = address.wrapping_add(word(first.wrapping_sub(start)));
        nofault::read_kernel(from, to).then_some(())
    }
}
