// SPDX-License-Identifier: GPL-2.0
/*
 * Many different system calls, always the same, by tasks that are all called fpcalls.
 * Many fail, and many have odd values and strings.  It does not look at results.
 * What lasts is done in namespaces of its own and in /tmp/fpcalls.
 */

#include "sys.h"

/* Numbers: x86-64, arm64. */
#if defined(__x86_64__)
#define NR(x86_64, arm64) (x86_64)
#else
#define NR(x86_64, arm64) (arm64)
#endif

#define S(value) ((s64)(value))
#define D "/tmp/fpcalls"
#define SIZE(table) (sizeof(table) / sizeof((table)[0]))
#define RUN(table) run(table, SIZE(table))
#define WIDE(value) ((1L << 40) | (value))
#define HERE AT_FDCWD

/* Instead of a number: this architecture has no such call; keep the last result; keep an int. */
enum { NONE = -1, KEEP = -2, LOAD = -3 };

/* What was kept, as an argument. */
#define KEPT(slot) (0x4b45505400 | (slot))
#define TEXT KEPT(0)
#define FILE KEPT(1)
#define DIR KEPT(2)
#define DEVNULL KEPT(3)
#define PIPE_IN KEPT(4)
#define PIPE_OUT KEPT(5)
#define SOCK_A KEPT(6)
#define SOCK_B KEPT(7)
#define LAST KEPT(8)
#define SIZE_OF_TEXT KEPT(9)
#define QUEUE KEPT(10)
#define EVENTS KEPT(11)

/* No page of any kernel is larger.  What is at each is in memory(). */
#define UNIT 65536L
#define AT(unit) (0x700000000 + (unit) * UNIT)
enum { FIRST, SECOND, HOLE, NOTHING, MAPPED, BEHIND_END, UNTOUCHED, UNTOUCHED_TOO, SPARE };

static s64 kept[16];
static const s64 none[32];
static char out[8192];
static int pair[2];
static s64 count64 = sizeof(out);
static int count32 = sizeof(out);
static const int one = 1;
static const s64 vector[4] = { S(out), 100, S(out), 0 };
static const s64 vector_bad[4] = { S(out), 100, 8, 100 };
static const s64 how[3] = { O_RDWR, 0, 8 };
static const s64 message[7] = { 0, 0, S(vector), 1 };
static const struct { unsigned short family; char path[20]; } address = { 1, D "/none" };

/* Data of the program on pages that are not touched yet. */
static char data[4 * UNIT] __attribute__((aligned(UNIT))) = {
	[0] = 'f', [UNIT] = 'd', [UNIT + 1] = 'a', [2 * UNIT - 1] = 'p', [2 * UNIT] = 'q',
	[3 * UNIT] = 'w',
};

static s64 call(s64 nr, s64 a, s64 b, s64 c, s64 d, s64 e)
{
	return sys(nr, a, b, c, d, e);
}

static void run(const s64 (*row)[7], u64 rows)
{
	s64 result = 0, args[7];

	for (; rows; rows--, row++) {
		s64 nr = (*row)[0];

		if (nr == KEEP)
			kept[(*row)[1] & 15] = result;
		if (nr == LOAD)
			kept[(*row)[1] & 15] = *(int *)(*row)[2];
		if (nr == NONE)
			result = -1;
		if (nr < 0)
			continue;
		for (int n = 1; n < 7; n++) {
			args[n] = (*row)[n];
			if ((args[n] & ~15) == KEPT(0))
				args[n] = kept[args[n] & 15];
		}
		result = sys6(nr, args[1], args[2], args[3], args[4], args[5], args[6]);
	}
}

/* What the others need. */
static const s64 start[][7] = {
	{ NR(272, 97), 0x0c020000 }, /* unshare: mounts, names of the machine, System V */
	{ NR(165, 40), S("none"), S("/"), 0, 0x44000 }, /* mount: nothing spreads */
	{ NR(95, 166), 022 }, { NR(258, 34), HERE, S(D), 0755 }, /* umask; mkdirat */
	{ NR(80, 49), S(D) }, /* chdir */
	{ NR_openat, HERE, S("file"), O_RDWR | O_TRUNC | 0100, 0644 }, { KEEP, FILE },
	{ NR_openat, HERE, S("."), 0 }, { KEEP, DIR },
	{ NR_openat, HERE, S("/dev/null"), O_RDWR },
	{ KEEP, DEVNULL }, { NR_pipe2, S(pair), O_NONBLOCK }, { LOAD, PIPE_IN, S(&pair[0]) },
	{ LOAD, PIPE_OUT, S(&pair[1]) },
	{ NR(53, 199), 1, O_NONBLOCK | 1, 0, S(pair) }, /* socketpair */
	{ LOAD, SOCK_A, S(&pair[0]) }, { LOAD, SOCK_B, S(&pair[1]) },
};

