// SPDX-License-Identifier: GPL-2.0

//! Finds the end of a function's instructions.
//!
//! The symbol table assigns to a function everything up to the next symbol: padding, the
//! words before the next function that belong to that function, on arm64 the replacements
//! for alternatives (`.subsection 1` of each object file's text), literals, and weak
//! functions that another one has replaced and that no longer have a symbol.
//!
//! A function ends behind the instruction from which control does not continue and behind
//! which no branch and no table leads. What lies there is never executed as part of the
//! function.

use super::facts::{Facts, JudgedFunction, SpecialRole};
use super::text::FunctionText;
use super::verdict::Why;
use super::walk::{Walk, WalkStep};
use crate::engine::code::arch::isa::{self, InsnKind, OPS_LEN};

/// The bytes before a function that hold its type.
const TYPE_LEN: usize = 4;

/// Where the instructions of a function end.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// The offset behind the last instruction.
    insns: usize,
    /// The offset of words that belong to the next function.
    own: usize,
    /// The kind of these words.
    prefix: Why,
    /// Whether some instruction loads words relative to the program counter.
    has_literals: bool,
    /// Whether entries in the kernel's tables may move the end.
    is_doubtful: bool,
}

impl End {
    pub(super) fn of(function: &JudgedFunction<'_>, text: &FunctionText<'_>) -> Self {
        let ops = if has_ops(function, text) { OPS_LEN } else { 0 };
        let mut own = text.len().saturating_sub(ops);
        let mut prefix = Why::OpsPointer;
        let mut flow = EndFlow::of(text, &function.facts, own);
        if function.facts.cfi && text.isa().has_type_words() {
            let last = own.saturating_sub(TYPE_LEN);
            // Control ends before it, or would continue behind it.
            if flow.end <= last || flow.runs_on {
                prefix = Why::TypeWord;
                own = last;
                flow = EndFlow::of(text, &function.facts, own);
            }
        }
        // Control does not continue into the next function: nops there are padding, even
        // behind a call, which then does not return.
        let insns = flow.fillers.unwrap_or(flow.end);
        Self {
            insns,
            own,
            prefix,
            has_literals: flow.has_literals,
            is_doubtful: flow.has_deciding_trap || !is_filled(text, insns, own),
        }
    }

    /// Returns the offset behind the last instruction.
    pub fn insns(&self) -> usize {
        self.insns
    }

    /// Returns whether landings, or calls that do not return, may move the end: something other
    /// than padding follows it, or a trap precedes it.
    pub fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Returns why `step` is not an instruction of the function; `None` if it is.
    pub(super) fn why_not(&self, text: &FunctionText<'_>, step: &WalkStep) -> Option<Why> {
        if step.offset >= self.own {
            return Some(self.prefix);
        }
        if step.offset >= self.insns {
            return Some(match step.what.is_filler() {
                true => Why::Padding,
                false => Why::Behind { end: self.insns },
            });
        }
        (self.has_literals && is_literal(text, step, self.insns)).then_some(Why::Literal)
    }
}

/// Returns whether the last eight bytes are ftrace's pointer of the next function.
fn has_ops(function: &JudgedFunction<'_>, text: &FunctionText<'_>) -> bool {
    let is_possible = function.facts.call_ops;
    let Some(at) = text.len().checked_sub(OPS_LEN).filter(|_| is_possible) else {
        return false;
    };
    let window = text.window(at);
    let last = window.bytes().first_chunk::<OPS_LEN>();
    let is_aligned = text.address(at) & 7 == 0;
    last.is_some_and(|last| is_aligned && text.isa().is_ops_pointer(*last, function.facts.next))
}

/// Returns whether there is only padding between two offsets.
fn is_filled(text: &FunctionText<'_>, from: usize, to: usize) -> bool {
    let mut steps = Walk::from(text, from).take_while(|step| step.offset < to);
    steps.all(|step| step.what.is_filler())
}

/// The result of following the control flow.
struct EndFlow {
    /// The offset at which it ends, or the limit.
    end: usize,
    /// Start of the fillers before `end`, if they lead nowhere.
    fillers: Option<usize>,
    /// Whether control continues up to the limit.
    runs_on: bool,
    has_literals: bool,
    /// Whether the end depends on whether a trap returns.
    has_deciding_trap: bool,
}

impl EndFlow {
    /// Follows the control flow up to `limit`.
    fn of(text: &FunctionText<'_>, facts: &Facts<'_>, limit: usize) -> Self {
        let mut furthest = furthest_landing(text, facts, limit);
        let mut flow = Self {
            end: limit,
            fillers: None,
            runs_on: true,
            has_literals: false,
            has_deciding_trap: false,
        };
        let mut walk = Walk::over(text).peekable();
        while let Some(step) = walk.next().filter(|step| step.offset < limit) {
            let begun = flow.fillers.unwrap_or(step.offset);
            flow.fillers = step.what.is_filler().then_some(begun);
            flow.has_literals |= literal(&step).is_some();
            if let Some(to) = target(&step).filter(|to| *to < limit) {
                furthest = furthest.max(to);
            }
            let stops = (step.what.ends_flow() && !may_be_warning(text, facts, &step))
                || does_not_return(text, facts, &step);
            flow.runs_on = !stops && flow.fillers.is_none();
            if step.end() <= furthest || step.end() >= limit {
                continue;
            }
            flow.has_deciding_trap |= step.what.is_trap() && !stops;
            let next = walk.peek();
            if stops
                && next.is_some_and(|next| may_be_behind(text, next))
                && !is_replaced(text, facts, &step)
            {
                flow.end = step.end();
                break;
            }
        }
        flow.fillers = flow.fillers.filter(|from| *from > furthest);
        flow
    }
}

