// SPDX-License-Identifier: GPL-2.0

//! Network addresses as text: IPv4 (`10.0.0.1`), IPv6 (`fe80::1`) and MAC (`02:00:5e:10:00:01`).

use crate::engine::util::{digits, seq_buf::SeqBuf};

/// Number of bytes of an IPv6 address.
pub const IP6_LEN: usize = 16;

/// Number of bytes of a MAC address.
pub const MAC_LEN: usize = 6;

/// Parses an IPv4 address; the first part is the most significant byte.
pub fn parse_ip4(text: &[u8]) -> Option<u32> {
    let mut parts = text.split(|&byte| byte == b'.');
    let mut value = 0u32;
    for _ in 0..4 {
        let part = parts.next().filter(|part| part.len() <= 3)?;
        let byte = u8::try_from(digits(part, 10)?).ok()?;
        value = value.wrapping_shl(8) | u32::from(byte);
    }
    parts.next().is_none().then_some(value)
}

/// Prefix of an IPv4-mapped IPv6 address (RFC 4291).
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/// Parses an IPv6 address, with or without `::`; the last 32 bits may be written as an IPv4
/// address.
pub fn parse_ip6(text: &[u8]) -> Option<[u8; IP6_LEN]> {
    let mut address = [0; IP6_LEN];
    let gap = text.windows(2).position(|pair| pair == b"::");
    let Some(gap) = gap else {
        let words = words(text, &mut address)?;
        return (words == 8).then_some(address);
    };
    let (head, tail) = (text.get(..gap)?, text.get(gap.checked_add(2)?..)?);
    // An IPv4 address is at the end.
    if head.contains(&b'.') {
        return None;
    }
    let mut behind = [0; IP6_LEN];
    let before = words(head, &mut address)?;
    let after = words(tail, &mut behind)?;
    if before.checked_add(after)? > 7 {
        return None;
    }
    let length = after.checked_mul(2)?;
    let start = IP6_LEN.checked_sub(length)?;
    for (to, from) in address.iter_mut().skip(start).zip(behind) {
        *to = from;
    }
    Some(address)
}

/// Parses words separated by colons to the start of `address`; returns their number.
fn words(text: &[u8], address: &mut [u8; IP6_LEN]) -> Option<usize> {
    if text.is_empty() {
        return Some(0);
    }
    let mut count = 0usize;
    let mut to = address.chunks_exact_mut(2);
    let mut put = |value: u16| {
        for (to, from) in to.next()?.iter_mut().zip(value.to_be_bytes()) {
            *to = from;
        }
        count = count.checked_add(1)?;
        Some(())
    };
    let mut all = text.split(|&byte| byte == b':').peekable();
    while let Some(word) = all.next() {
        if word.contains(&b'.') {
            // Nothing follows an IPv4 address.
            let four = parse_ip4(word).filter(|_| all.peek().is_none())?;
            // CAST: the upper half, and the lower one.
            put((four >> 16) as u16)?;
            put(four as u16)?;
            break;
        }
        let word = Some(word).filter(|word| word.len() <= 4)?;
        put(u16::try_from(digits(word, 16)?).ok()?)?;
    }
    Some(count)
}

/// Parses a MAC address with `:` or `-` between its bytes.
pub fn parse_mac(text: &[u8]) -> Option<[u8; MAC_LEN]> {
    let mut parts = text.split(|&byte| byte == b':' || byte == b'-');
    let mut address = [0; MAC_LEN];
    for to in &mut address {
        let part = parts.next().filter(|part| part.len() <= 2)?;
        *to = u8::try_from(digits(part, 16)?).ok()?;
    }
    parts.next().is_none().then_some(address)
}

fn digits(text: &[u8], base: u32) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u32, |value, &byte| {
        value
            .checked_mul(base)?
            .checked_add(digits::value_of(byte, base)?)
    })
}

/// Adds an IPv4 address; the first part is the most significant byte.
pub fn put_ip4(buf: &mut SeqBuf<'_>, address: u32) {
    for (n, byte) in address.to_be_bytes().into_iter().enumerate() {
        if n > 0 {
            buf.byte(b'.');
        }
        buf.decimal(u64::from(byte));
    }
}

/// Adds a MAC address.
pub fn put_mac(buf: &mut SeqBuf<'_>, address: &[u8]) {
    for (n, byte) in address.iter().enumerate() {
        if n > 0 {
            buf.byte(b':');
        }
        if *byte < 16 {
            buf.byte(b'0');
        }
        buf.hexadecimal(u64::from(*byte));
    }
}

