// SPDX-License-Identifier: GPL-2.0
/*
 * fpplaces SEED COUNT LIMIT [armed|traced|enabled|ends]...
 *
 * Draws COUNT functions of the kernel, defines a probe at every offset of each,
 * and compares what comes of it with what the file "placement" had said.  Of
 * the places in a function that can be probed it tries LIMIT (0: all), drawn at
 * random, because to remove a probe takes time; of all others, every one.
 *
 * A place that only we refuse is given to the kernel's own kprobe events, which
 * must take it.  A place that only the kernel refuses must be explained in the
 * error log.
 *
 * With "armed" the kernel's own events first have two probes in each function,
 * enabled, and with "traced" the kernel's function tracer traces each; the maps
 * must remain as they were, or say that something is hidden.  With "enabled"
 * each probe of ours that was taken is armed, and disarmed again.
 *
 * With "ends" it tries nothing but the last places of each function, and of those
 * before some system calls, up to the next function: what is taken stays, all of it
 * is armed while the kernel's function tracer traces each next function, and these
 * system calls are made.  The machine must survive it: on arm64 a breakpoint in
 * ftrace's pointer before a function would end it.
 *
 * "left out" counts the places that were not tried; "hidden by them" those behind a
 * probe of the kernel's own that was optimised, where the kernel is asked and its
 * answer not compared with the map; "not traceable" those that we refuse in functions
 * that the kernel's events refuse as a whole, because ftrace does not trace them.
 *
 * Runs in the tracing directory.  Prints the counts; fails if a difference has
 * no explanation.
 */

#include "sys.h"

#define PEER "/sys/kernel/tracing/"

enum { MAX_SYMBOLS = 400000, MAX_FUNCTIONS = 2000, MAX_SIZE = 1 << 16,
       MAX_CALLS = 8, LAST = 3 };

enum { NOTHING, PROBEABLE, KERNEL, OURS, HIDDEN };

static u64 symbols[MAX_SYMBOLS];
static u64 symbol_count;
static u64 calls[MAX_CALLS];
static u64 call_count;
static char text[1 << 21];
static char log[1 << 16];
static u8 verdicts[MAX_SIZE];
static u64 state;

static struct {
	u64 offsets, accepted, inside, refused, ours, skipped;
	u64 probed, traced, enabled, notrace;
	u64 label, call, bug, exception, blacklist, hidden;
	u64 unexplained;
	u64 ends, last, next;
} counts;

