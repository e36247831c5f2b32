// SPDX-License-Identifier: GPL-2.0

//! Files that describe the binary layout, and files that are empty because tools look for them.
//!
//! The texts have the form of tracefs, which libtraceevent parses.

use super::text::TextOps;
use crate::{
    engine::{record::format, record::Builtin, ring::HEADER_BYTES},
    instance::Instance,
};
use core::fmt;
use kernel::sync::Arc;

/// `events/header_page`: the layout of a sub-buffer.
pub(super) const HEADER_PAGE: TextOps<Instance> = TextOps::shows(show_header_page);

fn show_header_page(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    let data = instance.buffer.page_bytes().saturating_sub(HEADER_BYTES);
    out.write_str(concat!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n",
        "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n",
        "\tfield: char overwrite;\toffset:8;\tsize:1;\tsigned:0;\n",
    ))?;
    writeln!(
        out,
        "\tfield: char data;\toffset:{HEADER_BYTES};\tsize:{data};\tsigned:0;"
    )
}

/// `events/header_event`: the first word of an event.
pub(super) const HEADER_EVENT: TextOps<Instance> = TextOps::shows(show_header_event);

fn show_header_event(_instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    out.write_str(concat!(
        "# compressed entry header\n",
        "\ttype_len    :    5 bits\n",
        "\ttime_delta  :   27 bits\n",
        "\tarray       :   32 bits\n",
        "\n",
        "\tpadding     : type == 29\n",
        "\ttime_extend : type == 30\n",
        "\ttime_stamp : type == 31\n",
        "\tdata max type_len  == 28\n",
    ))
}

/// `events/ftrace/EVENT/format` of the predefined event with id `ID`. trace-cmd requires at least
/// one format in the group `ftrace`.
pub(super) const fn builtin_format<const ID: u16>() -> TextOps<Instance> {
    TextOps::shows(show_format::<ID>)
}

fn show_format<const ID: u16>(_: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    match Builtin::with_id(ID) {
        Some(event) => format::write_format(out, event.name, event.id, &event.layout),
        None => Err(fmt::Error),
    }
}

/// `printk_formats`: empty.
pub(super) const PRINTK_FORMATS: TextOps<Instance> = TextOps::shows(show_nothing);

fn show_nothing(_instance: &Arc<Instance>, _out: &mut dyn fmt::Write) -> fmt::Result {
    Ok(())
}

/// `buffer_total_size_kb`: the sum over all CPUs.
pub(super) const BUFFER_TOTAL_SIZE: TextOps<Instance> = TextOps::shows(show_total_size);

fn show_total_size(instance: &Arc<Instance>, out: &mut dyn fmt::Write) -> fmt::Result {
    writeln!(out, "{}", instance.buffer.total_kilobytes())
}
