// SPDX-License-Identifier: GPL-2.0
/*
 * fpspent FILE PROGRAM ARGUMENT...: run a program, named by its path, and write to FILE, which
 * exists, the nanoseconds of processor time that the program and the children that it has
 * waited for took, as user and in the kernel together.
 */

#include "../selftests/progs/sys.h"

#if defined(__x86_64__)
enum { NR_dup = 32, NR_execve = 59 };
#elif defined(__aarch64__)
enum { NR_dup = 23, NR_execve = 221 };
#endif

/* As the kernel writes it: times in seconds and microseconds. */
struct rusage {
	s64 user[2], system[2], others[14];
};

static s64 nanoseconds(const s64 *time)
{
	return time[0] * 1000000000 + time[1] * 1000;
}

__attribute__((used)) void begin(u64 *stack)
{
	char **args = (char **)(stack + 2), **environment = (char **)(stack + stack[0] + 2);
	struct rusage spent;
	int status = 0;
	s64 child, file;

	if (stack[0] < 3)
		die("usage: fpspent FILE PROGRAM ARGUMENT...", 0);
	child = sys(NR_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		s64 error = sys(NR_execve, (s64)args[1], (s64)(args + 1), (s64)environment, 0, 0);

		die(args[1], error);
	}
	if (child < 0 || sys(NR_wait4, child, (s64)&status, 0, (s64)&spent, 0) != child)
		die("wait4", child);
	file = sys(NR_openat, AT_FDCWD, (s64)args[0], O_WRONLY | O_TRUNC, 0, 0);
	/* print() writes to descriptor 1. */
	sys(NR_close, 1, 0, 0, 0, 0);
	if (file < 0 || sys(NR_dup, file, 0, 0, 0, 0) != 1)
		exit(1);
	print_number(nanoseconds(spent.user) + nanoseconds(spent.system));
	print("\n");
	exit(status != 0);
}
