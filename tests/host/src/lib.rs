// SPDX-License-Identifier: GPL-2.0

//! The engine of ferroprobe, compiled for the host.
//!
//! The sources are the module's own, taken from `src/engine`; this crate adds
//! only the host's side of the [`sys`] facade. Unit tests, property tests,
//! fuzz targets, benchmarks and the offline tool stand on it.

#[path = "../../../src/engine/lib.rs"]
pub mod engine;
pub mod sys;
#[cfg(doctest)]
mod unsound;