/// Adds an IPv6 address, with `::` for the first of the longest runs of zeros; an IPv4-mapped
/// address ends with the IPv4 address (RFC 5952).
pub fn put_ip6(buf: &mut SeqBuf<'_>, address: &[u8]) {
    if let Some(&[a, b, c, d]) = address.strip_prefix(&MAPPED) {
        buf.text(b"::ffff:");
        return put_ip4(buf, u32::from_be_bytes([a, b, c, d]));
    }
    let word = |pair: &[u8]| {
        pair.iter()
            .fold(0u64, |value, &byte| value << 8 | u64::from(byte))
    };
    let (mut run, mut best) = ((0usize, 0usize), (0usize, 0usize));
    for (n, pair) in address.chunks(2).enumerate() {
        run = match (word(pair), run.1) {
            (0, 0) => (n, 1),
            (0, length) => (run.0, length.saturating_add(1)),
            _ => (0, 0),
        };
        if run.1 > best.1.max(1) {
            best = run;
        }
    }
    let end = best.0.saturating_add(best.1);
    for (n, pair) in address.chunks(2).enumerate() {
        match best.1 > 0 && (best.0..end).contains(&n) {
            true if n == best.0 => buf.text(b"::"),
            true => (),
            false => {
                if n > 0 && !(best.1 > 0 && n == end) {
                    buf.byte(b':');
                }
                buf.hexadecimal(word(pair));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(put: impl FnOnce(&mut SeqBuf<'_>)) -> String {
        let mut room = [0; 64];
        let mut buf = SeqBuf::new(&mut room);
        put(&mut buf);
        let length = buf.finish().unwrap();
        String::from_utf8(room[..length].to_vec()).unwrap()
    }

    #[test]
    fn ip4_is_read_back() {
        for text in ["0.0.0.0", "127.0.0.1", "10.20.30.255"] {
            let address = parse_ip4(text.as_bytes()).unwrap();
            assert_eq!(printed(|buf| put_ip4(buf, address)), text);
        }
        assert_eq!(parse_ip4(b"127.0.0.1"), Some(0x7f00_0001));
        for bad in [
            "",
            "1.2.3",
            "1.2.3.4.5",
            "1.2.3.256",
            "1..2.3",
            "a.b.c.d",
            "1.2.3.0004",
        ] {
            assert_eq!(parse_ip4(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn ip6_is_read_back() {
        for text in [
            "::",
            "::1",
            "fe80::1",
            "2001:db8::ff00:42:8329",
            "1:2:3:4:5:6:7:8",
            "1::",
            "1:0:2::3",
            "0:1:2:3:4:5:6:7",
            "1:0:0:2::3",
            "::ffff:127.0.0.1",
            "::ffff:0.0.0.0",
            "::fffe:7f00:1",
            "::ffff:0:7f00:1",
            "1::ffff:7f00:1",
        ] {
            let address = parse_ip6(text.as_bytes()).expect(text);
            assert_eq!(printed(|buf| put_ip6(buf, &address)), text);
        }
        assert_eq!(parse_ip6(b"FE80:0:0:0:0:0:0:1"), parse_ip6(b"fe80::1"));
        for (text, same) in [
            ("::ffff:7f00:1", "::ffff:127.0.0.1"),
            ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
            ("1:2:3:4:5:6:7.8.9.10", "1:2:3:4:5:6:708:90a"),
        ] {
            let address = parse_ip6(text.as_bytes()).expect(text);
            assert_eq!(printed(|buf| put_ip6(buf, &address)), same);
        }
        for bad in [
            "1:2:3:4:5:6:7:8.9.10.11",
            "::1.2.3",
            "::1.2.3.4:5",
            "1.2.3.4::",
            "",
            ":",
            "1",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4::5:6:7:8",
            "1::2::3",
            "12345::",
            "g::",
            "1:::2",
        ] {
            assert_eq!(parse_ip6(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn mac_is_read_back() {
        let address = parse_mac(b"02:00:5e:10:0:f1").unwrap();
        assert_eq!(printed(|buf| put_mac(buf, &address)), "02:00:5e:10:00:f1");
        assert_eq!(parse_mac(b"02-00-5E-10-00-F1"), Some(address));
        for bad in [
            "",
            "1:2:3:4:5",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:100",
            "x:2:3:4:5:6",
        ] {
            assert_eq!(parse_mac(bad.as_bytes()), None, "{bad}");
        }
    }
}
