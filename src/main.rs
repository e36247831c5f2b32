// SPDX-License-Identifier: GPL-2.0

//! ferroprobe: dynamic probes on kernel code, in the language of ftrace's
//! `kprobe_events`.
//!
//! See `Documentation/design.rst` for the layers.

mod buffer;
mod commands;
mod control;
mod drop_where;
mod dump;
#[path = "engine/lib.rs"]
pub mod engine;
mod errors;
mod events;
mod followed;
mod formats;
mod former_code;
mod hit;
mod instance;
#[path = "../rust/lib.rs"]
pub mod kapi;
mod options;
mod print;
mod processes;
mod source;
pub mod sys;
mod tracer;
mod watch;

use core::borrow::Borrow;
use kernel::{prelude::*, sync::Arc};

module! {
    type: Ferroprobe,
    name: "ferroprobe",
    authors: ["The ferroprobe developers"],
    description: "Dynamic probes on kernel code: files in /sys/kernel/debug/ferroprobe",
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
        dump_on_oops: u32 {
            default: 0,
            description: "1 to print the newest events when the kernel oopses or panics, 2 those of that CPU",
        },
        syscall_events: u8 {
            default: 1,
            description: "1 for events of all system calls, 0 for none",
        },
    },
}

/// The loaded module.
///
/// Fields are dropped in this order: what the kernel calls on an oops; what makes the files
/// mountable; the instances that users made, before other code of the module becomes unusable for
/// `mkdir` and `rmdir`; the watches of CPUs and of modules; the files that anyone could open; with
/// the last reference to the tracer everything else; and finally what waits for tasks that are
/// entering a directory. The probes are removed before all of them, see the drop.
struct Ferroprobe {
    _dump: kapi::oops::OopsWatch<dump::Dump>,
    _mountable: kapi::tree::Mountable,
    _instances: control::InstancesDirectory,
    _arrivals: watch::arrivals::Arrivals,
    _modules: watch::modules::Watch,
    _files: control::InstanceFiles,
    tracer: Arc<tracer::Tracer>,
    _sleep: kapi::clock::SleepWatch,
    _late: kapi::tree::LateDirs,
    _functions: kapi::functions::FunctionRemains,
}

/// The state before anything is defined. Fields are dropped in the order of [`Ferroprobe`]'s.
struct HalfLoaded {
    dump: kapi::oops::OopsWatch<dump::Dump>,
    files: control::InstanceFiles,
    arrivals: watch::arrivals::Arrivals,
    modules: watch::modules::Watch,
    top: Arc<instance::Instance>,
    root: Arc<kapi::tree::Dir>,
    watch: KBox<watch::limit::LimitWatch>,
    tracer: Arc<tracer::Tracer>,
    kilobytes: usize,
    sleep: kapi::clock::SleepWatch,
    late: kapi::tree::LateDirs,
    functions: kapi::functions::FunctionRemains,
}

impl kernel::Module for Ferroprobe {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let begun = begin()?;
        // Out of line, because it takes much stack.
        let defined = control::at_load::apply(&begun.top);
        // As in the drop: the registry holds files that hold it.
        if defined.is_err() {
            begun.tracer.shut_down();
        }
        defined?;
        finish(begun)
    }
}

