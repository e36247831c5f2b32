// SPDX-License-Identifier: GPL-2.0

//! The rules, in the order in which the kernel applies them.

use super::facts::{Region, SpecialRole};
use super::text::WORD_LEN;
use super::verdict::{Inside, Refuser, Verdict, Why};
use super::walk::{WalkStep, What};
use super::Placement;
use crate::engine::code::insn::exclusive::Sequence;
use crate::sys::AllocError;

impl Placement<'_> {
    /// Judges a probe at `offset`, which lies in `step`.
    pub(super) fn rule(&self, step: &WalkStep, offset: usize) -> Result<Verdict, AllocError> {
        if let Some(verdict) = self.rule_for_address(offset) {
            return Ok(verdict);
        }
        if let Some(verdict) = self.rule_for_boundary(step, offset) {
            return Ok(verdict);
        }
        if self.is_ftrace_site(offset) {
            return Ok(match self.function.facts.kprobes_on_ftrace {
                true => Verdict::Probeable,
                false => Verdict::by_kernel(Why::Role(SpecialRole::Ftrace)),
            });
        }
        let verdict = self.rule_for_insn(step, offset)?;
        Ok(match self.end().why_not(&self.text, step) {
            None => verdict.unwrap_or(Verdict::Probeable),
            Some(why) => match verdict {
                // The bytes cannot be decoded.
                Some(unknown) if step.what.insn().is_none() => unknown,
                // Padding that consists of traps is refused as a trap.
                Some(Verdict::Refused {
                    by: Refuser::Kernel,
                    why: said,
                }) => Verdict::by_kernel(match why {
                    Why::Padding => said,
                    why => why,
                }),
                _ => Verdict::by_us(why),
            },
        })
    }

    /// Applies the rules that depend on the instruction, and on those around it.
    fn rule_for_insn(&self, step: &WalkStep, offset: usize) -> Result<Option<Verdict>, AllocError> {
        Ok(match step.what {
            What::Insn(_) => self.rule_for_bytes(offset)?,
            What::Undecodable => Some(Verdict::by_kernel(Why::Undecodable { at: step.offset })),
            What::Cut => Some(Verdict::by_us(Why::Cut)),
            What::Hidden => Some(Verdict::by_us(Why::Hidden { at: step.offset })),
        })
    }

    /// Applies the rules that depend on the address alone.
    fn rule_for_address(&self, offset: usize) -> Option<Verdict> {
        let name = self.function.name;
        if name.starts_with(b"__cfi_") || name.starts_with(b"__pfx_") {
            return Some(Verdict::by_kernel(Why::Preamble));
        }
        let mut regions = self.regions_at(offset);
        let region = regions.find(|region| match region.role {
            // Whether ftrace's location can be probed is checked later.
            SpecialRole::Ftrace => false,
            // The table names addresses, not instructions.
            SpecialRole::Bug => self.text.address(offset) == region.start,
            // Elsewhere the kernel steps such an instruction and handles its fault.
            SpecialRole::ExceptionTable => self.text.isa().refuses_exception_table(),
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
        regions.any(|region| region.role == SpecialRole::Ftrace && region.start == address)
    }

    fn rule_for_boundary(&self, step: &WalkStep, offset: usize) -> Option<Verdict> {
        if step.offset == offset {
            return None;
        }
        Some(match step.what {
            What::Undecodable => Verdict::by_kernel(Why::Undecodable { at: step.offset }),
            What::Hidden => Verdict::by_us(Why::Hidden { at: step.offset }),
            What::Cut | What::Insn(_) => Verdict::by_kernel(Why::Inside(Inside {
                start: step.offset,
                len: step.len,
                mnemonic: self.text.mnemonic(step.offset),
                after: Some(step.end()).filter(|&end| end < self.text.len()),
            })),
        })
    }

    /// Applies the rules that depend on the instruction at `offset`, which is one.
    fn rule_for_bytes(&self, offset: usize) -> Result<Option<Verdict>, AllocError> {
        let isa = self.text.isa();
        let window = self.text.window(offset);
        let refusal = isa.refusal(window.bytes());
        let refused = refusal.map(|refusal| Why::Insn(refusal.reason));
        if refusal.is_some_and(|refusal| refusal.by_kernel) {
            return Ok(refused.map(Verdict::by_kernel));
        }
        if self.function.facts.cfi && isa.is_type_check(window.bytes()) {
            return Ok(Some(Verdict::by_kernel(Why::TypeCheck)));
        }
        if let Some(verdict) = self.rule_for_exclusives(offset)? {
            return Ok(Some(verdict));
        }
        Ok(refused.map(Verdict::by_us))
    }

    /// Applies the rules for the middle of an exclusive sequence.
    fn rule_for_exclusives(&self, offset: usize) -> Result<Option<Verdict>, AllocError> {
        let index = offset / WORD_LEN;
        let scan = self.text.isa().exclusive_scan(&self.text, index);
        if let Some(sequence) = self.sequence_around(index)? {
            let why = Why::ExclusiveSequence {
                load: sequence.load.saturating_mul(WORD_LEN),
                store: sequence.store.saturating_mul(WORD_LEN),
            };
            return Ok(Some(match scan {
                Some(_) => Verdict::by_kernel(why),
                None => Verdict::by_us(why),
            }));
        }
        Ok(scan.map(|load| {
            let load = load.saturating_mul(WORD_LEN);
            Verdict::by_kernel(Why::LooksExclusive { load })
        }))
    }

    fn sequence_around(&self, index: usize) -> Result<Option<Sequence>, AllocError> {
        match self.exclusives()? {
            Some(exclusives) => exclusives.around(&self.text, index),
            None => Ok(None),
        }
    }
}
