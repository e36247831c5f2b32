// SPDX-License-Identifier: GPL-2.0
/*
 * fpraw HOW CPU SIZE GROUP/EVENT...: in the tracing directory, take the events of
 * a CPU out of its trace_pipe_raw, and print each as
 *
 *   PID [CPU] SECONDS.MICROSECONDS: EVENT: TEXT
 *
 * where TEXT is what the event's format makes of the record, and before it, where
 * events were lost, "CPU:N [LOST n EVENTS]", or "[LOST EVENTS]" if nobody knows
 * how many.  The last line is "sub-buffers N events N lost N bytes N".
 *
 *   read     read SIZE bytes at a time, until there is nothing
 *   poll     the same, blocking, after poll has said that there is something;
 *            ends when it has not for a fifth of a second
 *   splice   by way of a pipe, SIZE bytes at a time
 *   keep     splice as much as a pipe holds, print "full", and read the pipe after a
 *            byte on standard input
 *   map      map the file, and look at the events where they lie
 *   aside    read snapshot_raw in the place of trace_pipe_raw
 *
 * A sub-buffer is taken apart when all of it is there, or as far as it is handed
 * out to who has mapped it.  Two more ways print nothing of that:
 *
 *   hold     map the file, close it after a byte on standard input, and end after
 *            another one
 *   refused  try what must be refused to who maps the file
 */

#include "sys.h"
#include "raw.h"

enum { EVENTS = 8 };

static struct layout layout;
static struct format formats[EVENTS];
static u64 known, cpu, pages, events, lost, bytes;

static char line[1 << 15];
static u64 line_size;

static void put(char byte)
{
	if (line_size == sizeof(line)) {
		sys(NR_write, 1, (s64)line, line_size, 0, 0);
		line_size = 0;
	}
	line[line_size++] = byte;
}

static void put_text(const char *text)
{
	while (*text)
		put(*text++);
}

