// SPDX-License-Identifier: GPL-2.0

//! Functions of one registration that come and go together.

use super::{
    counters::SiteCounters,
    entry::Function,
    link::{Link, Server, Site},
};
use crate::kapi::handler::Handler;
use kernel::{alloc::KVVec, prelude::*, str::CString};

/// Whose functions they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SitesOwner<'a> {
    /// The module; `None` for the kernel.
    pub module: Option<&'a CStr>,
    /// Whether they are in the module's init code.
    pub is_init: bool,
}

impl SitesOwner<'_> {
    /// The kernel.
    pub const KERNEL: Self = Self {
        module: None,
        is_init: false,
    };
}

/// Functions that come and go together.
pub(super) struct Group<H: Handler<Function>> {
    module: Option<CString>,
    is_init: bool,
    pub(super) links: KVVec<Link<H>>,
    /// The hits of each link, if they are counted.
    hits: SiteCounters,
}

impl<H: Handler<Function>> Group<H> {
    /// Makes links of `server` to all `sites`, whose hits are counted one by one if `counts`.
    ///
    /// # Safety
    ///
    /// The group must be a part of the registration that has the `server`.
    pub(super) unsafe fn new(
        owner: SitesOwner<'_>,
        sites: &[Site],
        counts: bool,
        server: &Server<H>,
    ) -> Result<Self> {
        let hits = SiteCounters::new(if counts { sites.len() } else { 0 })?;
        let mut links = KVVec::with_capacity(sites.len(), GFP_KERNEL)?;
        for (index, site) in sites.iter().enumerate() {
            // SAFETY: The caller keeps the link in the registration, as a part of the group.
            let link = unsafe { Link::new(site, server, hits.counter(index)) };
            links.push(link, GFP_KERNEL)?;
        }
        let module = owner.module.map(CString::try_from).transpose()?;
        Ok(Self {
            module,
            is_init: owner.is_init,
            links,
            hits,
        })
    }

    /// Returns whose functions they are.
    pub(super) fn owner(&self) -> SitesOwner<'_> {
        SitesOwner {
            module: self.module.as_deref(),
            is_init: self.is_init,
        }
    }

    /// Calls `each` with the address of each function and its hits; `None` if they are not
    /// counted.
    pub(super) fn each(&self, each: &mut dyn FnMut(u64, Option<u64>)) {
        for (index, link) in self.links.iter().enumerate() {
            let [low, high] = link.place;
            each(
                u64::from(low) | u64::from(high) << 32,
                self.hits.hits(index),
            );
        }
    }
}
