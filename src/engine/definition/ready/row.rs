// SPDX-License-Identifier: GPL-2.0

//! A row of the table of ready-made events, and how it is written.

use core::fmt::Write;

use crate::engine::record::{Class, Head, ReadyField};
use crate::engine::util::text::Appender;
use crate::sys::{AllocError, Vec};

/// A row of the table.
pub struct ReadyRow {
    /// The name of the event, and of its tracepoint.
    pub name: &'static str,
    /// The class of its records.
    pub class: &'static Class,
}

impl ReadyRow {
    pub(super) const fn new(name: &'static str, class: &'static Class) -> Self {
        Self { name, class }
    }

    /// Returns the fields.
    pub fn fields(&self) -> &'static [ReadyField] {
        match self.class.head {
            Head::Ready(shape) => shape.fields,
            _ => &[],
        }
    }

    /// Returns the definition of the event in `group`, without derived values.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn definition(&self, group: &str) -> Result<Vec<u8>, AllocError> {
        let mut line = Vec::new();
        let mut out = Appender(&mut line);
        let name = self.name;
        let mut result = write!(out, "t:{group}/{name} {name}");
        for field in self.fields() {
            result = result.and_then(|()| write!(out, " {}={}", field.name, field.text));
        }
        result.map(|()| line).map_err(|_| AllocError)
    }
}

/// Makes the class of the records of an event: `(C TYPE) FIELD = FETCHED [as DERIVED],` for each
/// field, and the `print fmt`.
macro_rules! shape {
    (
        $(#[$doc:meta])*
        $shape:ident {
            $(($($c_type:tt)*) $field:ident = $text:literal $(as $derived:ident)?,)*
        }
        $print:expr
    ) => {
        $(#[$doc])*
        static $shape: Class = Class::ready(&ReadyShape {
            fields: &[$(
                ReadyField {
                    c_type: super::row::c_type!($($c_type)*),
                    name: stringify!($field),
                    text: $text,
                    derived: super::row::derived!($($derived)?),
                },
            )*],
            print: $print,
        });
    };
}

/// A C type as the kernel writes it.
macro_rules! c_type {
    (void *) => {
        "void *"
    };
    (const void *) => {
        "const void *"
    };
    (__data_loc char[]) => {
        "__data_loc char[]"
    };
    ($($word:ident)*) => {
        super::row::words!($($word)*)
    };
}

/// Words with a space between them.
macro_rules! words {
    ($first:ident $($word:ident)*) => {
        concat!(stringify!($first), $(" ", stringify!($word)),*)
    };
}

/// The optional derived value.
macro_rules! derived {
    () => {
        None
    };
    ($derived:ident) => {
        Some(crate::engine::language::types::Derived::$derived)
    };
}

pub(super) use {c_type, derived, shape, words};
