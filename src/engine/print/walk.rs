// SPDX-License-Identifier: GPL-2.0

//! The walk over a record: its content, by name and type.
//!
//! Every renderer prints what the walk yields, so that all of them agree on the content of
//! a record. Fields beyond the end of a short record read as faults.

use core::slice;

use crate::engine::language::types::{Shown, Type};
use crate::engine::program::syscall::{Strings, EXACT_MARK};
use crate::engine::record::{
    self, Field, Layout, LayoutNames, Name, ReadyShape, Role, ShownMemory, Signature, Text,
    WholeShape,
};

/// The beginning of an event text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintedHead<'a> {
    /// The address of the probe.
    Address(u64),
    /// The function that returned, and its return address.
    Return {
        /// The function.
        function: u64,
        /// The return address.
        to: u64,
    },
    /// Text without its line feed.
    Text(&'a [u8]),
    /// The number and the bytes of `trace_marker_raw`.
    Raw(u64, &'a [u8]),
    /// The frames of a stack.
    Stack {
        /// The addresses.
        frames: Frames<'a>,
        /// Whether it is a user stack.
        is_user: bool,
    },
    /// A system call begins.
    Enter(&'a Signature),
    /// A system call returns.
    Exit(&'a Signature),
    /// A whole system call.
    Call(&'a Signature),
    /// A ready-made event.
    Ready(&'static ReadyShape),
    /// The `GROUP.EVENT` that the probe is attached to.
    Event(&'a [u8]),
    /// A synthetic event.
    Synthetic,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintedValue<'a> {
    /// Memory that could not be read.
    Fault,
    /// An unsigned number.
    Unsigned(u64),
    /// A signed number.
    Signed(i64),
    /// A number that is printed in hexadecimal.
    Hex(u64),
    /// A character.
    Char(u8),
    /// An address that is printed as a symbol.
    Symbol(u64),
    /// Text, and whether it is complete.
    Text(&'a [u8], bool),
    /// A number that is printed as the name of an error.
    Errno(i64),
    /// A duration in nanoseconds.
    Duration(u64),
    /// A number of bytes.
    Size(u64),
    /// An IPv4 address.
    Ip4(u32),
    /// The bytes of an IPv6 address.
    Ip6(&'a [u8]),
    /// The bytes of a MAC address.
    Mac(&'a [u8]),
    /// The bytes of a structure.
    Structure(&'a WholeShape, &'a [u8]),
}

/// The value or the values of an argument.
pub enum PrintedValues<'a> {
    /// One value.
    One(PrintedValue<'a>),
    /// An array.
    Array(Elements<'a>),
}

/// The elements of an array.
pub struct Elements<'a>(ElementsOf<'a>);

/// Where the elements are stored.
enum ElementsOf<'a> {
    Field {
        record: &'a [u8],
        field: &'a Field,
        next: u8,
        count: u8,
    },
    Copy(Strings<'a>),
}

/// The frames of a stack, the innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames<'a>(&'a [u8]);

impl<'a> Frames<'a> {
    /// Returns the frames up to the mark of the stack's end.
    pub fn of_stack(self, is_user: bool) -> impl Iterator<Item = u64> + use<'a> {
        let end = if is_user { 0 } else { u64::MAX };
        self.take_while(move |&frame| frame != end)
    }
}

impl Iterator for Frames<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let (frame, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*frame))
    }
}

/// Returns the head of `record`.
#[inline(always)]
pub fn head<'a>(layout: &'a Layout, record: &'a [u8]) -> PrintedHead<'a> {
    let word = |role| {
        let field = layout.class.field(role);
        field
            .and_then(|field| integer(record, field.offset, field.size))
            .unwrap_or(0)
    };
    match layout.class.head {
        record::Head::Address => PrintedHead::Address(word(Role::Address)),
        record::Head::Ready(shape) => PrintedHead::Ready(shape),
        record::Head::Synthetic => PrintedHead::Synthetic,
        record::Head::Event => PrintedHead::Event(match layout.names.as_deref() {
            Some(LayoutNames::Attached(names)) => names,
            _ => b"",
        }),
        record::Head::Return => PrintedHead::Return {
            function: word(Role::Address),
            to: word(Role::ReturnAddress),
        },
        // Layouts of these records always have signatures.
        head @ (record::Head::Enter | record::Head::Exit | record::Head::Call) => {
            match (head, &layout.call) {
                (record::Head::Enter, Some(call)) => PrintedHead::Enter(call),
                (record::Head::Exit, Some(call)) => PrintedHead::Exit(call),
                (_, Some(call)) => PrintedHead::Call(call),
                (_, None) => PrintedHead::Text(b""),
            }
        }
        head @ (record::Head::Stack | record::Head::UserStack) => {
            let field = layout.class.field(Role::Frames);
            let bytes = field.and_then(|field| record.get(usize::from(field.offset)..));
            PrintedHead::Stack {
                frames: Frames(bytes.unwrap_or_default()),
                is_user: head == record::Head::UserStack,
            }
        }
        record::Head::Raw => {
            let field = layout.class.field(Role::Text);
            let bytes = field.and_then(|field| record.get(usize::from(field.offset)..));
            PrintedHead::Raw(word(Role::RawId), bytes.unwrap_or_default())
        }
        record::Head::Text => {
            let field = layout.class.field(Role::Text);
            let text = field.and_then(|field| record.get(usize::from(field.offset)..));
            let text = text.unwrap_or_default();
            let end = text.iter().position(|&byte| byte == 0);
            let text = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
            PrintedHead::Text(text.strip_suffix(b"\n").unwrap_or(text))
        }
    }
}

/// An argument of a record.
pub struct PrintedArgument<'a> {
    layout: &'a Layout,
    record: &'a [u8],
    field: &'a Field,
}

impl<'a> PrintedArgument<'a> {
    /// Returns its name.
    #[inline(always)]
    pub fn name(&self) -> &'a Name {
        &self.field.name
    }

    /// Returns its value or values. Call it after [`PrintedArgument::name`] has been used, to save
    /// registers.
    #[inline(always)]
    pub fn values(&self) -> PrintedValues<'a> {
        match &self.layout.call {
            Some(call) if self.field.base.is_text() => {
                let field = (self.layout, self.record);
                match strings(field, self.field, call) {
                    Some(strings) => PrintedValues::Array(strings),
                    None => PrintedValues::One(copied(field, self.field, call.shown)),
                }
            }
            _ => value(self.layout, self.record, self.field),
        }
    }
}

/// Returns the arguments of `record`. User memory that was copied for a system call is text of
/// arbitrary bytes.
#[inline(always)]
pub fn arguments<'a>(layout: &'a Layout, record: &'a [u8]) -> PrintedArguments<'a> {
    PrintedArguments {
        layout,
        record,
        fields: layout.fields.iter(),
    }
}

/// Iterates over the arguments of a record. Not a closure, which the compiler may not inline.
pub struct PrintedArguments<'a> {
    layout: &'a Layout,
    record: &'a [u8],
    fields: slice::Iter<'a, Field>,
}

impl<'a> Iterator for PrintedArguments<'a> {
    type Item = PrintedArgument<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<PrintedArgument<'a>> {
        Some(PrintedArgument {
            layout: self.layout,
            record: self.record,
            field: self.fields.next()?,
        })
    }
}

