// SPDX-License-Identifier: GPL-2.0

// At -O2 GCC inlines slot_of() in two parts: the second one, with the loop, in the first.

struct slots {
	int owner[8];
	int event[8];
	int assignable;
	int count;
};

void note(int value);

static int slot_of(struct slots *slots, int owner, int event)
{
	int id;

	if (!slots->assignable)
		return -2;
	if (event < 2 || event > 3)
		return -2;
	for (id = 0; id < slots->count; id++) {
		if (slots->owner[id] == owner && slots->event[id] == event)
			return id;
	}
	return -2;
}

int first(struct slots *slots, int owner)
{
	int slot = slot_of(slots, owner, 2);

	note(slot);
	return slot + slots->count;
}

int second(struct slots *slots, int owner, int event)
{
	int slot;

	note(7);
	slot = slot_of(slots, owner, event);
	if (slot < 0)
		return 4;
	slots->owner[slot] = 0;
	return slot;
}

int third(struct slots *slots, int owner, int event)
{
	int slot;

	note(8);
	slot = slot_of(slots, owner, event);
	if (slot < 0)
		note(event);
	slots->event[slot] = 0;
	return slot;
}
