// SPDX-License-Identifier: GPL-2.0

//! Makes the path of a file from dentries and mounts, without locks.
//!
//! The names are found from the last to the first, so the path is written from its end. The memory
//! may change at any time, and pointers may be invalid: each read may fail, and the number of steps
//! is bounded.

use super::{PathMembers, PathStart};
use crate::engine::record::MAX_SIZE;
use crate::engine::util::digits;
use crate::sys;

/// Maximum number of names of a path, and mounts on its way.
const MAX_STEPS: usize = 192;

/// Maximum number of mounts of a filesystem that are visited.
const MAX_MOUNTS: usize = 64;

/// Longest name, `NAME_MAX`.
const MAX_NAME: u32 = 255;

/// Maximum number of bytes of names: what fits into a record of [`MAX_SIZE`] bytes, with other
/// arguments.
const MAX_PATH: usize = 3840;
const _: () = assert!(MAX_PATH + 128 <= MAX_SIZE);

/// Replaces the unknown beginning of a path.
const CUT: &[u8] = b"...";

/// Follows the name of a deleted file.
const DELETED: &[u8] = b" (deleted)";

/// Attempts to make a path while files are renamed.
const ATTEMPTS: usize = 3;

/// Access to the memory of dentries.
pub(in crate::engine) trait PathSource {
    /// Returns the address of the current task's `task_struct`.
    fn task(&self) -> u64;

    /// Reads 1, 2, 4 or 8 bytes at `address`. Returns false if they cannot be read.
    fn bytes<const N: usize>(&self, address: u64, to: &mut [u8; N]) -> bool;

    /// Reads two words and the low half of a third one, at `offsets` from `address`. Returns false
    /// if they cannot be read, or if the caller must use [`bytes`](Self::bytes).
    fn three(&self, address: u64, offsets: [u16; 3], to: &mut [u64; 3]) -> bool;

    /// Reads `length` bytes to the end of `to`; may overwrite the bytes before them. Returns false
    /// if they cannot be read, or if the caller must use [`bytes`](Self::bytes).
    fn to_end(&self, address: u64, length: usize, to: &mut [u8]) -> bool;

    /// Reads the word at `offset` from `address`.
    #[inline(always)]
    fn word(&self, address: u64, offset: u32) -> Option<u64> {
        let mut word = [0; 8];
        let is_read = self.bytes(address.wrapping_add(u64::from(offset)), &mut word);
        is_read.then(|| u64::from_le_bytes(word))
    }

    /// Reads four bytes like [`word`](Self::word).
    #[inline(always)]
    fn half(&self, address: u64, offset: u32) -> Option<u32> {
        let mut half = [0; 4];
        let is_read = self.bytes(address.wrapping_add(u64::from(offset)), &mut half);
        is_read.then(|| u32::from_le_bytes(half))
    }

    /// Reads the pointer at `offset` from `address`; `None` for a null pointer.
    fn pointer(&self, address: u64, offset: u32) -> Option<u64> {
        self.word(address, offset).filter(|&pointer| pointer != 0)
    }

    /// Reads all of `to`.
    #[inline(always)]
    fn name(&self, mut address: u64, to: &mut [u8]) -> bool {
        let mut words = to.chunks_exact_mut(8);
        for word in &mut words {
            let is_read = word
                .try_into()
                .is_ok_and(|word: &mut [u8; 8]| self.bytes(address, word));
            if !is_read {
                return false;
            }
            address = address.wrapping_add(8);
        }
        let mut rest = words.into_remainder();
        if rest.len() >= 4 {
            let Some((half, behind)) = rest.split_first_chunk_mut::<4>() else {
                return false;
            };
            if !self.bytes(address, half) {
                return false;
            }
            address = address.wrapping_add(4);
            rest = behind;
        }
        for byte in rest.chunks_exact_mut(1) {
            let is_read = byte
                .try_into()
                .is_ok_and(|byte: &mut [u8; 1]| self.bytes(address, byte));
            if !is_read {
                return false;
            }
            address = address.wrapping_add(1);
        }
        true
    }
}

