// SPDX-License-Identifier: GPL-2.0

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/percpu.h>

bool ferroprobe_cpu_possible(unsigned int cpu)
{
	return cpu < nr_cpu_ids && cpu_possible(cpu);
}

bool ferroprobe_cpu_online(unsigned int cpu)
{
	return cpu < nr_cpu_ids && cpu_online(cpu);
}

bool ferroprobe_cpu_present(unsigned int cpu)
{
	return cpu < nr_cpu_ids && cpu_present(cpu);
}

void *ferroprobe_per_cpu_instance(void *base, unsigned int cpu)
{
	if (cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return NULL;
	return base + per_cpu_offset(cpu);
}

unsigned long ferroprobe_per_cpu_offset(unsigned int cpu)
{
	return cpu < nr_cpu_ids ? per_cpu_offset(cpu) : 0;
}

void ferroprobe_wait_for_hotplug(void)
{
	cpus_read_lock();
	cpus_read_unlock();
}
