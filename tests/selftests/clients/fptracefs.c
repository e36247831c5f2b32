// SPDX-License-Identifier: GPL-2.0
/*
 * fptracefs DIRECTORY iterate: consume the events of all CPUs by libtracefs, and
 * print each as
 *
 *   PID [CPU] SECONDS.MICROSECONDS: EVENT: TEXT
 *
 * fptracefs DIRECTORY mapped CPU: the same of one CPU, from its mapped ring.
 *
 * fptracefs DIRECTORY instances GROUP EVENT FILTER COMMAND: make two instances, enable the
 * event in both, with the filter in the second, run the command by the shell, print the
 * events of both as above, each behind a line with its name, and remove the instances.
 *
 * DIRECTORY is the tracing directory, or - for the one where tracefs belongs.  The
 * libraries are Debian's, as they are: nothing of the layout is known here.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tracefs.h>

static struct tep_handle *tep;
static long events;

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static int print(struct tep_event *event, struct tep_record *record, int cpu, void *data)
{
	struct trace_seq line;

	(void)event;
	(void)cpu;
	(void)data;
	trace_seq_init(&line);
	tep_print_event(tep, &line, record, "%d [%03d] %6.1000d: %s: %s", TEP_PRINT_PID, TEP_PRINT_CPU,
			TEP_PRINT_TIME, TEP_PRINT_NAME, TEP_PRINT_INFO);
	if (record->missed_events)
		printf("CPU:%d [LOST %lld EVENTS]\n", record->cpu, record->missed_events);
	trace_seq_terminate(&line);
	puts(line.buffer);
	trace_seq_destroy(&line);
	events++;
	return 0;
}

static void print_mapped(int cpu)
{
	struct tracefs_cpu *ring = tracefs_cpu_open_mapped(NULL, cpu, true);
	struct kbuffer *page;

	if (!ring)
		die("trace_pipe_raw");
	if (!tracefs_cpu_is_mapped(ring))
		die("the ring is not mapped");
	while ((page = tracefs_cpu_read_buf(ring, true))) {
		unsigned long long time;
		void *data;

		while ((data = kbuffer_read_event(page, &time))) {
			struct tep_record record = {
				.ts = time,
				.size = kbuffer_event_size(page),
				.data = data,
				.cpu = cpu,
				.missed_events = kbuffer_missed_events(page),
			};

			print(tep_find_event_by_record(tep, &record), &record, cpu, NULL);
			kbuffer_next_event(page, NULL);
		}
	}
	tracefs_cpu_close(ring);
}

static struct tracefs_instance *make(const char *name, char **args)
{
	struct tracefs_instance *instance = tracefs_instance_create(name);

	if (!instance || !tracefs_instance_is_new(instance))
		die(name);
	if (tracefs_event_enable(instance, args[0], args[1]))
		die(args[1]);
	return instance;
}

static void print_and_remove(struct tracefs_instance *instance)
{
	puts(tracefs_instance_get_name(instance));
	if (tracefs_iterate_raw_events(tep, instance, NULL, 0, print, NULL) < 0)
		die("tracefs_iterate_raw_events");
	if (tracefs_instance_destroy(instance))
		die("tracefs_instance_destroy");
	tracefs_instance_free(instance);
}

/* The arguments are the group, the event, the filter and the command. */
static void print_instances(char **args)
{
	struct tracefs_instance *one = make("one", args), *two = make("two", args);
	char file[256];

	snprintf(file, sizeof(file), "events/%s/%s/filter", args[0], args[1]);
	if (tracefs_instance_file_write(two, file, args[2]) < 0)
		die(file);
	if (system(args[3]))
		die(args[3]);
	if (tracefs_event_disable(one, args[0], args[1]) || tracefs_event_disable(two, args[0], args[1]))
		die("tracefs_event_disable");
	print_and_remove(one);
	print_and_remove(two);
}

int main(int count, char **args)
{
	const char *directory = NULL;

	if (count < 3)
		die("usage: see the head of fptracefs.c");
	if (strcmp(args[1], "-") && tracefs_set_tracing_dir(args[1]))
		die(args[1]);
	directory = tracefs_tracing_dir();
	tep = tracefs_local_events(directory);
	if (!tep)
		die("the formats");
	if (!strcmp(args[2], "mapped") && count == 4)
		print_mapped(atoi(args[3]));
	else if (!strcmp(args[2], "instances") && count == 7)
		print_instances(args + 3);
	else if (tracefs_iterate_raw_events(tep, NULL, NULL, 0, print, NULL) < 0)
		die("tracefs_iterate_raw_events");
	printf("events %ld\n", events);
	return 0;
}
