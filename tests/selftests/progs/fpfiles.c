// SPDX-License-Identifier: GPL-2.0
/*
 * fpfiles DIRECTORY SECONDS SEED TASKS: use the files below DIRECTORY in ways
 * that no program would, from several tasks at once, for at least SECONDS: writes
 * of random bytes, pieces of the language, nothing and far too much, at any offset
 * and from memory that is not there; reads of any size to such memory; seeks,
 * vectors, ioctls, splices, mappings.  Nothing that is opened blocks.  Task N draws
 * its operations from SEED + N, so the same seed draws the same ones for the same
 * files.
 *
 * Prints the operations, how many of them succeeded, and the files used.  Fails
 * where a system call returns what it never must, or writes behind what it was
 * given.
 */

#include "sys.h"

#if defined(__x86_64__)
enum {
	SYS_lseek = 8, SYS_pread = 17, SYS_pwrite = 18, SYS_readv = 19, SYS_writev = 20,
	SYS_getdents64 = 217, SYS_ftruncate = 77, SYS_fsync = 74, SYS_sendfile = 40,
	SYS_fallocate = 285, SYS_copy_file_range = 326,
};
#elif defined(__aarch64__)
enum {
	SYS_lseek = 62, SYS_pread = 67, SYS_pwrite = 68, SYS_readv = 65, SYS_writev = 66,
	SYS_getdents64 = 61, SYS_ftruncate = 46, SYS_fsync = 82, SYS_sendfile = 71,
	SYS_fallocate = 47, SYS_copy_file_range = 285,
};
#endif

enum {
	PAGE = 4096,
	DIRECTORY = 4,
	MAX_FILES = 1024,
	UPPER_FILES = 128,
	MIN_USES = 512,
	MAX_PATH = 160,
	ROOM = 4 << 20,
	ANONYMOUS = 0x20,
};

static char paths[MAX_FILES][MAX_PATH];
static u64 count_paths, state, operations, successes, used;
static u8 touched[MAX_FILES];

/* Memory that ends where nothing is mapped, and its end. */
static char *memory, *end;

static u64 below(u64 n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (state >> 16) % n : 0;
}

static s64 seconds(void)
{
	s64 time[2];

	sys(NR_clock_gettime, CLOCK_MONOTONIC, (s64)time, 0, 0, 0);
	return time[0];
}

/* The paths of all files below one directory; breadth first, in the kernel's
 * order. */
static void walk(const char *directory)
{
	static char queue[256][MAX_PATH];
	u64 first = 0, last = 1;

	count_paths = 0;
	memcpy(queue[0], directory, length(directory) + 1);
	for (; first < last; first++) {
		static char entries[1 << 15] __attribute__((aligned(8)));
		s64 dir = sys(NR_openat, AT_FDCWD, (s64)queue[first], 0, 0, 0), got;

		/* Its event may be gone. */
		if (dir < 0)
			continue;
		while ((got = sys(SYS_getdents64, dir, (s64)entries, sizeof(entries), 0, 0)) > 0) {
			for (s64 at = 0; at < got; at += *(unsigned short *)(entries + at + 16)) {
				const char *name = entries + at + 19;
				int is_directory = entries[at + 18] == DIRECTORY;
				u64 above = length(queue[first]), size = length(name);
				char *to;

				if (name[0] == '.' || above + size + 2 > MAX_PATH ||
				    count_paths == MAX_FILES || (is_directory && last == 256))
					continue;
				to = is_directory ? queue[last++] : paths[count_paths++];
				memcpy(to, queue[first], above);
				to[above] = '/';
				memcpy(to + above + 1, name, size + 1);
			}
		}
		sys(NR_close, dir, 0, 0, 0, 0);
	}
}

