// SPDX-License-Identifier: GPL-2.0

//! What runs by itself: once a second while probes are armed, when modules come and go, and
//! when CPUs come.

pub(crate) mod arrivals;
pub(crate) mod clock;
pub(crate) mod limit;
pub(crate) mod modules;
