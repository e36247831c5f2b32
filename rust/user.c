// SPDX-License-Identifier: GPL-2.0
/* Copies of user strings, and copies to user memory. */

#include <linux/errno.h>
#include <linux/instrumented.h>
#include <linux/uaccess.h>
#include <asm/word-at-a-time.h>

#include "helpers.h"

#define EACH_BYTE(value) (~0UL / 0xff * (value))

/*
 * Returns 0 if all bytes of a word are printable characters of ASCII.  No sum overflows into
 * the next byte, unless a byte is found that is none.
 */
static inline unsigned long unprintable(unsigned long word)
{
	return (word | (word - EACH_BYTE(0x20)) | (word + EACH_BYTE(0x01))) & EACH_BYTE(0x80);
}

s64 ferroprobe_copy_user_text(char *to, u64 from, size_t room, bool *odd)
{
#ifdef CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	const char __user *at = (const char __user *)from;
	unsigned long word, zeros, done, end = room & ~(sizeof(word) - 1);
	bool odds = false;

	if (!user_read_access_begin(at, room))
		return -EFAULT;
	for (done = 0; done != end; done += sizeof(word)) {
		unsafe_get_user(word, (unsigned long __user *)(at + done), fault);
		*(unsigned long *)(to + done) = word;
		/* A NUL is no printable character either. */
		if (likely(!unprintable(word)))
			continue;
		if (has_zero(word, &zeros, &constants)) {
			user_read_access_end();
			zeros = create_zero_mask(prep_zero_mask(word, zeros, &constants));
			word |= EACH_BYTE(0x20) & ~zero_bytemask(zeros);
			*odd = odds || unprintable(word);
			return done + find_zero(zeros);
		}
		odds = true;
	}
fault:
	user_read_access_end();
#endif
	return -EFAULT;
}

/* Returns what of @size is left, 0 for nothing. */
static unsigned long copy_at_once(void __user *to, const void *from, size_t size)
{
#ifdef CONFIG_X86_64
	unsigned long words = size / sizeof(long);

	/* As fast as by bytes, which emulators execute one by one. */
	if (size % sizeof(long) == 0) {
		stac();
		asm volatile("1:	rep movsq\n"
			     "2:\n"
			     _ASM_EXTABLE_UA(1b, 2b)
			     : "+c" (words), "+D" (to), "+S" (from)
			     :
			     : "memory");
		clac();
		return words;
	}
#endif
	/* No check of the source: for vmalloc memory that takes a lock and searches. */
	return raw_copy_to_user(to, from, size);
}

bool ferroprobe_copy_at_once(void *to, const void *from, size_t size)
{
	void __user *user = (void __user *)to;
	unsigned long left;

	if (!access_ok(user, size))
		return false;
	instrument_copy_to_user(user, from, size);
	pagefault_disable();
	left = copy_at_once(user, from, size);
	pagefault_enable();
	return !left;
}
