// SPDX-License-Identifier: GPL-2.0

//! Safe wrappers for C functions without preconditions; the generated bindings make every
//! call unsafe.
//!
//! Each caller is responsible for the context in which a function may be called.

use super::bindings as extra;
use kernel::{
    bindings,
    ffi::{c_int, c_uint, c_ulong},
};

/// Defines safe wrappers for the listed functions.
macro_rules! ask_nothing {
    ($(fn $from:ident::$name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {$(
        #[inline(always)]
        pub(super) fn $name($($argument: $kind),*) $(-> $result)? {
            // SAFETY: All listed functions take numbers or nothing, and are defined for any.
            unsafe { $from::$name($($argument),*) }
        }
    )*};
}

ask_nothing! {
    fn extra::ferroprobe_cpu_online(cpu: c_uint) -> bool;
    fn extra::ferroprobe_cpu_possible(cpu: c_uint) -> bool;
    fn extra::ferroprobe_cpu_present(cpu: c_uint) -> bool;
    fn extra::ferroprobe_memory_suffices(size: usize) -> bool;
    fn extra::ferroprobe_per_cpu_offset(cpu: c_uint) -> c_ulong;
    fn extra::ferroprobe_fatal_signal_pending() -> bool;
    fn extra::ferroprobe_cond_resched();
    fn extra::ferroprobe_oops_end();
    fn extra::ferroprobe_arrivals_end();
    fn extra::ferroprobe_parameter(which: c_uint, at: c_uint) -> c_int;
    fn extra::ferroprobe_release(at: c_uint) -> c_int;
    fn extra::ferroprobe_preempt_disable();
    fn extra::ferroprobe_tracepoints_supported() -> c_int;
    fn extra::ferroprobe_tracepoints_synchronize(faultable: bool);
    fn extra::ferroprobe_wait_for_faultable_probes() -> bool;
    fn extra::ferroprobe_functions_supported() -> c_int;
    fn extra::ferroprobe_functions_unregister(which: u32) -> c_int;
    fn extra::ferroprobe_functions_end();
    fn extra::ferroprobe_functions_forget(which: u32);
    fn extra::ferroprobe_returns_supported() -> bool;
    fn extra::ferroprobe_fs_end();
    fn extra::ferroprobe_late_dirs_end();
    fn extra::ferroprobe_syscalls() -> c_uint;
    fn extra::ferroprobe_task_size() -> c_ulong;
    fn extra::ferroprobe_kprobes_locked_down() -> c_int;
    fn extra::ferroprobe_debugfs_locked_down() -> c_int;
    fn extra::ferroprobe_debugfs_is_mounted() -> bool;

    fn extra::ferroprobe_counter_hertz() -> u64;
    fn extra::ferroprobe_strip_code(pointer: u64) -> u64;
    fn extra::ferroprobe_stack_learn(symbols: extra::ferroprobe_stack_symbols);
    fn extra::ferroprobe_stack_forget();
    fn extra::ferroprobe_local_clock() -> u64;
    fn extra::ferroprobe_uptime() -> u64;
    fn extra::ferroprobe_watch_sleep();
    fn extra::ferroprobe_unwatch_sleep();
    fn extra::ferroprobe_sleeps() -> u64;
    fn bindings::ktime_get_boot_fast_ns() -> u64;
    fn bindings::ktime_get_mono_fast_ns() -> u64;
    fn bindings::ktime_get_raw_fast_ns() -> u64;
    fn bindings::ktime_get_tai_fast_ns() -> u64;

    fn extra::ferroprobe_uprobes_wait();
    fn extra::ferroprobe_wait_for_hotplug();
    fn bindings::synchronize_rcu();
}