static const s64 files[][7] = {
	{ NR_write, FILE, S("text\n"), 5 },
	{ NR(18, 68), FILE, S("a\"b\\c\0d\x7f\x80\xff"), 10, 5000 }, /* pwrite64 */
	{ NR(8, 62), FILE, -3, 2 }, { NR(8, 62), FILE, 0, -1 }, /* lseek */
	{ NR_read, FILE, S(out), 3 }, { NR_read, -1, S(out), -1 },
	{ NR(17, 67), FILE, S(out), 5, 0x7fffffffffffffff }, /* pread64 */
	{ NR_readv, FILE, S(vector), 2 }, { NR_readv, FILE, S(vector), -1 },
	{ NR(20, 66), FILE, S(vector), 2 }, { NR_preadv, FILE, S(vector), 2, 1, 1 }, /* writev */
	{ NR(296, 70), FILE, S(vector_bad), 2, 0, 0 }, /* pwritev */
	{ NR(327, 286), FILE, S(vector), 2, 0, 0, 0xffff }, /* preadv2 */
	{ NR(328, 287), FILE, S(vector), 2, 0, 0, 0 }, /* pwritev2 */
	{ NR(77, 46), FILE, 4000 }, { NR(77, 46), DIR, -1 }, /* ftruncate */
	{ NR(285, 47), FILE, 0, 0, 3000 }, { NR(285, 47), FILE, -1, -1, -1 }, /* fallocate */
	{ NR(221, 223), FILE, 0, 0, 3 }, /* fadvise64 */
	{ NR(187, 213), FILE, 0, 100 }, { NR(74, 82), FILE }, /* readahead; fsync */
	{ NR(75, 83), FILE }, { NR(162, 81) }, /* fdatasync; sync */
	{ NR(306, 267), FILE }, { NR(277, 84), FILE, 0, 0, 99 }, /* syncfs; sync_file_range */
	{ NR(91, 52), FILE, 0640 }, { NR(93, 55), FILE, 0, 0 }, /* fchmod; fchown */
	{ NR(73, 32), FILE, 2 }, { NR(72, 25), FILE, 3 }, /* flock; fcntl */
	{ NR(72, 25), FILE, -1, -1 }, { NR_ioctl, FILE, 0xdeadbeef, -1 },
	{ NR(5, 80), FILE, S(out) }, { NR(138, 44), FILE, S(out) }, /* newfstat; fstatfs */
	{ NR(4, NONE), S("file"), S(out) }, /* newstat */
	{ NR(6, NONE), S("none"), S(out) }, /* newlstat */
	{ NR(78, NONE), DIR, S(out), 4096 }, /* getdents */
	{ NR(217, 61), DIR, S(out), 4096 }, { NR(217, 61), FILE, S(out), 4096 }, /* getdents64 */
	{ NR(32, 23), FILE }, { KEEP, LAST }, { NR(33, NONE), FILE, 60 }, /* dup; dup2 */
	{ NR(292, 24), LAST, 61, 02000000 }, { NR(292, 24), 61, 61, 0 }, /* dup3 */
	{ NR(436, 436), 60, 61, 0 }, { NR(436, 436), 9, 8, 0 }, /* close_range */
	{ NR_close, LAST }, { NR_close, LAST }, { NR_close, WIDE(99) },
	{ NR(326, 285), FILE, 0, FILE, 0, 100, 0 }, /* copy_file_range */
	{ NR(40, 71), DEVNULL, FILE, 0, 100 }, { NR(81, 50), DIR }, /* sendfile64; fchdir */
	{ NR(79, 17), S(out), 100 }, { NR(79, 17), S(out), 1 }, /* getcwd */
	{ NR(276, 77), PIPE_IN, PIPE_OUT, 5, 2 }, /* tee */
	{ NR(278, 75), PIPE_OUT, S(vector), 1, 2 }, /* vmsplice */
	{ NR(275, 76), PIPE_IN, 0, DEVNULL, 0, 50, 2 }, { NR(22, NONE), 8 }, /* splice; pipe */
	{ NR(451, 451), FILE, S(none), S(out), 0 }, /* cachestat */
	{ NR(304, 265), DIR, 8, 0 }, /* open_by_handle_at */
	{ NR(443, 443), FILE, -1, 0, 0 }, { NR(472, 472), -1, 0 }, /* quotactl_fd; fchroot */
	{ NR(458, 458), 8, S(out), 1, 0 }, /* listmount */
	{ NR(457, 457), S(none), S(out), 1, 0 }, /* statmount */
	{ NR(470, 470), 8, S(out), 1, 0 }, /* listns */
	{ NR(468, 468), HERE, S("none"), S(out), 24, 0 }, /* file_getattr */
	{ NR(469, 469), HERE, S("none"), S(none), 24, 0 }, /* file_setattr */
	{ NR(432, 432), -1, 0, 0 }, { NR(136, NONE), -1, S(out) }, /* fsmount; ustat */
	{ NR(139, NONE), 3 }, /* sysfs */
};

