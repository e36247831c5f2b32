// SPDX-License-Identifier: GPL-2.0
/*
 * An unwinder with a memory, on x86 with ORC.
 *
 * The kernel's unwinder looks up the rule of each frame in sorted tables, interprets it and checks
 * each word that it reads, at several hundred instructions for a frame.  But the rule of an address
 * does not change while its code is there: so this unwinder keeps the rules that it has met, one
 * word for each, and a frame takes some 45 instructions.
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
#include "unwind_x86.h"

/*
 * A rule says where the caller's stack begins, below which is the return address.  The fields,
 * from the lowest bit:
 *
 *   12  distance of the caller's stack from the base, in words; of the registers, for RULE_REGS
 *    9  distance of the saved frame pointer below the caller's stack, in words; 0: it is not saved
 *    2  the base
 *    2  the kind
 *    1  whether the caller was interrupted: its address is not behind a call, but where it goes on
 */
#define DISTANCE	((1u << 12) - 1)
#define SAVED_SHIFT	12
#define SAVED		((1u << 9) - 1)
#define BASE_SHIFT	(SAVED_SHIFT + 9)
#define KIND_SHIFT	(BASE_SHIFT + 2)
#define INTERRUPTED	(1u << (KIND_SHIFT + 2))

enum base { BASE_SP, BASE_BP, BASE_AT_SP };
enum kind { RULE_NONE, RULE_CALL, RULE_REGS, RULE_END };

/* Nearly all rules are of calls, with the stack pointer as the base. */
#define FORM(rule)	((rule) >> BASE_SHIFT)
#define FORM_OF_MOST	(RULE_CALL << (KIND_SHIFT - BASE_SHIFT) | BASE_SP)

/* A table of rules: the low half of an address, and its rule.  All zero is no rule. */
#define RULES_BITS 12
static u64 rules[1 << RULES_BITS];

/*
 * The made-up stack.  The words of its first half point to the middle of the second half, the words
 * of which are numbered.
 */
#define HALF 512
static u64 made_up[2 * HALF];
#define POINTERS (made_up + HALF / 2)
#define LANDING (made_up + HALF + 128)
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
		made_up[i] = (u64)LANDING;
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
static int distance(enum base base, u64 to, const u64 *from)
{
	u64 words = (to - (u64)from) / sizeof(u64);

	if (to & 7 || words > DISTANCE)
		return -1;
	return base << BASE_SHIFT | words;
}

/* The same for what is at @first with one frame pointer, and at @second with the other. */
static int based(u64 first, u64 second)
{
	if (first == second)
		return distance(BASE_SP, first, STACK_AT);
	if (second - first == (u64)OTHER_FRAME_AT - (u64)FRAME_AT)
		return distance(BASE_BP, first, FRAME_AT);
	return -1;
}

/* Returns the distance of the saved frame pointer in words, 0 if it is not saved, or -1. */
static int saved(const struct unwind_state *state, const u64 *frame)
{
	u64 *at = place_of(state->bp);
	u64 words;

	if (state->bp == (u64)frame)
		return 0;
	if (!at)
		return -1;
	words = ((u64)state->sp - (u64)at) / sizeof(u64);
	return words && words <= SAVED ? words : -1;
}

static u32 rule_of_call(const struct unwind_state *first, const struct unwind_state *second)
{
	int where = based(first->sp, second->sp);
	int frame = saved(first, FRAME_AT);

	if (where < 0 || frame < 0 || frame != saved(second, OTHER_FRAME_AT) ||
	    place_of(first->ip) != (u64 *)first->sp - 1)
		return 0;
	/* What is saved is above the stack pointer. */
	if (!(where >> BASE_SHIFT) && (!where || frame > where))
		return 0;
	return RULE_CALL << KIND_SHIFT | frame << SAVED_SHIFT | where;
}

static u32 rule_of_regs(const struct unwind_state *first, const struct unwind_state *second)
{
	struct pt_regs *regs = first->regs;
	int where = based((u64)regs, (u64)second->regs);

	if (where < 0 || !first->full_regs || place_of(first->ip) != (u64 *)&regs->ip ||
	    place_of(first->sp) != (u64 *)&regs->sp || place_of(first->bp) != (u64 *)&regs->bp)
		return 0;
	return RULE_REGS << KIND_SHIFT | where;
}

/* The rule where the kernel switches back from the interrupt stack. */
static u32 rule_of_switch(u64 address)
{
	struct unwind_state state, other;
	int where, frame;

	if (!step(&state, address, POINTERS, FRAME_AT) || state.regs ||
	    !step(&other, address, POINTERS + 1, FRAME_AT))
		return 0;
	where = distance(BASE_AT_SP, state.sp, LANDING);
	frame = saved(&state, FRAME_AT);
	/* A stack pointer that was read is the same wherever it was. */
	if (where < 0 || frame < 0 || other.sp != state.sp ||
	    place_of(state.ip) != (u64 *)state.sp - 1)
		return 0;
	where |= state.signal ? INTERRUPTED : 0;
	return RULE_CALL << KIND_SHIFT | frame << SAVED_SHIFT | where;
}

