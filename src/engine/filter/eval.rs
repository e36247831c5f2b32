// SPDX-License-Identifier: GPL-2.0

//! Evaluates a filter for a hit.

use super::terms::{
    Filter, Hit, Operand, Relation, Term, Test, ACCEPT, MAX_TEXT, MOST_STEPS, REJECT,
};
use crate::engine::program::exec::{self, Env};
use crate::engine::program::fetch::Program;
use crate::engine::util::glob;
use crate::engine::util::steps::StepBudget;
use crate::engine::util::text::up_to_nul;

impl Filter {
    /// Evaluates the filter for a hit of the probe with `program`, if it compares one register with
    /// one number; `None` for any other filter.
    ///
    /// `program` must be a program of the event for which the filter was compiled.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn decide_fast<E: Env>(&self, program: &Program, env: &E) -> Option<bool> {
        let single = self.single.as_ref()?;
        let value = exec::register(program, single.index, env)?;
        Some(single.accepts(value))
    }

    /// Evaluates the filter for a hit of the probe with `program`: whether to record it.
    ///
    /// `program` must be a program of the event for which the filter was compiled.
    ///
    /// Context: any.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    pub fn matches<E: Env>(&self, program: &Program, env: &E, hit: &Hit) -> bool {
        let mut at = 0u16;
        let mut steps = StepBudget::new(MOST_STEPS);
        for _ in 0..self.terms.len() {
            let Some(term) = self.terms.get(usize::from(at)) else {
                break;
            };
            at = if self.holds(term, (program, env, hit), &mut steps) {
                term.on_true
            } else {
                term.on_false
            };
            if at >= REJECT {
                break;
            }
        }
        at == ACCEPT
    }
}

/// Cost of reading an array element.
const STEPS_OF_ELEMENT: usize = 8;

/// Cost of reading a text, or a piece of one.
const STEPS_OF_READING: usize = 32;

/// Extends the sign of a value of `width` bytes.
fn extend(value: u64, width: u8) -> u64 {
    let unused = 64u32.saturating_sub(u32::from(width).saturating_mul(8));
    // CAST: the sign bit is shifted to the top and back.
    (value.wrapping_shl(unused) as i64).wrapping_shr(unused) as u64
}

impl Filter {
    /// Returns whether `term` is true for the hit.
    ///
    /// Context: any.
    #[inline]
    pub(super) fn holds<E: Env>(
        &self,
        term: &Term,
        (program, env, hit): (&Program, &E, &Hit),
        steps: &mut StepBudget,
    ) -> bool {
        if let Test::Field { .. } = term.test {
            return self.fields_hold(term, (program, env, hit), steps);
        }
        match term.operand.of_hit(hit) {
            Some(value) => self.number_holds(term.test, value),
            None => self.argument_holds(term, program, env, steps),
        }
    }

