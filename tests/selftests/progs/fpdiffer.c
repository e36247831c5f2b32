// SPDX-License-Identifier: GPL-2.0
/*
 * fpdiffer OURS PEER: give definitions to two tracing directories and print
 * what becomes of each.
 *
 * Each line of standard input is "NUMBER<tab>DEFINITION"; a line "---" ends a
 * block.  A definition is written to both directories.  At the end of a block
 * its events of group kprobes are enabled in both, so that the same call of
 * setpriority() hits the probes of both, and everything is removed again.
 *
 * Each line of output is "WHO<tab>KEY<tab>WHAT<tab>VALUE"; WHO is ours or peer.
 * Under the number of a definition, WHAT is
 *
 *   errno, text, caret    of a refusal; "errno 0" when it was accepted
 *
 * and under the name of an event
 *
 *   listed                its lines in kprobe_events, from the place on
 *   recorded              its lines in trace, from the place on
 */

#include "sys.h"

static const char *const who[2] = { "ours", "peer" };
static char *directory[2];
static char file_text[1 << 20];

static s64 open_in(int side, const char *name, int flags)
{
	static char path[512];
	u64 base = length(directory[side]), size = length(name) + 1;

	if (base + size + 1 > sizeof(path))
		die("too long a path", base);
	memcpy(path, directory[side], base);
	path[base] = '/';
	memcpy(path + base + 1, name, size);
	return sys(NR_openat, AT_FDCWD, (s64)path, flags, 0, 0);
}

/* Empty a file by opening it. */
static void clear(int side, const char *name)
{
	s64 file = open_in(side, name, O_WRONLY | O_TRUNC);

	if (file < 0)
		die(name, file);
	sys(NR_close, file, 0, 0, 0, 0);
}

static s64 put(int side, const char *name, const char *text, u64 size)
{
	s64 file = open_in(side, name, O_WRONLY | O_APPEND), done;

	if (file < 0)
		return file;
	done = sys(NR_write, file, (s64)text, size, 0, 0);
	sys(NR_close, file, 0, 0, 0, 0);
	return done;
}

/* The whole of a file, as text. */
static char *get(int side, const char *name)
{
	s64 file = open_in(side, name, 0), got;
	u64 size = 0;

	if (file < 0)
		die(name, file);
	while ((got = sys(NR_read, file, (s64)file_text + size, sizeof(file_text) - 1 - size, 0,
			  0)) > 0)
		size += got;
	sys(NR_close, file, 0, 0, 0, 0);
	file_text[size] = 0;
	return file_text;
}

static int starts(const char *text, const char *with)
{
	while (*with && *text == *with)
		text++, with++;
	return !*with;
}

static char *find(char *text, const char *what)
{
	for (; *text; text++)
		if (starts(text, what))
			return text;
	return 0;
}

/* Cut a line off the front of *rest; a null pointer at the end. */
static char *next_line(char **rest)
{
	char *line = *rest, *at = line;

	if (!*line)
		return 0;
	while (*at && *at != '\n')
		at++;
	*rest = *at ? at + 1 : at;
	*at = 0;
	return line;
}

static void begin_line(int side, const char *key, const char *what)
{
	print(who[side]);
	print("\t");
	print(key);
	print("\t");
	print(what);
	print("\t");
}

static void refusal(int side, const char *number)
{
	char *rest = get(side, "error_log"), *line, *text = "", *entry;
	s64 caret = -1;

	while ((line = next_line(&rest))) {
		entry = find(line, ": error: ");
		if (entry && line[0] == '[') {
			text = entry + 9;
			caret = -1;
		} else if (!starts(line, "  Command: ") && find(line, "^")) {
			caret = find(line, "^") - line - 11;
		}
	}
	begin_line(side, number, "text");
	print(text);
	print("\n");
	begin_line(side, number, "caret");
	print_number(caret);
	print("\n");
}

static void try(int side, const char *number, const char *definition, u64 size)
{
	s64 done;

	clear(side, "error_log");
	done = put(side, "kprobe_events", definition, size);
	begin_line(side, number, "errno");
	print_number(done < 0 ? -done : 0);
	print("\n");
	if (done < 0)
		refusal(side, number);
}

/* Print "<start>EVENT<separator>TEXT" as TEXT, under the name of the event. */
static void of_event(int side, char *line, const char *start, char separator, const char *what)
{
	char *event = find(line, start), *at;

	if (!event)
		return;
	event += length(start);
	for (at = event; *at && *at != separator; at++)
		;
	if (!*at)
		return;
	*at = 0;
	begin_line(side, event, what);
	print(at + 1);
	print("\n");
}

/*
 * What the call hands over: a number, a text, and pointers to texts.  Tests print
 * their addresses as text too: those begin with a control character wherever the
 * linker puts them.
 */
static struct {
	char *unused, *texts[2];
	char text[10];
} given __attribute__((aligned(4096))) = {
	0, { given.text, given.text + 5 }, "user text",
};

static void end_block(void)
{
	char *rest, *line;
	int enabled[2];

	for (int side = 0; side < 2; side++) {
		clear(side, "trace");
		enabled[side] = put(side, "events/kprobes/enable", "1", 1) == 1;
	}
	sys(NR_setpriority, (s64)0x8182838485868788, (s64)given.text, (s64)given.texts, 0, 0);
	for (int side = 0; side < 2; side++)
		if (enabled[side])
			put(side, "events/kprobes/enable", "0", 1);
	for (int side = 0; side < 2; side++) {
		rest = get(side, "trace");
		while ((line = next_line(&rest)))
			if (line[0] != '#')
				of_event(side, line, ": ", ':', "recorded");
		rest = get(side, "kprobe_events");
		while ((line = next_line(&rest)))
			of_event(side, line, ":", ' ', "listed");
		clear(side, "kprobe_events");
	}
}

__attribute__((used)) static int run(int count, char **args)
{
	static char input[1 << 18];
	char *rest = input, *line;
	u64 size = 0;
	s64 got;

	if (count != 3)
		die("usage: see the head of fpdiffer.c", count);
	directory[0] = args[1];
	directory[1] = args[2];
	while ((got = sys(NR_read, 0, (s64)input + size, sizeof(input) - 1 - size, 0, 0)) > 0)
		size += got;
	while ((line = next_line(&rest))) {
		char *definition = find(line, "\t");

		if (same(line, "---")) {
			end_block();
			continue;
		}
		if (!definition)
			die("a line without a tab", 0);
		*definition++ = 0;
		for (int side = 0; side < 2; side++)
			try(side, line, definition, length(definition));
	}
	return 0;
}

/* The stack as the kernel leaves it: the count, then the arguments. */
__attribute__((used)) void begin(u64 *stack)
{
	exit(run(stack[0], (char **)(stack + 1)));
}