/* Asks the kernel's unwinder for the rule of an address. */
static u32 ask(u64 address)
{
	struct unwind_state first, second;
	u32 rule;

	if (!step(&first, address, STACK_AT, FRAME_AT)) {
		if (!first.error)
			return RULE_END << KIND_SHIFT;
		return rule_of_switch(address);
	}
	if (!step(&second, address, STACK_AT, OTHER_FRAME_AT))
		return 0;
	rule = first.regs ? rule_of_regs(&first, &second) : rule_of_call(&first, &second);
	return rule && first.signal ? rule | INTERRUPTED : rule;
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

/* Where functions return to that a kretprobe or the function graph tracer follows. */
static bool is_replaced(u64 address)
{
	return address == known.trampoline || address == known.graph_return;
}

static noinline u32 learn(u64 address)
{
	u64 *entry = &rules[hash_32(address, RULES_BITS)];
	int before = atomic_read(&forgotten);
	u32 rule;

	/* Before the look at the modules. */
	smp_mb();
	if (!smp_load_acquire(&is_ready) || (s64)address != (s32)address || !is_lasting(address))
		return 0;
	/* A return address is one more. */
	if (is_replaced(address) || is_replaced(address + 1))
		return 0;
	rule = ask(address);
	WRITE_ONCE(*entry, address << 32 | rule);
	smp_mb();
	if (atomic_read(&forgotten) != before)
		WRITE_ONCE(*entry, 0);
	return rule;
}

/* Returns the rule of an address, 0 if there is none.  Kernel and modules are in the last 2 GiB. */
static __always_inline u32 rule_of(u64 address)
{
	u64 entry = READ_ONCE(rules[hash_32(address, RULES_BITS)]);

	if (unlikely((s64)entry >> 32 != (s64)address))
		return learn(address);
	return entry;
}

static __always_inline u64 word(u64 at)
{
	return READ_ONCE_NOCHECK(*(u64 *)at);
}

/* A walk: the frame that was reached, and its rule; what is read is below @end. */
struct walk {
	u64 sp;
	u64 bp;
	u64 end;
	u64 irqs;
	u64 task;
	/* The caller's address as it is shown; 0 at the end of the stack. */
	u64 address;
};

/* Goes to the caller by a rule of any form.  Returns false if the way is not known. */
static noinline bool go_on(struct walk *walk, u32 rule)
{
	u32 kind = FORM(rule) >> 2 & 3, from = FORM(rule) & 3;
	u64 end = walk->end, low = walk->sp, base = low, frame = walk->bp;
	u64 saved = (rule >> SAVED_SHIFT & SAVED) * sizeof(u64), to;

	walk->address = 0;
	if (kind == RULE_END)
		return true;
	if (from == BASE_BP)
		base = frame;
	if (from == BASE_AT_SP) {
		/* Back to the task's stack, to what was on it at the interrupt. */
		if (end != walk->irqs || end - low < sizeof(u64))
			return false;
		low = base = word(low);
		if (base - walk->task >= THREAD_SIZE)
			return false;
		end = walk->task + THREAD_SIZE;
	}
	to = base + (rule & DISTANCE) * sizeof(u64);
	if (to & 7)
		return false;
	if (kind == RULE_CALL) {
		if (to <= low || to > end || saved > to - low)
			return false;
		walk->address = word(to - sizeof(u64));
		if (saved)
			frame = word(to - saved);
	} else {
		const struct pt_regs *regs = (const struct pt_regs *)to;

		if (kind != RULE_REGS || to < low || to > end - sizeof(*regs))
			return false;
		if (word((u64)&regs->cs) & 3)
			return true;
		walk->address = word((u64)&regs->ip);
		frame = word((u64)&regs->bp);
		low = to;
		to = word((u64)&regs->sp);
		if (to <= low || to > end || to & 7)
			return false;
	}
	walk->end = end;
	walk->sp = to;
	walk->bp = frame;
	return true;
}

bool ferroprobe_unwind(struct frames *all, struct place *place, u64 irqs)
{
	u64 task = (u64)task_stack_page(current);
	u64 code = place->code, sp = place->sp, bp = place->bp, end = task + THREAD_SIZE;
	struct frames frames = *all;
	bool is_done = false;
	u32 rule, next;

	if (sp - task >= THREAD_SIZE) {
		end = irqs;
		if (!irqs || sp - (end - IRQ_STACK_SIZE) >= IRQ_STACK_SIZE)
			return false;
	}
	if (sp & 7)
		return false;
	for (rule = rule_of(code);; rule = next) {
		u64 address, to, frame, at;

		if (likely(FORM(rule) == FORM_OF_MOST)) {
			u32 saved = rule >> SAVED_SHIFT;

			to = sp + (rule & DISTANCE) * sizeof(u64);
			if (unlikely(to > end))
				break;
			address = word(to - sizeof(u64));
			/* The other fields are known. */
			saved -= FORM_OF_MOST << (BASE_SHIFT - SAVED_SHIFT);
			frame = saved ? word(to - saved * sizeof(u64)) : bp;
			at = address - 1;
		} else {
			struct walk walk = { sp, bp, end, irqs, task };

			if (!go_on(&walk, rule))
				break;
			address = walk.address;
			if (!address) {
				is_done = true;
				break;
			}
			to = walk.sp;
			frame = walk.bp;
			end = walk.end;
			at = rule & INTERRUPTED ? address : address - 1;
		}
		next = rule_of(at);
		if (unlikely(!FORM(next)))
			break;
		if (unlikely(!put_behind_probe(&frames, address, place->skip, place->skip_size))) {
			frames.is_cut = true;
			is_done = true;
			break;
		}
		code = at;
		sp = to;
		bp = frame;
	}
	*all = frames;
	place->code = code;
	place->sp = sp;
	place->bp = bp;
	return is_done;
}
