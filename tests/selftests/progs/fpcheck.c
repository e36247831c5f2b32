// SPDX-License-Identifier: GPL-2.0
/*
 * fpcheck [changing] SECONDS GROUP/EVENT...: in the tracing directory, with these events and
 * no others defined, let all CPUs write and read at once, and prove that no event
 * is torn, doubled or out of order, and that all counters add up.  Exits with 0
 * and a line for each CPU, or with 1 and what is wrong.
 *
 * The first event is on setpriority, with the system call's three arguments as
 * cpu, n and m, each u32: on each CPU a process calls setpriority(1000 + CPU, n,
 * 1000000000 - n) for n from 1 on.  The others are on whatever other contexts hit.
 *
 * For each CPU a process consumes its events: in turn as text, in binary, and from
 * the ring's memory, which is mapped all the time.  Another one goes over trace,
 * stats and the like, which consume nothing.  What they find:
 *
 *   - times never go back on a CPU
 *   - the values of the first event belong together; its n ascends by one, but by
 *     no more than there are marks of lost events
 *   - what was consumed is what stats says was read, and what is marked as lost
 *     is what stats says was overrun or dropped
 *   - both together are what kprobe_stats says was recorded or lost
 *   - calls are hits and misses of kprobe_profile
 *
 * With "changing" somebody else may meanwhile give the CPUs with even numbers other
 * sizes, and take the last one offline: no process is bound to that, and only the
 * memory of odd ones is mapped, which keeps its size.
 *
 * The buffer is cleared first.  Sizes, overwrite, and what else is chosen stay; the
 * clock must count nanoseconds.
 */

#include "sys.h"
#include "raw.h"

enum { CPUS = 64, EVENTS = 16 };

/* What the processes share. */
static struct shared {
	volatile int writing, reading;
	volatile u64 passes;
	struct {
		volatile u64 calls, idle;
		volatile u64 by_text, by_reading, by_mapping, lost, uncounted;
	} cpu[CPUS];
} *shared;

static struct layout layout;
static struct format formats[EVENTS];
static const struct field *fields[3];
static u64 known, cpus;
static int changing;

/* Where a reader of one CPU is. */
struct stream {
	u64 cpu, nanoseconds, microseconds, n, gap;
	int gap_unknown;
};

static void wrong(const struct stream *stream, const char *what, u64 value) __attribute__((noreturn));
static void wrong(const struct stream *stream, const char *what, u64 value)
{
	print("cpu");
	print_number(stream->cpu);
	print(", after n=");
	print_number(stream->n);
	print(" at ");
	print_number(stream->nanoseconds);
	print(", ");
	die(what, value);
}

static void saw_time(struct stream *stream, u64 nanoseconds)
{
	if (nanoseconds < stream->nanoseconds)
		wrong(stream, "the time goes back to", nanoseconds);
	stream->nanoseconds = nanoseconds;
	stream->microseconds = (nanoseconds + 500) / 1000;
}

static void saw_microseconds(struct stream *stream, u64 microseconds)
{
	if (microseconds < stream->microseconds)
		wrong(stream, "the time in text goes back to", microseconds);
	if (microseconds > stream->microseconds)
		stream->nanoseconds = microseconds * 1000 - 500;
	stream->microseconds = microseconds;
}

static void saw_lost(struct stream *stream, u64 count, int counted)
{
	stream->gap += count;
	stream->gap_unknown |= !counted;
}

static void saw_call(struct stream *stream, u64 cpu, u64 n, u64 m)
{
	u64 missing = n - stream->n - 1;

	if (n + m != 1000000000)
		wrong(stream, "torn", n);
	if (cpu != 1000 + stream->cpu)
		wrong(stream, "of another CPU", cpu);
	if (n <= stream->n)
		wrong(stream, "doubled or out of order", n);
	if (missing > stream->gap && !stream->gap_unknown)
		wrong(stream, "missing without a mark", missing);
	stream->n = n;
	stream->gap = 0;
	stream->gap_unknown = 0;
}

