// SPDX-License-Identifier: GPL-2.0

//! Where in a function a probe may be placed, and why not elsewhere.
//!
//! [`Placement`] takes a function's bytes and the facts known about it. It judges any
//! offset and maps all instruction boundaries. It follows the kernel, rule by rule:
//! `check_kprobe_address_safe` of `kernel/kprobes.c`, `can_probe` and its successors in
//! `arch/x86/kernel/kprobes/core.c`, `arch_prepare_kprobe` of
//! `arch/arm64/kernel/probes/kprobes.c`. If the kernel would accept a probe that cannot
//! work, the refusal is ours, and a verdict tells the origin of the refusal.
//!
//! The kernel has the last word: it may refuse for reasons that the facts do not contain.

use crate::engine::code::insn::exclusive::{CodeWords, Exclusives};
use crate::sys::AllocError;
use core::cell::{Cell, OnceCell};

mod end;
mod facts;
mod index;
mod map;
mod rules;
mod suspects;
pub mod tables;
mod text;
mod verdict;
mod walk;

pub use self::end::End;
pub use self::facts::{Facts, JudgedFunction, Patch, Region, SpecialRole};
pub use self::index::{PlacementIndex, Ways};
pub use self::map::{Boundary, Map};
pub use self::suspects::{Suspect, Suspects};
pub use self::verdict::{Inside, Judgement, Refuser, Verdict, Why};
pub use crate::engine::code::arch::isa::JumpTable;

use self::text::FunctionText;
use self::walk::{Walk, WalkStep};

/// A function whose offsets are judged.
/// Cheap to create. Whatever takes a walk over the whole function is done on first use: finding its
/// end, and on arm64 its exclusive sequences, which also take memory.
#[derive(Debug)]
pub struct Placement<'a> {
    function: JudgedFunction<'a>,
    text: FunctionText<'a>,
    end: Cell<Option<End>>,
    exclusives: OnceCell<Option<Exclusives>>,
}

impl<'a> Placement<'a> {
    /// Prepares to judge locations in `function`.
    pub fn of(function: JudgedFunction<'a>) -> Self {
        Self {
            function,
            text: FunctionText::of(&function),
            end: Cell::new(None),
            exclusives: OnceCell::new(),
        }
    }

    /// Sets `end`, which another placement of the same function found from the same facts.
    pub fn with_end(self, end: End) -> Self {
        Self {
            end: Cell::new(Some(end)),
            ..self
        }
    }