    /// [`Filter::holds`], for a value that must be fetched.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn argument_holds<E: Env>(
        &self,
        term: &Term,
        program: &Program,
        env: &E,
        steps: &mut StepBudget,
    ) -> bool {
        match term.operand {
            Operand::Argument {
                index,
                count,
                width,
                signed,
            } => (0..count).any(|n| {
                if n > 0 && self.takes(STEPS_OF_ELEMENT, steps) {
                    return false;
                }
                exec::number(program, index, n, env).is_some_and(|value| {
                    let value = if signed { extend(value, width) } else { value };
                    self.number_holds(term.test, value)
                })
            }),
            Operand::Bytes { index, count } => {
                let Test::Bytes { start, bits, not } = term.test else {
                    return false;
                };
                let pattern = self.patterns.get(usize::from(start)..).unwrap_or(&[]);
                let mut wanted = pattern.iter().zip(0..count);
                let mut is_same = true;
                let is_read = wanted.all(|(&byte, n)| {
                    exec::number(program, index, n, env).is_some_and(|value| {
                        // The bits of this byte that count, the highest first.
                        let used = bits.saturating_sub(n.saturating_mul(8)).min(8);
                        let unused = 8u32.saturating_sub(used.into());
                        let differs = (value ^ u64::from(byte)).wrapping_shr(unused);
                        is_same &= differs == 0;
                        true
                    })
                });
                is_read && is_same != not
            }
            Operand::ReturnAddress => self.number_holds(term.test, env.return_address()),
            Operand::Comm => self.text_holds(term.test, &env.comm(), steps),
            Operand::Text { index, count } => (0..count)
                .any(|n| self.argument_text_holds(term.test, program, (index, n), env, steps)),
            Operand::Strings { index } => {
                let mut buffer = [0; MAX_TEXT];
                self.any_string_holds(term.test, steps, |each| {
                    exec::each_piece_of_list(program, index, env, &mut buffer, each)
                })
            }
            Operand::Pointer { index, user } => {
                let mut buffer = [0; MAX_TEXT];
                let Some(at) = exec::number(program, index, 0, env) else {
                    return false;
                };
                match env.read_string(at, user, &mut buffer) {
                    Some(MAX_TEXT) => self.long_text_holds(term.test, steps, |each| {
                        exec::each_piece_at((at, user), env, &mut buffer, each)
                    }),
                    Some(len) => {
                        let text = buffer.get(..len).unwrap_or_default();
                        self.text_holds(term.test, text, steps)
                    }
                    None => false,
                }
            }
            _ => false,
        }
    }

    /// Evaluates `term`, which compares two numbers of the hit.
    ///
    /// Context: any.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn fields_hold<E: Env>(
        &self,
        term: &Term,
        (program, env, hit): (&Program, &E, &Hit),
        steps: &mut StepBudget,
    ) -> bool {
        let Test::Field {
            relation,
            other,
            offset,
        } = term.test
        else {
            return false;
        };
        let Some(right) = other.number(0, program, env, hit) else {
            return false;
        };
        let right = right.wrapping_add(i128::from(offset));
        let count = match term.operand {
            Operand::Argument { count, .. } => count,
            _ => 1,
        };
        (0..count).any(|n| {
            if n > 0 && self.takes(STEPS_OF_ELEMENT, steps) {
                return false;
            }
            let left = term.operand.number(n, program, env, hit);
            left.is_some_and(|left| relation.holds_between(left, right))
        })
    }

    fn argument_text_holds<E: Env>(
        &self,
        test: Test,
        program: &Program,
        (index, n): (u8, u8),
        env: &E,
        steps: &mut StepBudget,
    ) -> bool {
        if steps.are_over() {
            return false;
        }
        let mut buffer = [0; MAX_TEXT];
        match exec::peek_text(program, index, n, env, &mut buffer) {
            Some(text) if text.len() < MAX_TEXT => self.text_holds(test, text, steps),
            Some(_) => self.long_text_holds(test, steps, |each| {
                exec::each_piece(program, (index, n), env, &mut buffer, each)
            }),
            None => false,
        }
    }

    /// Takes `count` steps. Returns whether the budget is exhausted, and counts the hit when that
    /// happens.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn takes(&self, count: usize, steps: &mut StepBudget) -> bool {
        if steps.are_over() {
            return true;
        }
        steps.take(count);
        self.ends(steps)
    }

    /// Returns whether the budget is exhausted, and then counts the hit.
    #[inline(always)]
    fn ends(&self, steps: &StepBudget) -> bool {
        if steps.are_over() {
            self.exhausted.add();
        }
        steps.are_over()
    }

    /// [`Filter::text_holds`], for a text longer than [`MAX_TEXT`] bytes. `read` passes pieces to
    /// its argument until that tells it to stop, and returns `None` if the text cannot be read.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn long_text_holds(
        &self,
        test: Test,
        steps: &mut StepBudget,
        read: impl FnOnce(&mut dyn FnMut(&[u8]) -> bool) -> Option<()>,
    ) -> bool {
        let (Some((pattern, glob, not)), false) = (self.pattern(test), steps.are_over()) else {
            return false;
        };
        let mut so_far = SoFar::new(pattern, glob);
        // The result counts only at the end: the rest of the text may be unreadable.
        let is_read = read(&mut |piece| {
            so_far.add(piece, steps);
            so_far.decided() != Some(not) && !steps.are_over()
        });
        !self.ends(steps) && is_read.is_some() && so_far.is_match() != not
    }

    /// Returns whether one of several strings passes the test. Each ends with a NUL, except the
    /// last one if it is cut. `read` works as in [`Filter::long_text_holds`].
    #[inline(never)]
    fn any_string_holds(
        &self,
        test: Test,
        steps: &mut StepBudget,
        read: impl FnOnce(&mut dyn FnMut(&[u8]) -> bool) -> Option<()>,
    ) -> bool {
        let (Some((pattern, glob, not)), false) = (self.pattern(test), steps.are_over()) else {
            return false;
        };
        let mut so_far = SoFar::new(pattern, glob);
        let (mut is_found, mut is_begun) = (false, false);
        let is_read = read(&mut |piece| {
            for part in piece.split_inclusive(|&byte| byte == 0) {
                let string = part.strip_suffix(&[0]);
                so_far.add(string.unwrap_or(part), steps);
                if steps.are_over() {
                    return false;
                }
                is_begun = string.is_none();
                if !is_begun {
                    is_found = so_far.is_match() != not;
                    so_far = SoFar::new(pattern, glob);
                }
                if is_found {
                    return false;
                }
            }
            true
        });
        !self.ends(steps)
            && is_read.is_some()
            && (is_found || (is_begun && so_far.is_match() != not))
    }

    /// Returns the pattern of a text test, whether it is a glob, and whether the test is negated.
    #[inline(always)]
    fn pattern(&self, test: Test) -> Option<(&[u8], bool, bool)> {
        let Test::Text {
            start,
            len,
            glob,
            not,
        } = test
        else {
            return None;
        };
        let start = usize::from(start);
        let pattern = self
            .patterns
            .get(start..start.saturating_add(usize::from(len)));
        Some((pattern.unwrap_or(&[]), glob, not))
    }

    #[inline]
    fn number_holds(&self, test: Test, value: u64) -> bool {
        match test {
            Test::Number {
                relation,
                value: right,
                signed,
            } => relation.holds(value, right, signed),
            Test::Made {
                made_by,
                relation,
                value: right,
                signed,
            } => {
                let made = self.arithmetic.get(usize::from(made_by));
                made.is_some_and(|made| relation.holds(made.of(value, signed), right, signed))
            }
            Test::Range {
                start,
                end,
                outside,
            } => (start..end).contains(&value) != outside,
            Test::Cpus {
                relation,
                start,
                len,
            } => {
                let start = usize::from(start);
                let words = self.cpus.get(start..start.saturating_add(usize::from(len)));
                cpus_hold(relation, words.unwrap_or(&[]), value)
            }
            Test::Text { .. } | Test::Bytes { .. } | Test::Field { .. } => false,
        }
    }

    /// Evaluates a test on `text`, up to its NUL.
    fn text_holds(&self, test: Test, text: &[u8], steps: &mut StepBudget) -> bool {
        let (Some((pattern, glob, not)), false) = (self.pattern(test), steps.are_over()) else {
            return false;
        };
        let text = up_to_nul(text);
        steps.take(STEPS_OF_READING);
        let found = if glob {
            glob::matches_within(pattern, text, steps)
        } else {
            Some(pattern == text)
        };
        !self.ends(steps) && found.is_some_and(|found| found != not)
    }
}

