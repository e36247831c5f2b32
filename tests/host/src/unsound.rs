// SPDX-License-Identifier: GPL-2.0

//! What must not compile: safe code that would break what the ring relies on. Each has
//! beside it what differs in that alone, and does compile.
//!
//! An event is filled where it is recorded; its payload cannot be kept:
//!
//! ```
//! # use ferroprobe_engine::{engine::ring::{Local, Note}, sys::Pages};
//! fn record(ring: Local<'_, Pages>, note: Note) {
//!     let mut sum = 0;
//!     let _ = ring.record(12, note, || 1, || None, |payload| sum = payload.len());
//! }
//! ```
//! ```compile_fail,E0521
//! # use ferroprobe_engine::{engine::ring::{Local, Note}, sys::Pages};
//! fn record(ring: Local<'_, Pages>, note: Note) {
//!     let mut kept: &mut [u8] = &mut [];
//!     let _ = ring.record(12, note, || 1, || None, |payload| kept = payload);
//! }
//! ```
//!
//! What lies in a ring can be looked at, and not stored to:
//!
//! ```
//! # use ferroprobe_engine::{engine::ring::Ring, sys::Pages};
//! fn look(ring: &Ring<Pages>) -> Option<u32> {
//!     ring.view().words(0).next()
//! }
//! ```
//! ```compile_fail,E0599
//! # use ferroprobe_engine::{engine::ring::Ring, sys::Pages};
//! fn store(ring: &Ring<Pages>) {
//!     ring.view().page(0);
//! }
//! ```
//! ```compile_fail,E0599
//! # use ferroprobe_engine::engine::ring::EventRef;
//! fn store(event: &EventRef<'_>) {
//!     event.words().next().unwrap().store_relaxed(0);
//! }
//! ```
//!
//! Events have at least three words, and no more than their header can say:
//!
//! ```
//! # use ferroprobe_engine::engine::ring::Short;
//! let (least, most) = (Short::<3>::SMALLEST, Short::<28>::SMALLEST);
//! ```
//! ```compile_fail,E0080
//! # use ferroprobe_engine::engine::ring::Short;
//! let smaller = Short::<2>::SMALLEST;
//! ```
//! ```compile_fail,E0080
//! # use ferroprobe_engine::engine::ring::Short;
//! let longer = Short::<29>::SMALLEST;
//! ```
