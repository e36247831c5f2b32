/* SPDX-License-Identifier: GPL-2.0 */
/* Everything that was made is removed, by what the files themselves show of it: what cannot be
 * removed in this way is a fault.  Then the module is unloaded, and memory is as it was. */

enum { MAX_HELD = 16, MOST_LEFT_KB = 8192 };

static s64 held[MAX_HELD], kept = -1;
static u64 count_held;

/* What is defined by a file that is kept is not for others to remove. */
static void drop_kept(void)
{
	if (kept >= 0)
		sys(NR_close, kept, 0, 0, 0, 0);
	kept = -1;
}

static void drop_held(void)
{
	drop_kept();
	while (count_held)
		sys(NR_close, held[--count_held], 0, 0, 0, 0);
}

static char listed[1 << 15];

/* Writes each line of a file, behind a prefix, to another one; returns how many were refused. */
static u64 write_lines(const char *from, const char *to, const char *prefix, int names_only,
		       const char *complain)
{
	static char one[1 << 13];
	u64 refused = 0;

	read_file(from, listed, sizeof(listed));
	for (const char *at = listed; *at; at = next_line(at)) {
		u64 size = line_length(at), skip = 0;
		s64 result;

		if (*at == '#' || !size)
			continue;
		if (names_only) {
			while (at[skip] && at[skip] != ':' && at[skip] != '\n')
				skip++;
			if (at[skip] != ':')
				continue;
			skip++;
			size = word_length(at + skip);
		}
		/* Behind a histogram stands whether it counts. */
		if (size > 9 && (same_start(at + size - 9, " [active]") ||
				 same_start(at + size - 9, " [paused]")))
			size -= 9;
		if (size + length(prefix) >= sizeof(one))
			continue;
		copy(one, prefix, sizeof(one));
		memcpy(one + length(prefix), at + skip, size);
		one[length(prefix) + size] = 0;
		result = write_text(to, one);
		if (result >= 0)
			continue;
		refused++;
		if (!complain)
			continue;
		put("! left ");
		put(complain);
		put(" ");
		put(one);
		put(" of ");
		put(to);
		put(": ");
		put_number(result);
		end_line();
	}
	return refused;
}

static void of_each_event(const char *file, void (*each)(const char *))
{
	char path[PATH];

	for (u64 i = 0; i < count_instances; i++)
		for (u64 e = 0; e < count_events; e++) {
			copy(path, instances[i], PATH);
			copy(path + length(path), "events/", PATH - length(path));
			copy(path + length(path), events[e], PATH - length(path));
			copy(path + length(path), file, PATH - length(path));
			each(path);
		}
}

static int complaining;

static void remove_triggers(const char *path)
{
	write_lines(path, path, "!", 0, complaining ? "trigger" : 0);
}

static void disable(const char *path)
{
	write_text(path, "0");
}

static void defaults(const char *instance)
{
	static const char *const values[] = {
		"tracing_on", "1", "tracing_cpumask", "f", "trace_clock", "local",
		"trace_options", "nouserstacktrace", "trace_options", "nostacktrace",
		"trace_options", "overwrite", "trace_options", "context-info", "trace_options", "norecord-tgid",
		"trace_options", "nolatency-format", "trace_options", "noraw", "trace_options", "nohex",
		"trace_options", "nobin", "trace_options", "nofields", "trace_options", "noverbose",
		"trace_options", "irq-info", "trace_options", "markers", "trace_options", "nopause-on-trace",
		"trace_options", "noevent-fork", "trace_options", "nounits", "buffer_subbuf_size_kb", "4",
		"buffer_size_kb", "512",
		"snapshot", "0", "events/enable", "0",
	};
	char path[PATH];

	for (u64 n = 0; n < sizeof(values) / sizeof(*values); n += 2) {
		copy(path, instance, PATH);
		copy(path + length(path), values[n], PATH - length(path));
		write_text(path, values[n + 1]);
	}
	/* Opening them empties these. */
	for (u64 n = 0; n < 4; n++) {
		static const char *const emptied[] = {
			"set_event", "set_event_pid", "set_event_notrace_pid", "trace",
		};

		copy(path, instance, PATH);
		copy(path + length(path), emptied[n], PATH - length(path));
		write_file(path, O_TRUNC, "", 0);
	}
}