/* Calls of which the kernel's events show strings. */
static const s64 strings[][7] = {
	{ NR(21, NONE), S("file"), 4 }, /* access */
	{ NR(163, 89), S("none/acct") }, /* acct */
	{ NR(80, 49), S("none/chdir") }, /* chdir */
	{ NR(92, NONE), S("file"), 0, -1 }, { NR(90, NONE), S("file"), 0600 }, /* chown; chmod */
	{ NR(161, 51), S("/") }, /* chroot */
	{ NR(161, 51), S("file") }, { NR(85, NONE), S("created"), 0600 }, /* creat */
	{ KEEP, LAST }, { NR_close, LAST }, { NR(87, NONE), S("created") }, /* unlink */
	{ NR(176, 106), S("fpcalls-none"), O_NONBLOCK }, /* delete_module */
	{ NR(59, 221), S("none/execve"), 0, 0 }, /* execve */
	{ NR(322, 281), HERE, S("none/execveat"), 0, 0, 0 }, /* execveat */
	{ NR(94, NONE), S("file"), -1, 0 }, { NR(2, NONE), S("file"), 0, 0 }, /* lchown; open */
	{ KEEP, LAST }, { NR_close, LAST },
	{ NR(2, NONE), S("none/open"), WIDE(-1), -1 },
	{ NR(319, 279), S("fpcalls"), 9 }, { KEEP, LAST }, { NR_close, LAST }, /* memfd_create */
	{ NR(319, 279), S("bad flags"), 0x8000 }, { NR(83, NONE), S("dir"), 0700 }, /* mkdir */
	{ NR(84, NONE), S("dir") }, { NR(258, 34), HERE, S("file"), 0700 }, /* rmdir; mkdirat */
	{ NR(133, NONE), S("fifo"), 010600, 0 }, /* mknod */
	{ NR(133, NONE), S("bad"), 0170000, 0 },
	{ NR(259, 33), HERE, S("fifo"), 010600, 0 }, /* mknodat */
	{ NR(263, 35), HERE, S("fifo"), 0 }, /* unlinkat */
	{ NR(263, 35), DIR, S("file"), 0x200 },
	{ NR(240, 180), S("fpcalls"), 0102 | O_NONBLOCK, 0600, 0 }, { KEEP, QUEUE }, /* mq_open */
	{ NR(240, 180), S("/"), 0 },
	{ NR(242, 182), QUEUE, S("sent\0\1"), 6, 1, 0 }, /* mq_timedsend */
	{ NR(242, 182), QUEUE, S("priority"), 8, -1, 0 },
	{ NR(243, 183), QUEUE, S(out), 8192, 0, 0 }, /* mq_timedreceive */
	{ NR(243, 183), QUEUE, S(out), 1, 0, 0 }, { NR(244, 184), -1, 0 }, /* mq_notify */
	{ NR(245, 185), QUEUE, 0, S(out) }, /* mq_getsetattr */
	{ NR(241, 181), S("fpcalls") }, { NR(241, 181), S("fpcalls") }, /* mq_unlink */
	{ NR(89, NONE), S("/proc/self/exe"), S(out), 100 }, /* readlink */
	{ NR(267, 78), HERE, S("file"), S(out), 100 }, /* readlinkat */
	{ NR(67, 197), S("not a segment") }, /* shmdt */
	{ NR(137, 43), S("file"), S(out) }, { NR(137, 43), S("none"), S(out) }, /* statfs */
	{ NR(167, 224), S("none/swapon"), 0 }, /* swapon */
	{ NR(168, 225), S("none/swapoff") }, /* swapoff */
	{ NR(76, 45), S("file"), 100 }, { NR(76, 45), S("file"), -1 }, /* truncate */
	{ NR(166, 39), S("none/umount"), 0 }, /* umount */
	{ NR(132, NONE), S("file"), 0 }, { NR(235, NONE), S("file"), 8 }, /* utime; utimes */
	{ NR(269, 48), HERE, S("file"), 4 }, /* faccessat */
	{ NR(439, 439), HERE, S("file"), 4, -1 }, /* faccessat2 */
	{ NR(313, 273), -1, S("fpcalls=1"), 0 }, /* finit_module */
	{ NR(175, 105), S(out), 0, S("fpcalls=\"2\"") }, /* init_module */
	{ NR(268, 53), HERE, S("file"), 0644 }, /* fchmodat */
	{ NR(452, 452), HERE, S("file"), 0600, 0x100 }, /* fchmodat2 */
	{ NR(260, 54), HERE, S("file"), -1, -1, -1 }, /* fchownat */
	{ NR(190, 7), FILE, S("trusted.fp"), S("value"), 5, 0 }, /* fsetxattr */
	{ NR(193, 10), FILE, S("trusted.fp"), S(out), 100 }, /* fgetxattr */
	{ NR(196, 13), FILE, S(out), 100 }, /* flistxattr */
	{ NR(199, 16), FILE, S("trusted.fp") }, /* fremovexattr */
	{ NR(199, 16), FILE, S("trusted.fp") },
	{ NR(188, 5), S("file"), S("trusted.s"), S("value"), 5, 9 }, /* setxattr */
	{ NR(189, 6), S("file"), S("trusted.s"), S("value"), 5, 0 }, /* lsetxattr */
	{ NR(191, 8), S("file"), S("trusted.s"), S(out), 1 }, /* getxattr */
	{ NR(192, 9), S("file"), S("trusted.s"), S(out), 100 }, /* lgetxattr */
	{ NR(194, 11), S("file"), S(out), 100 }, /* listxattr */
	{ NR(195, 12), S("file"), S(out), 100 }, /* llistxattr */
	{ NR(198, 15), S("file"), S("trusted.s") }, /* lremovexattr */
	{ NR(197, 14), S("file"), S("no.such") }, /* removexattr */
	{ NR(463, 463), HERE, S("file"), 0, S("trusted.at"), S(none), 16 }, /* setxattrat */
	{ NR(464, 464), HERE, S("file"), 0, S("trusted.at"), S(none), 16 }, /* getxattrat */
	{ NR(465, 465), HERE, S("file"), 0, S(out), 100 }, /* listxattrat */
	{ NR(466, 466), HERE, S("file"), 0, S("trusted.at") }, /* removexattrat */
	{ NR(430, 430), S("tmpfs"), 1 }, { KEEP, LAST }, /* fsopen */
	{ NR(431, 431), LAST, 1, S("size"), S("65536"), 0 }, /* fsconfig */
	{ NR(431, 431), LAST, 99, S("key"), S("value"), -1 }, { NR_close, LAST },
	{ NR(430, 430), S("no such type"), 0 },
	{ NR(433, 433), HERE, S("none/fspick"), 0 }, /* fspick */
	{ NR(428, 428), HERE, S("none/open_tree"), 0 }, /* open_tree */
	{ NR(467, 467), HERE, S("none/open_tree_attr"), 0, S(none), 32 }, /* open_tree_attr */
	{ NR(429, 429), HERE, S("none/from"), HERE, S("none/to"), 0 }, /* move_mount */
	{ NR(442, 442), HERE, S("none/mount"), 0, S(none), 32 }, /* mount_setattr */
	{ NR(258, 34), HERE, S("mounted"), 0700 }, /* mkdirat */
	{ NR(165, 40), S("device"), S("mounted"), S("tmpfs"), 0, S("size=64k") }, /* mount */
	{ NR(166, 39), S("mounted"), 0 }, /* umount */
	{ NR(165, 40), S("device"), S("mounted"), S("no such type"), -1, 0 },
	{ NR(165, 40), 0, S("none/mount"), 0, 0x20, 0 },
	{ NR(155, 41), S("mounted"), S("none/old") }, /* pivot_root */
	{ NR(263, 35), HERE, S("mounted"), 0x200 }, /* unlinkat */
	{ NR(261, NONE), HERE, S("none/futimesat"), 0 }, /* futimesat */
	{ NR(280, 88), HERE, S("file"), 0, 0 }, /* utimensat */
	{ NR(254, 27), -1, S("none/inotify"), 0x100 }, /* inotify_add_watch */
	{ NR(303, 264), HERE, S("file"), S(none), S(out), 0 }, /* name_to_handle_at */
	{ NR(262, 79), HERE, S("file"), S(out), 0 }, /* newfstatat */
	{ NR(332, 291), HERE, S("file"), 0, 0x7ff, S(out) }, /* statx */
	{ NR(332, 291), HERE, S("none/statx"), -1, -1, -1 },
	{ NR(437, 437), HERE, S("file"), S(how), 24 }, /* openat2 */
	{ NR(437, 437), HERE, S("none"), S(how), 1 },
	{ NR(179, 60), -1, S("none/quotactl"), 0, 0 }, /* quotactl */
	{ NR(103, 116), 10, S("a size only"), 0 }, /* syslog */
	{ NR(103, 116), 99, S("no such action"), 1 },
	{ NR(301, 263), -1, 1, 2, HERE, S("none/fanotify") }, /* fanotify_mark */
	{ NR(248, 217), S("user"), S("fpcalls"), S("key"), 3, -2 }, /* add_key */
	{ NR(248, 217), S(".hidden"), S("fpcalls"), 0, 0, -2 },
	{ NR(249, 218), S("user"), S("fpcalls-none"), 0, 0 }, /* request_key */
	{ NR(86, NONE), S("file"), S("linked") }, /* link */
	{ NR(82, NONE), S("linked"), S("renamed") }, /* rename */
	{ NR(87, NONE), S("renamed") }, /* unlink */
	{ NR(88, NONE), S("a place"), S("symbolic") }, /* symlink */
	{ NR(87, NONE), S("symbolic") },
	{ NR(265, 37), HERE, S("file"), DIR, S("linked"), 0 }, /* linkat */
	{ NR(264, 38), HERE, S("linked"), HERE, S("renamed") }, /* renameat */
	{ NR(316, 276), HERE, S("renamed"), HERE, S("file"), 1 }, /* renameat2 */
	{ NR(266, 36), S("a place"), HERE, S("symbolic") }, /* symlinkat */
	{ NR(263, 35), HERE, S("symbolic"), 0 }, { NR(263, 35), HERE, S("renamed"), 0 },
	{ NR(263, 35), HERE, S("linked"), 0 },
	/* The kernel takes the flags for the text and the text for its length. */
	{ NR(320, 294), -1, -1, 5, S("text"), -1 }, /* kexec_file_load */
	{ NR(320, 294), -1, -1, 5, 12, S("wrong argument") },
	{ NR(171, 162), S("fpcalls.domain"), 14 }, /* setdomainname */
	{ NR(171, 162), S("negative"), -1 }, { NR(170, 161), S("fpcalls"), 7 }, /* sethostname */
	{ NR(170, 161), S("behind\0zero and the end"), 65 },
	{ NR(170, 161), S("tab\there, \x01\x7f\x80\x9f\xa0\xff"), 70 },
	{ NR(170, 161), S("two\nlines"), 65 }, { NR(170, 161), 8, 5 },
	{ NR(170, 161), S("empty"), 0 },
};

