// SPDX-License-Identifier: GPL-2.0
/*
 * fpopen SECONDS FILE...: open each file as the shell's ">" does, then to read, and read it,
 * again and again for so long.  Most of the time the files may not exist.  Prints how often
 * each way succeeded, how many milliseconds the longest turn for a file took, and how often there
 * was no such device.
 */

#include "sys.h"

static s64 now(void)
{
	s64 time[2];

	sys(NR_clock_gettime, CLOCK_MONOTONIC, (s64)time, 0, 0, 0);
	return time[0] * 1000 + time[1] / 1000000;
}

static s64 refused;

static s64 open_file(const char *path, int flags)
{
	s64 file = sys(NR_openat, AT_FDCWD, (s64)path, flags, 0, 0);

	refused += file == -ENODEV;
	return file;
}

__attribute__((noreturn)) void begin(s64 *stack)
{
	static char text[65536];
	s64 truncated = 0, opened = 0, bytes = 0, longest = 0, end;
	char **argv = (char **)(stack + 1);

	if (stack[0] < 3)
		die("usage: fpopen SECONDS FILE...", stack[0]);
	end = now() + number(argv[1]) * 1000;
	while (now() < end) {
		for (char **path = argv + 2; *path; path++) {
			s64 began = now(), took;
			s64 file = open_file(*path, O_WRONLY | O_TRUNC);

			if (file >= 0) {
				truncated++;
				sys(NR_close, file, 0, 0, 0, 0);
			}
			file = open_file(*path, 0);
			if (file >= 0) {
				s64 got = sys(NR_read, file, (s64)text, sizeof(text), 0, 0);

				opened++;
				bytes += got > 0 ? got : 0;
				sys(NR_close, file, 0, 0, 0, 0);
			}
			took = now() - began;
			longest = took > longest ? took : longest;
		}
	}
	print("truncated ");
	print_number(truncated);
	print(" opened ");
	print_number(opened);
	print(" bytes ");
	print_number(bytes);
	print(" longest ");
	print_number(longest);
	print(" refused ");
	print_number(refused);
	print("\n");
	exit(0);
}