/// Writes the path of the object at `address` with a NUL, skipping the first `skip` bytes. Returns
/// the number of bytes; `out.len()` means that the path did not fit, whatever the last byte is.
/// Returns `None` if the file cannot be read.
///
/// As with `d_path()`, the path is relative to the current task's root. It begins with `...` if the
/// beginning is unknown: there are too many directories, one cannot be read, the filesystem of a
/// dentry is mounted more than once, or files are renamed meanwhile.
///
/// Context: any.
#[inline(never)]
#[link_section = ".kprobes.text"]
pub(in crate::engine) fn write_path<S: PathSource>(
    of: &PathMembers,
    (address, start): (u64, PathStart),
    source: &S,
    skip: usize,
    out: &mut [u8],
) -> Option<usize> {
    let walk = PathWalk { of, source };
    let file = walk.start(address, start)?;
    let mut attempt = 1usize;
    loop {
        let before = walk.changes();
        // The counters are odd during a rename or a mount change.
        let is_still = attempt < ATTEMPTS && (before.0 | before.1) & 1 == 0;
        let written = walk.write(&file, is_still, skip, out)?;
        if !is_still || walk.changes() == before {
            return Some(written);
        }
        attempt = attempt.wrapping_add(1);
    }
}

/// A dentry, and the `struct vfsmount` of its mount; 0 if unknown.
#[derive(Clone, Copy, PartialEq)]
struct WalkedPlace {
    dentry: u64,
    mount: u64,
}

/// The file whose path is written.
struct WalkedFile {
    place: WalkedPlace,
    /// The root of its mount; 0 if unknown.
    mount_root: u64,
    parent: u64,
    /// The root of the current task; zeroes if it has none.
    task_root: WalkedPlace,
}

/// The current position on the way up.
struct WalkedName {
    place: WalkedPlace,
    /// The root of the current mount.
    mount_root: u64,
    /// Remaining steps.
    left: usize,
}

struct PathWalk<'a, S> {
    of: &'a PathMembers,
    source: &'a S,
}

