// SPDX-License-Identifier: GPL-2.0
/* The other one of the two functions of one name. */

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>

#include "fptwins.h"

static noinline int fptwins_twin(int value)
{
	asm volatile("" : "+r"(value));
	return value + 2;
}

int fptwins_set_second(const char *text, const struct kernel_param *param)
{
	int value, error = kstrtoint(text, 0, &value);

	if (error)
		return error;
	return fptwins_twin(value) == value + 2 ? 0 : -EINVAL;
}
