// SPDX-License-Identifier: GPL-2.0

//! The ring buffer, compiled against atomics whose every outcome is explored.
//!
//! The sources are the module's own. [`sys`] gives them loom's atomics, so
//! that a test sees not only every interleaving of a writer and a reader but
//! also every stale value that a relaxed load may return.

#[path = "../../../src/engine/lib.rs"]
pub mod engine;
pub mod sys;
