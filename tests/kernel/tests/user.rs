// SPDX-License-Identifier: GPL-2.0

//! Memory of user space.

use ferroprobe_kernel::{
    alloc::{flags::GFP_KERNEL, KVec},
    error::code::*,
    heap::Heap,
    uaccess::{UserPtr, UserSlice},
};
use proptest::{collection::vec, prelude::*};

fn slice(bytes: &mut [u8]) -> UserSlice {
    UserSlice::new(UserPtr::from_ptr(bytes.as_mut_ptr().cast()), bytes.len())
}

/// Memory that is not mapped.
fn nowhere(length: usize) -> UserSlice {
    UserSlice::new(UserPtr::from_ptr(std::ptr::null_mut()), length)
}

proptest! {
    #[test]
    fn each_byte_is_read_once(
        mut bytes in vec(any::<u8>(), 0..60),
        steps in vec((any::<bool>(), 0..20usize), 0..12),
    ) {
        Heap::run(|_| {
            let expected = bytes.clone();
            let mut rest = &expected[..];
            let mut reader = slice(&mut bytes).reader();
            for (is_read, count) in steps {
                let mut out = vec![0; count];
                let result = match is_read {
                    true => reader.read_slice(&mut out),
                    false => reader.skip(count),
                };
                match rest.split_at_checked(count) {
                    Some((part, left)) => {
                        assert_eq!(result, Ok(()));
                        assert!(!is_read || out == part);
                        rest = left;
                    }
                    None => assert_eq!(result, Err(EFAULT)),
                }
                assert_eq!((reader.len(), reader.is_empty()), (rest.len(), rest.is_empty()));
            }
            let mut all = KVec::from_elem(1, 3, GFP_KERNEL).unwrap();
            reader.read_all(&mut all, GFP_KERNEL).unwrap();
            assert_eq!(*all, [&[1; 3], rest].concat());
        });
    }

    #[test]
    fn each_byte_is_written_once(parts in vec(vec(any::<u8>(), 0..20), 0..8)) {
        let mut room = [0; 60];
        let mut expected = Vec::new();
        let mut writer = slice(&mut room).writer();
        for part in &parts {
            let fits = expected.len() + part.len() <= 60;
            let result = writer.write_slice(part);
            assert_eq!(result, if fits { Ok(()) } else { Err(EFAULT) });
            if fits {
                expected.extend(part);
            }
            assert_eq!(writer.len(), 60 - expected.len());
            assert_eq!(writer.is_empty(), expected.len() == 60);
        }
        expected.resize(60, 0);
        assert_eq!(&room[..], expected);
    }
}

#[test]
fn memory_that_is_not_mapped_is_refused() {
    Heap::run(|heap| {
        let mut reader = nowhere(9).reader();
        assert_eq!(reader.read_slice(&mut [0; 4]), Err(EFAULT));
        assert_eq!(reader.len(), 9);
        let mut all = KVec::from_elem(7, 3, GFP_KERNEL).unwrap();
        assert_eq!(reader.read_all(&mut all, GFP_KERNEL), Err(EFAULT));
        assert_eq!(*all, [7; 3]);
        let mut writer = nowhere(9).writer();
        assert_eq!(writer.write_slice(&[0; 4]), Err(EFAULT));
        assert_eq!(writer.len(), 9);
        heap.fail_after(0);
        let mut none = KVec::new();
        assert_eq!(
            nowhere(9).reader().read_all(&mut none, GFP_KERNEL),
            Err(ENOMEM)
        );
        assert!(none.is_empty());
    });
}
