// SPDX-License-Identifier: GPL-2.0
/*
 * fpleave SECONDS DIR DIR/BELOW: for as long, mount the file system at DIR, enter DIR/BELOW,
 * unmount it lazily and leave, which ends it; while a process that shares the working directory
 * walks there all the time.  Prints how many times.
 */

#include "sys.h"

enum { CLONE_FS = 0x200, MNT_DETACH = 2, SIGKILL = 9, PR_SET_PDEATHSIG = 1 };

static u64 seconds(void)
{
	u64 now[2];

	sys(NR_clock_gettime, CLOCK_MONOTONIC, (s64)now, 0, 0, 0);
	return now[0];
}

static void walk(void)
{
	static char path[512], to[512];

	for (u64 at = 0; at < 400; at += 2) {
		path[at] = '.';
		path[at + 1] = '/';
	}
	sys(NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;)
		sys(NR_statx, AT_FDCWD, (s64)path, 0, 1, (s64)to);
}

void begin(u64 *stack)
{
	char **args = (char **)(stack + 1);
	u64 end;
	s64 result, count = 0;

	if (stack[0] != 4)
		die("arguments", stack[0]);
	if (!sys(NR_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0))
		walk();
	for (end = seconds() + number(args[1]); seconds() < end; count++) {
		result = sys(NR_mount, (s64)"none", (s64)args[2], (s64)"ferroprobe", 0, 0);
		if (result)
			die("mount", result);
		result = sys(NR_chdir, (s64)args[3], 0, 0, 0, 0);
		if (result)
			die("chdir", result);
		result = sys(NR_umount2, (s64)args[2], MNT_DETACH, 0, 0, 0);
		if (result)
			die("umount", result);
		sys(NR_chdir, (s64)"/", 0, 0, 0, 0);
	}
	print_number(count);
	print("\n");
	exit(0);
}
