// SPDX-License-Identifier: GPL-2.0

//! The numbers of the current task that a definition can name.

use crate::engine::language::types::Type;
use crate::sys::has_cgroups;

/// Takes the place of an argument's index for the path or the id of the task's cgroup. No event has
/// so many arguments.
pub const CGROUP: u8 = u8::MAX;

/// Takes the place of an argument's index for the pid of the task's process.
pub const TGID: u8 = u8::MAX - 1;

/// Takes the place of an argument's index for the task's pid, in what a beginning leaves.
pub const PID: u8 = u8::MAX - 2;

/// Takes the place of an argument's index for the task's name, in what a beginning leaves.
pub const COMM: u8 = u8::MAX - 3;

/// Returns whether the index of an argument stands for what the task has, not the event.
pub const fn is_of_task(index: u8) -> bool {
    matches!(index, CGROUP | TGID)
}

/// A number of the current task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskNumber {
    /// Its pid, in the initial pid namespace. Definitions name it only of a beginning.
    Thread,
    /// `$tgid`: the pid of its process, in the initial pid namespace.
    Process,
    /// `$nspid`: its pid in its own pid namespace.
    OwnPid,
    /// `$nstgid`: the pid of its process in its own pid namespace.
    OwnProcess,
    /// `$cgroup`: the id of its cgroup in the default hierarchy.
    Cgroup,
}

/// The variables, without their `$`.
const NAMES: [(&[u8], TaskNumber); 4] = [
    (b"tgid", TaskNumber::Process),
    (b"nspid", TaskNumber::OwnPid),
    (b"nstgid", TaskNumber::OwnProcess),
    (b"cgroup", TaskNumber::Cgroup),
];

impl TaskNumber {
    /// Returns the number that the variable `text` stands for; `text` begins with `$`.
    pub(in crate::engine) fn of_variable(text: &[u8]) -> Option<Self> {
        Self::named(text.strip_prefix(b"$")?)
    }

    /// Like [`Self::of_variable`], without the `$`.
    pub(in crate::engine) fn named(name: &[u8]) -> Option<Self> {
        let mut all = NAMES.iter();
        all.find(|(known, _)| *known == name).map(|&(_, it)| it)
    }

    /// Returns why the kernel does not have the number; `None` if it does.
    pub(in crate::engine) fn why_missing(self) -> Option<&'static str> {
        (self == Self::Cgroup && !has_cgroups()).then_some(NO_CGROUPS)
    }

    /// Returns the names of the variables, without their `$`.
    pub(in crate::engine) fn names() -> impl Iterator<Item = &'static [u8]> {
        NAMES.iter().map(|&(name, _)| name)
    }

    /// Returns the default type.
    pub(in crate::engine) fn base(self) -> Type {
        match self {
            Self::Thread | Self::Process | Self::OwnPid | Self::OwnProcess => Type::S32,
            Self::Cgroup => Type::U64,
        }
    }

    /// Returns why it cannot be dereferenced.
    pub(in crate::engine) fn no_address(self) -> &'static str {
        match self {
            Self::Thread | Self::Process | Self::OwnPid | Self::OwnProcess => "a pid is no address",
            Self::Cgroup => "an id is no address",
        }
    }
}

/// Why there is no cgroup to be named, where [`has_cgroups`](crate::sys::has_cgroups) is false.
pub(in crate::engine) const NO_CGROUPS: &str = "this kernel has no cgroups (CONFIG_CGROUPS)";