/// Makes the files.
#[inline(never)]
fn begin() -> Result<KBox<HalfLoaded>> {
    // A value in newer kernels, a reference in 7.2.
    let kilobytes = module_parameters::buffer_size_kb.value();
    let kilobytes = *Borrow::<u32>::borrow(&kilobytes) as usize;
    let limit = module_parameters::hit_limit.value();
    let limit = *Borrow::<u64>::borrow(&limit);
    let dump = module_parameters::dump_on_oops.value();
    let dump = *Borrow::<u32>::borrow(&dump);
    if kilobytes == 0 {
        pr_err!("buffer_size_kb=0: expected a number of KiB, at least 1\n");
        return Err(EINVAL);
    }
    if dump > 2 {
        pr_err!("dump_on_oops={dump}: expected 1 for all CPUs, 2 for the one that oopses, or 0\n");
        return Err(EINVAL);
    }
    // Allocated before its contents are made: if this fails, the order of the drops is kept.
    let room = KBox::<HalfLoaded>::new_uninit(GFP_KERNEL)?;
    let functions = kapi::functions::FunctionRemains::begin();
    let late = kapi::tree::LateDirs::begin();
    let sleep = kapi::clock::SleepWatch::begin();
    let tracer = tracer::Tracer::new(kilobytes, limit, dump)?;
    let watch = KBox::new(watch::limit::LimitWatch::new(&tracer)?, GFP_KERNEL)?;
    // Before the files, with which probes can be defined: no probe may miss a module that is loaded
    // or unloaded.
    let modules = watch::modules::watch(&tracer)?;
    let arrivals = watch::arrivals::Arrivals::new(&tracer)?;
    let root = control::directory()?;
    let top = instance::Instance::top(tracer.clone())?;
    let dump = dump::watch(&top)?;
    // As in the drop: the registry holds files that hold it.
    let shut_down = |_: &Error| tracer.shut_down();
    let files = control::InstanceFiles::new(&top, &root).inspect_err(shut_down)?;
    let with_calls = module_parameters::syscall_events.value();
    let with_calls = *Borrow::<u8>::borrow(&with_calls) != 0;
    // Before anything is defined, so that no event can take one of their names.
    add_system_calls(&tracer, with_calls).inspect_err(shut_down)?;
    let begun = HalfLoaded {
        dump,
        files,
        arrivals,
        modules,
        top,
        root,
        watch,
        tracer,
        kilobytes,
        sleep,
        late,
        functions,
    };
    // Boxed: definitions take much stack below the caller.
    Ok(KBox::write(room, begun))
}

/// Completes loading.
#[inline(never)]
fn finish(begun: KBox<HalfLoaded>) -> Result<Ferroprobe> {
    // On failure, variables are dropped in reverse order.
    let HalfLoaded {
        functions,
        late,
        sleep,
        kilobytes,
        tracer,
        watch,
        root,
        top: _,
        modules,
        arrivals,
        files,
        dump,
    } = KBox::into_inner(begun);
    let instances = control::InstancesDirectory::new(&tracer, &root, kilobytes);
    let mut instances = instances.inspect_err(|_| tracer.shut_down())?;
    let mountable = kapi::tree::Mountable::new(&root);
    let mountable = mountable.inspect_err(|_| tracer.shut_down())?;
    // Nothing below may fail: the registry now holds files that hold the registry, until the
    // module's drop. Nobody can open, make or mount anything before the kernel considers the module
    // loaded.
    instances.open();
    tracer.registry.lock().set_watch(watch);
    match kapi::tree::debugfs_is_mounted() {
        _ if kapi::lockdown::debugfs().is_err() => pr_info!(
            "the kernel is locked down, debugfs with it; for files in /sys/kernel/ferroprobe: mount -t ferroprobe none /sys/kernel/ferroprobe\n"
        ),
        true => pr_info!("files in /sys/kernel/debug/ferroprobe, README is one of them\n"),
        false => pr_info!(
            "files in /sys/kernel/debug/ferroprobe, once debugfs is mounted: mount -t debugfs none /sys/kernel/debug\n"
        ),
    }
    Ok(Ferroprobe {
        _dump: dump,
        _mountable: mountable,
        _instances: instances,
        _arrivals: arrivals,
        _modules: modules,
        _files: files,
        tracer,
        _sleep: sleep,
        _late: late,
        _functions: functions,
    })
}

/// Makes the events of system calls, if they are `wanted`.
fn add_system_calls(tracer: &tracer::Tracer, wanted: bool) -> Result {
    if wanted
        && !tracer.change(|registry, _| {
            registry
                .definitions
                .add_system_calls(&mut registry.instances)
        })?
    {
        pr_info!(
            "no events of system calls: this kernel does not describe them (CONFIG_FTRACE_SYSCALLS)\n"
        );
    }
    Ok(())
}

impl Drop for Ferroprobe {
    fn drop(&mut self) {
        self.tracer.shut_down();
    }
}
