/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compiled with ORACLE, SEE() prints the values that expressions have before the rest of its line
 * runs; without, it is nothing, and a probe on the line must find the same.  With ORACLE=2 each is
 * printed as SIGNED/UNSIGNED.
 *
 * Programs that include it are modules of the kernel, too.
 */
#ifdef __KERNEL__
#include <linux/string.h>
#include <linux/types.h>
#define MAIN values
#else
#define MAIN main
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#endif

#ifdef ORACLE
static void see(int line, const char *names, int count, const long long *values)
{
	printf("%d\t%s", line, names);
	for (int at = 0; at < count; at++)
		if (ORACLE == 2)
			printf("\t%lld/%llu", values[at], values[at]);
		else
			printf("\t%lld", values[at]);
	printf("\n");
}
#define SEE(...)								\
	see(__LINE__, #__VA_ARGS__,						\
	    sizeof((long long[]){ __VA_ARGS__ }) / sizeof(long long),		\
	    (long long[]){ __VA_ARGS__ });
#else
#define SEE(...)
#endif

/* Lets the test trace the process. */
static void begin(void)
{
#if !defined(ORACLE) && !defined(__KERNEL__)
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
#endif
}

#define NOINLINE __attribute__((__noinline__, __noclone__))

volatile int64_t sink;

NOINLINE void use(int64_t value)
{
	sink += value;
}

NOINLINE int64_t opaque(int64_t value)
{
	sink = value;
	return sink;
}
