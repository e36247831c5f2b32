// SPDX-License-Identifier: GPL-2.0
/*
 * The stacks of probed code on arm64.
 *
 * The kernel exports only a walk that begins in the handler, so this file follows the records of
 * the frames itself, from the registers of the hit, by reads that may fault, within the stacks of
 * the task and of the interrupt.  A function that has not made its record yet, or makes none, is
 * known by its link register, which then is an address outside of the function, behind a call,
 * and not the one in the record.  Calls that kretprobes follow are looked up in the task's list
 * of them.
 */

#include <linux/kprobes.h>
#include <linux/stacktrace.h>

#include "../series/frame_arm64.h"
#include "../stack.h"
#include "unwind_check.h"
#include "unwind_guard.h"

u32 ferroprobe_stack_of_user(void *to, u32 room)
{
	struct frames frames = { to, 0, room };
	struct pt_regs *regs = user_regs();

	if (!regs)
		return 0;
	put(&frames, instruction_pointer(regs));
	if (!compat_user_mode(regs))
		follow_user(&frames, regs->regs[29], regs->sp);
	return frames.count;
}

/*
 * The kernel exports no unwinder on arm64, but its frame records are simple: x29 points to two
 * words, the x29 of the caller and the return address.  A record of two zeros is part of the
 * registers that an exception has saved.
 */

/* The address to which functions that a kretprobe follows return; 0 if it is not known. */
static u64 trampoline;
/* The address to which functions return that the function graph or an fprobe follows; likewise. */
static u64 graph_return;

void ferroprobe_stack_learn(struct ferroprobe_stack_symbols symbols)
{
	WRITE_ONCE(trampoline, symbols.trampoline);
	WRITE_ONCE(graph_return, symbols.graph_return);
}

void ferroprobe_stack_forget(void)
{
}

#define RECORD_SIZE 16

struct walk {
	/* The next frame record. */
	u64 fp;
	/* The lowest and the highest address of the next record, if that is on the same stack. */
	u64 low;
	u64 high;
	/* The value of the variable graph_return. */
	u64 graph_return;
	/* Whether it was met: only the kernel knows where that function returns to. */
	bool is_handed_over;
#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
	/* The value of the variable trampoline, read once for all frames. */
	u64 trampoline;
	/* The last call that was found among those that kretprobes follow. */
	struct llist_node *call;
#endif
};

/* Returns the highest address of a record on the stack that @within belongs to. */
static __always_inline u64 highest(u64 within)
{
	return (within | (THREAD_SIZE - 1)) + 1 - RECORD_SIZE;
}

static __always_inline struct walk walk_from(u64 fp, u64 low)
{
	return (struct walk){
		.fp = fp,
		.low = low,
		.high = highest(low),
		.graph_return = READ_ONCE(graph_return),
#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
		.trampoline = READ_ONCE(trampoline),
#endif
	};
}

static __always_inline bool read_word(u64 *to, u64 from)
{
	__get_kernel_nofault(to, (u64 *)from, u64, fault);
	return true;
fault:
	return false;
}

/* Reads two words of a stack that is in use, and so is there. */
static __always_inline void stack_words(u64 from, u64 *first, u64 *second)
{
	asm volatile("ldp %0, %1, %2"
		     : "=&r" (*first), "=r" (*second)
		     : "Q" (*(const u64 (*)[2])from));
}

/*
 * Returns whether there is the next record: on the stack of the last record, or on the task's stack
 * if the last record was on the stack of an interrupt.
 */
static __always_inline bool has_record(struct walk *walk)
{
	u64 at = walk->fp, task;

	if (unlikely(at & 7))
		return false;
	if (likely(at >= walk->low && at <= walk->high))
		return true;
	/* The compiler must not load it for each frame. */
	task = (u64)READ_ONCE(current->stack);
	if (walk->high == highest(task) || at - task > THREAD_SIZE - RECORD_SIZE)
		return false;
	walk->high = highest(task);
	return true;
}

/* Returns the return address of a function whose caller has the record @fp. */
static __always_inline u64 resolve(struct walk *walk, u64 address, u64 fp)
{
	address = ptrauth_strip_kernel_insn_pac(address);
#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
	if (unlikely(address == walk->trampoline)) {
		struct llist_node *node = walk->call;

		/* The list of the current task changes on this CPU only. */
		node = node ? node->next : current->kretprobe_instances.first;
		for (; node; node = node->next) {
			struct kretprobe_instance *call =
				container_of(node, struct kretprobe_instance, llist);
			u64 to = (u64)call->ret_addr;

			/* Of two kretprobes, one returns to the trampoline of the other. */
			if ((u64)call->fp == fp && ptrauth_strip_kernel_insn_pac(to) != walk->trampoline) {
				walk->call = node;
				return ptrauth_strip_kernel_insn_pac(to);
			}
		}
	}
#endif
	return address;
}