/* What the files know, and what they nearly know. */
static const char *const words[] = {
	"p:", "r:", "r16:", "p", "-:", "kprobes/", "e", "f0", "a/b", " ", " ", " ", "\n", "\n",
	"vfs_read", "vfs_write", "kernel_clone", "_raw_spin_lock", "do_sys_openat2", "+4", "+0",
	"%return", "$arg1", "$retval", "$comm", "$stack0", "$stack", "+0(", "-8(", ")", "+u0(",
	"a=", "b=", ":u8", ":s64", ":string", ":ustring", ":x32[4]", ":symbol", ":b3@2/32",
	"\\1234", "\\\"text\"", "@jiffies", "@linux_banner", "0", "1", "2", "-1", "16", "4096",
	"0xffffffffffffffff", "99999999999999999999", "1 ", "X", "?", "!", "*", "*:*", "kprobes:",
	" == ", " != ", "&", "&&", "||", "(", "~", "'*x?'", "\"", "common_pid", "CPU", "COMM",
	"cpu & CPUS{0-1}", ".ustring", ".function", "global", "mono", "local", "x86-tsc",
	"nooverwrite", "overwrite", "nomarkers", "pause-on-trace", "sym-addr", "nop", "function",
	"traceon", "if ", "hist:keys=a", "3", "ffffffff", ",", "#", "\t", "\\", "%", "%d%s%n",
};

/* Fills the end of the memory, and returns what is to be written: as many bytes
 * as *size, which end where the memory ends. */
static char *content(u64 *size)
{
	u64 kind = below(10), want;

	switch (kind) {
	case 0:
		*size = 0;
		return end;
	case 1: /* Bytes. */
	case 2:
		want = below(kind == 1 ? 64 : 1 << 15);
		for (u64 n = 1; n <= want; n++)
			end[-(s64)n] = (char)below(256);
		break;
	case 3: /* Far too much, of which most was never written. */
		want = below(ROOM - PAGE);
		break;
	case 4: /* Not UTF-8. */
		want = 1 + below(200);
		for (u64 n = 1; n <= want; n++)
			end[-(s64)n] = (char)(0x80 + below(128));
		break;
	default: {
		char text[2048];

		want = 0;
		for (u64 more = 1 + below(kind == 5 ? 1 : kind == 6 ? 2 : 24); more; more--) {
			const char *word = words[below(sizeof(words) / sizeof(*words))];

			if (want + length(word) < sizeof(text)) {
				memcpy(text + want, word, length(word));
				want += length(word);
			}
		}
		memcpy(end - want, text, want);
	}
	}
	*size = want;
	return end - want;
}

/* Where a system call is to read or write *size bytes: mostly memory, at times
 * across its end, at nothing, or in the kernel. */
static char *place(u64 *size)
{
	static const u64 few[] = { 0, 1, 1, 1, 7, 16, 100, PAGE - 1, PAGE, PAGE + 1, 1 << 16 };

	*size = few[below(sizeof(few) / sizeof(*few))];
	switch (below(16)) {
	case 0:
		return end - *size / 2;
	case 1:
		return end;
	case 2:
		return (char *)0;
	case 3:
		return (char *)0xffff888000001000;
	case 4:
		*size = ~0UL >> below(34);
		return memory;
	case 5:
		return (char *)0x7ffffffff000;
	default:
		return end - *size - below(64);
	}
}

static s64 offset(void)
{
	switch (below(8)) {
	case 0:
		return -(s64)below(PAGE);
	case 1:
		return (s64)(~0UL >> 1) - (s64)below(PAGE);
	case 2:
		return 1L << below(63);
	case 3:
		return (s64)below(1 << 20);
	default:
		return (s64)below(64);
	}
}

/* Counts an operation, which may have moved at most so many bytes. */
static void check(const char *what, const char *path, s64 result, u64 most)
{
	operations++;
	if (result >= 0)
		successes++;
	if (result < -4095 || (result > 0 && (u64)result > most)) {
		print(what);
		print(" of ");
		print(path);
		die(" returned", result);
	}
}

struct vector {
	char *base;
	u64 size;
};

static void write_some(s64 file, const char *path)
{
	struct vector vectors[8];
	u64 size, count = below(9), sum = 0;
	char *from = content(&size);

	if (below(6) == 0)
		from = place(&size);
	switch (below(4)) {
	case 0:
		check("pwrite", path, sys(SYS_pwrite, file, (s64)from, size, offset(), 0), size);
		return;
	case 1:
		for (u64 n = 0; n < count; n++) {
			/* The bytes of one, in pieces. */
			u64 piece = n + 1 == count ? size - sum : below(size - sum + 1);

			vectors[n] = (struct vector){ from + sum, piece };
			sum += piece;
		}
		if (count && below(8) == 0)
			vectors[below(count)].base = place(&vectors[below(count)].size);
		check("writev", path, sys(SYS_writev, file, (s64)vectors, count, 0, 0), ~0UL >> 1);
		return;
	default:
		check("write", path, sys(NR_write, file, (s64)from, size, 0, 0), size);
	}
}

