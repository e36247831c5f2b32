// SPDX-License-Identifier: GPL-2.0

//! `set_event_pid` and `set_event_notrace_pid`: the tasks whose hits count, and those whose
//! hits do not.

use super::{rejected::Rejected, text::TextOps};
use crate::{engine::language::pids, followed::List, instance::Instance};
use core::fmt;
use kernel::sync::Arc;

/// `set_event_pid`. Opening it for writing without appending removes the list.
pub(super) const SET_EVENT_PID: TextOps<Instance> = of_list::<false>();

pub(super) const SET_EVENT_NOTRACE_PID: TextOps<Instance> = of_list::<true>();

const fn of_list<const WITHOUT: bool>() -> TextOps<Instance> {
    TextOps {
        store: Some(store::<WITHOUT>),
        truncate: Some(truncate::<WITHOUT>),
        // A NUL ends a number.
        ends_at_nul: false,
        ..TextOps::shows(show::<WITHOUT>)
    }
}

const fn list(without: bool) -> List {
    match without {
        true => List::Without,
        false => List::Only,
    }
}

fn show<const WITHOUT: bool>(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    instance.followed.show(list(WITHOUT), |list| {
        let mut pids = list.into_iter().flat_map(|list| list.iter());
        pids.try_for_each(|pid| writeln!(out, "{pid}"))
    })
}

fn store<const WITHOUT: bool>(instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    let registry = &instance.tracer.registry;
    let added = pids::parse(text)?;
    Ok(instance.followed.add(registry, list(WITHOUT), &added)?)
}

fn truncate<const WITHOUT: bool>(instance: &Arc<Instance>) -> Result<(), Rejected> {
    let registry = &instance.tracer.registry;
    Ok(instance.followed.clear(registry, list(WITHOUT))?)
}
