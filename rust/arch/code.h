/* SPDX-License-Identifier: GPL-2.0 */
/* Code addresses, which arm64 may sign. */
#ifndef FERROPROBE_ARCH_CODE_H
#define FERROPROBE_ARCH_CODE_H

#include <linux/types.h>
#ifdef CONFIG_ARM64
#include <asm/pointer_auth.h>
#endif

/* Returns the address of kernel code in @pointer, without its authentication code. */
static __always_inline u64 strip_code(u64 pointer)
{
#ifdef CONFIG_ARM64
	return ptrauth_strip_kernel_insn_pac(pointer);
#else
	return pointer;
#endif
}

/* Returns the address of user code in @pointer, without its authentication code. */
static __always_inline u64 strip_user_code(u64 pointer)
{
#ifdef CONFIG_ARM64
	return ptrauth_strip_user_insn_pac(pointer);
#else
	return pointer;
#endif
}

#endif
