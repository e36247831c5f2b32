// SPDX-License-Identifier: GPL-2.0

//! `ferroprobe hist`: pictures of histograms, and of a field over time.
//!
//! [`table`] reads `hist` files, [`over_time`] counts a field of a stream, [`chart`] has what is
//! drawn, [`axis`] its directions, and [`svg`] draws it.

pub mod axis;
pub mod chart;
pub mod over_time;
pub mod svg;
pub mod table;
