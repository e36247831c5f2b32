// SPDX-License-Identifier: GPL-2.0
/*
 * A program to be probed, which tells what it did.
 *
 *	fpuser where		name, address and offset in the file of what can be probed or read
 *	fpuser run COUNT	calls fpuser_add() that often, behind the static point fpuser:round; a
 *				line for each call: its arguments, its result, the text, and the
 *				address to which it returns
 *	fpuser traced		how many trace that point
 *	fpuser leave		calls a function that exits
 *	fpuser deep N		calls a function that calls itself N times
 *	fpuser forever		calls fpuser_add() until it is killed
 */

#include "sys.h"
#include "elf.h"

#define NOINLINE __attribute__((noinline, used))

struct pair {
	s64 first, second;
	const char *name;
};

struct pair fpuser_pair = { 11, -22, "the pair" };
/* Never touched by the program itself. */
const char fpuser_unread[8192] __attribute__((aligned(4096), used)) = "not read";

/* On a page that no one has touched, and that is in no file. */
char fpuser_zero[16384] __attribute__((aligned(4096), used));

NOINLINE s64 fpuser_add(s64 a, int b, const char *text, struct pair *pair)
{
	__asm__ volatile("" : : "r"(text), "r"(pair) : "memory");
	return a + b;
}

/* The kernel does not step its second instruction in programs. */
#if defined(__x86_64__)
__asm__(".globl fpuser_lock\n.type fpuser_lock, @function\nfpuser_lock:\n\tnop\n"
	"\tlock incl -4(%rsp)\n\tret\n.size fpuser_lock, .-fpuser_lock\n");
#else
__asm__(".globl fpuser_lock\n.type fpuser_lock, %function\nfpuser_lock:\n\tnop\n"
	"\tsvc #0\n\tret\n.size fpuser_lock, .-fpuser_lock\n");
#endif

/*
 * The static point fpuser:round, as SystemTap's sys/sdt.h makes it, with its counter.  That is on a
 * page of its own, as the kernel looks for it in the first writable mapping of that page of the file.
 */
unsigned short fpuser_counter[2048] __attribute__((section(".probes"), aligned(4096), used));
__asm__(".section .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n.previous\n");
#if defined(__x86_64__)
#define PLACE "-4@%2 8@%3 8@%1"
#else
#define PLACE "-4@%w2 8@%3 8@%1"
#endif

static __attribute__((always_inline)) void fpuser_round(int number, const char *text)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"
			 ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n"
			 "993: .8byte 990b, _.stapsdt.base, fpuser_counter\n"
			 ".asciz \"fpuser\"\n.asciz \"round\"\n.asciz \"" PLACE "\"\n"
			 "994: .balign 4\n.popsection\n"
			 : : "i"(0), "i"(42), "r"(number), "r"(text));
}

/* It would return the function that is called by this name. */
__asm__(".globl fpuser_chosen\n.type fpuser_chosen, %gnu_indirect_function\nfpuser_chosen:\n"
	"\tret\n.size fpuser_chosen, .-fpuser_chosen\n");

NOINLINE void fpuser_leave(int status)
{
	exit(status);
}

NOINLINE s64 fpuser_deep(s64 n)
{
	s64 below = n ? fpuser_deep(n - 1) : 0;

	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

static void where(const char *name, const void *address)
{
	print(name);
	print(" ");
	print_hex((u64)address);
	print(" ");
	print_hex(offset_of((u64)address));
	print("\n");
}

static void run(s64 count)
{
	char text[] = "text-0";

	for (s64 n = 0; n < count; n++) {
		s64 result;

		text[5] = '0' + n % 10;
		fpuser_round(-(int)n, text);
		result = fpuser_add(n << 32 | 7, -(int)n, text, &fpuser_pair);
		print_number(n << 32 | 7);
		print(" ");
		print_number(-n);
		print(" ");
		print_number(result);
		print(" ");
		print(text);
		print("\n");
	}
}

void begin(u64 *stack)
{
	char **argv = (char **)(stack + 1);
	const char *what = stack[0] > 1 ? argv[1] : "";
	s64 count = stack[0] > 2 ? number(argv[2]) : 1;

	if (same(what, "where")) {
		where("fpuser_add", fpuser_add);
		where("fpuser_leave", fpuser_leave);
		where("fpuser_deep", fpuser_deep);
		where("fpuser_pair", &fpuser_pair);
		where("fpuser_unread", fpuser_unread);
		print("fpuser_zero ");
		print_hex((u64)fpuser_zero + 4096);
		print("\n");
	} else if (same(what, "run")) {
		run(count);
	} else if (same(what, "traced")) {
		print_number(*(volatile unsigned short *)fpuser_counter);
		print("\n");
	} else if (same(what, "leave")) {
		fpuser_leave(3);
	} else if (same(what, "deep")) {
		print_number(fpuser_deep(count));
		print("\n");
	} else if (same(what, "forever")) {
		for (;;)
			fpuser_add(1, 2, "again", &fpuser_pair);
	} else {
		die("fpuser where|run|traced|leave|deep|forever", 0);
	}
	exit(0);
}
