// SPDX-License-Identifier: GPL-2.0
/*
 * A load of many kinds, always the same, by tasks that are all called fpload: files,
 * memory, processes, signals, pipes, timers, sockets.  It does not look at results.
 */

#include "sys.h"

/* Numbers: x86-64, arm64. */
#if defined(__x86_64__)
#define NR(x86_64, arm64) (x86_64)
#else
#define NR(x86_64, arm64) (arm64)
#endif

static char buffer[65536];
static const char *path = "/tmp/fpload";

static s64 call(s64 nr, s64 a, s64 b, s64 c, s64 d, s64 e)
{
	return sys(nr, a, b, c, d, e);
}

static s64 open_at(const char *name, s64 flags)
{
	return call(NR_openat, AT_FDCWD, (s64)name, flags, 0600, 0);
}

static void files(void)
{
	s64 dir, file, other;
	u64 lock[4] = { 0, 0, 1, 0 };

	call(NR(258, 34), AT_FDCWD, (s64)"/tmp/fpload.d", 0700, 0, 0); /* mkdirat */
	file = open_at(path, O_RDWR | O_TRUNC | 0100);
	call(NR_write, file, (s64)buffer, sizeof(buffer), 0, 0);
	call(NR(17, 67), file, (s64)buffer, 4096, 0, 0); /* pread64 */
	call(NR(8, 62), file, 0, 0, 0, 0); /* lseek */
	call(NR_read, file, (s64)buffer, 4096, 0, 0);
	call(NR(74, 82), file, 0, 0, 0, 0); /* fsync */
	call(NR(77, 46), file, 100, 0, 0, 0); /* ftruncate */
	call(NR(285, 47), file, 0, 0, 8192, 0); /* fallocate */
	call(NR(91, 52), file, 0644, 0, 0, 0); /* fchmod */
	call(NR(73, 32), file, 2, 0, 0, 0); /* flock */
	call(NR(72, 25), file, 6, (s64)lock, 0, 0); /* fcntl: F_SETLK */
	call(NR(72, 25), file, 1024, 1, 0, 0); /* fcntl: F_SETLEASE */
	call(NR(72, 25), file, 1024, 2, 0, 0);
	call(NR(332, 291), AT_FDCWD, (s64)path, 0, 0x7ff, (s64)buffer); /* statx */
	call(NR(265, 37), AT_FDCWD, (s64)path, AT_FDCWD, (s64)"/tmp/fpload.l", 0); /* linkat */
	call(NR(266, 36), (s64)path, AT_FDCWD, (s64)"/tmp/fpload.s", 0, 0); /* symlinkat */
	call(NR(264, 38), AT_FDCWD, (s64)"/tmp/fpload.l", AT_FDCWD, (s64)"/tmp/fpload.m", 0);
	call(NR(263, 35), AT_FDCWD, (s64)"/tmp/fpload.m", 0, 0, 0); /* unlinkat */
	call(NR(263, 35), AT_FDCWD, (s64)"/tmp/fpload.s", 0, 0, 0);
	other = open_at("/dev/null", O_RDWR);
	call(NR(326, 285), file, 0, other, 0, 4096); /* copy_file_range */
	call(NR(40, 71), other, file, 0, 4096, 0); /* sendfile */
	call(NR_close, other, 0, 0, 0, 0);
	dir = open_at("/tmp", 0200000);
	call(NR(217, 61), dir, (s64)buffer, sizeof(buffer), 0, 0); /* getdents64 */
	call(NR_close, dir, 0, 0, 0, 0);
	call(NR_close, file, 0, 0, 0, 0);
	call(NR(263, 35), AT_FDCWD, (s64)path, 0, 0, 0);
	call(NR(263, 35), AT_FDCWD, (s64)"/tmp/fpload.d", 0x200, 0, 0);
	file = open_at("/proc/self/maps", 0);
	call(NR_read, file, (s64)buffer, 4096, 0, 0);
	call(NR_close, file, 0, 0, 0, 0);
	/* A call that fails, with a string that is not there. */
	call(NR_openat, AT_FDCWD, 8, 0, 0, 0);
	call(NR(165, 40), (s64)"none", (s64)"/tmp", (s64)"tmpfs", 0, 0); /* mount */
	call(NR(166, 39), (s64)"/tmp", 0, 0, 0, 0); /* umount2 */
	call(NR(162, 81), 0, 0, 0, 0, 0); /* sync */
}

