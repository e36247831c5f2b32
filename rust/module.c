// SPDX-License-Identifier: GPL-2.0
/* What the kernel knows of loaded modules. */

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

#if defined(MODULE) && defined(CONFIG_KALLSYMS)

typedef void (*each_t)(void *data, const struct ferroprobe_module_function *function);

static bool is_function(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static void each_function(struct module *module, void *data, each_t each)
{
	const struct mod_kallsyms *symbols = rcu_dereference(module->kallsyms);
	unsigned int n;

	if (!symbols)
		return;
	/* The first symbol of an ELF file means nothing. */
	for (n = 1; n < symbols->num_symtab; n++) {
		const Elf_Sym *symbol = &symbols->symtab[n];
		struct ferroprobe_module_function function = {
			.module = module->name,
			.name = symbols->strtab + symbol->st_name,
			.address = symbol->st_value,
		};

		if (symbol->st_shndx == SHN_UNDEF || !is_function(symbols->typetab[n]))
			continue;
		function.is_init = within_module_init(function.address, module);
		each(data, &function);
	}
}

/* The list is a ring, of which this module is one element, and the head another one. */
static bool is_list(const struct list_head *modules)
{
	const struct list_head *own = &THIS_MODULE->list, *at;

	for (at = rcu_dereference(own->next); at != own; at = rcu_dereference(at->next)) {
		if (at == modules)
			return true;
	}
	return false;
}

int ferroprobe_each_module_function(unsigned long modules, void *data, each_t each)
{
	struct list_head *head = (void *)modules;
	struct module *module;
	int result = -ENOENT;

	rcu_read_lock();
	if (is_list(head)) {
		result = 0;
		list_for_each_entry_rcu(module, head, list) {
			if (module != THIS_MODULE && module->state != MODULE_STATE_UNFORMED &&
			    module->state != MODULE_STATE_GOING)
				each_function(module, data, each);
		}
	}
	rcu_read_unlock();
	return result;
}

#else

int ferroprobe_each_module_function(unsigned long modules, void *data,
		void (*each)(void *data, const struct ferroprobe_module_function *function))
{
	return -ENOENT;
}

#endif