/// Returns the value of one field of `record`.
#[inline(always)]
pub fn value<'a>(layout: &'a Layout, record: &'a [u8], field: &'a Field) -> PrintedValues<'a> {
    if let (Some(faults), Some(bit)) = (layout.faults, field.fault) {
        if faults.is_set(record, bit) {
            return PrintedValues::One(PrintedValue::Fault);
        }
    }
    match field.count {
        None if matches!(field.base.shown(), Shown::Structure | Shown::Enum) => {
            PrintedValues::One(structure(layout, record, field))
        }
        None => PrintedValues::One(element(record, field, 0)),
        Some(_) if field.base.elements().is_some() => PrintedValues::One(whole(record, field)),
        Some(count) => PrintedValues::Array(Elements(ElementsOf::Field {
            record,
            field,
            next: 0,
            count,
        })),
    }
}

#[cold]
#[inline(never)]
fn structure<'a>(layout: &'a Layout, record: &'a [u8], field: &Field) -> PrintedValue<'a> {
    if field.base.shown() == Shown::Enum {
        return enumeration(layout, record, field);
    }
    let bytes = memory(record, field);
    match layout.shape(field) {
        Some(shape) if bytes.len() == shape.recorded() => PrintedValue::Structure(shape, bytes),
        _ => PrintedValue::Fault,
    }
}

/// Returns the value of `field`, whose values have names: a structure of one number.
fn enumeration<'a>(layout: &'a Layout, record: &'a [u8], field: &Field) -> PrintedValue<'a> {
    let start = usize::from(field.offset);
    let end = start.saturating_add(usize::from(field.size()));
    match (layout.value_names(field), record.get(start..end)) {
        (Some(names), Some(bytes)) => PrintedValue::Structure(names, bytes),
        _ => element(record, field, 0),
    }
}

/// Returns the strings that were copied to `field`; `None` if it has none.
pub fn strings<'a>(
    (layout, record): (&Layout, &'a [u8]),
    field: &Field,
    call: &Signature,
) -> Option<Elements<'a>> {
    let list = layout.fields.get(usize::from(call.list?))?;
    let bytes = match list.offset == field.offset {
        true => memory(record, field),
        false => b"",
    };
    (!bytes.is_empty()).then_some(Elements(ElementsOf::Copy(Strings(bytes))))
}

/// Returns the user memory that was copied to `field`.
pub fn copied<'a>(
    (layout, record): (&Layout, &'a [u8]),
    field: &Field,
    shown: ShownMemory,
) -> PrintedValue<'a> {
    let bytes = memory(record, field);
    let ShownMemory::Bytes(size) = shown else {
        let end = bytes.iter().position(|&byte| byte == 0);
        let text = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        // Not by `record::text()`: copies are not padded.
        let is_start = shown == ShownMemory::ExactText && bytes.ends_with(EXACT_MARK);
        return if bytes.is_empty() {
            PrintedValue::Fault
        } else {
            PrintedValue::Text(text, !is_start)
        };
    };
    let size = layout.fields.get(usize::from(size));
    // CAST: The kernel treats it as a C int here.
    let expected = size.map_or(0, |field| word(layout, record, field)) as i32;
    let is_part = i32::try_from(bytes.len()).is_ok_and(|length| length < expected);
    PrintedValue::Text(bytes, !is_part)
}

