// SPDX-License-Identifier: GPL-2.0

//! Arbitrary bytes as a JSON string, reversibly.
//!
//! UTF-8 is kept, with the escapes that JSON requires. A byte that is not part of UTF-8 becomes a
//! private-use character, U+EF00 + byte: U+EF80 to U+EFFF. If the text itself contains such a
//! character, its bytes are encoded in the same way, so that the mapping is unambiguous. MirBSD's
//! OPTU-8 encoding maps bytes in the same way.

use crate::engine::util::seq_buf::SeqBuf;

/// The characters that encode bytes.
const BYTES: core::ops::RangeInclusive<char> = '\u{ef80}'..='\u{efff}';

/// Adds `bytes` as a string.
#[inline(never)]
pub(super) fn put(buf: &mut SeqBuf<'_>, bytes: &[u8]) {
    if is_plain(bytes) {
        buf.quoted(bytes);
    } else {
        buf.byte(b'"');
        put_escaped(buf, bytes);
        buf.byte(b'"');
    }
}

/// Adds the output of `write` as a string.
pub(super) fn put_written(buf: &mut SeqBuf<'_>, mut write: impl FnMut(&mut SeqBuf<'_>)) {
    buf.byte(b'"');
    let start = buf.len();
    write(buf);
    if !is_plain(buf.since(start)) {
        escape_since(buf, start);
    }
    buf.byte(b'"');
}

/// Escapes the text behind `start`.
#[cold]
#[inline(never)]
fn escape_since(buf: &mut SeqBuf<'_>, start: usize) {
    /// Maximum number of bytes to escape: longer than a symbol with offset and module.
    const LONGEST: usize = 768;

    let mut room = [0; LONGEST];
    let text = buf.since(start);
    let length = text.len().min(LONGEST);
    if let (Some(to), Some(from)) = (room.get_mut(..length), text.get(..length)) {
        to.copy_from_slice(from);
    }
    buf.rewind(start);
    put_escaped(buf, room.get(..length).unwrap_or_default());
}

/// Returns whether `bytes` need no escapes: they are printable ASCII without quote and backslash.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    /// Pads fewer than four bytes to a word.
    const SPACE: u8 = b' ';

    // Overlapping words cover lengths between the word sizes.
    match *bytes {
        [] => true,
        [a] => is_plain_word([a, SPACE, SPACE, SPACE, SPACE, SPACE, SPACE, SPACE]),
        [a, b] => is_plain_word([a, b, SPACE, SPACE, SPACE, SPACE, SPACE, SPACE]),
        [a, b, c] => is_plain_word([a, b, c, SPACE, SPACE, SPACE, SPACE, SPACE]),
        [a, b, c, d, ..] => match bytes.last_chunk() {
            Some(last) => bytes.chunks_exact(8).all(is_plain_chunk) && is_plain_word(*last),
            None => match *bytes {
                [.., e, f, g, h] => is_plain_word([a, b, c, d, e, f, g, h]),
                _ => false,
            },
        },
    }
}

#[inline(always)]
fn is_plain_chunk(chunk: &[u8]) -> bool {
    chunk.first_chunk().is_none_or(|word| is_plain_word(*word))
}

/// Like [`is_plain`]. Borrows and carries do no harm: they only come from bytes that are not plain.
#[inline(always)]
fn is_plain_word(bytes: [u8; 8]) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = EACH << 7;

    let word = u64::from_le_bytes(bytes);
    // The high bit of each byte below `limit`, and of some that are not ASCII.
    let below = |word: u64, limit: u8| word.wrapping_sub(EACH.wrapping_mul(limit.into()));
    let is = |byte: u8| below(word ^ EACH.wrapping_mul(byte.into()), 1);
    let found = word | word.wrapping_add(EACH) | below(word, b' ') | is(b'"') | is(b'\\');
    found & HIGH == 0
}

/// Adds `bytes` with escapes.
#[cold]
#[inline(never)]
fn put_escaped(buf: &mut SeqBuf<'_>, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let mut room = [0; 4];
            let utf8 = character.encode_utf8(&mut room).as_bytes();
            match character {
                '"' => buf.text(b"\\\""),
                '\\' => buf.text(b"\\\\"),
                '\n' => buf.text(b"\\n"),
                '\r' => buf.text(b"\\r"),
                '\t' => buf.text(b"\\t"),
                c if c.is_ascii_control() => {
                    buf.text(b"\\u00");
                    if c < '\x10' {
                        buf.byte(b'0');
                    }
                    buf.hexadecimal(u64::from(c));
                }
                c if BYTES.contains(&c) => put_bytes(buf, utf8),
                _ => buf.bytes(utf8),
            }
        }
        put_bytes(buf, chunk.invalid());
    }
}

/// Adds the characters that encode `bytes`, which are not ASCII.
fn put_bytes(buf: &mut SeqBuf<'_>, bytes: &[u8]) {
    for byte in bytes {
        buf.text(b"\\uef");
        buf.hexadecimal(u64::from(*byte));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::util::seq_buf::TextBuf;

    fn shown(bytes: &[u8]) -> String {
        let mut text = TextBuf::new();
        text.add(|buf| put(buf, bytes)).unwrap();
        let mut written = TextBuf::new();
        let add = |buf: &mut SeqBuf<'_>| put_written(buf, |buf| buf.bytes(bytes));
        written.add(add).unwrap();
        assert_eq!(text.as_bytes(), written.as_bytes());
        String::from_utf8(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn utf8_is_kept() {
        assert_eq!(shown(b""), r#""""#);
        assert_eq!(shown(b"/etc/passwd and more"), r#""/etc/passwd and more""#);
        assert_eq!(
            shown("\u{e9} \u{20ac} \u{1f600}".as_bytes()),
            "\"\u{e9} \u{20ac} \u{1f600}\""
        );
    }

    #[test]
    fn what_json_requires_is_escaped() {
        assert_eq!(shown(b"a\"b\\c/"), r#""a\"b\\c/""#);
        assert_eq!(
            shown(b"\n\r\t\0\x08\x1f\x7f"),
            r#""\n\r\t\u0000\u0008\u001f\u007f""#
        );
    }

    #[test]
    fn bytes_are_characters_for_private_use() {
        assert_eq!(
            shown(b"a\xff\x80\xe2\x82"),
            r#""a\uefff\uef80\uefe2\uef82""#
        );
        // U+EF80 itself, and its neighbours, which are as others.
        assert_eq!(shown("\u{ef80}".as_bytes()), r#""\uefee\uefbe\uef80""#);
        assert_eq!(shown("\u{ef7f}\u{f000}".as_bytes()), "\"\u{ef7f}\u{f000}\"");
    }

    #[test]
    fn each_byte_is_noticed_wherever_it_is() {
        for byte in 0..=u8::MAX {
            let plain = matches!(byte, 0x20..=0x7e) && byte != b'"' && byte != b'\\';
            for length in 1..20 {
                for at in 0..length {
                    let mut text = vec![b'a'; length];
                    text[at] = byte;
                    assert_eq!(is_plain(&text), plain, "{byte:#x} at {at} of {length}");
                }
            }
        }
    }
}
