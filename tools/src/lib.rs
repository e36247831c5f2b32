// SPDX-License-Identifier: GPL-2.0

//! From source lines and variables to definitions of probes, by debug information.
//!
//! [`data`], [`image`] and [`debug`] read files; [`index`] finds functions and files in them;
//! [`lines`] and [`scope`] say which code belongs to which line and function; [`place`] and
//! [`types`] say where variables are; [`define`] writes definitions. [`stream`] reads events, which
//! [`convert`], [`flame`], [`hist`] and [`tree`] write as files, pictures and text. [`trace`] defines
//! events, and follows them; [`top`] counts what it follows, and [`graph`] finds the functions to
//! follow in the kernel's code.

pub mod arch;
pub mod arrivals;
pub mod boundary;
pub mod build_id;
pub mod convert;
pub mod data;
pub mod debug;
pub mod define;
pub mod doctor;
pub mod error;
pub mod fetch;
pub mod find;
pub mod flame;
pub mod graph;
pub mod hist;
pub mod image;
pub mod index;
pub mod lines;
pub mod place;
pub mod points;
pub mod scope;
pub mod session;
pub mod stream;
pub mod symbols;
pub mod target;
pub mod top;
pub mod trace;
pub mod tree;
pub mod types;
pub mod vars;
