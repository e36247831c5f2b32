// SPDX-License-Identifier: GPL-2.0
/* Loaded modules, their memory and their functions. */

#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/rculist.h>

#include "helpers.h"

bool ferroprobe_in_init(struct module *module, unsigned long address)
{
#ifdef CONFIG_MODULES
	return within_module_init(address, module);
#else
	return false;
#endif
}

bool ferroprobe_module_memory(const struct module *module, unsigned int nth,
			      struct ferroprobe_module_memory *memory)
{
#ifdef CONFIG_MODULES
	if (nth >= MOD_MEM_NUM_TYPES)
		return false;
	memory->start = (unsigned long)module->mem[nth].base;
	memory->size = module->mem[nth].size;
	memory->is_init = mod_mem_type_is_init(nth);
	return true;
#else
	return false;
#endif
}

#if defined(MODULE) && defined(CONFIG_KALLSYMS)

typedef bool (*each_t)(void *data, const struct ferroprobe_module_function *function);

static bool is_function(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static int each_function(struct module *module, unsigned int from, unsigned int count, void *data,
			 each_t each)
{
	const struct mod_kallsyms *symbols = rcu_dereference(module->kallsyms);
	unsigned int n, end;

	if (!symbols || from >= symbols->num_symtab)
		return 0;
	end = from + min(count, symbols->num_symtab - from);
	for (n = from; n < end; n++) {
		const Elf_Sym *symbol = &symbols->symtab[n];
		struct ferroprobe_module_function function = {
			.module = module->name,
			.name = symbols->strtab + symbol->st_name,
			.address = symbol->st_value,
		};

		/* The first symbol of an ELF file is a dummy. */
		if (n == 0 || symbol->st_shndx == SHN_UNDEF || !is_function(symbols->typetab[n]))
			continue;
		function.is_init = within_module_init(function.address, module);
		if (!each(data, &function))
			return 2;
	}
	return end < symbols->num_symtab;
}

static bool has_functions(const struct module *module)
{
	return module != THIS_MODULE && module->state != MODULE_STATE_UNFORMED &&
	       module->state != MODULE_STATE_GOING;
}

/* Returns whether @modules is the head of a ring that has this module as an element. */
static bool is_list(const struct list_head *modules)
{
	const struct list_head *own = &THIS_MODULE->list, *at;

	for (at = rcu_dereference(own->next); at != own; at = rcu_dereference(at->next)) {
		if (at == modules)
			return true;
	}
	return false;
}

long ferroprobe_module_names(unsigned long modules, struct ferroprobe_module_name *names,
			     unsigned long room)
{
	struct list_head *head = (void *)modules;
	struct module *module;
	long count = -ENOENT;

	BUILD_BUG_ON(sizeof(module->name) > sizeof(names->text));
	rcu_read_lock();
	if (is_list(head)) {
		count = 0;
		list_for_each_entry_rcu(module, head, list) {
			if (!has_functions(module))
				continue;
			if (count < room)
				memcpy(names[count].text, module->name, sizeof(module->name));
			count++;
		}
	}
	rcu_read_unlock();
	return count;
}

/*
 * Each call looks the module up, as it may go between calls.  If it is loaded again meanwhile, the
 * caller may get functions of both, unless the caller delays the notifications of modules.
 */
int ferroprobe_each_module_function(unsigned long modules, const char *name, unsigned int from,
				    unsigned int count, void *data, each_t each)
{
	struct list_head *head = (void *)modules;
	struct module *module;
	int result = -ENOENT;

	rcu_read_lock();
	if (is_list(head)) {
		result = 0;
		list_for_each_entry_rcu(module, head, list) {
			if (has_functions(module) && !strcmp(module->name, name)) {
				result = each_function(module, from, count, data, each);
				break;
			}
		}
	}
	rcu_read_unlock();
	return result;
}

#else

long ferroprobe_module_names(unsigned long modules, struct ferroprobe_module_name *names,
			     unsigned long room)
{
	return -ENOENT;
}

int ferroprobe_each_module_function(unsigned long modules, const char *name, unsigned int from,
		unsigned int count, void *data,
		bool (*each)(void *data, const struct ferroprobe_module_function *function))
{
	return -ENOENT;
}

#endif
