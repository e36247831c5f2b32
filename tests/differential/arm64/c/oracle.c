// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's arm64 probe decoder, callable from the tests.
 */
#include "stubs.h"
#include <asm/insn.h>
#include "extract.c"
#include "decode-insn.c"

/* How far into its function the word under judgement lies; -1: unknown. */
static __thread long offset_in_symbol = -1;

bool kallsyms_lookup_size_offset(unsigned long addr, unsigned long *size,
				 unsigned long *offset)
{
	if (offset_in_symbol < 0)
		return false;
	*offset = (unsigned long)offset_in_symbol;
	return true;
}

#define SIMULATION(name)						\
	void name(u32 opcode, long addr, struct pt_regs *regs) {}

SIMULATION(simulate_adr_adrp)
SIMULATION(simulate_b_bl)
SIMULATION(simulate_b_cond)
SIMULATION(simulate_br_blr)
SIMULATION(simulate_ret)
SIMULATION(simulate_cbz_cbnz)
SIMULATION(simulate_tbz_tbnz)
SIMULATION(simulate_ldr_literal)
SIMULATION(simulate_ldrsw_literal)
SIMULATION(simulate_nop)

static u8 verdict(kprobe_opcode_t *addr)
{
	struct arch_specific_insn asi;

	switch (arm_kprobe_decode_insn(addr, &asi)) {
	case INSN_REJECTED:
		return 0;
	case INSN_GOOD_NO_SLOT:
		return 1;
	case INSN_GOOD:
		return 2;
	}
	return 0xff;
}

/* The verdicts for @count words from @start on, seen alone. */
void oracle_verdicts(u32 start, size_t count, u8 *out)
{
	offset_in_symbol = -1;
	for (size_t i = 0; i < count; i++) {
		kprobe_opcode_t word = start + (u32)i;

		out[i] = verdict(&word);
	}
}

/* The verdicts for the @count words of one function, with the look back. */
void oracle_function(kprobe_opcode_t *words, size_t count, u8 *out)
{
	for (size_t i = 0; i < count; i++) {
		offset_in_symbol = (long)(i * sizeof(*words));
		out[i] = verdict(&words[i]);
	}
}
