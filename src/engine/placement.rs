// SPDX-License-Identifier: GPL-2.0

//! Where in a function a probe may be placed, and why not elsewhere.
//!
//! [`Placement`] takes a function's bytes and the facts known about it. It
//! judges any offset and draws the map of all boundaries. It follows the
//! kernel, rule by rule: `check_kprobe_address_safe` of `kernel/kprobes.c`,
//! `can_probe` and what comes after it in `arch/x86/kernel/kprobes/core.c`,
//! `arch_prepare_kprobe` of `arch/arm64/kernel/probes/kprobes.c`. Where the
//! kernel would accept a probe that cannot work, the refusal is ours, and a
//! verdict says who refuses.
//!
//! The kernel has the last word all the same: what the facts do not tell is not
//! judged here.

use core::cell::Cell;

use crate::engine::arch::Arch;
use crate::engine::insn::arm64::{self, exclusive::Exclusives};
use crate::engine::insn::x86;
use crate::sys::AllocError;

mod facts;
mod map;
mod rules;
pub mod tables;
mod text;
mod verdict;
mod walk;

pub use self::facts::{Facts, Function, Patch, Region, Role};
pub use self::map::{Boundary, Class, Map};
pub use self::verdict::{Inside, Judgement, Refuser, Verdict, Why};

use self::text::Text;
use self::walk::{Step, Walk, What};

/// A function under judgement.
///
/// Making one costs nothing on x86. On arm64 it looks for a load-exclusive, and
/// when there is one, follows the flow of control and takes some memory.
#[derive(Debug)]
pub struct Placement<'a> {
    function: Function<'a>,
    text: Text<'a>,
    exclusives: Option<Exclusives>,
    /// Where the padding begins, once that was asked.
    padding: Cell<Option<usize>>,
}

impl<'a> Placement<'a> {
    /// Prepares to judge places of `function`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory for the analysis of exclusive
    /// sequences.
    pub fn of(function: Function<'a>) -> Result<Self, AllocError> {
        let text = Text::of(&function);
        let exclusives = match function.arch {
            Arch::Arm64 => Some(Exclusives::of(&text)?),
            Arch::X86_64 => None,
        };
        Ok(Self {
            function,
            text,
            exclusives,
            padding: Cell::new(None),
        })
    }

