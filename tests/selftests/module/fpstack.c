// SPDX-License-Identifier: GPL-2.0
/*
 * Functions at known depths: fpstack_50() is called by fpstack_49(), and so on up to
 * fpstack_1().  Parameters:
 *
 *   call   writing a number calls fpstack_1() so often
 *   irq    the same, from where an interrupt of fpstack_wait() calls fpstack_interrupted()
 *   deep   writing a number calls fpstack_deep() where about so many bytes of the stack are left
 *   irq_deep   the same in an interrupt
 *   lie    writing N calls fpstack_lied() while a word of the stack above has a value that leads
 *          unwinders astray: an even N changes the saved frame pointer, an odd one the return
 *          address.  Reading says how many there are
 */

#include <linux/completion.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched/task_stack.h>

#include "declare_trace.h"

DECLARE_TRACE_TP(fpstack_end, TP_PROTO(int value), TP_ARGS(value));
DEFINE_TRACE(fpstack_end_tp, TP_PROTO(int value), TP_ARGS(value));

/* A function without a frame of its own. */
noinline int fpstack_leaf(int value);
noinline __noclone int fpstack_leaf(int value)
{
	asm volatile("" : "+r"(value));
	return value ^ 1;
}

noinline int fpstack_50(int value);
noinline __noclone int fpstack_50(int value)
{
	value = fpstack_leaf(value);
	trace_fpstack_end_tp(value);
	/* Keeps the call from being the last that the function does. */
	asm volatile("" : "+r"(value));
	return value + 1;
}

#define CALLS(caller, callee)                       \
	noinline int fpstack_##caller(int value);   \
	noinline __noclone int fpstack_##caller(int value) \
	{                                           \
		value = fpstack_##callee(value + 1); \
		asm volatile("" : "+r"(value));     \
		return value + 1;                   \
	}

CALLS(49, 50) CALLS(48, 49) CALLS(47, 48) CALLS(46, 47) CALLS(45, 46)
CALLS(44, 45) CALLS(43, 44) CALLS(42, 43) CALLS(41, 42) CALLS(40, 41)
CALLS(39, 40) CALLS(38, 39) CALLS(37, 38) CALLS(36, 37) CALLS(35, 36)
CALLS(34, 35) CALLS(33, 34) CALLS(32, 33) CALLS(31, 32) CALLS(30, 31)
CALLS(29, 30) CALLS(28, 29) CALLS(27, 28) CALLS(26, 27) CALLS(25, 26)
CALLS(24, 25) CALLS(23, 24) CALLS(22, 23) CALLS(21, 22) CALLS(20, 21)
CALLS(19, 20) CALLS(18, 19) CALLS(17, 18) CALLS(16, 17) CALLS(15, 16)
CALLS(14, 15) CALLS(13, 14) CALLS(12, 13) CALLS(11, 12) CALLS(10, 11)
CALLS(9, 10) CALLS(8, 9) CALLS(7, 8) CALLS(6, 7) CALLS(5, 6)
CALLS(4, 5) CALLS(3, 4) CALLS(2, 3) CALLS(1, 2)

noinline int fpstack_deep(int value);
noinline __noclone int fpstack_deep(int value)
{
	asm volatile("" : "+r"(value));
	return value + 1;
}

/* Calls fpstack_deep() where about @left bytes are left above @end, the lowest address of the stack. */
static noinline __noclone int fpstack_fill(unsigned long end, unsigned long left)
{
	char room[192];
	int value;

	OPTIMIZER_HIDE_VAR(end);
	if ((unsigned long)room > end + left)
		value = fpstack_fill(end, left);
	else
		value = fpstack_deep(left);
	/* It is in use until then. */
	asm volatile("" : : "r"(room) : "memory");
	return value;
}

/* Bytes that are to be left where an interrupt calls fpstack_deep(); 0 to call fpstack_1(). */
static unsigned long left_in_irq;

/* What an interrupt takes of its stack, about. */
#define BEFORE_IRQ 1536

static DECLARE_COMPLETION(interrupted);

noinline void fpstack_interrupted(struct irq_work *work);
noinline __noclone void fpstack_interrupted(struct irq_work *work)
{
	/* Stacks of interrupts are as large as a task's, and always in use from the same place on. */
	if (left_in_irq)
		fpstack_fill((unsigned long)__builtin_frame_address(0) + BEFORE_IRQ - THREAD_SIZE, left_in_irq);
	else
		fpstack_1(0);
	complete(&interrupted);
}

static struct irq_work work;

