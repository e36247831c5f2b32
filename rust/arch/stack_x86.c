// SPDX-License-Identifier: GPL-2.0
/*
 * The stacks of probed code on x86: where a walk begins, and the unwinder of the kernel; what is
 * left of them.
 *
 * An unwinder begins with the registers of the hit, so it visits no frame between the probed
 * code and the handler.  It gets the address of the probe, not the one behind the breakpoint,
 * which the registers have: behind an instruction of one byte, such as a push, the stack is
 * another one.
 */

#include <linux/smp.h>
#include <linux/stacktrace.h>
#include <asm/cpu_entry_area.h>
#include <asm/unwind.h>

#include "../series/percpu.h"
#include "../stack.h"
#include "stack_left.h"
#include "unwind_check.h"
#include "unwind_x86.h"

/* As follow_user(), for a 32-bit program. */
static void follow_user32(struct frames *frames, u64 fp, u64 low)
{
	struct { u32 fp, to; } frame;

	while (fp >= low && !(fp & 3) && frames->count < frames->room) {
		if (copy_from_user_nofault(&frame, (void __user *)fp, sizeof(frame)))
			break;
		if (!frame.to || !put(frames, frame.to))
			break;
		low = fp + sizeof(frame);
		fp = frame.fp;
	}
}

u32 ferroprobe_stack_of_user(void *to, u32 room)
{
	struct frames frames = { to, 0, room };
	struct pt_regs *regs = user_regs();

	if (!regs)
		return 0;
	put(&frames, instruction_pointer(regs));
	if (regs->cs == __USER32_CS)
		follow_user32(&frames, regs->bp, regs->sp);
	else
		follow_user(&frames, regs->bp, regs->sp);
	return frames.count;
}

/*
 * The most bytes that the kernel's entry code may push below the registers of the task before it
 * calls the first function.
 */
#define MOST_OF_ENTRY 128

/*
 * Returns whether more frames follow the current one, without unwinding further: the current frame
 * belongs to a function, not to the kernel's entry code.
 */
static __always_inline bool has_more_frames(const struct unwind_state *state)
{
#ifdef CONFIG_UNWINDER_ORC
	return state->stack_info.type == STACK_TYPE_TASK &&
	       state->sp + MOST_OF_ENTRY < (u64)task_pt_regs(current);
#else
	return false;
#endif
}

/* Returns whether unwinding can end, after a frame that was written if @is_put. */
static __always_inline bool is_full(struct frames *frames, bool is_put,
				    const struct unwind_state *state)
{
	if (likely(frames->count < frames->room))
		return false;
	frames->is_cut = !is_put || has_more_frames(state);
	return frames->is_cut;
}

/* The address of CPU 0's pointer to the top of the interrupt stack; 0 if it is not known. */
static u64 irq_stack_top;

void ferroprobe_stack_learn_irqs(u64 variable)
{
	u64 top;

	variable = ferroprobe_irq_stack_pointer(variable);
	/* Check that the variable has the expected contents. */
	if (variable &&
	    (copy_from_kernel_nofault(&top, (void *)(variable + per_cpu_offset(raw_smp_processor_id())),
				      sizeof(top)) ||
	     !PAGE_ALIGNED(top + sizeof(u64))))
		variable = 0;
	WRITE_ONCE(irq_stack_top, variable);
}

/* Returns the end of this CPU's interrupt stack; 0 if it is not known. */
static __always_inline u64 irq_stack_end(void)
{
	u64 top = READ_ONCE(irq_stack_top);

	/* The kernel reserves the top word. */
	return top ? READ_ONCE(*(u64 *)(top + per_cpu_offset(raw_smp_processor_id()))) + sizeof(u64) : 0;
}

DEFINE_PER_CPU(u8, ferroprobe_unwinding);

/* The kernel's unwinder: adds the callers of the frame that @regs are of, unless it is in use. */
static __always_inline void unwind_callers(struct frames *frames, struct pt_regs *regs, u64 skip,
					   u64 skip_size)
{
	struct unwind_state state;
	u8 context = begin_unwinding();
	u64 address;

	if (unlikely(!context)) {
		frames->is_cut = true;
		return;
	}
	unwind_start(&state, current, regs, NULL);
	/*
	 * As behind an error: then the kernel's unwinder prints no warning.  ORC is wrong about the last
	 * instructions of return_to_handler, to which a stack leads if an interrupt comes there.
	 */
	state.error = true;
	for (; !unwind_done(&state); unwind_next_frame(&state)) {
		address = unwind_get_return_address(&state);
		if (!address ||
		    is_full(frames, put_behind_probe(frames, address, skip, skip_size), &state))
			break;
	}
	end_unwinding(context);
}

u64 ferroprobe_irq_stack_end(void)
{
	return irq_stack_end();
}

/*
 * The first frame gets all its registers: functions that align their stack need others than the
 * usual ones.
 */
u32 ferroprobe_unwind_by_kernel(u64 *to, u32 count, u32 room, const struct start *start)
{
	struct frames frames = { to, count, room };
	struct pt_regs regs;

	if (!start->is_here && !count)
		put(&frames, start->code);
	if (start->first && start->sp == start->first->sp)
		regs = *start->first;
	else
		regs = (struct pt_regs){ .sp = start->sp, .bp = start->bp, .cs = __KERNEL_CS };
	/* Then the kernel's unwinder takes the word on top of the stack for the return address. */
	regs.ip = start->has_no_record ? 0 : start->code;
	unwind_callers(&frames, &regs, start->skip, start->skip_size);
	return followed(&frames);
}

static __always_inline u32 unwind_by_own(u64 *to, u32 room, const struct start *start)
{
	if (start->is_here || start->has_no_record)
		return ferroprobe_unwind_from(to, room, start);
	return ferroprobe_unwind(to, room, start->code, start->sp, start->bp, start->first);
}

