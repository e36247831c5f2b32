// SPDX-License-Identifier: GPL-2.0
/*
 * A module with two functions of one name, one in each of its source files: writing a number
 * to the parameter "first" or "second" calls one of them with it. Another function has the name
 * of one of the kernel: "third" calls it.
 */

#include <linux/module.h>
#include <linux/moduleparam.h>

#include "fptwins.h"

static noinline int fptwins_twin(int value)
{
	/* Keeps the compiler from knowing the result at the call. */
	asm volatile("" : "+r"(value));
	return value + 1;
}

static noinline int kernel_init(int value)
{
	asm volatile("" : "+r"(value));
	return value + 3;
}

static int set_first(const char *text, const struct kernel_param *param)
{
	int value, error = kstrtoint(text, 0, &value);

	if (error)
		return error;
	return fptwins_twin(value) == value + 1 ? 0 : -EINVAL;
}

static int set_third(const char *text, const struct kernel_param *param)
{
	int value, error = kstrtoint(text, 0, &value);

	if (error)
		return error;
	return kernel_init(value) == value + 3 ? 0 : -EINVAL;
}

static const struct kernel_param_ops first_ops = { .set = set_first };
module_param_cb(first, &first_ops, NULL, 0200);
static const struct kernel_param_ops second_ops = { .set = fptwins_set_second };
module_param_cb(second, &second_ops, NULL, 0200);
static const struct kernel_param_ops third_ops = { .set = set_third };
module_param_cb(third, &third_ops, NULL, 0200);

MODULE_DESCRIPTION("Two functions of one name");
MODULE_LICENSE("GPL");