static void put_number(u64 value, u64 base, u64 least)
{
	char digits[64];
	u64 n = 0;

	do {
		digits[n++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value || n < least);
	while (n)
		put(digits[--n]);
}

static void put_signed(s64 value)
{
	if (value < 0)
		put('-');
	put_number(value < 0 ? -(u64)value : (u64)value, 10, 1);
}

/* One conversion of a print format, with the argument ", REC->FIELD",
 * ", REC->FIELD[N]" or ", __get_str(FIELD)"; returns what follows that. */
static const char *convert(const struct format *format, const struct event *event, char how,
			   const char *argument)
{
	const struct field *field;
	u64 index = 0, size = 0;
	const char *name;

	name = behind(argument, how == 's' ? "__get_str(" : "REC->");
	while ((name[size] >= 'a' && name[size] <= 'z') || (name[size] >= 'A' && name[size] <= 'Z') ||
	       (name[size] >= '0' && name[size] <= '9') || name[size] == '_')
		size++;
	field = field_of(format, name, size);
	if (name[size] == '[')
		index = number_behind(name + size, "[");
	if (how == 's')
		put_text(field_text(event, field, index));
	else if (how == 'd')
		put_signed(field_value(event, field, index));
	else if (how == 'u')
		put_number(field_value(event, field, index), 10, 1);
	else if (how == 'c')
		put(field_value(event, field, index));
	else if (how == 'x' || how == 'p')
		put_number(field_value(event, field, index), 16, 1);
	else
		die("no such conversion", how);
	for (; name[size] && name[size] != ','; size++)
		;
	return name + size;
}

static void put_event(const struct event *event)
{
	u64 id = load(event->record, 2), micros = (event->time + 500) / 1000;
	const struct format *format = formats;
	const char *argument, *at;

	for (; format->id != id; format++)
		if (format == formats + known - 1)
			die("an event of which no format is known", id);
	put_signed((int)load(event->record + 4, 4));
	put_text(" [");
	put_number(cpu, 10, 3);
	put_text("] ");
	put_number(micros / 1000000, 10, 1);
	put('.');
	put_number(micros % 1000000, 10, 6);
	put_text(": ");
	put_text(format->name);
	put_text(": ");
	for (argument = format->text; *argument != '"'; argument++)
		if (*argument == '\\')
			argument++;
	for (at = format->text; *at != '"'; at++) {
		if (*at == '\\') {
			put(*++at);
		} else if (*at == '%') {
			do
				at++;
			while (*at == 'l' || *at == 'L' || *at == 'h');
			argument = convert(format, event, *at, argument);
			if (at[0] == 'p' && at[1] == 'S')
				at++;
		} else {
			put(*at);
		}
	}
	put('\n');
}

static void begin_page(const struct page *page)
{
	pages++;
	if (!page->missed)
		return;
	put_text("CPU:");
	put_number(cpu, 10, 1);
	put_text(" [LOST ");
	if (page->counted) {
		put_number(page->lost, 10, 1);
		put(' ');
	}
	put_text("EVENTS]\n");
	lost += page->lost;
}

static void put_events(struct page *page)
{
	struct event event;

	while (next_event(&layout, page, &event)) {
		put_event(&event);
		events++;
	}
}

/* SIZE bytes, of which those behind the data are zeros. */
static void take_apart(const u8 *at, u64 size)
{
	struct page page = page_at(&layout, at);
	u64 used = layout.data + page.end + (page.counted ? 8 : 0);

	for (; used < size; used++)
		if (at[used])
			die("something behind the data", used);
	begin_page(&page);
	put_events(&page);
}

static u8 pending[LARGEST_SUB_BUFFER];
static u64 filled;

/* Bytes of the file came to the end of what is pending. */
static void came(u64 count)
{
	bytes += count;
	filled += count;
	if (filled == page_bytes(&layout)) {
		take_apart(pending, filled);
		filled = 0;
	}
}

static u64 room(u64 size)
{
	u64 left = page_bytes(&layout) - filled;

	return size < left ? size : left;
}

static void by_reading(s64 file, u64 size)
{
	s64 got;

	while ((got = sys(NR_read, file, (s64)pending + filled, room(size), 0, 0)) > 0)
		came(got);
	if (got && got != -EAGAIN)
		die("read", got);
}

static void by_polling(s64 file, u64 size)
{
	const s64 limit[2] = { 0, 200000000 };

	for (;;) {
		struct {
			int file;
			short events, revents;
		} poll = { file, POLLIN, 0 };
		s64 got = sys(NR_ppoll, (s64)&poll, 1, (s64)limit, 0, 0);

		if (got < 0)
			die("poll", got);
		if (!got)
			return;
		got = sys(NR_read, file, (s64)pending + filled, room(size), 0, 0);
		if (got <= 0)
			die("read after poll", got);
		came(got);
	}
}

static void by_splicing(s64 file, u64 size)
{
	int ends[2];
	s64 got, part;

	if (sys(NR_pipe2, (s64)ends, 0, 0, 0, 0) < 0)
		die("pipe", 0);
	while ((got = splice(file, ends[1], size, SPLICE_F_NONBLOCK)) > 0)
		for (; got > 0; got -= part) {
			part = sys(NR_read, ends[0], (s64)pending + filled, room(got), 0, 0);
			if (part <= 0)
				die("read of a pipe", part);
			came(part);
		}
	if (got && got != -EAGAIN)
		die("splice", got);
}

static void by_keeping(s64 file, u64 size)
{
	int ends[2];
	s64 got, all = 0;
	char byte;

	if (sys(NR_pipe2, (s64)ends, 0, 0, 0, 0) < 0)
		die("pipe", 0);
	while ((got = splice(file, ends[1], size, SPLICE_F_NONBLOCK)) > 0)
		all += got;
	if (got && got != -EAGAIN)
		die("splice", got);
	print("full\n");
	sys(NR_read, 0, (s64)&byte, 1, 0, 0);
	for (; all > 0; all -= got) {
		got = sys(NR_read, ends[0], (s64)pending + filled, room(all), 0, 0);
		if (got <= 0)
			die("read of a pipe", got);
		came(got);
	}
}

static void by_mapping(s64 file)
{
	struct mapped mapped;

	map_ring(&mapped, &layout, file);
	while (more_mapped(&mapped, &layout)) {
		begin_page(&mapped.page);
		put_events(&mapped.page);
	}
	bytes = mapped.bytes;
}

static void expect_refusal(const char *what, s64 got, s64 errno)
{
	if (got != -errno)
		die(what, got);
}

static void try_what_is_refused(s64 file)
{
	u64 page = page_bytes(&layout), size;
	struct mapped mapped;

	expect_refusal("asking for more of what is not mapped",
		       sys(NR_ioctl, file, TRACE_MMAP_IOCTL_GET_READER, 0, 0, 0), ENODEV);
	map_ring(&mapped, &layout, file);
	size = page * mapped.about->sub_buffers;
	expect_refusal("no such ioctl", sys(NR_ioctl, file, TRACE_MMAP_IOCTL_GET_READER + 1, 0, 0, 0), ENOTTY);
	expect_refusal("to be written", mmap(file, 0, page, PROT_READ | PROT_WRITE, MAP_SHARED), EACCES);
	expect_refusal("private", mmap(file, 0, page, PROT_READ, MAP_PRIVATE), EPERM);
	expect_refusal("to be run", mmap(file, 0, page, PROT_READ | PROT_EXEC, MAP_SHARED), EPERM);
	expect_refusal("too much", mmap(file, page, size + page, PROT_READ, MAP_SHARED), EINVAL);
	expect_refusal("the end of nothing", mmap(file, 3 * page, size - page, PROT_READ, MAP_SHARED), EINVAL);
	expect_refusal("behind the end", mmap(file, page + size, page, PROT_READ, MAP_SHARED), EINVAL);
	expect_refusal("making it writable",
		       sys(NR_mprotect, (s64)mapped.data, size, PROT_READ | PROT_WRITE, 0, 0), EACCES);
	expect_refusal("taking off a part", sys(NR_munmap, (s64)mapped.data, page, 0, 0, 0), EINVAL);
	expect_refusal("taking off all", sys(NR_munmap, (s64)mapped.data, size, 0, 0, 0), 0);
	expect_refusal("taking off the description", sys(NR_munmap, (s64)mapped.about, page, 0, 0, 0), 0);
	expect_refusal("asking for more of what is not mapped any more",
		       sys(NR_ioctl, file, TRACE_MMAP_IOCTL_GET_READER, 0, 0, 0), ENODEV);
}

static void hold(s64 file)
{
	struct mapped mapped;
	char byte;

	map_ring(&mapped, &layout, file);
	print("mapped\n");
	sys(NR_read, 0, (s64)&byte, 1, 0, 0);
	/* The mapping alone holds it now. */
	sys(NR_close, file, 0, 0, 0, 0);
	print("closed\n");
	sys(NR_read, 0, (s64)&byte, 1, 0, 0);
	exit(mapped.about->sub_buffers == 0);
}

static int run(u64 count, char **args)
{
	char name[64] = "per_cpu/cpu";
	u64 n = length(name), size;
	s64 file;

	if (count < 4 || count > 4 + EVENTS)
		die("usage: see the head of fpraw.c", count);
	cpu = number(args[2]);
	size = number(args[3]);
	for (known = 0; known + 4 < count; known++)
		read_format(&formats[known], args[known + 4]);
	read_layout(&layout);
	if (page_bytes(&layout) > sizeof(pending))
		die("too large a sub-buffer", page_bytes(&layout));
	memcpy(name + n, args[2], length(args[2]));
	n += length(args[2]);
	if (same(args[1], "aside"))
		memcpy(name + n, "/snapshot_raw", 14);
	else
		memcpy(name + n, "/trace_pipe_raw", 16);
	file = open_file(name, same(args[1], "poll") ? 0 : O_NONBLOCK);
	if (same(args[1], "read") || same(args[1], "aside"))
		by_reading(file, size);
	else if (same(args[1], "poll"))
		by_polling(file, size);
	else if (same(args[1], "splice"))
		by_splicing(file, size);
	else if (same(args[1], "keep"))
		by_keeping(file, size);
	else if (same(args[1], "map"))
		by_mapping(file);
	else if (same(args[1], "hold"))
		hold(file);
	else if (same(args[1], "refused"))
		try_what_is_refused(file);
	else
		die("no such way", 0);
	if (filled)
		die("half a sub-buffer", filled);
	put_text("sub-buffers ");
	put_number(pages, 10, 1);
	put_text(" events ");
	put_number(events, 10, 1);
	put_text(" lost ");
	put_number(lost, 10, 1);
	put_text(" bytes ");
	put_number(bytes, 10, 1);
	put('\n');
	sys(NR_write, 1, (s64)line, line_size, 0, 0);
	return 0;
}

__attribute__((used)) void begin(u64 *stack)
{
	exit(run(stack[0], (char **)(stack + 1)));
}
