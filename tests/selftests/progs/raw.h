/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sub-buffers as trace_pipe_raw gives them, taken apart by nothing but what
 * events/header_page, events/header_event and an event's format say.  Needs
 * sys.h; files are looked for in the tracing directory, where a program runs.
 */

enum { FIELDS = 32, LARGEST_SUB_BUFFER = 1 << 19 };

/* The layout of a sub-buffer and of an event's first word. */
struct layout {
	u64 time, commit, data, room;
	u64 type_bits, padding, extend, stamp, most;
};

/* A sub-buffer, and how far it was looked at. */
struct page {
	const u8 *data;
	u64 end, at, time;
	/* Events were lost before it; how many, where that is known. */
	int missed, counted;
	u64 lost;
};

struct event {
	u64 time;
	const u8 *record;
	u64 size;
};

struct field {
	char name[64];
	u64 offset, size, count;
	int is_signed, is_text;
};

struct format {
	u64 id, fields;
	char name[64];
	struct field field[FIELDS];
	char text[4096];
};

static u64 load(const void *from, u64 size)
{
	u64 value = 0;

	memcpy(&value, from, size);
	return value;
}

static s64 open_file(const char *name, int flags)
{
	s64 file = sys(NR_openat, AT_FDCWD, (s64)name, flags, 0, 0);

	if (file < 0)
		die(name, file);
	return file;
}

static void read_text(const char *name, char *to, u64 room)
{
	s64 file = open_file(name, 0), got;
	u64 filled = 0;

	while ((got = sys(NR_read, file, (s64)to + filled, room - 1 - filled, 0, 0)) > 0)
		filled += got;
	to[filled] = 0;
	sys(NR_close, file, 0, 0, 0, 0);
}

/* What stands behind WHAT in the text; the program ends if it is not there. */
static const char *behind(const char *text, const char *what)
{
	for (; *text; text++) {
		u64 n = 0;

		while (what[n] && text[n] == what[n])
			n++;
		if (!what[n])
			return text + n;
	}
	die(what, 0);
}

static u64 number_behind(const char *text, const char *what)
{
	u64 value = 0;

	for (text = behind(text, what); *text == ' '; text++)
		;
	if (*text < '0' || *text > '9')
		die(what, *text);
	while (*text >= '0' && *text <= '9')
		value = value * 10 + (*text++ - '0');
	return value;
}

static void read_layout(struct layout *layout)
{
	static char text[4096];

	read_text("events/header_page", text, sizeof(text));
	layout->time = number_behind(behind(text, "timestamp;"), "offset:");
	layout->commit = number_behind(behind(text, "commit;"), "offset:");
	layout->data = number_behind(behind(text, "char data;"), "offset:");
	layout->room = number_behind(behind(text, "char data;"), "size:");
	read_text("events/header_event", text, sizeof(text));
	layout->type_bits = number_behind(behind(text, "type_len"), ":");
	layout->padding = number_behind(behind(text, "padding"), "type ==");
	layout->extend = number_behind(behind(text, "time_extend"), "type ==");
	layout->stamp = number_behind(behind(text, "time_stamp"), "type ==");
	layout->most = number_behind(text, "data max type_len  ==");
}

static u64 page_bytes(const struct layout *layout)
{
	return layout->data + layout->room;
}

static u64 committed(const struct layout *layout, const u8 *bytes)
{
	return *(volatile u64 *)(bytes + layout->commit);
}

/* The bits of a commit are those of the kernel's ring_buffer.h. */
static struct page page_at(const struct layout *layout, const u8 *bytes)
{
	u64 commit = committed(layout, bytes);
	struct page page = { bytes + layout->data, commit & ((1 << 27) - 1), 0, 0, 0, 0, 0 };

