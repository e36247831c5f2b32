// SPDX-License-Identifier: GPL-2.0
/* The kernel's system calls, also in kernels without events for them. */

#include <linux/errno.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <trace/syscall.h>

#include "helpers.h"

unsigned int ferroprobe_syscalls(void)
{
#ifdef CONFIG_FTRACE_SYSCALLS
	return NR_syscalls;
#else
	return 0;
#endif
}

int ferroprobe_syscall(u64 table, unsigned int number, struct ferroprobe_syscall *call)
{
	struct syscall_metadata *from, meta;

	/* @table was found by its name, so it may point to something else. */
	if (copy_from_kernel_nofault(&from, (void *)(table + number * sizeof(from)), sizeof(from)))
		return -EFAULT;
	if (!from)
		return -ENOENT;
	if (copy_from_kernel_nofault(&meta, from, sizeof(meta)))
		return -EFAULT;
	call->name = (unsigned long)meta.name;
	call->types = (unsigned long)meta.types;
	call->arguments = (unsigned long)meta.args;
	call->number = meta.syscall_nr;
	call->count = meta.nb_args;
#ifdef HAVE_syscall_user_mask
	call->copied = meta.user_mask;
	call->size = meta.user_arg_size;
	call->is_text = meta.user_arg_is_str;
#else
	/* The kernel does not say which arguments are text. */
	call->copied = 0;
	call->size = -1;
	call->is_text = false;
#endif
	return 0;
}
