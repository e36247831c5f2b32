// SPDX-License-Identifier: GPL-2.0
/*
 * An unwinder for x86 kernels without ORC: it follows the frame pointers.
 *
 * Each function has a frame record of two words, to which its frame pointer points: the frame
 * pointer of the caller, and the return address.  Where an interrupt or an exception has saved
 * registers, the next frame pointer is their address plus one.
 *
 * The kernel's unwinder does the same, but checks each word several times, and prints a warning
 * about a stack that leads nowhere.  This one ends there, with what was read so far.  What only the
 * kernel knows is left to its unwinder: the stacks of exceptions, and the return addresses that the
 * function graph tracer has replaced, of a stack that was followed to its end before.
 */

#include <linux/llist.h>
#include <linux/rethook.h>
#include <linux/sched/task_stack.h>

#include "../helpers.h"
#include "unwind_check.h"
#include "unwind_x86.h"

#define RECORD_SIZE 16

static struct ferroprobe_stack_symbols known;

void ferroprobe_stack_learn(struct ferroprobe_stack_symbols symbols)
{
	/* All of the kernel's image, if the kernel does not tell. */
	if (symbols.text_end <= symbols.text) {
		symbols.text = __START_KERNEL_map;
		symbols.text_end = MODULES_VADDR;
	}
	WRITE_ONCE(known.trampoline, symbols.trampoline);
	WRITE_ONCE(known.graph_return, symbols.graph_return);
	WRITE_ONCE(known.start, symbols.start);
	WRITE_ONCE(known.start_end, symbols.start_end);
	WRITE_ONCE(known.text, symbols.text);
	WRITE_ONCE(known.text_end, symbols.text_end);
}

void ferroprobe_stack_forget(void)
{
}

struct walk {
	/* The frame pointer of the next frame. */
	u64 fp;
	/* The lowest address of the next record on this stack, and the end of the stack. */
	u64 low;
	u64 end;
	/* The word of the address that was found last; 0 if no function returns to that. */
	u64 slot;
	/* Whether the walk has ended where a stack ends. */
	bool is_whole;
#ifdef CONFIG_RETHOOK
	/* The last call that was found among those that kretprobes follow. */
	struct llist_node *call;
#endif
};

/* Returns whether a function can be there: in the kernel, or in a module or in generated code. */
static __always_inline bool is_code(u64 address)
{
	u64 text = READ_ONCE(known.text), start = READ_ONCE(known.start);

	return likely(address - text < READ_ONCE(known.text_end) - text) ||
	       address - MODULES_VADDR < MODULES_END - MODULES_VADDR ||
	       address - start < READ_ONCE(known.start_end) - start;
}

/*
 * Returns whether @size bytes at @at can be the next record: on the stack of the last one, or on
 * the task's stack if that was the stack of an interrupt.
 */
static __always_inline bool has_record(struct walk *walk, u64 at, u64 size)
{
	u64 task;

	if (unlikely(at & 7))
		return false;
	if (likely(at >= walk->low && at <= walk->end - size))
		return true;
	task = (u64)task_stack_page(current);
	if (walk->end == task + THREAD_SIZE || at - task > THREAD_SIZE - size)
		return false;
	walk->end = task + THREAD_SIZE;
	return true;
}

/* Returns the true return address where @address is read from @slot. */
static __always_inline u64 resolve(struct walk *walk, u64 address, u64 slot)
{
#ifdef CONFIG_RETHOOK
	u64 trampoline = READ_ONCE(known.trampoline);

	if (unlikely(address == trampoline)) {
		struct llist_node *node = walk->call;

		/* The list of the current task changes on this CPU only. */
		node = node ? node->next : current->rethooks.first;
		for (; node; node = node->next) {
			struct rethook_node *call = container_of(node, struct rethook_node, llist);

			/* Of two kretprobes, one returns to the trampoline of the other. */
			if (call->frame == slot && call->ret_addr != trampoline) {
				walk->call = node;
				return call->ret_addr;
			}
		}
	}
#endif
	return address;
}

