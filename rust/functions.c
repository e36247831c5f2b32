// SPDX-License-Identifier: GPL-2.0
/* Wrappers for ftrace's calls of functions at their entry, also in kernels without. */

#include <linux/errno.h>
#include <linux/ftrace.h>
#include <linux/module.h>

#include "helpers.h"

#if defined(CONFIG_DYNAMIC_FTRACE) && defined(CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS)

/*
 * The callback guards itself against recursion, so it does not ask for FL_RECURSION, with
 * which the kernel would do that before each call.  ftrace cannot be turned off while the
 * ops are registered: hits would be lost in silence.
 */
static struct ftrace_ops ops = {
	.flags = FTRACE_OPS_FL_PERMANENT,
};

/* For questions alone. */
static struct ftrace_ops question;

#ifdef CONFIG_ARM64
/* The layout that rust/arch/arm64.rs has. */
static_assert(offsetof(struct __arch_ftrace_regs, fp) == 80);
static_assert(offsetof(struct __arch_ftrace_regs, pc) == 104);
#else
static_assert(offsetof(struct __arch_ftrace_regs, regs) == 0);
#endif

int ferroprobe_functions_supported(void)
{
	/* With CFI the callback must have the type that the kernel expects. */
	if (IS_ENABLED(CONFIG_CFI) || IS_ENABLED(CONFIG_CFI_CLANG))
		return -EOPNOTSUPP;
	return 0;
}

int ferroprobe_functions_register(void *callback, void *data)
{
	ops.func = callback;
	ops.private = data;
	return register_ftrace_function(&ops);
}

void ferroprobe_functions_unregister(void)
{
	unregister_ftrace_function(&ops);
	ferroprobe_functions_forget();
}

void ferroprobe_functions_forget(void)
{
	ftrace_free_filter(&ops);
}

int ferroprobe_functions_filter(unsigned long *sites, u32 count, bool remove)
{
	return ftrace_set_filter_ips(&ops, sites, count, remove, 0);
}

int ferroprobe_functions_know(unsigned long *sites, u32 count)
{
	int result = ftrace_set_filter_ips(&question, sites, count, 0, 1);

	ftrace_free_filter(&question);
	return result;
}

#else

int ferroprobe_functions_supported(void)
{
	return -ENOENT;
}

int ferroprobe_functions_register(void *callback, void *data)
{
	return -ENOSYS;
}

void ferroprobe_functions_unregister(void)
{
}

void ferroprobe_functions_forget(void)
{
}

int ferroprobe_functions_filter(unsigned long *sites, u32 count, bool remove)
{
	return -ENOSYS;
}

int ferroprobe_functions_know(unsigned long *sites, u32 count)
{
	return -ENOSYS;
}

#endif
