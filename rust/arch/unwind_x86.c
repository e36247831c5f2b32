// SPDX-License-Identifier: GPL-2.0
/*
 * An unwinder with a memory, on x86 with ORC.
 *
 * The kernel's unwinder looks up the rule of each frame in sorted tables, interprets it and checks
 * each word that it reads, at several hundred instructions for a frame.  But the rule of an address
 * does not change while its code is there: so this unwinder keeps the rules that it has met, one
 * word for each, and a frame takes some 25 instructions.
 *
 * A rule is learned from the kernel's unwinder itself: it takes one step on a made-up stack, each
 * word of which is marked by its place.  Where it finds the return address and the frame pointer
 * is the rule.  So this file knows nothing about the tables, of which each series may have another
 * kind, and what it learns is what the kernel would do.
 *
 * Rules are kept for addresses of the kernel and of modules, and forgotten when a module comes or
 * goes.  Generated code (BPF programs, trampolines of ftrace), rules of another form, stacks of
 * exceptions, and return addresses that were replaced (kretprobes, the function graph tracer) are
 * left to the kernel's unwinder, which goes on from the frame that was reached.
 */

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/sched/task_stack.h>
#include <asm/unwind.h>

#include "../helpers.h"
#include "unwind_check.h"
#include "unwind_x86.h"

/*
 * A rule says where the caller's stack begins, below which is the return address.  The fields,
 * from the lowest bit:
 *
 *    1  whether the caller was interrupted: its address is not behind a call, but where it goes on
 *   14  distance of the caller's stack from the base, in bytes, without the lowest bit; of the
 *       registers, for RULE_REGS; of the word that has the caller's stack, plus AT_BP_BIAS, for
 *       BASE_AT_BP
 *   12  distance of the saved frame pointer below the caller's stack, in bytes; 0: it is not saved.
 *       Not used for BASE_AT_BP: there it is saved at the frame pointer
 *    2  the base
 *    2  the kind
 *
 * The last two are 0 in nearly all rules: calls, with the stack pointer as the base.
 */
#define INTERRUPTED	1u
#define BYTES_BITS	15
#define DISTANCE	((1u << BYTES_BITS) - 8)
#define SAVED_SHIFT	BYTES_BITS
#define SAVED		((1u << 12) - 1)
#define BASE_SHIFT	(SAVED_SHIFT + 12)
#define KIND_SHIFT	(BASE_SHIFT + 2)
#define AT_BP_BIAS	(1 << (BYTES_BITS - 1))

enum base { BASE_SP, BASE_BP, BASE_AT_SP, BASE_AT_BP };
enum kind { RULE_CALL, RULE_REGS, RULE_END, RULE_NONE };

#define NO_RULE		((u32)RULE_NONE << KIND_SHIFT)
/* Whether a rule is of the usual form, and is one at all if it is what look() returns. */
#define IS_USUAL(rule)	((rule) < 1u << BASE_SHIFT)
/* The rule of the kernel's entry code: the registers of user space are above. */
#define IS_OF_ENTRY(rule) ((rule) >> BASE_SHIFT == RULE_REGS << (KIND_SHIFT - BASE_SHIFT))
/* The rule of a function with a frame pointer, such as that of the system calls. */
#define HAS_FRAME(rule)	((rule) >> BASE_SHIFT == BASE_BP)

/*
 * A table of rules: the low half of an address, and its rule.  All zero is no rule.  An entry is in
 * one of the WAYS slots of its cache line that its hash leads to, mostly in the first.
 */
#define RULES_BITS 13
#define WAYS 4
static u64 rules[1 << RULES_BITS] __aligned(64);

/*
 * The made-up stack.  Each word of its first half points to the word at the same place of the
 * second half, the words of which are numbered.
 */
#define HALF 512
static u64 made_up[2 * HALF];
#define POINTERS (made_up + HALF / 2)
#define STACK_AT (made_up + HALF + 16)
#define FRAME_AT (made_up + HALF + 320)
#define OTHER_FRAME_AT (FRAME_AT + 24)

static struct ferroprobe_stack_symbols known;
/* Whether that is set, and the made-up stack. */
static bool is_ready;
static DEFINE_MUTEX(setting);