/* Walks a stack by the kernel's unwinder, or by both, to compare them; what ours finds is kept. */
static noinline u32 unwind_otherwise(u64 *to, u32 room, const struct start *start)
{
	u64 addresses[MOST_COMPARED];
	u32 own, kernel;

	if (READ_ONCE(ferroprobe_unwinder) == UNWINDER_KERNEL)
		return ferroprobe_unwind_by_kernel(to, 0, room, start);
	own = unwind_by_own(to, room, start);
	/* Nothing to compare with. */
	if (is_unwinding())
		return own;
	kernel = ferroprobe_unwind_by_kernel(addresses, 0, min_t(u32, room, MOST_COMPARED), start);
	ferroprobe_unwind_compare(to, own, addresses, kernel);
	return own;
}

static noinline u32 unwind_probe_otherwise(u64 *to, u32 room, u64 code, u64 sp, u64 bp,
					   const struct pt_regs *first)
{
	struct start start = { .code = code, .sp = sp, .bp = bp, .first = first };

	return unwind_otherwise(to, room, &start);
}

/* Writes the frame of @code, with the registers @sp and @bp, and its callers; @all has all registers. */
static __always_inline u32 unwind(u64 *to, u32 room, u64 code, u64 sp, u64 bp,
				  const struct pt_regs *all)
{
	if (likely(READ_ONCE(ferroprobe_unwinder) == UNWINDER_OWN))
		return ferroprobe_unwind(to, room, code, sp, bp, all);
	return unwind_probe_otherwise(to, room, code, sp, bp, all);
}

/* The same of a function, which without ORC has no frame yet where it begins. */
static __always_inline u32 unwind_function(u64 *to, u32 room, u64 code, u64 function, u64 sp,
					   u64 bp, const struct pt_regs *all)
{
	struct start start = {
		.code = code, .sp = sp, .bp = bp, .first = all, .has_no_record = true,
	};

	if (IS_ENABLED(CONFIG_UNWINDER_ORC) || code - function > 4)
		return unwind(to, room, code, sp, bp, all);
	if (unlikely(READ_ONCE(ferroprobe_unwinder) != UNWINDER_OWN))
		return unwind_otherwise(to, room, &start);
	return ferroprobe_unwind_from(to, room, &start);
}

/*
 * The registers name the address behind the breakpoint, where the next instruction may begin, with
 * another stack: @ip is that of the probe.
 */
u32 ferroprobe_stack_of_probe(void *to, u32 room, const struct pt_regs *regs, u64 ip,
			      u64 function, u64 size)
{
	return unwind_function(to, room, ip, function, regs->sp, regs->bp, regs);
}

u32 ferroprobe_stack_of_return(void *to, u32 room, const struct pt_regs *regs)
{
	return unwind(to, room, regs->ip, regs->sp, regs->bp, regs);
}

/* ftrace saves the registers that unwinding needs, and no others. */

u32 ferroprobe_stack_of_entry(void *to, u32 room, const void *entry, u64 function)
{
	const struct pt_regs *regs = entry;

	return unwind_function(to, room, function, function, regs->sp, regs->bp, NULL);
}

u32 ferroprobe_stack_of_exit(void *to, u32 room, const void *exit)
{
	const struct pt_regs *regs = exit;

	return unwind(to, room, regs->ip, regs->sp, regs->bp, NULL);
}

u32 ferroprobe_stack_here(void *to, u32 room, u64 skip, u64 skip_size)
{
	struct start start = { .is_here = true, .skip = skip, .skip_size = skip_size };

	asm volatile("lea (%%rip), %0\n\t"
		     "mov %%rsp, %1\n\t"
		     "mov %%rbp, %2"
		     : "=r" (start.code), "=r" (start.sp), "=r" (start.bp));
	if (unlikely(READ_ONCE(ferroprobe_unwinder) != UNWINDER_OWN))
		return unwind_otherwise(to, room, &start);
	return ferroprobe_unwind_from(to, room, &start);
}

/*
 * The bytes of the interrupt stack that an interrupt may need on top of a softirq, with the hits in
 * the interrupt itself.
 */
#define FOR_AN_INTERRUPT 3072

size_t ferroprobe_stack_left(size_t here)
{
	unsigned int cpu = raw_smp_processor_id();
	const struct cea_exception_stacks *stacks = &get_cpu_entry_area(cpu)->estacks;
	u64 top = READ_ONCE(irq_stack_top);
	size_t left;

	if (top) {
		/* The kernel reserves the top word. */
		top = READ_ONCE(*(u64 *)(top + per_cpu_offset(cpu))) + sizeof(u64);
		left = here - (top - IRQ_STACK_SIZE);
		if (left < IRQ_STACK_SIZE)
			return left > FOR_AN_INTERRUPT ? left - FOR_AN_INTERRUPT : 0;
	}
#define CHECK(stack)							\
	do {								\
		left = here - CEA_ESTACK_BOT(stacks, stack);		\
		if (left < CEA_ESTACK_SIZE(stack))			\
			return left;					\
	} while (0)
	CHECK(NMI);
	CHECK(DB);
	CHECK(MCE);
	CHECK(VC);
	CHECK(VC2);
#undef CHECK
	/*
	 * In the middle of a task switch this is the stack of the next task, which is not current
	 * yet.  Task stacks are aligned to their size, vmapped or not.  Other unknown stacks are
	 * entry stacks, which are elsewhere.
	 */
	if (top && here - CPU_ENTRY_AREA_BASE >= CPU_ENTRY_AREA_MAP_SIZE)
		return here & (THREAD_SIZE - 1);
	return 0;
}
