// SPDX-License-Identifier: GPL-2.0
/*
 * Reads of memory that may not be mapped, with the kernel's macros that survive a
 * fault.  The kernel's own functions for this are not exported, or do much more than
 * a read of a few bytes requires.
 */

#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/uaccess.h>
#include <asm/word-at-a-time.h>

#include "arch/access.h"
#include "helpers.h"

bool ferroprobe_read_kernel(void *to, u64 from, size_t size)
{
	bool done = true;

	if (!allowed(from))
		return false;
	pagefault_disable();
	switch (size) {
	case 8:
		__get_kernel_nofault(to, (void *)from, u64, fault);
		break;
	case 4:
		__get_kernel_nofault(to, (void *)from, u32, fault);
		break;
	case 2:
		__get_kernel_nofault(to, (void *)from, u16, fault);
		break;
	case 1:
		__get_kernel_nofault(to, (void *)from, u8, fault);
		break;
	default:
		done = !copy_from_kernel_nofault(to, (void *)from, size);
	}
	pagefault_enable();
	return done;
fault:
	pagefault_enable();
	return false;
}

s64 ferroprobe_read_kernel_string(char *to, u64 from, size_t room)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	size_t done = 0;

	if (!allowed(from))
		return -EFAULT;
	pagefault_disable();
	while (done < room) {
		unsigned long word, zeros;

		/* An aligned word lies in the same page as the next byte of the string. */
		if (room - done >= sizeof(word) && (from + done) % sizeof(word) == 0) {
			__get_kernel_nofault(&word, (void *)(from + done), unsigned long, fault);
			memcpy(to + done, &word, sizeof(word));
			if (has_zero(word, &zeros, &constants)) {
				zeros = prep_zero_mask(word, zeros, &constants);
				done += find_zero(create_zero_mask(zeros)) + 1;
				break;
			}
			done += sizeof(word);
		} else {
			__get_kernel_nofault(to + done, (void *)(from + done), u8, fault);
			if (!to[done++])
				break;
		}
	}
	pagefault_enable();
	return done;
fault:
	pagefault_enable();
	return -EFAULT;
}

s64 ferroprobe_read_user_string(char *to, u64 from, size_t room)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	const char __user *at = (const char __user *)from;
	unsigned long word, zeros;
	size_t done = 0, words = 0;
	char byte;

	/* In an NMI the current address space may be in transition. */
	if (in_nmi())
		return -EAGAIN;
	pagefault_disable();
	/*
	 * Behind the first byte, reads go upwards, and stop at the end of the address range of
	 * users.
	 */
	if (!user_read_access_begin(at, 1)) {
		pagefault_enable();
		return -EFAULT;
	}
	if (IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS))
		words = round_down(room, sizeof(word));
	for (; done != words; done += sizeof(word)) {
		unsafe_get_user(word, (unsigned long __user *)(at + done), bytes);
		*(unsigned long *)(to + done) = word;
		if (has_zero(word, &zeros, &constants)) {
			zeros = create_zero_mask(prep_zero_mask(word, zeros, &constants));
			done += find_zero(zeros) + 1;
			goto end;
		}
	}
	/* The word may cross into a page that is not mapped. */
bytes:
	while (done < room) {
		unsafe_get_user(byte, at + done, fault);
		to[done++] = byte;
		if (!byte)
			break;
	}
end:
	user_read_access_end();
	pagefault_enable();
	return done;
fault:
	user_read_access_end();
	pagefault_enable();
	return -EFAULT;
}
