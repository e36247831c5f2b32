// SPDX-License-Identifier: GPL-2.0
/*
 * fpfail EVERY SECONDS [STATE]... -- OPERATION [-- UNDO]...: let each allocation fail that the
 * kernel makes for the operation, one in each run of it, until a run needs no more;
 * then the same with all that come after the one failing too.  The number of the allocation that
 * fails grows by EVERY from run to run.  EVERY doubles whenever the runs have taken SECONDS; SECONDS
 * may be 0, for never.  Which allocations can fail is set by files of debugfs: see
 * failing_allocations in functions.sh.
 *
 * A run in which any failed must end with ENOMEM, and leave what the files STATE
 * say as it was; or it must succeed, and is then undone.  Prints for each way how
 * many allocations there are, how many of them failed if not all, and in how many of
 * these runs the operation did; the kernel could do the others without.  Operations,
 * of which UNDO is one too:
 *
 *   write FILE TEXT    open to append, write, close
 *   put FILE TEXT      open to truncate, write, close
 *   read FILE          open, read to the end, close: what a read that succeeds
 *                      gives must be the same each time
 *   splice FILE        open, splice 64 KiB to a pipe and empty it, close
 *   open FILE          open to read, close
 *   insmod FILE [TEXT] load a module with these parameters
 *   rmmod NAME         unload it: this must succeed
 *   mkdir DIRECTORY    make it
 *   rmdir DIRECTORY    remove it
 *   list DIRECTORY     open, read all entries, close
 *   mount DIRECTORY    mount the file system ferroprobe there
 *   umount DIRECTORY   unmount what is there
 */

#include "sys.h"

#if defined(__x86_64__)
enum { NR_pread = 17, NR_finit_module = 313, NR_delete_module = 176, NR_getdents64 = 217 };
#elif defined(__aarch64__)
enum { NR_pread = 67, NR_finit_module = 273, NR_delete_module = 106, NR_getdents64 = 61 };
#endif

enum { ENOMEM = 12, ROOM = 1 << 20, MOST = 100000, AT_REMOVEDIR = 0x200 };

struct text {
	u64 size;
	char bytes[ROOM];
};

static struct text before, after, reference, content;
static int have_reference;
static s64 nth, later;
static int all_later;

static s64 open(const char *name, int flags)
{
	return sys(NR_openat, AT_FDCWD, (s64)name, flags, 0, 0);
}

/* Reads to the end, however short the reads are: an error, or 0. */
static s64 read_all(s64 file, struct text *to)
{
	s64 got;

	while ((got = sys(NR_read, file, (s64)to->bytes + to->size, ROOM - to->size, 0, 0)) > 0)
		to->size += got;
	return got;
}

/* What the state's files say, one behind the other, as far as they exist. */
static void look(struct text *to, char **names, int count)
{
	to->size = 0;
	for (int n = 0; n < count; n++) {
		s64 file = open(names[n], 0);

		if (file < 0)
			continue;
		if (read_all(file, to) < 0)
			die(names[n], 0);
		sys(NR_close, file, 0, 0, 0, 0);
	}
}

static int equal(const struct text *a, const struct text *b)
{
	if (a->size != b->size)
		return 0;
	for (u64 n = 0; n < a->size; n++)
		if (a->bytes[n] != b->bytes[n])
			return 0;
	return 1;
}

/* The allocation that is to fail, counted from 1; 0 for none. */
static void set_nth(u64 value)
{
	char text[24];
	int at = sizeof(text);
	s64 size;

	do {
		text[--at] = '0' + value % 10;
		value /= 10;
	} while (value);
	size = sizeof(text) - at;
	if (sys(NR_write, nth, (s64)text + at, size, 0, 0) != size)
		die("fail-nth cannot be written", 0);
}

static void set_later(int fail)
{
	if (sys(NR_write, later, (s64)(fail ? "1" : "0"), 1, 0, 0) != 1)
		die("make-it-fail cannot be written", 0);
}

