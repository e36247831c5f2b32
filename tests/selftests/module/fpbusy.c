// SPDX-License-Identifier: GPL-2.0
/* A module that is busy in a function of its own, and that accesses variables of its own. */

#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/smp.h>

noinline void fpbusy_spin(unsigned int milliseconds);
noinline void fpbusy_spin(unsigned int milliseconds)
{
	unsigned long end = jiffies + msecs_to_jiffies(milliseconds);

	while (time_before(READ_ONCE(jiffies), end))
		asm volatile("" : : : "memory");
}

/* The variables, and room that is not watched behind each. */
u64 fpbusy_long[2];
u32 fpbusy_int[2];
u16 fpbusy_short[2];
u8 fpbusy_byte[2];

noinline void fpbusy_store(u64 value);
noinline void fpbusy_store(u64 value)
{
	WRITE_ONCE(fpbusy_long[0], value);
	WRITE_ONCE(fpbusy_int[0], value);
	WRITE_ONCE(fpbusy_short[0], value);
	WRITE_ONCE(fpbusy_byte[0], value);
	WRITE_ONCE(fpbusy_long[1], value);
	WRITE_ONCE(fpbusy_int[1], value);
	WRITE_ONCE(fpbusy_short[1], value);
	WRITE_ONCE(fpbusy_byte[1], value);
}

noinline u64 fpbusy_load(void);
noinline u64 fpbusy_load(void)
{
	return READ_ONCE(fpbusy_long[0]);
}

/* Spins for so many milliseconds. */
static int set_spin(const char *text, const struct kernel_param *param)
{
	unsigned int milliseconds;
	int error = kstrtouint(text, 0, &milliseconds);

	if (error)
		return error;
	fpbusy_spin(milliseconds);
	return 0;
}

static void store_on_cpu(void *first)
{
	fpbusy_store(*(u64 *)first + smp_processor_id());
}

/* Stores the number plus the CPU's, on one CPU after the other. */
static int set_store(const char *text, const struct kernel_param *param)
{
	unsigned int cpu;
	u64 first;
	int error = kstrtou64(text, 0, &first);

	if (error)
		return error;
	for_each_online_cpu(cpu)
		smp_call_function_single(cpu, store_on_cpu, &first, true);
	return 0;
}

/* Loads so often. */
static int set_load(const char *text, const struct kernel_param *param)
{
	unsigned int count;
	int error = kstrtouint(text, 0, &count);

	while (!error && count--)
		fpbusy_load();
	return error;
}

static const struct kernel_param_ops spin_ops = { .set = set_spin };
static const struct kernel_param_ops store_ops = { .set = set_store };
static const struct kernel_param_ops load_ops = { .set = set_load };
module_param_cb(spin, &spin_ops, NULL, 0200);
module_param_cb(store, &store_ops, NULL, 0200);
module_param_cb(load, &load_ops, NULL, 0200);

MODULE_DESCRIPTION("Something to be sampled and watched");
MODULE_LICENSE("GPL");
