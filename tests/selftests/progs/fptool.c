// SPDX-License-Identifier: GPL-2.0
/*
 * What selftests need and busybox has not.  Commands:
 *
 *   write FILE TEXT       append TEXT by one write(2); exit with its errno
 *   call A B C            setpriority(A, B, C), which only looks at them
 *   thread A B C          the same in another thread; prints the process
 *   hammer COUNT CPU...   on each CPU at once, COUNT calls setpriority(1000 +
 *                         CPU, n, 1000000000 - n) for n from 1 on
 *   verify EVENT          of lines of trace on standard input: every EVENT of
 *                         hammer, with cpu=, n=, m=, is whole, on its CPU, in
 *                         order, and as many are missing as the marks say;
 *                         prints "read R lost L first F last N": how many
 *                         were read, are marked as lost, are missing without
 *                         a mark before the first, and were made
 *   verify EVENT moved    of tasks that were moved from their CPU: the same by
 *                         task, on any CPU; and none is lost
 *   open WHAT             open a file whose name is empty, long, null or bad
 *   edges                 setpriority(1000 + N, BEHIND, STRING) for strings of N characters,
 *                         abc and so on, whose NUL has BEHIND bytes behind it and then
 *                         memory that is not there; BEHIND is 8 where there is no NUL
 *   strings COUNT SEED    COUNT calls setpriority(1000, n * 0x9e3779b97f4a7c15, STRING) for n
 *                         from 1 on, of strings drawn with SEED: of letters, of quotes,
 *                         backslashes and control characters, of any bytes but 0xee
 *   splice FILE TO SIZE   copy up to SIZE bytes of what is there to the file TO, which
 *                         exists, through a pipe by splice(2): prints bytes, or -errno if
 *                         there are none
 *   sendfile FILE TO      copy a byte by sendfile(2): prints bytes or -errno
 *   places FILE           what pwrite(2) of a byte at an offset, and lseek(2) to the end, return
 *   named PREFIX COUNT    COUNT tasks called PREFIX0000 and on, each of which
 *                         calls setpriority(1000, its process, n) and exits
 *   crowd COUNT [FIFO]    COUNT tasks that are in read(2) at the same time, or that open FIFO
 *   nonblock FILE         one read without waiting: prints bytes or -errno
 *   poll FILE MS          wait for FILE to be readable: prints 1 or 0, or -1 if POLLERR is
 *                         reported; the FILE - is standard input
 *   poll FILE MS news     the same, once all that there is has been read
 *   poll FILE MS urgent   the same for what is urgent, without reading
 *   wakes FILE [TRIGGER]  wait for FILE by poll, and soon make a hit: by a write of "1" to
 *                         TRIGGER, or by setpriority, chroot and mount, which fail.  Prints
 *                         the milliseconds from the hit to the return of poll, the fewest of
 *                         several tries; fails if poll returned before the hit
 *   bytes FILE            copy to standard output, read byte by byte
 *   read FILE SIZE        copy to standard output, read SIZE bytes at a time
 *   take FILE SIZE        the same of what is there, without waiting for more
 *   cost [CALL]           of one call CALL("64 characters", -1, 0), in nanoseconds: getppid
 *                         (the default), or setpriority or memfd_create, which fail; or of
 *                         fptool_function(), which does nothing
 *   offset                of fptool_function() in the file
 *   drain FILE SIZE       read all there is, SIZE bytes at a time, without waiting:
 *                         prints how many bytes and nanoseconds
 *   put FILE SOURCE       write all of SOURCE to FILE by one write(2): prints
 *                         nanoseconds
 *   work FILE SOURCE      the same, in nanoseconds of processor time: waiting does not count
 *   refused FILE SOURCE   the same for a write that fails: prints nanoseconds and errno
 *   each FILE SOURCE      write each line of SOURCE to FILE by one write(2), appending:
 *                         prints how many were accepted, how many refused, the errno of
 *                         the last of these, and nanoseconds of the slowest
 *   enter WAY DIR NAME    reach NAME through a descriptor of DIR: of O_PATH, to open it
 *                         ("path"), to ask of it without automounts ("stat"), to open it
 *                         crossing no mount ("resolve"), or DIR itself so ("inside")
 *   context NAME          fsopen(NAME) in a new user and mount namespace, where there are
 *                         such: prints 0 or the errno, negative
 *   parts FILE COUNT      read a byte through each of COUNT openings, all at once: prints the
 *                         last errno, negative, but for EAGAIN; 0 if there is none
 *   rate COUNT CPU...     hammer: prints nanoseconds
 *   time CLOCK            clock_gettime(CLOCK): prints SECONDS.MICROSECONDS
 */

