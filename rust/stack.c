// SPDX-License-Identifier: GPL-2.0
/*
 * The stacks of probed code.  They begin with the probed code itself: what the kernel has
 * put on the stack to call the probe is never among the frames.
 */

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#ifdef CONFIG_X86_64
#include <asm/unwind.h>
#else
#include <asm/pointer_auth.h>
#endif

#include "helpers.h"

/* Where the addresses are written. */
struct frames {
	u64 *to;
	u32 count;
	u32 room;
};

static __always_inline bool put(struct frames *frames, u64 address)
{
	if (frames->count == frames->room)
		return false;
	put_unaligned(address, frames->to + frames->count++);
	return true;
}

/* Whether a frame of the stack that is on top of the probed code belongs to the probe. */
static __always_inline bool is_plumbing(u64 address, u64 skip, u64 skip_size)
{
	/* A return address may be just behind the function. */
	return address - 1 - skip < skip_size ||
	       within_module_mem_type(address, THIS_MODULE, MOD_TEXT);
}

/* Whether the task has a user's registers, and what they are. */
static __always_inline struct pt_regs *user_regs(void)
{
	struct pt_regs *regs = task_pt_regs(current);

	/* In an NMI the address space may be in transition. */
	if (in_nmi() || current->flags & (PF_KTHREAD | PF_USER_WORKER) || !user_mode(regs))
		return NULL;
	return regs;
}

/* What a frame pointer of a user points to. */
struct user_frame {
	u64 fp;
	u64 to;
};

