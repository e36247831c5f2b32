// SPDX-License-Identifier: GPL-2.0

//! Background activity: checks once a second while probes are armed, and notifications of modules
//! and CPUs.

pub(crate) mod arrivals;
pub(crate) mod clock;
pub(crate) mod limit;
pub(crate) mod modules;