impl<S: PathSource> PathWalk<'_, S> {
    #[inline(always)]
    fn start(&self, address: u64, start: PathStart) -> Option<WalkedFile> {
        let (of, source) = (self.of, self.source);
        let place = match start {
            PathStart::Path => self.place(address)?,
            PathStart::Dentry => WalkedPlace {
                dentry: address,
                mount: 0,
            },
        };
        let nowhere = WalkedPlace {
            dentry: 0,
            mount: 0,
        };
        let fs = source.pointer(source.task(), of.task_fs);
        let task_root = fs.and_then(|fs| self.place(fs.wrapping_add(u64::from(of.fs_root))));
        Some(WalkedFile {
            place,
            mount_root: match place.mount {
                0 => 0,
                mount => source.word(mount, of.mount_root).unwrap_or(0),
            },
            parent: source.word(place.dentry, of.dentry_parent)?,
            task_root: task_root.unwrap_or(nowhere),
        })
    }

    /// Reads the `struct path` at `address`.
    #[inline(always)]
    fn place(&self, address: u64) -> Option<WalkedPlace> {
        Some(WalkedPlace {
            dentry: self.source.word(address, self.of.path_dentry)?,
            mount: self.source.word(address, self.of.path_mount)?,
        })
    }

    /// Reads the counters of renames and mount changes.
    #[inline(always)]
    fn changes(&self) -> (u32, u32) {
        let read = |address| match address {
            0 => 0,
            address => self.source.half(address, 0).unwrap_or(0),
        };
        (read(self.of.renames), read(self.of.remounts))
    }

    /// Writes the path once. Unless `is_still`, marks it as possibly wrong.
    #[inline(always)]
    fn write(
        &self,
        file: &WalkedFile,
        is_still: bool,
        skip: usize,
        out: &mut [u8],
    ) -> Option<usize> {
        let most = out.len().checked_sub(1)?;
        // First as if the path filled `out`.
        let mut written = PathEnd {
            out,
            length: most,
            skip: 0,
            is_moved: true,
            done: 0,
        };
        self.path(file, is_still, &mut written)?;
        let length = written.done;
        if skip == 0 && length < most {
            sys::move_down(out, most.wrapping_sub(length), length);
            *out.get_mut(length)? = 0;
            return Some(length.wrapping_add(1));
        }
        // Write again, now that the length is known.
        out.fill(0);
        let mut written = PathEnd {
            out,
            length,
            skip,
            is_moved: false,
            done: 0,
        };
        self.path(file, is_still, &mut written)?;
        let left = length.saturating_sub(skip).wrapping_add(1);
        Some(left.min(out.len()))
    }

    /// Writes all of the path.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn path(&self, file: &WalkedFile, is_still: bool, out: &mut PathEnd<'_>) -> Option<()> {
        let dentry = file.place.dentry;
        let is_root = file.parent == dentry;
        if is_root && file.mount_root != dentry && self.has_own_name(dentry)? {
            return self.own_name(dentry, out);
        }
        if !is_root && self.source.word(dentry, self.of.hashed)? == 0 {
            out.put(DELETED);
        }
        let before = out.done;
        let is_known = self.names(file, out) && is_still;
        if out.done == before {
            out.put(b"/");
        }
        if !is_known {
            out.put(CUT);
        }
        Some(())
    }

    /// Writes the names up to the root. Returns whether the root was reached.
    #[inline(always)]
    fn names(&self, file: &WalkedFile, out: &mut PathEnd<'_>) -> bool {
        let mut at = WalkedName {
            place: file.place,
            mount_root: file.mount_root,
            left: MAX_STEPS,
        };
        while at.left > 0 {
            if let Some(room) = out.room() {
                let done = self.plain_names(&mut at, file.task_root.dentry, room);
                out.done = out.done.wrapping_add(done);
            }
            if let Some(is_known) = self.name(&mut at, file, out) {
                return is_known;
            }
            at.left = at.left.saturating_sub(1);
        }
        false
    }

    /// Writes names to the end of `room`, as long as dentries have the usual form and are not
    /// `root`. Returns the number of bytes.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn plain_names(&self, at: &mut WalkedName, root: u64, room: &mut [u8]) -> usize {
        // Bytes before a name that may be overwritten: the slash and more.
        const BEFORE: usize = 8;
        let (Some(near), source) = (self.of.near, self.source) else {
            return 0;
        };
        let (mut dentry, mount_root, mut left) = (at.place.dentry, at.mount_root, at.left);
        let all = room.len();
        let mut room = room;
        while left > 0 && dentry != root && dentry != mount_root {
            let mut found = [0; 3];
            if !source.three(dentry, near, &mut found) {
                break;
            }
            let [parent, name, length] = found;
            if parent == dentry || !(1..=u64::from(MAX_NAME)).contains(&length) {
                break;
            }
            // CAST: At most `MAX_NAME`.
            let length = length as usize;
            let Some(before) = room.len().checked_sub(length.wrapping_add(BEFORE)) else {
                break;
            };
            if !source.to_end(name, length, room) {
                break;
            }
            let Some(([.., slash], _)) = room.split_at_mut_checked(before.wrapping_add(BEFORE))
            else {
                break;
            };
            *slash = b'/';
            room = room
                .get_mut(..before.wrapping_add(BEFORE - 1))
                .unwrap_or_default();
            dentry = parent;
            left = left.wrapping_sub(1);
        }
        (at.place.dentry, at.left) = (dentry, left);
        all.wrapping_sub(room.len())
    }

    /// Writes the next name, or moves to the parent mount. At the end of the way returns whether
    /// the beginning of the path is known.
    #[inline(always)]
    fn name(&self, at: &mut WalkedName, file: &WalkedFile, out: &mut PathEnd<'_>) -> Option<bool> {
        let (of, source) = (self.of, self.source);
        let WalkedPlace { dentry, mount } = at.place;
        if at.place == file.task_root {
            return Some(true);
        }
        if dentry == at.mount_root {
            let this = mount.wrapping_sub(u64::from(of.vfsmount));
            let Some(parent) = source.word(this, of.mount_parent) else {
                return Some(false);
            };
            if parent == this {
                return Some(true);
            }
            let mount = parent.wrapping_add(u64::from(of.vfsmount));
            let mountpoint = source.word(this, of.mountpoint);
            let root = source.word(mount, of.mount_root);
            let (Some(dentry), Some(root)) = (mountpoint, root) else {
                return Some(false);
            };
            (at.place, at.mount_root) = (WalkedPlace { dentry, mount }, root);
            return None;
        }
        let Some(parent) = source.word(dentry, of.dentry_parent) else {
            return Some(false);
        };
        if parent == dentry {
            if mount != 0 {
                // The file was moved out of the mounted directory.
                return Some(false);
            }
            let Some(found) = self.only_mount(dentry) else {
                return Some(false);
            };
            (at.place.mount, at.mount_root) = (found, dentry);
            return None;
        }
        let name = source.word(dentry, of.name);
        let length = source.half(dentry, of.name_length);
        let (Some(name), Some(length @ 1..=MAX_NAME)) = (name, length) else {
            return Some(false);
        };
        // CAST: u32 to usize widens.
        if !out.put_name(source, name, length as usize) {
            return Some(false);
        }
        at.place.dentry = parent;
        None
    }

    /// Returns the only mount, in the current task's namespace, of the filesystem with this `root`;
    /// `None` if there is none or more than one.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn only_mount(&self, root: u64) -> Option<u64> {
        let (of, source) = (self.of, self.source);
        of.knows_mounts.then_some(())?;
        let namespaces = source.pointer(source.task(), of.task_namespaces)?;
        let namespace = source.pointer(namespaces, of.task_namespace)?;
        let superblock = source.pointer(root, of.superblock)?;
        let mut next = source.word(superblock, of.first_mount)?;
        let mut found = None;
        for _ in 0..MAX_MOUNTS {
            if next == 0 {
                return found;
            }
            let mount = next.wrapping_add(u64::from(of.vfsmount));
            let is_here = source.word(next, of.mount_namespace)? == namespace
                && source.word(mount, of.mount_root)? == root;
            if is_here && found.replace(mount).is_some() {
                return None;
            }
            next = source.word(next, of.next_mount)?;
        }
        None
    }

    /// Returns whether the dentry is outside of any directory, and generates its name.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn has_own_name(&self, dentry: u64) -> Option<bool> {
        let operations = self.source.word(dentry, self.of.dentry_operations)?;
        Some(operations != 0 && self.source.word(operations, self.of.own_name)? != 0)
    }

    /// Writes the name of a pipe, socket or similar file, by its filesystem, like the kernel's
    /// `d_dname` functions.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn own_name(&self, dentry: u64, out: &mut PathEnd<'_>) -> Option<()> {
        let (of, source) = (self.of, self.source);
        let superblock = source.word(dentry, of.superblock)?;
        let filesystem = source.word(superblock, of.filesystem)?;
        let mut room = [0; 16];
        match self.short_text(filesystem, of.filesystem_name, &mut room)? {
            b"pipefs" => {
                self.put_number(dentry, out)?;
                out.put(b"pipe");
            }
            b"sockfs" => {
                self.put_number(dentry, out)?;
                out.put(b"socket");
            }
            b"nsfs" => {
                self.put_number(dentry, out)?;
                let inode = source.word(dentry, of.inode)?;
                let namespace = source.word(inode, of.inode_private)?;
                let operations = source.word(namespace, of.namespace_operations)?;
                let mut room = [0; 16];
                out.put(self.short_text(operations, of.namespace_name, &mut room)?);
            }
            b"pidfs" => out.put(b"anon_inode:[pidfd]"),
            b"failfs" => out.put(b"failfs:/"),
            b"anon_inodefs" => {
                self.put_dentry_name(dentry, out)?;
                out.put(b"anon_inode:");
            }
            b"dmabuf" => {
                // The rest of its name is in its dentry.
                self.put_dentry_name(dentry, out)?;
                out.put(b".../");
            }
            _ => {
                out.put(DELETED);
                self.put_dentry_name(dentry, out)?;
                out.put(b"/");
            }
        }
        Some(())
    }

    /// Writes `:[NUMBER]`, the number of the inode.
    fn put_number(&self, dentry: u64, out: &mut PathEnd<'_>) -> Option<()> {
        let inode = self.source.word(dentry, self.of.inode)?;
        let mut number = self.source.word(inode, self.of.inode_number)?;
        out.put(b"]");
        loop {
            // CAST: Less than the limit, which is a u32.
            let low = (number % digits::LIMIT) as u32;
            number /= digits::LIMIT;
            if number != 0 {
                out.put(&digits::decimal(low));
                continue;
            }
            let (text, length) = digits::short_decimal(low);
            out.put(text.get(..length)?);
            break;
        }
        out.put(b":[");
        Some(())
    }

    fn put_dentry_name(&self, dentry: u64, out: &mut PathEnd<'_>) -> Option<()> {
        let name = self.source.word(dentry, self.of.name)?;
        let length = self.source.half(dentry, self.of.name_length)?;
        let mut room = [0; MAX_NAME as usize];
        // CAST: u32 to usize widens.
        let to = room.get_mut(..length.min(MAX_NAME) as usize)?;
        self.source.name(name, to).then_some(())?;
        out.put(to);
        Some(())
    }

    /// Returns the string that the word at `offset` from `address` points to, without its NUL.
    fn short_text<'r>(
        &self,
        address: u64,
        offset: u32,
        room: &'r mut [u8; 16],
    ) -> Option<&'r [u8]> {
        let mut at = self.source.word(address, offset)?;
        let mut length = 0usize;
        for to in room.iter_mut() {
            let mut byte = [0];
            self.source.bytes(at, &mut byte).then_some(())?;
            let [byte] = byte;
            if byte == 0 {
                break;
            }
            *to = byte;
            at = at.wrapping_add(1);
            length = length.wrapping_add(1);
        }
        room.get(..length)
    }
}

