// SPDX-License-Identifier: GPL-2.0

//! Records of stacks, which follow the record of their hit.
//!
//! They are records of the kernel's events `kernel_stack` and `user_stack`, which every reader
//! knows. `kernel_stack`: the common header, the number of frames, four bytes of 0, then the
//! addresses of the frames, innermost first. `user_stack`: the common header, the pid of the
//! process, four bytes of 0, then [`USER_FRAMES`] addresses, padded with zeroes.

use crate::engine::record::{self, Header, COMMON_SIZE, KERNEL_STACK, MAX_SIZE, USER_STACK};
use crate::sys;

/// Number of bytes of a record before its frames.
const START: usize = 16;

/// Number of bytes of the address of a frame.
const FRAME: usize = 8;

/// Frames of the user's stack that are recorded: the kernel's `FTRACE_STACK_ENTRIES`.
pub const USER_FRAMES: usize = 8;

/// Number of bytes of the record of a user's stack.
pub const USER_LENGTH: usize = START + USER_FRAMES * FRAME;

/// Largest number of bytes of the frames of a record.
pub const MAX_FRAMES: usize = MAX_SIZE - START;

/// Returns the number of bytes of the record of a kernel stack with `frames`.
#[inline(always)]
pub fn length(frames: &[u8]) -> usize {
    frames.len().wrapping_add(START)
}

/// Writes the record of a kernel stack with these frames, and with the `header` of the hit. Writes
/// nothing if `out` is shorter than [`length`].
///
/// Context: any.
#[inline(always)]
pub fn put(out: &mut [u8], header: Header, frames: &[u8]) {
    // CAST: Lossless.
    let count = (frames.len() / FRAME) as u64;
    let header = Header {
        event: KERNEL_STACK.id,
        ..header
    };
    let Some((start, out)) = out.split_first_chunk_mut::<START>() else {
        return;
    };
    if let Some(header_out) = start.first_chunk_mut() {
        *header_out = header.to_bytes();
    }
    if let Some(count_out) = start.last_chunk_mut() {
        *count_out = count.to_le_bytes();
    }
    sys::copy_slice(out, frames);
}

/// Writes the record of the user stack of process `tgid`, with the `header` of the hit. `save`
/// writes the frames.
///
/// Context: any.
pub fn write_user(
    out: &mut [u8; USER_LENGTH],
    header: Header,
    tgid: i32,
    save: impl FnOnce(&mut [u8]),
) {
    out.fill(0);
    if let Some(frames) = out.get_mut(START..) {
        save(frames);
    }
    // CAST: The same bits.
    let _ = start(out, USER_STACK.id, header, tgid as u32);
}

/// Writes the part before the frames, with `number` behind the common header.
fn start(out: &mut [u8], event: u16, header: Header, number: u32) -> Option<()> {
    let header = Header { event, ..header };
    let done = record::put(out, 0, header.to_bytes())
        && record::put(out, COMMON_SIZE, u64::from(number).to_le_bytes());
    done.then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::print::{ShownEvent, SymbolNames, TextLines};
    use crate::engine::record::Builtin;
    use crate::engine::util::seq_buf::SeqBuf;
    use std::fmt::Write;

    const HEADER: Header = Header {
        event: 99,
        flags: 1,
        preempt_count: 2,
        pid: 7,
    };

    struct Names(bool);

    impl SymbolNames for Names {
        fn symbolize(&mut self, address: u64, with_offset: bool, buf: &mut SeqBuf<'_>) {
            assert!(!with_offset);
            write!(buf, "f_{address:x} [module]").unwrap();
        }

        fn shows_addresses(&self) -> bool {
            self.0
        }

        fn is_return_trampoline(&mut self, address: u64) -> bool {
            address == 0x77
        }
    }

    fn text(record: &[u8], with_addresses: bool) -> String {
        let id = Header::from_record(record).unwrap().event;
        let builtin = Builtin::with_id(id).unwrap();
        let mut room = [0; 300];
        let mut out = SeqBuf::new(&mut room);
        let event = ShownEvent {
            key: 0,
            group: Builtin::GROUP.as_bytes(),
            name: builtin.name.as_bytes(),
            layout: &builtin.layout,
        };
        TextLines::new().put(&mut out, event, record, &mut Names(with_addresses));
        let length = out.finish().unwrap();
        String::from_utf8(room[..length].to_vec()).unwrap()
    }

    fn put(frames: &[u64]) -> impl Fn(&mut [u8]) -> usize + '_ {
        move |out| {
            let room = out.chunks_exact_mut(8);
            let written = room.zip(frames).map(|(to, frame)| {
                to.copy_from_slice(&frame.to_le_bytes());
            });
            written.count()
        }
    }

    fn kernel(frames: &[u64], out: &mut [u8]) -> usize {
        let frames: Vec<u8> = frames.iter().flat_map(|it| it.to_le_bytes()).collect();
        super::put(out, HEADER, &frames);
        length(&frames)
    }

    #[test]
    fn frames_follow_their_number() {
        let mut out = [0xaa; 64];
        let length = kernel(&[0x10, 0x20, 0x77], &mut out);
        assert_eq!(length, 40);
        assert_eq!(out[40..], [0xaa; 24]);
        let record = &out[..length];
        let header = Header::from_record(record).unwrap();
        assert_eq!(header, Header { event: 4, ..HEADER });
        assert_eq!(record[8..16], [3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            text(record, false),
            "<stack trace>\n => f_10\n => f_20\n => [unknown/kretprobe'd]\n"
        );
        assert_eq!(
            text(&record[..24], true),
            "<stack trace>\n => f_10 <0000000000000010>\n"
        );
    }

    #[test]
    fn nothing_is_written_without_room() {
        let mut out = [0xaa; 15];
        kernel(&[1], &mut out);
        assert_eq!(out, [0xaa; 15]);
    }

    #[test]
    fn a_user_stack_has_a_fixed_length() {
        let mut out = [0xaa; USER_LENGTH];
        let save = put(&[0x1234, 0x5678]);
        write_user(&mut out, HEADER, 11, |out| {
            save(out);
        });
        assert_eq!(Header::from_record(&out).unwrap().event, 13);
        assert_eq!(
            text(&out, false),
            "<user stack trace>\n =>  <0000000000001234>\n =>  <0000000000005678>\n"
        );
        assert_eq!(out[8..16], [11, 0, 0, 0, 0, 0, 0, 0]);
    }
}
