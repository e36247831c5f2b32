// SPDX-License-Identifier: GPL-2.0

#include <linux/security.h>

int ferroprobe_kprobes_locked_down(void)
{
	return security_locked_down(LOCKDOWN_KPROBES);
}

int ferroprobe_debugfs_locked_down(void)
{
	return security_locked_down(LOCKDOWN_DEBUGFS);
}
