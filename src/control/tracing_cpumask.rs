// SPDX-License-Identifier: GPL-2.0

//! `tracing_cpumask`: the CPUs that record, in hexadecimal. Hits on others are
//! counted only.

use super::text;
use crate::{
    engine::{
        cpumask::{self, Mask},
        text::Appender,
    },
    kapi::{
        debugfs::{File, OpenFile},
        percpu,
    },
    sys::Vec,
    tracer::Tracer,
};
use core::{fmt::Write, pin::Pin};
use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
    uaccess::{UserSliceReader, UserSliceWriter},
};

/// The file.
pub(crate) struct TracingCpumask;

impl File for TracingCpumask {
    type Data = Tracer;
    type Open = Arc<Tracer>;

    fn open(tracer: ArcBorrow<'_, Tracer>, _file: &OpenFile) -> Result<Pin<KBox<Arc<Tracer>>>> {
        Ok(KBox::pin(tracer.into(), GFP_KERNEL)?)
    }

    fn read(
        tracer: &Arc<Tracer>,
        _file: &OpenFile,
        to: &mut UserSliceWriter,
        offset: &mut i64,
    ) -> Result<usize> {
        let mut text = Vec::new();
        let mut mask = Mask::new(percpu::cpu_limit())?;
        for cpu in 0..percpu::cpu_limit() {
            mask.set(cpu, tracer.buffer.records_on(cpu));
        }
        writeln!(Appender(&mut text), "{mask}").map_err(|_| ENOMEM)?;
        text::copy(&text, to, offset)
    }

    fn write(tracer: &Arc<Tracer>, _file: &OpenFile, from: UserSliceReader) -> Result {
        let text = text::written(from)?;
        let mask = Mask::parse(&text, percpu::cpu_limit()).map_err(|error| match error {
            cpumask::Error::NoMemory => ENOMEM,
            cpumask::Error::Syntax => EINVAL,
            cpumask::Error::TooLarge => EOVERFLOW,
        })?;
        tracer.buffer.set_mask(|cpu| mask.has(cpu));
        Ok(())
    }
}
