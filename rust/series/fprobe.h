/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between series for fprobes. */

#ifndef FERROPROBE_SERIES_FPROBE_H
#define FERROPROBE_SERIES_FPROBE_H

#include <linux/fprobe.h>
#include <linux/string.h>

/*
 * In 6.12, an fprobe that was unregistered, or refused, has pointers to what ftrace_free_filter() has
 * freed.
 */
static inline void ferroprobe_fprobe_renew(struct fprobe *fprobe)
{
#ifdef HAVE_fprobe_has_ops
	memset(&fprobe->ops, 0, sizeof(fprobe->ops));
#endif
}

#ifndef MAX_FPROBE_DATA_SIZE_WORD
/* An fprobe of 6.13 and before keeps as much as is wanted; later ones have this limit. */
#define MAX_FPROBE_DATA_SIZE_WORD 15
#endif

#endif
