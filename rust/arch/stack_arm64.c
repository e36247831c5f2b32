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

void ferroprobe_stack_learn(struct ferroprobe_stack_symbols symbols)
{
	WRITE_ONCE(trampoline, symbols.trampoline);
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

/* Reads a word of a stack that is in use, and so is there. */
static __always_inline u64 stack_word(u64 from)
{
	return READ_ONCE_NOCHECK(*(u64 *)from);
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

/* Returns the next address, 0 at the end. */
static __always_inline u64 next(struct walk *walk)
{
	u64 at = walk->fp, fp, lr, type;

	if (unlikely(!has_record(walk)))
		return 0;
	fp = stack_word(at);
	lr = stack_word(at + 8);
	if (likely(fp || lr)) {
		walk->low = at + RECORD_SIZE;
		walk->fp = fp;
		return resolve(walk, lr, fp);
	}
	/* The registers of an exception; the last ones are the user's. */
	at -= offsetof(struct pt_regs, stackframe);
	if (!read_word(&type, walk->fp + 16) || !ferroprobe_is_exception(type) ||
	    !read_word(&lr, at + offsetof(struct pt_regs, pc)) ||
	    !read_word(&fp, at + offsetof(struct pt_regs, regs[29])))
		return 0;
	walk->low = at + sizeof(struct pt_regs);
	walk->fp = fp;
	return lr;
}

static __always_inline void walk_on(struct frames *frames, struct walk *walk)
{
	u64 address;

	while ((address = next(walk)) && put(frames, address))
		;
	frames->is_cut = address;
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

u32 ferroprobe_stack_of_probe(void *to, u32 room, const struct pt_regs *regs, u64 ip,
			      u64 function, u64 size)
{
	struct frames frames = { to, 0, room };
	struct walk walk = walk_from(regs->regs[29], regs->sp);

	put(&frames, ip);
	if (needs_link(regs, ip, function, size))
		put(&frames, resolve(&walk, regs->regs[30], regs->regs[29]));
	walk_on(&frames, &walk);
	return followed(&frames);
}

u32 ferroprobe_stack_of_return(void *to, u32 room, const struct pt_regs *regs)
{
	struct frames frames = { to, 0, room };
	struct walk walk = walk_from(regs->regs[29], regs->sp);

	put(&frames, resolve(&walk, regs->pc, regs->regs[29]));
	walk_on(&frames, &walk);
	return followed(&frames);
}

u32 ferroprobe_stack_of_entry(void *to, u32 room, const void *entry, u64 function)
{
	struct frames frames = { to, 0, room };
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_ARGS
	const struct __arch_ftrace_regs *regs = entry;
	struct walk walk = walk_from(regs->fp, regs->sp);

	put(&frames, function);
	put(&frames, resolve(&walk, regs->lr, regs->fp));
	walk_on(&frames, &walk);
#endif
	return followed(&frames);
}

u32 ferroprobe_stack_of_exit(void *to, u32 room, const void *exit)
{
	struct frames frames = { to, 0, room };
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_ARGS
	/* The top of the stack is this structure: ftrace does not save the stack pointer. */
	const struct __arch_ftrace_regs *regs = exit;
	struct walk walk = walk_from(regs->fp, (u64)(regs + 1));

	put(&frames, resolve(&walk, regs->pc, regs->fp));
	walk_on(&frames, &walk);
#endif
	return followed(&frames);
}

noinline u32 ferroprobe_stack_here(void *to, u32 room, u64 skip, u64 skip_size)
{
	struct frames frames = { to, 0, room };
	u64 top = (u64)__builtin_frame_address(0), address;
	struct walk walk = walk_from(top, top);

	do {
		address = next(&walk);
		if (!address || !put_behind_probe(&frames, address, skip, skip_size))
			return followed(&frames);
	} while (frames.count <= FRAMES_OF_FTRACE);
	walk_on(&frames, &walk);
	return followed(&frames);
}
