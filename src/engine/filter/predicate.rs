// SPDX-License-Identifier: GPL-2.0

//! One term of a filter: an operand and the test it must pass.

use super::{glob, Filter, Hit};
use crate::engine::exec::{self, Env};
use crate::engine::fetch::Program;

/// Most bytes of a string that are compared, and of a pattern: the kernel's
/// `MAX_FILTER_STR_VAL`.
pub(super) const MAX_TEXT: usize = 256;

/// A term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) operand: Operand,
    pub(super) test: Test,
    /// Term to go on with when this one holds.
    pub(super) on_true: u16,
    /// Term to go on with when it does not.
    pub(super) on_false: u16,
}

/// What a term looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// The argument of this index; `count` elements, each of `width` bytes.
    Argument {
        index: u8,
        count: u8,
        width: u8,
        signed: bool,
    },
    /// The text to which an argument points.
    Pointer {
        index: u8,
        user: bool,
    },
    /// The text argument of this index.
    Text {
        index: u8,
        count: u8,
    },
    Type,
    Flags,
    PreemptCount,
    Pid,
    Cpu,
    Comm,
    Place,
    ReturnAddress,
}

/// What the operand must fulfil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// The relation to a number; both are signed or both are not.
    Number {
        relation: Relation,
        value: u64,
        signed: bool,
    },
    /// The relation to another number of the same hit, with `offset` added.
    Field {
        relation: Relation,
        other: Operand,
        offset: i64,
    },
    /// To lie in a range, or outside.
    Range { start: u64, end: u64, outside: bool },
    /// The relation to a set of CPUs, `len` words from `start`.
    Cpus {
        relation: Relation,
        start: u16,
        len: u16,
    },
    /// To match the pattern of `len` bytes from `start`, or not to.
    Text {
        start: u16,
        len: u16,
        glob: bool,
        not: bool,
    },
}

/// How two numbers relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Bits,
}

impl Relation {
    #[inline(always)]
    fn holds(self, left: u64, right: u64, signed: bool) -> bool {
        // Flipping the sign bit maps signed order to unsigned order.
        let flip = if signed { 1 << 63 } else { 0 };
        let (a, b) = (left ^ flip, right ^ flip);
        match self {
            Relation::Equal => a == b,
            Relation::NotEqual => a != b,
            Relation::Less => a < b,
            Relation::LessEqual => a <= b,
            Relation::Greater => a > b,
            Relation::GreaterEqual => a >= b,
            Relation::Bits => left & right != 0,
        }
    }

    /// The same for numbers of any sign, as they are.
    fn holds_between(self, left: i128, right: i128) -> bool {
        match self {
            Relation::Equal => left == right,
            Relation::NotEqual => left != right,
            Relation::Less => left < right,
            Relation::LessEqual => left <= right,
            Relation::Greater => left > right,
            Relation::GreaterEqual => left >= right,
            Relation::Bits => left & right != 0,
        }
    }
}

/// A filter of one term that compares a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Single {
    /// The argument, which is no array.
    pub(super) index: u8,
    /// Bits of 64 that the argument has not.
    unused: u8,
    relation: Relation,
    signed: bool,
    /// Whether the value's sign is extended.
    extended: bool,
    /// What follows when the relation holds.
    on_true: bool,
    value: u64,
}

impl Single {
    /// `terms` as a single comparison, if they are one.
    pub(super) fn of(terms: &[Term]) -> Option<Self> {
        let &[term] = terms else { return None };
        let Operand::Argument {
            index,
            count: 1,
            width,
            signed: extended,
        } = term.operand
        else {
            return None;
        };
        let Test::Number {
            relation,
            value,
            signed,
        } = term.test
        else {
            return None;
        };
        Some(Self {
            index,
            unused: 64u8.checked_sub(width.checked_mul(8)?)?,
            relation,
            signed,
            extended,
            on_true: term.on_true == super::ACCEPT,
            value,
        })
    }

    /// Whether a hit with this value of the argument, from its lowest bit on, is
    /// to be recorded. May run in any context.
    #[inline(always)]
    pub(super) fn accepts(&self, value: u64) -> bool {
        let unused = u32::from(self.unused);
        let high = value.wrapping_shl(unused);
        let value = if self.extended {
            // CAST: extends the sign.
            (high as i64).wrapping_shr(unused) as u64
        } else {
            high.wrapping_shr(unused)
        };
        self.relation.holds(value, self.value, self.signed) == self.on_true
    }
}

