/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A window: from "begin" to "end" all is noted from which the model judges what happened between
 * the two: what the files of the state say, what kprobe_stats counts, how many calls were made,
 * and which records there are.
 */

enum { MAX_NAMES = 96 };

struct seen {
	char name[64];
	u64 count, first, last;
};

static struct seen names[MAX_NAMES];
static u64 count_names, lost, disordered, undecoded, unread;

static const char *const settings[] = {
	"tracing_on", "tracing_cpumask", "set_event_pid", "set_event_notrace_pid", "buffer_size_kb",
	"trace_clock",
};

/* Says the first lines of a file, in one, unless they say nothing: as most files of events do. */
static void say_file(const char *letter, const char *instance, const char *what, const char *path)
{
	static char some[1500];

	read_file(path, some, sizeof(some));
	if (!some[0] || some[0] == '#' || same(some, "none\n") || (same(some, "0\n") && has(what, "/")))
		return;
	put(letter);
	put(" ");
	put(*instance ? instance : "./");
	put(" ");
	put(what);
	put(" ");
	for (char *at = some; *at; at++)
		if (*at == '\n')
			*at = '|';
	put(some);
	end_line();
}

/* What the only histogram of an event has counted: "H INSTANCE EVENT HITS DROPPED". */
static void say_histogram(const char *instance, const char *event, const char *path)
{
	static char file[1 << 17];
	u64 value, totals = 0, hits = 0, dropped = 0;

	read_file(path, file, sizeof(file));
	for (const char *at = file; *at; at = next_line(at)) {
		const char *word = at;

		while (*word == ' ')
			word++;
		totals += same_start(at, "Totals:");
		if (!totals)
			continue;
		if (same_start(word, "Hits: ")) {
			leading(word + 6, &value);
			hits += value;
		} else if (same_start(word, "Dropped: ")) {
			leading(word + 9, &value);
			dropped += value;
		}
	}
	if (totals != 1)
		return;
	put("H ");
	put(*instance ? instance : "./");
	put(" ");
	put(event);
	put(" ");
	put_number(hits);
	put(" ");
	put_number(dropped);
	end_line();
}

static void say_settings(void)
{
	char path[PATH];

	learn();
	for (u64 i = 0; i < count_instances; i++) {
		for (u64 s = 0; s < sizeof(settings) / sizeof(*settings); s++) {
			copy(path, instances[i], PATH);
			copy(path + length(path), settings[s], PATH - length(path));
			say_file("S", instances[i], settings[s], path);
		}
		copy(path, instances[i], PATH);
		copy(path + length(path), "trace_options", PATH - length(path));
		say_file("S", instances[i], "trace_options", path);
		for (u64 e = 0; e < count_events; e++) {
			static const char *const files[] = { "enable", "filter", "trigger" };

			for (u64 f = 0; f < 3; f++) {
				char what[PATH];

				join(what, events[e], files[f]);
				copy(path, instances[i], PATH);
				copy(path + length(path), "events/", PATH - length(path));
				copy(path + length(path), what, PATH - length(path));
				say_file("S", instances[i], what, path);
			}
			copy(path, instances[i], PATH);
			copy(path + length(path), "events/", PATH - length(path));
			copy(path + length(path), events[e], PATH - length(path));
			copy(path + length(path), "/hist", PATH - length(path));
			say_histogram(instances[i], events[e], path);
		}
	}
	read_file("dynamic_events", text, sizeof(text));
	for (char *at = text, *next; *at; at = next) {
		next = (char *)next_line(at);
		if (next[-1] == '\n')
			next[-1] = 0;
		put("D ");
		put(at);
		end_line();
	}
	/* Their events take no probe. */
	read_file("kprobe_stats", text, sizeof(text));
	for (char *at = text, *next; *at; at = next) {
		next = (char *)next_line(at);
		if (next[-1] == '\n')
			next[-1] = 0;
		put("K ");
		put(at);
		end_line();
	}
}

static void say_clocks(const char *when)
{
	u64 made = 0, sampled = 0;

	for (u64 cpu = 0; cpu < MAX_CPUS; cpu++) {
		made += shared->calls[cpu];
		sampled += shared->samples[cpu];
	}
	put(when);
	put(" ");
	put_number(made);
	put(" ");
	put_number(sampled);
	put(" ");
	put_number(nanoseconds(CLOCK_MONOTONIC) / 1000);
	put(" ");
	put_number(nanoseconds(7) / 1000); /* CLOCK_BOOTTIME */
	put(" ");
	put_number(nanoseconds(CLOCK_MONOTONIC) / 1000 / 10000);
	end_line();
}

static void say_sample(const char *why, const char *line)
{
	put("# ");
	put(why);
	put(": ");
	put(line);
	end_line();
}

/* " cN=V" in a record: the definition's own number, which is its name as well. */
static int is_decoded(const char *line)
{
	for (; *line; line++) {
		u64 name, value;
		const char *at;

		if (line[0] != ' ' || line[1] != 'c' || line[2] < '0' || line[2] > '9')
			continue;
		at = leading(line + 2, &name);
		if (*at != '=')
			continue;
		leading(at + 1, &value);
		if (name != value)
			return 0;
	}
	return 1;
}

