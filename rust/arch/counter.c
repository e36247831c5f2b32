// SPDX-License-Identifier: GPL-2.0

#include <linux/kallsyms.h>
#include <linux/string.h>
#ifdef CONFIG_X86_64
#include <asm/tsc.h>
#endif
#ifdef CONFIG_ARM64
#include <clocksource/arm_arch_timer.h>
#include <asm/arch_timer.h>
#include <asm/virt.h>
#endif

u64 ferroprobe_counter_hertz(void)
{
#if defined(CONFIG_X86_64)
	return check_tsc_unstable() ? 0 : tsc_khz * 1000ull;
#elif defined(CONFIG_ARM64)
	char name[KSYM_SYMBOL_LEN];

	/* The kernel uses another function if the plain read may return wrong values. */
	sprint_symbol_no_offset(name, (unsigned long)arch_timer_read_counter);
	if (!strcmp(name, "arch_counter_get_cntvct"))
		return arch_timer_get_cntfrq();
	/*
	 * A KVM host uses the physical counter.  The virtual counter equals it if the
	 * kernel runs at EL2; at EL1 it has the offset of the virtual machine that the
	 * CPU runs, or was about to run.
	 */
	if (!strcmp(name, "arch_counter_get_cntpct") && is_kernel_in_hyp_mode())
		return arch_timer_get_cntfrq();
	return 0;
#else
	return 0;
#endif
}
