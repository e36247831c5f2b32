// SPDX-License-Identifier: GPL-2.0

//! What the records of a ready-made event look like: one that has the fields and the text of an
//! event of the kernel.

use crate::engine::language::types::Derived;

/// The fields of a ready-made event, and the text that is made of them.
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
    /// Its C type; of an array that of an element.
    pub c_type: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What is fetched, as in a definition.
    pub text: &'static str,
    /// What is made of the value.
    pub derived: Option<Derived>,
}

/// Words of a task's name, and of any other text of fixed length.
const FIXED_WORDS: u8 = 2;

/// Bytes that it takes in a record.
pub const FIXED_TEXT: u16 = FIXED_WORDS as u16 * 8;

impl ReadyShape {
    /// Returns the words of the field with this index, if it is a text of fixed length.
    pub fn text_words(&self, index: u8) -> Option<u8> {
        let field = self.fields.get(usize::from(index))?;
        field.is_fixed_text().then_some(FIXED_WORDS)
    }
}

impl ReadyField {
    /// Returns whether it is a text that takes [`FIXED_TEXT`] bytes in each record.
    pub fn is_fixed_text(&self) -> bool {
        self.text == "$comm" || self.derived.is_some_and(Derived::is_text)
    }

    /// Returns the bytes that it has as an array of characters; `None` if it is none.
    pub fn characters(&self) -> Option<u16> {
        match (self.c_type, self.derived) {
            ("char", Some(Derived::Rwbs)) => Some(10),
            ("char", _) => Some(FIXED_TEXT),
            _ => None,
        }
    }
}