static const s64 tasks[][7] = {
	{ NR_getpid }, { NR_getppid }, { NR(186, 178) }, { NR(102, 174) }, { NR(107, 175) },
	{ NR(104, 176) }, { NR(108, 177) }, { NR(111, NONE) }, /* getpid to getpgrp */
	{ NR(121, 155), 0x7fffffff }, { NR(124, 156), -1 }, /* getpgid; getsid */
	{ NR(109, 154), 0, -1 }, /* setpgid */
	{ NR(118, 148), S(out), S(out), S(out) }, /* getresuid */
	{ NR(120, 150), S(out), S(out), 8 }, { NR(115, 158), 0, 0 }, /* getresgid; getgroups */
	{ NR(116, 159), -1, 0 }, { NR(105, 146), 0 }, /* setgroups; setuid */
	{ NR(105, 146), 0xffffffff }, { NR(106, 144), 0 }, /* setgid */
	{ NR(113, 145), -1, -1 }, { NR(114, 143), -1, -1 }, /* setreuid; setregid */
	{ NR(117, 147), -1, -1, -1 }, { NR(119, 149), -1, -1, -1 }, /* setresuid; setresgid */
	{ NR(122, 151), -1 }, { NR(123, 152), -1 }, /* setfsuid; setfsgid */
	{ NR(125, 90), 8, 0 }, { NR(126, 91), 8, 8 }, /* capget; capset */
	{ NR_setpriority, 0, 0, 0 }, { NR(140, 141), 0, 0 }, /* getpriority */
	{ NR(251, 30), 9, 0, 0 }, { NR(252, 31), 1, 0 }, /* ioprio_set; ioprio_get */
	{ NR(24, 124) }, { NR_sched_setscheduler, 0, 0, S(none) }, /* sched_yield */
	{ NR_sched_setaffinity, -1, 8, S(none) },
	{ NR(204, 123), 0, 128, S(out) }, /* sched_getaffinity */
	{ NR(142, 118), 0, S(none) }, /* sched_setparam */
	{ NR(143, 121), 0, S(out) }, { NR(145, 120), 0 }, /* sched_getparam; sched_getscheduler */
	{ NR(146, 125), 1 }, /* sched_get_priority_max */
	{ NR(147, 126), -5 }, /* sched_get_priority_min */
	{ NR(148, 127), 0, S(out) }, /* sched_rr_get_interval */
	{ NR(314, 274), 0, 8, 0 }, /* sched_setattr */
	{ NR(315, 275), 0, S(out), 56, 0 }, /* sched_getattr */
	{ NR(97, 163), 7, S(out) }, { NR(160, 164), 99, S(none) }, /* getrlimit; setrlimit */
	{ NR(302, 261), 0, 7, 0, S(out) }, { NR(98, 165), 0, S(out) }, /* prlimit64; getrusage */
	{ NR(98, 165), 12345, S(out) }, { NR(100, 153), S(out) }, /* times */
	{ NR_wait4, -1, 0, 0, 0 }, { NR(247, 95), 99, 0, 0, 0, 0 }, /* waitid */
	{ NR(62, 129), 0x7fffffff, 0 }, { NR(200, 130), -1, 0 }, /* kill; tkill */
	{ NR(234, 131), -1, -1, 0 }, /* tgkill */
	{ NR(129, 138), 1, 99, S(none) }, /* rt_sigqueueinfo */
	{ NR(297, 240), -1, -1, 0, S(none) }, /* rt_tgsigqueueinfo */
	{ NR(127, 136), S(out), 8 }, /* rt_sigpending */
	{ NR(14, 135), 0, 0, S(out), 8 }, { NR(14, 135), 0, 0, S(out), 4 }, /* rt_sigprocmask */
	{ NR(128, 137), S(none), 0, S(none), 8 }, /* rt_sigtimedwait */
	{ NR(131, 132), 0, S(out) }, { NR(219, 128) }, /* sigaltstack; restart_syscall */
	{ NR(218, 96), 0 }, { NR(273, 99), 0, 24 }, /* set_tid_address; set_robust_list */
	{ NR(274, 100), 0, S(out), S(out) }, /* get_robust_list */
	{ NR(202, 98), S(none), 0, 1, 0, 0, 0 }, /* futex: the value is another one */
	{ NR(202, 98), S(none), 1, 1, 0, 0, 0 },
	{ NR(449, 449), S(none), 0, 0, 0, 0 }, /* futex_waitv */
	{ NR(454, 454), S(none), 1, 1, -1 }, /* futex_wake */
	{ NR(455, 455), S(none), 0, 1, -1, 0, 0 }, /* futex_wait */
	{ NR(456, 456), S(none), -1, 0, 0 }, /* futex_requeue */
	{ NR(435, 435), S(none), 8 }, { NR(308, 268), -1, 0 }, /* clone3; setns */
	{ NR(272, 97), 0 }, { NR(434, 434), 1, 0 }, { KEEP, LAST }, /* unshare; pidfd_open */
	{ NR(438, 438), LAST, 999, 0 }, /* pidfd_getfd */
	{ NR(424, 424), LAST, 0, 0, -1 }, /* pidfd_send_signal */
	{ NR(440, 440), LAST, S(vector), -1, 99, 0 }, /* process_madvise */
	{ NR(448, 448), LAST, -1 }, { NR_close, LAST }, /* process_mrelease */
	{ NR(310, 270), 0x7fffffff, S(vector), 2, S(vector), 2, 0 }, /* process_vm_readv */
	{ NR(311, 271), 1, 0, 0, 0, 0, -1 }, /* process_vm_writev */
	{ NR(312, 272), 1, 1, 2, 0, 0 }, /* kcmp */
	{ NR(101, 117), -1, 0x7fffffff, 0, 0 }, { NR_prctl, 16, S(out), 0, 0, 0 }, /* ptrace */
	{ NR_prctl, -1, -2, -3, -4, -5 }, { NR(158, NONE), -1, 0 }, /* arch_prctl */
	{ NR(154, NONE), 99, 0, 0 }, { NR(172, NONE), 4 }, /* modify_ldt; iopl */
	{ NR(173, NONE), -1, 0, 0 }, { NR(135, 92), 0xffffffff }, /* ioperm; personality */
	{ NR(317, 277), 99, 0, 0 }, { NR(334, 293), 1, 0, -1, 0 }, /* seccomp; rseq */
	{ NR(471, 471) }, { NR(309, 168), S(out), S(out), 0 }, /* rseq_slice_yield; getcpu */
	{ NR(324, 283), -1, 0, 0 }, { NR(250, 219), 99, -1, -1, -1, -1 }, /* membarrier; keyctl */
	{ NR(444, 444), 0, 0, 1 }, /* landlock_create_ruleset */
	{ NR(445, 445), -1, 1, S(none), 0 }, /* landlock_add_rule */
	{ NR(446, 446), -1, 0 }, /* landlock_restrict_self */
	{ NR(459, 459), 100, S(out), S(&count32), 0 }, /* lsm_get_self_attr */
	{ NR(460, 460), 100, S(none), 1, 0 }, /* lsm_set_self_attr */
	{ NR(461, 461), S(out), 8, 0 }, /* lsm_list_modules */
};

