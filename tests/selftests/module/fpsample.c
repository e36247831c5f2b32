// SPDX-License-Identifier: GPL-2.0
/* A module that calls functions of its own as it is loaded and on request. */

#include <linux/module.h>
#include <linux/moduleparam.h>

#include "declare_trace.h"

/* More arguments than fit into registers, of all widths. */
#define FPSAMPLE_PROTO                                                                 \
	TP_PROTO(int value, s8 narrow, u16 wide, long whole, const char *text, bool flag, \
		 u8 seventh, s64 eighth, u32 ninth, s16 tenth)
#define FPSAMPLE_ARGS \
	TP_ARGS(value, narrow, wide, whole, text, flag, seventh, eighth, ninth, tenth)

DECLARE_TRACE_TP(fpsample_called, FPSAMPLE_PROTO, FPSAMPLE_ARGS);
DEFINE_TRACE(fpsample_called_tp, FPSAMPLE_PROTO, FPSAMPLE_ARGS);

noinline int fpsample_double(int value);
noinline int fpsample_double(int value)
{
	/* Keeps the compiler from knowing the result at the call. */
	asm volatile("" : "+r"(value));
	trace_fpsample_called_tp(value, -3, 65535, -1000000000000, "a text", true, 200, -8, 9,
				 -10);
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
