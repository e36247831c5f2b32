// SPDX-License-Identifier: GPL-2.0
/*
 * What ticks take from a program that is busy in the kernel: it prints the nanoseconds for a fixed
 * amount of work.
 *
 *	fptick			as it is
 *	fptick PERIOD		while perf samples cpu-clock on this processor each PERIOD nanoseconds, to
 *				a buffer that has room for all; prints the number of samples behind it
 *	fptick PERIOD stack	the same with the stack
 */

#include "../selftests/progs/sys.h"

#if defined(__x86_64__)
enum { NR_getrandom = 318, NR_perf_event_open = 298 };
#elif defined(__aarch64__)
enum { NR_getrandom = 278, NR_perf_event_open = 241 };
#endif

/* PERF_ATTR_SIZE_VER5, of which most is 0. */
struct attribute {
	unsigned int type, size;
	u64 config, period, sample_type, read_format, flags;
	u64 rest[8];
};

enum {
	PERF_TYPE_SOFTWARE = 1,
	PERF_COUNT_SW_CPU_CLOCK = 0,
	/* Instruction, task, time, processor, period: what perf record asks for. */
	PERF_SAMPLE = 1 | 2 | 4 | 128 | 256,
	PERF_SAMPLE_CALLCHAIN = 32,
	PAGES = 1024,
};

static char random[1 << 16];

static s64 now(void)
{
	s64 time[2];

	sys(NR_clock_gettime, CLOCK_MONOTONIC, (s64)time, 0, 0, 0);
	return time[0] * 1000000000 + time[1];
}

static s64 work(void)
{
	s64 begin = now();
	int n;

	for (n = 0; n < 400; n++)
		sys(NR_getrandom, (s64)random, sizeof(random), 0, 0, 0);
	return now() - begin;
}

__attribute__((used)) void begin(u64 *stack)
{
	char **args = (char **)(stack + 2);
	static struct attribute attribute;
	const char *page;
	u64 end, at, samples = 0;
	s64 event;

	if (stack[0] < 2) {
		print_number(work());
		print("\n");
		exit(0);
	}
	attribute.type = PERF_TYPE_SOFTWARE;
	attribute.size = sizeof(attribute);
	attribute.config = PERF_COUNT_SW_CPU_CLOCK;
	attribute.period = number(args[0]);
	attribute.sample_type = PERF_SAMPLE | (stack[0] > 2 ? PERF_SAMPLE_CALLCHAIN : 0);
	event = sys(NR_perf_event_open, (s64)&attribute, -1, 0, -1, 0);
	if (event < 0)
		die("perf_event_open", event);
	page = (const char *)sys6(NR_mmap, 0, (PAGES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
	if ((s64)page < 0 && (s64)page > -4096)
		die("mmap", (s64)page);
	print_number(work());
	/* data_head is behind the first KiB. */
	end = *(volatile u64 *)(page + 1024);
	for (at = 0; at < end && at < PAGES * 4096; samples++)
		at += *(unsigned short *)(page + 4096 + at + 6);
	print(" ");
	print_number(samples);
	print("\n");
	exit(0);
}
