// SPDX-License-Identifier: GPL-2.0
/*
 * fpstack32: become a 32-bit program, and open a file that does not exist from a function that
 * a function calls.  Prints the addresses of the frames, the innermost first, before it does.
 */

#include "sys.h"

#ifdef __x86_64__

enum { MAP_32BIT = 0x40, SIZE = 65536 };

static const u8 code[] = {
	0x31, 0xed,			/*  0: xor %ebp, %ebp */
	0xe8, 9, 0, 0, 0,		/*  2: call 16 */
	0xb8, 1, 0, 0, 0,		/*  7: mov $1, %eax (exit) */
	0x31, 0xdb,			/* 12: xor %ebx, %ebx */
	0xcd, 0x80,			/* 14: int $0x80 */
	0x55, 0x89, 0xe5,		/* 16: push %ebp; mov %esp, %ebp */
	0xe8, 2, 0, 0, 0,		/* 19: call 26 */
	0x5d, 0xc3,			/* 24: pop %ebp; ret */
	0x55, 0x89, 0xe5,		/* 26: push %ebp; mov %esp, %ebp */
	0xb8, 5, 0, 0, 0,		/* 29: mov $5, %eax (open) */
	0x31, 0xdb, 0x31, 0xc9,		/* 34: xor %ebx, %ebx; xor %ecx, %ecx */
	0xcd, 0x80,			/* 38: int $0x80 */
	0x5d, 0xc3,			/* 40: pop %ebp; ret */
};

static void print_address(u64 address)
{
	char text[24];
	int at = sizeof(text);

	text[--at] = 0;
	text[--at] = '\n';
	do {
		text[--at] = "0123456789abcdef"[address % 16];
		address /= 16;
	} while (address);
	print(text + at);
}

__attribute__((noreturn)) void begin(s64 *stack)
{
	u64 at = mmap(-1, 0, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT);

	(void)stack;
	if (at >> 32)
		die("no memory below 4 GiB", at);
	memcpy((void *)at, code, sizeof(code));
	print_address(at + 40);
	print_address(at + 24);
	print_address(at + 7);
	__asm__ volatile("mov %0, %%rsp\n\tpush $0x23\n\tpush %1\n\tlretq"
			 : : "r"(at + SIZE - 64), "r"(at) : "memory");
	__builtin_unreachable();
}

#else

__attribute__((noreturn)) void begin(s64 *stack)
{
	die("for x86_64", stack[0]);
}

#endif
