// SPDX-License-Identifier: GPL-2.0
/* Notification of CPUs that come online, some of them for the first time. */

#include <linux/cpuhotplug.h>
#include <linux/smp.h>

#include "helpers.h"

static void (*callback)(void *data);
static void *callback_data;
static enum cpuhp_state state;

static int came(unsigned int cpu)
{
	callback(callback_data);
	return 0;
}

int ferroprobe_arrivals_begin(void (*call)(void *data), void *data)
{
	int result;

	callback = call;
	callback_data = data;
	result = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "ferroprobe:online", came, NULL);
	if (result < 0)
		return result;
	state = result;
	return 0;
}

void ferroprobe_arrivals_end(void)
{
	if (state)
		cpuhp_remove_state_nocalls(state);
	state = 0;
}

int ferroprobe_call_on(unsigned int cpu, void (*call)(void *data), void *data)
{
	return smp_call_function_single(cpu, call, data, true);
}