static void wipe(void)
{
	static char path[PATH];
	u64 before_it, left = ~0UL;

	drop_kept();
	learn();
	/* Histograms that refer to others go first, so once more for those that others refer to. */
	for (int turn = 0; turn < 4; turn++) {
		complaining = turn == 3;
		of_each_event("/trigger", remove_triggers);
		for (u64 i = 0; i < count_instances; i++) {
			copy(path, instances[i], PATH);
			copy(path + length(path), "events/ftrace/print/trigger", PATH - length(path));
			remove_triggers(path);
		}
	}
	for (u64 i = 0; i < count_instances; i++)
		defaults(instances[i]);
	of_each_event("/enable", disable);
	/* What depends on others goes first: as long as there are fewer each time. */
	do {
		before_it = left;
		left = write_lines("dynamic_events", "dynamic_events", "-:", 1, 0);
	} while (left && left < before_it);
	if (left)
		write_lines("dynamic_events", "dynamic_events", "-:", 1, "definition");
	write_text("hit_limit", "0");
	write_text("/sys/module/ferroprobe/parameters/unwinder", "own");
	/* An instance whose files are open stays. */
	for (u64 i = 1; i < count_instances; i++)
		sys(NR_unlinkat, AT_FDCWD, (s64)instances[i], AT_REMOVEDIR, 0, 0);
	write_file("error_log", O_TRUNC, "", 0);
}

/* KiB that are neither free nor a cache. */
static s64 used_memory(void)
{
	static char info[1 << 13];
	s64 used = 0;

	write_text("/proc/sys/vm/drop_caches", "3");
	rest(300);
	write_text("/proc/sys/vm/drop_caches", "3");
	read_file("/proc/meminfo", info, sizeof(info));
	for (const char *at = info; *at; at = next_line(at)) {
		const char *number = at;
		u64 value;

		while (*number && *number != ':')
			number++;
		leading(number + 1, &value);
		if (same_start(at, "MemTotal:"))
			used += value;
		if (same_start(at, "MemFree:") || same_start(at, "Buffers:") ||
		    same_start(at, "Cached:") || same_start(at, "SReclaimable:") ||
		    same_start(at, "AnonPages:") || same_start(at, "PageTables:") ||
		    same_start(at, "KernelStack:"))
			used -= value;
	}
	return used;
}

/* KiB that may be in use more than before the module was loaded.  A kernel with KASAN keeps up to a
 * thirty-second of the memory that was freed; it has kmemleak, which finds what leaks. */
static s64 most_left(void)
{
	static char info[1 << 13];
	s64 file = sys(NR_openat, AT_FDCWD, (s64)"/sys/kernel/debug/kmemleak", O_PATH, 0, 0);
	u64 total = 0;

	if (file < 0)
		return MOST_LEFT_KB;
	sys(NR_close, file, 0, 0, 0, 0);
	read_file("/proc/meminfo", info, sizeof(info));
	for (const char *at = info; *at; at = next_line(at))
		if (same_start(at, "MemTotal:"))
			leading(at + 9, &total);
	return MOST_LEFT_KB + total / 32;
}

static s64 load(const char *parameters)
{
	static char all[1 << 12];
	s64 file = sys(NR_openat, AT_FDCWD, (s64)"/modules/ferroprobe.ko", 0, 0, 0), result;

	read_file("/parameters", all, 200);
	for (char *at = all; *at; at++)
		if (*at == '\n')
			*at = ' ';
	copy(all + length(all), parameters, sizeof(all) - length(all));
	result = sys(NR_finit_module, file, (s64)all, 0, 0, 0);
	sys(NR_close, file, 0, 0, 0, 0);
	return result;
}

/* A file is closed after the call that ends its task, so a module may be in use a little longer. */
static s64 unload(const char *name)
{
	s64 result = 0;

	for (int n = 0; n < 400; n++) {
		result = sys(NR_delete_module, (s64)name, O_NONBLOCK, 0, 0, 0);
		if (result != -11)
			break;
		rest(10);
	}
	return result;
}

static s64 load_sample(void)
{
	s64 file = sys(NR_openat, AT_FDCWD, (s64)"/fpsample.ko", 0, 0, 0);
	s64 result = sys(NR_finit_module, file, (s64)"", 0, 0, 0);

	sys(NR_close, file, 0, 0, 0, 0);
	return result;
}