#include "sys.h"
#include "elf.h"

static char buffer[1 << 20];

static s64 open(const char *name, int flags)
{
	s64 file = sys(NR_openat, AT_FDCWD, (s64)name, flags, 0, 0);

	if (file < 0)
		die(name, file);
	return file;
}

static s64 fork(void)
{
	return sys(NR_clone, SIGCHLD, 0, 0, 0, 0);
}

#define CLONE_VM 0x100
#define CLONE_FILES 0x400
#define CLONE_SIGHAND 0x800
#define CLONE_VFORK 0x4000
#define CLONE_THREAD 0x10000
#define CLONE_NEWNS 0x20000
#define CLONE_NEWUSER 0x10000000

/* The other thread has the stack of this one, which waits until it has exited. */
static int in_thread(char **args)
{
	s64 thread = sys(NR_clone, CLONE_VM | CLONE_SIGHAND | CLONE_VFORK | CLONE_THREAD, 0, 0, 0, 0);

	if (thread == 0) {
		sys(NR_setpriority, number(args[0]), number(args[1]), number(args[2]), 0, 0);
		exit(0);
	}
	if (thread < 0)
		die("no thread", thread);
	print_number(sys(NR_getpid, 0, 0, 0, 0, 0));
	print("\n");
	return 0;
}

static int wait_for_all(void)
{
	int status, failed = 0;

	while (sys(NR_wait4, -1, (s64)&status, 0, 0, 0) > 0)
		failed |= status;
	return failed != 0;
}

static int write_text(char **args)
{
	s64 file = sys(NR_openat, AT_FDCWD, (s64)args[0], O_WRONLY | O_APPEND, 0, 0);
	s64 done;

	if (file < 0)
		return -file;
	done = sys(NR_write, file, (s64)args[1], length(args[1]), 0, 0);
	return done < 0 ? -done : 0;
}

static void stay_on(u64 cpu)
{
	u64 mask[16] = { 0 };

	mask[cpu / 64 % 16] = 1UL << cpu % 64;
	if (sys(NR_sched_setaffinity, 0, sizeof(mask), (s64)mask, 0, 0) < 0)
		die("no such CPU", cpu);
}

static int hammer(char **args)
{
	u64 count = number(*args++);

	for (; *args; args++) {
		u64 cpu = number(*args);

		if (fork())
			continue;
		stay_on(cpu);
		for (u64 n = 1; n <= count; n++)
			sys(NR_setpriority, 1000 + cpu, n, 1000000000 - n, 0, 0);
		exit(0);
	}
	return wait_for_all();
}

static int context(const char *name)
{
	s64 got;

	sys(NR_unshare, CLONE_NEWUSER | CLONE_NEWNS, 0, 0, 0, 0);
	got = sys(NR_fsopen, (s64)name, 0, 0, 0, 0);
	print_number(got < 0 ? got : 0);
	print("\n");
	return 0;
}

static int parts(const char *name, u64 count)
{
	s64 got, failed = 0;
	char byte;

	while (count--) {
		got = sys(NR_read, open(name, O_NONBLOCK), (s64)&byte, 1, 0, 0);
		if (got < 0 && got != -EAGAIN)
			failed = got;
	}
	print_number(failed);
	print("\n");
	return 0;
}

/* Reading a line: where the next byte is, and what was expected and is not. */
struct cursor {
	const char *at;
	int bad;
};

static void expect(struct cursor *line, const char *text)
{
	while (*text && *line->at == *text)
		text++, line->at++;
	line->bad |= *text != 0;
}

