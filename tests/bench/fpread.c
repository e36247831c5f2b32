// SPDX-License-Identifier: GPL-2.0
/*
 * Reads all that a ring holds, and prints the nanoseconds that took, in the directory
 * of the events:
 *
 *   splice FILE   by splice(2), and on to where nothing is kept
 *   map FILE      where it is mapped, page by page, without a look at the events
 */

#include "../selftests/progs/sys.h"
#include "../selftests/progs/raw.h"

static u64 now(void)
{
	s64 time[2];

	sys(NR_clock_gettime, CLOCK_MONOTONIC, (s64)time, 0, 0, 0);
	return (u64)time[0] * 1000000000 + (u64)time[1];
}

/* SCHED_FIFO: what the kernel does in the background waits. */
static void alone(void)
{
	const int priority = 50;

	sys(NR_sched_setscheduler, 0, 1, (s64)&priority, 0, 0);
}

static u64 spliced(s64 file)
{
	s64 nowhere = open_file("/dev/null", O_WRONLY), got;
	int ends[2];
	u64 time;

	if (sys(NR_pipe2, (s64)ends, 0, 0, 0, 0))
		die("pipe", 0);
	time = now();
	while ((got = splice(file, ends[1], 1 << 16, SPLICE_F_NONBLOCK)) > 0)
		if (splice(ends[0], nowhere, (u64)got, 0) != got)
			die("splice from the pipe", got);
	return now() - time;
}

static u64 mapped(s64 file)
{
	struct mapped mapped;
	struct layout layout;
	u64 time;

	read_layout(&layout);
	map_ring(&mapped, &layout, file);
	time = now();
	while (more_mapped(&mapped, &layout))
		;
	return now() - time;
}

__attribute__((used)) void begin(u64 *stack)
{
	char **args = (char **)(stack + 2);

	if (stack[0] != 3)
		die("usage: fpread splice|map FILE", 0);
	alone();
	print_number(same(args[0], "map") ? mapped(open_file(args[1], O_NONBLOCK)) :
		     spliced(open_file(args[1], O_NONBLOCK)));
	print("\n");
	exit(0);
}
