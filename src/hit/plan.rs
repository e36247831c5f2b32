// SPDX-License-Identifier: GPL-2.0

//! What an event does with its hits.

use crate::{engine::filter::Filter, kapi::rcu::Replaced};
use kernel::{prelude::*, sync::Arc};

/// What an event does with its hits. All probes of the event share it, and it is replaced
/// as a whole while they are hit.
pub(crate) struct Plan {
    /// The hits that are served; all without a filter.
    pub(crate) filter: Option<Filter>,
    /// What is done with a hit besides recording it.
    pub(crate) actions: Actions,
}

/// What is done with a hit besides recording it: nothing yet.
///
/// It has no size, and no function of the hit path looks at it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Actions;

/// Plans that were replaced; see [`Replaced`].
pub(crate) type ReplacedPlans = Replaced<Plan>;

impl Plan {
    /// Makes the plan that records all hits.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn all() -> Result<Arc<Self>> {
        Self::new(None, Actions)
    }

    /// Makes a plan.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(filter: Option<Filter>, actions: Actions) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { filter, actions }, GFP_KERNEL)?)
    }
}