/// Extends the sign of a value of `width` bytes.
fn extend(value: u64, width: u8) -> u64 {
    let unused = 64u32.saturating_sub(u32::from(width).saturating_mul(8));
    // CAST: the sign bit is shifted to the top and back.
    (value.wrapping_shl(unused) as i64).wrapping_shr(unused) as u64
}

impl Filter {
    /// Whether `term` holds for the hit. May run in any context.
    #[inline]
    pub(super) fn holds<E: Env>(&self, term: &Term, program: &Program, env: &E, hit: &Hit) -> bool {
        if let Test::Field { .. } = term.test {
            return fields_hold(term, program, env, hit);
        }
        match term.operand.of_hit(hit) {
            Some(value) => self.number_holds(term.test, value),
            None => self.argument_holds(term, program, env),
        }
    }

    /// The same for what has to be fetched.
    #[inline(never)]
    #[link_section = ".kprobes.text"]
    fn argument_holds<E: Env>(&self, term: &Term, program: &Program, env: &E) -> bool {
        match term.operand {
            Operand::Argument {
                index,
                count,
                width,
                signed,
            } => (0..count).any(|n| {
                exec::number(program, index, n, env).is_some_and(|value| {
                    let value = if signed { extend(value, width) } else { value };
                    self.number_holds(term.test, value)
                })
            }),
            Operand::ReturnAddress => self.number_holds(term.test, env.return_address()),
            Operand::Comm => self.text_holds(term.test, &env.comm()),
            Operand::Text { index, count } => {
                (0..count).any(|n| self.argument_text_holds(term.test, program, index, n, env))
            }
            Operand::Pointer { index, user } => {
                let mut buffer = [0; MAX_TEXT];
                let address = exec::number(program, index, 0, env);
                let len = address.and_then(|at| env.read_string(at, user, &mut buffer));
                let text = len.and_then(|len| buffer.get(..len));
                text.is_some_and(|text| self.text_holds(term.test, text))
            }
            _ => false,
        }
    }

    fn argument_text_holds<E: Env>(
        &self,
        test: Test,
        program: &Program,
        index: u8,
        n: u8,
        env: &E,
    ) -> bool {
        let mut buffer = [0; MAX_TEXT];
        let text = exec::peek_text(program, index, n, env, &mut buffer);
        text.is_some_and(|text| self.text_holds(test, text))
    }

    #[inline]
    fn number_holds(&self, test: Test, value: u64) -> bool {
        match test {
            Test::Number {
                relation,
                value: right,
                signed,
            } => relation.holds(value, right, signed),
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
            Test::Text { .. } | Test::Field { .. } => false,
        }
    }

    /// Whether `text`, up to its NUL, passes the test.
    fn text_holds(&self, test: Test, text: &[u8]) -> bool {
        let Test::Text {
            start,
            len,
            glob,
            not,
        } = test
        else {
            return false;
        };
        let start = usize::from(start);
        let pattern = self
            .patterns
            .get(start..start.saturating_add(usize::from(len)));
        let pattern = pattern.unwrap_or(&[]);
        let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
        let text = text.get(..end).unwrap_or(text);
        let found = if glob {
            glob::matches(pattern, text)
        } else {
            pattern == text
        };
        found != not
    }
}

impl Operand {
    /// The value, where it is known without fetching anything.
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

    /// The number that the element `n` of it is, with its sign; `None` where it
    /// cannot be read or is no number.
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

/// Whether `term`, which compares two numbers of the hit, holds for it. May run
/// in any context.
#[inline(never)]
#[link_section = ".kprobes.text"]
fn fields_hold<E: Env>(term: &Term, program: &Program, env: &E, hit: &Hit) -> bool {
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
        let left = term.operand.number(n, program, env, hit);
        left.is_some_and(|left| relation.holds_between(left, right))
    })
}

/// Whether the CPU with this number relates to a set of CPUs: `==` asks for the
/// set to be that CPU alone, `&` for it to be in the set.
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
