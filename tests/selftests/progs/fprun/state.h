/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What can be read: the events that are defined, the instances, and what each file says.
 * The files are those that the directory shows; what is left out is named here.
 */

enum { MAX_EVENTS = 96, MAX_INSTANCES = 8, MAX_FILES = 1536 };

static char events[MAX_EVENTS][PATH / 2]; /* GROUP/EVENT */
static char instances[MAX_INSTANCES][PATH / 2]; /* with a slash; "" is the top directory */
static u64 count_events, count_instances;
static char text[MAX_TEXT];

static void add_instance(const char *above, const char *name, int is_directory)
{
	(void)above;
	if (!is_directory || count_instances == MAX_INSTANCES)
		return;
	join(instances[count_instances], "instances", name);
	copy(instances[count_instances] + length(instances[count_instances]), "/", 2);
	count_instances++;
}

static void add_event(const char *names, u64 size)
{
	if (count_events == MAX_EVENTS || size >= PATH / 2)
		return;
	memcpy(events[count_events], names, size);
	events[count_events][size] = 0;
	for (u64 n = 0; n < count_events; n++)
		if (same(events[n], events[count_events]))
			return;
	count_events++;
}

/* Learns the instances, and the events that somebody has defined. */
static void learn(void)
{
	instances[0][0] = 0;
	count_instances = 1;
	each_name("instances", add_instance);
	count_events = 0;
	read_file("dynamic_events", text, sizeof(text));
	for (const char *at = text; *at; at = next_line(at)) {
		const char *names = at;

		while (*names && *names != ':' && *names != '\n')
			names++;
		if (*names == ':')
			add_event(names + 1, word_length(names + 1));
	}
}

/* What hits and reads change, and what takes long to read. */
static const char *const volatile_files[] = {
	"trace", "trace_pipe", "trace_json", "trace_pipe_raw", "snapshot_raw", "error_log", "kprobe_stats",
	"kprobe_profile", "uprobe_profile", "syscall_stats", "stats", "pairs", "saved_cmdlines", "saved_tgids",
	"available_filter_functions", "available_tracepoints", "hist", "hist_graph", "README",
	"functions", "clock_source", "trace_marker", "trace_marker_raw", "private_events",
};

static int is_volatile(const char *name)
{
	for (u64 n = 0; n < sizeof(volatile_files) / sizeof(*volatile_files); n++)
		if (same(name, volatile_files[n]))
			return 1;
	return 0;
}

struct print {
	u64 hash;
	char path[PATH];
};

static struct print *filling;
static u64 filled;
static int every_file;

/* Adds a file; of what is volatile only if every file is wanted. */
static void add_file(const char *above, const char *name, int is_directory)
{
	struct print *print = &filling[filled];
	s64 size;

	if (is_directory || filled == MAX_FILES || (!every_file && is_volatile(name)))
		return;
	join(print->path, above, name);
	filled++;
	if (every_file)
		return;
	size = read_file(print->path, text, sizeof(text));
	/* Its events are not the state. */
	if (same(name, "snapshot") && size > 200)
		size = 200;
	print->hash = hash(0xcbf29ce484222325, text, size < 0 ? 0 : size) + (size < 0 ? size : 0);
}

static void add_cpu(const char *above, const char *name, int is_directory)
{
	char path[PATH];

	join(path, above, name);
	if (is_directory)
		each_name(path, add_file);
}

/* Fills prints with all files outside of ready-made events. */
static u64 fill(struct print *prints, int every)
{
	static const char *const folders[] = { "", "options", "events", "events/ftrace/print" };
	char path[PATH];

	learn();
	filling = prints;
	filled = 0;
	every_file = every;
	for (u64 i = 0; i < count_instances; i++) {
		const char *instance = instances[i];

		for (u64 f = 0; f < sizeof(folders) / sizeof(*folders); f++) {
			copy(path, instance, PATH);
			copy(path + length(path), folders[f], PATH - length(path));
			/* Not "./": the path is also shown. */
			if (!folders[f][0] && path[0])
				path[length(path) - 1] = 0;
			each_name(path, add_file);
		}
		copy(path, instance, PATH);
		copy(path + length(path), "per_cpu", PATH - length(path));
		each_name(path, add_cpu);
		for (u64 e = 0; e < count_events; e++) {
			copy(path, instance, PATH);
			copy(path + length(path), "events/", PATH - length(path));
			copy(path + length(path), events[e], PATH - length(path));
			each_name(path, add_file);
		}
	}
	return filled;
}

/* Whether something is set that changes the state on a hit, by itself. */
static int acts_by_itself(void)
{
	char path[PATH];

	for (u64 i = 0; i < count_instances; i++)
		for (u64 e = 0; e < count_events; e++) {
			copy(path, instances[i], PATH);
			copy(path + length(path), "events/", PATH - length(path));
			copy(path + length(path), events[e], PATH - length(path));
			copy(path + length(path), "/trigger", PATH - length(path));
			read_file(path, text, sizeof(text));
			for (const char *at = text; *at; at = next_line(at))
				if (*at != '#' && (!same_start(at, "hist:") || has(at, "snapshot")))
					return 1;
		}
	return 0;
}

/* What such an action changes. */
static int may_change(const char *path)
{
	return has(path, "enable") || has(path, "trigger") || has(path, "tracing_on") ||
	       has(path, "set_event") || has(path, "snapshot") || has(path, "available_events");
}

static struct print before[MAX_FILES], after[MAX_FILES];
static u64 count_before;

static void remember_all(void)
{
	count_before = fill(before, 0);
}

/* Says what differs from what was remembered. */
static void say_differences(const char *what)
{
	u64 count = fill(after, 0), other = 0;
	int acts = acts_by_itself();

	if (count != count_before) {
		put(what);
		put(": the number of files is another one: ");
		put_number(count - count_before);
		end_line();
	}
	for (u64 n = 0; n < count; n++) {
		while (other < count_before && !same(after[n].path, before[other].path))
			other++;
		if (other == count_before) {
			other = 0;
			while (other < count_before && !same(after[n].path, before[other].path))
				other++;
		}
		if (other == count_before || after[n].hash == before[other].hash ||
		    (acts && may_change(after[n].path)))
			continue;
		read_file(after[n].path, text, 200);
		/* As in ftrace, this file shows why a filter was refused. */
		if (has(after[n].path, "filter") && has(text, "parse_error"))
			continue;
		put(what);
		put(": it changed ");
		put(after[n].path);
		put(", which now begins with ");
		for (char *at = text; *at; at++)
			if (*at == '\n')
				*at = '|';
		put(text);
		end_line();
	}
}

/* The file that a number selects: one whose name and number mix best, so that the choice stays
 * when others come and go. */
static const char *chosen(u64 number)
{
	u64 count = fill(after, 1), best = 0, least = ~0UL;

	for (u64 n = 0; n < count; n++) {
		u64 mixed = hash(number * 0x9e3779b97f4a7c15, after[n].path, length(after[n].path));

		mixed ^= mixed >> 29;
		mixed *= 0xbf58476d1ce4e5b9;
		if (mixed < least) {
			least = mixed;
			best = n;
		}
	}
	return count ? after[best].path : "README";
}
