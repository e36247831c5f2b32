// SPDX-License-Identifier: GPL-2.0

//! The records of ready-made events, which have the fields and the text of a kernel event.

use crate::engine::language::types::Derived;

/// The fields of a ready-made event, and its text.
#[derive(Debug, PartialEq, Eq)]
pub struct ReadyShape {
    /// The fields, in the kernel's order.
    pub fields: &'static [ReadyField],
    /// The part behind `print fmt: ` in the `format` file. The text of a record follows from it.
    pub print: &'static str,
}

/// A field of a ready-made event.
#[derive(Debug, PartialEq, Eq)]
pub struct ReadyField {
    /// The C type; for an array, of an element.
    pub c_type: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The fetch argument, as in a definition.
    pub text: &'static str,
    /// How the value is transformed.
    pub derived: Option<Derived>,
}

/// Number of words of a text of fixed length, such as a comm.
const FIXED_WORDS: u8 = 2;

/// Number of bytes of a text of fixed length.
pub const FIXED_TEXT: u16 = FIXED_WORDS as u16 * 8;

impl ReadyShape {
    /// Returns the words of field `index`, if it is a text of fixed length.
    pub fn text_words(&self, index: u8) -> Option<u8> {
        let field = self.fields.get(usize::from(index))?;
        field.is_fixed_text().then_some(FIXED_WORDS)
    }
}

impl ReadyField {
    /// Returns whether it is a text of [`FIXED_TEXT`] bytes.
    pub fn is_fixed_text(&self) -> bool {
        self.text == "$comm" || self.derived.is_some_and(Derived::is_text)
    }

    /// Returns the length of a character array; `None` for other fields.
    pub fn characters(&self) -> Option<u16> {
        match (self.c_type, self.derived) {
            ("char", Some(Derived::Rwbs)) => Some(10),
            ("char", _) => Some(FIXED_TEXT),
            _ => None,
        }
    }
}
