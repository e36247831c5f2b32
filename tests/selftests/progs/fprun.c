// SPDX-License-Identifier: GPL-2.0
/*
 * fprun OPERATIONS: performs the operations of a file, one a line, on the tracing directory, and
 * says what came of each.  tests/fuzz-guest draws them, and judges what is said.
 *
 *	put FILE TEXT		one write(2), as by >>
 *	new FILE TEXT		the same, as by >
 *	many COUNT FILE TEXT	one write of that text, so many times over; behind ^z, what comes once.
 *				FILE may be a number, of one of all files of the directory
 *	wait FILE		reads for ever, waiting for more
 *	get FILE BYTES		reads so many
 *	hold FILE BYTES		the same, and the file stays open; so does that of
 *	keep FILE TEXT		after a write
 *	more, drop		what is held is read on, or closed
 *	map CPU			maps a ring, and takes a sub-buffer
 *	any NUMBER TEXT		writes to one of all files of the directory
 *	back NUMBER WORD	writes back a word of what one of them shows
 *	look NUMBER BYTES	reads one of them
 *	pad FILE NUMBER		a number with zeros before it means the same
 *	unused NUMBER		looks at a ready-made event, and writes what is wrong to it: that
 *				does not use it
 *	mkdir NAME, rmdir NAME	of instances
 *	calls COUNT		counted calls on each CPU
 *	hammer COUNT		the same, beside what follows, up to the end of the window
 *	nap MS, pause MS	a call that takes so long
 *	fault			a call that waits for its memory for ever
 *	cpu NUMBER 0|1		offline, online
 *	sample 0|1		unloads, loads a module that is probed
 *	reload FILE PARAMETERS	unloads and loads the module, while another task opens the file
 *	sync MS, kill		waits for the tasks beside, or kills them
 *	begin, end		a window, see fprun/window.h
 *	wipe			removes everything
 *
 * "@ " before an operation: a task of its own performs it.  "? ": if it is refused, nothing may
 * have changed.  In a TEXT ^n is the end of a line, and ^^ a ^.
 *
 * Lines that are printed: "> N" before line N, "= N RESULT TIME" after it; "! ..." is a fault that is
 * seen here; the others are in fprun/window.h.
 */

#include "sys.h"
#include "fprun/base.h"
#include "fprun/state.h"
#include "fprun/tasks.h"
#include "fprun/window.h"
#include "fprun/wipe.h"

static char operations[MAX_TEXT], unescaped[MAX_TEXT];

/* The next argument of a line, which is cut there. */
static char *argument(char **line)
{
	char *begin = *line, *at = begin;

	while (*at && *at != ' ')
		at++;
	if (*at)
		*at++ = 0;
	*line = at;
	return begin;
}

static u64 number_argument(char **line)
{
	u64 value;

	leading(argument(line), &value);
	return value;
}

static char *unescape(const char *from, u64 *size)
{
	u64 n = 0;

	for (; *from; from++)
		if (from[0] == '^' && from[1]) {
			from++;
			unescaped[n++] = *from == 'n' ? '\n' : *from;
		} else {
			unescaped[n++] = *from;
		}
	unescaped[n] = 0;
	*size = n;
	return unescaped;
}

/* The file that a number selects, which is said. */
static char *chosen_by(const char *number)
{
	static char which[PATH];
	u64 value;

	leading(number, &value);
	copy(which, chosen(value), sizeof(which));
	put("# chosen ");
	put(which);
	end_line();
	return which;
}

static s64 many(u64 count, const char *path, char *from)
{
	const char *last = "";
	char *repeated;
	u64 size, room;

	for (char *at = from; *at; at++)
		if (at[0] == '^' && at[1] == 'z') {
			*at = 0;
			last = at + 2;
			break;
		}
	repeated = unescape(from, &size);
	room = sizeof(unescaped) - 1 - length(last);
	if (!size || size * count >= room)
		count = size ? room / size : 0;
	for (u64 n = 1; n < count; n++)
		memcpy(repeated + n * size, repeated, size);
	memcpy(repeated + size * count, last, length(last));
	return write_file(path, O_APPEND, repeated, size * count + length(last));
}

static s64 hold(s64 file)
{
	if (file < 0)
		return file;
	if (count_held == MAX_HELD)
		sys(NR_close, held[--count_held], 0, 0, 0, 0);
	held[count_held++] = file;
	return 0;
}

static s64 take(s64 file, u64 size)
{
	return sys(NR_read, file, (s64)text, size < sizeof(text) ? size : sizeof(text), 0, 0);
}

