/* SPDX-License-Identifier: GPL-2.0 */
/* The layout of what ftrace saves, which the Rust files of the architectures have, too. */
#ifndef FERROPROBE_ARCH_FTRACE_REGS_H
#define FERROPROBE_ARCH_FTRACE_REGS_H

#include <linux/build_bug.h>
#include <linux/ftrace.h>

#if defined(CONFIG_DYNAMIC_FTRACE) && defined(CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS)
#ifdef CONFIG_ARM64
static_assert(offsetof(struct __arch_ftrace_regs, fp) == 80);
static_assert(offsetof(struct __arch_ftrace_regs, pc) == 104);
#else
static_assert(offsetof(struct __arch_ftrace_regs, regs) == 0);
#endif
#endif

#endif