/* Is interrupted while it waits. */
noinline int fpstack_wait(int value);
noinline __noclone int fpstack_wait(int value)
{
	reinit_completion(&interrupted);
	irq_work_queue(&work);
	while (!completion_done(&interrupted))
		cpu_relax();
	return value + 1;
}

noinline int fpstack_before(int value);
noinline __noclone int fpstack_before(int value)
{
	value = fpstack_wait(value);
	asm volatile("" : "+r"(value));
	return value + 1;
}

static noinline __noclone int fpstack_set_call(const char *text, const struct kernel_param *param)
{
	int count, error = kstrtoint(text, 0, &count);

	for (; !error && count > 0; count--)
		fpstack_1(0);
	return error;
}

static noinline __noclone int fpstack_set_irq(const char *text, const struct kernel_param *param)
{
	int count, error = kstrtoint(text, 0, &count);

	for (; !error && count > 0; count--)
		fpstack_before(0);
	return error;
}

static noinline __noclone int fpstack_set_deep(const char *text, const struct kernel_param *param)
{
	unsigned long left;
	int error = kstrtoul(text, 0, &left);

	/* Where a system call begins on the stack is random. */
	if (!error)
		fpstack_fill((unsigned long)task_stack_page(current), left);
	return error;
}

static int fpstack_set_irq_deep(const char *text, const struct kernel_param *param)
{
	int error = kstrtoul(text, 0, &left_in_irq);

	if (!error)
		fpstack_wait(0);
	left_in_irq = 0;
	return error;
}

noinline int fpstack_lied(int value);
noinline __noclone int fpstack_lied(int value)
{
	asm volatile("" : "+r"(value));
	return value + 1;
}

#define LIES 18

/* Calls fpstack_lied() while the frame of this function's caller is not what it was. */
static noinline __noclone int fpstack_lie(unsigned int which)
{
	unsigned long *frame = __builtin_frame_address(0);
	unsigned long stack = (unsigned long)task_stack_page(current), end = stack + THREAD_SIZE;
	unsigned long back = frame[1], kept = frame[which & 1], flags;
	const unsigned long lies[LIES] = {
		0, 1, ~0ul, 0x400000, (unsigned long)&jiffies, (unsigned int)back, back + 1,
		(unsigned long)fpstack_lie + 16, (unsigned long)frame, (unsigned long)frame - 8,
		(unsigned long)frame + 4, stack, stack - 8, end - 8, end - 16, end, end + PAGE_SIZE,
		end - sizeof(struct pt_regs),
	};
	int value;

	local_irq_save(flags);
	WRITE_ONCE(frame[which & 1], lies[which / 2]);
	value = fpstack_lied(which);
	WRITE_ONCE(frame[which & 1], kept);
	local_irq_restore(flags);
	return value;
}

static noinline __noclone int fpstack_set_lie(const char *text, const struct kernel_param *param)
{
	/* Makes the frame pointer the base of this frame. */
	unsigned long *volatile frame = __builtin_frame_address(0);
	unsigned int which;
	int error = kstrtouint(text, 0, &which);

	if (!error && which < 2 * LIES && frame)
		fpstack_lie(which);
	return error;
}

static int fpstack_get_lies(char *out, const struct kernel_param *param)
{
	return sysfs_emit(out, "%d\n", 2 * LIES);
}

static const struct kernel_param_ops lie_ops = { .set = fpstack_set_lie, .get = fpstack_get_lies };
module_param_cb(lie, &lie_ops, NULL, 0600);
static const struct kernel_param_ops call_ops = { .set = fpstack_set_call };
module_param_cb(call, &call_ops, NULL, 0200);
static const struct kernel_param_ops irq_ops = { .set = fpstack_set_irq };
module_param_cb(irq, &irq_ops, NULL, 0200);
static const struct kernel_param_ops deep_ops = { .set = fpstack_set_deep };
module_param_cb(deep, &deep_ops, NULL, 0200);
static const struct kernel_param_ops irq_deep_ops = { .set = fpstack_set_irq_deep };
module_param_cb(irq_deep, &irq_deep_ops, NULL, 0200);

static int __init fpstack_init(void)
{
	/* Also where others are run by a thread. */
	work = IRQ_WORK_INIT_HARD(fpstack_interrupted);
	return 0;
}
module_init(fpstack_init);

static void __exit fpstack_exit(void)
{
	irq_work_sync(&work);
}
module_exit(fpstack_exit);

MODULE_DESCRIPTION("Functions at known depths");
MODULE_LICENSE("GPL");