/* The word of what a file shows is written to it, in brackets or not. */
static s64 back(const char *path, u64 which)
{
	char word[PATH];
	u64 count = 0, skip, size;
	s64 got = read_file(path, text, 1 << 14);

	if (got <= 0)
		return got;
	for (const char *at = text; *at; at += *at ? 1 : 0) {
		count += *at != ' ' && *at != '\n';
		at += word_length(at);
		if (!*at)
			break;
	}
	skip = count ? which % count : 0;
	for (const char *at = text; *at; at++) {
		size = word_length(at);
		if (size && !skip--) {
			if (*at == '[' && size > 2) {
				at++;
				size -= 2;
			}
			if (size >= sizeof(word))
				return -22;
			memcpy(word, at, size);
			word[size] = 0;
			put("# back ");
			put(path);
			put(" ");
			put(word);
			end_line();
			return write_text(path, word);
		}
		at += size;
		if (!*at)
			break;
	}
	return 0;
}

static s64 pad(const char *path, const char *value)
{
	char padded[32] = "0", plain[64], other[64];
	s64 first, second;

	copy(padded + 1, value, sizeof(padded) - 1);
	first = write_text(path, padded);
	first_line(path, plain, sizeof(plain));
	second = write_text(path, value);
	first_line(path, other, sizeof(other));
	if ((first < 0) != (second < 0) || (second >= 0 && !same(plain, other))) {
		put("! padded ");
		put(path);
		put(" of ");
		put(padded);
		put(" says ");
		put(plain);
		put(", of ");
		put(value);
		put(" ");
		put(other);
		end_line();
	}
	return second;
}

/* Which events there are to enable, by their number and names. */
static u64 enabled_of_all(void)
{
	s64 size;

	write_text("events/enable", "1");
	size = read_file("set_event", text, sizeof(text));
	write_text("events/enable", "0");
	return size < 0 ? 0 : hash(size, text, size);
}

static s64 unused(u64 number)
{
	static char names[PATH], path[PATH], definition[2 * PATH];
	u64 before_it, count = 0, skip;

	read_file("available_events", text, sizeof(text));
	for (int turn = 0; turn < 2; turn++) {
		skip = count ? number % count : 0;
		for (const char *at = text; *at; at = next_line(at)) {
			if (same_start(at, "syscalls:") || same_start(at, "calls:") ||
			    same_start(at, "g:") || same_start(at, "synthetic:") ||
			    same_start(at, "q:") || same_start(at, "ftrace:") || same_start(at, "kprobes:"))
				continue;
			if (!turn)
				count++;
			else if (!skip--)
				copy(names, at, line_length(at) + 1);
		}
	}
	if (!count)
		return -ENOENT;
	for (char *at = names; *at; at++)
		if (*at == ':')
			*at = '/';
	join(path, "events", names);
	before_it = enabled_of_all();
	filling = after;
	filled = 0;
	every_file = 0;
	each_name(path, add_file);
	join(definition, path, "filter");
	write_text(definition, "nosuch == 1");
	join(definition, path, "trigger");
	write_text(definition, "hist:keys=nosuch");
	for (char *at = names; *at; at++)
		if (*at == '/')
			*at = '.';
	copy(definition, "e:g/zz ", sizeof(definition));
	copy(definition + length(definition), names, PATH);
	copy(definition + length(definition), " nosuch=$nosuch", 16);
	write_text("dynamic_events", definition);
	if (enabled_of_all() != before_it) {
		put("! used ");
		put(names);
		put(" was looked at, and is enabled with all events now");
		end_line();
	}
	return 0;
}

static s64 map(u64 cpu)
{
	char path[] = "per_cpu/cpu0/trace_pipe_raw";
	s64 file, at;

	path[11] = '0' + cpu;
	file = sys(NR_openat, AT_FDCWD, (s64)path, O_NONBLOCK, 0, 0);
	if (file < 0)
		return file;
	at = mmap(file, 0, 4096, PROT_READ, MAP_SHARED);
	sys(NR_ioctl, file, TRACE_MMAP_IOCTL_GET_READER, 0, 0, 0);
	if (at > 0 || at < -4095)
		sys(NR_munmap, at, 4096, 0, 0, 0);
	return hold(file);
}

