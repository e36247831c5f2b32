/* SPDX-License-Identifier: GPL-2.0 */
/* Accesses to memory that may not be mapped. */
#ifndef FERROPROBE_ARCH_ACCESS_H
#define FERROPROBE_ARCH_ACCESS_H

#include <linux/mm.h>
#include <linux/uaccess.h>
#ifdef CONFIG_X86_64
#include <asm/asm.h>
#include <asm/processor.h>
#include <asm/vsyscall.h>
#endif

/*
 * Returns whether a read at this address either succeeds or raises a fault that the
 * kernel handles, as copy_from_kernel_nofault_allowed() does.
 */
static __always_inline bool allowed(unsigned long address)
{
#ifdef CONFIG_X86_64
	/* Kernel addresses are in the upper half. */
	if ((long)address >= 0 || (address & PAGE_MASK) == VSYSCALL_ADDR)
		return false;
	return __is_canonical_address(address, boot_cpu_data.x86_virt_bits);
#else
	return address >= TASK_SIZE_MAX;
#endif
}

/* Returns what of @size is left, 0 for nothing. */
static inline unsigned long copy_at_once(void __user *to, const void *from, size_t size)
{
#ifdef CONFIG_X86_64
	unsigned long words = size / sizeof(long);

	/* As fast as by bytes, which emulators execute one by one. */
	if (size % sizeof(long) == 0) {
		stac();
		asm volatile("1:	rep movsq\n"
			     "2:\n"
			     _ASM_EXTABLE_UA(1b, 2b)
			     : "+c" (words), "+D" (to), "+S" (from)
			     :
			     : "memory");
		clac();
		return words;
	}
#endif
	/* No check of the source: for vmalloc memory that takes a lock and searches. */
	return raw_copy_to_user(to, from, size);
}

#endif