static u64 decimal(struct cursor *line)
{
	u64 value = 0;
	const char *from = line->at;

	while (*line->at >= '0' && *line->at <= '9')
		value = value * 10 + (*line->at++ - '0');
	line->bad |= line->at == from;
	return value;
}

static void skip_past(struct cursor *line, const char *text)
{
	for (; *line->at; line->at++) {
		struct cursor here = { line->at, 0 };

		expect(&here, text);
		if (!here.bad) {
			line->at = here.at;
			return;
		}
	}
	line->bad = 1;
}

#define CPUS 64
/* By task, newest by CPU; without "moved" the number of one is that of the other. */
static u64 expected[CPUS], newest[CPUS], marked[CPUS], total_read, total_lost, total_first;

static void bad_line(const char *why, const char *line)
{
	print(why);
	print(": ");
	print(line);
	print("\n");
	exit(1);
}

static void verify_line(const char *text, const char *event, int moved)
{
	struct cursor line = { text, 0 };
	u64 cpu, task, time, value, n, m, gap;

	if (text[0] == '#' || !text[0])
		return;
	expect(&line, "CPU:");
	if (!line.bad) {
		cpu = decimal(&line) % CPUS;
		expect(&line, " [LOST ");
		gap = decimal(&line);
		expect(&line, " EVENTS]");
		if (line.bad || *line.at)
			bad_line("not a mark of lost events", text);
		if (moved)
			bad_line("lost", text);
		total_lost += gap;
		marked[cpu] += gap;
		if (expected[cpu])
			expected[cpu] += gap;
		return;
	}
	line = (struct cursor){ text, 0 };
	skip_past(&line, "-");
	decimal(&line);
	skip_past(&line, "[");
	cpu = decimal(&line) % CPUS;
	expect(&line, "] ");
	skip_past(&line, " ");
	while (*line.at == ' ')
		line.at++;
	time = decimal(&line) * 1000000;
	expect(&line, ".");
	time += decimal(&line);
	expect(&line, ": ");
	expect(&line, event);
	expect(&line, ": (");
	skip_past(&line, ") cpu=");
	value = decimal(&line);
	expect(&line, " n=");
	n = decimal(&line);
	expect(&line, " m=");
	m = decimal(&line);
	if (line.bad || *line.at || n + m != 1000000000)
		bad_line("torn", text);
	task = (value - 1000) % CPUS;
	if (value != 1000 + task || (!moved && task != cpu))
		bad_line("on another CPU", text);
	if (time < newest[cpu])
		bad_line("earlier than the one before", text);
	newest[cpu] = time;
	if (!expected[task] && marked[task] < n)
		total_first += n - 1 - marked[task];
	else if (n != expected[task])
		bad_line("events are missing without a mark, or doubled, before", text);
	expected[task] = n + 1;
	total_read++;
}

static int verify(const char *event, int moved)
{
	u64 filled = 0, last = 0;
	s64 got;

	while ((got = sys(NR_read, 0, (s64)buffer + filled, sizeof(buffer) - filled, 0, 0)) > 0) {
		u64 start = 0;

		filled += got;
		for (u64 at = 0; at < filled; at++) {
			if (buffer[at] != '\n')
				continue;
			buffer[at] = 0;
			verify_line(buffer + start, event, moved);
			start = at + 1;
		}
		filled -= start;
		for (u64 n = 0; n < filled; n++)
			buffer[n] = buffer[start + n];
		if (filled == sizeof(buffer))
			die("a line without an end", filled);
	}
	if (filled)
		die("bytes behind the last line", filled);
	for (int cpu = 0; cpu < CPUS; cpu++)
		last += expected[cpu] ? expected[cpu] - 1 : 0;
	print("read ");
	print_number(total_read);
	print(" lost ");
	print_number(total_lost);
	print(" first ");
	print_number(total_first);
	print(" last ");
	print_number(last);
	print("\n");
	return 0;
}

