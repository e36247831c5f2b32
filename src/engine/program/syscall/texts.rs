// SPDX-License-Identifier: GPL-2.0

//! Which arguments of a system call are text or bytes in user memory, on kernels whose metadata do
//! not say it.

use super::{Call, MAX_COPIES};

/// Calls whose memory is not text that ends with a NUL: the argument that points to it, that with
/// its size, and whether it is text.
const SIZED: [(&[u8], u8, u8, bool); 6] = [
    (b"sys_write", 1, 2, false),
    (b"sys_pwrite64", 1, 2, false),
    (b"sys_mq_timedsend", 1, 2, false),
    (b"sys_sethostname", 0, 1, true),
    (b"sys_setdomainname", 0, 1, true),
    (b"sys_kexec_file_load", 4, 3, true),
];

/// A call whose texts are no `const char *`, with a bit for each of them.
const MOUNT: (&[u8], u32) = (b"sys_mount", 0b111);

impl Call {
    /// Finds the arguments that point to user memory by their types: text is a `const char *`.
    pub fn find_texts(&mut self) {
        let mut sized = SIZED.iter();
        if let Some(&(_, at, size, is_text)) = sized.find(|(name, ..)| **name == *self.name) {
            self.copied = 1u32.checked_shl(at.into()).unwrap_or(0);
            self.size = Some(size);
            self.is_text = is_text;
            return;
        }
        self.size = None;
        self.is_text = false;
        let (mount, of_mount) = MOUNT;
        if *self.name == *mount {
            self.copied = of_mount;
            return;
        }
        let all = (0u32..).zip(&self.arguments);
        let texts = all.filter(|(_, argument)| &*argument.c_type == b"const char *");
        self.copied = texts
            .take(MAX_COPIES)
            .fold(0, |bits, (at, _)| bits | 1u32.checked_shl(at).unwrap_or(0));
    }
}
