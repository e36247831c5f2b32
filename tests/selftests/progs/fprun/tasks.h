/* SPDX-License-Identifier: GPL-2.0 */
/* The tasks of fprun: those that work beside it, those that make counted calls, and the one that
 * watches over interrupts. */

enum { MAX_CPUS = 8, MAX_TASKS = 24, SAMPLE_EVERY = 16, MOST_HAMMERED = 400000 };

/* What all tasks share. */
struct shared {
	/* Calls that have returned, by CPU: of setpriority, and of fpsample_double. */
	u64 calls[MAX_CPUS], samples[MAX_CPUS];
	volatile u64 stop;
	/* How often a reader that waits got something. */
	volatile u64 reads;
	/* The operation that is performed. */
	volatile u64 line;
};

static volatile struct shared *shared;
static s64 tasks[MAX_TASKS], hammers[MAX_CPUS];
static u64 task_lines[MAX_TASKS], count_tasks, count_hammers, cpus;

static void stay_on(u64 cpu)
{
	u64 mask[16] = { 0 };

	mask[cpu / 64] = 1UL << cpu % 64;
	sys(NR_sched_setaffinity, 0, sizeof(mask), (s64)mask, 0, 0);
}

/* count calls on a CPU, and some of the function of the sample module if it is loaded. */
static void make_calls(u64 cpu, u64 count)
{
	s64 file = sys(NR_openat, AT_FDCWD, (s64)"/sys/module/fpsample/parameters/value", O_WRONLY, 0, 0);

	for (u64 n = 1; n <= count && !shared->stop; n++) {
		sys(NR_setpriority, 1000 + cpu, n, 1000000000 - n, 0, 0);
		shared->calls[cpu]++;
		if (n % SAMPLE_EVERY == 0 && file >= 0 && sys(NR_write, file, (s64)"21", 2, 0, 0) == 2)
			shared->samples[cpu]++;
	}
	sys(NR_close, file, 0, 0, 0, 0);
}

static void begin_calls(u64 count)
{
	char path[] = "/sys/devices/system/cpu/cpu0/online", online[4];

	shared->stop = 0;
	for (u64 cpu = 0; cpu < cpus; cpu++) {
		path[27] = '0' + cpu;
		/* The first one has no such file where it must stay. */
		if (cpu && (read_file(path, online, sizeof(online)) <= 0 || online[0] != '1'))
			continue;
		hammers[count_hammers] = fork();
		if (!hammers[count_hammers]) {
			stay_on(cpu);
			make_calls(cpu, count);
			exit(0);
		}
		count_hammers++;
	}
}

static void end_calls(int at_once)
{
	shared->stop = at_once;
	while (count_hammers)
		sys(NR_wait4, hammers[--count_hammers], 0, 0, 0, 0);
}

/* How long it takes now to do something that always takes as long: a measure of the machine. */
static u64 control(void)
{
	u64 begin = nanoseconds(CLOCK_MONOTONIC);

	for (int n = 0; n < 50000; n++)
		sys(NR_getppid, 0, 0, 0, 0, 0);
	return nanoseconds(CLOCK_MONOTONIC) - begin;
}

static void say_state_of(s64 task)
{
	char path[PATH] = "/proc/", number[24], status[400];
	int at = sizeof(number) - 1;

	number[at] = 0;
	for (u64 rest = task; rest; rest /= 10)
		number[--at] = '0' + rest % 10;
	join(path, "/proc", number + at);
	copy(path + length(path), "/status", 8);
	read_file(path, status, sizeof(status));
	for (const char *line = status; *line; line = next_line(line))
		if (same_start(line, "State:")) {
			status[line - status + line_length(line)] = 0;
			put(line);
		}
}

/* Waits for the tasks that work beside, at most so many milliseconds; returns how many are left. */
static u64 wait_for_tasks(u64 ms)
{
	u64 end = nanoseconds(CLOCK_MONOTONIC) + ms * 1000000;

	for (;;) {
		u64 left = 0;

		for (u64 n = 0; n < count_tasks; n++)
			if (sys(NR_wait4, tasks[n], 0, WNOHANG, 0, 0) == 0) {
				task_lines[left] = task_lines[n];
				tasks[left++] = tasks[n];
			}
		count_tasks = left;
		if (!left || nanoseconds(CLOCK_MONOTONIC) > end)
			return left;
		rest(5);
	}
}

/* Kills them.  One that lives on for ten seconds, or for the time in which this machine could make
 * some millions of calls, cannot be killed. */
static void kill_tasks(void)
{
	for (u64 n = 0; n < count_tasks; n++)
		sys(NR_kill, tasks[n], SIGKILL, 0, 0, 0);
	if (!wait_for_tasks(1000))
		return;
	if (!wait_for_tasks(10000 + control() / 1000000 * 100))
		return;
	for (u64 n = 0; n < count_tasks; n++) {
		put("! unkillable line ");
		put_number(task_lines[n]);
		put(" runs on long after it was killed: ");
		say_state_of(tasks[n]);
		end_line();
	}
	/* Nothing that follows could be judged. */
	exit(3);
}

/* The interrupts in which the kernel does deferred work, and those of its timers; returns the
 * number of CPUs of which they are: those that are online. */
static u64 interrupts(u64 *works, u64 *timers)
{
	static char table[1 << 15];
	u64 online = 0;

	*works = *timers = 0;
	read_file("/proc/interrupts", table, sizeof(table));
	for (const char *at = table; *at && *at != '\n'; at++)
		online += at[0] == 'C' && at[1] == 'P';
	for (char *at = table, *next; *at; at = next) {
		u64 value, *sum = 0;
		const char *number = at;

		next = (char *)next_line(at);
		if (next != at && next[-1] == '\n')
			next[-1] = 0;
		if (has(at, "IWI:") || has(at, "IRQ work"))
			sum = works;
		if (has(at, "LOC:") || has(at, "arch_timer"))
			sum = timers;
		if (!sum)
			continue;
		while (*number && *number != ':')
			number++;
		for (number++; *number; ) {
			const char *behind = leading(number, &value);

			while (*number == ' ')
				number++;
			if (behind == number)
				break;
			*sum += value;
			number = behind;
		}
	}
	return online;
}

/* A task that looks each second: a machine that does little but such interrupts says so.  Sixty
 * for each of a timer are far more than events and snapshots ask for, and far fewer than a storm
 * has; a reader that waits may need one each time. */
static s64 watch(void)
{
	u64 works, timers, works_before, timers_before, online, online_before, reads_before = 0;
	s64 watcher = fork();

	if (watcher)
		return watcher;
	online_before = interrupts(&works_before, &timers_before);
	for (;;) {
		rest(1000);
		online = interrupts(&works, &timers);
		if (online == online_before &&
		    works - works_before > 20000 + 60 * (timers - timers_before) +
						   2 * (shared->reads - reads_before)) {
			put("! storm near line ");
			put_number(shared->line);
			put(": ");
			put_number(works - works_before);
			put(" interrupts of deferred work beside ");
			put_number(timers - timers_before);
			put(" of timers");
			end_line();
		}
		online_before = online;
		reads_before = shared->reads;
		works_before = works;
		timers_before = timers;
	}
}
