// SPDX-License-Identifier: GPL-2.0

//! The system calls of 32-bit programs, which have other numbers.
//!
//! Made by `tests/gen/compat-calls.awk` of the kernel's tables of system calls: the names of the
//! 64-bit calls that have the same arguments, by the number of the 32-bit call, from 0 on.

use crate::engine::code::arch::Arch;

/// x86, `int 0x80`.
const X86: &str = "\
    restart_syscall exit fork read write open close - creat link unlink execve chdir - mknod \
    chmod - - - lseek getpid mount - - - - ptrace alarm - pause - - - access - - sync kill \
    rename mkdir rmdir dup pipe times - brk - - - - - acct umount - ioctl fcntl - setpgid - - \
    umask chroot ustat dup2 getppid getpgrp setsid - - - - - - - sethostname setrlimit - \
    getrusage gettimeofday settimeofday - - - symlink - readlink - swapon reboot - - munmap \
    truncate ftruncate fchmod - getpriority setpriority - statfs fstatfs ioperm - syslog \
    setitimer getitimer newstat newlstat newfstat - iopl vhangup - - wait4 swapoff sysinfo - \
    fsync - - setdomainname newuname modify_ldt - mprotect - - init_module delete_module - \
    quotactl getpgid fchdir - sysfs personality - - - - getdents select flock msync readv \
    writev getsid fdatasync - mlock munlock mlockall munlockall sched_setparam sched_getparam \
    sched_setscheduler sched_getscheduler sched_yield sched_get_priority_max \
    sched_get_priority_min - - mremap - - - - poll - - - prctl rt_sigreturn rt_sigaction \
    rt_sigprocmask rt_sigpending - rt_sigqueueinfo rt_sigsuspend - - - getcwd capget capset \
    sigaltstack - - - vfork getrlimit - - - - - - lchown getuid getgid geteuid getegid setreuid \
    setregid getgroups setgroups fchown setresuid getresuid setresgid getresgid chown setuid \
    setgid setfsuid setfsgid pivot_root mincore madvise getdents64 - - - gettid - setxattr \
    lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr \
    removexattr lremovexattr fremovexattr tkill sendfile64 - sched_setaffinity \
    sched_getaffinity - - io_setup io_destroy - io_submit io_cancel - - exit_group - \
    epoll_create epoll_ctl epoll_wait remap_file_pages set_tid_address timer_create - - \
    timer_getoverrun timer_delete - - - - - - tgkill - - - mbind get_mempolicy set_mempolicy \
    mq_open mq_unlink - - mq_notify mq_getsetattr kexec_load waitid - add_key request_key \
    keyctl ioprio_set ioprio_get inotify_init inotify_add_watch inotify_rm_watch migrate_pages \
    openat mkdirat mknodat fchownat - - unlinkat renameat linkat symlinkat readlinkat fchmodat \
    faccessat - - unshare set_robust_list get_robust_list splice - tee vmsplice move_pages \
    getcpu epoll_pwait - signalfd timerfd_create eventfd - - - signalfd4 eventfd2 epoll_create1 \
    dup3 pipe2 inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open - fanotify_init \
    fanotify_mark prlimit64 name_to_handle_at open_by_handle_at - syncfs sendmmsg setns \
    process_vm_readv process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2 \
    seccomp getrandom memfd_create bpf execveat socket socketpair bind connect listen accept4 \
    getsockopt setsockopt getsockname getpeername sendto sendmsg recvfrom recvmsg shutdown \
    userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc \
    pkey_free statx arch_prctl - rseq - - - - - - semget semctl shmget shmctl shmat shmdt \
    msgget msgsnd msgrcv msgctl clock_gettime clock_settime clock_adjtime clock_getres \
    clock_nanosleep timer_gettime timer_settime timerfd_gettime timerfd_settime utimensat \
    pselect6 ppoll - io_pgetevents recvmmsg mq_timedsend mq_timedreceive semtimedop \
    rt_sigtimedwait futex sched_rr_get_interval pidfd_send_signal io_uring_setup io_uring_enter \
    io_uring_register open_tree move_mount fsopen fsconfig fsmount fspick pidfd_open clone3 \
    close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2 mount_setattr \
    quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret \
    process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack \
    futex_wake futex_wait futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr \
    lsm_list_modules mseal setxattrat getxattrat listxattrat removexattrat open_tree_attr \
    file_getattr file_setattr listns rseq_slice_yield fchroot";

