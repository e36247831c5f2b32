/* SPDX-License-Identifier: GPL-2.0 */
/* What fprun says, and the files that it reads and writes. */

/* Numbers: x86-64, arm64. */
#if defined(__x86_64__)
#define NR(x86_64, arm64) (x86_64)
#else
#define NR(x86_64, arm64) (arm64)
#endif

enum {
	NR_nanosleep = NR(35, 101), NR_kill = NR(62, 129), NR_getdents64 = NR(217, 61),
	NR_finit_module = NR(313, 273), NR_delete_module = NR(176, 106),
	NR_userfaultfd = NR(323, 282), NR_membarrier = NR(324, 283), NR_setgid = NR(106, 144), NR_setuid = NR(105, 146),
	SIGKILL = 9, PATH = 160, DIRECTORY = 4, AT_REMOVEDIR = 0x200, ENOENT = 2,
	MAX_TEXT = 1 << 20, MEMBARRIER_CMD_GLOBAL = 1,
};

#define ROOT "/sys/kernel/debug/ferroprobe"

/* What is said is written line by line, so that tasks do not mix theirs. */
static char said[1 << 12];
static u64 said_length;

static void put(const char *text)
{
	while (*text && said_length < sizeof(said) - 1)
		said[said_length++] = *text++;
}

static void put_number(s64 value)
{
	char text[24];
	int at = sizeof(text) - 1;
	u64 rest = value < 0 ? -(u64)value : (u64)value;

	text[at] = 0;
	do {
		text[--at] = '0' + rest % 10;
		rest /= 10;
	} while (rest);
	if (value < 0)
		text[--at] = '-';
	put(text + at);
}

static void end_line(void)
{
	said[said_length++] = '\n';
	sys(NR_write, 1, (s64)said, said_length, 0, 0);
	said_length = 0;
}

/* say WORD NUMBER: a line of these. */
static void say(const char *word, s64 value)
{
	put(word);
	put(" ");
	put_number(value);
	end_line();
}

static u64 nanoseconds(u64 clock)
{
	s64 time[2] = { 0, 0 };

	sys(NR_clock_gettime, clock, (s64)time, 0, 0, 0);
	return time[0] * 1000000000 + time[1];
}

static void rest(u64 ms)
{
	s64 time[2] = { ms / 1000, ms % 1000 * 1000000 };

	sys(NR_nanosleep, (s64)time, 0, 0, 0, 0);
}

static s64 fork(void)
{
	return sys(NR_clone, SIGCHLD, 0, 0, 0, 0);
}

static u64 hash(u64 state, const char *text, u64 size)
{
	for (u64 n = 0; n < size; n++)
		state = (state ^ (u8)text[n]) * 0x100000001b3;
	return state;
}

/* Whether the text has this in it. */
static int has(const char *text, const char *what)
{
	for (; *text; text++)
		if (same_start(text, what))
			return 1;
	return 0;
}

static void copy(char *to, const char *from, u64 room)
{
	u64 n = 0;

	for (; from[n] && n < room - 1; n++)
		to[n] = from[n];
	to[n] = 0;
}

static void join(char *to, const char *above, const char *name)
{
	copy(to, above, PATH);
	copy(to + length(to), same(above, "") ? "" : "/", PATH - length(to));
	copy(to + length(to), name, PATH - length(to));
}

/* Reads a file to its end, or as much as there is room for, and a NUL; returns the length, or the
 * errno, negative. */
static s64 read_file(const char *path, char *to, u64 room)
{
	s64 file = sys(NR_openat, AT_FDCWD, (s64)path, O_NONBLOCK, 0, 0), got = 0;
	u64 done = 0;

	to[0] = 0;
	if (file < 0)
		return file;
	while (done < room - 1) {
		got = sys(NR_read, file, (s64)(to + done), room - 1 - done, 0, 0);
		if (got <= 0)
			break;
		done += got;
	}
	to[done] = 0;
	sys(NR_close, file, 0, 0, 0, 0);
	return got < 0 && !done ? got : (s64)done;
}

/* The first line of a file, without its end. */
static char *first_line(const char *path, char *to, u64 room)
{
	read_file(path, to, room);
	for (u64 n = 0; to[n]; n++)
		if (to[n] == '\n')
			to[n] = 0;
	return to;
}

static s64 write_file(const char *path, int flags, const char *text, u64 size)
{
	s64 file = sys(NR_openat, AT_FDCWD, (s64)path, O_WRONLY | O_NONBLOCK | flags, 0, 0);
	s64 result;

	if (file < 0)
		return file;
	result = size ? sys(NR_write, file, (s64)text, size, 0, 0) : 0;
	sys(NR_close, file, 0, 0, 0, 0);
	return result;
}

static s64 write_text(const char *path, const char *text)
{
	return write_file(path, O_APPEND, text, length(text));
}

/* Calls each(path, name, is_directory) for what is in a directory. */
static void each_name(const char *directory, void (*each)(const char *, const char *, int))
{
	char entries[1 << 12] __attribute__((aligned(8)));
	s64 dir = sys(NR_openat, AT_FDCWD, (s64)(*directory ? directory : "."), 0, 0, 0), got;

	if (dir < 0)
		return;
	while ((got = sys(NR_getdents64, dir, (s64)entries, sizeof(entries), 0, 0)) > 0)
		for (s64 at = 0; at < got; at += *(unsigned short *)(entries + at + 16)) {
			const char *name = entries + at + 19;

			if (name[0] != '.')
				each(directory, name, entries[at + 18] == DIRECTORY);
		}
	sys(NR_close, dir, 0, 0, 0, 0);
}

/* The next word or, to the end, line of a text: its length. */
static u64 word_length(const char *text)
{
	u64 n = 0;

	while (text[n] && text[n] != ' ' && text[n] != '\t' && text[n] != '\n')
		n++;
	return n;
}

static const char *next_line(const char *text)
{
	while (*text && *text != '\n')
		text++;
	return *text ? text + 1 : text;
}

static u64 line_length(const char *text)
{
	return next_line(text) - text - (next_line(text) != text && next_line(text)[-1] == '\n');
}

/* The number at the beginning of a text; what follows it. */
static const char *leading(const char *text, u64 *value)
{
	*value = 0;
	while (*text == ' ')
		text++;
	while (*text >= '0' && *text <= '9')
		*value = *value * 10 + (*text++ - '0');
	return text;
}