static void memory(void)
{
	u64 size = 1 << 18;
	s64 at = mmap(-1, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	s64 file;

	for (u64 n = 0; n < size; n += 4096)
		*(volatile char *)(at + n) = 1;
	call(NR_mprotect, at, 4096, PROT_READ, 0, 0);
	call(NR(28, 233), at, size, 4, 0, 0); /* madvise */
	call(NR(149, 228), at, 8192, 0, 0, 0); /* mlock */
	call(NR(25, 216), at, size, 2 * size, 1, 0); /* mremap */
	call(NR_munmap, at, 2 * size, 0, 0, 0);
	call(NR(12, 214), 0, 0, 0, 0, 0); /* brk */
	file = call(NR(319, 279), (s64)"fpload", 0, 0, 0, 0); /* memfd_create */
	call(NR(77, 46), file, size, 0, 0, 0);
	at = mmap(file, 0, size, PROT_READ | PROT_WRITE, MAP_SHARED);
	for (u64 n = 0; at > 0 && n < size; n += 4096)
		*(volatile char *)(at + n) = 1;
	call(NR(26, 227), at, size, 4, 0, 0); /* msync */
	call(NR_munmap, at, size, 0, 0, 0);
	call(NR_close, file, 0, 0, 0, 0);
}

static s64 fork(void)
{
	return call(NR_clone, SIGCHLD, 0, 0, 0, 0);
}

static void wait_for(s64 pid)
{
	int status;

	call(NR_wait4, pid, (s64)&status, 0, 0, 0);
}

static void processes(const char *self)
{
	const char *args[] = { self, "child", 0 }, *none[] = { 0 };
	s64 time[2] = { 0, 2000000 }, timer[4] = { 0, 0, 0, 1000 };
	s64 child = fork();

	if (!child) {
		call(NR(59, 221), (s64)self, (s64)args, (s64)none, 0, 0); /* execve */
		exit(1);
	}
	wait_for(child);
	child = fork();
	if (!child) {
		call(NR(35, 101), (s64)(s64[]){ 10, 0 }, 0, 0, 0, 0); /* nanosleep */
		exit(0);
	}
	call(NR(62, 129), child, 15, 0, 0, 0); /* kill */
	wait_for(child);
	/* SIGCHLD to itself is ignored. */
	call(NR(62, 129), call(NR_getpid, 0, 0, 0, 0, 0), SIGCHLD, 0, 0, 0);
	call(NR(35, 101), (s64)time, 0, 0, 0, 0);
	call(NR(24, 124), 0, 0, 0, 0, 0); /* sched_yield */
	call(NR_setpriority, 0, 0, 5, 0, 0);
	call(NR_prctl, PR_SET_NAME, (s64)"fpload", 0, 0, 0);
	call(NR_sched_setscheduler, 0, 3, (s64)(int[]){ 0 }, 0, 0);
	call(NR(302, 261), 0, 7, 0, (s64)buffer, 0); /* prlimit64 */
	/* The timer's signal ends the child. */
	child = fork();
	if (!child) {
		call(NR(38, 103), 0, (s64)timer, 0, 0, 0); /* setitimer */
		for (;;)
			call(NR(34, 73), 0, 0, 0, 0, 0);
	}
	wait_for(child);
}

static void descriptors(void)
{
	struct { int file; short events, got; } wanted;
	s64 time[4] = { 0, 0, 0, 1000000 };
	int pair[2] = { -1, -1 };
	u64 value = 1;
	s64 file, other;

	call(NR_pipe2, (s64)pair, 0, 0, 0, 0);
	call(NR_write, pair[1], (s64)buffer, 100, 0, 0);
	wanted.file = pair[0];
	wanted.events = POLLIN;
	call(NR_ppoll, (s64)&wanted, 1, 0, 0, 8);
	call(NR_read, pair[0], (s64)buffer, 100, 0, 0);
	call(NR(292, 24), pair[0], 60, 0, 0, 0); /* dup3 */
	call(NR_close, 60, 0, 0, 0, 0);
	call(NR_close, pair[0], 0, 0, 0, 0);
	/* No write here: SIGPIPE would end the program. */
	call(NR_close, pair[1], 0, 0, 0, 0);
	file = call(NR(290, 19), 0, 0, 0, 0, 0); /* eventfd2 */
	other = call(NR(291, 20), 0, 0, 0, 0, 0); /* epoll_create1 */
	call(NR(233, 21), other, 1, file, (s64)(u64[]){ 1, 0 }, 0); /* epoll_ctl */
	call(NR_write, file, (s64)&value, 8, 0, 0);
	call(NR(281, 22), other, (s64)buffer, 1, 0, 0); /* epoll_pwait */
	call(NR_close, other, 0, 0, 0, 0);
	call(NR_close, file, 0, 0, 0, 0);
	file = call(NR(283, 85), CLOCK_MONOTONIC, 0, 0, 0, 0); /* timerfd_create */
	call(NR(286, 86), file, 0, (s64)time, 0, 0); /* timerfd_settime */
	call(NR_read, file, (s64)&value, 8, 0, 0);
	call(NR_close, file, 0, 0, 0, 0);
	file = call(NR(294, 26), 0, 0, 0, 0, 0); /* inotify_init1 */
	call(NR(254, 27), file, (s64)"/tmp", 0x100, 0, 0); /* inotify_add_watch */
	call(NR_close, file, 0, 0, 0, 0);
	call(NR(318, 278), (s64)buffer, 64, 1, 0, 0); /* getrandom */
}

/* An internet address on this machine. */
struct address {
	unsigned short family, port;
	u8 bytes[12];
};

static void sockets(void)
{
	struct address address = { 2, 0x3930, { 127, 0, 0, 1 } };
	struct { char name[16]; short flags; char rest[22]; } request = { "lo", 0x41, { 0 } };
	int pair[2] = { -1, -1 }, size = sizeof(address);
	s64 server, client, accepted;

	call(NR(53, 199), 1, 1, 0, (s64)pair, 0); /* socketpair */
	sys6(NR(44, 206), pair[0], (s64)buffer, 100, 0, 0, 0); /* sendto */
	sys6(NR(45, 207), pair[1], (s64)buffer, 100, 0, 0, 0); /* recvfrom */
	call(NR_close, pair[0], 0, 0, 0, 0);
	call(NR_close, pair[1], 0, 0, 0, 0);
	client = call(NR(41, 198), 2, 2, 0, 0, 0); /* socket */
	call(NR_ioctl, client, 0x8914, (s64)&request, 0, 0); /* SIOCSIFFLAGS */
	server = call(NR(41, 198), 2, 2, 0, 0, 0);
	call(NR(49, 200), server, (s64)&address, size, 0, 0); /* bind */
	sys6(NR(44, 206), client, (s64)buffer, 100, 0, (s64)&address, size);
	sys6(NR(45, 207), server, (s64)buffer, 100, 0x40, 0, 0);
	call(NR_close, client, 0, 0, 0, 0);
	call(NR_close, server, 0, 0, 0, 0);
	server = call(NR(41, 198), 2, 1, 0, 0, 0);
	client = call(NR(41, 198), 2, 1, 0, 0, 0);
	call(NR(54, 208), server, 1, 2, (s64)(int[]){ 1 }, 4); /* setsockopt */
	call(NR(49, 200), server, (s64)&address, size, 0, 0);
	call(NR(50, 201), server, 5, 0, 0, 0); /* listen */
	call(NR(42, 203), client, (s64)&address, size, 0, 0); /* connect */
	accepted = call(NR(288, 242), server, 0, 0, O_NONBLOCK, 0); /* accept4 */
	sys6(NR(44, 206), client, (s64)buffer, 1000, 0x4040, 0, 0);
	sys6(NR(45, 207), accepted, (s64)buffer, 1000, 0x40, 0, 0);
	call(NR(48, 210), client, 2, 0, 0, 0); /* shutdown */
	call(NR_close, client, 0, 0, 0, 0);
	call(NR_close, accepted, 0, 0, 0, 0);
	call(NR_close, server, 0, 0, 0, 0);
	client = call(NR(41, 198), 16, 3, 0, 0, 0); /* netlink */
	call(NR_close, client, 0, 0, 0, 0);
	client = call(NR(41, 198), 10, 1, 0, 0, 0); /* IPv6 */
	call(NR_close, client, 0, 0, 0, 0);
}

static void others(void)
{
	s64 file;

	call(NR(63, 160), (s64)buffer, 0, 0, 0, 0); /* uname */
	call(NR(99, 179), (s64)buffer, 0, 0, 0, 0); /* sysinfo */
	call(NR(105, 146), 0, 0, 0, 0, 0); /* setuid */
	call(NR(272, 97), 0x20000, 0, 0, 0, 0); /* unshare: namespace of mounts */
	call(NR(248, 217), (s64)"user", (s64)"fpload", (s64)buffer, 4, -3); /* add_key */
	call(NR_io_uring_setup, 4, (s64)buffer, 0, 0, 0);
	call(NR(321, 280), 0, 0, 0, 0, 0); /* bpf */
	file = open_at("/dev/kmsg", O_WRONLY);
	call(NR_write, file, (s64)"<7>fpload\n", 10, 0, 0);
	call(NR_close, file, 0, 0, 0, 0);
	call(999, 0, 0, 0, 0, 0);
}

int begin(u64 *stack)
{
	u64 count = stack[0];
	char **args = (char **)stack + 1;
	u64 rounds = count > 1 ? 1 : 0;

	if (count > 1 && same(args[1], "child"))
		exit(0);
	if (rounds)
		rounds = number(args[1]);
	for (u64 n = 0; n < rounds; n++) {
		files();
		memory();
		processes(args[0]);
		descriptors();
		sockets();
		others();
	}
	exit(0);
}