/* As next(), behind registers that an interrupt or an exception has saved. */
static __always_inline bool next_of_regs(struct walk *walk, u64 *address)
{
	const struct pt_regs *regs = (const struct pt_regs *)(walk->fp - 1);

	if (!has_record(walk, (u64)regs, sizeof(*regs)))
		return false;
	*address = stack_word((u64)&regs->ip);
	/* The last ones are the user's, or none. */
	if (stack_word((u64)&regs->cs) & 3 || !*address) {
		walk->is_whole = true;
		return false;
	}
	walk->fp = stack_word((u64)&regs->bp);
	walk->low = (u64)(regs + 1);
	walk->slot = 0;
	/* Of a kretprobe where its function returns: as the kernel's unwinder, end there. */
	return *address != READ_ONCE(known.trampoline) && is_code(*address);
}

/* Finds the next address; returns false at the end. */
static __always_inline bool next(struct walk *walk, u64 *address)
{
	u64 at = walk->fp;

	if (unlikely(at & 1))
		return next_of_regs(walk, address);
	if (unlikely(!has_record(walk, at, RECORD_SIZE))) {
		walk->is_whole = !at;
		return false;
	}
	walk->fp = stack_word(at);
	walk->low = at + RECORD_SIZE;
	walk->slot = at + sizeof(u64);
	*address = resolve(walk, stack_word(walk->slot), walk->slot);
	return likely(is_code(*address));
}

/*
 * Leaves the rest of a stack to the kernel's unwinder, behind @count frames.  The address that it
 * finds first is the last one of @walk.  A stack that does not lead to its end is left as it is.
 */
static noinline u32 leave(u64 *to, u32 count, u32 room, struct start start, struct walk walk)
{
	u64 slot = walk.slot, address;

	while (next(&walk, &address))
		;
	if (!walk.is_whole)
		return count;
	ferroprobe_unwind_handed_over(count ? get_unaligned(to + count - 1) : start.code);
	start.has_no_record = start.has_no_record && slot == start.sp;
	if (!start.has_no_record)
		start.bp = start.sp = slot - sizeof(u64);
	return ferroprobe_unwind_by_kernel(to, count, room, &start);
}

static __always_inline u32 unwind(u64 *to, u32 room, struct start start)
{
	struct walk walk = { .fp = start.bp, .low = start.sp, .end = limit_of_stack(start.sp) };
	u64 *out = to, *limit = to + room;
	u64 address = start.code;

	if (unlikely(!IS_ENABLED(CONFIG_FRAME_POINTER) || !walk.end || start.sp & 7))
		return ferroprobe_unwind_by_kernel(to, 0, room, &start);
	if (!start.is_here) {
		if (unlikely(!room))
			return 0;
		put_unaligned(address, out++);
	}
	if (start.has_no_record) {
		walk.slot = start.sp;
		address = resolve(&walk, stack_word(start.sp), start.sp);
		walk.low += sizeof(u64);
		if (!is_code(address))
			return out - to;
	} else if (!next(&walk, &address)) {
		return out - to;
	}
	do {
		if (unlikely(address == READ_ONCE(known.graph_return) && walk.slot))
			return leave(to, out - to, room, start, walk);
		if (start.is_here && is_plumbing(address, start.skip, start.skip_size, out - to)) {
			out = to;
		} else {
			if (unlikely(out == limit))
				return room | FERROPROBE_STACK_CUT;
			put_unaligned(address, out++);
		}
	} while (next(&walk, &address));
	return out - to;
}

u32 ferroprobe_unwind(u64 *to, u32 room, u64 code, u64 sp, u64 bp, const struct pt_regs *first)
{
	return unwind(to, room, (struct start){ .code = code, .sp = sp, .bp = bp, .first = first });
}

u32 ferroprobe_unwind_from(u64 *to, u32 room, const struct start *start)
{
	return unwind(to, room, *start);
}
