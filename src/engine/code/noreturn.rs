// SPDX-License-Identifier: GPL-2.0

//! Functions that never return.
//!
//! Neither the symbol table nor BTF marks them. The list has functions that are likely to be
//! probed: some that the kernel declares `__noreturn` (`tools/objtool/noreturns.h`), and the system
//! calls that end in them.

/// Sorted by name.
const NAMES: &[&str] = &[
    "__arm64_sys_exit",
    "__arm64_sys_exit_group",
    "__fortify_panic",
    "__ia32_sys_exit",
    "__ia32_sys_exit_group",
    "__stack_chk_fail",
    "__x64_sys_exit",
    "__x64_sys_exit_group",
    "arch_cpu_idle_dead",
    "cpu_startup_entry",
    "do_exit",
    "do_group_exit",
    "do_task_dead",
    "kthread_complete_and_exit",
    "kthread_exit",
    "make_task_dead",
    "nmi_panic_self_stop",
    "panic",
    "panic_smp_self_stop",
    "rewind_stack_and_make_dead",
    "usercopy_abort",
    "vpanic",
];

/// Returns whether the function called `name` is known never to return.
pub fn is_noreturn(name: &[u8]) -> bool {
    NAMES.iter().any(|known| known.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_found() {
        assert!(NAMES.is_sorted());
        assert!(NAMES.iter().all(|name| is_noreturn(name.as_bytes())));
        assert!(!is_noreturn(b"vfs_read") && !is_noreturn(b"do_exit_"));
    }
}
