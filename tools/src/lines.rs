// SPDX-License-Identifier: GPL-2.0

//! Source lines: which can be probed, and where.

pub mod find;
pub mod list;
pub mod source;
pub mod table;