static u64 random(u64 below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static u64 digits(const char *at, u64 base)
{
	u64 value = 0;

	for (;; at++) {
		u64 digit = *at >= 'a' ? (u64)(*at - 'a' + 10) : (u64)(*at - '0');

		if (*at < '0' || digit >= base)
			return value;
		value = value * base + digit;
	}
}

static int contains(const char *text, const char *words)
{
	u64 n = length(words);

	for (; *text; text++) {
		u64 i = 0;

		while (i < n && text[i] == words[i])
			i++;
		if (i == n)
			return 1;
	}
	return 0;
}

static s64 put(const char *name, const char *line, int flags)
{
	s64 file = sys(NR_openat, AT_FDCWD, (s64)name, O_WRONLY | flags, 0, 0);
	s64 done;

	if (file < 0)
		return file;
	done = sys(NR_write, file, (s64)line, length(line), 0, 0);
	sys(NR_close, file, 0, 0, 0, 0);
	return done;
}

/* read_all: the whole file as a string; what does not fit is left out. */
static u64 read_all(const char *name, char *to, u64 size)
{
	s64 file = sys(NR_openat, AT_FDCWD, (s64)name, 0, 0, 0);
	u64 have = 0;
	s64 got;

	if (file < 0)
		die(name, file);
	while (have < size - 1 &&
	       (got = sys(NR_read, file, (s64)(to + have), size - 1 - have, 0, 0)) > 0)
		have += got;
	sys(NR_close, file, 0, 0, 0, 0);
	to[have] = 0;
	return have;
}

static char *hex(char *to, u64 value)
{
	int shift = 60;

	*to++ = '0';
	*to++ = 'x';
	while (shift && !(value >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[value >> shift & 15];
	*to = 0;
	return to;
}

/* copy: append a string, return its end. */
static char *copy(char *to, const char *from)
{
	while ((*to = *from++))
		to++;
	return to;
}

/* System calls that take nothing, and change nothing. */
#if defined(__x86_64__)
#define CALL "__x64_sys_get"
static const s64 harmless[] = { 39, 110, 102, 107, 104, 108, 186 };
#else
#define CALL "__arm64_sys_get"
static const s64 harmless[] = { 172, 173, 174, 175, 176, 177, 178 };
#endif

static int is_call(const char *name)
{
	static const char *const rest[] = { "pid", "ppid", "uid", "euid", "gid", "egid", "tid" };
	u64 n = length(CALL);

	for (u64 i = 0; i < n; i++)
		if (name[i] != CALL[i])
			return 0;
	for (u64 i = 0; i < sizeof(rest) / sizeof(*rest); i++)
		if (same(name + n, rest[i]))
			return 1;
	return 0;
}

/* A line of kallsyms: "address type name". */
static void take_symbol(const char *line, int *inside)
{
	const char *name = line + 19;

	if (contains(line, "[") || length(line) < 20)
		return;
	if (same(name, "_stext"))
		*inside = 1;
	if (same(name, "_etext"))
		*inside = 0;
	if (!*inside || (line[17] | 32) != 't' || symbol_count == MAX_SYMBOLS)
		return;
	if (is_call(name) && call_count < MAX_CALLS)
		calls[call_count++] = symbol_count;
	symbols[symbol_count++] = digits(line, 16);
}

static void read_symbols(void)
{
	s64 file = sys(NR_openat, AT_FDCWD, (s64)"/proc/kallsyms", 0, 0, 0);
	int inside = 0;
	u64 have = 0;
	s64 got;

	while ((got = sys(NR_read, file, (s64)(text + have), 65536, 0, 0)) > 0) {
		u64 start = 0;

		have += got;
		for (u64 at = 0; at < have; at++) {
			if (text[at] != '\n')
				continue;
			text[at] = 0;
			take_symbol(text + start, &inside);
			start = at + 1;
		}
		for (u64 at = start; at < have; at++)
			text[at - start] = text[at];
		have -= start;
	}
	sys(NR_close, file, 0, 0, 0, 0);
	if (symbol_count < 1000)
		die("symbols", symbol_count);
}

/* map: ask for the map of the function at an address; its size, 0 if none. */
static u64 map(u64 address)
{
	char place[24];
	u64 size = 0;
	char *line, *end;

	hex(place, address);
	if (put("placement", place, 0) < 0)
		return 0;
	read_all("placement", text, sizeof(text));
	memset(verdicts, NOTHING, sizeof(verdicts));
	for (line = text; *line; line = end + 1) {
		u64 offset, len;
		char *at;

		for (end = line; *end && *end != '\n'; end++)
			;
		if (!*end)
			return 0;
		if (*line != '+')
			continue;
		offset = digits(line + 3, 16);
		for (at = line; *at != ' '; at++)
			;
		for (; *at == ' '; at++)
			;
		len = digits(at, 10);
		if (offset + len > MAX_SIZE)
			return 0;
		*end = 0;
		verdicts[offset] = contains(line, "(the kernel refuses)") ? KERNEL :
			contains(line, "(the kernel would accept it)") ? OURS : PROBEABLE;
		/* Of all that such a probe hides the kernel alone can tell. */
		if (contains(line, "a probe of someone else"))
			memset(verdicts + offset, HIDDEN, len);
		*end = '\n';
		size = offset + len;
	}
	return size;
}

static void complain(const char *what, u64 offset, s64 result)
{
	char place[24];

	counts.unexplained++;
	for (char *at = text; *at && *at != '\n'; at++)
		if (at[1] == '\n' || !at[1]) {
			char end = at[1];

			at[1] = 0;
			print(text);
			at[1] = end;
			break;
		}
	hex(place, offset);
	print(" +");
	print(place);
	print(": ");
	print(what);
	print(", result ");
	print_number(result);
	print("\n");
	print(log);
}

/* Why did the kernel refuse what we had found good? */
static void explain(u64 offset, s64 result)
{
	read_all("error_log", log, sizeof(log));
	if (contains(log, "a jump label patches it"))
		counts.label++;
	else if (contains(log, "a static call patches it"))
		counts.call++;
	else if (contains(log, "table of BUGs and WARNs"))
		counts.bug++;
	else if (contains(log, "(exception table)"))
		counts.exception++;
	else if (contains(log, "blacklist"))
		counts.blacklist++;
	else
		complain("refused without explanation", offset, result);
}

static s64 define(const char *prefix, const char *event, u64 address)
{
	char name[64], line[64];
	char *at = copy(line, "p:");

	copy(copy(name, prefix), "kprobe_events");
	at = copy(copy(at, event), " ");
	hex(at, address);
	return put(name, line, O_APPEND);
}

static void undefine(const char *prefix, const char *event)
{
	char name[64], line[64];

	copy(copy(name, prefix), "kprobe_events");
	copy(copy(line, "-:"), event);
	s64 done = put(name, line, O_APPEND);
	if (done < 0)
		die("removal", done);
}

/*
 * is_notrace: do the kernel's events refuse the function as a whole?  Those that
 * ftrace does not trace they do, while register_kprobe() takes them: then there
 * is no one to ask.
 */
static int is_notrace(u64 address)
{
	for (u64 at = 0; at < MAX_SIZE; at++) {
		if (verdicts[at] != PROBEABLE)
			continue;
		if (define(PEER, "places/place", address + at) < 0)
			return 1;
		undefine(PEER, "places/place");
		return 0;
	}
	return 0;
}

static int enables;

/* enable: arm the probe that was taken at an offset, and disarm it. */
static void enable(u64 offset)
{
	s64 result = put("events/places/place/enable", "1", 0);

	if (result < 0)
		complain("cannot be armed", offset, result);
	result = put("events/places/place/enable", "0", 0);
	if (result < 0)
		die("disarming", result);
	counts.enabled++;
}

static void try(u64 address, u64 offset)
{
	u8 said = verdicts[offset];
	s64 result;

	counts.offsets++;
	put("error_log", "", O_TRUNC);
	result = define("", "places/place", address + offset);
	if (result >= 0) {
		if (enables)
			enable(offset);
		undefine("", "places/place");
	}
	if (said == HIDDEN)
		counts.hidden++;
	else if (result >= 0 && said == PROBEABLE)
		counts.accepted++;
	else if (result >= 0)
		complain("taken, against the map", offset, result);
	else if (said == PROBEABLE)
		explain(offset, result);
	else if (said == NOTHING)
		counts.inside++;
	else if (said == KERNEL)
		counts.refused++;
	else if (define(PEER, "places/place", address + offset) >= 0) {
		undefine(PEER, "places/place");
		counts.ours++;
	} else if (is_notrace(address)) {
		counts.notrace++;
	} else {
		explain(offset, result);
	}
}

static void try_function(u64 address, u64 limit)
{
	u64 size = map(address), places = 0;

	for (u64 at = 0; at < size; at++)
		places += verdicts[at] == PROBEABLE;
	for (u64 at = 0; at < size; at++) {
		if (limit && verdicts[at] == PROBEABLE && random(places) >= limit) {
			counts.skipped++;
			continue;
		}
		try(address, at);
	}
}

/* arm: enable probes of the kernel's own at two places that it takes. */
static void arm(u64 address, u64 index)
{
	u64 size = map(address);
	char event[32];

	for (int tries = 0, done = 0; size && tries < 20 && done < 2; tries++) {
		u64 at = random(size);

		if (verdicts[at] != PROBEABLE)
			continue;
		hex(copy(event, "armed/at_"), index * 2 + done);
		if (define(PEER, event, address + at) < 0)
			continue;
		done++;
		counts.probed++;
	}
}

/* trace: let the function tracer trace a function that it can. */
static void trace(u64 address)
{
	char name[512];
	u64 i = 0;

	if (!map(address))
		return;
	/* The map's first line is "# NAME at ADDRESS". */
	for (; text[i + 2] != ' ' && i < sizeof(name) - 1; i++)
		name[i] = text[i + 2];
	name[i] = 0;
	counts.traced += put(PEER "set_ftrace_filter", name, O_APPEND) >= 0;
}

/* check_map: the map as it is now against that from before probes were armed. */
static void check_map(u64 address, u64 *sum, int compare)
{
	u64 size = map(address), now = 0;

	for (u64 at = 0; at < size; at++)
		now = now * 31 + verdicts[at];
	if (compare && now != *sum && !contains(text, "a probe of someone else")) {
		log[0] = 0;
		complain("the map has changed", 0, 0);
		print(text);
	}
	*sum = now;
}

/*
 * end: define probes on the last places of a function that are taken, from the
 * third before the end that the map shows to the next function; and trace that one.
 */
static void end(u64 address)
{
	u64 size = map(address), from = size, places = 0;
	char event[32];

	while (from && places < LAST)
		places += verdicts[--from] == PROBEABLE;
	if (!size || !places)
		return;
	counts.ends++;
	for (u64 at = from; at < size; at++) {
		hex(copy(event, "ends/at_"), address + at);
		if (define("", event, address + at) >= 0)
			counts.last++;
	}
	u64 traced = counts.traced;

	trace(address + size);
	counts.next += counts.traced - traced;
}

/* The function before another one, which may have several names. */
static u64 before(u64 index)
{
	u64 at = index;

	while (at && symbols[at] == symbols[index])
		at--;
	return symbols[at];
}

static void try_ends(u64 *functions, u64 number)
{
	for (u64 i = 0; i < call_count; i++)
		end(before(calls[i]));
	for (u64 i = 0; i < number; i++)
		end(functions[i]);
	if (counts.next && put(PEER "current_tracer", "function", 0) < 0)
		die("tracing", 0);
	if (put("events/ends/enable", "1", 0) < 0)
		die("arming the ends", 0);
	for (u64 i = 0; i < 100; i++)
		for (u64 call = 0; call < sizeof(harmless) / sizeof(*harmless); call++)
			sys(harmless[call], 0, 0, 0, 0, 0);
	put("events/ends/enable", "0", 0);
	put("kprobe_events", "", O_TRUNC);
	put(PEER "current_tracer", "nop", 0);
	put(PEER "set_ftrace_filter", "", O_TRUNC);
	print("functions whose last places were tried ");
	print_number(counts.ends);
	print(" armed there ");
	print_number(counts.last);
	print(" next functions traced ");
	print_number(counts.next);
	print("\n");
	exit(!counts.last);
}

static void count(const char *what, u64 value)
{
	print(what);
	print_number(value);
}

static u64 drawn[MAX_FUNCTIONS];
static u64 sums[MAX_FUNCTIONS];

__attribute__((used, noreturn)) void begin(u64 *stack)
{
	char **args = (char **)(stack + 2);
	u64 functions, limit;
	int armed = 0, traced = 0, ends = 0;

	if (stack[0] < 4)
		die("usage: fpplaces SEED COUNT LIMIT [armed|traced|enabled|ends]...", 2);
	for (u64 i = 3; i < stack[0] - 1; i++) {
		armed |= same(args[i], "armed");
		traced |= same(args[i], "traced");
		enables |= same(args[i], "enabled");
		ends |= same(args[i], "ends");
	}
	state = number(args[0]) * 0x9e3779b97f4a7c15UL + 1;
	functions = number(args[1]);
	limit = number(args[2]);
	if (functions > MAX_FUNCTIONS)
		functions = MAX_FUNCTIONS;
	read_symbols();
	for (u64 i = 0; i < functions; i++)
		drawn[i] = symbols[random(symbol_count)];
	if (ends)
		try_ends(drawn, functions);
	for (u64 i = 0; i < functions; i++) {
		check_map(drawn[i], &sums[i], 0);
		if (traced)
			trace(drawn[i]);
		if (armed)
			arm(drawn[i], i);
	}
	if (counts.traced && put(PEER "current_tracer", "function", 0) < 0)
		die("tracing", 0);
	if (counts.probed && put(PEER "events/armed/enable", "1", 0) < 0)
		die("arming", 0);
	for (u64 i = 0; i < functions; i++)
		check_map(drawn[i], &sums[i], 1);
	for (u64 i = 0; i < functions; i++)
		try_function(drawn[i], limit);
	if (counts.probed) {
		put(PEER "events/armed/enable", "0", 0);
		put(PEER "kprobe_events", "", O_TRUNC);
	}
	if (counts.traced) {
		put(PEER "current_tracer", "nop", 0);
		put(PEER "set_ftrace_filter", "", O_TRUNC);
	}
	count("functions ", functions);
	count(" offsets ", counts.offsets);
	count(" accepted ", counts.accepted);
	count(" inside ", counts.inside);
	count(" refused ", counts.refused);
	count(" ours ", counts.ours);
	count(" ours, not traceable ", counts.notrace);
	count(" left out ", counts.skipped);
	count(" armed by us ", counts.enabled);
	count(" by the kernel's events ", counts.probed);
	count(" hidden by them ", counts.hidden);
	count(" functions traced ", counts.traced);
	count("\nonly the kernel refuses: jump label ", counts.label);
	count(" static call ", counts.call);
	count(" bug ", counts.bug);
	count(" exception ", counts.exception);
	count(" blacklist ", counts.blacklist);
	count("\nunexplained ", counts.unexplained);
	print("\n");
	exit(counts.unexplained != 0);
}
