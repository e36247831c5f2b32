/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between series for the frame records of arm64. */

#ifndef FERROPROBE_SERIES_FRAME_ARM64_H
#define FERROPROBE_SERIES_FRAME_ARM64_H

#include <asm/stacktrace.h>

/*
 * Returns whether the @type behind a record without addresses says that it is among the registers
 * of an exception.  In 6.12 there is no type: such a record has the addresses of what was
 * interrupted, and none at the last, the user's.
 */
static inline bool ferroprobe_is_exception(u64 type)
{
#ifdef FRAME_META_TYPE_PT_REGS
	return type == FRAME_META_TYPE_PT_REGS;
#else
	return false;
#endif
}

#endif
