// SPDX-License-Identifier: GPL-2.0

//! Printing records: a walk that yields named values, and the code that renders them, as text
//! or as JSON.
//!
//! Context: process, may sleep.

mod call;
mod changes;
pub mod context;
mod forms;
mod heads;
mod json;
mod latency;
mod quoted;
mod ready;
mod render;
mod shape;
mod synthetic;
mod text;
mod value;
pub mod walk;

pub use forms::{put_short_context, put_shown_fields, put_type, PrintForm};
pub use json::Json;
pub use latency::{put_latency, DelayGap, LatencyColumns};
pub use render::{Renderer, ShownEvent, SymbolNames};
pub use shape::put_enum_number;
pub use text::{PrintedText, TextLines};
pub use value::put_number;
