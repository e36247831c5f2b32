// SPDX-License-Identifier: GPL-2.0
/*
 * fpfuzz DIRECTORY EVENT COUNT SEED: damage the lines of standard input and
 * write COUNT of them, in turn to kprobe_events and to the filter of EVENT of
 * group kprobes.  What was defined beside it is removed every 64 lines.  The
 * same seed gives the same lines.  Prints how many were accepted.
 */

#include "sys.h"

static char input[1 << 18];
static const char *lines[4096];
static u64 count_lines;
static u64 state;

static u64 below(u64 n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (state >> 16) % n : 0;
}

static char *join(char *to, const char *a, const char *b, const char *c)
{
	const char *parts[3] = { a, b, c };
	u64 at = 0;

	for (int n = 0; n < 3; n++) {
		memcpy(to + at, parts[n], length(parts[n]));
		at += length(parts[n]);
	}
	to[at] = 0;
	return to;
}

/* A line with up to five damages: a byte changed, added, left out, or a piece
 * of another line put in. */
static u64 make(char *out, u64 room)
{
	static const char useful[] = "+-@$%()[]:=\\\"'.,>#/!&| \t0189abprsux*?{}";
	const char *line = lines[below(count_lines)];
	u64 size = length(line);

	if (size > room / 2)
		size = room / 2;
	memcpy(out, line, size);
	for (u64 damage = below(6); damage > 0; damage--) {
		u64 at = below(size + 1), kind = below(4);

		if (kind == 0 && at < size) {
			out[at] = below(4) ? useful[below(sizeof(useful) - 1)] : (char)below(256);
		} else if (kind == 1 && size < room) {
			for (u64 n = size++; n > at; n--)
				out[n] = out[n - 1];
			out[at] = useful[below(sizeof(useful) - 1)];
		} else if (kind == 2 && at < size) {
			for (u64 n = at; n + 1 < size; n++)
				out[n] = out[n + 1];
			size--;
		} else if (kind == 3) {
			const char *other = lines[below(count_lines)];
			u64 from = below(length(other)), piece = length(other) - from;

			if (piece > room - at)
				piece = room - at;
			memcpy(out + at, other + from, piece);
			if (at + piece > size)
				size = at + piece;
		}
	}
	return size;
}

static s64 put(const char *path, int flags, const char *text, u64 size)
{
	s64 file = sys(NR_openat, AT_FDCWD, (s64)path, O_WRONLY | flags, 0, 0), done;

	if (file < 0)
		return file;
	done = sys(NR_write, file, (s64)text, size, 0, 0);
	sys(NR_close, file, 0, 0, 0, 0);
	return done;
}

__attribute__((used)) static int run(int argc, char **args)
{
	static char events[256], filter[256], event[128], line[1 << 13];
	u64 accepted[2] = { 0, 0 }, size = 0, count;
	s64 got;

	if (argc != 5)
		die("usage: see the head of fpfuzz.c", argc);
	join(events, args[1], "/kprobe_events", "");
	join(filter, args[1], "/events/kprobes/", args[2]);
	join(filter, filter, "/filter", "");
	join(event, "p:", args[2], " kernel_clone a=%sp s=$comm\n");
	count = number(args[3]);
	state = number(args[4]) * 0x9e3779b97f4a7c15 | 1;
	while ((got = sys(NR_read, 0, (s64)input + size, sizeof(input) - 1 - size, 0, 0)) > 0)
		size += got;
	for (u64 at = 0, start = 0; at < size && count_lines < 4096; at++) {
		if (input[at] != '\n')
			continue;
		input[at] = 0;
		if (at > start)
			lines[count_lines++] = input + start;
		start = at + 1;
	}
	for (u64 n = 0; n < count; n++) {
		const char *path = n % 2 ? filter : events;

		if (n % 64 == 0) {
			got = put(events, O_TRUNC, "\n", 1);
			if (got < 0)
				die("cannot remove what was defined", got);
			got = put(events, O_APPEND, event, length(event));
			if (got < 0)
				die("cannot define the event", got);
		}
		size = make(line, sizeof(line));
		if (put(path, O_APPEND, line, size) >= 0)
			accepted[n % 2]++;
	}
	got = put(events, O_TRUNC, "\n", 1);
	if (got < 0)
		die("cannot remove what was defined", got);
	print("definitions accepted ");
	print_number(accepted[0]);
	print(" filters accepted ");
	print_number(accepted[1]);
	print("\n");
	return 0;
}

/* The stack as the kernel leaves it: the count, then the arguments. */
__attribute__((used)) void begin(u64 *stack)
{
	exit(run(stack[0], (char **)(stack + 1)));
}
