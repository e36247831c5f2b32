// SPDX-License-Identifier: GPL-2.0

//! `tracing_cpumask`: the CPUs that record, in hexadecimal. Hits on others are
//! counted only.

use super::text::{self, Show, Store};
use crate::{
    engine::cpumask::{self, Mask},
    instance::Instance,
    kapi::percpu,
};
use core::fmt;
use kernel::{prelude::*, sync::Arc, uaccess::UserSliceReader};

/// The file.
pub(crate) struct TracingCpumask;

impl Show for TracingCpumask {
    type Data = Instance;

    fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
        let mut mask = Mask::new(percpu::cpu_limit()).map_err(|_| fmt::Error)?;
        for cpu in 0..percpu::cpu_limit() {
            mask.set(cpu, instance.buffer.records_on(cpu));
        }
        writeln!(out, "{mask}")
    }
}

impl Store for TracingCpumask {
    fn store(instance: &Arc<Instance>, from: UserSliceReader) -> Result {
        let text = text::written(from)?;
        let mask = Mask::parse(&text, percpu::cpu_limit()).map_err(|error| match error {
            cpumask::Error::NoMemory => ENOMEM,
            cpumask::Error::Syntax => EINVAL,
            cpumask::Error::TooLarge => EOVERFLOW,
        })?;
        instance.buffer.set_mask(|cpu| mask.has(cpu));
        Ok(())
    }
}
