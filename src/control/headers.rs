// SPDX-License-Identifier: GPL-2.0

//! Files whose text describes the binary layout, or tells tools that look for
//! a file that there is nothing in it.
//!
//! The texts have the form of tracefs, which libtraceevent parses.

use super::text::Show;
use crate::{engine::ring::HEADER_BYTES, tracer::Tracer};
use core::fmt;
use kernel::sync::Arc;

/// `events/header_page`: the layout of a sub-buffer.
pub(crate) struct HeaderPage;

impl Show for HeaderPage {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        let data = tracer.buffer.page_bytes().saturating_sub(HEADER_BYTES);
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
}

/// `events/header_event`: the first word of an event.
pub(crate) struct HeaderEvent;

impl Show for HeaderEvent {
    type Data = Tracer;

    fn show(_tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
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
}

/// `events/ftrace/print/format`. Nothing records such an event; trace-cmd wants
/// one format of the group `ftrace` at the least.
pub(crate) struct PrintFormat;

impl Show for PrintFormat {
    type Data = Tracer;

    fn show(_tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        out.write_str(concat!(
            "name: print\nID: 5\nformat:\n",
            "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n",
            "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n",
            "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n",
            "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
            "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n",
            "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\n",
            "print fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n",
        ))
    }
}

/// `printk_formats`: none.
pub(crate) struct PrintkFormats;

impl Show for PrintkFormats {
    type Data = Tracer;

    fn show(_tracer: &Arc<Tracer>, _out: &mut dyn fmt::Write) -> fmt::Result {
        Ok(())
    }
}

/// `buffer_total_size_kb`: the sum over all CPUs.
pub(crate) struct BufferTotalSize;

impl Show for BufferTotalSize {
    type Data = Tracer;

    fn show(tracer: &Arc<Tracer>, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "{}", tracer.buffer.total_kilobytes())
    }
}
