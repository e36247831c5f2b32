// SPDX-License-Identifier: GPL-2.0
/*
 * Which unwinder walks stacks, and whether ours finds what the kernel's does.
 *
 *   echo both > /sys/module/ferroprobe/parameters/unwinder
 *   cat /sys/module/ferroprobe/parameters/stacks
 */

#include <linux/atomic.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#include "unwind_check.h"

static const char *const names[] = { "own", "kernel", "both" };

unsigned int ferroprobe_unwinder;

static int set_unwinder(const char *text, const struct kernel_param *parameter)
{
	int which = sysfs_match_string(names, text);

	if (which < 0)
		return which;
	WRITE_ONCE(ferroprobe_unwinder, which);
	return 0;
}

static int get_unwinder(char *out, const struct kernel_param *parameter)
{
	return sysfs_emit(out, "%s\n", names[READ_ONCE(ferroprobe_unwinder)]);
}

static const struct kernel_param_ops unwinder_ops = {
	.set = set_unwinder,
	.get = get_unwinder,
};
module_param_cb(unwinder, &unwinder_ops, NULL, 0644);
MODULE_PARM_DESC(unwinder, "Who walks kernel stacks: own (default), kernel, or both, to compare");

static atomic64_t handed_over, compared, different;

/* Where the last stacks were that the kernel's unwinder finished. */
#define PLACES 16
static u64 places[PLACES];

/* The first stack that differed: the addresses of both, the rest zero. */
#define KEPT 24
static u64 first_own[KEPT], first_kernel[KEPT];

void ferroprobe_unwind_handed_over(u64 code)
{
	unsigned int i;

	atomic64_inc(&handed_over);
	for (i = 0; i < PLACES && READ_ONCE(places[i]) != code; i++) {
		if (!READ_ONCE(places[i])) {
			WRITE_ONCE(places[i], code);
			return;
		}
	}
}

static void keep(u64 *to, const u64 *addresses, u32 count)
{
	u32 i;

	for (i = 0; i < count && i < KEPT; i++)
		to[i] = get_unaligned(addresses + i);
}

void ferroprobe_unwind_compare(const u64 *own, u32 own_count, const u64 *kernel, u32 kernel_count)
{
	u32 count = min_t(u32, own_count & ~FERROPROBE_STACK_CUT, MOST_COMPARED), i;

	kernel_count &= ~FERROPROBE_STACK_CUT;
	atomic64_inc(&compared);
	for (i = 0; i < count && i < kernel_count; i++) {
		if (get_unaligned(own + i) != kernel[i])
			break;
	}
	if (i == count && i == kernel_count)
		return;
	if (atomic64_inc_return(&different) > 1)
		return;
	keep(first_own, own, count);
	keep(first_kernel, kernel, kernel_count);
}

static int print(char *out, int at, const char *whose, const u64 *addresses,
		 unsigned int count)
{
	unsigned int i;

	at += sysfs_emit_at(out, at, "%s\n", whose);
	for (i = 0; i < count && addresses[i]; i++)
		at += sysfs_emit_at(out, at, " %pS\n", (void *)addresses[i]);
	return at;
}

static int get_stacks(char *out, const struct kernel_param *parameter)
{
	int at = sysfs_emit(out, "handed over: %lld\ncompared: %lld\ndifferent: %lld\n",
			    atomic64_read(&handed_over), atomic64_read(&compared),
			    atomic64_read(&different));

	at = print(out, at, "handed over at:", places, PLACES);
	if (!first_own[0] && !first_kernel[0])
		return at;
	at = print(out, at, "own:", first_own, KEPT);
	return print(out, at, "kernel:", first_kernel, KEPT);
}

static const struct kernel_param_ops stacks_ops = { .get = get_stacks };
/* Addresses of the kernel's code: only root may read them. */
module_param_cb(stacks, &stacks_ops, NULL, 0400);
MODULE_PARM_DESC(stacks, "Stacks that the kernel's unwinder had to finish, and stacks compared");