static int open_odd(char **args)
{
	static char name[20000];
	const char *which = name;

	/* A page that was never touched is not there to be read. */
	memset(name, 0, sizeof(name));
	if (same(args[0], "long"))
		memset(name, 'x', sizeof(name) - 1);
	else if (same(args[0], "null"))
		which = (const char *)0;
	else if (same(args[0], "bad"))
		which = (const char *)0x123000;
	else if (!same(args[0], "empty"))
		die("open what", 0);
	sys(NR_openat, 0x123, (s64)which, 0, 0, 0);
	return 0;
}

static int edges(void)
{
	enum { ROOM = 1 << 16, LONG = 120, LONGEST = 300, NO_NUL = 8 };
	u64 n, behind, i;
	char *memory = (char *)sys6(NR_mmap, 0, 2 * ROOM, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if ((s64)memory < 0 && (s64)memory > -4096)
		die("mmap", (s64)memory);
	sys(NR_munmap, (s64)memory + ROOM, ROOM, 0, 0, 0);
	for (n = 0; n <= LONGEST; n++) {
		for (behind = 0; behind <= NO_NUL; behind++) {
			char *end = memory + ROOM - (behind == NO_NUL ? 0 : behind + 1);

			if (n > LONG && behind != n % 8 && behind != NO_NUL)
				continue;
			memset(memory + ROOM - LONGEST - 16, '#', LONGEST + 16);
			if (behind != NO_NUL)
				*end = 0;
			for (i = 0; i < n; i++)
				end[i - n] = 'a' + i % 26;
			sys(NR_setpriority, 1000 + n, behind, (s64)(end - n), 0, 0);
		}
	}
	return 0;
}

static int strings(char **args)
{
	static const char odd[] = "\"\\/\n\t\r\b\f\x1b\x01\x7f\"\\'{,";
	u64 count = number(args[0]), random = number(args[1]) * 2 + 1;
	char text[64];

	for (u64 n = 1; n <= count; n++) {
		u64 size, kind, i;

		random = random * 6364136223846793005 + 1442695040888963407;
		size = random >> 58;
		kind = random >> 40 & 3;
		for (i = 0; i + 1 < size; i++) {
			random = random * 6364136223846793005 + 1442695040888963407;
			text[i] = kind < 2 ? 'a' + (random >> 56) % 26 :
				  kind == 2 ? odd[random >> 60] : (char)(random >> 56);
			/* What stands for a byte would be three of them, which trace shows as it is. */
			if (!text[i] || text[i] == '\xee')
				text[i] = '\xff';
		}
		text[i] = 0;
		sys(NR_setpriority, 1000, n * 0x9e3779b97f4a7c15, (s64)text, 0, 0);
	}
	return 0;
}

static int send_file(char **args)
{
	s64 from = open(args[0], O_NONBLOCK), to = open(args[1], O_WRONLY | O_TRUNC);

	print_number(sys(NR_sendfile, to, from, 0, 1, 0));
	print("\n");
	return 0;
}

static int splice_file(char **args)
{
	s64 from = open(args[0], O_NONBLOCK), to = open(args[1], O_WRONLY | O_TRUNC);
	u64 size = number(args[2]), total = 0;
	s64 got = 0, put;
	int ends[2];

	if (sys(NR_pipe2, (s64)ends, 0, 0, 0, 0))
		die("pipe", 0);
	while (total < size && (got = splice(from, ends[1], size - total, 0)) > 0) {
		total += got;
		for (; got > 0; got -= put) {
			put = splice(ends[0], to, got, 0);
			if (put <= 0)
				die("splice from the pipe", put);
		}
	}
	print_number(total ? (s64)total : got);
	print("\n");
	return 0;
}

static int places(char **args)
{
	enum { SEEK_END = 2 };

	s64 file = open(args[0], O_WRONLY | O_APPEND);

	print_number(sys(NR_pwrite64, file, (s64)"0", 1, 1, 0));
	print(" ");
	print_number(sys(NR_lseek, file, 0, SEEK_END, 0, 0));
	print("\n");
	return 0;
}

static int named(char **args)
{
	u64 count = number(args[1]), prefix = length(args[0]);

	if (prefix > 11)
		die("too long a prefix", prefix);
	for (u64 n = 0; n < count; n++) {
		char name[16] = { 0 };

		if (fork()) {
			wait_for_all();
			continue;
		}
		memcpy(name, args[0], prefix);
		for (u64 digit = 4, rest = n; digit > 0; digit--, rest /= 10)
			name[prefix + digit - 1] = '0' + rest % 10;
		sys(NR_prctl, PR_SET_NAME, (s64)name, 0, 0, 0);
		sys(NR_setpriority, 1000, sys(NR_getpid, 0, 0, 0, 0, 0), n, 0, 0);
		exit(0);
	}
	return 0;
}

static int nonblock(char **args)
{
	s64 got = sys(NR_read, open(args[0], O_NONBLOCK), (s64)buffer, sizeof(buffer), 0, 0);

	print_number(got);
	print("\n");
	return 0;
}

static s64 now_by(s64 clock)
{
	s64 time[2];
	s64 failed = sys(NR_clock_gettime, clock, (s64)time, 0, 0, 0);

	if (failed)
		die("clock_gettime", failed);
	return time[0] * 1000000000 + time[1];
}

static s64 now(void)
{
	return now_by(CLOCK_MONOTONIC);
}

static int poll(char **args, const char *how)
{
	struct {
		int file;
		short events, revents;
	} poll = { 0, same(how, "urgent") ? POLLPRI : POLLIN, 0 };
	u64 ms = number(args[1]);
	struct {
		s64 seconds, nanoseconds;
	} limit = { ms / 1000, ms % 1000 * 1000000 };
	s64 ready;

	if (!same(args[0], "-"))
		poll.file = open(args[0], O_NONBLOCK);
	while (same(how, "news") && sys(NR_read, poll.file, (s64)buffer, sizeof(buffer), 0, 0) > 0)
		;
	ready = sys(NR_ppoll, (s64)&poll, 1, (s64)&limit, 0, 0);
	print_number(poll.revents & POLLERR ? -1 : ready);
	print("\n");
	return 0;
}

static void rest_ms(u64 ms)
{
	struct {
		s64 seconds, nanoseconds;
	} limit = { ms / 1000, ms % 1000 * 1000000 };

	sys(NR_ppoll, 0, 0, (s64)&limit, 0, 0);
}

static void make_hit(const char *trigger)
{
	if (trigger) {
		s64 file = open(trigger, O_WRONLY);

		sys(NR_write, file, (s64)"1", 1, 0, 0);
		sys(NR_close, file, 0, 0, 0, 0);
		return;
	}
	sys(NR_setpriority, 1000, 1, 0, 0, 0);
	sys(NR_chroot, (s64)"/nothing", 0, 0, 0, 0);
	sys(NR_mount, (s64)"none", (s64)"/nothing", (s64)"none", 0, 0);
}

/* In another task; tells through the pipe that it is about to wait, and when it was woken. */
static void wait_woken(const char *name, s64 to)
{
	struct {
		int file;
		short events, revents;
	} poll = { open(name, O_NONBLOCK), POLLIN, 0 };
	s64 time = 0;

	while (sys(NR_read, poll.file, (s64)buffer, sizeof(buffer), 0, 0) > 0)
		;
	sys(NR_write, to, (s64)&time, sizeof(time), 0, 0);
	sys(NR_ppoll, (s64)&poll, 1, 0, 0, 0);
	time = now();
	sys(NR_write, to, (s64)&time, sizeof(time), 0, 0);
	exit(0);
}

/*
 * A task that waits may be woken a while after that began, hit or not.  So the hit follows at
 * once, and each try begins when no task has waited for a while, for this file or another.
 * The first hit of a task on its CPU, or after a while, is recorded in a slower way.  So there
 * is one before.
 */
static int wakes(const char *name, const char *trigger)
{
	s64 fewest = 1 << 30, time, began;
	int ends[2];

	stay_on(0);
	sys(NR_pipe2, (s64)ends, 0, 0, 0, 0);
	for (int n = 0; n < 10 && fewest > 20; n++) {
		rest_ms(150);
		make_hit(trigger);
		if (!fork())
			wait_woken(name, ends[1]);
		sys(NR_read, ends[0], (s64)&time, sizeof(time), 0, 0);
		rest_ms(5);
		began = now();
		make_hit(trigger);
		sys(NR_read, ends[0], (s64)&time, sizeof(time), 0, 0);
		if (time < began)
			die("poll did not wait for the hit", time - began);
		if ((time - began) / 1000000 < fewest)
			fewest = (time - began) / 1000000;
		wait_for_all();
	}
	print_number(fewest);
	print("\n");
	return 0;
}

static int copy(const char *name, u64 size, int flags)
{
	s64 file = open(name, flags), got;

	if (size > sizeof(buffer))
		size = sizeof(buffer);
	while ((got = sys(NR_read, file, (s64)buffer, size, 0, 0)) > 0)
		sys(NR_write, 1, (s64)buffer, got, 0, 0);
	if (got < 0 && !(flags & O_NONBLOCK && got == -EAGAIN))
		die(name, got);
	return 0;
}

static int print_time(s64 clock)
{
	s64 us = now_by(clock) / 1000;

	print_number(us / 1000000);
	print(".");
	/* All six digits: print_number() leaves out zeros in front. */
	for (s64 unit = 100000; unit; unit /= 10)
		print_number(us / unit % 10);
	print("\n");
	return 0;
}

/* SCHED_FIFO: what the kernel does in the background waits from now on. */
static void alone(void)
{
	const int priority = 50;

	sys(NR_sched_setscheduler, 0, 1, (s64)&priority, 0, 0);
}

/* The least of many rounds: some are interrupted. */
__attribute__((noinline, used)) s64 fptool_function(const volatile char *text, s64 number)
{
	__asm__ volatile("" : : "r"(text) : "memory");
	return number;
}

static int cost(const char *name)
{
	int is_function = same(name, "fptool_function");
	s64 call = same(name, "setpriority") ? NR_setpriority :
		   same(name, "memfd_create") ? NR_memfd_create : NR_getppid;
	/* On the stack, so that it is in memory. */
	volatile char text[64] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde";
	s64 least = -1;

	alone();
	for (int round = 0; round < 20; round++) {
		s64 time = now();

		for (int n = 0; n < 500 && is_function; n++)
			fptool_function(text, -1);
		for (int n = 0; n < 500 && !is_function; n++)
			sys(call, (s64)text, -1, 0, 0, 0);
		time = now() - time;
		if (least < 0 || time < least)
			least = time;
	}
	print_number(least / 500);
	print("\n");
	return 0;
}

static int drain(const char *name, u64 size)
{
	s64 file = open(name, O_NONBLOCK), got, bytes = 0, time;

	alone();
	time = now();
	if (size > sizeof(buffer))
		size = sizeof(buffer);
	while ((got = sys(NR_read, file, (s64)buffer, size, 0, 0)) > 0)
		bytes += got;
	time = now() - time;
	print_number(bytes);
	print(" ");
	print_number(time);
	print("\n");
	return 0;
}

/* load: read all of a file to the buffer; how long it is. */
static s64 load(const char *source)
{
	s64 from = open(source, 0), size = 0, got;

	while ((got = sys(NR_read, from, (s64)buffer + size, sizeof(buffer) - size, 0, 0)) > 0)
		size += got;
	return size;
}

static int put(const char *name, const char *source, s64 clock)
{
	s64 size = load(source), to = open(name, O_WRONLY | O_APPEND);
	s64 time = now_by(clock), got;

	got = sys(NR_write, to, (s64)buffer, size, 0, 0);
	if (got != size)
		die(name, got);
	print_number(now_by(clock) - time);
	print("\n");
	return 0;
}

static int refused(const char *name, const char *source)
{
	s64 size = load(source), to = open(name, O_WRONLY | O_APPEND);
	s64 time = now(), got;

	got = sys(NR_write, to, (s64)buffer, size, 0, 0);
	if (got >= 0)
		die(name, got);
	print_number(now() - time);
	print(" ");
	print_number(-got);
	print("\n");
	return 0;
}

static int each(const char *name, const char *source)
{
	s64 left = load(source), to = open(name, O_WRONLY | O_APPEND);
	s64 accepted = 0, refused = 0, error = 0, slowest = 0;

	for (char *line = buffer; left > 0;) {
		s64 size = 0, time = now(), got;

		while (size < left && line[size++] != '\n')
			;
		got = sys(NR_write, to, (s64)line, size, 0, 0);
		time = now() - time;
		if (time > slowest)
			slowest = time;
		if (got == size) {
			accepted++;
		} else {
			refused++;
			error = -got;
		}
		line += size;
		left -= size;
	}
	print_number(accepted);
	print(" ");
	print_number(refused);
	print(" ");
	print_number(error);
	print(" ");
	print_number(slowest);
	print("\n");
	return 0;
}

/* Enter a directory in a way that crosses no mount and starts no automount. */
static int enter(const char *way, const char *directory, const char *name)
{
	struct { u64 flags, mode, resolve; } how = { 0, 0, RESOLVE_NO_XDEV };
	s64 dir, got;

	if (same(way, "inside"))
		dir = sys(NR_openat2, AT_FDCWD, (s64)directory, (s64)&how, sizeof(how), 0);
	else
		dir = sys(NR_openat, AT_FDCWD, (s64)directory, O_PATH, 0, 0);
	if (dir < 0)
		die(directory, dir);
	if (same(way, "stat"))
		got = sys(NR_statx, dir, (s64)name, AT_NO_AUTOMOUNT, 0x7ff, (s64)buffer);
	else if (same(way, "resolve"))
		got = sys(NR_openat2, dir, (s64)name, (s64)&how, sizeof(how), 0);
	else
		got = sys(NR_openat, dir, (s64)name, 0, 0, 0);
	if (got < 0)
		die(name, got);
	return 0;
}

static int rate(char **args)
{
	s64 time = now();
	int failed = hammer(args);

	print_number(now() - time);
	print("\n");
	return failed;
}

/* A call to make. */
struct call {
	s64 number, first, second, third;
};

/*
 * Makes a task that counts itself in @ready, makes the call, and exits.  It has the memory of
 * its parent and no stack of its own, so it runs no C.
 */
static void join(const struct call *call, int *ready)
{
	const s64 flags = CLONE_VM | CLONE_FILES | SIGCHLD;
#if defined(__x86_64__)
	register s64 result __asm__("rax") = NR_clone;
	register s64 none __asm__("r10") = 0;
	register s64 last __asm__("r8") = 0;

	__asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\t"
			 "lock incl (%[ready])\n\t"
			 "mov (%[call]), %%rax\n\tmov 8(%[call]), %%rdi\n\t"
			 "mov 16(%[call]), %%rsi\n\tmov 24(%[call]), %%rdx\n\tsyscall\n\t"
			 "mov %[end], %%eax\n\txor %%edi, %%edi\n\tsyscall\n1:"
			 : "+r"(result)
			 : "D"(flags), "S"(0L), "d"(0L), "r"(none), "r"(last), [call] "r"(call),
			   [ready] "r"(ready), [end] "i"(NR_exit)
			 : "rcx", "r11", "memory");
#else
	register s64 result __asm__("x0") = flags;
	register s64 x1 __asm__("x1") = 0;
	register s64 x2 __asm__("x2") = 0;
	register s64 x3 __asm__("x3") = 0;
	register s64 x4 __asm__("x4") = 0;
	register s64 x8 __asm__("x8") = NR_clone;

	__asm__ volatile("svc #0\n\tcbnz x0, 1f\n"
			 "2:\tldaxr w9, [%[ready]]\n\tadd w9, w9, #1\n\t"
			 "stlxr w10, w9, [%[ready]]\n\tcbnz w10, 2b\n\t"
			 "ldp x8, x0, [%[call]]\n\tldp x1, x2, [%[call], #16]\n\t"
			 "svc #0\n\tmov x0, #0\n\tmov x8, %[end]\n\tsvc #0\n1:"
			 : "+r"(result)
			 : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x8), [call] "r"(call),
			   [ready] "r"(ready), [end] "i"(NR_exit)
			 : "x9", "x10", "memory");
