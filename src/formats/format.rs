// SPDX-License-Identifier: GPL-2.0

//! The formats of records, and the ids by which records name them.
//!
//! An id is not reused while any instance may have records with it, and a redefined event gets a
//! new one. So a reader finds the format by id alone, without comparing times, which may come from
//! two clocks. The format of a removed event is kept while the buffer or the snapshot has records
//! with its id: both are searched when the buffer is emptied, when many formats are kept, and when
//! no id is free. Each instance has a table of its formats; the tables share the formats.

use crate::{
    engine::{
        definition::{ast::Definition, kind::Mechanism},
        record::numbers::Numbers,
        record::{Builtin, Layout},
        refusal::error::{Error as Refusal, Kind},
    },
    kapi::c_string::c_string,
};
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{Arc, Mutex},
};

/// The pool of event ids.
#[pin_data]
pub(crate) struct Pool {
    #[pin]
    numbers: Mutex<Numbers>,
}

impl Pool {
    /// Makes a pool in which all ids are free.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let numbers = Numbers::new()?;
        Arc::pin_init(
            pin_init!(Self { numbers <- new_mutex!(numbers) }),
            GFP_KERNEL,
        )
    }

    /// Takes a free id.
    ///
    /// # Errors
    ///
    /// `NO_NUMBER`, `NO_MEMORY`.
    pub(crate) fn take(self: &Arc<Self>) -> Result<Arc<Number>, Refusal> {
        let id = self.numbers.lock().take()?;
        // If the allocation fails, the drop returns the id.
        let number = Number {
            id,
            pool: self.clone(),
        };
        Arc::new(number, GFP_KERNEL).map_err(|_| Refusal::new(Kind::NoMemory, 0))
    }
}

/// The id of an event. It stays taken while a format has it.
pub(crate) struct Number {
    id: u16,
    pool: Arc<Pool>,
}

impl Number {
    pub(crate) fn id(&self) -> u16 {
        self.id
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        self.pool.numbers.lock().give_back(self.id);
    }
}

/// The format of an event's records. It outlives its event while the buffer may have records of it,
/// and keeps its id from being reused: the id alone identifies the layout, whatever clock the times
/// are from.
pub(crate) struct Format {
    /// The id of the event, in each record.
    pub(crate) id: u16,
    /// Keeps the id taken; `None` for a predefined event.
    number: Option<Arc<Number>>,
    /// Name of the group.
    pub(crate) group: CString,
    /// Name of the event.
    pub(crate) name: CString,
    /// The fields of a record.
    pub(crate) layout: Layout,
    /// Whether the event is on functions, see the file `functions`.
    pub(crate) has_functions: bool,
    /// Whether programs are probed.
    pub(crate) is_user: bool,
}

impl Format {
    /// Makes the format of the records of `definition`, with the id `number`.
    ///
    /// # Errors
    ///
    /// `NO_MEMORY`.
    pub(crate) fn new(
        definition: &Definition,
        number: Arc<Number>,
        layout: Layout,
    ) -> Result<Arc<Self>, Refusal> {
        Self::with_id(definition, (number.id(), Some(number)), layout)
    }

    /// Makes the format for `definition`, another probe of the same event, with the same id and
    /// fields.
    ///
    /// # Errors
    ///
    /// `NO_MEMORY`.
    pub(crate) fn replaced_by(
        &self,
        definition: &Definition,
        layout: Layout,
    ) -> Result<Arc<Self>, Refusal> {
        Self::with_id(definition, (self.id, self.number.clone()), layout)
    }

    fn with_id(
        definition: &Definition,
        (id, number): (u16, Option<Arc<Number>>),
        layout: Layout,
    ) -> Result<Arc<Self>, Refusal> {
        let no_memory = || Refusal::new(Kind::NoMemory, 0);
        let format = Self {
            id,
            number,
            group: c_string(&definition.group).ok_or_else(no_memory)?,
            name: c_string(&definition.event).ok_or_else(no_memory)?,
            layout,
            has_functions: matches!(
                definition.kind.mechanism,
                Mechanism::Function | Mechanism::FunctionReturn
            ),
            is_user: definition.kind.is_user,
        };
        Arc::new(format, GFP_KERNEL).map_err(|_| no_memory())
    }

    /// Makes the format of `builtin` with the fields of `layout`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn of_builtin(builtin: &Builtin, layout: Layout) -> Result<Arc<Self>> {
        let format = Self {
            id: builtin.id,
            number: None,
            group: CString::try_from(c"ftrace")?,
            name: c_string(builtin.name.as_bytes()).ok_or(ENOMEM)?,
            layout,
            has_functions: false,
            is_user: false,
        };
        Ok(Arc::new(format, GFP_KERNEL)?)
    }

    /// Returns the event's name.
    pub(crate) fn name(&self) -> &str {
        // Names are identifiers, so they are valid UTF-8.
        self.name.to_str().unwrap_or("?")
    }
}
