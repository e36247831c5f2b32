// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's x86 decoder behind two functions, for the differential tests.
 * Its sources are taken from the kernel's tree when this is compiled.
 */
#include <stddef.h>
#include <stdint.h>
#include "insn.c"
#include "inat.c"

/* The length of the instruction at @bytes; 0 if the kernel cannot decode it. */
int kernel_length(const uint8_t *bytes, int available)
{
	struct insn insn;

	if (insn_decode(&insn, bytes, available, INSN_MODE_64) < 0)
		return 0;
	return insn.length;
}

/*
 * Walks over the @size bytes of @text and writes the length of every
 * instruction to its first byte of @lengths; 0 where the kernel cannot decode,
 * and then goes on behind the next byte. Returns the number of instructions.
 */
size_t kernel_walk(const uint8_t *text, size_t size, uint8_t *lengths)
{
	size_t at = 0, count = 0;
	struct insn insn;

	while (at < size) {
		int available = size - at < MAX_INSN_SIZE ? size - at : MAX_INSN_SIZE;

		if (insn_decode(&insn, text + at, available, INSN_MODE_64) < 0) {
			lengths[at++] = 0;
			continue;
		}
		lengths[at] = insn.length;
		at += insn.length;
		count++;
	}
	return count;
}
