// SPDX-License-Identifier: GPL-2.0

#include <linux/cpu.h>
#include <linux/mutex.h>
#include <linux/sched/clock.h>
#include <linux/suspend.h>
#include <linux/syscore_ops.h>

/* The local_clock() at which the system went to sleep; 0 while it is awake. */
static u64 asleep_since;

u64 ferroprobe_local_clock(void)
{
	u64 since = READ_ONCE(asleep_since);

	return unlikely(since) ? since : local_clock();
}

static int fall_asleep(void *data)
{
	WRITE_ONCE(asleep_since, local_clock());
	return 0;
}

static void awake(void *data)
{
	WRITE_ONCE(asleep_since, 0);
}

/*
 * Registered after the kernel's own syscore_ops, and therefore suspended before them and
 * resumed after them.  Called on one CPU with interrupts disabled.
 */
static const struct syscore_ops sleep_ops = {
	.suspend = fall_asleep,
	.resume = awake,
};

static struct syscore sleep = {
	.ops = &sleep_ops,
};

static u64 sleeps;

static int after_sleep(struct notifier_block *block, unsigned long action, void *data)
{
	if (action == PM_POST_SUSPEND || action == PM_POST_HIBERNATION ||
	    action == PM_POST_RESTORE)
		WRITE_ONCE(sleeps, sleeps + 1);
	return NOTIFY_DONE;
}

static struct notifier_block sleep_block = {
	.notifier_call = after_sleep,
};

/* The number of watchers.  Their notifiers are registered while there is one. */
static unsigned int sleep_watchers;
static DEFINE_MUTEX(sleep_lock);

void ferroprobe_watch_sleep(void)
{
	mutex_lock(&sleep_lock);
	if (sleep_watchers++ == 0) {
		/* Fails only if the block is already registered. */
		register_pm_notifier(&sleep_block);
		register_syscore(&sleep);
	}
	mutex_unlock(&sleep_lock);
}

void ferroprobe_unwatch_sleep(void)
{
	mutex_lock(&sleep_lock);
	if (--sleep_watchers == 0) {
		unregister_syscore(&sleep);
		unregister_pm_notifier(&sleep_block);
	}
	mutex_unlock(&sleep_lock);
}

u64 ferroprobe_sleeps(void)
{
	return READ_ONCE(sleeps);
}
