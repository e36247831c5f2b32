/* SPDX-License-Identifier: GPL-2.0 */
/* Constants that differ between architectures, for bindgen. */

#include <linux/thread_info.h>
#include "stack_left.h"
#ifdef CONFIG_X86_64
#include <asm/extable_fixup_types.h>
#include <asm/vsyscall.h>
#else
#include <asm/asm-extable.h>
#endif

/* The bits of a task that is in a 32-bit system call. */
#if defined(CONFIG_IA32_EMULATION)
static const u32 FERROPROBE_COMPAT_CALL = TS_COMPAT;
#elif defined(CONFIG_ARM64) && defined(CONFIG_COMPAT)
static const u32 FERROPROBE_COMPAT_CALL = 1U << TIF_32BIT;
#else
static const u32 FERROPROBE_COMPAT_CALL = 0;
#endif
/* The bit in the number of a 32-bit call in 64-bit mode. */
#ifdef CONFIG_X86_X32_ABI
static const u32 FERROPROBE_X32_CALL = __X32_SYSCALL_BIT;
#else
static const u32 FERROPROBE_X32_CALL = 0;
#endif
#ifdef CONFIG_X86_64
static const u64 FERROPROBE_VSYSCALL_TO_TOP = -VSYSCALL_ADDR;
static const u32 FERROPROBE_EX_TYPE = EX_TYPE_DEFAULT;
#else
static const u32 FERROPROBE_EX_TYPE = EX_TYPE_KACCESS_ERR_ZERO;
#endif
