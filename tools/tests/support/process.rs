// SPDX-License-Identifier: GPL-2.0

//! Runs a program from breakpoint to breakpoint.  It asks to be traced and stops itself.

use nix::libc::user_regs_struct;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{waitpid, WaitStatus};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command};

/// A process that is traced.
pub struct Process {
    child: Child,
    pid: Pid,
    /// Its memory.
    pub memory: File,
    /// The bytes below the breakpoints.
    originals: HashMap<u64, u8>,
}

const BREAKPOINT: u8 = 0xcc;

impl Process {
    /// Starts the program at `path`, which has stopped itself when this returns.
    pub fn start(path: &Path) -> Self {
        let child = Command::new(path).spawn().expect("a process");
        let pid = Pid::from_raw(child.id().try_into().expect("a pid"));
        assert_eq!(
            waitpid(pid, None),
            Ok(WaitStatus::Stopped(pid, Signal::SIGSTOP))
        );
        let memory = OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"));
        Self {
            child,
            pid,
            memory: memory.expect("its memory"),
            originals: HashMap::new(),
        }
    }

    fn put(&self, address: u64, byte: u8) {
        self.memory.write_all_at(&[byte], address).expect("text");
    }

    /// Sets a breakpoint.
    pub fn stop_at(&mut self, address: u64) {
        if self.originals.contains_key(&address) {
            return;
        }
        let mut original = [0];
        self.memory
            .read_exact_at(&mut original, address)
            .expect("text");
        self.originals.insert(address, original[0]);
        self.put(address, BREAKPOINT);
    }

    /// Runs to the end, and calls `hit` at each breakpoint with its address and the registers.
    pub fn run(mut self, mut hit: impl FnMut(&File, u64, user_regs_struct)) {
        loop {
            ptrace::cont(self.pid, None).expect("to continue");
            match waitpid(self.pid, None).expect("to wait") {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
                WaitStatus::Exited(_, 0) => break,
                other => panic!("{other:?}"),
            }
            let mut registers = ptrace::getregs(self.pid).expect("registers");
            registers.rip -= 1;
            let address = registers.rip;
            hit(&self.memory, address, registers);
            ptrace::setregs(self.pid, registers).expect("registers");
            self.put(address, self.originals[&address]);
            ptrace::step(self.pid, None).expect("to step");
            let stopped = WaitStatus::Stopped(self.pid, Signal::SIGTRAP);
            assert_eq!(waitpid(self.pid, None), Ok(stopped));
            self.put(address, BREAKPOINT);
        }
        // It was waited for already.
        let _ = self.child.try_wait();
    }
}
