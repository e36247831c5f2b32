// SPDX-License-Identifier: GPL-2.0

//! Fetch arguments: from expressions of C to what a definition says.

pub mod access;
pub mod expression;
pub mod kind;
pub mod locate;
pub mod render;
pub mod variable;
