/* SPDX-License-Identifier: GPL-2.0 */
/* Where in its file a program has what it has in memory.  Needs sys.h. */

struct header {
	u8 ident[16];
	unsigned short type, machine;
	unsigned int version;
	u64 entry, segments, sections;
	unsigned int flags;
	unsigned short size, segment_size, segment_count;
};

struct segment {
	unsigned int type, flags;
	u64 offset, address, physical, file_size, size, alignment;
};

extern const struct header __ehdr_start;

static void print_hex(u64 value)
{
	char text[19] = "0x";
	int at = 2, shift = 60;

	while (shift && !(value >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		text[at++] = "0123456789abcdef"[value >> shift & 15];
	text[at] = 0;
	print(text);
}

/* The file that is mapped may lie anywhere: its header says what is where. */
static u64 offset_of(u64 address)
{
	const u8 *start = (const u8 *)&__ehdr_start;
	const struct segment *segment = (const void *)(start + __ehdr_start.segments);
	u64 base = 0;

	for (int n = 0; n < __ehdr_start.segment_count; n++) {
		if (segment[n].type == 1 && segment[n].offset == 0)
			base = (u64)start - segment[n].address;
	}
	for (int n = 0; n < __ehdr_start.segment_count; n++) {
		u64 behind = address - base - segment[n].address;

		if (segment[n].type == 1 && behind < segment[n].file_size)
			return segment[n].offset + behind;
	}
	die("no segment has it", 0);
}
