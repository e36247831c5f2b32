// SPDX-License-Identifier: GPL-2.0

//! Locations that may be other users' probes.

use super::{text::FunctionText, walk::Walk};
use crate::engine::code::arch::isa::Flow;

/// A location that may be another user's probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Its offset in the function.
    pub offset: usize,
    /// The target, if it is a jump and not a breakpoint.
    pub jumps_to: Option<u64>,
}

/// The suspects of a function, see [`Placement::suspects`](super::Placement::suspects). A named
/// type: symbol names of nested adapters are too long for the kernel.
pub struct Suspects<'t, 'a> {
    text: &'t FunctionText<'a>,
    /// `None` if patches hide no boundary on this architecture.
    walk: Option<Walk<'t, 'a>>,
    from: usize,
    /// Whether the last step was a breakpoint in the filled gap at the end.
    in_gap: bool,
}

impl<'t, 'a> Suspects<'t, 'a> {
    /// Returns the suspects from the offset `from` on.
    pub(super) fn of(text: &'t FunctionText<'a>, from: usize) -> Self {
        let walks = text.isa().fixed_len().is_none();
        Self {
            text,
            walk: walks.then(|| Walk::over(text)),
            from,
            in_gap: false,
        }
    }
}

impl Iterator for Suspects<'_, '_> {
    type Item = Suspect;

    fn next(&mut self) -> Option<Suspect> {
        loop {
            let step = self.walk.as_mut()?.next()?;
            let jumps_to = if self.text.is_breakpoint(step.offset) {
                let is_gap = self.text.is_gap(step.offset);
                if core::mem::replace(&mut self.in_gap, is_gap) {
                    continue;
                }
                None
            } else {
                self.in_gap = false;
                let Flow::Jump(distance) = step.what.flow() else {
                    continue;
                };
                let to = self.text.address(step.end()).wrapping_add_signed(distance);
                let is_inside = self.text.offset(to).is_some();
                if is_inside || step.len != self.text.isa().patch_len() {
                    continue;
                }
                Some(to)
            };
            if step.offset >= self.from {
                return Some(Suspect {
                    offset: step.offset,
                    jumps_to,
                });
            }
        }
    }
}
