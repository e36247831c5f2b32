// SPDX-License-Identifier: GPL-2.0
/* Copies from and to user memory that fault in no pages. */

#include <linux/errno.h>
#include <linux/instrumented.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pagemap.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/word-at-a-time.h>

#include "arch/access.h"
#include "helpers.h"

#define EACH_BYTE(value) (~0UL / 0xff * (value))

/*
 * Returns 0 if all bytes of a word are printable ASCII.  A sum overflows into the next byte only
 * after a byte that is not printable.
 */
static inline unsigned long unprintable(unsigned long word)
{
	return (word | (word - EACH_BYTE(0x20)) | (word + EACH_BYTE(0x01))) & EACH_BYTE(0x80);
}

s64 ferroprobe_copy_user_text(char *to, u64 from, size_t room)
{
#ifdef CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	const char __user *at = (const char __user *)from;
	unsigned long word, zeros;
	long end = room & ~(sizeof(word) - 1), left;
	s64 odd = 0;

	pagefault_disable();
	if (!user_read_access_begin(at, room))
		goto failed;
	at += end;
	to += end;
	/* Counts up to 0, which saves a comparison. */
	for (left = -end; left; left += sizeof(word)) {
		unsafe_get_user(word, (unsigned long __user *)(at + left), fault);
		*(unsigned long *)(to + left) = word;
		/* A NUL is no printable character either. */
		if (likely(!unprintable(word)))
			continue;
		if (has_zero(word, &zeros, &constants)) {
			user_read_access_end();
			pagefault_enable();
			zeros = create_zero_mask(prep_zero_mask(word, zeros, &constants));
			word |= EACH_BYTE(0x20) & ~zero_bytemask(zeros);
			if (unprintable(word))
				odd = FERROPROBE_ODD_TEXT;
			return odd | (end + left + find_zero(zeros) + 1);
		}
		odd = FERROPROBE_ODD_TEXT;
	}
fault:
	user_read_access_end();
failed:
	pagefault_enable();
#endif
	return -EFAULT;
}

s64 ferroprobe_copy_user_string(char *to, u64 from, size_t room)
{
#ifdef CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	const char __user *at = (const char __user *)from;
	unsigned long word, next, zeros;
	long end = room & ~(2 * sizeof(word) - 1), left;

	pagefault_disable();
	if (!user_read_access_begin(at, room))
		goto failed;
	at += end;
	to += end;
	for (left = -end; left; left += 2 * sizeof(word)) {
		unsafe_get_user(word, (unsigned long __user *)(at + left), fault);
		unsafe_get_user(next, (unsigned long __user *)(at + left + sizeof(word)), fault);
		*(unsigned long *)(to + left) = word;
		*(unsigned long *)(to + left + sizeof(word)) = next;
		/* Only a NUL or a character outside of ASCII borrows or has the top bit. */
		if (likely(!(((word - EACH_BYTE(0x01)) | (next - EACH_BYTE(0x01))) &
			     EACH_BYTE(0x80))))
			continue;
		if (!has_zero(word, &zeros, &constants)) {
			left += sizeof(word);
			word = next;
			if (!has_zero(word, &zeros, &constants)) {
				left -= sizeof(word);
				continue;
			}
		}
		user_read_access_end();
		pagefault_enable();
		zeros = create_zero_mask(prep_zero_mask(word, zeros, &constants));
		return end + left + find_zero(zeros) + 1;
	}
fault:
	user_read_access_end();
failed:
	pagefault_enable();
#endif
	return -EFAULT;
}

/*
 * Copies @size bytes, within one page, of a file that is mapped at @from, if the page is in the
 * page cache.  Pages of a program that it has not used yet are not mapped.
 */
static bool copy_from_cache(char *to, unsigned long from, size_t size)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	struct page *page = NULL;
	bool done = false;

	/* A task that holds the lock for writing may be waiting for a user. */
	if (!mm || !mmap_read_trylock(mm))
		return false;
	from = untagged_addr(from);
	vma = find_vma(mm, from);
	/* With an anon_vma it may have a page of its own there, which is swapped out. */
	if (vma && vma->vm_start <= from && vma->vm_file && !vma->anon_vma &&
	    (vma->vm_flags & (VM_READ | VM_IO | VM_PFNMAP | VM_HUGETLB)) == VM_READ)
		page = pagecache_get_page(vma->vm_file->f_mapping, linear_page_index(vma, from), 0,
					  0);
	mmap_read_unlock(mm);
	if (!page)
		return false;
	/* The kernel itself may have no access, as to memfd_secret(). */
	if (folio_test_uptodate(page_folio(page)) && !PageHWPoison(page))
		done = !copy_from_kernel_nofault(to, page_address(page) + offset_in_page(from),
						 size);
	put_page(page);
	return done;
}

static bool copy_mapped(char *to, const char __user *from, size_t size)
{
	unsigned long left;

	pagefault_disable();
	left = copy_from_user(to, from, size);
	pagefault_enable();
	return !left;
}

s64 ferroprobe_copy_user(char *to, u64 from, size_t room, bool is_text)
{
	const char __user *at = (const char __user *)from;
	size_t done, size;
	char *end;

	if (!is_text && copy_mapped(to, at, room))
		return room;
	for (done = 0; done != room; done += size) {
		size = min(room - done, PAGE_SIZE - offset_in_page(at + done));
		if (!copy_mapped(to + done, at + done, size) &&
		    !copy_from_cache(to + done, from + done, size))
			return -EFAULT;
		end = is_text ? memchr(to + done, 0, size) : NULL;
		if (end)
			return end - to + 1;
	}
	return done;
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
