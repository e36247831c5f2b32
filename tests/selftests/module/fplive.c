// SPDX-License-Identifier: GPL-2.0
/*
 * Replaces the function that prints /proc/cmdline by one that prints "live", with the kernel's
 * live patching.  It can be unloaded once its /sys/kernel/livepatch/fplive/enabled is 0.
 */

#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#if IS_ENABLED(CONFIG_LIVEPATCH)

static int live_cmdline_proc_show(struct seq_file *file, void *unused)
{
	seq_puts(file, "live\n");
	return 0;
}

static struct klp_func functions[] = {
	{ .old_name = "cmdline_proc_show", .new_func = live_cmdline_proc_show },
	{ }
};

/* Without a name it is the kernel itself. */
static struct klp_object objects[] = {
	{ .funcs = functions },
	{ }
};

static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objects };

static int __init fplive_init(void)
{
	return klp_enable_patch(&patch);
}

MODULE_INFO(livepatch, "Y");

#else

static int __init fplive_init(void)
{
	return -EOPNOTSUPP;
}

#endif

static void __exit fplive_exit(void)
{
}

module_init(fplive_init);
module_exit(fplive_exit);
MODULE_DESCRIPTION("Replaces cmdline_proc_show()");
MODULE_LICENSE("GPL");
