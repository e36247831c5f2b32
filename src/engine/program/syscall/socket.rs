// SPDX-License-Identifier: GPL-2.0

//! Socket addresses in system calls, as text.
//!
//! Source: `struct sockaddr_in`, `sockaddr_in6`, `sockaddr_un` of the kernel's uapi headers.
//!
//! Context: any.

use crate::engine::util::address::{put_ip4, put_ip6, IP6_LEN};
use crate::engine::util::seq_buf::SeqBuf;

/// Maximum number of bytes of an address: the kernel's `struct sockaddr_storage`.
pub const MAX_ADDRESS: usize = 128;

const UNSPECIFIED: u16 = 0;
const UNIX: u16 = 1;
const INET: u16 = 2;
const INET6: u16 = 10;

/// Adds the address whose `bytes` a program passes: `10.0.0.1:80`, `[fe80::1%2]:80`,
/// `unix:/run/x`, `unix:@abstract`, `unix:` for one without a name, `unspecified`, or
/// `family N` for any other, and for one that is too short; nothing if it has no family.
pub fn put_address(buf: &mut SeqBuf<'_>, bytes: &[u8]) {
    let Some((family, rest)) = bytes.split_first_chunk() else {
        return;
    };
    let family = u16::from_le_bytes(*family);
    let is_put = match family {
        UNSPECIFIED => {
            buf.text(b"unspecified");
            true
        }
        UNIX => {
            put_unix(buf, rest);
            true
        }
        INET => put_inet(buf, rest).is_some(),
        INET6 => put_inet6(buf, rest).is_some(),
        _ => false,
    };
    if !is_put {
        buf.text(b"family ");
        buf.decimal(family.into());
    }
}

fn put_inet(buf: &mut SeqBuf<'_>, bytes: &[u8]) -> Option<()> {
    let (port, rest) = bytes.split_first_chunk()?;
    let (address, padding) = rest.split_first_chunk()?;
    // The kernel requires the whole structure.
    padding.get(..8)?;
    put_ip4(buf, u32::from_be_bytes(*address));
    put_port(buf, *port);
    Some(())
}

fn put_inet6(buf: &mut SeqBuf<'_>, bytes: &[u8]) -> Option<()> {
    let (port, rest) = bytes.split_first_chunk()?;
    let (_flow, rest) = rest.split_first_chunk::<4>()?;
    let (address, rest) = rest.split_first_chunk::<IP6_LEN>()?;
    let scope = rest
        .first_chunk()
        .map_or(0, |scope| u32::from_le_bytes(*scope));
    buf.byte(b'[');
    put_ip6(buf, address);
    if scope != 0 {
        buf.byte(b'%');
        buf.decimal(scope.into());
    }
    buf.byte(b']');
    put_port(buf, *port);
    Some(())
}

fn put_port(buf: &mut SeqBuf<'_>, port: [u8; 2]) {
    buf.byte(b':');
    buf.decimal(u16::from_be_bytes(port).into());
}

/// Adds a path up to its NUL; of an abstract name all bytes count, and `@` stands for a NUL, as in
/// `/proc/net/unix`.
fn put_unix(buf: &mut SeqBuf<'_>, bytes: &[u8]) {
    buf.text(b"unix:");
    let is_abstract = bytes.first() == Some(&0);
    for &byte in bytes {
        match byte {
            0 if is_abstract => buf.byte(b'@'),
            0 => break,
            byte => buf.byte(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::put_address;
    use crate::engine::util::seq_buf::SeqBuf;

    fn text(bytes: &[u8]) -> String {
        let mut room = [0; 200];
        let mut buf = SeqBuf::new(&mut room);
        put_address(&mut buf, bytes);
        let length = buf.finish().unwrap();
        String::from_utf8(room[..length].to_vec()).unwrap()
    }

    #[test]
    fn addresses_are_those_of_their_families() {
        let in4 = [2, 0, 0, 80, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(text(&in4), "10.0.0.1:80");
        assert_eq!(text(&in4[..15]), "family 2");
        let mut in6 = [0u8; 28];
        in6[0] = 10;
        in6[2..4].copy_from_slice(&443u16.to_be_bytes());
        in6[8] = 0xfe;
        in6[9] = 0x80;
        in6[23] = 1;
        assert_eq!(text(&in6), "[fe80::1]:443");
        assert_eq!(text(&in6[..24]), "[fe80::1]:443");
        assert_eq!(text(&in6[..23]), "family 10");
        in6[24] = 2;
        assert_eq!(text(&in6), "[fe80::1%2]:443");
        assert_eq!(text(b"\x01\0/run/x\0more"), "unix:/run/x");
        assert_eq!(text(b"\x01\0/run/x"), "unix:/run/x");
        assert_eq!(text(b"\x01\0\0name\0x"), "unix:@name@x");
        assert_eq!(text(b"\x01\0"), "unix:");
        assert_eq!(text(b"\x01\0\0"), "unix:@");
        assert_eq!(text(b"\0\0anything"), "unspecified");
        assert_eq!(text(b"\x10\0\0\0"), "family 16");
        assert_eq!(text(b"\xff\xff"), "family 65535");
        assert_eq!(text(b"\x02"), "");
        assert_eq!(text(b""), "");
    }

    #[test]
    fn any_bytes_are_text() {
        for family in 0..=u8::MAX {
            for length in 0..=128 {
                let mut bytes = vec![family; length];
                if let Some(high) = bytes.get_mut(1) {
                    *high = 0;
                }
                let mut room = [0; 169];
                let mut buf = SeqBuf::new(&mut room);
                put_address(&mut buf, &bytes);
                assert!(buf.finish().is_some(), "{family} {length}");
            }
        }
    }
}
