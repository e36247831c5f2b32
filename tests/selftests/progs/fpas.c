// SPDX-License-Identifier: GPL-2.0
/*
 * fpas USER PROGRAM ARGUMENT...: run a program, named by its path, as the user and
 * group of that number, in no other groups and without capabilities.
 */

#include "sys.h"

#if defined(__x86_64__)
enum { SYS_setuid = 105, SYS_setgid = 106, SYS_setgroups = 116, SYS_execve = 59 };
#elif defined(__aarch64__)
enum { SYS_setuid = 146, SYS_setgid = 144, SYS_setgroups = 159, SYS_execve = 221 };
#endif

/* The stack as the kernel leaves it: the count, the arguments, the environment. */
__attribute__((used)) void begin(u64 *stack)
{
	u64 count = stack[0], user;
	char **args = (char **)(stack + 1);

	if (count < 3)
		die("usage: see the head of fpas.c", count);
	user = number(args[1]);
	if (sys(SYS_setgroups, 0, 0, 0, 0, 0) < 0 || sys(SYS_setgid, user, 0, 0, 0, 0) < 0 ||
	    sys(SYS_setuid, user, 0, 0, 0, 0) < 0)
		die("cannot become that user", user);
	die(args[2], sys(SYS_execve, (s64)args[2], (s64)(args + 2), (s64)(args + count + 1), 0, 0));
}
