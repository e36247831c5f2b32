// SPDX-License-Identifier: GPL-2.0

//! `tracing_cpumask`: the CPUs that record, in hexadecimal. Hits on others are only counted.

use super::{rejected::Rejected, text::TextOps};
use crate::{
    engine::{
        refusal::error::{Error as Refusal, Kind},
        util::cpumask::{self, Mask},
    },
    instance::Instance,
    kapi::percpu,
};
use core::fmt;
use kernel::{prelude::*, sync::Arc};

pub(super) const FILE: TextOps<Instance> = TextOps::writable(show, store);

fn show(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut mask = Mask::new(percpu::cpu_limit()).map_err(|_| fmt::Error)?;
    for cpu in 0..percpu::cpu_limit() {
        mask.set(cpu, instance.buffer.records_on(cpu));
    }
    writeln!(out, "{mask}")
}

fn store(instance: &Arc<Instance>, text: &[u8]) -> Result<(), Rejected> {
    let mask = Mask::parse(text, percpu::cpu_limit()).map_err(|error| match error {
        cpumask::MaskError::NoMemory => ENOMEM.into(),
        cpumask::MaskError::Syntax => refused(Kind::FileBadMask),
        cpumask::MaskError::TooLarge => refused(Kind::FileNoCpu),
    })?;
    instance.buffer.set_mask(|cpu| mask.has(cpu));
    Ok(())
}

/// Returns the refusal of a mask, with the valid ones.
fn refused(kind: Kind) -> Rejected {
    let last = percpu::cpu_limit().saturating_sub(1);
    let refusal = Refusal::new(kind, 0);
    refusal
        .with_detail(format_args!(
            "expected hexadecimal digits, a bit for each of CPU 0 to {last}, such as 3 for 0 and 1"
        ))
        .into()
}