static void saw_record(struct stream *stream, const struct event *event)
{
	u64 id = load(event->record, 2), n;

	saw_time(stream, event->time);
	for (n = 0; n < known && formats[n].id != id; n++)
		;
	if (n == known)
		wrong(stream, "no such event", id);
	if (!n)
		saw_call(stream, field_value(event, fields[0], 0), field_value(event, fields[1], 0),
			 field_value(event, fields[2], 0));
}

static u64 saw_page(struct stream *stream, struct page *page)
{
	struct event event;
	u64 count = 0;

	for (; next_event(&layout, page, &event); count++)
		saw_record(stream, &event);
	return count;
}

/* Text: where the next byte is. */
static int at_text(const char **at, const char *text)
{
	if (!same_start(*at, text))
		return 0;
	*at += length(text);
	return 1;
}

static u64 decimal(const char **at)
{
	u64 value = 0;

	if (**at < '0' || **at > '9')
		die("no number in a line", **at);
	while (**at >= '0' && **at <= '9')
		value = value * 10 + (*(*at)++ - '0');
	return value;
}

/* A line of trace or trace_pipe: 1 for an event, 0 for none, and then how many
 * were lost. */
static int saw_line(struct stream *streams, const char *line, u64 *lost)
{
	const char *at = line;
	struct stream *stream;
	u64 microseconds, call[3], n = 0;

	*lost = 0;
	if (at_text(&at, "CPU:")) {
		stream = &streams[decimal(&at) % CPUS];
		at = behind(at, "[LOST ");
		*lost = decimal(&at);
		saw_lost(stream, *lost, 1);
		return 0;
	}
	if (*line == '#' || !*line)
		return 0;
	/* Behind the name, which may have a bracket in it. */
	do
		at = behind(at, " [");
	while (*at < '0' || *at > '9');
	stream = &streams[decimal(&at) % CPUS];
	for (at = behind(at, "] "); *at && *at != ' '; at++)
		;
	while (*at == ' ')
		at++;
	microseconds = decimal(&at) * 1000000;
	at++;
	saw_microseconds(stream, microseconds + decimal(&at));
	at += 2;
	while (n < known && !(same_start(at, formats[n].name) && at[length(formats[n].name)] == ':'))
		n++;
	if (n == known)
		die(at, stream->cpu);
	if (n)
		return 1;
	for (n = 0; n < 3; n++) {
		at = behind(at, n == 0 ? " cpu=" : n == 1 ? " n=" : " m=");
		call[n] = decimal(&at);
	}
	if (*at)
		die("something behind an event", *at);
	saw_call(stream, call[0], call[1], call[2]);
	return 1;
}

static char text[1 << 17];

/* All that comes of a file of text without waiting; counts events and losses. */
static u64 saw_text(struct stream *streams, s64 file, u64 *lost, int to_the_end)
{
	u64 filled = 0, count = 0, one;
	s64 got;

	do {
		u64 start = 0;

		got = sys(NR_read, file, (s64)text + filled, sizeof(text) - filled, 0, 0);
		if (got < 0 && got != -EAGAIN)
			die("read of text", got);
		if (got <= 0)
			break;
		filled += got;
		for (u64 at = 0; at < filled; at++) {
			if (text[at] != '\n')
				continue;
			text[at] = 0;
			count += saw_line(streams, text + start, &one);
			*lost += one;
			start = at + 1;
		}
		filled -= start;
		for (u64 n = 0; n < filled; n++)
			text[n] = text[start + n];
	} while (filled || to_the_end);
	if (filled)
		die("half a line", filled);
	return count;
}

static void name_of(char *name, u64 cpu, const char *file)
{
	char digits[4] = { 0 };
	u64 n = 0;

	if (cpu > 9)
		digits[n++] = '0' + cpu / 10;
	digits[n] = '0' + cpu % 10;
	memcpy(name, "per_cpu/cpu", 11);
	memcpy(name + 11, digits, n + 1);
	memcpy(name + 12 + n, file, length(file) + 1);
}

static s64 open_of(u64 cpu, const char *file, int flags)
{
	char name[64];

	name_of(name, cpu, file);
	return open_file(name, flags);
}