/// Returns whether the function may end before `next`, which no known path reaches.
fn may_be_behind(text: &FunctionText<'_>, next: &WalkStep) -> bool {
    match next.what.insn() {
        Some(insn) => insn.kind == InsnKind::Nop || !text.isa().pads_with_nops(),
        None => true,
    }
}

/// Returns the last of the facts' landings before `limit`; the function's start if there is
/// none.
fn furthest_landing(text: &FunctionText<'_>, facts: &Facts<'_>, limit: usize) -> usize {
    let end = text.address(limit);
    let landings = facts.landings.iter().filter(|landing| **landing < end);
    let offsets = landings.filter_map(|landing| text.offset(*landing));
    offsets.max().unwrap_or(0)
}

/// Returns whether `step` is a trap or a call that, by the facts, does not return.
fn does_not_return(text: &FunctionText<'_>, facts: &Facts<'_>, step: &WalkStep) -> bool {
    let stops = |place| facts.no_return.contains(&place);
    let place = text.address(step.offset);
    match callee(text, step) {
        Some(callee) => stops(callee) || stops(place),
        None => step.what.is_trap() && stops(place),
    }
}

/// Returns the function that `step` calls by its address.
fn callee(text: &FunctionText<'_>, step: &WalkStep) -> Option<u64> {
    match step.what.flow() {
        isa::Flow::Call(distance) => Some(text.address(step.end()).wrapping_add_signed(distance)),
        _ => None,
    }
}

/// Returns the functions called at places that no earlier branch skips: if one of them does not
/// return, the caller may end there.
pub(super) fn last_calls<'t>(
    text: &'t FunctionText<'_>,
    facts: &Facts<'_>,
) -> impl Iterator<Item = u64> + 't {
    let mut furthest = furthest_landing(text, facts, text.len());
    Walk::over(text).filter_map(move |step| {
        furthest = furthest.max(target(&step).unwrap_or(0));
        callee(text, &step).filter(|_| step.end() > furthest)
    })
}

/// Returns the trap that every path from the function's start reaches.
pub(super) fn certain_trap(text: &FunctionText<'_>) -> Option<usize> {
    let mut steps = Walk::over(text);
    let last = steps.find(|step| {
        let goes_on = !step.what.ends_flow()
            && !step.what.is_trap()
            && target(step).is_none()
            && callee(text, step).is_none();
        !goes_on
    })?;
    last.what.is_trap().then_some(last.offset)
}

/// Returns whether another instruction may replace `step` when the text is executed.
fn is_replaced(text: &FunctionText<'_>, facts: &Facts<'_>, step: &WalkStep) -> bool {
    has_role(text, facts, step, SpecialRole::Alternative)
}

/// Returns whether `step` is a trap that may be a WARN's, behind which control continues:
/// the kernel's table names it, and the facts do not say that it does not return.
fn may_be_warning(text: &FunctionText<'_>, facts: &Facts<'_>, step: &WalkStep) -> bool {
    step.what.is_trap() && has_role(text, facts, step, SpecialRole::Bug)
}

fn has_role(
    text: &FunctionText<'_>,
    facts: &Facts<'_>,
    step: &WalkStep,
    role: SpecialRole,
) -> bool {
    let place = text.address(step.offset);
    let mut regions = facts.regions.iter();
    regions.any(|region| region.role == role && region.range().contains(&place))
}

/// Returns the target of a relative branch, as an offset into the function; `None` for
/// other instructions and for branches that leave the function at its start.
fn target(step: &WalkStep) -> Option<usize> {
    match step.what.flow() {
        isa::Flow::Branch(distance) | isa::Flow::Jump(distance) => at_distance(step, distance),
        _ => None,
    }
}

/// Returns what `step` loads relative to the program counter, as offsets into the function.
fn literal(step: &WalkStep) -> Option<core::ops::Range<usize>> {
    match step.what.insn()?.kind {
        InsnKind::Literal { distance, len } => {
            let from = at_distance(step, distance)?;
            Some(from..from.saturating_add(len))
        }
        _ => None,
    }
}

fn at_distance(step: &WalkStep, distance: i64) -> Option<usize> {
    let distance = isize::try_from(distance).ok()?;
    step.end().checked_add_signed(distance)
}

/// Returns whether an instruction before `end` loads what is at `step`.
fn is_literal(text: &FunctionText<'_>, step: &WalkStep, end: usize) -> bool {
    let mut steps = Walk::over(text).take_while(|step| step.offset < end);
    steps.any(|load| literal(&load).is_some_and(|words| words.contains(&step.offset)))
}