/* Returns whether @modules is the list of modules: this one is in it. */
static bool has_this_module(struct list_head *modules)
{
	struct module *module;

	if (!modules)
		return false;
	guard(preempt)();
	list_for_each_entry_rcu(module, modules, list) {
		if (module == THIS_MODULE)
			return true;
	}
	return false;
}

void ferroprobe_stack_learn(struct ferroprobe_stack_symbols symbols)
{
	unsigned int i;

	guard(mutex)(&setting);
	if (is_ready)
		return;
	for (i = 0; i < HALF; i++) {
		made_up[i] = (u64)(made_up + HALF + i);
		made_up[HALF + i] = i + 1;
	}
	known = symbols;
	if (known.text_end < known.text)
		known.text_end = known.text;
	if (known.start_end < known.start)
		known.start_end = known.start;
	if (!has_this_module((struct list_head *)known.modules))
		known.modules = 0;
	smp_store_release(&is_ready, true);
}

/* How often rules were forgotten. */
static atomic_t forgotten;

/* Forgets all rules.  Called before the code of a module runs, and after it has run. */
void ferroprobe_stack_forget(void)
{
	unsigned int i;

	/* What is learned meanwhile is taken back: learn(). */
	atomic_inc(&forgotten);
	smp_mb__after_atomic();
	for (i = 0; i < ARRAY_SIZE(rules); i++)
		WRITE_ONCE(rules[i], 0);
}

/* The place of the marked word with that value; NULL if there is none. */
static u64 *place_of(u64 mark)
{
	return mark - 1 < HALF ? made_up + HALF + mark - 1 : NULL;
}

/* One step of the kernel's unwinder on the made-up stack.  Without a task it prints nothing. */
static bool step(struct unwind_state *state, u64 address, const u64 *sp, const u64 *bp)
{
	memset(state, 0, sizeof(*state));
	state->stack_info = (struct stack_info){
		.type = STACK_TYPE_TASK,
		.begin = (unsigned long *)made_up,
		.end = (unsigned long *)(made_up + 2 * HALF),
	};
	state->ip = address;
	state->sp = (u64)sp;
	state->bp = (u64)bp;
	state->signal = true;
	return unwind_next_frame(state);
}

/* Returns the fields of the distance and the base, or -1. */
static int distance(enum base base, u64 to, u64 from)
{
	u64 bytes = to - from;

	if (bytes & 7 || bytes > DISTANCE)
		return -1;
	return base << BASE_SHIFT | bytes;
}

/* The same for what is at @first with one frame pointer, and at @second with the other. */
static int based(u64 first, u64 second)
{
	if (first == second)
		return distance(BASE_SP, first, (u64)STACK_AT);
	if (second - first == (u64)OTHER_FRAME_AT - (u64)FRAME_AT)
		return distance(BASE_BP, first, (u64)FRAME_AT);
	return -1;
}

/* Returns the distance of the saved frame pointer in bytes, 0 if it is not saved, or -1. */
static int saved(const struct unwind_state *state, const u64 *frame)
{
	u64 *at = place_of(state->bp);
	u64 bytes;

	if (state->bp == (u64)frame)
		return 0;
	if (!at)
		return -1;
	bytes = (u64)state->sp - (u64)at;
	return bytes && bytes <= SAVED ? bytes : -1;
}

/* Whether the return address of @state is the word below the caller's stack. */
static bool is_below_stack(const struct unwind_state *state)
{
	return place_of(state->ip) == (u64 *)state->sp - 1;
}

static u32 rule_of_call(const struct unwind_state *first, const struct unwind_state *second)
{
	int where = based(first->sp, second->sp);
	int frame = saved(first, FRAME_AT);

	if (where < 0 || frame < 0 || frame != saved(second, OTHER_FRAME_AT) ||
	    !is_below_stack(first))
		return NO_RULE;
	/* What is saved is above the stack pointer. */
	if (!(where >> BASE_SHIFT) && (!where || frame > where))
		return NO_RULE;
	return RULE_CALL << KIND_SHIFT | frame << SAVED_SHIFT | where;
}

