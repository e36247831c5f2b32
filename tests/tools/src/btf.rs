// SPDX-License-Identifier: GPL-2.0

//! The type information (BTF) of a kernel.
//!
//! It lies somewhere in the kernel's data, and of arm64 the image has no sections
//! to say where. So it is searched for by its header, `struct btf_header` of
//! `include/uapi/linux/btf.h`.

use crate::Failure;

/// `BTF_MAGIC` and `BTF_VERSION`, no flags, and the length of the header.
const START: [u8; 8] = [0x9f, 0xeb, 1, 0, 24, 0, 0, 0];

/// The largest BTF in `kernel`.
pub(crate) fn find(kernel: &[u8]) -> Result<&[u8], Failure> {
    let starts = kernel.windows(START.len()).enumerate();
    let found = starts
        .filter(|(_, bytes)| *bytes == START)
        .filter_map(|(at, _)| blob(&kernel[at..]))
        .max_by_key(|blob| blob.len());
    found.ok_or_else(|| "there is no type information in this kernel".into())
}

/// The BTF with which `data` begins, if its header makes sense.
fn blob(data: &[u8]) -> Option<&[u8]> {
    let word = |index: usize| {
        let bytes = data.get(index * 4..index * 4 + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    };
    let [types_at, types, strings_at, strings] = [word(2)?, word(3)?, word(4)?, word(5)?];
    let header = START.len() + 4 * 4;
    let texts = data.get(header + strings_at..header + strings_at + strings)?;
    let is_sound = types_at == 0
        && types > 0
        && strings_at == types
        && texts.first() == Some(&0)
        && texts.last() == Some(&0);
    is_sound.then(|| &data[..header + strings_at + strings])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(types: u8, text: &[u8]) -> Vec<u8> {
        let mut blob = START.to_vec();
        for word in [0, types, types, text.len() as u8] {
            blob.extend([word, 0, 0, 0]);
        }
        blob.extend(vec![7; usize::from(types)]);
        blob.extend(text);
        blob
    }

    #[test]
    fn the_largest_sound_one_is_found() {
        let (small, large) = (sample(4, b"\0a\0"), sample(8, b"\0abc\0"));
        let unsound = sample(12, b"text without its NULs");
        let kernel = [b"head", &small[..], &unsound, &large, b"tail"].concat();
        assert_eq!(find(&kernel).expect("one"), large);
    }

    #[test]
    fn a_kernel_without_any_is_refused() {
        assert!(find(b"").is_err());
        assert!(find(&sample(12, b"text without its NULs")).is_err());
        let cut = sample(8, b"\0abc\0");
        assert!(find(&cut[..cut.len() - 1]).is_err());
    }
}
