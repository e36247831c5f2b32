// SPDX-License-Identifier: GPL-2.0

//! Printing records: a walk that yields named values, and the code that renders them, as text
//! or as JSON.
//!
//! Context: process, may sleep.

mod call;
mod heads;
mod json;
mod quoted;
mod ready;
mod render;
mod shape;
mod synthetic;
mod text;
mod value;
pub mod walk;

pub use json::Json;
pub use render::{Renderer, ShownEvent, SymbolNames};
pub use text::{PrintedText, TextLines};
