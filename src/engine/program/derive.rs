// SPDX-License-Identifier: GPL-2.0

//! Computations that the kernel makes for its own events before it records them.
//!
//! Sources: `include/trace/events` and the functions called there.
//!
//! Context: any.

use crate::engine::record::COMM_LEN;

/// The task states that `sched_switch` reports.
const REPORTED: u64 = 0x7f;

/// The state that `sched_switch` reports for a sleeping task that does not count as load.
const IDLE: u64 = 0x80;

/// The bit that `sched_switch` reports for a preempted task.
const PREEMPTED: u64 = 0x100;

/// Offset of `normal_prio` from `prio` in `struct task_struct`, in bytes.
pub(in crate::engine) const NORMAL_PRIORITY: i64 = 8;

/// Returns the priority of a task with its `normal` priority and the inherited `donated` one.
pub(in crate::engine) fn inherited(normal: u64, donated: u64) -> u64 {
    // CAST: Priorities are signed.
    match (donated as i32) < normal as i32 {
        true => donated,
        false => normal,
    }
}

/// Returns the state that `sched_switch` reports, from a task's state and exit state.
pub(in crate::engine) fn switch_state(preempted: u64, state: u64, exit_state: u64) -> u64 {
    const UNINTERRUPTIBLE: u64 = 0x2;
    const NOT_LOAD: u64 = 0x402;
    const LOCK_OR_FROZEN: u64 = 0x9000;

    // A `bool`: its other bits are undefined.
    if preempted & 0xff != 0 {
        return PREEMPTED;
    }
    let mut reported = (state | exit_state) & REPORTED;
    if state & NOT_LOAD == NOT_LOAD {
        reported = IDLE;
    }
    if state & LOCK_OR_FROZEN != 0 {
        reported = UNINTERRUPTIBLE;
    }
    // The highest bit of the state.
    reported
        .checked_ilog2()
        .map_or(0, |bit| 1u64.wrapping_shl(bit))
}

/// Returns the sector that is reported for a request: those that have none, as a flush, are at -1.
pub(in crate::engine) fn request_sector(position: u64) -> u64 {
    match position {
        u64::MAX => 0,
        _ => position,
    }
}

pub(in crate::engine) fn block_errno(status: u64) -> i32 {
    match status {
        0 => 0,
        1 => -95,
        2 => -110,
        3 => -28,
        4 => -67,
        5 => -121,
        6 => -52,
        7 => -61,
        8 => -84,
        9 => -12,
        11 => -78,
        12 => -11,
        13 => -16,
        14 => -109,
        15 => -75,
        16 => -19,
        17 => -62,
        19 => -22,
        _ => -5,
    }
}

/// Returns the kernel's letters for operation and flags of block I/O.
pub(in crate::engine) fn rwbs(flags: u64) -> [u8; COMM_LEN] {
    const LETTERS: [(u32, u8); 5] = [(17, b'F'), (19, b'A'), (11, b'S'), (12, b'M'), (27, b'U')];

    let operation: &[u8] = match flags & 0xff {
        0 => b"R",
        1 => b"W",
        2 => b"F",
        3 => b"D",
        5 => b"DE",
        7 => b"ZA",
        9 => b"WZ",
        11 => b"ZO",
        13 => b"ZC",
        15 => b"ZF",
        17 => b"ZR",
        19 => b"ZRA",
        _ => b"N",
    };
    let has = |bit: u32| flags.wrapping_shr(bit) & 1 != 0;
    let flush = has(18).then_some(b'F');
    let others = LETTERS
        .iter()
        .filter(|(bit, _)| has(*bit))
        .map(|(_, letter)| *letter);
    let all = flush
        .into_iter()
        .chain(operation.iter().copied())
        .chain(others);
    let mut text = [0; COMM_LEN];
    for (to, from) in text.iter_mut().zip(all) {
        *to = from;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{block_errno, request_sector, rwbs, switch_state};

    fn letters(flags: u64) -> String {
        let text = rwbs(flags);
        let end = text.iter().position(|&byte| byte == 0).unwrap();
        String::from_utf8(text[..end].to_vec()).unwrap()
    }

    #[test]
    fn letters_are_those_of_the_kernel() {
        for (flags, text) in [
            (0, "R"),
            (1 << 19, "RA"),
            (1 | 1 << 11, "WS"),
            (1 | 1 << 18 | 1 << 17 | 1 << 11, "FWFS"),
            (2 | 1 << 18, "FF"),
            (5, "DE"),
            (19, "ZRA"),
            (34, "N"),
            (1 | 1 << 11 | 1 << 12 | 1 << 27, "WSMU"),
        ] {
            assert_eq!(letters(flags), text, "{flags:#x}");
        }
    }

    #[test]
    fn states_are_those_of_the_kernel() {
        for (preempted, state, exit, told) in [
            (0, 0, 0, 0),
            (1, 1, 0, 0x100),
            (0xff00, 1, 0, 1),
            (0, 0x402, 0, 0x80),
            (0, 0x80, 0x20, 0x20),
            (0, 0x80, 0x10, 0x10),
            (0, 0x102, 0, 2),
            (0, 0x2001, 0, 1),
            (0, 0x8000, 0, 2),
            (0, 0x1000, 0, 2),
            (0, 0x104, 0, 4),
        ] {
            assert_eq!(switch_state(preempted, state, exit), told, "{state:#x}");
        }
        assert_eq!(block_errno(10), -5);
        assert_eq!((request_sector(u64::MAX), request_sector(8)), (0, 8));
    }
}
