/* SPDX-License-Identifier: GPL-2.0 */
/* Declares the tracepoint NAME_tp: newer kernels append the "_tp" themselves. */

#include <linux/tracepoint.h>

#ifdef DECLARE_TRACE_EVENT
#define DECLARE_TRACE_TP(name, proto, args) DECLARE_TRACE(name, PARAMS(proto), PARAMS(args))
#else
#define DECLARE_TRACE_TP(name, proto, args) DECLARE_TRACE(name##_tp, PARAMS(proto), PARAMS(args))
#endif
