// SPDX-License-Identifier: GPL-2.0
/*
 * Wrappers for inline functions and macros of the kernel, which Rust cannot call: a file for
 * each subject.
 */

#include "../helpers.h"

#include "code.c"
#include "cpu.c"
#include "fs.c"
#include "irq_work.c"
#include "mm.c"
#include "pipe.c"
#include "preempt.c"
#include "release.c"
#include "sched.c"
#include "security.c"
#include "sleep.c"
#include "time.c"
#include "wait.c"
#include "workqueue.c"
#include "../arch/counter.c"