static u32 rule_of_regs(const struct unwind_state *first, const struct unwind_state *second)
{
	struct pt_regs *regs = first->regs;
	int where = based((u64)regs, (u64)second->regs);

	if (where < 0 || !first->full_regs || place_of(first->ip) != (u64 *)&regs->ip ||
	    place_of(first->sp) != (u64 *)&regs->sp || place_of(first->bp) != (u64 *)&regs->bp)
		return NO_RULE;
	return RULE_REGS << KIND_SHIFT | where;
}

/* The rule where the kernel switches back from the interrupt stack: its top has the other one. */
static u32 rule_of_switch(u64 address)
{
	struct unwind_state state, other;
	int where, frame;

	if (!step(&state, address, POINTERS, FRAME_AT) || state.regs ||
	    !step(&other, address, POINTERS + 1, FRAME_AT))
		return NO_RULE;
	where = distance(BASE_AT_SP, state.sp, (u64)(POINTERS + HALF));
	frame = saved(&state, FRAME_AT);
	if (where < 0 || frame < 0 || other.sp - state.sp != sizeof(u64) || !is_below_stack(&state))
		return NO_RULE;
	where |= state.signal ? INTERRUPTED : 0;
	return RULE_CALL << KIND_SHIFT | frame << SAVED_SHIFT | where;
}

/* The rule of a function that aligns its stack, and saves the caller's below its frame pointer. */
static u32 rule_of_aligned(u64 address)
{
	struct unwind_state state, other;
	int where;

	if (!step(&state, address, made_up, POINTERS) || state.regs || state.signal ||
	    !step(&other, address, made_up + 1, POINTERS + 1))
		return NO_RULE;
	where = distance(BASE_AT_BP, state.sp, (u64)(POINTERS + HALF) - AT_BP_BIAS);
	if (where < 0 || other.sp - state.sp != sizeof(u64) || !is_below_stack(&state) ||
	    state.bp != *POINTERS)
		return NO_RULE;
	return RULE_CALL << KIND_SHIFT | where;
}

/* Asks the kernel's unwinder for the rule of an address. */
static u32 ask(u64 address)
{
	struct unwind_state first, second;
	u32 rule;

	if (!step(&first, address, STACK_AT, FRAME_AT)) {
		if (!first.error)
			return RULE_END << KIND_SHIFT;
		rule = rule_of_switch(address);
		return rule == NO_RULE ? rule_of_aligned(address) : rule;
	}
	if (!step(&second, address, STACK_AT, OTHER_FRAME_AT))
		return NO_RULE;
	rule = first.regs ? rule_of_regs(&first, &second) : rule_of_call(&first, &second);
	return rule != NO_RULE && first.signal ? rule | INTERRUPTED : rule;
}

/* Returns whether an address is in code that stays until rules are forgotten. */
static bool is_lasting(u64 address)
{
	struct module *module;

	/* The code of the kernel's start is gone, but may be on the stack of the idle task. */
	if (address - known.text < known.text_end - known.text ||
	    address - known.start < known.start_end - known.start)
		return true;
	if (!known.modules)
		return false;
	list_for_each_entry_rcu(module, (struct list_head *)known.modules, list) {
		if (within_module_mem_type(address, module, MOD_TEXT))
			return module->state == MODULE_STATE_LIVE ||
			       module->state == MODULE_STATE_COMING;
	}
	return false;
}

/* Kernel and modules are in the last 2 GiB. */
static __always_inline bool is_of_kernel(u64 address)
{
	return address >= -1ull << 31;
}

/* Where functions return to that a kretprobe or the function graph tracer follows. */
static bool is_replaced(u64 address)
{
	return address == known.trampoline || address == known.graph_return;
}

/* Where the search for the rule of an address begins. */
static __always_inline u32 slot_of(u64 address)
{
	return hash_32(address, RULES_BITS);
}

/* Keeps a rule: in the first slot, the entry of which moves to the next way, and so on. */
static void keep(u64 entry, u32 slot)
{
	u32 way;

	for (way = 0; way < WAYS; way++) {
		if (READ_ONCE(rules[slot ^ way]) == entry)
			return;
	}
	for (way = 0; way < WAYS && entry; way++)
		entry = xchg(&rules[slot ^ way], entry);
}