static void read_some(s64 file, const char *path)
{
	struct vector vectors[8];
	u64 size, count = below(9);
	char *to = place(&size);
	/* What stands behind must stand there afterwards. */
	int guarded = to > memory && size < ROOM && to + size < end;
	s64 got;

	if (guarded)
		to[size] = 0x5a;
	switch (below(4)) {
	case 0:
		got = sys(SYS_pread, file, (s64)to, size, offset(), 0);
		check("pread", path, got, size);
		break;
	case 1:
		for (u64 n = 0; n < count; n++)
			vectors[n].base = place(&vectors[n].size);
		check("readv", path, sys(SYS_readv, file, (s64)vectors, count, 0, 0), ~0UL >> 1);
		return;
	default:
		got = sys(NR_read, file, (s64)to, size, 0, 0);
		check("read", path, got, size);
	}
	if (guarded && to[size] != 0x5a) {
		print(path);
		die(" was read beyond", size);
	}
}

static void empty(s64 *pipe)
{
	while (sys(NR_read, pipe[0], (s64)memory, 1 << 16, 0, 0) > 0)
		;
}

static void splice_some(s64 file, const char *path, s64 *pipe)
{
	u64 size = 1UL << below(18);
	s64 moved;

	if (below(2)) {
		moved = splice(file, pipe[1], size, SPLICE_F_NONBLOCK);
		check("splice from", path, moved, size);
	} else {
		char *from = content(&size);

		if (size > PAGE)
			size = PAGE;
		sys(NR_write, pipe[1], (s64)from, size, 0, 0);
		check("splice to", path, splice(pipe[0], file, 1 << 16, SPLICE_F_NONBLOCK), 1 << 16);
	}
	empty(pipe);
}

static void map_some(s64 file, const char *path, s64 *pipe)
{
	u64 size = PAGE << below(12), protection = below(4);
	s64 at = sys6(NR_mmap, 0, size, protection, 1 + below(2), file, PAGE * (s64)below(3));

	operations++;
	if (at < 0 && at >= -4095)
		return;
	successes++;
	/* A write fails where a page is not there; a look would end us. */
	if (protection & PROT_READ)
		check("write from the mapping of", path,
		      sys(NR_write, pipe[1], at, size, 0, 0), size);
	empty(pipe);
	sys(NR_munmap, at, size, 0, 0, 0);
}

static void other(s64 file, const char *path, s64 null)
{
	struct {
		int file;
		short events, revents;
	} poll = { (int)file, (short)below(1 << 14), 0 };
	s64 no_time[2] = { 0, 0 };
	u64 size;
	char *at;

	switch (below(8)) {
	case 0:
		at = place(&size);
		check("ioctl", path, sys(NR_ioctl, file,
					 below(2) ? below(256) : below(1UL << 32), (s64)at, 0, 0), ~0UL >> 1);
		return;
	case 1:
		check("ioctl", path, sys(NR_ioctl, file, below(2) ? TRACE_MMAP_IOCTL_GET_READER :
					 (u64)'R' << 8 | below(256), 0, 0, 0), ~0UL >> 1);
		return;
	case 2:
		check("ppoll", path, sys(NR_ppoll, (s64)&poll, 1, (s64)no_time, 0, 0), 1);
		return;
	case 3:
		check("sendfile", path, sys(SYS_sendfile, null, file, 0, 1 << below(16), 0), 1 << 16);
		return;
	case 4:
		check("ftruncate", path, sys(SYS_ftruncate, file, offset(), 0, 0, 0), 0);
		return;
	case 5:
		check("fsync", path, sys(SYS_fsync, file, 0, 0, 0, 0), 0);
		return;
	case 6:
		check("fallocate", path, sys(SYS_fallocate, file, below(4), offset(), offset(), 0), 0);
		return;
	default:
		check("copy_file_range", path,
		      sys6(SYS_copy_file_range, file, 0, null, 0, PAGE, 0), PAGE);
	}
}

