/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What bindgen reads to make the bindings that kernel::bindings lacks; see
 * bindgen_parameters for what it takes of it.
 */

#include <linux/kprobes.h>
#include <linux/sched/clock.h>
#include "helpers.h"
