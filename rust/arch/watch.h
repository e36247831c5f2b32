/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether watchpoints of the kernel can report to a handler.
 *
 * On arm64 the access comes after the report, and would be reported for ever: the kernel steps over
 * it only if the handler is its own.
 */
#ifndef FERROPROBE_ARCH_WATCH_H
#define FERROPROBE_ARCH_WATCH_H

#if defined(CONFIG_HAVE_HW_BREAKPOINT) && defined(CONFIG_X86)
#define CAN_WATCH
#endif

#endif
