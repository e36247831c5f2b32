// SPDX-License-Identifier: GPL-2.0

//! Safe abstractions over what the `kernel` crate lacks.

pub(crate) mod bindings;
