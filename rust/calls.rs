// SPDX-License-Identifier: GPL-2.0

//! Functions of C that ask nothing of their callers: generated bindings call all unsafe.
//!
//! In which context a function may be called is for those that call it to say.

use super::bindings as extra;
use kernel::{
    bindings,
    ffi::{c_int, c_long, c_uint, c_ulong},
};

/// Makes the functions listed safe to call.
macro_rules! ask_nothing {
    ($(fn $from:ident::$name:ident($($argument:ident: $kind:ty)?) $(-> $result:ty)?;)*) => {$(
        #[inline(always)]
        pub(super) fn $name($($argument: $kind)?) $(-> $result)? {
            // SAFETY: All that are listed take a number or nothing, and do what they
            // should with any number.
            unsafe { $from::$name($($argument)?) }
        }
    )*};
}

ask_nothing! {
    fn extra::ferroprobe_cpu_online(cpu: c_uint) -> bool;
    fn extra::ferroprobe_cpu_possible(cpu: c_uint) -> bool;
    fn extra::ferroprobe_per_cpu_offset(cpu: c_uint) -> c_ulong;
    fn extra::ferroprobe_preempt_disable();
    fn extra::ferroprobe_task_size() -> c_ulong;
    fn extra::ferroprobe_kprobes_locked_down() -> c_int;

    fn extra::ferroprobe_counter_hertz() -> u64;
    fn extra::ferroprobe_local_clock() -> u64;
    fn extra::ferroprobe_uptime() -> u64;
    fn bindings::ktime_get_boot_fast_ns() -> u64;
    fn bindings::ktime_get_mono_fast_ns() -> u64;
    fn bindings::ktime_get_raw_fast_ns() -> u64;
    fn bindings::ktime_get_tai_fast_ns() -> u64;

    fn bindings::schedule_timeout(ticks: c_long) -> c_long;
    fn bindings::synchronize_rcu();
}