static void sleep_ms(u64 ms)
{
	const s64 time[2] = { ms / 1000, ms % 1000 * 1000000 };

	sys(NR_ppoll, 0, 0, (s64)time, 0, 0);
}

static u8 bytes[LARGEST_SUB_BUFFER];

static int read_one(struct stream *stream, s64 file)
{
	s64 got = sys(NR_read, file, (s64)bytes, page_bytes(&layout), 0, 0);
	struct page page;

	if (got == -EAGAIN)
		return 0;
	if (got != (s64)page_bytes(&layout))
		wrong(stream, "a read of", got);
	page = page_at(&layout, bytes);
	saw_lost(stream, page.lost, !page.missed || page.counted);
	shared->cpu[stream->cpu].lost += page.lost;
	shared->cpu[stream->cpu].uncounted += page.missed && !page.counted;
	shared->cpu[stream->cpu].by_reading += saw_page(stream, &page);
	return 1;
}

static int look_at_one(struct stream *stream, struct mapped *mapped)
{
	if (!more_mapped(mapped, &layout))
		return 0;
	saw_lost(stream, mapped->page.lost, 1);
	shared->cpu[stream->cpu].lost += mapped->page.lost;
	shared->cpu[stream->cpu].by_mapping += saw_page(stream, &mapped->page);
	return 1;
}

/* Consume what CPU records, until all is read and no more is to come. */
static void consume(u64 cpu)
{
	struct stream streams[CPUS] = { 0 }, *stream = &streams[cpu];
	s64 lines = open_of(cpu, "/trace_pipe", O_NONBLOCK);
	s64 pages = open_of(cpu, "/trace_pipe_raw", O_NONBLOCK);
	u64 random = cpu + 1, lost;
	struct mapped mapped;
	int idle = 0, is_mapped = !changing || cpu % 2;

	stream->cpu = cpu;
	if (is_mapped)
		map_ring(&mapped, &layout, pages);
	while (idle < 4) {
		int last = !shared->reading, some = 0;
		u64 count;

		random = random * 6364136223846793005 + 1442695040888963407;
		count = (random >> 33) % 8 + 1;
		/* What is handed out and looked at, the others may take over. */
		while (is_mapped && count-- && look_at_one(stream, &mapped))
			some = 1;
		if (random >> 40 & 1) {
			lost = 0;
			count = saw_text(streams, lines, &lost, 0);
			shared->cpu[cpu].by_text += count;
			shared->cpu[cpu].lost += lost;
			some |= count != 0;
		}
		for (count = (random >> 41) % 4; count-- && read_one(stream, pages);)
			some = 1;
		if (is_mapped)
			look_again(&mapped, &layout);
		if (!some) {
			shared->cpu[cpu].idle++;
			sleep_ms(2);
		}
		idle = last && !some ? idle + 1 : 0;
	}
	exit(0);
}

/* Look at all that consumes nothing. */
static void look(void)
{
	const char *files[] = { "kprobe_profile", "kprobe_stats", "saved_cmdlines", "buffer_size_kb" };
	u64 lost = 0;

	while (shared->reading) {
		static struct stream streams[CPUS];
		s64 file = open_file("trace", 0);

		memset(streams, 0, sizeof(streams));
		for (u64 cpu = 0; cpu < CPUS; cpu++) {
			streams[cpu].cpu = cpu;
			/* Not from the first on. */
			streams[cpu].gap_unknown = 1;
		}
		saw_text(streams, file, &lost, 1);
		sys(NR_close, file, 0, 0, 0, 0);
		for (u64 cpu = 0; cpu < cpus; cpu++) {
			char name[64];

			name_of(name, cpu, "/stats");
			read_text(name, text, sizeof(text));
			number_behind(text, "entries:");
		}
		for (u64 n = 0; n < sizeof(files) / sizeof(files[0]); n++)
			read_text(files[n], text, sizeof(text));
		shared->passes++;
		sleep_ms(10);
	}
	exit(0);
}