/* A user without privileges calls openat() with a page that nobody provides: see fphold.c. */
static s64 fault(void)
{
	u64 api[3] = { 0xaa, 0, 0 }, range[4] = { 0, 65536, 1, 0 };
	s64 file;

	sys(NR_setgid, 1000, 0, 0, 0, 0);
	sys(NR_setuid, 1000, 0, 0, 0, 0);
	file = sys(NR_userfaultfd, 1, 0, 0, 0, 0);
	if (file < 0)
		return file;
	sys(NR_ioctl, file, 0xc018aa3f, (s64)api, 0, 0);
	range[0] = mmap(-1, 0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	sys(NR_ioctl, file, 0xc020aa00, (s64)range, 0, 0);
	return sys(NR_openat, AT_FDCWD, range[0] + 16, 0, 0, 0);
}

/* A task opens a file as soon as that is possible, and reads it when the load has ended. */
static s64 reload(const char *name, const char *parameters)
{
	char path[PATH];
	s64 opener, result;

	drop_held();
	kill_tasks();
	sys(NR_chdir, (s64)"/", 0, 0, 0, 0);
	result = unload("ferroprobe");
	if (result < 0)
		goto out;
	join(path, ROOT, name);
	shared->stop = 0;
	opener = fork();
	if (!opener) {
		s64 file = -1;
		char byte[64];

		while (file < 0 && !shared->stop)
			file = sys(NR_openat, AT_FDCWD, (s64)path, O_NONBLOCK, 0, 0);
		while (!shared->stop)
			rest(10);
		rest(200);
		if (file >= 0)
			sys(NR_read, file, (s64)byte, sizeof(byte), 0, 0);
		exit(0);
	}
	result = load(parameters);
	shared->stop = 1;
	sys(NR_wait4, opener, 0, 0, 0, 0);
	shared->stop = 0;
	if (result < 0 && load("") < 0)
		say("! load", -1);
out:
	sys(NR_chdir, (s64)ROOT, 0, 0, 0, 0);
	return result;
}

static s64 perform(char *line)
{
	char *verb = argument(&line), *path;
	u64 size, value;
	s64 file;

	if (same(verb, "put") || same(verb, "new") || same(verb, "keep")) {
		path = argument(&line);
		unescape(line, &size);
		if (!same(verb, "keep"))
			return write_file(path, same(verb, "new") ? O_TRUNC : O_APPEND, unescaped, size);
		file = sys(NR_openat, AT_FDCWD, (s64)path, O_WRONLY | O_NONBLOCK, 0, 0);
		if (file < 0)
			return file;
		value = sys(NR_write, file, (s64)unescaped, size, 0, 0);
		drop_kept();
		kept = file;
		return value;
	}
	if (same(verb, "many")) {
		value = number_argument(&line);
		path = argument(&line);
		if (*path >= '0' && *path <= '9')
			path = chosen_by(path);
		return many(value, path, line);
	}
	if (same(verb, "get") || same(verb, "hold")) {
		path = argument(&line);
		file = sys(NR_openat, AT_FDCWD, (s64)path, O_NONBLOCK, 0, 0);
		if (file < 0)
			return file;
		value = take(file, number_argument(&line));
		if (same(verb, "hold"))
			hold(file);
		else
			sys(NR_close, file, 0, 0, 0, 0);
		return value;
	}
	if (same(verb, "wait")) {
		file = sys(NR_openat, AT_FDCWD, (s64)argument(&line), 0, 0, 0);
		if (file < 0)
			return file;
		while (take(file, 4096) > 0)
			shared->reads++;
		return 0;
	}
	if (same(verb, "more")) {
		/* Not for ever: a read may be a hit that it reads next. */
		for (u64 n = 0; n < count_held; n++)
			for (u64 reads = 0; reads < 1000; reads++)
				if (take(held[n], sizeof(text)) <= 0)
					break;
		return count_held;
	}
	if (same(verb, "drop")) {
		drop_held();
		return 0;
	}
	if (same(verb, "map"))
		return map(number_argument(&line));
	if (same(verb, "any") || same(verb, "back") || same(verb, "look")) {
		const char *which = chosen_by(argument(&line));

		if (same(verb, "back"))
			return back(which, number_argument(&line));
		if (same(verb, "any")) {
			unescape(line, &size);
			return write_file(which, O_APPEND, unescaped, size);
		}
		file = sys(NR_openat, AT_FDCWD, (s64)which, O_NONBLOCK, 0, 0);
		if (file < 0)
			return file;
		value = take(file, number_argument(&line));
		sys(NR_close, file, 0, 0, 0, 0);
		return value;
	}
	if (same(verb, "pad")) {
		path = argument(&line);
		return pad(path, line);
	}
	if (same(verb, "unused"))
		return unused(number_argument(&line));
	if (same(verb, "mkdir") || same(verb, "rmdir")) {
		char name[PATH];

		join(name, "instances", argument(&line));
		return same(verb, "mkdir") ? sys(NR_mkdirat, AT_FDCWD, (s64)name, 0755, 0, 0) :
					     sys(NR_unlinkat, AT_FDCWD, (s64)name, AT_REMOVEDIR, 0, 0);
	}
	if (same(verb, "calls")) {
		if (count_hammers)
			return -16;
		begin_calls(number_argument(&line));
		end_calls(0);
		return 0;
	}
	if (same(verb, "hammer")) {
		if (count_hammers)
			return -16;
		value = number_argument(&line);
		begin_calls(value < MOST_HAMMERED ? value : MOST_HAMMERED);
		return 0;
	}
	if (same(verb, "nap") || same(verb, "pause")) {
		rest(number_argument(&line));
		return 0;
	}
	if (same(verb, "fault"))
		return fault();
	if (same(verb, "cpu")) {
		char online[] = "/sys/devices/system/cpu/cpu0/online";

		online[27] = '0' + number_argument(&line);
		return write_text(online, line);
	}
	if (same(verb, "sample"))
		return line[0] == '1' ? load_sample() : unload("fpsample");
	if (same(verb, "reload")) {
		path = argument(&line);
		return reload(path, line);
	}
	if (same(verb, "sync"))
		return wait_for_tasks(number_argument(&line));
	if (same(verb, "kill")) {
		kill_tasks();
		return 0;
	}
	if (same(verb, "begin")) {
		end_calls(1);
		begin_window();
		return 0;
	}
	if (same(verb, "end")) {
		end_calls(1);
		/* Calls that last; what waits for ever does not. */
		wait_for_tasks(600);
		kill_tasks();
		end_window();
		return 0;
	}
	if (same(verb, "wipe")) {
		end_calls(1);
		kill_tasks();
		wipe();
		return 0;
	}
	return -22;
}

static void perform_line(u64 number, char *line)
{
	int asks = same_start(line, "? "), beside = same_start(line, "@ ");
	u64 begun = nanoseconds(CLOCK_MONOTONIC);
	s64 result;

	shared->line = number;
	say(">", number);
	if (beside) {
		s64 task = count_tasks < MAX_TASKS ? fork() : -1;

		if (task > 0) {
			task_lines[count_tasks] = number;
			tasks[count_tasks++] = task;
		}
		if (task)
			return;
		result = perform(line + 2);
		put("= ");
		put_number(number);
		say("", result);
		exit(0);
	}
	/* Others would change the state meanwhile. */
	asks &= !count_tasks && !count_hammers;
	if (asks) {
		remember_all();
		acts_by_itself();
	}
	result = perform(same_start(line, "? ") ? line + 2 : line);
	put("= ");
	put_number(number);
	put(" ");
	put_number(result);
	put(" ");
	put_number((nanoseconds(CLOCK_MONOTONIC) - begun) / 1000000);
	put(" ms");
	end_line();
	if (asks && result < 0)
		say_differences("! refused");
}

__attribute__((used)) static int run(int argc, char **args)
{
	char *line = operations, *next;
	u64 number = 0;
	s64 memory, left, watcher;

	if (argc != 2)
		die("usage: see the head of fprun.c", argc);
	read_file(args[1], operations, sizeof(operations));
	shared = (struct shared *)mmap(-1, 0, 4096, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS);
	for (cpus = 0; cpus < MAX_CPUS; cpus++) {
		char path[] = "/sys/devices/system/cpu/cpu0";
		s64 file;

		path[27] = '0' + cpus;
		file = sys(NR_openat, AT_FDCWD, (s64)path, O_PATH, 0, 0);
		if (file < 0)
			break;
		sys(NR_close, file, 0, 0, 0, 0);
	}
	unload("ferroprobe");
	memory = used_memory();
	if (load("") < 0 || sys(NR_chdir, (s64)ROOT, 0, 0, 0, 0) < 0)
		die("the module cannot be loaded again", 0);
	wipe();
	watcher = watch();
	for (; *line; line = next) {
		next = (char *)next_line(line);
		if (next[-1] == '\n')
			next[-1] = 0;
		number++;
		if (line[0] && line[0] != '#')
			perform_line(number, line);
	}
	say("> end", number);
	for (u64 cpu = 1; cpu < cpus; cpu++) {
		char path[] = "/sys/devices/system/cpu/cpu0/online";

		path[27] = '0' + cpu;
		write_text(path, "1");
	}
	end_calls(1);
	kill_tasks();
	wipe();
	drop_held();
	wipe();
	sys(NR_kill, watcher, SIGKILL, 0, 0, 0);
	sys(NR_wait4, watcher, 0, 0, 0, 0);
	sys(NR_chdir, (s64)"/", 0, 0, 0, 0);
	unload("fpsample");
	left = unload("ferroprobe");
	if (left < 0)
		say("! unload", left);
	/* What was freed may wait for RCU, or be on a CPU's list of free pages, which the kernel
	 * empties every few seconds. */
	for (int n = 0; n < 20; n++) {
		left = used_memory() - memory;
		if (left <= most_left())
			break;
		rest(500);
	}
	say("M", left);
	if (left > most_left())
		say("! memory", left);
	say("done", number);
	return 0;
}

/* The stack as the kernel leaves it: the count, then the arguments. */
__attribute__((used)) void begin(u64 *stack)
{
	exit(run(stack[0], (char **)(stack + 1)));
}
