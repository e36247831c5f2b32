// SPDX-License-Identifier: GPL-2.0
/* Parameters of the module that are text. */

#include <linux/moduleparam.h>
#include <linux/module.h>
#include <linux/string.h>

#include "helpers.h"

static char *define;
/* What is probed is root's, as the files are. */
module_param(define, charp, 0400);
MODULE_PARM_DESC(define,
	"Definitions to make and enable at load, separated by ; as in kprobe_events");

int ferroprobe_define(unsigned int at)
{
	if (!define || at >= strlen(define))
		return -1;
	return (unsigned char)define[at];
}