static void call(u64 cpu)
{
	u64 mask[16] = { 0 };

	if (changing && cpu == cpus - 1)
		exit(0);
	mask[cpu / 64] = 1UL << cpu % 64;
	/* Where that CPU is offline nobody calls. */
	if (sys(NR_sched_setaffinity, 0, sizeof(mask), (s64)mask, 0, 0) < 0)
		exit(0);
	do {
		u64 n = shared->cpu[cpu].calls + 1;

		sys(NR_setpriority, 1000 + cpu, n, 1000000000 - n, 0, 0);
		shared->cpu[cpu].calls = n;
	} while (shared->writing);
	exit(0);
}

static s64 fork(void)
{
	return sys(NR_clone, SIGCHLD, 0, 0, 0, 0);
}

static void put_text(const char *name, const char *what)
{
	s64 file = open_file(name, O_WRONLY | O_TRUNC);
	s64 done = sys(NR_write, file, (s64)what, length(what), 0, 0);

	if (done < 0)
		die(name, done);
	sys(NR_close, file, 0, 0, 0, 0);
}

/* The columns of kprobe_stats: of all events, and of the first. */
struct counts {
	u64 all[7], first[7];
};

enum { HITS, RECORDED, FILTERED, OFF, LOST, TOO_LARGE, MISSED };

static void read_counts(struct counts *counts)
{
	const char *at = text;

	memset(counts, 0, sizeof(*counts));
	read_text("kprobe_stats", text, sizeof(text));
	for (at = behind(at, "\n"); *at; at = behind(at, "\n")) {
		const char *name = behind(at, "/");
		int first = same_start(name, formats[0].name) && name[length(formats[0].name)] == ' ';

		at = behind(behind(at, " "), " ");
		for (u64 n = 0; n < 7; n++) {
			u64 value = decimal(&at);

			counts->all[n] += value;
			counts->first[n] += first ? value : 0;
			at += *at == ' ';
		}
	}
}

static void expect(const char *what, u64 cpu, u64 is, u64 should)
{
	if (is == should)
		return;
	print(what);
	if (cpu < CPUS) {
		print(" of cpu");
		print_number(cpu);
	}
	print(": ");
	print_number(is);
	print(", not ");
	print_number(should);
	print("\n");
	exit(1);
}

/* What the CPUs have counted is what was read; returns how much went away. */
static u64 check_cpu(u64 cpu)
{
	u64 lost, got = shared->cpu[cpu].by_text + shared->cpu[cpu].by_reading +
			shared->cpu[cpu].by_mapping;
	char name[64];

	name_of(name, cpu, "/stats");
	read_text(name, text, sizeof(text));
	lost = number_behind(text, "overrun:") + number_behind(text, "commit overrun:") +
	       number_behind(text, "dropped events:");
	expect("entries", cpu, number_behind(text, "entries:"), 0);
	expect("too large events", cpu, number_behind(text, "too large events:"), 0);
	expect("read events", cpu, number_behind(text, "read events:"), got);
	if (!shared->cpu[cpu].uncounted)
		expect("marks of lost events", cpu, shared->cpu[cpu].lost, lost);
	else if (shared->cpu[cpu].lost > lost)
		expect("marks of lost events, some of them without a number,", cpu, shared->cpu[cpu].lost, lost);
	print("cpu");
	print_number(cpu);
	print(": calls ");
	print_number(shared->cpu[cpu].calls);
	print(", events by text ");
	print_number(shared->cpu[cpu].by_text);
	print(", by reading ");
	print_number(shared->cpu[cpu].by_reading);
	print(", by mapping ");
	print_number(shared->cpu[cpu].by_mapping);
	print(", lost ");
	print_number(lost);
	print("\n");
	return got + lost;
}