    /// The function.
    pub fn function(&self) -> &Function<'a> {
        &self.function
    }

    /// The offset at which the kernel puts the probe for `offset`.
    ///
    /// On x86, offset 0 and 4 of a function that begins with `endbr64` both
    /// mean the function's entry, and the probe sits behind it. On arm64 it
    /// sits on the `bti` or `paciasp`, which may be stepped.
    pub fn probed(&self, offset: usize) -> usize {
        match offset {
            0 if self.begins_with_endbr() => ENDBR_LEN,
            _ => offset,
        }
    }

    /// Whether a probe at `offset` is one at the function's entry, where the
    /// arguments are still in their places and a return probe may be.
    pub fn is_entry(&self, offset: usize) -> bool {
        self.probed(offset) == self.probed(0)
    }

    /// The address at which the kernel puts the probe for `offset`.
    pub fn address(&self, offset: usize) -> u64 {
        self.text.address(self.probed(offset))
    }

    /// Copies to `to` the bytes that were at `offset` before any patch, and says
    /// how many: all that `to` holds, up to fifteen, and less at the function's
    /// end.
    ///
    /// Whoever registers a probe keeps them, to give them as a [`Patch`] when
    /// the next place of the function is judged: five on x86, because the
    /// kernel may turn the probe's breakpoint into a jump of that length, four
    /// on arm64.
    pub fn original(&self, offset: usize, to: &mut [u8]) -> usize {
        let window = self.text.window(offset);
        let copied = to.iter_mut().zip(window.bytes());
        copied.map(|(to, from)| *to = *from).count()
    }

    /// Judges a probe at `offset`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when a place inside an exclusive sequence is found and
    /// there is no memory to find its ends.
    pub fn judge(&self, offset: usize) -> Result<Judgement<'a>, AllocError> {
        let probed = self.probed(offset);
        let verdict = match self.step_at(probed) {
            None => Verdict::by_us(Why::Outside {
                size: self.text.len(),
            }),
            Some(step) => self.rule(&step, probed)?,
        };
        Ok(Judgement {
            name: self.function.name,
            offset,
            verdict,
        })
    }

    /// All instructions of the function in order, each with its verdict.
    pub fn map(&self) -> Map<'_, 'a> {
        Map::of(self)
    }

    /// The places from `from` on that may be probes of somebody else: an int3,
    /// or a jump out of the function, as an optimised probe has. Of a filled gap
    /// at the end only the first int3 is one.
    ///
    /// Whoever finds that one is a probe puts it into the facts, and asks on
    /// behind it: what it hid may change what follows.
    pub fn suspects(&self, from: usize) -> impl Iterator<Item = Suspect> + use<'_, 'a> {
        let mut in_gap = false;
        // On arm64 a breakpoint hides no boundary.
        let walk = (self.function.arch == Arch::X86_64).then(|| Walk::over(&self.text));
        let suspects = walk.into_iter().flatten().filter_map(move |step| {
            let is_int3 = self.text.window(step.offset).bytes().first() == Some(&0xcc);
            if is_int3 {
                let asked = core::mem::replace(&mut in_gap, self.text.is_int3_from(step.offset));
                return (!asked).then_some(Suspect {
                    offset: step.offset,
                    jumps_to: None,
                });
            }
            in_gap = false;
            let What::X86(insn) = step.what else {
                return None;
            };
            let is_jump = insn.class() == x86::Class::Jump && insn.len() == 5;
            let to = self
                .text
                .address(step.end())
                .wrapping_add_signed(insn.relative()?);
            let is_outside = self.text.offset(to).is_none();
            (is_jump && is_outside).then_some(Suspect {
                offset: step.offset,
                jumps_to: Some(to),
            })
        });
        suspects.filter(move |suspect| suspect.offset >= from)
    }

    /// Where the padding behind the last instruction begins.
    fn padding(&self) -> usize {
        let known = self.padding.get();
        let padding = known.unwrap_or_else(|| padding(&self.text));
        self.padding.set(Some(padding));
        padding
    }

    /// The step of the walk in which `offset` lies.
    fn step_at(&self, offset: usize) -> Option<Step> {
        let mut walk = match self.function.arch {
            Arch::X86_64 => Walk::over(&self.text),
            Arch::Arm64 => Walk::from(&self.text, offset & !(arm64::INSN_LEN - 1)),
        };
        walk.find(|step| step.end() > offset)
    }

    fn begins_with_endbr(&self) -> bool {
        self.function.arch == Arch::X86_64
            && matches!(
                self.text.window(0).bytes(),
                // endbr64, endbr32, and the nop that replaces one to which
                // nothing jumps
                [0xf3, 0x0f, 0x1e, 0xfa | 0xfb, ..] | [0x0f, 0x1f, 0x40, 0xd6, ..]
            )
    }
}

/// What may be a probe of somebody else: see [`Placement::suspects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Where in the function.
    pub offset: usize,
    /// Where it jumps to, if it is a jump and no breakpoint.
    pub jumps_to: Option<u64>,
}

/// The length of `endbr64`.
const ENDBR_LEN: usize = 4;

/// Where the padding behind a function's last instruction begins; the function's
/// length when there is none.
fn padding(text: &Text<'_>) -> usize {
    let mut start = None;
    let mut after_end = false;
    for step in Walk::over(text) {
        start = match start {
            Some(start) if step.what.is_filler() => Some(start),
            _ if after_end && step.what.is_filler() => Some(step.offset),
            _ => None,
        };
        after_end = step.what.ends_flow();
    }
    let Some(start) = start else {
        return text.len();
    };
    let is_target =
        Walk::over(text).any(|step| target(&step).is_some_and(|to| to >= start && to < text.len()));
    if is_target {
        text.len()
    } else {
        start
    }
}

/// Where a relative branch goes, as an offset into the function; `None` for
/// what is no such branch or leaves the function at its beginning.
fn target(step: &Step) -> Option<usize> {
    match step.what {
        What::X86(insn) => {
            let distance = isize::try_from(insn.relative()?).ok()?;
            step.end().checked_add_signed(distance)
        }
        What::Arm64(word) => match arm64::class(word) {
            arm64::Class::Branch { displacement }
            | arm64::Class::ConditionalBranch { displacement } => step
                .offset
                .checked_add_signed(isize::try_from(displacement).ok()?),
            _ => None,
        },
        _ => None,
    }
}
