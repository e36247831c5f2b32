// SPDX-License-Identifier: GPL-2.0

//! The events of memory: `include/trace/events/kmem.h`.

use super::row::{shape, ReadyRow};
use crate::engine::record::{Class, ReadyField, ReadyShape};

shape! {
    KFREE {
        (unsigned long) call_site = "call_site:x64",
        (const void *) ptr = "ptr:x64",
    }
    r#""call_site=%pS ptr=%p", (void *)REC->call_site, REC->ptr"#
}

shape! {
    KMALLOC {
        (unsigned long) call_site = "call_site:x64",
        (const void *) ptr = "ptr:x64",
        (size_t) bytes_req = "bytes_req:u64",
        (size_t) bytes_alloc = "bytes_alloc:u64",
        (unsigned long) gfp_flags = "gfp_flags:x64",
        (int) node = "node:s32",
    }
    concat!(
            r#""call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu gfp_flags=%#lx node=%d", (void "#,
            r#"*)REC->call_site, REC->ptr, REC->bytes_req, REC->bytes_alloc, REC->gfp_flags, "#,
            r#"REC->node"#,
        )
}

shape! {
    KMEM_CACHE_FREE {
        (unsigned long) call_site = "call_site:x64",
        (const void *) ptr = "ptr:x64",
        (__data_loc char[]) name = "s->name:string",
    }
    r#""call_site=%pS ptr=%p name=%s", (void *)REC->call_site, REC->ptr, __get_str(name)"#
}

/// The events.
pub(super) const ROWS: &[ReadyRow] = &[
    ReadyRow::new("kfree", &KFREE),
    ReadyRow::new("kmalloc", &KMALLOC),
    ReadyRow::new("kmem_cache_free", &KMEM_CACHE_FREE),
];
