// SPDX-License-Identifier: GPL-2.0
/*
 * fppath [-r ROOT] [-d DEPTH] [FILE]...: open each file, and files that are in no directory; print
 * the path that the kernel's d_path() makes of each, and have the kernel come by with it: fstat,
 * fcntl.  With -r in that root, which needs proc/; with -d below that many new directories, which
 * it leaves behind.  A file behind "-" is deleted once it is open.
 */

#include "sys.h"

static void visit(s64 file)
{
	static char link[32], path[8192], stat[512];
	char digits[8];
	s64 length, n = 0, at;

	if (file < 0)
		die("open", file);
	for (at = 0; "/proc/self/fd/"[at]; at++)
		link[at] = "/proc/self/fd/"[at];
	for (s64 rest = file; rest || !n; rest /= 10)
		digits[n++] = '0' + rest % 10;
	while (n)
		link[at++] = digits[--n];
	link[at] = 0;
	length = sys(NR_readlinkat, AT_FDCWD, (s64)link, (s64)path, sizeof(path) - 1, 0);
	/* It has no path that fits into a page. */
	if (length < 0) {
		print("?");
	} else {
		path[length] = 0;
		print(path);
	}
	print("\n");
	sys(NR_fstat, file, (s64)stat, 0, 0, 0);
	/* F_GETFL */
	sys(NR_fcntl, file, 3, 0, 0, 0);
	sys(NR_close, file, 0, 0, 0, 0);
}

static s64 open_file(const char *path)
{
	return sys(NR_openat, AT_FDCWD, (s64)path, O_NONBLOCK, 0, 0);
}

static void pseudo(void)
{
	int pair[2];

	if (sys(NR_pipe2, (s64)pair, 0, 0, 0, 0))
		die("pipe", 0);
	visit(pair[0]);
	visit(pair[1]);
	if (sys(NR_socketpair, 1, 1, 0, (s64)pair, 0))
		die("socketpair", 0);
	visit(pair[0]);
	visit(pair[1]);
	visit(sys(NR_eventfd2, 0, 0, 0, 0, 0));
	visit(sys(NR_memfd_create, (s64)"a memory", 0, 0, 0, 0));
	visit(sys(NR_pidfd_open, sys(NR_getpid, 0, 0, 0, 0, 0), 0, 0, 0, 0));
	visit(open_file("/proc/self/ns/mnt"));
	visit(open_file("/proc/self/ns/pid"));
}

__attribute__((noreturn)) void begin(s64 *stack)
{
	char **argument = (char **)(stack + 1) + 1;

	if (*argument && same(*argument, "-r")) {
		if (sys(NR_chroot, (s64)argument[1], 0, 0, 0, 0))
			die("chroot", 0);
		sys(NR_chdir, (s64)"/", 0, 0, 0, 0);
		argument += 2;
	}
	if (*argument && same(*argument, "-d")) {
		for (u64 n = number(argument[1]); n; n--) {
			sys(NR_mkdirat, AT_FDCWD, (s64)"below", 0755, 0, 0);
			if (sys(NR_chdir, (s64)"below", 0, 0, 0, 0))
				die("chdir", n);
		}
		argument += 2;
	} else {
		pseudo();
	}
	for (; *argument; argument++) {
		int is_deleted = same(*argument, "-");
		s64 file;

		argument += is_deleted;
		file = open_file(*argument);
		if (is_deleted)
			sys(NR_unlinkat, AT_FDCWD, (s64)*argument, 0, 0, 0);
		visit(file);
	}
	exit(0);
}
