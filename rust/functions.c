// SPDX-License-Identifier: GPL-2.0
/* Wrappers for ftrace's reports of functions that begin or return, also in kernels without. */

#include <linux/errno.h>
#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "arch/ftrace_regs.h"
#include "helpers.h"
#include "series/fprobe.h"

#if defined(CONFIG_DYNAMIC_FTRACE) && defined(CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS)

/*
 * The callback guards itself against recursion, so it does not ask for FL_RECURSION, with
 * which the kernel would do that before each call.  ftrace cannot be turned off while the
 * ops are registered: hits would be lost in silence.
 */
static struct ftrace_ops all_ops[FERROPROBE_FUNCTIONS_OPS] = {
	[0 ... FERROPROBE_FUNCTIONS_OPS - 1] = { .flags = FTRACE_OPS_FL_PERMANENT },
};

/*
 * ftrace, which gives up after a failure of its own, has not unregistered ops, and may still call
 * their callback.
 */
static bool stuck[FERROPROBE_FUNCTIONS_OPS];

/* For questions alone. */
static struct ftrace_ops question;
static DEFINE_MUTEX(asking);

/* In 6.12, ftrace_free_filter() leaves pointers to what it has freed. */
static void free_filter(struct ftrace_ops *ops)
{
	ftrace_free_filter(ops);
	RCU_INIT_POINTER(ops->func_hash->filter_hash, NULL);
	RCU_INIT_POINTER(ops->func_hash->notrace_hash, NULL);
}

int ferroprobe_functions_supported(void)
{
	return 0;
}

int ferroprobe_functions_register(u32 which, ferroprobe_function_callback callback, void *data)
{
	struct ftrace_ops *ops = &all_ops[which];

	ops->func = callback;
	ops->private = data;
	return register_ftrace_function(ops);
}

int ferroprobe_functions_unregister(u32 which)
{
	int result = unregister_ftrace_function(&all_ops[which]);

	if (!result)
		ferroprobe_functions_forget(which);
	else if (!stuck[which])
		__module_get(THIS_MODULE);
	stuck[which] = result;
	return result;
}

void ferroprobe_functions_end(void)
{
	bool any = false;

	for (u32 which = 0; which < FERROPROBE_FUNCTIONS_OPS; which++)
		any |= stuck[which];
	if (!any)
		return;
	pr_crit("ferroprobe: ftrace has failed and still calls the module, which has to stay\n");
	for (;;)
		schedule_timeout_idle(MAX_SCHEDULE_TIMEOUT);
}

void ferroprobe_functions_forget(u32 which)
{
	free_filter(&all_ops[which]);
}

int ferroprobe_functions_filter(u32 which, unsigned long *sites, u32 count, bool remove)
{
	return ftrace_set_filter_ips(&all_ops[which], sites, count, remove, 0);
}

int ferroprobe_functions_know(unsigned long *sites, u32 count)
{
	int result;

	mutex_lock(&asking);
	result = ftrace_set_filter_ips(&question, sites, count, 0, 1);
	free_filter(&question);
	mutex_unlock(&asking);
	return result;
}

#else

int ferroprobe_functions_supported(void)
{
	return -ENOENT;
}

int ferroprobe_functions_register(u32 which, ferroprobe_function_callback callback, void *data)
{
	return -ENOSYS;
}

int ferroprobe_functions_unregister(u32 which)
{
	return 0;
}

void ferroprobe_functions_end(void)
{
}

void ferroprobe_functions_forget(u32 which)
{
}

int ferroprobe_functions_filter(u32 which, unsigned long *sites, u32 count, bool remove)
{
	return -ENOSYS;
}

int ferroprobe_functions_know(unsigned long *sites, u32 count)
{
	return -ENOSYS;
}

#endif

#ifdef CONFIG_FPROBE

bool ferroprobe_returns_supported(void)
{
	return true;
}

int ferroprobe_returns_register(struct fprobe *fprobe, ferroprobe_return_entry entry,
				ferroprobe_return_exit exit, size_t words, unsigned long *sites,
				u32 count)
{
	ferroprobe_fprobe_renew(fprobe);
#ifdef HAVE_fprobe_passes_ftrace_regs
	fprobe->entry_handler = entry;
	fprobe->exit_handler = exit;
#else
	/* The registers begin a struct ftrace_regs. */
	fprobe->entry_handler = (void *)entry;
	fprobe->exit_handler = (void *)exit;
#endif
	fprobe->entry_data_size = words * sizeof(long);
	return register_fprobe_ips(fprobe, sites, count);
}

void ferroprobe_returns_unregister(void *memory)
{
	unregister_fprobe(memory);
}

unsigned long ferroprobe_returns_missed(const void *memory)
{
	const struct fprobe *fprobe = memory;

	return READ_ONCE(fprobe->nmissed);
}

#else

bool ferroprobe_returns_supported(void)
{
	return false;
}

int ferroprobe_returns_register(struct fprobe *fprobe, ferroprobe_return_entry entry,
				ferroprobe_return_exit exit, size_t words, unsigned long *sites,
				u32 count)
{
	return -EOPNOTSUPP;
}

void ferroprobe_returns_unregister(void *memory)
{
}

unsigned long ferroprobe_returns_missed(const void *memory)
{
	return 0;
}

#endif
