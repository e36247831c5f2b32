// SPDX-License-Identifier: GPL-2.0

//! What runs by itself: once a second while probes are armed, and when modules come
//! and go.

pub(crate) mod clock;
pub(crate) mod limit;
pub(crate) mod modules;