/// A path that is written from its end.
struct PathEnd<'a> {
    out: &'a mut [u8],
    /// The length of the path, as far as known.
    length: usize,
    /// Number of bytes of the path that are skipped before `out`.
    skip: usize,
    /// Whether bytes before the path may be overwritten.
    is_moved: bool,
    /// Bytes written so far, including those that fall outside of `out`.
    done: usize,
}

impl PathEnd<'_> {
    /// Prepends `text`.
    fn put(&mut self, text: &[u8]) {
        let (to, left_out) = self.before(text.len());
        let from = text.get(left_out..).unwrap_or_default();
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
        }
        self.done = self.done.saturating_add(text.len());
    }

    /// Returns the free room before the path, up to the longest path, if bytes before the path may
    /// be overwritten.
    #[inline(always)]
    fn room(&mut self) -> Option<&mut [u8]> {
        if !self.is_moved {
            return None;
        }
        let end = self.length.checked_sub(self.done)?;
        let may_be = MAX_PATH.saturating_sub(self.done);
        self.out.get_mut(end.saturating_sub(may_be)..end)
    }

    /// Prepends `/` and the `length` bytes at `address`. Returns false if they cannot be read, or
    /// if the path gets too long.
    fn put_name<S: PathSource>(&mut self, source: &S, address: u64, length: usize) -> bool {
        let done = self.done.wrapping_add(length).wrapping_add(1);
        if done > MAX_PATH || !self.put_part(source, address, length) {
            return false;
        }
        self.done = done;
        true
    }

    /// [`put_name`](Self::put_name) for a name that is partly, or completely, outside of `out`.
    #[cold]
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn put_part<S: PathSource>(&mut self, source: &S, address: u64, length: usize) -> bool {
        let (to, left_out) = self.before(length);
        // CAST: usize to u64 does not narrow.
        if !source.name(address.wrapping_add(left_out as u64), to) {
            return false;
        }
        let (room, left_out) = self.before(length.wrapping_add(1));
        if let (Some(slash), 0) = (room.first_mut(), left_out) {
            *slash = b'/';
        }
        true
    }

    /// Returns the part of `out` for the next `length` bytes, and how many of these fall outside at
    /// the beginning.
    fn before(&mut self, length: usize) -> (&mut [u8], usize) {
        // Position in the path; negative while its length is unknown.
        // CAST: All are far below 2^63.
        let end = (self.length as i64).wrapping_sub(self.done as i64);
        let start = end.wrapping_sub(length as i64);
        let skip = self.skip as i64;
        let from = start.max(skip);
        let to = end.min(skip.wrapping_add(self.out.len() as i64));
        let range = match from < to {
            // CAST: Within `out`.
            true => from.wrapping_sub(skip) as usize..to.wrapping_sub(skip) as usize,
            false => 0..0,
        };
        // CAST: Not negative.
        let left_out = from.wrapping_sub(start) as usize;
        (self.out.get_mut(range).unwrap_or_default(), left_out)
    }
}
