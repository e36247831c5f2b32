// SPDX-License-Identifier: GPL-2.0
/*
 * The program of known values that the tests of "ferroprobe define" run (tools/tests), as a module:
 * a write to its parameter runs it once.
 */

#include <linux/module.h>
#include <linux/moduleparam.h>

#include "../../../tools/tests/programs/values.c"

static int set_run(const char *text, const struct kernel_param *param)
{
	return values();
}

static const struct kernel_param_ops run_ops = { .set = set_run };
module_param_cb(run, &run_ops, NULL, 0200);

MODULE_DESCRIPTION("Variables whose values are known");
MODULE_LICENSE("GPL");