/*
 * Returns the address in the registers of an exception, whose record is the next one and has two
 * zeros; 0 at the end: the last ones are the user's.
 */
static __always_inline u64 of_exception(struct walk *walk)
{
	u64 at = walk->fp - offsetof(struct pt_regs, stackframe), fp, pc, type;

	if (!read_word(&type, walk->fp + 16) || !ferroprobe_is_exception(type) ||
	    !read_word(&pc, at + offsetof(struct pt_regs, pc)) ||
	    !read_word(&fp, at + offsetof(struct pt_regs, regs[29])))
		return 0;
	walk->low = at + sizeof(struct pt_regs);
	walk->fp = fp;
	return pc;
}

/* Finds the next address; returns false at the end. */
static __always_inline bool next(struct walk *walk, u64 *address)
{
	u64 fp, found;

	if (unlikely(!has_record(walk)))
		return false;
	stack_words(walk->fp, &fp, &found);
	if (likely(found)) {
		walk->low = walk->fp + RECORD_SIZE;
		walk->fp = fp;
	} else {
		found = fp ? 0 : of_exception(walk);
		if (!found)
			return false;
	}
	/* An interrupt, too, may have come where a function had just returned. */
	*address = resolve(walk, found, walk->fp);
	return true;
}

/* Adds the frames that are left, at @to. */
static __always_inline void walk_on(struct frames *frames, struct walk *walk, u64 *to)
{
	u64 *end = frames->to + frames->room, address;

	while (next(walk, &address)) {
		if (unlikely(address == walk->graph_return)) {
			walk->is_handed_over = true;
			break;
		}
		if (unlikely(to == end)) {
			frames->is_cut = true;
			break;
		}
		put_unaligned(address, to++);
	}
	frames->count = to - frames->to;
}

/* The most frames of the kernel and of this module between the probed code and the comparison. */
#define MOST_OF_PROBE 32

/* The frame that ours has and the kernel's unwinder may leave out. */
enum hidden {
	NO_FRAME,
	/* What a function returns to while the kernel's handler of returns runs. */
	FIRST_FRAME,
	/* The caller that only the link register tells. */
	SECOND_FRAME,
};

DEFINE_PER_CPU(u8, ferroprobe_unwinding);

/*
 * Returns the stack of the kernel's unwinder in place of @own in @to; or ours, if both are only
 * compared.  The kernel exports only a walk that begins here: its frames count from the probed code
 * on, and what is @hidden is put in.
 */
static noinline u32 walk_otherwise(u64 *to, u32 room, u32 own, enum hidden hidden,
				   bool is_handed_over)
{
	unsigned long addresses[MOST_OF_PROBE + MOST_COMPARED];
	u32 count = own & ~FERROPROBE_STACK_CUT, all, from, i;
	bool is_compared = !is_handed_over && READ_ONCE(ferroprobe_unwinder) == UNWINDER_BOTH;
	u8 context = begin_unwinding();
	u64 first, second;

	if (unlikely(!context))
		return is_handed_over ? own | FERROPROBE_STACK_CUT : own;
	all = stack_trace_save(addresses, ARRAY_SIZE(addresses), 0);
	end_unwinding(context);
	if (!count)
		return own;
	if (is_handed_over)
		ferroprobe_unwind_handed_over(get_unaligned(to + count - 1));
	first = get_unaligned(to);
	second = count > 1 ? get_unaligned(to + 1) : 0;
	/* Of a function that ftrace has entered, it tells where ftrace returns to. */
	for (from = 0; from < all && addresses[from] - first > 4 * AARCH64_INSN_SIZE; from++)
		;
	if (from == all && hidden == FIRST_FRAME && second) {
		for (from = 1; from < all && addresses[from] != second; from++)
			;
		if (from < all)
			from--;
	}
	if (from >= all) {
		if (is_compared)
			ferroprobe_unwind_compare(to, own, NULL, 0);
		return own;
	}
	if (hidden == SECOND_FRAME && second && from &&
	    (from + 1 == all || addresses[from + 1] != second))
		addresses[from--] = second;
	addresses[from] = first;
	count = min3(all - from, room, MOST_COMPARED);
	if (is_compared) {
		ferroprobe_unwind_compare(to, own, (u64 *)addresses + from, count);
		return own;
	}
	for (i = 0; i < count; i++)
		put_unaligned((u64)addresses[from + i], to + i);
	return count | (count < all - from ? FERROPROBE_STACK_CUT : 0);
}

/*
 * Returns the result of a walk: what the parameter "unwinder" asks for.  The kernel's may leave out
 * what is @hidden.
 */
static __always_inline u32 walked(const struct frames *frames, const struct walk *walk,
				  enum hidden hidden)
{
	if (unlikely(walk->is_handed_over || READ_ONCE(ferroprobe_unwinder) != UNWINDER_OWN))
		return walk_otherwise(frames->to, frames->room, followed(frames), hidden,
				      walk->is_handed_over);
	return followed(frames);
}