static const s64 memory_calls[][7] = {
	{ NR(12, 214), 0 }, { NR_mmap, 1, 0, -1, -1, -1, 1 }, /* brk */
	{ NR_mprotect, AT(SPARE), UNIT, 0 }, { NR_mprotect, AT(SPARE) + 1, UNIT, 3 },
	{ NR_mprotect, AT(SPARE), UNIT, 3 }, { NR(28, 233), AT(SPARE), UNIT, 99 }, /* madvise */
	{ NR(27, 232), AT(SPARE), UNIT, S(out) }, /* mincore */
	{ NR(26, 227), AT(SPARE), UNIT, 4 }, /* msync */
	{ NR(25, 216), AT(SPARE), UNIT, UNIT, 0, 0 }, /* mremap */
	{ NR(149, 228), AT(SPARE), 10 }, { NR(325, 284), AT(HOLE), 10, 0 }, /* mlock; mlock2 */
	{ NR(150, 229), AT(SPARE), 10 }, { NR(151, 230), 0 }, /* munlock; mlockall */
	{ NR(152, 231) }, { NR(237, 235), AT(SPARE), 0, 0, 0, 0, 0 }, /* munlockall; mbind */
	{ NR(238, 237), 0, 0, 0 }, /* set_mempolicy */
	{ NR(239, 236), S(out), 0, 0, 0, 0 }, /* get_mempolicy */
	{ NR(450, 450), AT(SPARE), UNIT, 0, -1 }, /* set_mempolicy_home_node */
	{ NR(256, 238), 0x7fffffff, 1, 0, 0 }, /* migrate_pages */
	{ NR(279, 239), 0, 0, 0, 0, 0, -1 }, /* move_pages */
	{ NR(329, 288), AT(SPARE), UNIT, 3, 99 }, /* pkey_mprotect */
	{ NR(330, 289), -1, 0 }, { NR(331, 290), -1 }, /* pkey_alloc; pkey_free */
	{ NR(447, 447), -1 }, { NR(453, 453), 1, 1, -1 }, /* memfd_secret; map_shadow_stack */
	{ NR(462, 462), AT(SPARE) + 1, 1, 0 }, { NR(323, 282), -1 }, /* mseal; userfaultfd */
	{ NR_munmap, 1, 1 }, { NR(29, 194), 0, 4096, 01600 }, { KEEP, LAST }, /* shmget */
	{ NR(30, 196), LAST, 0, 010000 }, { NR(30, 196), LAST, 1, 0 }, /* shmat */
	{ NR(31, 195), LAST, 0, 0 }, { NR(64, 190), 0, 1, 01600 }, /* shmctl: removed; semget */
	{ KEEP, LAST }, { NR(65, 193), LAST, S(none), 0 }, /* semop */
	{ NR(220, 192), LAST, 8, 1, 0 }, /* semtimedop */
	{ NR(66, 191), LAST, 0, 0, 0 }, { NR(68, 186), 0, 01600 }, /* semctl: removed; msgget */
	{ KEEP, LAST }, { NR(69, 189), LAST, 8, 1, 0 }, /* msgsnd */
	{ NR(70, 188), LAST, S(out), 10, 0, 04000 }, /* msgrcv */
	{ NR(71, 187), LAST, 0, 0 }, /* msgctl: removed */
};

