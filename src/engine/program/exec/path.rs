// SPDX-License-Identifier: GPL-2.0

//! Paths of files, in the memory of the machine.

use super::env::Env;
use crate::engine::program::fetch::Program;
use crate::engine::program::paths::{write_path, PathSource, PathStart};

/// Memory for [`write_path`].
struct PathsOf<'a, E>(&'a E);

impl<E: Env> PathSource for PathsOf<'_, E> {
    #[inline(always)]
    fn task(&self) -> u64 {
        self.0.current()
    }

    #[inline(always)]
    fn bytes<const N: usize>(&self, address: u64, to: &mut [u8; N]) -> bool {
        self.0.read_word(address, to)
    }

    #[inline(always)]
    fn three(&self, address: u64, offsets: [u16; 3], to: &mut [u64; 3]) -> bool {
        self.0.read_three(address, offsets, to)
    }

    #[inline(always)]
    fn to_end(&self, address: u64, length: usize, to: &mut [u8]) -> bool {
        self.0.read_to_end(address, length, to)
    }
}

/// Writes the path of the object at an address, see [`write_path`].
pub(super) fn path<E: Env>(
    program: &Program,
    env: &E,
    at: (u64, PathStart),
    skip: usize,
    out: &mut [u8],
) -> Option<usize> {
    write_path(program.paths.as_deref()?, at, &PathsOf(env), skip, out)
}
