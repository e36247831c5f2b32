// SPDX-License-Identifier: GPL-2.0

//! The rules, in the order in which the kernel applies them.

use super::facts::{Region, Role};
use super::text::behind_kprobe;
use super::verdict::{Inside, Verdict, Why};
use super::walk::{Step, What};
use super::Placement;
use crate::engine::arch::Arch;
use crate::engine::insn::arm64;
use crate::engine::insn::arm64::exclusive::{kernel_scan, Sequence};
use crate::engine::insn::x86;
use crate::sys::AllocError;

impl Placement<'_> {
    /// Judges a probe at `offset`, which lies in `step`.
    pub(super) fn rule(&self, step: &Step, offset: usize) -> Result<Verdict, AllocError> {
        if let Some(verdict) = self.rule_for_address(offset) {
            return Ok(verdict);
        }
        if let Some(verdict) = self.rule_for_boundary(step, offset) {
            return Ok(verdict);
        }
        if self.is_ftrace_site(offset) {
            return Ok(match self.function.facts.kprobes_on_ftrace {
                true => Verdict::Probeable,
                false => Verdict::by_kernel(Why::Role(Role::Ftrace)),
            });
        }
        let verdict = match step.what {
            What::X86(insn) => self.rule_for_x86(&insn, offset),
            What::Arm64(word) => self.rule_for_arm64(word, offset)?,
            What::Undecodable => Some(Verdict::by_kernel(Why::Undecodable { at: step.offset })),
            What::Cut => Some(Verdict::by_us(Why::Cut)),
            What::Hidden => Some(Verdict::by_us(Why::Hidden { at: step.offset })),
        };
        if let Some(verdict) = verdict {
            return Ok(verdict);
        }
        if step.what.is_filler() && offset >= self.padding() {
            return Ok(Verdict::by_us(Why::Padding));
        }
        Ok(Verdict::Probeable)
    }

    /// What depends on the address alone.
    fn rule_for_address(&self, offset: usize) -> Option<Verdict> {
        let name = self.function.name;
        if name.starts_with(b"__cfi_") || name.starts_with(b"__pfx_") {
            return Some(Verdict::by_kernel(Why::Preamble));
        }
        let mut regions = self.regions_at(offset);
        let region = regions.find(|region| match region.role {
            // Whether ftrace's place can be probed is seen later.
            Role::Ftrace => false,
            // The table names addresses, not instructions.
            Role::Bug => self.text.address(offset) == region.start,
            // x86 steps such an instruction and handles its fault.
            Role::ExceptionTable => self.function.arch == Arch::Arm64,
            _ => true,
        })?;
        let why = Why::Role(region.role);
        Some(match region.role.refused_by_kernel(self.function.arch) {
            true => Verdict::by_kernel(why),
            false => Verdict::by_us(why),
        })
    }

    fn regions_at(&self, offset: usize) -> impl Iterator<Item = &Region> {
        let address = self.text.address(offset);
        let regions = self.function.facts.regions.iter();
        regions.filter(move |region| region.range().contains(&address))
    }

    fn is_ftrace_site(&self, offset: usize) -> bool {
        let address = self.text.address(offset);
        let mut regions = self.function.facts.regions.iter();
        regions.any(|region| region.role == Role::Ftrace && region.start == address)
    }

    fn rule_for_boundary(&self, step: &Step, offset: usize) -> Option<Verdict> {
        if step.offset == offset {
            return None;
        }
        Some(match step.what {
            What::Undecodable => Verdict::by_kernel(Why::Undecodable { at: step.offset }),
            What::Hidden => Verdict::by_us(Why::Hidden { at: step.offset }),
            What::Cut | What::X86(_) | What::Arm64(_) => Verdict::by_kernel(Why::Inside(Inside {
                start: step.offset,
                len: step.len,
                mnemonic: step.what.mnemonic(),
                after: Some(step.end()).filter(|&end| end < self.text.len()),
            })),
        })
    }

    fn rule_for_x86(&self, insn: &x86::Insn, offset: usize) -> Option<Verdict> {
        if let Some(refusal) = insn.refusal() {
            let why = Why::X86(refusal);
            return Some(match refusal.by_kernel() {
                true => Verdict::by_kernel(why),
                false => Verdict::by_us(why),
            });
        }
        (self.function.facts.cfi && self.is_type_check(offset))
            .then_some(Verdict::by_kernel(Why::TypeCheck))
    }

    /// Whether one of the first two instructions of a check of an indirect
    /// call's type begins here: `mov $-id, %r10d`; `add -4(%reg), %r10d`; `je`
    /// over a `ud2`.
    fn is_type_check(&self, offset: usize) -> bool {
        const JE_OVER_UD2: [u8; 4] = [0x74, 0x02, 0x0f, 0x0b];

        let tail = match self.text.window(offset).bytes() {
            [0x41, 0xba, ..] => 10,
            // add %r10d with a base register above or below r8
            [0x44 | 0x45, 0x03, ..] => 4,
            _ => return false,
        };
        let end = offset.saturating_add(tail);
        self.text.window(end).bytes().starts_with(&JE_OVER_UD2)
    }

    fn rule_for_arm64(&self, word: u32, offset: usize) -> Result<Option<Verdict>, AllocError> {
        let word = behind_kprobe(word);
        if let arm64::Verdict::Rejected(reason) = arm64::verdict(word) {
            return Ok(Some(Verdict::by_kernel(Why::Arm64(reason))));
        }
        let index = offset / arm64::INSN_LEN;
        let scan = kernel_scan(&self.text, index);
        if let Some(sequence) = self.sequence_around(index)? {
            let why = Why::ExclusiveSequence {
                load: sequence.load.saturating_mul(arm64::INSN_LEN),
                store: sequence.store.saturating_mul(arm64::INSN_LEN),
            };
            return Ok(Some(match scan {
                Some(_) => Verdict::by_kernel(why),
                None => Verdict::by_us(why),
            }));
        }
        if let Some(load) = scan {
            let load = load.saturating_mul(arm64::INSN_LEN);
            return Ok(Some(Verdict::by_kernel(Why::LooksExclusive { load })));
        }
        Ok(arm64::hazard(word).map(|hazard| Verdict::by_us(Why::Hazard(hazard))))
    }

    fn sequence_around(&self, index: usize) -> Result<Option<Sequence>, AllocError> {
        match &self.exclusives {
            Some(exclusives) => exclusives.around(&self.text, index),
            None => Ok(None),
        }
    }
}