static void use(const char *path, s64 *pipe, s64 null)
{
	static const int modes[] = { 0, O_WRONLY, O_RDWR, O_RDWR, O_WRONLY | O_APPEND };
	int flags = modes[below(5)] | O_NONBLOCK | (below(8) ? 0 : O_TRUNC);
	s64 file = sys(NR_openat, AT_FDCWD, (s64)path, flags, 0, 0);

	check("open", path, file, 1 << 20);
	if (file < 0)
		return;
	for (u64 more = 1 + below(6); more; more--) {
		switch (below(8)) {
		case 0:
		case 1:
		case 2:
			write_some(file, path);
			break;
		case 3:
		case 4:
			read_some(file, path);
			break;
		case 5:
			check("lseek", path, sys(SYS_lseek, file, offset(), below(7), 0, 0), ~0UL >> 1);
			break;
		case 6:
			if (below(4))
				splice_some(file, path, pipe);
			else
				map_some(file, path, pipe);
			break;
		default:
			other(file, path, null);
		}
	}
	sys(NR_close, file, 0, 0, 0, 0);
}

static int work(const char *directory, s64 deadline)
{
	int ends[2];
	s64 pipe[2], null = sys(NR_openat, AT_FDCWD, (s64)"/dev/null", O_RDWR, 0, 0);

	if (null < 0 || sys(NR_pipe2, (s64)ends, O_NONBLOCK, 0, 0, 0) < 0)
		die("no pipe", null);
	pipe[0] = ends[0];
	pipe[1] = ends[1];
	memory = (char *)sys6(NR_mmap, 0, ROOM + PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | ANONYMOUS, -1, 0);
	if ((s64)memory < 0 && (s64)memory >= -4095)
		die("no memory", (s64)memory);
	end = memory + ROOM;
	sys(NR_munmap, (s64)end, PAGE, 0, 0, 0);
	for (u64 n = 0; n < MIN_USES || n % 16 || seconds() < deadline; n++) {
		u64 which, from;

		/* Events come and go. */
		if (n % 256 == 0)
			walk(directory);
		if (!count_paths)
			die("no files", 0);
		/* The files of events come last, and there are many more of them. */
		from = count_paths < UPPER_FILES || below(2) ? count_paths : UPPER_FILES;
		which = below(from);
		used += !touched[which];
		touched[which] = 1;
		use(paths[which], pipe, null);
	}
	return 0;
}

__attribute__((used)) static int run(int argc, char **args)
{
	int ends[2], failed = 0, status;
	u64 tasks, sums[3] = { 0, 0, 0 }, own[3];
	s64 deadline;

	if (argc != 5)
		die("usage: see the head of fpfiles.c", argc);
	tasks = number(args[4]);
	deadline = seconds() + number(args[2]);
	if (sys(NR_pipe2, (s64)ends, 0, 0, 0, 0) < 0)
		die("no pipe", 0);
	for (u64 task = 0; task < tasks; task++) {
		if (sys(NR_clone, SIGCHLD, 0, 0, 0, 0))
			continue;
		state = (number(args[3]) + task) * 0x9e3779b97f4a7c15 | 1;
		failed = work(args[1], deadline);
		own[0] = operations;
		own[1] = successes;
		own[2] = used;
		sys(NR_write, ends[1], (s64)own, sizeof(own), 0, 0);
		exit(failed);
	}
	while (sys(NR_wait4, -1, (s64)&status, 0, 0, 0) > 0)
		failed |= status;
	if (failed)
		die("a task failed with status", failed);
	for (u64 task = 0; task < tasks; task++) {
		if (sys(NR_read, ends[0], (s64)own, sizeof(own), 0, 0) != sizeof(own))
			die("a task told nothing", task);
		sums[0] += own[0];
		sums[1] += own[1];
		sums[2] = own[2] > sums[2] ? own[2] : sums[2];
	}
	print("operations ");
	print_number(sums[0]);
	print(" succeeded ");
	print_number(sums[1]);
	print(" files ");
	print_number(sums[2]);
	print("\n");
	return 0;
}

/* The stack as the kernel leaves it: the count, then the arguments. */
__attribute__((used)) void begin(u64 *stack)
{
	exit(run(stack[0], (char **)(stack + 1)));
}