static const s64 descriptors[][7] = {
	{ NR(290, 19), 1, 0 }, { KEEP, EVENTS }, { NR(284, NONE), 0 }, /* eventfd2; eventfd */
	{ KEEP, LAST }, { NR_close, LAST }, { NR(213, NONE), 0 }, /* epoll_create */
	{ NR(291, 20), 0 }, { KEEP, LAST }, /* epoll_create1 */
	{ NR(233, 21), LAST, 1, EVENTS, S(none) }, /* epoll_ctl */
	{ NR(233, 21), LAST, 9, LAST, S(none) },
	{ NR(232, NONE), LAST, S(out), 1, 0 }, /* epoll_wait */
	{ NR(281, 22), LAST, S(out), 1, 0, 0, 8 }, /* epoll_pwait */
	{ NR(441, 441), LAST, S(out), -1, S(none), 0, 8 }, { NR_close, LAST }, /* epoll_pwait2 */
	{ NR_close, EVENTS }, { NR(7, NONE), 0, 0, 0 }, /* poll */
	{ NR_ppoll, 8, 1, S(none), 0, 8 }, { NR(23, NONE), 0, 0, 0, 0, S(none) }, /* select */
	{ NR(270, 72), -1, 0, 0, 0, S(none), 0 }, /* pselect6 */
	{ NR(282, NONE), -1, S(none), 4 }, /* signalfd */
	{ NR(289, 74), -1, S(none), 8, -1 }, { NR(253, NONE) }, /* signalfd4; inotify_init */
	{ KEEP, LAST }, { NR(254, 27), LAST, S("."), 0x100 }, /* inotify_add_watch */
	{ NR(255, 28), LAST, 99 }, { NR_close, LAST }, /* inotify_rm_watch */
	{ NR(294, 26), -1 }, { NR(300, 262), -1, 0 }, /* inotify_init1; fanotify_init */
	{ NR(206, 0), 0, 8 }, { NR(207, 1), 8 }, /* io_setup; io_destroy */
	{ NR(209, 2), 8, 1, 8 }, { NR(210, 3), 8, 8, 8 }, /* io_submit; io_cancel */
	{ NR(208, 4), 8, 1, 1, 8, 0 }, /* io_getevents */
	{ NR(333, 292), 8, 1, 1, 8, 0, 0 }, { NR_io_uring_setup, 4, 8 }, /* io_pgetevents */
	{ NR_io_uring_enter, -1, 1, 1, 0, 0, 8 },
	{ NR(427, 427), -1, 99, 0, 0 }, /* io_uring_register */
	{ NR(298, 241), 8, 0, -1, -1, 0 }, { NR(321, 280), 999, 0, 0 }, /* perf_event_open; bpf */
	{ NR(41, 198), 2, 2, 0 }, { KEEP, LAST }, { NR_close, LAST }, /* socket */
	{ NR(41, 198), -1, -1, -1 },
	{ NR(44, 206), SOCK_A, S("sent"), 4, 0x40, 0, 0 }, /* sendto */
	{ NR(45, 207), SOCK_B, S(out), 100, 0x40, 0, 0 }, /* recvfrom */
	{ NR(46, 211), SOCK_A, S(message), 0 }, /* sendmsg */
	{ NR(47, 212), SOCK_B, S(message), 0 }, /* recvmsg */
	{ NR(307, 269), SOCK_A, 8, 1, 0 }, /* sendmmsg */
	{ NR(299, 243), SOCK_B, 8, 1, 0x40, 0 }, /* recvmmsg */
	{ NR(49, 200), SOCK_A, S(&address), -1 }, /* bind */
	{ NR(42, 203), -1, S(&address), 22 }, { NR(50, 201), SOCK_A, 5 }, /* connect; listen */
	{ NR(43, 202), SOCK_A, 0, 0 }, { NR(288, 242), DEVNULL, 0, 0, 0 }, /* accept; accept4 */
	{ NR(51, 204), SOCK_A, S(out), S(&count32) }, /* getsockname */
	{ NR(52, 205), SOCK_A, S(out), S(&count32) }, /* getpeername */
	{ NR(54, 208), SOCK_A, 1, 7, S(&one), 4 }, /* setsockopt */
	{ NR(55, 209), SOCK_A, 1, 7, S(out), S(&count64) }, /* getsockopt */
	{ NR(48, 210), SOCK_A, 2 }, /* shutdown */
};

static const s64 others[][7] = {
	{ NR(63, 160), S(out) }, { NR(99, 179), S(out) }, /* newuname; sysinfo */
	{ NR(318, 278), S(out), 16, 1 }, { NR(96, 169), S(out), 0 }, /* getrandom; gettimeofday */
	{ NR(164, 170), 8, 0 }, { NR(201, NONE), 0 }, /* settimeofday; time */
	{ NR(159, 171), 8 }, { NR(305, 266), -1, 8 }, /* adjtimex; clock_adjtime */
	{ NR(227, 112), 0, 8 }, { NR_clock_gettime, 1, S(out) }, /* clock_settime */
	{ NR_clock_gettime, 99, S(out) }, { NR(229, 114), 1, S(out) }, /* clock_getres */
	{ NR(230, 115), 1, 0, S(none), 0 }, /* clock_nanosleep */
	{ NR(35, 101), S(none), 0 }, { NR(37, NONE), 0 }, /* nanosleep; alarm */
	{ NR(36, 102), 0, S(out) }, { NR(38, 103), 99, S(none), 0 }, /* getitimer; setitimer */
	{ NR(222, 107), 1, 0, S(pair) }, { LOAD, LAST, S(pair) }, /* timer_create */
	{ NR(223, 110), LAST, 0, S(none), 0 }, /* timer_settime */
	{ NR(224, 108), LAST, S(out) }, /* timer_gettime */
	{ NR(225, 109), LAST }, { NR(226, 111), LAST }, /* timer_getoverrun; timer_delete */
	{ NR(226, 111), LAST }, { NR(283, 85), 1, 0 }, { KEEP, LAST }, /* timerfd_create */
	{ NR(286, 86), LAST, 0, S(none), 0 }, /* timerfd_settime */
	{ NR(287, 87), LAST, S(out) }, { NR_close, LAST }, /* timerfd_gettime */
	{ NR(169, 142), 1, 2, 3, 0 }, /* reboot: not without its magic numbers */
	{ NR(246, 104), 0, 17, 0, -1 }, /* kexec_load */
};

/* What is made with every string. */
static const s64 string_calls[][7] = {
	{ NR_openat, HERE, TEXT, 0, 0 }, { NR(269, 48), WIDE(7), TEXT, 0 }, /* faccessat */
	{ NR(316, 276), HERE, TEXT, HERE, S("second"), -1 }, /* renameat2 */
	{ NR(266, 36), S("first"), -1, TEXT }, /* symlinkat */
	{ NR(165, 40), TEXT, S("none/none"), TEXT, 0, 0 }, /* mount */
};