/// The state of comparing a text, in pieces, with a pattern.
enum SoFar<'a> {
    Glob(glob::Partial<'a>),
    /// Equal so far; the rest of the pattern, or `None` at its end.
    Same(Option<&'a [u8]>),
}

impl<'a> SoFar<'a> {
    fn new(pattern: &'a [u8], glob: bool) -> Self {
        match glob {
            true => Self::Glob(glob::Partial::new(pattern)),
            false => Self::Same(Some(pattern)),
        }
    }

    /// Compares a piece, until `steps` are exhausted.
    fn add(&mut self, piece: &[u8], steps: &mut StepBudget) {
        steps.take(STEPS_OF_READING);
        match self {
            Self::Glob(partial) => partial.add(piece, steps),
            Self::Same(rest) => *rest = rest.and_then(|rest| rest.strip_prefix(piece)),
        }
    }

    fn is_match(&self) -> bool {
        match self {
            Self::Glob(partial) => partial.is_match(),
            Self::Same(rest) => *rest == Some(b""),
        }
    }

    fn decided(&self) -> Option<bool> {
        match self {
            Self::Glob(partial) => partial.decided(),
            Self::Same(rest) => rest.is_none().then_some(false),
        }
    }
}

impl Operand {
    /// Returns the operand's value, if that is known without fetching.
    #[inline(always)]
    fn of_hit(self, hit: &Hit) -> Option<u64> {
        Some(match self {
            // CAST: extends the sign.
            Operand::Pid => i64::from(hit.header.pid) as u64,
            Operand::Cpu => u64::from(hit.cpu),
            Operand::Place => hit.place,
            Operand::Type => u64::from(hit.header.event),
            Operand::Flags => u64::from(hit.header.flags),
            Operand::PreemptCount => u64::from(hit.header.preempt_count),
            _ => return None,
        })
    }

    /// Returns element `n` of the operand as a number, with its sign; `None` if it cannot
    /// be read or is not a number.
    fn number<E: Env>(self, n: u8, program: &Program, env: &E, hit: &Hit) -> Option<i128> {
        match self {
            Operand::Argument {
                index,
                width,
                signed,
                ..
            } => {
                let value = exec::number(program, index, n, env)?;
                Some(if signed {
                    // CAST: two's complement.
                    i128::from(extend(value, width) as i64)
                } else {
                    i128::from(value)
                })
            }
            Operand::Pid => Some(i128::from(hit.header.pid)),
            Operand::ReturnAddress => Some(i128::from(env.return_address())),
            _ => self.of_hit(hit).map(i128::from),
        }
    }
}

/// Evaluates a test of a CPU number with a set of CPUs: `==` means that the set consists of that
/// CPU, `&` that it contains the CPU.
fn cpus_hold(relation: Relation, words: &[u64], cpu: u64) -> bool {
    let word = usize::try_from(cpu / 64).ok().and_then(|n| words.get(n));
    let member = word.is_some_and(|word| word >> (cpu % 64) & 1 != 0);
    let several = words
        .iter()
        .fold(0u32, |n, word| n.saturating_add(word.count_ones()))
        > 1;
    match relation {
        Relation::Equal => member && !several,
        Relation::NotEqual => !member || several,
        _ => member,
    }
}
