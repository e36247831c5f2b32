// SPDX-License-Identifier: GPL-2.0

//! Tasks that begin, end, and run.

use super::{
    context::{self, current, OnCpu},
    registration::Next,
    tracepoint::{self, Arguments, Handler, Registration, Tracepoints, Use},
};
use core::{convert::Infallible, pin::Pin};
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

/// Tells a [`Follower`] of all tasks; no more when dropped.
pub struct Watch<F: Follower> {
    _forks: Registered<Forks<F>>,
    _ends: Registered<Ends<F>>,
}

impl<F: Follower> Watch<F> {
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
    _switches: Registered<Switches<R>>,
}

impl<R: Runs> SwitchWatch<R> {
    /// Starts to tell `told` of tasks.
    ///
    /// # Errors
    ///
    /// As for [`Watch::new`].
    ///
    /// Context: process, may sleep; the same for the drop.
    pub fn new(points: &Arc<Tracepoints>, told: Arc<R>) -> Result<Self> {
        Ok(Self {
            _switches: register(points, Switches(told))?,
        })
    }
}

type Registered<T> = Pin<KBox<Registration<Told<T>>>>;

fn register<T: Tell>(points: &Arc<Tracepoints>, tell: T) -> Result<Registered<T>> {
    tracepoint::support().map_err(|_| ENODEV)?;
    let point = points.find(T::POINT)?.ok_or(ENOENT)?;
    let registration = Registration::new(points.clone(), &point, Told(tell))?;
    registration.set_enabled(true)?;
    Ok(registration)
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

/// Handles the hits of a tracepoint.
struct Told<T>(T);

impl<T: Tell> Handler for Told<T> {
    type Unsettled<'a>
        = Infallible
    where
        T: 'a;

    fn uses(&self) -> Use {
        Use::One(T::TASK)
    }

    fn serve_fast<'a>(&'a self, task: Option<u64>, _here: &'a OnCpu) -> Next<Infallible> {
        if let Some((pid, tgid)) = task.and_then(context::ids_of) {
            self.0.tell(pid, tgid);
        }
        Next::Done
    }

    fn rejects(&self, _arguments: Arguments<'_>, _here: &OnCpu) -> bool {
        true
    }

    fn serve_quietly(&self, _arguments: Arguments<'_>, _here: &OnCpu) -> Next<Infallible> {
        Next::Done
    }

    // All is done in the first step.
    fn serve(&self, _arguments: Arguments<'_>, _here: &OnCpu) {}

    fn count_missed(&self, _here: &OnCpu) {}

    fn settle(&self, unsettled: Infallible) {
        match unsettled {}
    }

    fn finish(&self, _here: &OnCpu) {}
}