/* What is made with every piece of memory. */
static const s64 array_calls[][7] = {
	{ NR_write, DEVNULL, TEXT, SIZE_OF_TEXT },
	{ NR(18, 68), -1, TEXT, SIZE_OF_TEXT, 0 }, /* pwrite64 */
	{ NR(242, 182), -1, TEXT, SIZE_OF_TEXT, 0, 0 }, /* mq_timedsend */
	{ NR(171, 162), TEXT, SIZE_OF_TEXT }, /* setdomainname */
};

static const s64 end[][7] = {
	{ NR(263, 35), HERE, S("file"), 0 }, { NR(263, 35), HERE, S("flags"), 0 }, /* unlinkat */
	{ NR(80, 49), S("/") }, /* chdir */
	{ NR(263, 35), HERE, S(D), 0x200 },
};

static const s64 addresses[] = {
	S(""), S("a"), S("\n\t\x01\x7f\x80\x9f\xa0\xff."), S("\"quoted\" 'text' \\n \\\\ %s %d"),
	S("line\nfeed"), S("\xe2\x82\xac utf-8"), S("a, b: c) -> 0x0"),
	S("/proc/self/../self/none"), 0, 1, 8, 4095, AT(SECOND) - 10, AT(SECOND) - 1,
	AT(HOLE) - 1, AT(HOLE) - 20, AT(HOLE) - 62, AT(HOLE) - 63, AT(HOLE) - 64, AT(HOLE) - 65,
	AT(HOLE) - 165, AT(HOLE) - 166, AT(HOLE) - 167, AT(HOLE) - 168, AT(HOLE) - 169,
	AT(HOLE) - 170, AT(HOLE) - 171, AT(HOLE), AT(NOTHING), AT(NOTHING) - 1, AT(BEHIND_END),
	/* Ends of user space, holes between it and the kernel's, the kernel's, a tagged address. */
	0x7fffffffeff8, 0x7fffffffefff, 0x7ffffffff000, 0xfffffffffff8, 0xffffffffffff,
	0xffffffffffff8, 0x7ffffffffffffff8, (s64)0x8000000000000000, (s64)0xffff800000000000,
	(s64)0xffffffff81000000, -4096, -8, -1, AT(SECOND) | 0x5a00000000000000,
};

static const s64 arrays[][2] = {
	{ S("\1\2\n\x80\xff"), 5 }, { S("\"\\%s\tx\x9f\xa0"), 8 }, { S("\0\0\0"), 3 },
	{ S("a\0b"), 3 }, { 0, 0 }, { 0, 5 }, { 8, 100 }, { -1, 10 }, { -5, 5 },
	{ (s64)0xffffffff81000000, 20 }, { 0x7fffffffeff8, 8 }, { 0x7fffffffeff8, 9 },
	{ AT(NOTHING), 10 }, { AT(BEHIND_END), 10 }, { AT(BEHIND_END) - 10, 20 },
	{ AT(HOLE), 0 }, { AT(HOLE) - 10, 10 }, { AT(HOLE) - 10, 11 }, { AT(HOLE) - 62, 63 },
	{ AT(HOLE) - 63, 64 }, { AT(HOLE) - 168, 168 }, { AT(HOLE) - 168, 1000 },
	{ AT(HOLE) - 169, 1000 }, { AT(HOLE) - 170, -1 }, { AT(SECOND) - 20, 40 },
	{ AT(SECOND), -1 }, { AT(SECOND), 0x7fffffff }, { AT(SECOND), 0x80000000 },
	{ AT(SECOND), 0xffffffff }, { AT(SECOND), 1L << 32 }, { AT(SECOND), (1L << 32) + 5 },
	{ AT(SECOND), (s64)0x8000000000000000 },
};

static void map(s64 at, s64 size, s64 protection, s64 file)
{
	sys6(NR_mmap, at, size, protection, MAP_PRIVATE | 0x10 | (file < 0 ? MAP_ANONYMOUS : 0),
	     file, 0);
}

static void memory(void)
{
	s64 file = kept[FILE & 15];

	map(AT(FIRST), 3 * UNIT, 3, -1);
	call(NR_munmap, AT(HOLE), UNIT, 0, 0, 0);
	map(AT(NOTHING), UNIT, 0, -1);
	call(NR(77, 46), file, UNIT, 0, 0, 0); /* ftruncate */
	call(NR(18, 68), file, S("on a page of a file"), 20, 100, 0); /* pwrite64 */
	call(NR(18, 68), file, S("until its end"), 13, UNIT - 13, 0);
	map(AT(MAPPED), 2 * UNIT, 1, file);
	map(AT(UNTOUCHED), 3 * UNIT, 3, -1);
	for (s64 at = AT(FIRST); at < AT(HOLE); at++)
		*(char *)at = 'a' + at % 26;
}

static void texts(s64 at)
{
	kept[TEXT & 15] = at;
	RUN(string_calls);
}

/* The page is not present before any of the calls. */
static void absent(s64 at, s64 advice)
{
	kept[TEXT & 15] = at;
	kept[SIZE_OF_TEXT & 15] = 30;
	for (u64 n = 0; n < SIZE(string_calls) + SIZE(array_calls); n++) {
		call(NR(28, 233), at & -UNIT, UNIT, advice, 0, 0); /* madvise */
		if (n < SIZE(string_calls))
			run(string_calls + n, 1);
		else
			run(array_calls + n - SIZE(string_calls), 1);
	}
}

static void user_memory(void)
{
	static const short lengths[] = {
		1, 7, 8, 61, 62, 63, 64, 65, 66, 163, 164, 165, 166, 167, 168, 169, 170, 171,
		255, 300, 1000, 4094, 4095, 4096,
	};
	char *text = (char *)AT(FIRST);

	for (u64 n = 0; n < SIZE(addresses); n++)
		texts(addresses[n]);
	for (u64 n = 0; n < SIZE(arrays); n++) {
		kept[TEXT & 15] = arrays[n][0];
		kept[SIZE_OF_TEXT & 15] = arrays[n][1];
		RUN(array_calls);
	}
	for (u64 n = 0; n < SIZE(lengths); n++) {
		text[lengths[n]] = 0;
		texts(AT(FIRST));
		text[lengths[n]] = 'x';
		kept[SIZE_OF_TEXT & 15] = lengths[n];
		RUN(array_calls);
	}
	/* Every character, 50 in a string. */
	for (int n = 1; n < 256; n++) {
		text[(n - 1) % 50] = n == '/' ? '0' : n;
		text[(n - 1) % 50 + 1] = 0;
		if (n % 50 && n != 255)
			continue;
		kept[SIZE_OF_TEXT & 15] = 50;
		texts(AT(FIRST));
		RUN(array_calls);
	}
	absent(S(data) + UNIT, 4);
	absent(S(data) + 3 * UNIT, 21);
	/* Both its pages are absent the first time. */
	texts(S(data) + 2 * UNIT - 1);
	absent(AT(MAPPED) + 100, 4);
	absent(AT(MAPPED) + 100, 21);
	absent(AT(BEHIND_END) - 13, 4);
	absent(AT(UNTOUCHED), 4);
	texts(AT(UNTOUCHED_TOO) - 1);
}