/// arm64, AArch32.
const ARM64: &str = "\
    restart_syscall exit - read write - close - - - - execve chdir - - - - - - lseek getpid \
    mount - - - - ptrace - - - - - - - - - sync kill - - - dup - times - brk - - - - - acct \
    umount - ioctl fcntl - setpgid - - umask chroot - - getppid - setsid - - - - - - - \
    sethostname setrlimit - getrusage gettimeofday settimeofday - - - - - - - swapon reboot - - \
    munmap truncate ftruncate fchmod - getpriority setpriority - statfs fstatfs - - syslog \
    setitimer getitimer - - newfstat - - vhangup - - wait4 swapoff sysinfo - fsync - clone \
    setdomainname newuname - - mprotect - - init_module delete_module - quotactl getpgid fchdir \
    - - personality - - - - - - flock msync readv writev getsid fdatasync - mlock munlock \
    mlockall munlockall sched_setparam sched_getparam sched_setscheduler sched_getscheduler \
    sched_yield sched_get_priority_max sched_get_priority_min - - mremap - - - - - - - - prctl \
    - rt_sigaction rt_sigprocmask rt_sigpending - rt_sigqueueinfo rt_sigsuspend - - - getcwd \
    capget capset sigaltstack - - - - getrlimit - - - - - - - getuid getgid geteuid getegid \
    setreuid setregid getgroups setgroups fchown setresuid getresuid setresgid getresgid - \
    setuid setgid setfsuid setfsgid getdents64 pivot_root mincore madvise - - - gettid - \
    setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr \
    removexattr lremovexattr fremovexattr tkill sendfile64 - sched_setaffinity \
    sched_getaffinity io_setup io_destroy - io_submit io_cancel exit_group - - epoll_ctl - \
    remap_file_pages - - set_tid_address timer_create - - timer_getoverrun timer_delete - - - - \
    - - tgkill - - - - - mq_open mq_unlink - - mq_notify mq_getsetattr waitid socket bind \
    connect listen accept getsockname getpeername socketpair - sendto - recvfrom shutdown \
    setsockopt getsockopt sendmsg recvmsg semop semget - msgsnd msgrcv msgget - shmat shmdt \
    shmget - add_key request_key keyctl - - ioprio_set ioprio_get - inotify_add_watch \
    inotify_rm_watch mbind get_mempolicy set_mempolicy openat mkdirat mknodat fchownat - - \
    unlinkat renameat linkat symlinkat readlinkat fchmodat faccessat - - unshare \
    set_robust_list get_robust_list splice - tee vmsplice move_pages getcpu epoll_pwait \
    kexec_load - - timerfd_create - - - - signalfd4 eventfd2 epoll_create1 dup3 pipe2 \
    inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open - accept4 fanotify_init \
    fanotify_mark prlimit64 name_to_handle_at open_by_handle_at - syncfs sendmmsg setns \
    process_vm_readv process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2 \
    seccomp getrandom memfd_create bpf execveat userfaultfd membarrier mlock2 copy_file_range \
    preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free statx rseq - migrate_pages \
    kexec_file_load - clock_gettime clock_settime clock_adjtime clock_getres clock_nanosleep \
    timer_gettime timer_settime timerfd_gettime timerfd_settime utimensat pselect6 ppoll - \
    io_pgetevents recvmmsg mq_timedsend mq_timedreceive semtimedop rt_sigtimedwait futex \
    sched_rr_get_interval pidfd_send_signal io_uring_setup io_uring_enter io_uring_register \
    open_tree move_mount fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2 \
    pidfd_getfd faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd \
    landlock_create_ruleset landlock_add_rule landlock_restrict_self - process_mrelease \
    futex_waitv set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake \
    futex_wait futex_requeue statmount listmount lsm_get_self_attr lsm_set_self_attr \
    lsm_list_modules mseal setxattrat getxattrat listxattrat removexattrat open_tree_attr \
    file_getattr file_setattr listns rseq_slice_yield fchroot";

