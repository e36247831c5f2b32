// SPDX-License-Identifier: GPL-2.0

//! Text that is put together of pieces, against the standard formatting.

use ferroprobe_engine::engine::util::seq_buf::{Piece, SeqBuf, TextBuf};
use ferroprobe_engine::engine::util::text::OneLine;
use ferroprobe_engine::sys;
use proptest::prelude::*;

/// Bytes that a piece may need.
const PIECE: usize = 32;

fn text(mut write: impl FnMut(&mut SeqBuf<'_>)) -> String {
    let mut text = TextBuf::new();
    text.add(&mut write).unwrap();
    let text = String::from_utf8(text.as_bytes().to_vec()).unwrap();
    // In a room of any size it is the same or left out.
    for room in 0..text.len() + PIECE {
        let mut room = vec![0xaa; room];
        let mut buf = SeqBuf::new(&mut room);
        write(&mut buf);
        match buf.finish() {
            Some(len) => assert_eq!(room[..len], *text.as_bytes()),
            None => assert!(room.len() < text.len() + PIECE),
        }
    }
    text
}

fn numbers(value: u64) {
    assert_eq!(text(|buf| buf.decimal(value)), format!("{value}"));
    assert_eq!(text(|buf| buf.hexadecimal(value)), format!("{value:x}"));
    assert_eq!(text(|buf| buf.padded(value, 7, b' ')), format!("{value:7}"));
    assert_eq!(
        text(|buf| buf.padded(value, 3, b'0')),
        format!("{value:03}")
    );
    let signed = value as i64;
    assert_eq!(text(|buf| buf.signed(signed)), format!("{signed}"));
    assert_eq!(
        text(|buf| buf.signed_left(signed, 7)),
        format!("{signed:<7}")
    );
    let small = value % 1_000_000;
    assert_eq!(
        text(|buf| buf.six_digits(small as u32, *b": ")),
        format!("{small:06}: ")
    );
}

#[test]
fn numbers_of_every_length_are_those_of_the_standard_formatting() {
    for digits in 0..20 {
        let power = 10u64.pow(digits);
        [power - 1, power, power + 1].into_iter().for_each(numbers);
    }
    for bit in 0..64 {
        [(1 << bit) - 1, 1 << bit].into_iter().for_each(numbers);
    }
    [0, u64::MAX, i64::MIN as u64].into_iter().for_each(numbers);
}

proptest! {
    #[test]
    fn numbers_are_those_of_the_standard_formatting(value: u64, shift in 0u32..64) {
        numbers(value >> shift);
    }

    #[test]
    fn pieces_follow_each_other(pieces in prop::collection::vec(".{0,90}", 0..6)) {
        let all = text(|buf| pieces.iter().for_each(|piece| buf.bytes(piece.as_bytes())));
        prop_assert_eq!(all, pieces.concat());
    }

    #[test]
    fn bytes_stay_on_their_line(bytes: Vec<u8>) {
        let all = text(|buf| buf.one_line(&bytes));
        prop_assert_eq!(all, OneLine(&bytes).to_string());
    }
}

#[test]
fn a_text_grows_as_long_as_there_is_memory() {
    let line = [b'x'; 1000];
    let mut text = TextBuf::new();
    let mut count = 0;
    sys::fail_allocation_after(Some(3));
    while text.add(|buf| buf.bytes(&line)).is_ok() {
        count += 1;
    }
    sys::fail_allocation_after(None);
    assert!(count >= 60);
    assert_eq!(text.len(), count * 1000);
    assert!(text.as_bytes().iter().all(|&byte| byte == b'x'));
    text.clear();
    assert!(text.is_empty());
}

#[test]
fn room_that_is_kept_needs_no_memory() {
    for length in 0..5000 {
        let mut text = TextBuf::new();
        text.add(|buf| {
            buf.bytes(&vec![b'x'; length]);
            buf.keep_room(PIECE);
        })
        .unwrap();
        sys::fail_allocation_after(Some(0));
        let inserted = text.insert(length / 2, &[b'y'; PIECE]);
        sys::fail_allocation_after(None);
        assert!(inserted.is_ok(), "a text of {length} bytes");
        assert_eq!(text.len(), length + PIECE);
    }
}

#[test]
fn a_piece_is_short_or_none() {
    let piece = Piece::<PIECE>::made_by(|buf| buf.text(b"0123456789abcdef")).unwrap();
    assert_eq!(text(|buf| buf.piece(&piece)), "0123456789abcdef");
    assert!(Piece::<PIECE>::made_by(|buf| buf.bytes(&[b'x'; PIECE + 1])).is_none());
}