    /// Returns the function.
    pub fn function(&self) -> &JudgedFunction<'a> {
        &self.function
    }

    /// Returns the offset at which the kernel puts the probe for `offset`.
    ///
    /// On x86, offsets 0 and 4 of a function that begins with `endbr64` both mean the
    /// function's entry, and the probe is behind the `endbr64`. On arm64 the probe is on
    /// the `bti` or `paciasp`, which may be stepped.
    pub fn probed(&self, offset: usize) -> usize {
        match offset {
            0 => self.text.isa().skipped_pad(self.text.window(0).bytes()),
            _ => offset,
        }
    }

    /// Returns whether a probe at `offset` is at the function's entry, where the arguments
    /// are still in their registers and a return probe is allowed.
    pub fn is_entry(&self, offset: usize) -> bool {
        self.probed(offset) == self.probed(0)
    }

    /// Returns the address at which the kernel puts the probe for `offset`.
    pub fn address(&self, offset: usize) -> u64 {
        self.text.address(self.probed(offset))
    }

    /// Copies to `to` the bytes that were at `offset` before any patch, and returns their
    /// number: all that `to` holds, up to fifteen, and fewer at the function's end.
    ///
    /// The caller that registers a probe keeps them, to pass them as a [`Patch`] when the
    /// next location in the function is judged: five on x86, because the kernel may turn
    /// the probe's breakpoint into a jump of that length, four on arm64.
    pub fn original(&self, offset: usize, to: &mut [u8]) -> usize {
        let window = self.text.window(offset);
        let copied = to.iter_mut().zip(window.bytes());
        copied.map(|(to, from)| *to = *from).count()
    }

    /// Judges a probe at `offset`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if there is no memory for the analysis of exclusive sequences.
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

    /// Returns all instructions of the function in order, each with its verdict.
    pub fn map(&self) -> Map<'_, 'a> {
        Map::of(self)
    }

    /// Returns the locations from `from` on that may be other users' probes: an int3, or a jump out
    /// of the function like that of an optimised probe. Of a gap filled with int3 at the end, only
    /// the first counts.
    ///
    /// If one turns out to be a probe, the caller adds it to the facts and continues behind it,
    /// because the hidden code may change what follows.
    pub fn suspects(&self, from: usize) -> Suspects<'_, 'a> {
        Suspects::of(&self.text, from)
    }

    /// Returns where the function ends.
    pub fn end(&self) -> End {
        self.end.get().unwrap_or_else(|| {
            let end = End::of(&self.function, &self.text);
            self.end.set(Some(end));
            end
        })
    }

    /// Returns the exclusive sequences; `None` if the architecture has none.
    fn exclusives(&self) -> Result<Option<&Exclusives>, AllocError> {
        if self.exclusives.get().is_none() {
            // Not by get_or_init(), which can panic.
            let _ = self.exclusives.set(self.text.isa().exclusives(&self.text)?);
        }
        Ok(self.exclusives.get().and_then(Option::as_ref))
    }

    /// Returns the jump tables of the function.
    pub fn jump_tables(&self) -> impl Iterator<Item = JumpTable> + use<'_, 'a> {
        let (isa, start) = (self.text.isa(), self.text.address(0));
        (0..self.text.count()).filter_map(move |index| isa.jump_table(&self.text, start, index))
    }

    /// Returns the called functions that decide where this one ends, if [`End::is_doubtful`]: it
    /// matters whether they return.
    pub fn last_calls(&self) -> impl Iterator<Item = u64> + use<'_, 'a> {
        end::last_calls(&self.text, &self.function.facts)
    }

    /// Returns the address of the trap that every call of the function reaches. If it belongs to a
    /// BUG, the function does not return.
    pub fn certain_trap(&self) -> Option<u64> {
        end::certain_trap(&self.text).map(|offset| self.text.address(offset))
    }

    /// Returns the step of the walk in which `offset` lies.
    fn step_at(&self, offset: usize) -> Option<WalkStep> {
        let rest = |len| offset.checked_rem(len).unwrap_or(offset);
        let from = match self.text.isa().fixed_len() {
            Some(len) => offset.saturating_sub(rest(len)),
            None => 0,
        };
        Walk::from(&self.text, from).find(|step| step.end() > offset)
    }
}

/// Kernel functions that do not return: their caller may end behind the call. All other calls are
/// assumed to return.
pub const NO_RETURN: &[&core::ffi::CStr] = &[
    c"__fortify_panic",
    c"__kunit_abort",
    c"__module_put_and_kthread_exit",
    c"__stack_chk_fail",
    c"__ubsan_handle_builtin_unreachable",
    c"arch_cpu_idle_dead",
    c"cpu_die",
    c"cpu_park_loop",
    c"cpu_startup_entry",
    c"die_kernel_fault",
    c"do_exit",
    c"do_group_exit",
    c"do_task_dead",
    c"efi_rts_park_worker",
    c"kthread_complete_and_exit",
    c"kthread_exit",
    c"kunit_try_catch_throw",
    c"make_task_dead",
    c"nmi_panic_self_stop",
    c"panic",
    c"panic_smp_self_stop",
    c"rest_init",
    c"rust_begin_unwind",
    c"rust_helper_BUG",
    c"start_kernel",
    c"stop_this_cpu",
    c"usercopy_abort",
    c"vpanic",
];