/* Follows the records from @fp on, which is not below @low. */
static __always_inline void follow_user(struct frames *frames, u64 fp, u64 low)
{
	struct user_frame frame;

	while (fp >= low && !(fp & 7) && frames->count < frames->room) {
		if (copy_from_user_nofault(&frame, (void __user *)fp, sizeof(frame)))
			break;
#ifdef CONFIG_ARM64
		frame.to = ptrauth_strip_user_insn_pac(frame.to);
#endif
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
#ifdef CONFIG_ARM64
	if (!compat_user_mode(regs))
		follow_user(&frames, regs->regs[29], regs->sp);
#else
	follow_user(&frames, regs->bp, regs->sp);
#endif
	return frames.count;
}

#ifdef CONFIG_X86_64

void ferroprobe_stack_learn(u64 trampoline)
{
}

static __always_inline void unwind(struct frames *frames, struct pt_regs *regs)
{
	struct unwind_state state;
	u64 address;

	if (!put(frames, regs->ip))
		return;
	for (unwind_start(&state, current, regs, NULL); !unwind_done(&state);
	     unwind_next_frame(&state)) {
		address = unwind_get_return_address(&state);
		if (!address || !put(frames, address))
			break;
	}
}

u32 ferroprobe_stack_of_probe(void *to, u32 room, const struct pt_regs *regs, u64 ip,
			      u64 function, u64 size)
{
	struct frames frames = { to, 0, room };
	/*
	 * The registers name the address behind the breakpoint, where the next instruction may
	 * begin, with another stack.
	 */
	struct pt_regs copy = *regs;

	copy.ip = ip;
	/* Without ORC a function that has just begun has no frame yet. */
	if (!IS_ENABLED(CONFIG_UNWINDER_ORC) && ip - function <= 4) {
		put(&frames, ip);
		copy.ip = READ_ONCE(*(unsigned long *)regs->sp);
	}
	unwind(&frames, &copy);
	return frames.count;
}

u32 ferroprobe_stack_of_return(void *to, u32 room, const struct pt_regs *regs)
{
	struct frames frames = { to, 0, room };

	unwind(&frames, (struct pt_regs *)regs);
	return frames.count;
}

u32 ferroprobe_stack_of_entry(void *to, u32 room, const void *entry, u64 function)
{
	struct frames frames = { to, 0, room };
	/* ftrace saves no more of the registers that unwinding needs. */
	const struct pt_regs *regs = entry;
	struct pt_regs copy = {
		.ip = function,
		.sp = regs->sp,
		.bp = regs->bp,
		.cs = __KERNEL_CS,
	};

	if (!IS_ENABLED(CONFIG_UNWINDER_ORC)) {
		put(&frames, function);
		copy.ip = READ_ONCE(*(unsigned long *)regs->sp);
	}
	unwind(&frames, &copy);
	return frames.count;
}

u32 ferroprobe_stack_here(void *to, u32 room, u64 skip, u64 skip_size)
{
	struct frames frames = { to, 0, room };
	struct unwind_state state;
	u64 address;

	for (unwind_start(&state, current, NULL, NULL); !unwind_done(&state);
	     unwind_next_frame(&state)) {
		address = unwind_get_return_address(&state);
		if (!address)
			break;
		if (!frames.count && is_plumbing(address, skip, skip_size))
			continue;
		if (!put(&frames, address))
			break;
	}
	return frames.count;
}

#else

/*
 * The kernel exports no unwinder on arm64, but the form of its stacks is simple: x29 points
 * to a record of two words, the x29 of the caller and the return address.  A record of two
 * zeros is part of the registers that an exception has saved.
 */

/* The address to which functions return that a kretprobe follows; 0 if it is not known. */
static u64 trampoline;

void ferroprobe_stack_learn(u64 address)
{
	WRITE_ONCE(trampoline, address);
}

struct walk {
	/* The record that comes next. */
	u64 fp;
	/* No record that comes next is below it on the same stack. */
	u64 low;
#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
	/* The last call that was found among those that kretprobes follow. */
	struct llist_node *call;
#endif
};

static __always_inline bool read_word(u64 *to, u64 from)
{
	__get_kernel_nofault(to, (u64 *)from, u64, fault);
	return true;
fault:
	return false;
}

/*
 * Whether @fp may be the next record: on the stack of the last one, or on the task's, if
 * that was the stack of an interrupt.
 */
static __always_inline bool may_follow(const struct walk *walk, u64 fp)
{
	u64 task = (u64)task_stack_page(current);

	if (fp & 7)
		return false;
	if (!((fp ^ walk->low) & ~(u64)(THREAD_SIZE - 1)))
		return fp >= walk->low;
	return fp - task < THREAD_SIZE && walk->low - task >= THREAD_SIZE;
}

/* Returns where the function returns whose caller has the record @fp. */
static __always_inline u64 resolve(struct walk *walk, u64 address, u64 fp)
{
	address = ptrauth_strip_kernel_insn_pac(address);
#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
	if (unlikely(address == READ_ONCE(trampoline))) {
		struct llist_node *node = walk->call;

		/* The list of the current task changes on this CPU only. */
		node = node ? node->next : current->kretprobe_instances.first;
		for (; node; node = node->next) {
			struct kretprobe_instance *call =
				container_of(node, struct kretprobe_instance, llist);
			u64 to = (u64)call->ret_addr;

			/* Of two kretprobes, one returns to the trampoline of the other. */
			if ((u64)call->fp == fp && ptrauth_strip_kernel_insn_pac(to) != trampoline) {
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

	if (!may_follow(walk, at) || !read_word(&fp, at) || !read_word(&lr, at + 8))
		return 0;
	if (fp || lr) {
		walk->low = at + 16;
		walk->fp = fp;
		return resolve(walk, lr, fp);
	}
	/* The registers of an exception; the last ones are the user's. */
	at -= offsetof(struct pt_regs, stackframe);
	if (!read_word(&type, walk->fp + 16) || type != FRAME_META_TYPE_PT_REGS ||
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
}

/* Whether a function can return to @address: there is a call before it. */
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
 * Whether the caller of the function is known from the link register alone: the function has
 * not made its record yet, or it makes none.
 */
static bool needs_link(const struct pt_regs *regs, u64 ip, u64 function, u64 size)
{
	u64 link = ptrauth_strip_kernel_insn_pac(regs->regs[30]), saved;

	/* Up to what ftrace has put behind a landing pad. */
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
	struct walk walk = { regs->regs[29], regs->sp };

	put(&frames, ip);
	if (needs_link(regs, ip, function, size))
		put(&frames, resolve(&walk, regs->regs[30], regs->regs[29]));
	walk_on(&frames, &walk);
	return frames.count;
}

u32 ferroprobe_stack_of_return(void *to, u32 room, const struct pt_regs *regs)
{
	struct frames frames = { to, 0, room };
	struct walk walk = { regs->regs[29], regs->sp };

	put(&frames, resolve(&walk, regs->pc, regs->regs[29]));
	walk_on(&frames, &walk);
	return frames.count;
}

u32 ferroprobe_stack_of_entry(void *to, u32 room, const void *entry, u64 function)
{
	struct frames frames = { to, 0, room };
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_ARGS
	const struct __arch_ftrace_regs *regs = entry;
	struct walk walk = { regs->fp, regs->sp };

	put(&frames, function);
	put(&frames, resolve(&walk, regs->lr, regs->fp));
	walk_on(&frames, &walk);
#endif
	return frames.count;
}

noinline u32 ferroprobe_stack_here(void *to, u32 room, u64 skip, u64 skip_size)
{
	struct frames frames = { to, 0, room };
	u64 top = (u64)__builtin_frame_address(0), address;
	struct walk walk = { top, top };

	do {
		address = next(&walk);
	} while (address && is_plumbing(address, skip, skip_size));
	if (address && put(&frames, address))
		walk_on(&frames, &walk);
	return frames.count;
}

#endif