/* Returns whether a function can return to @address: a call instruction precedes it. */
static bool is_behind_call(u64 address)
{
	u64 aligned = (address - 4) & ~7ull, word;
	u32 code;

	if (address & 3 || address < TASK_SIZE_MAX || !read_word(&word, aligned))
		return false;
	code = (address - 4) & 4 ? word >> 32 : word;
	/* BL; BLR, and its forms with authentication. */
	return (code & 0xfc000000) == 0x94000000 || (code & 0xfefff000) == 0xd63f0000;
}

/*
 * Returns whether only the link register tells the caller of the function: the function has not
 * made its frame record yet, or makes none.
 */
static bool needs_link(const struct pt_regs *regs, u64 ip, u64 function, u64 size)
{
	u64 link = ptrauth_strip_kernel_insn_pac(regs->regs[30]), saved;

	/* ftrace's instructions behind a landing pad end here at the latest. */
	if (ip - function <= 8)
		return true;
	/* A function that has called another one has a record. */
	if (link - function <= size)
		return false;
	if (read_word(&saved, regs->regs[29] + 8) && ptrauth_strip_kernel_insn_pac(saved) == link)
		return false;
	return link == READ_ONCE(trampoline) || is_behind_call(link);
}

/* The frames before those that have records. */
#define LEAST_ROOM 2

u32 ferroprobe_stack_of_probe(void *to, u32 room, const struct pt_regs *regs, u64 ip,
			      u64 function, u64 size)
{
	struct frames frames = { to, 0, room };
	struct walk walk = walk_from(regs->regs[29], regs->sp);
	bool is_linked = needs_link(regs, ip, function, size);
	u64 *at = to;

	if (unlikely(room < LEAST_ROOM))
		return 0;
	put_unaligned(ip, at++);
	if (is_linked)
		put_unaligned(resolve(&walk, regs->regs[30], regs->regs[29]), at++);
	walk_on(&frames, &walk, at);
	return walked(&frames, &walk, is_linked ? SECOND_FRAME : NO_FRAME);
}

u32 ferroprobe_stack_of_return(void *to, u32 room, const struct pt_regs *regs)
{
	struct frames frames = { to, 0, room };
	struct walk walk = walk_from(regs->regs[29], regs->sp);
	u64 *at = to;

	if (unlikely(room < LEAST_ROOM))
		return 0;
	put_unaligned(resolve(&walk, regs->pc, regs->regs[29]), at++);
	walk_on(&frames, &walk, at);
	return walked(&frames, &walk, NO_FRAME);
}

u32 ferroprobe_stack_of_entry(void *to, u32 room, const void *entry, u64 function)
{
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_ARGS
	struct frames frames = { to, 0, room };
	const struct __arch_ftrace_regs *regs = entry;
	struct walk walk = walk_from(regs->fp, regs->sp);
	u64 *at = to;

	if (unlikely(room < LEAST_ROOM))
		return 0;
	put_unaligned(function, at++);
	put_unaligned(resolve(&walk, regs->lr, regs->fp), at++);
	walk_on(&frames, &walk, at);
	return walked(&frames, &walk, SECOND_FRAME);
#else
	return 0;
#endif
}

u32 ferroprobe_stack_of_exit(void *to, u32 room, const void *exit)
{
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_ARGS
	struct frames frames = { to, 0, room };
	/* The top of the stack is this structure: ftrace does not save the stack pointer. */
	const struct __arch_ftrace_regs *regs = exit;
	struct walk walk = walk_from(regs->fp, (u64)(regs + 1));
	u64 *at = to;

	if (unlikely(room < LEAST_ROOM))
		return 0;
	put_unaligned(resolve(&walk, regs->pc, regs->fp), at++);
	walk_on(&frames, &walk, at);
	return walked(&frames, &walk, FIRST_FRAME);
#else
	return 0;
#endif
}

noinline u32 ferroprobe_stack_here(void *to, u32 room, u64 skip, u64 skip_size)
{
	struct frames frames = { to, 0, room };
	u64 top = (u64)__builtin_frame_address(0), address;
	struct walk walk = walk_from(top, top);

	do {
		if (!next(&walk, &address))
			return walked(&frames, &walk, NO_FRAME);
		walk.is_handed_over = frames.count && address == walk.graph_return;
		if (unlikely(walk.is_handed_over) ||
		    !put_behind_probe(&frames, address, skip, skip_size))
			return walked(&frames, &walk, NO_FRAME);
	} while (frames.count <= FRAMES_OF_FTRACE);
	walk_on(&frames, &walk, frames.to + frames.count);
	return walked(&frames, &walk, NO_FRAME);
}