/* How many are still to come before the one that fails: 0 if it was there. */
static u64 get_nth(void)
{
	char text[24] = { 0 };
	u64 value = 0;

	sys(NR_pread, nth, (s64)text, sizeof(text) - 1, 0, 0);
	for (const char *at = text; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (*at - '0');
	return value;
}

static s64 write_to(const char *name, int flags, const char *text)
{
	s64 file = open(name, O_WRONLY | flags), done;

	if (file < 0)
		return file;
	done = sys(NR_write, file, (s64)text, length(text), 0, 0);
	sys(NR_close, file, 0, 0, 0, 0);
	return done < 0 ? done : 0;
}

static s64 read_from(const char *name)
{
	s64 file = open(name, O_NONBLOCK), got;

	if (file < 0)
		return file;
	content.size = 0;
	got = read_all(file, &content);
	sys(NR_close, file, 0, 0, 0, 0);
	/* Nothing more for now. */
	return got == -EAGAIN ? 0 : got;
}

static s64 splice_from(const char *name, const int *ends)
{
	s64 file = open(name, O_NONBLOCK), got;

	if (file < 0)
		return file;
	got = sys(NR_splice, file, 0, ends[1], 0, 1 << 16);
	content.size = 0;
	if (got > 0)
		content.size = sys(NR_read, ends[0], (s64)content.bytes, ROOM, 0, 0);
	sys(NR_close, file, 0, 0, 0, 0);
	return got < 0 && got != -EAGAIN ? got : 0;
}

static s64 list(const char *name)
{
	s64 file = open(name, 0), got;

	if (file < 0)
		return file;
	do {
		got = sys(NR_getdents64, file, (s64)content.bytes, ROOM, 0, 0);
	} while (got > 0);
	sys(NR_close, file, 0, 0, 0, 0);
	return got;
}

static s64 insmod(const char *name, s64 file, const char *parameters)
{
	if (file < 0)
		die(name, file);
	return sys(NR_finit_module, file, (s64)(parameters ? parameters : ""), 0, 0, 0);
}

/* One run of an operation, with the fault in it if one is wanted. */
static s64 run(char **args, u64 fault)
{
	const char *what = args[0];
	s64 file = -1, status = 0;
	int ends[2] = { -1, -1 };

	if (same(what, "insmod"))
		file = open(args[1], 0);
	else if (same(what, "splice"))
		sys(NR_pipe2, (s64)ends, O_NONBLOCK, 0, 0, 0);
	set_later(fault && all_later);
	set_nth(fault);
	if (same(what, "write"))
		status = write_to(args[1], O_APPEND, args[2]);
	else if (same(what, "put"))
		status = write_to(args[1], O_TRUNC, args[2]);
	else if (same(what, "read"))
		status = read_from(args[1]);
	else if (same(what, "splice"))
		status = splice_from(args[1], ends);
	else if (same(what, "open"))
		sys(NR_close, status = open(args[1], 0), 0, 0, 0, 0);
	else if (same(what, "insmod"))
		status = insmod(args[1], file, args[2]);
	else if (same(what, "rmmod"))
		status = sys(NR_delete_module, (s64)args[1], O_NONBLOCK, 0, 0, 0);
	else if (same(what, "mkdir"))
		status = sys(NR_mkdirat, AT_FDCWD, (s64)args[1], 0755, 0, 0);
	else if (same(what, "rmdir"))
		status = sys(NR_unlinkat, AT_FDCWD, (s64)args[1], AT_REMOVEDIR, 0, 0);
	else if (same(what, "list"))
		status = list(args[1]);
	else if (same(what, "mount"))
		status = sys(NR_mount, (s64)"none", (s64)args[1], (s64)"ferroprobe", 0, 0);
	else if (same(what, "umount"))
		status = sys(NR_umount2, (s64)args[1], 0, 0, 0, 0);
	else
		die("no such operation: see the head of fpfail.c", 0);
	set_later(0);
	for (int n = 0; n < 2; n++)
		if (ends[n] >= 0)
			sys(NR_close, ends[n], 0, 0, 0, 0);
	if (file >= 0)
		sys(NR_close, file, 0, 0, 0, 0);
	return status < 0 ? status : 0;
}

static void differs(const char *what, u64 fault, const struct text *is, const struct text *was)
{
	sys(NR_write, 1, (s64)was->bytes, was->size, 0, 0);
	print("-- became --\n");
	sys(NR_write, 1, (s64)is->bytes, is->size, 0, 0);
	die(what, fault);
}

/* What a read gives must not depend on whether an allocation failed. */
static void check_content(char **operation, u64 fault)
{
	if (!same(operation[0], "read"))
		return;
	if (have_reference && !equal(&content, &reference))
		differs("a read gave something else without an error, with the fault in allocation",
			fault, &content, &reference);
}

static void check_state(char **names, int count, u64 fault)
{
	look(&after, names, count);
	if (!equal(&before, &after))
		differs("the state changed, with the fault in allocation", fault, &after, &before);
}

/* What stands behind one more "--", one after the other. */
static void undo_it(char **undo)
{
	while (*undo) {
		s64 status = run(undo, 0);

		if (status)
			die("undone with an error", status);
		while (*undo)
			undo++;
		undo++;
	}
}

static u64 seconds(void)
{
	s64 now[2] = { 0 };

	sys(NR_clock_gettime, 1, (s64)now, 0, 0, 0);
	return now[0];
}

static void walk(u64 every, u64 patience, char **names, int count, char **operation, char **undo)
{
	u64 failed = 0, runs = 0, begun = seconds(), fault, left;

	if (same(operation[0], "read")) {
		s64 status = run(operation, 0);

		if (status)
			die(operation[1], status);
		memcpy(&reference, &content, sizeof(content.size) + content.size);
		have_reference = 1;
	}
	look(&before, names, count);
	for (fault = 1;; fault += every) {
		s64 status = run(operation, fault);

		left = get_nth();
		set_nth(0);
		if (fault > MOST)
			die("no end of allocations", fault);
		if (status && (left || status != -ENOMEM || same(operation[0], "rmmod"))) {
			print("fault in allocation ");
			print_number(fault);
			die(left ? ", failed without it" : ", failed with", status);
		}
		if (status) {
			failed++;
		} else {
			check_content(operation, fault);
			undo_it(undo);
		}
		check_state(names, count, fault);
		if (left)
			break;
		runs++;
		if (patience && seconds() - begun >= patience) {
			every *= 2;
			begun = seconds();
		}
	}
	print(all_later ? ", all from it on " : "one ");
	print_number(every > 1 ? fault - left : runs);
	if (every > 1) {
		print(" tried ");
		print_number(runs);
	}
	print(" failed ");
	print_number(failed);
}

__attribute__((used)) void begin(u64 *stack)
{
	int count = stack[0], states = 3, undo;
	char **args = (char **)(stack + 1);

	while (states < count && !same(args[states], "--"))
		states++;
	if (states + 1 >= count || !number(args[1]))
		die("usage: see the head of fpfail.c", count);
	/* A null ends each operation, and one more, instead of the environment, all. */
	undo = count;
	for (int at = count - 1; at > states; at--) {
		if (same(args[at], "--")) {
			args[at] = 0;
			undo = at;
		}
	}
	args[count + 1] = 0;
	/* No page of ours is to be allocated while one is to fail. */
	memset(&content, 1, sizeof(content));
	nth = open("/proc/thread-self/fail-nth", O_RDWR);
	if (nth < 0)
		die("fail-nth", nth);
	later = open("/proc/thread-self/make-it-fail", O_RDWR);
	if (later < 0)
		die("make-it-fail", later);
	for (; all_later < 2; all_later++)
		walk(number(args[1]), number(args[2]), args + 3, states - 3, args + states + 1,
		     args + undo + 1);
	print("\n");
	exit(0);
}
