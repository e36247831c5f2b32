// SPDX-License-Identifier: GPL-2.0

//! The ready-made events: a table of definitions of tracepoints that have the names, the fields
//! and the text of the kernel's own events.
//!
//! A row has no cost until its event is first used. The definitions name members and parameters,
//! which are checked against BTF: the event is not available on a kernel that lacks one.
//!
//! Source: the kernel's `include/trace/events`, of 7.2 and 7.3.

mod block;
mod irq;
mod kmem;
mod net;
mod raw_syscalls;
mod row;
mod sched;
mod signal;
mod timer;
mod workqueue;

pub use row::ReadyRow;

/// The events of a group.
pub struct ReadyGroup {
    /// Its name.
    pub name: &'static str,
    /// The events. If rows have the same name, the first whose members the kernel has is used.
    pub rows: &'static [ReadyRow],
}

/// All ready-made events.
pub const GROUPS: &[ReadyGroup] = &[
    ReadyGroup::new("block", block::ROWS),
    ReadyGroup::new("irq", irq::ROWS),
    ReadyGroup::new("kmem", kmem::ROWS),
    ReadyGroup::new("net", net::ROWS),
    ReadyGroup::new("raw_syscalls", raw_syscalls::ROWS),
    ReadyGroup::new("sched", sched::ROWS),
    ReadyGroup::new("signal", signal::ROWS),
    ReadyGroup::new("timer", timer::ROWS),
    ReadyGroup::new("workqueue", workqueue::ROWS),
];

impl ReadyGroup {
    const fn new(name: &'static str, rows: &'static [ReadyRow]) -> Self {
        Self { name, rows }
    }

    /// Returns the group `name`.
    pub fn named(name: &[u8]) -> Option<&'static Self> {
        GROUPS.iter().find(|group| group.name.as_bytes() == name)
    }

    /// Returns the first row of each name.
    pub fn events(&self) -> impl Iterator<Item = &'static ReadyRow> {
        let rows = self.rows;
        rows.iter().enumerate().filter_map(move |(index, row)| {
            let mut before = rows.iter().take(index);
            before.all(|other| other.name != row.name).then_some(row)
        })
    }
}
