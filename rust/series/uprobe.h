/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between series for uprobes: handlers get a word of the call, since 6.13. */

#ifndef FERROPROBE_SERIES_UPROBE_H
#define FERROPROBE_SERIES_UPROBE_H

#include <linux/types.h>

#ifdef HAVE_uprobe_passes_data
#define FERROPROBE_UPROBE_DATA , __u64 *data
#else
#define FERROPROBE_UPROBE_DATA
#endif

#endif
