// SPDX-License-Identifier: GPL-2.0
/* Module parameters that are text. */

#include <linux/moduleparam.h>
#include <linux/module.h>
#include <linux/string.h>

#include "helpers.h"

static char *define;
/* Only root may see the probes, as in the files. */
module_param(define, charp, 0400);
MODULE_PARM_DESC(define,
	"Definitions to make and enable at load, separated by ; as in kprobe_events");

int ferroprobe_define(unsigned int at)
{
	if (!define || at >= strlen(define))
		return -1;
	return (unsigned char)define[at];
}
