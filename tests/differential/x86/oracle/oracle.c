// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's x86 decoder behind three functions, for the differential tests.
 * Its sources are taken from the kernel's tree when this is compiled.
 */
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdbool.h>
#include "insn.c"
#include "inat.c"

/* What the copied functions expect around them. */
#define CONFIG_X86_64 1
#ifndef EOPNOTSUPP
#error "no EOPNOTSUPP"
#endif

typedef uint8_t u8;
typedef int16_t s16;
typedef int32_t s32;
typedef int8_t s8;

enum emulation {
	none,
	kprobe_emulate_ifmodifiers,
	kprobe_emulate_ret,
	kprobe_emulate_call,
	kprobe_emulate_jmp,
	kprobe_emulate_jcc,
	kprobe_emulate_loop,
	kprobe_emulate_call_indirect,
	kprobe_emulate_jmp_indirect,
};

struct kprobe {
	struct {
		enum emulation emulate_op;
		u8 opcode, size;
		s32 rel32;
		struct { int type; } jcc;
		struct { int type, asize; } loop;
		struct { int reg; } indirect;
	} ainsn;
};

#include "kprobe-checks.c"

/*
 * The verdict of the kernel's kprobes on the instruction at @bytes: the
 * emulation it would use, or a negative errno. As in arch_prepare_kprobe(),
 * but for what depends on the place.
 */
int kernel_verdict(const uint8_t *bytes)
{
	struct kprobe probe = { 0 };
	struct insn insn;
	int ret;

	if (insn_decode(&insn, bytes, MAX_INSN_SIZE, INSN_MODE_64) < 0)
		return -EILSEQ;
	if (is_exception_insn(&insn))
		return -EILSEQ;
	if (insn_has_emulate_prefix(&insn) || insn_masking_exception(&insn))
		return -EINVAL;
	ret = prepare_emulation(&probe, &insn);
	if (ret < 0)
		return ret;
	if (MAX_INSN_SIZE - insn.length < 1)
		return -ENOSPC;
	return probe.ainsn.emulate_op;
}

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
 * and then goes on behind the next byte. Returns the number of instructions,
 * and that of such bytes in *@undecodable.
 */
size_t kernel_walk(const uint8_t *text, size_t size, uint8_t *lengths,
		   size_t *undecodable)
{
	size_t at = 0, count = 0;
	struct insn insn;

	*undecodable = 0;
	while (at < size) {
		int available = size - at < MAX_INSN_SIZE ? size - at : MAX_INSN_SIZE;

		if (insn_decode(&insn, text + at, available, INSN_MODE_64) < 0) {
			lengths[at++] = 0;
			++*undecodable;
			continue;
		}
		lengths[at] = insn.length;
		at += insn.length;
		count++;
	}
	return count;
}