	page.time = load(bytes + layout->time, 8);
	page.missed = commit >> 31 & 1;
	page.counted = commit >> 30 & 1;
	if (page.end > layout->room)
		die("more data than a sub-buffer holds", page.end);
	if (page.counted && !page.missed)
		die("a number of lost events without lost events", commit);
	if (page.counted && page.end + 8 > layout->room)
		die("a number of lost events behind the sub-buffer", page.end);
	if (page.counted)
		page.lost = load(page.data + page.end, 8);
	return page;
}

/* The next event; 0 at the end of what is committed. */
static int next_event(const struct layout *layout, struct page *page, struct event *event)
{
	while (page->at < page->end) {
		const u8 *at = page->data + page->at;
		u64 word = load(at, 4), delta = word >> layout->type_bits, size;
		u64 type = word & ((1UL << layout->type_bits) - 1);

		if (page->at % 4 || page->end - page->at < 8)
			die("an event without room", page->at);
		if (type == layout->extend) {
			page->time += delta | load(at + 4, 4) << (32 - layout->type_bits);
			page->at += 8;
			continue;
		}
		if (type == layout->stamp) {
			u64 stamp = delta | load(at + 4, 4) << (32 - layout->type_bits);

			/* 59 bits; the others are those of the time before. */
			page->time = (page->time & ~((1UL << 59) - 1)) | stamp;
			page->at += 8;
			continue;
		}
		if (type == layout->padding && !delta)
			die("padding without an end before the commit", page->at);
		page->time += delta;
		if (type && type != layout->padding) {
			if (type > layout->most)
				die("no such type of event", type);
			size = 4 * type;
			event->record = at + 4;
		} else {
			size = load(at + 4, 4);
			event->record = at + 8;
			if (size < 4)
				die("a length that does not count itself", size);
			event->record = at + 8;
		}
		page->at += 4 + (size + 3) / 4 * 4;
		if (page->at > page->end)
			die("an event behind the commit", page->at);
		if (type == layout->padding)
			continue;
		event->size = at + 4 + size - event->record;
		event->time = page->time;
		return 1;
	}
	return 0;
}

/* One line of a format: "\tfield:TYPE NAME[N];\toffset:N;\tsize:N;\tsigned:N;" */
static void read_field(struct field *field, const char *line)
{
	const char *end = line, *from;
	u64 n = 0;

	while (*end && *end != ';')
		end++;
	for (from = end; from > line && from[-1] != ' '; from--)
		;
	for (; from < end && *from != '[' && n + 1 < sizeof(field->name); from++)
		field->name[n++] = *from;
	field->name[n] = 0;
	field->count = *from == '[' ? number_behind(from, "[") : 0;
	field->is_text = line[0] == '_' && line[1] == '_' && line[2] == 'd';
	field->offset = number_behind(end, "offset:");
	field->size = number_behind(end, "size:");
	field->is_signed = number_behind(end, "signed:");
}

/* EVENT is GROUP/NAME. */
static void read_format(struct format *format, const char *event)
{
	static char text[1 << 16];
	char file[256] = "events/";
	const char *at = text;
	u64 n;

	memcpy(file + 7, event, length(event));
	memcpy(file + 7 + length(event), "/format", 8);
	read_text(file, text, sizeof(text));
	format->id = number_behind(text, "ID:");
	for (at = behind(text, "name: "), n = 0; *at != '\n' && n + 1 < sizeof(format->name); n++)
		format->name[n] = *at++;
	format->name[n] = 0;
	for (format->fields = 0; *at; at++) {
		if (same_start(at, "print fmt: "))
			break;
		if (!same_start(at, "\tfield:"))
			continue;
		if (format->fields == FIELDS)
			die("too many fields", FIELDS);
		read_field(&format->field[format->fields++], at + 7);
	}
	at = behind(at, "print fmt: \"");
	for (n = 0; at[n] && at[n] != '\n' && n + 1 < sizeof(format->text); n++)
		format->text[n] = at[n];
	format->text[n] = 0;
}

static const struct field *field_of(const struct format *format, const char *name, u64 size)
{
	for (u64 n = 0; n < format->fields; n++) {
		const char *is = format->field[n].name;

		if (length(is) == size && same_start(name, is))
			return &format->field[n];
	}
	die(name, size);
}

