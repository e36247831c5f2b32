// SPDX-License-Identifier: GPL-2.0

//! Tasks that begin, end, and run.

use super::{
    context::{self, current, OnCpu},
    handler::{Handler, Next, FILTER, WORD},
    tracepoint::{self, Any, Listener, Only, PointArguments, PointRegistration, Tracepoints, Use},
};
use core::pin::Pin;
use kernel::{prelude::*, sync::Arc};

/// Who is told of tasks that begin and end.
pub trait Follower: Send + Sync + 'static {
    /// Called when the thread `parent` has made the thread `child`, which has not run; both
    /// are pids in the initial namespace.
    ///
    /// Context: any, with preemption disabled.
    fn forked(&self, parent: i32, child: i32);

    /// Called when the thread `pid` has exited for good: its pid may be another thread's soon.
    ///
    /// Context: any, with preemption disabled.
    fn freed(&self, pid: i32);
}

/// Who is told of tasks that run.
pub trait Runs: Send + Sync + 'static {
    /// Called when the thread `pid` of the process `tgid` starts or stops to run; both are
    /// pids in the initial namespace.
    ///
    /// Context: any, with interrupts disabled.
    fn runs(&self, pid: u32, tgid: u32);
}

/// Who is told of tasks that exit.
pub trait Exits: Send + Sync + 'static {
    /// Called in a task that exits: it makes no system call any more.
    ///
    /// Context: process, with preemption disabled.
    fn exits(&self);
}

/// Tells a [`Follower`] of all tasks; no more when dropped.
pub struct TaskWatch<F: Follower> {
    _forks: TaskProbe<Forks<F>>,
    _ends: TaskProbe<Ends<F>>,
}

impl<F: Follower> TaskWatch<F> {
    /// Starts to tell `follower` of tasks.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the kernel has no tracepoints that can be probed; `ENOENT` if it has
    /// others only; `ENOMEM`.
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

/// Tells a [`Runs`] of the tasks that run; no more when dropped.
pub struct SwitchWatch<R: Runs> {
    _switches: TaskProbe<Switches<R>>,
}

impl<R: Runs> SwitchWatch<R> {
    /// Starts to tell `told` of tasks.
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

/// Tells an [`Exits`] of tasks that exit, while it is enabled.
pub struct ExitWatch<E: Exits> {
    exits: TaskProbe<Exiting<E>>,
}

impl<E: Exits> ExitWatch<E> {
    /// Makes a watch that tells `told` of no task yet.
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

    /// Begins or ends to tell of tasks.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, when it is to begin.
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

/// Makes a registration that is not enabled yet.
fn prepare<T: Tell>(points: &Arc<Tracepoints>, tell: T) -> Result<TaskProbe<T>> {
    tracepoint::support().map_err(|_| ENODEV)?;
    let point = points.find(T::POINT)?.ok_or(ENOENT)?;
    PointRegistration::new(points.clone(), &point, Told(tell))
}

/// What a tracepoint tells of a task.
trait Tell: Send + Sync {
    /// The name of the tracepoint.
    const POINT: &'static [u8];
    /// The index of the argument that is the task.
    const TASK: usize;

    /// Tells of the thread `pid` of the process `tgid`.
    fn tell(&self, pid: u32, tgid: u32);
}

struct Forks<F>(Arc<F>);

impl<F: Follower> Tell for Forks<F> {
    const POINT: &'static [u8] = b"sched_process_fork";
    const TASK: usize = 1;

    // The parent is the current task.
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

    // The next task; the current one stops to run.
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

    // It is the current task.
    fn tell(&self, _pid: u32, _tgid: u32) {
        self.0.exits();
    }
}

/// Handles the hits of a tracepoint.
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

// All is done in the first stage.
impl<T: Tell> Handler<Any> for Told<T> {
    fn first(&self) -> u8 {
        FILTER
    }

    fn run<const STAGE: u8>(&self, _arguments: PointArguments<'_>, _here: &OnCpu) -> Next {
        Next::Done
    }

    fn count_missed(&self, _here: &OnCpu) {}
}