static void check(const struct counts *before)
{
	u64 calls = 0, went = 0;
	struct counts now;

	read_counts(&now);
	for (u64 n = 0; n < 7; n++) {
		now.all[n] -= before->all[n];
		now.first[n] -= before->first[n];
	}
	for (u64 cpu = 0; cpu < cpus; cpu++) {
		calls += shared->cpu[cpu].calls;
		went += check_cpu(cpu);
	}
	expect("hits", CPUS, now.all[HITS],
	       now.all[RECORDED] + now.all[FILTERED] + now.all[OFF] + now.all[LOST] + now.all[TOO_LARGE]);
	expect("read or lost", CPUS, went, now.all[RECORDED] + now.all[LOST]);
	expect("hits and misses of calls", CPUS, now.first[HITS] + now.first[MISSED], calls);
	print("all: hits ");
	print_number(now.all[HITS]);
	print(", recorded ");
	print_number(now.all[RECORDED]);
	print(", lost ");
	print_number(now.all[LOST]);
	print(", missed ");
	print_number(now.all[MISSED]);
	print(", passes over trace ");
	print_number(shared->passes);
	print("\n");
}

/* Wait until COUNT processes have ended, or a while; ends all if one failed. */
static u64 ended(u64 ms)
{
	u64 count = 0;
	int status;

	for (;;) {
		s64 child = sys(NR_wait4, -1, (s64)&status, WNOHANG, 0, 0);

		if (child > 0) {
			count++;
			if (!status)
				continue;
			shared->writing = 0;
			shared->reading = 0;
			while (sys(NR_wait4, -1, (s64)&status, 0, 0, 0) > 0)
				;
			put_text("events/kprobes/enable", "0");
			exit(1);
		}
		if (!ms)
			return count;
		sleep_ms(ms < 100 ? ms : 100);
		ms -= ms < 100 ? ms : 100;
	}
}

/*
 * Record a little where there is room, once all is read: what was lost last is told
 * with the event that follows it.  LEFT processes are there; returns how many then are.
 */
static u64 record_last(u64 left)
{
	u64 idle[CPUS];

	for (u64 cpu = 0; cpu < cpus; cpu++)
		idle[cpu] = shared->cpu[cpu].idle;
	for (u64 cpu = 0; cpu < cpus; cpu++)
		while (shared->cpu[cpu].idle < idle[cpu] + 4)
			left -= ended(10);
	put_text("events/kprobes/enable", "1");
	for (u64 cpu = 0; cpu < cpus; cpu++)
		if (!fork())
			call(cpu);
	left += cpus;
	while (left > cpus + 1)
		left -= ended(100);
	put_text("events/kprobes/enable", "0");
	return left;
}

static int run(u64 count, char **args)
{
	static const char *const names[3] = { "cpu", "n", "m" };
	struct counts before;
	u64 left;

	changing = count > 1 && same(args[1], "changing");
	count -= changing;
	args += changing;
	if (count < 3 || count > 2 + EVENTS)
		die("usage: see the head of fpcheck.c", count);
	read_layout(&layout);
	for (known = 0; known + 2 < count; known++)
		read_format(&formats[known], args[known + 2]);
	for (u64 n = 0; n < 3; n++)
		fields[n] = field_of(&formats[0], names[n], length(names[n]));
	for (cpus = 0; cpus < CPUS; cpus++) {
		char name[64];

		name_of(name, cpus, "/stats");
		if (sys(NR_openat, AT_FDCWD, (s64)name, 0, 0, 0) < 0)
			break;
	}
	shared = (struct shared *)sys6(NR_mmap, 0, sizeof(*shared), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	put_text("events/kprobes/enable", "0");
	put_text("trace", "");
	read_counts(&before);
	shared->writing = 1;
	shared->reading = 1;
	for (u64 cpu = 0; cpu < cpus; cpu++)
		if (!fork())
			consume(cpu);
	if (!fork())
		look();
	put_text("events/kprobes/enable", "1");
	for (u64 cpu = 0; cpu < cpus; cpu++)
		if (!fork())
			call(cpu);
	left = 2 * cpus + 1 - ended(number(args[1]) * 1000);
	shared->writing = 0;
	/* Those that call end by themselves; then nothing more is hit. */
	while (left > cpus + 1)
		left -= ended(100);
	put_text("events/kprobes/enable", "0");
	left = record_last(left);
	shared->reading = 0;
	while (left)
		left -= ended(100);
	check(&before);
	return 0;
}

__attribute__((used)) void begin(u64 *stack)
{
	exit(run(stack[0], (char **)(stack + 1)));
}
