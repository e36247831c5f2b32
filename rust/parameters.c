// SPDX-License-Identifier: GPL-2.0
/* Parameters of the module that are text. */

#include <linux/moduleparam.h>
#include <linux/module.h>
#include <linux/string.h>

#include "helpers.h"

static char *define;
module_param(define, charp, 0444);
MODULE_PARM_DESC(define,
	"Definitions to make and enable at load, separated by ; as in kprobe_events");

int ferroprobe_define(unsigned int at)
{
	if (!define || at >= strlen(define))
		return -1;
	return (unsigned char)define[at];
}
