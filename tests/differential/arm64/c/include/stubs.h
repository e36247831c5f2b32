/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel's arm64 probe decoder needs of the rest of the kernel.
 */
#ifndef STUBS_H
#define STUBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef u32 kprobe_opcode_t;

#define __always_inline inline __attribute__((__always_inline__))
#define __kprobes
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), "")
#define le32_to_cpu(word) (word)
#define CONFIG_KPROBES 1

struct pt_regs;

struct arch_probe_insn {
	void (*handler)(u32 opcode, long addr, struct pt_regs *regs);
};

struct arch_specific_insn {
	struct arch_probe_insn api;
};

bool kallsyms_lookup_size_offset(unsigned long addr, unsigned long *size,
				 unsigned long *offset);

#endif
