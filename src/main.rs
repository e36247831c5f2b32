// SPDX-License-Identifier: GPL-2.0

//! ferroprobe.

#[path = "../rust/lib.rs"]
pub mod kapi;

use kernel::prelude::*;

module! {
    type: Ferroprobe,
    name: "ferroprobe",
    authors: ["The ferroprobe developers"],
    description: "Dynamic kernel probes",
    license: "GPL",
}

struct Ferroprobe;

impl kernel::Module for Ferroprobe {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        pr_info!("loaded\n");
        Ok(Self)
    }
}