#endif
	if (result < 0)
		die("clone", result);
}

/* Opens @fifo in each task, or reads from a pipe. */
static int crowd(int count, const char *fifo)
{
	static volatile int ready;
	static struct call call;
	static char byte;
	int pipe[2];

	sys(NR_pipe2, (s64)pipe, 0, 0, 0, 0);
	if (fifo)
		call = (struct call){ NR_openat, AT_FDCWD, (s64)fifo, 0 };
	else
		call = (struct call){ NR_read, pipe[0], (s64)&byte, 1 };
	for (int n = 0; n < count; n++)
		join(&call, (int *)&ready);
	while (ready < count)
		rest_ms(20);
	/* The last ones are about to read. */
	rest_ms(300);
	sys(NR_close, pipe[1], 0, 0, 0, 0);
	if (fifo)
		open(fifo, O_WRONLY);
	return wait_for_all();
}

static int run(int count, char **args)
{
	const char *command = count > 1 ? args[1] : "";

	args += 2;
	count -= 2;
	if (same(command, "write") && count == 2)
		return write_text(args);
	if (same(command, "call") && count == 3)
		return sys(NR_setpriority, number(args[0]), number(args[1]), number(args[2]), 0, 0) == 0;
	if (same(command, "thread") && count == 3)
		return in_thread(args);
	if (same(command, "hammer") && count >= 2)
		return hammer(args);
	if (same(command, "verify") && count == 1)
		return verify(args[0], 0);
	if (same(command, "verify") && count == 2 && same(args[1], "moved"))
		return verify(args[0], 1);
	if (same(command, "open") && count == 1)
		return open_odd(args);
	if (same(command, "edges") && count == 0)
		return edges();
	if (same(command, "strings") && count == 2)
		return strings(args);
	if (same(command, "sendfile") && count == 2)
		return send_file(args);
	if (same(command, "places") && count == 1)
		return places(args);
	if (same(command, "splice") && count == 3)
		return splice_file(args);
	if (same(command, "named") && count == 2)
		return named(args);
	if (same(command, "crowd") && (count == 1 || count == 2))
		return crowd(number(args[0]), count == 2 ? args[1] : 0);
	if (same(command, "nonblock") && count == 1)
		return nonblock(args);
	if (same(command, "poll") && (count == 2 || count == 3))
		return poll(args, count == 3 ? args[2] : "");
	if (same(command, "wakes") && (count == 1 || count == 2))
		return wakes(args[0], count == 2 ? args[1] : 0);
	if (same(command, "bytes") && count == 1)
		return copy(args[0], 1, 0);
	if (same(command, "cost") && count <= 1)
		return cost(count ? args[0] : "getppid");
	if (same(command, "offset") && count == 0) {
		print_hex(offset_of((u64)fptool_function));
		print("\n");
		return 0;
	}
	if (same(command, "drain") && count == 2)
		return drain(args[0], number(args[1]));
	if (same(command, "put") && count == 2)
		return put(args[0], args[1], CLOCK_MONOTONIC);
	if (same(command, "work") && count == 2)
		return put(args[0], args[1], CLOCK_THREAD_CPUTIME_ID);
	if (same(command, "refused") && count == 2)
		return refused(args[0], args[1]);
	if (same(command, "each") && count == 2)
		return each(args[0], args[1]);
	if (same(command, "enter") && count == 3)
		return enter(args[0], args[1], args[2]);
	if (same(command, "context") && count == 1)
		return context(args[0]);
	if (same(command, "parts") && count == 2)
		return parts(args[0], number(args[1]));
	if (same(command, "rate") && count >= 2)
		return rate(args);
	if (same(command, "read") && count == 2)
		return copy(args[0], number(args[1]), 0);
	if (same(command, "take") && count == 2)
		return copy(args[0], number(args[1]), O_NONBLOCK);
	if (same(command, "time") && count == 1)
		return print_time(number(args[0]));
	die("usage: see the head of fptool.c", count);
}

/* The stack as the kernel leaves it: the count, then the arguments. */
__attribute__((used)) void begin(u64 *stack)
{
	exit(run(stack[0], (char **)(stack + 1)));
}
