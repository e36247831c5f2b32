// SPDX-License-Identifier: GPL-2.0
/*
 * fparrays addresses|arrays: system calls with addresses of sockets, or with arrays of strings, as
 * programs pass them and as none would.  All of them fail.
 *
 * fparrays apart FILE NAME: symlink the string at 64 KiB in FILE, whose memory is not there yet, to
 * NAME.
 */

#include "sys.h"

#if defined(__x86_64__)
enum { NR_connect = 42, NR_sendto = 44, NR_bind = 49, NR_execve = 59, NR_execveat = 322,
       NR_symlinkat = 266 };
#else
enum { NR_connect = 203, NR_sendto = 206, NR_bind = 200, NR_execve = 221, NR_execveat = 281,
       NR_symlinkat = 36 };
#endif

#define S(value) ((s64)(value))
#define KERNEL ((s64)(1UL << 63 | 0x1000))
#define UNIT 65536L
#define WORDS (UNIT / 8)

static const u8 in4[16] = { 2, 0, 0, 80, 127, 0, 0, 1 };
static const u8 in6[28] = { 10, 0, 1, 187, 0, 0, 0, 0, 0xfe, 0x80, [23] = 1, [24] = 2 };
static const u8 in6_any[28] = { 10, 0, 0, 53 };
static const struct { unsigned short family; char path[30]; } path = { 1, "/run/fp\nx" },
	name = { 1, "\0fp-abstract" };
static struct { unsigned short family; char path[126]; } longest;
static const u8 netlink[12] = { 16 };
static const u8 nothing[16];

/* Returns the end of memory behind which there is none. */
static u8 *edge(void)
{
	u8 *at = (u8 *)mmap(-1, 0, 2 * UNIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);

	memset(at, 0, UNIT);
	sys(NR_munmap, S(at + UNIT), UNIT, 0, 0, 0);
	return at + UNIT;
}

static void connect(const void *address, s64 size)
{
	sys(NR_connect, -1, S(address), size, 0, 0);
}

static int addresses(void)
{
	u8 *end = edge();

	connect(in4, sizeof(in4));
	connect(in6, sizeof(in6));
	connect(in6_any, sizeof(in6_any));
	connect(&path, 2 + length(path.path) + 1);
	connect(&name, 2 + 12);
	connect(&path, 2);
	connect(netlink, sizeof(netlink));
	connect(nothing, sizeof(nothing));
	sys(NR_bind, -1, S(in4), sizeof(in4), 0, 0);
	sys6(NR_sendto, -1, S("text"), 4, 0, S(in4), sizeof(in4));
	sys6(NR_sendto, -1, S("text"), 4, 0, 0, 0);
	/* Lengths that no address has, and more bytes than one can have. */
	connect(in4, 0);
	connect(in4, -1);
	connect(in4, 1);
	connect(in4, 15);
	connect(in4, 0x7fffffff);
	connect(in4, 0x100000010);
	longest.family = 1;
	memset(longest.path, 'y', sizeof(longest.path));
	connect(&longest, 128);
	connect(&longest, 4096);
	/* Memory that is not there, or only in part. */
	connect((void *)8, 16);
	connect((void *)KERNEL, 16);
	memcpy(end - 16, in4, 16);
	connect(end - 16, 16);
	connect(end - 16, 17);
	connect(end - 1, 2);
	return 0;
}

static void run(const char *file, const void *arguments)
{
	sys(NR_execve, S(file), S(arguments), 0, 0, 0);
}

static int arrays(void)
{
	static const char none[] = "/no/fparrays";
	static char text[300], *endless[4096];
	static const char *whole[] = { "ls", "-l", "", "two words\n", 0 };
	static const char *empty[] = { 0 };
	static const char *bad[] = { "first", (char *)8, "last", (char *)KERNEL, 0 };
	static const char *bad_only[] = { (char *)8, 0 };
	static char *cut[] = { text, "behind", 0 };
	char **end = (char **)edge();

	run(none, whole);
	/* Now it is there. */
	*(const char *volatile *)empty = 0;
	run(none, empty);
	run(none, 0);
	run(none, bad);
	run(none, bad_only);
	memset(text, 'x', sizeof(text) - 1);
	run(none, cut);
	for (u64 n = 0; n < 4095; n++)
		endless[n] = "abcdefg";
	run(none, endless);
	for (u64 n = 0; n < 4095; n++)
		endless[n] = "";
	run(none, endless);
	/* The array itself. */
	run(none, (void *)8);
	run(none, (void *)KERNEL);
	end[-2] = "one";
	end[-1] = "two";
	run(none, end - 2);
	run(none, (u8 *)end - 12);
	/* Both at one place, and the file nowhere. */
	run((void *)whole, whole);
	run((void *)8, whole);
	sys(NR_execveat, AT_FDCWD, S(none), S(whole), 0, 0);
	return 0;
}

static int apart(const char *file, const char *name)
{
	static char there[8192];
	s64 text, opened = sys(NR_openat, AT_FDCWD, S(file), 0, 0, 0);

	if (opened < 0)
		die(file, opened);
	text = mmap(opened, 0, 2 * UNIT, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	if (text < 0)
		die("mmap", text);
	/* Now memory of the mapping may differ from the file, and is not looked for there. */
	*(volatile char *)text = 1;
	for (u64 n = 0; n < sizeof(there) - 1 && name[n]; n++)
		there[n] = name[n];
	sys(NR_symlinkat, text + UNIT, AT_FDCWD, S(there), 0, 0);
	return 0;
}

__attribute__((used)) void begin(u64 *stack)
{
	s64 count = (s64)stack[0];
	char **args = (char **)stack + 1;

	if (count == 2 && same(args[1], "addresses"))
		exit(addresses());
	if (count == 2 && same(args[1], "arrays"))
		exit(arrays());
	if (count == 4 && same(args[1], "apart"))
		exit(apart(args[2], args[3]));
	die("usage: fparrays addresses|arrays, or apart FILE NAME", count);
}
