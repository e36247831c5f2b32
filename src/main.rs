// SPDX-License-Identifier: GPL-2.0

//! ferroprobe: dynamic probes on kernel code, in the language of ftrace's
//! `kprobe_events`.
//!
//! See `Documentation/design.rst` for the layers.

mod buffer;
mod commands;
mod control;
mod counters;
pub mod engine;
mod errors;
mod event;
mod handler;
#[path = "../rust/lib.rs"]
pub mod kapi;
mod limit;
mod modules;
mod names;
mod options;
mod place;
mod print;
mod probe;
mod registry;
pub mod sys;
mod tables;
mod tracer;
mod types;

use core::borrow::Borrow;
use kernel::{prelude::*, sync::Arc};

module! {
    type: Ferroprobe,
    name: "ferroprobe",
    authors: ["The ferroprobe developers"],
    description: "Dynamic probes on kernel code",
    license: "GPL",
    params: {
        buffer_size_kb: u32 {
            default: 1408,
            description: "Size of each CPU's buffer at load, in KiB",
        },
        hit_limit: u64 {
            default: 5_000_000,
            description: "Hits a second on a CPU above which a probe is disarmed, 0 for any number",
        },
    },
}

/// The loaded module.
///
/// Fields are dropped in this order: first what the kernel calls when modules
/// come and go, then the files that anybody could open, then, with the last
/// reference to the tracer, everything else. The probes go before all of them,
/// see the drop.
struct Ferroprobe {
    _modules: modules::Watch,
    _files: control::Files,
    tracer: Arc<tracer::Tracer>,
}

impl kernel::Module for Ferroprobe {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        // A value in newer kernels, a reference in 7.2.
        let kilobytes = module_parameters::buffer_size_kb.value();
        let kilobytes = *Borrow::<u32>::borrow(&kilobytes) as usize;
        let limit = module_parameters::hit_limit.value();
        let limit = *Borrow::<u64>::borrow(&limit);
        let tracer = tracer::Tracer::new(kilobytes, limit)?;
        let watch = limit::Watch::new(&tracer)?;
        let files = control::Files::new(&tracer)?;
        let modules = modules::watch(&tracer)?;
        tracer.registry.lock().set_watch(watch);
        Ok(Self {
            _modules: modules,
            _files: files,
            tracer,
        })
    }
}

impl Drop for Ferroprobe {
    fn drop(&mut self) {
        let watch = self.tracer.registry.lock().shut_down();
        drop(watch);
    }
}
