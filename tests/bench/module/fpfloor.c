// SPDX-License-Identifier: GPL-2.0
/*
 * A probe that does nothing: what every tool pays for a hit, whatever it does.
 *
 * Parameters: symbol, and ret=1 for a probe of the function's return, or both=1 for that and one
 * of its entry; or traced=0x... for ftrace to report its entry, which it patches at this address;
 * or followed=0x... for an fprobe of the return of the function that it patches there, with
 * words=N that are kept from the entry; or tracepoint, for a probe of that one; or calls=1, for
 * probes of sys_enter and sys_exit; or program=PATH for a uprobe at offset=0x..., of the return of
 * the function there with ret=1; or period=N, for a timer that ticks each N nanoseconds.
 *
 * With deep=N each system call goes through N functions of this module to fpfloor_leaf, which
 * symbol= may name.
 */

#include <linux/fprobe.h>
#include <linux/ftrace.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/tracepoint.h>
#include <linux/unistd.h>
#include <linux/uprobes.h>

static char *symbol;
module_param(symbol, charp, 0);

static bool ret;
module_param(ret, bool, 0);

static bool both;
module_param(both, bool, 0);

static char *tracepoint;
module_param(tracepoint, charp, 0);

static bool calls;
module_param(calls, bool, 0);

static unsigned long traced;
module_param(traced, ulong, 0);

static unsigned long followed;
module_param(followed, ulong, 0);

static char *program;
module_param(program, charp, 0);

static unsigned long offset;
module_param(offset, ulong, 0);

static unsigned int words;
module_param(words, uint, 0);

static void notrace entered(unsigned long ip, unsigned long caller, struct ftrace_ops *ops,
			    struct ftrace_regs *regs)
{
}

static int notrace begins(struct fprobe *fprobe, unsigned long site, unsigned long caller,
			  struct ftrace_regs *regs, void *data)
{
	return 0;
}

static void notrace ends(struct fprobe *fprobe, unsigned long site, unsigned long caller,
			 struct ftrace_regs *regs, void *data)
{
}

/* The registers, which are not used, have another type in older series. */
static struct fprobe exits = { .exit_handler = (fprobe_exit_cb)ends };

static struct ftrace_ops ops = { .func = entered };

static struct tracepoint *point, *other;

static void reached(void *data, long first, long second)
{
}

static void returns(void *data, struct pt_regs *regs, long value)
{
}

static unsigned long period;
module_param(period, ulong, 0);

static struct hrtimer timer;

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	hrtimer_forward_now(timer, ns_to_ktime(period));
	return HRTIMER_RESTART;
}

static void start_timer(void)
{
#ifdef HAVE_hrtimer_setup
	hrtimer_setup(&timer, tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer.function = tick;
#endif
	hrtimer_start(&timer, ns_to_ktime(period), HRTIMER_MODE_REL_PINNED_HARD);
}

static unsigned int deep;
module_param(deep, uint, 0);

static noinline void fpfloor_leaf(void)
{
	barrier();
}

/* Neither call is the last of a function, which would have no frame then. */
static noinline void descend(unsigned int depth)
{
	if (depth)
		descend(depth - 1);
	else
		fpfloor_leaf();
	barrier();
}

static void descends(void *data, struct pt_regs *regs, long id)
{
	/* Of one call only, so that nothing else is slow. */
	if (id == __NR_getppid)
		descend(deep);
}

static void find(struct tracepoint *each, void *data)
{
	if (!strcmp(each->name, tracepoint))
		point = each;
	if (calls && !strcmp(each->name, "sys_exit"))
		other = each;
}

static int hit(struct kprobe *probe, struct pt_regs *regs)
{
	return 0;
}

static int returned(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	return 0;
}

static struct kprobe probe = { .pre_handler = hit };
static struct kretprobe return_probe = { .handler = returned, .maxactive = 8 };

/* The last argument, which is not used, is missing in older series. */
static int user_hit(struct uprobe_consumer *self, struct pt_regs *regs, u64 *data)
{
	return 0;
}

static int user_returned(struct uprobe_consumer *self, unsigned long function,
			 struct pt_regs *regs, u64 *data)
{
	return 0;
}

static struct uprobe_consumer consumer;
static struct uprobe *uprobe;
static struct path path;

static int probe_program(void)
{
	int error = kern_path(program, LOOKUP_FOLLOW, &path);

	if (error)
		return error;
	if (ret)
		consumer.ret_handler = (void *)user_returned;
	else
		consumer.handler = (void *)user_hit;
	uprobe = uprobe_register(d_real_inode(path.dentry), offset, 0, &consumer);
	if (!IS_ERR(uprobe))
		return 0;
	path_put(&path);
	return PTR_ERR(uprobe);
}

static int __init fpfloor_init(void)
{
	if (program)
		return probe_program();
	if (period) {
		start_timer();
		return 0;
	}
	if (calls)
		tracepoint = "sys_enter";
	if (tracepoint) {
		for_each_kernel_tracepoint(find, NULL);
		if (other && tracepoint_probe_register(other, returns, NULL))
			return -ENOMEM;
		return point ? tracepoint_probe_register(point, reached, NULL) : -ENOENT;
	}
	if (traced) {
		int result = ftrace_set_filter_ip(&ops, traced, 0, 0);

		return result ?: register_ftrace_function(&ops);
	}
	if (followed) {
		if (words)
			exits.entry_handler = (fprobe_entry_cb)begins;
		exits.entry_data_size = words * sizeof(long);
		return register_fprobe_ips(&exits, &followed, 1);
	}
	if (deep) {
		tracepoint = "sys_enter";
		for_each_kernel_tracepoint(find, NULL);
		if (!point || tracepoint_probe_register(point, descends, NULL))
			return -ENOENT;
		if (!symbol)
			return 0;
	}
	return_probe.kp.symbol_name = symbol;
	probe.symbol_name = symbol;
	if (both) {
		int result = register_kretprobe(&return_probe);

		if (result)
			return result;
		result = register_kprobe(&probe);
		if (result)
			unregister_kretprobe(&return_probe);
		return result;
	}
	return ret ? register_kretprobe(&return_probe) : register_kprobe(&probe);
}

static void __exit fpfloor_exit(void)
{
	if (program) {
		uprobe_unregister_nosync(uprobe, &consumer);
		uprobe_unregister_sync();
		path_put(&path);
		return;
	}
	if (period)
		hrtimer_cancel(&timer);
	if (deep) {
		tracepoint_probe_unregister(point, descends, NULL);
		tracepoint_synchronize_unregister();
		if (symbol)
			unregister_kprobe(&probe);
		return;
	}
	if (point) {
		tracepoint_probe_unregister(point, reached, NULL);
		if (other)
			tracepoint_probe_unregister(other, returns, NULL);
		tracepoint_synchronize_unregister();
		return;
	}
	if (traced) {
		unregister_ftrace_function(&ops);
		ftrace_free_filter(&ops);
		return;
	}
	if (followed)
		unregister_fprobe(&exits);
	if (ret || both)
		unregister_kretprobe(&return_probe);
	if (symbol && !ret)
		unregister_kprobe(&probe);
}

module_init(fpfloor_init);
module_exit(fpfloor_exit);
MODULE_DESCRIPTION("The least that a probe costs");
MODULE_LICENSE("GPL");