static void flags(void)
{
	static const s64 many[] = {
		0, 1, 2, 3, 0102, 0301, 01102, 03001, 02004000, 020200000, 020200002, 020040002,
		0777777777, -1, 0x7fffffff, 0xffffffff, 0x100000000, 0x100000002, -4096,
	};
	static const s64 modes[] = { 0, 7, 0644, 07777, 0100600, -1, 0x100000180 };
	s64 file;

	for (u64 n = 0; n < SIZE(many) + 34; n++) {
		file = call(NR_openat, HERE, S("flags"),
			    n < SIZE(many) ? many[n] : 1L << (n - SIZE(many)), 0640, 0);
		call(NR_close, file, 0, 0, 0, 0);
	}
	for (u64 n = 0; n < SIZE(modes); n++) {
		file = call(NR_openat, HERE, S("flags"), 0101, modes[n], 0);
		call(NR_close, file, 0, 0, 0, 0);
	}
}

static void handler(int signal)
{
	(void)signal;
}

static void signals(void)
{
	s64 action[4] = { S(handler), 0, 0, 0 }, mask = 1 << 9;

#if defined(__x86_64__)
	extern char restorer[];

	__asm__("jmp 1f\nrestorer:\n\tmov $15, %eax\n\tsyscall\n1:");
	action[1] = 0x04000000;
	action[2] = S(restorer);
#endif
	call(NR(13, 134), 10, S(action), 0, 8, 0); /* rt_sigaction */
	call(NR(13, 134), 9, S(action), 0, 8, 0);
	call(NR(62, 129), call(NR_getpid, 0, 0, 0, 0, 0), 10, 0, 0, 0); /* kill, rt_sigreturn */
	call(NR(14, 135), 0, S(&mask), 0, 8, 0); /* rt_sigprocmask */
	call(NR(62, 129), call(NR_getpid, 0, 0, 0, 0, 0), 10, 0, 0, 0);
	call(NR(130, 133), S(none), 8, 0, 0, 0); /* rt_sigsuspend */
	call(NR(62, 129), call(NR_getpid, 0, 0, 0, 0, 0), 10, 0, 0, 0);
	call(NR(128, 137), S(&mask), 0, S(none), 8, 0); /* rt_sigtimedwait */
	call(NR(14, 135), 1, S(&mask), 0, 8, 0);
}

/* Without its events: a filter refuses getppid. */
static void refused(void)
{
	static const u64 filter[] = {
		0x20, 0x15 | 1L << 24 | (u64)NR_getppid << 32, 0x5000d00000006, 0x7fff000000000006,
	};
	const s64 program[2] = { SIZE(filter), S(filter) };

	call(NR_prctl, 38, 1, 0, 0, 0); /* no new privileges */
	call(NR(317, 277), 1, 0, S(program), 0, 0); /* seccomp */
	call(NR_getppid, 0, 0, 0, 0, 0);
}

/* Numbers the kernel does not have, or takes for others. */
static void numbers(void)
{
	static const s64 wrong[] = {
		999, -1, -2, 0x7fffffff, (s64)(1UL << 63 | NR_getppid),
		0x40000000 | NR_getppid, NR(183, 42), NR(350, 244), WIDE(NR_getppid),
	};

	for (u64 n = 0; n < SIZE(wrong); n++)
		call(wrong[n], 1, 2, 3, 4, 5);
#if defined(__x86_64__)
	s64 number = 20; /* getpid, where a 64-bit task's 20 is writev */

	__asm__ volatile("int $0x80" : "+a"(number) : : "r8", "r9", "r10", "r11", "memory");
#endif
}

static void leader(void)
{
	call(NR(112, 157), 0, 0, 0, 0, 0); /* setsid */
	call(NR(112, 157), 0, 0, 0, 0, 0);
	call(NR(153, 58), 0, 0, 0, 0, 0); /* vhangup */
}

/* A signal ends the task within its call, where even a slow machine has come by then. */
static void killed(void)
{
	s64 timer[4] = { 0, 0, 0, 50000 };

	call(NR(38, 103), 0, S(timer), 0, 0, 0); /* setitimer */
	for (;;)
		call(NR(34, 73), 0, 0, 0, 0, 0); /* pause, ppoll */
}

static void execute(void)
{
	static const char *args[] = { "fpcalls", "child", 0 };

	memset(out, 0, sizeof(out));
	call(NR(267, 78), HERE, S("/proc/self/exe"), S(out), 200, 0); /* readlinkat */
	call(NR(59, 221), S(out), S(args), S(none), 0, 0); /* execve */
}

static void children(void)
{
	static void (*const children[])(void) = { refused, numbers, leader, killed, execute };

	for (u64 n = 0; n < SIZE(children); n++) {
		s64 child = NR(n & 1, 0) ? call(NR(57, -1), 0, 0, 0, 0, 0) : /* fork */
					   call(NR_clone, SIGCHLD, 0, 0, 0, 0);

		if (!child) {
			children[n]();
			exit(n);
		}
		call(NR_wait4, child, S(out), 0, 0, 0);
	}
#if defined(__x86_64__)
	s64 number = 58; /* vfork: it has its parent's stack, so it only exits */

	__asm__ volatile("syscall\n\ttest %%eax, %%eax\n\tjnz 1f\n\tmov $60, %%eax\n\tsyscall\n1:"
			 : "+a"(number) : "D"(3) : "rcx", "r11", "memory");
	call(NR_wait4, number, S(out), 0, 0, 0);
#endif
}

int begin(u64 *stack)
{
	if (stack[0] > 1)
		exit(0);
	RUN(start);
	RUN(files);
	RUN(strings);
	RUN(tasks);
	memory();
	RUN(memory_calls);
	RUN(others);
	flags();
	user_memory();
	RUN(descriptors);
	signals();
	children();
	RUN(end);
	call(NR(231, 94), 0, 0, 0, 0, 0); /* exit_group */
	exit(0);
}
