// SPDX-License-Identifier: GPL-2.0
/* A module that calls functions of its own as it is loaded and on request. */

#include <linux/module.h>
#include <linux/moduleparam.h>

noinline int fpsample_double(int value);
noinline int fpsample_double(int value)
{
	/* Keeps the compiler from knowing the result at the call. */
	asm volatile("" : "+r"(value));
	return 2 * value;
}

static int set_value(const char *text, const struct kernel_param *param)
{
	int value, error = kstrtoint(text, 0, &value);

	if (error)
		return error;
	return fpsample_double(value) == 2 * value ? 0 : -EINVAL;
}

static const struct kernel_param_ops value_ops = { .set = set_value };
module_param_cb(value, &value_ops, NULL, 0200);

/* Only there until the module is loaded. */
static noinline __noclone int __init fpsample_begin(int value)
{
	return fpsample_double(value) == 2 * value ? 0 : -EINVAL;
}

static int __init fpsample_init(void)
{
	return fpsample_begin(21);
}
module_init(fpsample_init);

static void __exit fpsample_exit(void)
{
}
module_exit(fpsample_exit);

MODULE_DESCRIPTION("Something to be probed");
MODULE_LICENSE("GPL");
