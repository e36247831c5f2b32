// SPDX-License-Identifier: GPL-2.0
/* Calls of the module when the kernel oopses or panics. */

#include <linux/kdebug.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>

#include "helpers.h"

static void (*callback)(void *data, bool panics);
static void *callback_data;

static int at_panic(struct notifier_block *block, unsigned long event, void *message)
{
	callback(callback_data, true);
	return NOTIFY_DONE;
}

static int at_oops(struct notifier_block *block, unsigned long event, void *args)
{
	/* Other notifications are breakpoints and the like. */
	if (event == DIE_OOPS)
		callback(callback_data, false);
	return NOTIFY_DONE;
}

static struct notifier_block panic_block = {
	.notifier_call = at_panic,
	.priority = INT_MAX - 1,
};

static struct notifier_block oops_block = {
	.notifier_call = at_oops,
	.priority = INT_MAX - 1,
};

int ferroprobe_oops_begin(void (*call)(void *data, bool panics), void *data)
{
	int result;

	callback = call;
	callback_data = data;
	result = register_die_notifier(&oops_block);
	if (result)
		return result;
	result = atomic_notifier_chain_register(&panic_notifier_list, &panic_block);
	if (result)
		unregister_die_notifier(&oops_block);
	return result;
}

void ferroprobe_oops_end(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_block);
	unregister_die_notifier(&oops_block);
}