/// Returns the bits of a number, 0 for a fault.
pub fn word(layout: &Layout, record: &[u8], field: &Field) -> u64 {
    match value(layout, record, field) {
        PrintedValues::One(
            PrintedValue::Hex(value)
            | PrintedValue::Unsigned(value)
            | PrintedValue::Duration(value)
            | PrintedValue::Size(value),
        ) => value,
        // CAST: The same bits.
        PrintedValues::One(PrintedValue::Signed(value)) => value as u64,
        _ => 0,
    }
}

/// Returns the bytes behind the fixed part of `record` to which `field` points.
fn memory<'a>(record: &'a [u8], field: &Field) -> &'a [u8] {
    let location = integer(record, field.offset, 4);
    // CAST: Four bytes were read.
    let bytes = location.and_then(|location| record::located(record, location as u32));
    bytes.unwrap_or_default()
}

impl<'a> Iterator for Elements<'a> {
    type Item = PrintedValue<'a>;

    fn next(&mut self) -> Option<PrintedValue<'a>> {
        match &mut self.0 {
            ElementsOf::Field {
                record,
                field,
                next,
                count,
            } => {
                let n = *next;
                *next = n.saturating_add(1);
                (n < *count).then(|| element(record, field, n))
            }
            ElementsOf::Copy(strings) => {
                let (text, is_whole) = strings.next()?;
                Some(PrintedValue::Text(text, is_whole))
            }
        }
    }
}

/// Returns the value of `field`, which is an array of bytes.
fn whole<'a>(record: &'a [u8], field: &Field) -> PrintedValue<'a> {
    let start = usize::from(field.offset);
    let end = start.saturating_add(usize::from(field.size()));
    match (record.get(start..end), field.base.shown()) {
        (Some(bytes), Shown::Ip6) => PrintedValue::Ip6(bytes),
        (Some(bytes), _) => PrintedValue::Mac(bytes),
        (None, _) => PrintedValue::Fault,
    }
}

#[inline(always)]
fn element<'a>(record: &'a [u8], field: &Field, n: u8) -> PrintedValue<'a> {
    let size = field.base.size();
    let at = u16::from(size)
        .saturating_mul(u16::from(n))
        .saturating_add(field.offset);
    let Some(value) = integer(record, at, size) else {
        return PrintedValue::Fault;
    };
    match field.base.shown() {
        // CAST: four bytes were read.
        Shown::Text => match record::text(record, value as u32) {
            Text::Fault => PrintedValue::Fault,
            Text::Whole(text) => PrintedValue::Text(text, true),
            Text::Truncated(text) => PrintedValue::Text(text, false),
        },
        _ => of_number(field.base, value),
    }
}

/// Returns `value`, without further bits, as a value of type `base`.
#[inline(always)]
pub(super) fn of_number<'a>(base: Type, value: u64) -> PrintedValue<'a> {
    let size = base.size();
    match base.shown() {
        // These are printed as a whole.
        Shown::Unsigned | Shown::Ip6 | Shown::Mac | Shown::Structure | Shown::Text => {
            PrintedValue::Unsigned(value)
        }
        Shown::Hex => PrintedValue::Hex(value),
        Shown::Signed | Shown::Enum => PrintedValue::Signed(extend(value, size)),
        Shown::Errno => PrintedValue::Errno(extend(value, size)),
        Shown::Duration => PrintedValue::Duration(value),
        Shown::Size => PrintedValue::Size(value),
        // CAST: four bytes were read.
        Shown::Ip4 => PrintedValue::Ip4(value as u32),
        // CAST: one byte was read.
        Shown::Char => PrintedValue::Char(value as u8),
        Shown::Symbol => PrintedValue::Symbol(value),
    }
}

/// Returns a number of `size` bytes, sign-extended.
#[inline(always)]
fn extend(value: u64, size: u8) -> i64 {
    let unused = 64u32.saturating_sub(u32::from(size).saturating_mul(8));
    // CAST: the sign bit is shifted to the top.
    (value.wrapping_shl(unused) as i64).wrapping_shr(unused)
}

/// Returns the little-endian number of `size` bytes at `at`.
#[inline]
fn integer(record: &[u8], at: u16, size: u8) -> Option<u64> {
    let bytes = record.get(usize::from(at)..)?;
    Some(match size {
        1 => u64::from(*bytes.first()?),
        2 => u64::from(u16::from_le_bytes(*bytes.first_chunk()?)),
        4 => u64::from(u32::from_le_bytes(*bytes.first_chunk()?)),
        _ => u64::from_le_bytes(*bytes.first_chunk()?),
    })
}