static noinline u32 learn(u64 address)
{
	int before = atomic_read(&forgotten);
	u32 rule, way, slot = slot_of(address);
	u8 context;

	/* Before the look at the modules. */
	smp_mb();
	if (!smp_load_acquire(&is_ready) || !is_of_kernel(address) || !is_lasting(address))
		return NO_RULE;
	/* A return address is one more. */
	if (is_replaced(address) || is_replaced(address + 1))
		return NO_RULE;
	context = begin_unwinding();
	if (!context)
		return NO_RULE;
	rule = ask(address);
	end_unwinding(context);
	keep(address << 32 | rule, slot);
	smp_mb();
	if (atomic_read(&forgotten) == before)
		return rule;
	/* What was moved may have been forgotten, too. */
	for (way = 0; way < WAYS; way++)
		WRITE_ONCE(rules[slot ^ way], 0);
	return rule;
}

/*
 * Looks for the rule of an address of the kernel in the first slot.  What is returned is the rule
 * if its upper half is 0.
 */
static __always_inline u64 look(u64 address)
{
	return READ_ONCE(rules[slot_of(address)]) ^ address << 32;
}

/* Returns the rule of an address for which look() has returned @found. */
static noinline u32 rule_of(u64 address, u64 found)
{
	u32 way, slot = slot_of(address);

	for (way = 1; found >> 32 && way < WAYS; way++)
		found = READ_ONCE(rules[slot ^ way]) ^ address << 32;
	return found >> 32 ? learn(address) : found;
}

/* A frame: the address that its rule is looked up by, its registers, and the end of its stack. */
struct walk {
	u64 at;
	u64 sp;
	u64 bp;
	u64 end;
	/* The address of its code as it is shown; 0 behind the last frame. */
	u64 address;
};

/* Goes to the caller by a rule of any form.  Returns false if the way is not known. */
static noinline bool go_on(struct walk *walk, u32 rule)
{
	u32 kind = rule >> KIND_SHIFT & 3, from = rule >> BASE_SHIFT & 3;
	u64 end = walk->end, low = walk->sp, base = low, frame = walk->bp, to;
	u64 saved = rule >> SAVED_SHIFT & SAVED, distance = rule & DISTANCE;
	u64 task = (u64)task_stack_page(current), address;

	walk->address = 0;
	if (kind == RULE_END)
		return true;
	if (from == BASE_BP)
		base = frame;
	if (from == BASE_AT_SP) {
		/* Back to the task's stack, to what was on it at the interrupt. */
		if (end == task + THREAD_SIZE || end - low < sizeof(u64))
			return false;
		low = base = stack_word(low);
		if (base - task >= THREAD_SIZE)
			return false;
		end = task + THREAD_SIZE;
	}
	if (from == BASE_AT_BP) {
		u64 at = frame + distance - AT_BP_BIAS;

		if (at & 7 || frame & 7 || at < low || frame < low || at > end - sizeof(u64) ||
		    frame > end - sizeof(u64))
			return false;
		base = stack_word(at);
		frame = stack_word(frame);
		distance = saved = 0;
	}
	to = base + distance;
	if (to & 7)
		return false;
	if (kind == RULE_CALL) {
		if (to <= low || to > end || saved > to - low)
			return false;
		address = stack_word(to - sizeof(u64));
		if (saved)
			frame = stack_word(to - saved);
	} else {
		const struct pt_regs *regs = (const struct pt_regs *)to;

		if (kind != RULE_REGS || to < low || to > end - sizeof(*regs))
			return false;
		if (stack_word((u64)&regs->cs) & 3)
			return true;
		address = stack_word((u64)&regs->ip);
		frame = stack_word((u64)&regs->bp);
		low = to;
		to = stack_word((u64)&regs->sp);
		if (to <= low || to > end || to & 7)
			return false;
	}
	if (!is_of_kernel(address))
		return false;
	walk->at = address - 1 + (rule & INTERRUPTED);
	walk->sp = to;
	walk->bp = frame;
	walk->end = end;
	walk->address = address;
	return true;
}

/* Returns whether the registers of user space are above @sp, where the rule of the entry says. */
static __always_inline bool is_from_user(u64 sp, u64 end, u32 rule)
{
	u64 regs = sp + (rule & DISTANCE);

	return regs <= end - sizeof(struct pt_regs) &&
	       stack_word(regs + offsetof(struct pt_regs, cs)) & 3;
}