/* A line of trace: "TASK-PID [CPU] FLAGS TIME: NAME: ...". */
static void note_record(const char *line, u64 *before)
{
	u64 time, micros, n = 0, size;
	const char *at = line, *name;

	if (line[0] == '#' || !line[0])
		return;
	if (same_start(line, "CPU:")) {
		while (*at && !same_start(at, "[LOST "))
			at++;
		if (*at) {
			leading(at + 6, &time);
			lost += time;
		}
		return;
	}
	while (*at && !(at[0] == '[' && at[1] >= '0' && at[1] <= '9' && at[4] == ']'))
		at++;
	if (!*at) {
		unread++;
		return;
	}
	at += 5;
	while (*at == ' ')
		at++;
	at += word_length(at);
	at = leading(at, &time);
	if (*at == '.') {
		at = leading(at + 1, &micros);
		time = time * 1000000 + micros;
	}
	if (at[0] != ':' || at[1] != ' ') {
		unread++;
		return;
	}
	if (time < *before && !disordered++)
		say_sample("out of order", line);
	*before = time;
	name = at + 2;
	size = 0;
	while (name[size] && name[size] != ':' && name[size] != ' ')
		size++;
	if (name[size] != ':' || size >= sizeof(names[0].name)) {
		unread++;
		return;
	}
	/* Other events record texts, in which anything may stand. */
	if (((name[0] == 'e' && name[1] >= '0' && name[1] <= '9') || same_start(name, "own:")) &&
	    !is_decoded(name) && !undecoded++)
		say_sample("not decoded", line);
	while (n < count_names &&
	       !(length(names[n].name) == size && same_start(name, names[n].name)))
		n++;
	if (n == MAX_NAMES)
		return;
	if (n == count_names) {
		memcpy(names[n].name, name, size);
		names[n].name[size] = 0;
		names[n].count = 0;
		names[n].first = time;
		count_names++;
	}
	names[n].count++;
	names[n].last = time > names[n].last || names[n].count == 1 ? time : names[n].last;
}

static void say_records(const char *instance, const char *file)
{
	static char chunk[1 << 16];
	char path[PATH];
	u64 kept = 0, time = 0;
	s64 trace, got;

	copy(path, instance, PATH);
	copy(path + length(path), file, PATH - length(path));
	count_names = lost = disordered = undecoded = unread = 0;
	trace = sys(NR_openat, AT_FDCWD, (s64)path, O_NONBLOCK, 0, 0);
	while (trace >= 0 && (got = sys(NR_read, trace, (s64)(chunk + kept), sizeof(chunk) - 1 - kept,
					0, 0)) > 0) {
		char *at = chunk, *end = chunk + kept + got;

		for (char *n = at; n < end; n++)
			if (*n == '\n') {
				*n = 0;
				note_record(at, &time);
				at = n + 1;
			}
		kept = end - at;
		/* No line is that long. */
		if (kept == sizeof(chunk) - 1)
			kept = 0;
		for (u64 n = 0; n < kept; n++)
			chunk[n] = at[n];
	}
	sys(NR_close, trace, 0, 0, 0, 0);
	put("T ");
	put(*instance ? instance : "./");
	put(" ");
	put(file);
	put(" ");
	put_number(lost);
	put(" ");
	put_number(disordered);
	put(" ");
	put_number(undecoded);
	put(" ");
	put_number(unread);
	end_line();
	for (u64 n = 0; n < count_names; n++) {
		put("R ");
		put(*instance ? instance : "./");
		put(" ");
		put(file);
		put(" ");
		put(names[n].name);
		put(" ");
		put_number(names[n].count);
		put(" ");
		put_number(names[n].first);
		put(" ");
		put_number(names[n].last);
		end_line();
	}
}

/* The counters of the rings: what was written over, and what found no room. */
static void say_losses(const char *instance)
{
	char path[PATH], number[] = "cpu0";
	u64 value, overrun = 0, dropped = 0;

	for (u64 cpu = 0; cpu < cpus; cpu++) {
		number[3] = '0' + cpu;
		copy(path, instance, PATH);
		copy(path + length(path), "per_cpu/", PATH - length(path));
		copy(path + length(path), number, PATH - length(path));
		copy(path + length(path), "/stats", PATH - length(path));
		read_file(path, text, sizeof(text));
		for (const char *at = text; *at; at = next_line(at)) {
			if (same_start(at, "overrun: ")) {
				leading(at + 9, &value);
				overrun += value;
			} else if (same_start(at, "dropped events: ")) {
				leading(at + 16, &value);
				dropped += value;
			}
		}
	}
	put("L ");
	put(*instance ? instance : "./");
	put(" ");
	put_number(overrun);
	put(" ");
	put_number(dropped);
	end_line();
}

static void begin_window(void)
{
	char path[PATH];

	say_settings();
	/* A hit that had begun before something was switched off has ended: this waits for a grace
	 * period of RCU. */
	sys(NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0, 0, 0);
	for (u64 i = 0; i < count_instances; i++) {
		copy(path, instances[i], PATH);
		copy(path + length(path), "trace", PATH - length(path));
		write_file(path, O_TRUNC, "", 0);
	}
	say_clocks("B");
}

static void end_window(void)
{
	say_clocks("E");
	learn();
	for (u64 i = 0; i < count_instances; i++) {
		say_losses(instances[i]);
		say_records(instances[i], "trace");
		say_records(instances[i], "snapshot");
	}
	say_settings();
	say("Z", 0);
}