/// Types of arguments that a 32-bit program passes in two registers.
const TWICE_AS_LONG: [&[u8]; 3] = [b"loff_t", b"u64", b"__u64"];

/// Returns the numbers by which 32-bit programs call `name`, which begins with `sys_`, if its
/// arguments, whose types are `types`, are the same for them.
pub(super) fn numbers<'a>(
    name: &'a [u8],
    mut types: impl Iterator<Item = &'a [u8]>,
    arch: Arch,
) -> impl Iterator<Item = u32> + 'a {
    let names = match arch {
        Arch::X86_64 => X86,
        Arch::Arm64 => ARM64,
    };
    let wanted = name.strip_prefix(b"sys_").unwrap_or_default();
    let is_same = !types.any(|c_type| TWICE_AS_LONG.contains(&c_type));
    let all = (0u32..).zip(names.split(' '));
    let named = all.filter(move |(_, name)| is_same && name.as_bytes() == wanted);
    named.map(|(number, _)| number)
}

/// Returns the result of a 32-bit call; an error is sign-extended.
///
/// Context: any.
#[inline]
pub fn compat_result(register: u64) -> u64 {
    // CAST: The low half.
    let low = register as u32;
    match low {
        // CAST: Its sign.
        0xffff_f001.. => i64::from(low as i32) as u64,
        _ => low.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{compat_result, numbers, ARM64, X86};
    use crate::engine::code::arch::Arch;

    fn found(name: &str, c_type: &str, arch: Arch) -> Vec<u32> {
        let types = [c_type.as_bytes()].into_iter();
        numbers(name.as_bytes(), types, arch).collect()
    }

    /// As in the headers of the C library for 32-bit programs.
    #[test]
    fn calls_have_the_numbers_of_32_bit_programs() {
        for (name, x86, arm) in [
            ("sys_read", &[3][..], &[3][..]),
            ("sys_open", &[5], &[]),
            ("sys_execve", &[11], &[11]),
            ("sys_getppid", &[64], &[64]),
            ("sys_openat", &[295], &[322]),
            ("sys_connect", &[362], &[283]),
            ("sys_newuname", &[122], &[122]),
            ("sys_openat2", &[437], &[437]),
            ("sys_clock_gettime", &[403], &[403]),
            ("sys_clone", &[], &[120]),
            ("sys_mmap", &[], &[]),
            ("", &[], &[]),
        ] {
            assert_eq!(found(name, "int", Arch::X86_64), x86, "{name}");
            assert_eq!(found(name, "int", Arch::Arm64), arm, "{name}");
        }
        assert_eq!(found("sys_lseek", "off_t", Arch::X86_64), [19]);
        assert_eq!(found("sys_fanotify_mark", "int", Arch::X86_64), [339]);
        assert!(found("sys_fanotify_mark", "__u64", Arch::X86_64).is_empty());
        for names in [X86, ARM64] {
            assert!(names.split(' ').count() <= 512 && !names.contains("  "));
        }
    }

    #[test]
    fn results_of_32_bit_programs_have_a_sign_if_they_are_errors() {
        assert_eq!(compat_result(0xffff_fffe) as i64, -2);
        assert_eq!(compat_result(-2i64 as u64) as i64, -2);
        assert_eq!(compat_result(-4095i64 as u64) as i64, -4095);
        assert_eq!(compat_result(0xffff_f000), 0xffff_f000);
        assert_eq!(compat_result(0xf7fd_1000), 0xf7fd_1000);
        assert_eq!(compat_result(0x1_0000_0007), 7);
    }
}