/*
 * Leaves the rest of a stack to the kernel's unwinder.  It begins with the frame whose caller is at
 * @sp, which has no rule: only from there it knows the callers of functions whose return another
 * probe follows.  That is the last frame of the @count that are written.
 */
static noinline u32 leave(u64 *to, u32 count, u32 room, struct start start, u64 sp)
{
	struct walk walk = { start.code, start.sp, start.bp, limit_of_stack(start.sp) };
	struct walk next = walk;

	while (walk.end && sp != start.sp && count) {
		u32 rule = rule_of(next.at, look(next.at));

		if (rule == NO_RULE || !go_on(&next, rule) || !next.address || next.sp == sp)
			break;
		walk = next;
	}
	ferroprobe_unwind_handed_over(walk.at);
	start.code = walk.at;
	start.sp = walk.sp;
	start.bp = walk.bp;
	return ferroprobe_unwind_by_kernel(to, count, room, &start);
}

/*
 * The words that are read by usual rules are between @sp and the end of the stack: the distance of
 * such a rule is positive, and the frame pointer is saved within it.  A frame that leads out of the
 * stack, or to no code of the kernel, is wrong, and ends the walk: the kernel's unwinder would not go
 * on either, and report it.
 *
 * It has no array that could overflow, and needs no protection of its stack.
 */
static __always_inline u32 unwind(u64 *to, u32 room, struct start start, bool skips)
{
	u64 at = start.code, address = at, sp = start.sp, bp = start.bp;
	u64 end = limit_of_stack(sp);
	u64 *out = to, *limit = to + room;

	if (unlikely(!end || sp & 7))
		return leave(to, 0, room, start, sp);
	for (;;) {
		u64 rule = look(at);

		if (unlikely(!IS_USUAL(rule))) {
			if (unlikely(rule >> 32))
				rule = rule_of(at, rule);
			if (rule == NO_RULE)
				break;
		}
		if (skips && is_plumbing(address, start.skip, start.skip_size, out - to)) {
			out = to;
		} else {
			if (unlikely(out == limit))
				return room | FERROPROBE_STACK_CUT;
			put_unaligned(address, out++);
		}
		if (likely(IS_USUAL(rule))) {
			u64 saved = rule >> SAVED_SHIFT;

			sp += rule & DISTANCE;
			if (unlikely(sp > end))
				return out - to;
			address = stack_word(sp - sizeof(u64));
			if (unlikely(!is_of_kernel(address)))
				return out - to;
			if (saved)
				bp = stack_word(sp - saved);
			at = address - 1 + (rule & INTERRUPTED);
		} else if (HAS_FRAME(rule)) {
			u64 saved = rule >> SAVED_SHIFT & SAVED, caller = bp + (rule & DISTANCE);

			if (unlikely(caller & 7 || caller <= sp || caller > end || saved > caller - sp))
				return out - to;
			sp = caller;
			address = stack_word(sp - sizeof(u64));
			if (unlikely(!is_of_kernel(address)))
				return out - to;
			if (saved)
				bp = stack_word(sp - saved);
			at = address - 1 + (rule & INTERRUPTED);
		} else if (likely(IS_OF_ENTRY(rule) && is_from_user(sp, end, rule))) {
			return out - to;
		} else {
			struct walk walk = { .sp = sp, .bp = bp, .end = end };

			if (!go_on(&walk, rule)) {
				sp = 0;
				break;
			}
			if (!walk.address)
				return out - to;
			address = walk.address;
			at = walk.at;
			sp = walk.sp;
			bp = walk.bp;
			end = walk.end;
		}
	}
	return leave(to, out - to, room, start, sp);
}

__no_stack_protector u32 ferroprobe_unwind(u64 *to, u32 room, u64 code, u64 sp, u64 bp,
					   const struct pt_regs *first)
{
	struct start start = { .code = code, .sp = sp, .bp = bp, .first = first };

	return unwind(to, room, start, false);
}

__no_stack_protector u32 ferroprobe_unwind_from(u64 *to, u32 room, const struct start *start)
{
	return unwind(to, room, *start, true);
}
