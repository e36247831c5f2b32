// SPDX-License-Identifier: GPL-2.0

//! Notification of tasks that start, exit, and run.

use super::{
    context::{self, current, OnCpu},
    handler::{Handler, Next, FILTER, WORD},
    tracepoint::{self, Any, Listener, Only, PointArguments, PointRegistration, Tracepoints, Use},
};
use core::pin::Pin;
use kernel::{prelude::*, sync::Arc};

/// Callbacks for tasks that start and exit.
pub trait Follower: Send + Sync + 'static {
    /// Called when the thread `parent` has created the thread `child`, which has not run yet; both
    /// are pids in the initial namespace.
    ///
    /// Context: any, with preemption disabled.
    fn forked(&self, parent: i32, child: i32);

    /// Called when the thread `pid` is gone: its pid may be reused soon.
    ///
    /// Context: any, with preemption disabled.
    fn freed(&self, pid: i32);
}

/// Callback for tasks that run.
pub trait Runs: Send + Sync + 'static {
    /// Called when the thread `pid` of the process `tgid` starts or stops running; both are pids in
    /// the initial namespace.
    ///
    /// Context: any, with interrupts disabled.
    fn runs(&self, pid: u32, tgid: u32);
}

/// Callback for tasks that exit.
pub trait Exits: Send + Sync + 'static {
    /// Called in a task that exits: it makes no further system calls.
    ///
    /// Context: process, with preemption disabled.
    fn exits(&self);
}

/// Notifies a [`Follower`] of all tasks until it is dropped.
pub struct TaskWatch<F: Follower> {
    _forks: TaskProbe<Forks<F>>,
    _ends: TaskProbe<Ends<F>>,
}

impl<F: Follower> TaskWatch<F> {
    /// Starts to notify `follower`.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the kernel has no tracepoints that can be probed; `ENOENT` if it lacks these;
    /// `ENOMEM`.
    ///
    /// Context: process, may sleep; the same for the drop.
    pub fn new(points: &Arc<Tracepoints>, follower: Arc<F>) -> Result<Self> {
        let ends = register(points, Ends(follower.clone()))?;
        Ok(Self {
            _forks: register(points, Forks(follower))?,
            _ends: ends,
        })
    }
}

/// Notifies a [`Runs`] of tasks that run until it is dropped.
pub struct SwitchWatch<R: Runs> {
    _switches: TaskProbe<Switches<R>>,
}

impl<R: Runs> SwitchWatch<R> {
    /// Starts to notify `told`.
    ///
    /// # Errors
    ///
    /// As for [`TaskWatch::new`].
    ///
    /// Context: process, may sleep; the same for the drop.
    pub fn new(points: &Arc<Tracepoints>, told: Arc<R>) -> Result<Self> {
        Ok(Self {
            _switches: register(points, Switches(told))?,
        })
    }
}

/// Notifies an [`Exits`] of tasks that exit, while it is enabled.
pub struct ExitWatch<E: Exits> {
    exits: TaskProbe<Exiting<E>>,
}

impl<E: Exits> ExitWatch<E> {
    /// Makes a disabled watch for `told`.
    ///
    /// # Errors
    ///
    /// As for [`TaskWatch::new`].
    ///
    /// Context: process, may sleep; the same for the drop.
    pub fn new(points: &Arc<Tracepoints>, told: Arc<E>) -> Result<Self> {
        Ok(Self {
            exits: prepare(points, Exiting(told))?,
        })
    }

    /// Enables or disables the notifications.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, when enabling.
    ///
    /// Context: process, may sleep.
    pub fn set_enabled(&self, enabled: bool) -> Result {
        self.exits.set_enabled(enabled)
    }
}

type TaskProbe<T> = Pin<KBox<PointRegistration<Told<T>>>>;

fn register<T: Tell>(points: &Arc<Tracepoints>, tell: T) -> Result<TaskProbe<T>> {
    let registration = prepare(points, tell)?;
    registration.set_enabled(true)?;
    Ok(registration)
}

/// Makes a disabled registration.
fn prepare<T: Tell>(points: &Arc<Tracepoints>, tell: T) -> Result<TaskProbe<T>> {
    tracepoint::support().map_err(|_| ENODEV)?;
    let point = points.find(T::POINT)?.ok_or(ENOENT)?;
    PointRegistration::new(points.clone(), &point, Told(tell))
}

/// The use of a tracepoint for notifications of tasks.
trait Tell: Send + Sync {
    /// The name of the tracepoint.
    const POINT: &'static [u8];
    /// The index of its argument that is the task.
    const TASK: usize;

    /// Notifies of the thread `pid` of the process `tgid`.
    fn tell(&self, pid: u32, tgid: u32);
}

struct Forks<F>(Arc<F>);

impl<F: Follower> Tell for Forks<F> {
    const POINT: &'static [u8] = b"sched_process_fork";
    const TASK: usize = 1;

    // The current task is the parent.
    fn tell(&self, pid: u32, _tgid: u32) {
        // CAST: Pids are positive.
        self.0.forked(current().pid(), pid as i32);
    }
}

struct Ends<F>(Arc<F>);

impl<F: Follower> Tell for Ends<F> {
    const POINT: &'static [u8] = b"sched_process_free";
    const TASK: usize = 0;

    fn tell(&self, pid: u32, _tgid: u32) {
        // CAST: Pids are positive.
        self.0.freed(pid as i32);
    }
}

struct Switches<R>(Arc<R>);

impl<R: Runs> Tell for Switches<R> {
    const POINT: &'static [u8] = b"sched_switch";
    const TASK: usize = 2;

    // This is the next task; the current one stops running.
    fn tell(&self, pid: u32, tgid: u32) {
        let (stopped, process) = current().ids();
        self.0.runs(stopped, process);
        self.0.runs(pid, tgid);
    }
}

struct Exiting<E>(Arc<E>);

impl<E: Exits> Tell for Exiting<E> {
    const POINT: &'static [u8] = b"sched_process_exit";
    const TASK: usize = 0;

    // This is the current task.
    fn tell(&self, _pid: u32, _tgid: u32) {
        self.0.exits();
    }
}

/// The handler of such a tracepoint.
struct Told<T>(T);

impl<T: Tell> Listener for Told<T> {
    fn uses(&self) -> Use {
        Use::One(T::TASK)
    }

    fn begins_with(&self) -> u8 {
        FILTER
    }
}

impl<T: Tell> Handler<Only> for Told<T> {
    fn first(&self) -> u8 {
        WORD
    }

    fn run<const STAGE: u8>(&self, task: u64, _here: &OnCpu) -> Next {
        if let (WORD, Some((pid, tgid))) = (STAGE, context::ids_of(task)) {
            self.0.tell(pid, tgid);
        }
        Next::Done
    }

    fn count_missed(&self, _here: &OnCpu) {}
}

// The first stage does everything.
impl<T: Tell> Handler<Any> for Told<T> {
    fn first(&self) -> u8 {
        FILTER
    }

    fn run<const STAGE: u8>(&self, _arguments: PointArguments<'_>, _here: &OnCpu) -> Next {
        Next::Done
    }

    fn count_missed(&self, _here: &OnCpu) {}
}
