// SPDX-License-Identifier: GPL-2.0
/* Module parameters that are text. */

#include <linux/array_size.h>
#include <linux/moduleparam.h>
#include <linux/module.h>
#include <linux/string.h>

#include "helpers.h"

/* Only root may see the probes, as in the files. */
static char *define;
module_param(define, charp, 0400);
MODULE_PARM_DESC(define,
	"Definitions to make and enable at load, separated by ; as in kprobe_events");

static char *enable;
module_param(enable, charp, 0400);
MODULE_PARM_DESC(enable, "Events to enable at load, as in set_event, separated by , or ;");

static char *filter;
module_param(filter, charp, 0400);
MODULE_PARM_DESC(filter, "Filters to set at load: GROUP:EVENT FILTER, separated by ;");

static char *trigger;
module_param(trigger, charp, 0400);
MODULE_PARM_DESC(trigger, "Triggers to set at load: GROUP:EVENT TRIGGER, separated by ;");

/* In the order of FERROPROBE_PARAMETER_*. */
static char **const texts[] = { &define, &enable, &filter, &trigger };

int ferroprobe_parameter(unsigned int which, unsigned int at)
{
	const char *text = which < ARRAY_SIZE(texts) ? *texts[which] : NULL;

	if (!text || at >= strlen(text))
		return -1;
	return (unsigned char)text[at];
}
