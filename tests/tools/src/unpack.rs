// SPDX-License-Identifier: GPL-2.0

//! The kernel inside a bootable image.
//!
//! Of x86 the format is that of `Documentation/arch/x86/boot.rst`, of arm64
//! that of `drivers/firmware/efi/libstub/zboot-header.S`.

use crate::Failure;
use std::borrow::Cow;
use std::io::{Cursor, Read};

/// `data` uncompressed if it is a bootable image, and as it is if not.
pub(crate) fn unpack(data: &[u8]) -> Result<Cow<'_, [u8]>, Failure> {
    let Some(payload) = x86_payload(data).or_else(|| arm64_payload(data)) else {
        return Ok(data.into());
    };
    let mut kernel = Vec::new();
    match payload {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            ruzstd::decoding::StreamingDecoder::new(Cursor::new(payload))?
                .read_to_end(&mut kernel)?;
        }
        [0x1f, 0x8b, ..] => {
            flate2::bufread::GzDecoder::new(payload).read_to_end(&mut kernel)?;
        }
        _ => {
            return Err("a kernel compressed in neither gzip nor zstd: uncompress it first".into())
        }
    }
    Ok(kernel.into())
}

/// The compressed kernel in a bzImage.
fn x86_payload(data: &[u8]) -> Option<&[u8]> {
    /// Bytes that the field `setup_sects` counts.
    const SECTOR: usize = 512;

    if data.get(0x202..0x206) != Some(b"HdrS") {
        return None;
    }
    let setup = usize::from(*data.get(0x1f1)?).max(4) + 1;
    let start = setup * SECTOR + word(data, 0x248)?;
    data.get(start..start.checked_add(word(data, 0x24c)?)?)
}

/// The compressed kernel in an EFI zboot image.
fn arm64_payload(data: &[u8]) -> Option<&[u8]> {
    if !data.starts_with(b"MZ") || data.get(4..8) != Some(b"zimg") {
        return None;
    }
    let start = word(data, 8)?;
    data.get(start..start.checked_add(word(data, 12)?)?)
}

fn word(data: &[u8], at: usize) -> Option<usize> {
    let bytes = data.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
}