/* A number in a record, of the INDEX-th element where the field has several. */
static u64 field_value(const struct event *event, const struct field *field, u64 index)
{
	u64 size = field->count ? field->size / field->count : field->size;
	u64 at = field->offset + index * size, value;

	if (at + size > event->size || size > 8)
		die(field->name, at + size);
	value = load(event->record + at, size);
	if (field->is_signed && size < 8 && value >> (size * 8 - 1))
		value |= ~0UL << (size * 8);
	return value;
}

/* A text in a record: where it is, with its NUL. */
static const char *field_text(const struct event *event, const struct field *field, u64 index)
{
	u64 place = load(event->record + field->offset + 4 * index, 4);
	u64 from = place & 0xffff, size = place >> 16;

	if (!size || from + size > event->size || event->record[from + size - 1])
		die("a text that does not end in its record", place);
	return (const char *)event->record + from;
}

/* What a mapping of trace_pipe_raw begins with: the kernel's trace_mmap.h. */
struct about {
	unsigned int page_size, length, sub_buffer_size, sub_buffers;
	u64 lost;
	unsigned int id, read;
	u64 flags, entries, overrun, read_events, reserved[2];
};

/* A ring that is mapped, and where its reader is. */
struct mapped {
	s64 file;
	const volatile struct about *about;
	const u8 *data;
	unsigned int id;
	u64 bytes;
	struct page page;
};

static const u8 *mapped_page(const struct mapped *mapped, unsigned int id)
{
	if (id >= mapped->about->sub_buffers)
		die("no such sub-buffer", id);
	return mapped->data + (u64)id * mapped->about->sub_buffer_size;
}

static const void *map_part(s64 file, u64 offset, u64 size)
{
	s64 at = mmap(file, offset, size, PROT_READ, MAP_SHARED);

	if (at < 0 && at > -4096)
		die("mmap", at);
	return (const void *)at;
}

/* Others have read, or may have: what they read is not ours. */
static void look_again(struct mapped *mapped, const struct layout *layout)
{
	struct event event;

	mapped->id = mapped->about->id;
	mapped->page = page_at(layout, mapped_page(mapped, mapped->id));
	while (mapped->page.at < mapped->about->read)
		if (!next_event(layout, &mapped->page, &event))
			break;
}

static void map_ring(struct mapped *mapped, const struct layout *layout, s64 file)
{
	const struct about *about = map_part(file, 0, page_bytes(layout));

	if (about->length != sizeof(*about) || about->page_size != page_bytes(layout) ||
	    about->sub_buffer_size != page_bytes(layout) || about->flags)
		die("not the description of this ring", about->length);
	mapped->file = file;
	mapped->about = about;
	mapped->data = map_part(file, about->page_size, (u64)about->sub_buffer_size * about->sub_buffers);
	mapped->bytes = 0;
	look_again(mapped, layout);
}

/* Ask for more: what is then on the sub-buffer that is the reader's; 0 if there
 * is nothing. */
static int more_mapped(struct mapped *mapped, const struct layout *layout)
{
	const volatile struct about *about = mapped->about;
	s64 got = sys(NR_ioctl, mapped->file, TRACE_MMAP_IOCTL_GET_READER, 0, 0, 0);
	struct page page;

	if (got)
		die("asking for more of what is mapped", got);
	page = page_at(layout, mapped_page(mapped, about->id));
	if (page.end != about->read)
		die("another commit than the description has", page.end);
	if (page.missed != (about->lost != 0) || (page.counted && page.lost != about->lost))
		die("other losses than the description has", about->lost);
	if (about->id == mapped->id) {
		if (page.end != mapped->page.end)
			die("a sub-buffer that changed after it was handed out", page.end);
		return 0;
	}
	/* Where no number is behind the data. */
	page.counted = page.missed;
	page.lost = about->lost;
	mapped->id = about->id;
	mapped->page = page;
	mapped->bytes += page.end;
	return 1;
}
