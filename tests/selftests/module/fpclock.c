// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the kernel's clock and the processor's counter differ, as they do after the
 * machine slept, or was moved.  There is no way back: it cannot be unloaded.
 */

#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched/clock.h>
#include <linux/sched_clock.h>
#include <linux/stop_machine.h>
#ifdef CONFIG_X86_64
#include <asm/tsc.h>
#include <asm/x86_init.h>
#endif
#ifdef CONFIG_ARM64
#include <asm/arch_timer.h>
#endif

#ifdef CONFIG_X86_64
static int stand_still(void *milliseconds)
{
	x86_platform.save_sched_clock_state();
	mdelay(*(int *)milliseconds);
	x86_platform.restore_sched_clock_state();
	return 0;
}

/* The kernel's clock can be set back only. */
static int go_ahead(void *milliseconds)
{
	return -EOPNOTSUPP;
}

static void take_over(void)
{
}
#else
/* What the kernel's clock is behind the counter. */
static u64 behind;

static u64 notrace read_behind(void)
{
	return arch_timer_read_counter() - READ_ONCE(behind);
}

static int stand_still(void *milliseconds)
{
	u64 begun = arch_timer_read_counter();

	mdelay(*(int *)milliseconds);
	WRITE_ONCE(behind, behind + arch_timer_read_counter() - begun);
	return 0;
}

static int go_ahead(void *milliseconds)
{
	WRITE_ONCE(behind, behind - arch_timer_get_cntfrq() / 1000 * *(int *)milliseconds);
	return 0;
}

static void take_over(void)
{
	sched_clock_register(read_behind, 56, arch_timer_get_cntfrq());
}
#endif

/* Milliseconds for which the kernel's clock stands still while the counter does not. */
static int set_asleep(const char *text, const struct kernel_param *param)
{
	int milliseconds, error = kstrtoint(text, 0, &milliseconds);
	u64 begun = local_clock();

	if (!error)
		error = stop_machine(stand_still, &milliseconds, NULL);
	if (error)
		return error;
	return local_clock() - begun < milliseconds * 500000ull ? 0 : -EOPNOTSUPP;
}

/* Milliseconds by which the kernel's clock is set ahead of the counter. */
static int set_reset(const char *text, const struct kernel_param *param)
{
	int milliseconds, error = kstrtoint(text, 0, &milliseconds);

	return error ?: stop_machine(go_ahead, &milliseconds, NULL);
}

/* Makes the kernel leave the counter. */
static int set_unstable(const char *text, const struct kernel_param *param)
{
#ifdef CONFIG_X86_64
	mark_tsc_unstable("a test");
	return 0;
#else
	return -EOPNOTSUPP;
#endif
}

static const struct kernel_param_ops asleep_ops = { .set = set_asleep };
module_param_cb(asleep, &asleep_ops, NULL, 0200);
static const struct kernel_param_ops reset_ops = { .set = set_reset };
module_param_cb(reset, &reset_ops, NULL, 0200);
static const struct kernel_param_ops unstable_ops = { .set = set_unstable };
module_param_cb(unstable, &unstable_ops, NULL, 0200);

static int __init fpclock_init(void)
{
	take_over();
	return 0;
}
module_init(fpclock_init);

MODULE_DESCRIPTION("Clocks that differ");
MODULE_LICENSE("GPL");
