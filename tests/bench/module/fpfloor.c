// SPDX-License-Identifier: GPL-2.0
/*
 * A probe that does nothing: what every tool pays for a hit, whatever it does.
 *
 * Parameters: symbol, and ret=1 for a probe of the function's return.
 */

#include <linux/kprobes.h>
#include <linux/module.h>

static char *symbol;
module_param(symbol, charp, 0);

static bool ret;
module_param(ret, bool, 0);

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

static int __init fpfloor_init(void)
{
	if (ret) {
		return_probe.kp.symbol_name = symbol;
		return register_kretprobe(&return_probe);
	}
	probe.symbol_name = symbol;
	return register_kprobe(&probe);
}

static void __exit fpfloor_exit(void)
{
	if (ret)
		unregister_kretprobe(&return_probe);
	else
		unregister_kprobe(&probe);
}

module_init(fpfloor_init);
module_exit(fpfloor_exit);
MODULE_DESCRIPTION("The least that a probe costs");
MODULE_LICENSE("GPL");
