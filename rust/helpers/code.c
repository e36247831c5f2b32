// SPDX-License-Identifier: GPL-2.0

#include "../arch/code.h"

u64 ferroprobe_strip_code(u64 pointer)
{
	return strip_code(pointer);
}
