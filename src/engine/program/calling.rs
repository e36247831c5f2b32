// SPDX-License-Identifier: GPL-2.0

//! How a function's arguments and result are passed, according to BTF.

use crate::engine::code::arch::calling::{ArgumentPlace, ResultPlace, TypeShape, WordsTaken};
use crate::engine::code::arch::Arch;
use crate::engine::program::btf::{BtfFunction, Parameter, ParameterIter};
use crate::sys::AllocError;

/// Iterates over a function's parameters and how they are passed.
pub struct PassedArguments<'a> {
    arch: Arch,
    rest: ParameterIter<'a>,
    /// `None` after a parameter whose passing is unknown.
    taken: Option<WordsTaken>,
}

impl<'a> PassedArguments<'a> {
    /// Returns the parameters of `function`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    pub fn of(arch: Arch, function: &BtfFunction<'a>) -> Result<Self, AllocError> {
        let mut this = Self {
            arch,
            rest: function.parameters(),
            taken: Some(WordsTaken::default()),
        };
        // The address for a result in memory is passed as a hidden first argument.
        match returned(arch, function)? {
            Some(ResultPlace::Memory) => {
                let _ = this.pass(Some(TypeShape::WORD));
            }
            // It is passed in other registers.
            None if function
                .returned()
                .is_some_and(|value| !value.is_structure()) => {}
            None => this.taken = None,
            Some(_) => {}
        }
        Ok(this)
    }

    /// Returns the next parameter and how it is passed, `None` if that is unknown.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if out of memory.
    #[allow(
        clippy::type_complexity,
        reason = "a parameter, if there is one, and how it is passed, if that is known"
    )]
    pub fn take(&mut self) -> Result<Option<(Parameter<'a>, Option<ArgumentPlace>)>, AllocError> {
        let Some(parameter) = self.rest.next() else {
            return Ok(None);
        };
        let shape = parameter.value.passed_shape()?;
        Ok(Some((parameter, self.pass(shape))))
    }

    /// Returns the word of variable argument `n`, behind the last parameter; `None` if it is
    /// unknown.
    pub fn behind(&self, n: u16) -> Option<u16> {
        let mut taken = self.taken?;
        let isa = self.arch.isa();
        // After the few registers, one word follows the other.
        let few = n.min(isa.argument_registers());
        let mut word = 0u16;
        for _ in 0..=few {
            word = match isa.pass(&mut taken, TypeShape::WORD) {
                ArgumentPlace::Words { first, .. } | ArgumentPlace::Pointed(first) => first,
                ArgumentPlace::Nothing => return None,
            };
        }
        word.checked_add(n.saturating_sub(few))
    }

    fn pass(&mut self, shape: Option<TypeShape>) -> Option<ArgumentPlace> {
        let (Some(taken), Some(shape)) = (&mut self.taken, shape) else {
            self.taken = None;
            return None;
        };
        Some(self.arch.isa().pass(taken, shape))
    }
}

/// Returns how `function` returns its result; `None` if that is unknown.
///
/// # Errors
///
/// [`AllocError`] if out of memory.
pub fn returned(arch: Arch, function: &BtfFunction<'_>) -> Result<Option<ResultPlace>, AllocError> {
    let Some(value) = function.returned() else {
        return Ok(None);
    };
    if value.is_void() {
        return Ok(Some(ResultPlace::Registers(0)));
    }
    let shape = value.passed_shape()?;
    Ok(shape.map(|shape| arch.isa().returned(shape)))
}
