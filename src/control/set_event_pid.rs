// SPDX-License-Identifier: GPL-2.0

//! `set_event_pid` and `set_event_notrace_pid`: the tasks whose hits count, and those whose
//! hits do not.

use super::{
    rejected::Rejected,
    text::{Show, TakesText},
};
use crate::{engine::language::pids, followed::List, instance::Instance};
use core::fmt;
use kernel::sync::Arc;

/// One of the two files: `set_event_notrace_pid` if `WITHOUT`. Opening it for writing without
/// appending removes the list.
pub(crate) struct SetEventPid<const WITHOUT: bool>;

impl<const WITHOUT: bool> SetEventPid<WITHOUT> {
    const LIST: List = if WITHOUT { List::Without } else { List::Only };
}

impl<const WITHOUT: bool> Show for SetEventPid<WITHOUT> {
    type Data = Instance;

    fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        instance.followed.show(Self::LIST, |list| {
            let mut pids = list.into_iter().flat_map(|list| list.iter());
            pids.try_for_each(|pid| writeln!(out, "{pid}"))
        })
    }
}

impl<const WITHOUT: bool> TakesText for SetEventPid<WITHOUT> {
    /// It ends a number.
    const ENDS_AT_NUL: bool = false;

    fn store(instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
        let registry = &instance.tracer.registry;
        let added = pids::parse(text)?;
        Ok(instance.followed.add(registry, Self::LIST, &added)?)
    }

    fn truncate(instance: &Arc<Instance>) -> Result<(), Rejected> {
        let registry = &instance.tracer.registry;
        Ok(instance.followed.clear(registry, Self::LIST)?)
    }
}
