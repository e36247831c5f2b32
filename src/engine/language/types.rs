// SPDX-License-Identifier: GPL-2.0

//! The types with which a fetch argument can be recorded and printed.

use crate::engine::language::lex::{self, Span};
use crate::engine::refusal::error::{Error, Kind};
use crate::engine::refusal::foreign;
use crate::engine::refusal::suggest::suggest;
use crate::engine::util::address;

/// Largest number of elements of an array.
pub const MAX_ARRAY: u64 = 64;

/// A basic type: a row of the table of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type(&'static TypeRow);

/// The properties of a type.
#[derive(Debug, PartialEq, Eq)]
struct TypeRow {
    /// Its name in a definition.
    name: &'static str,
    /// How the record stores it.
    stored: Stored,
    /// Number of bytes of one element in the fixed part of the record.
    size: u8,
    /// How a value is printed.
    shown: Shown,
    /// Its name in a `format` file.
    format_name: &'static str,
    /// The conversion in the `print fmt` of a `format` file.
    print_format: &'static str,
    /// Whether the value is big-endian in memory. The record stores it in native order.
    is_swapped: bool,
    /// The number of elements of one value, such as an address; `None` if each element is a value.
    elements: Option<u8>,
}

/// How a record stores an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The value.
    Value,
    /// A copy of the kernel string to which the value points.
    KernelString,
    /// A copy of the user string to which the value points.
    UserString,
    /// The name of the symbol to which the value belongs, looked up at the hit.
    SymbolName,
    /// A copy of the structure to which the value points.
    Structure,
}

/// How a value is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// As an unsigned decimal number.
    Unsigned,
    /// As a signed decimal number.
    Signed,
    /// As a hexadecimal number.
    Hex,
    /// As a character.
    Char,
    /// As the symbol and offset of an address.
    Symbol,
    /// As text in quotes.
    Text,
    /// As the name of an error number, such as `-ENOENT`; others as signed numbers.
    Errno,
    /// As a name of an enumeration, or the names of its bits; others as signed numbers.
    Enum,
    /// As a duration in nanoseconds: a number, or with a unit if the option `units` is on.
    Duration,
    /// As a number of bytes, in the same way.
    Size,
    /// As an IPv4 address.
    Ip4,
    /// As an IPv6 address.
    Ip6,
    /// As a MAC address.
    Mac,
    /// As the members of a structure.
    Structure,
}

impl TypeRow {
    const fn value(
        name: &'static str,
        (size, shown): (u8, Shown),
        format_name: &'static str,
        print_format: &'static str,
    ) -> Self {
        Self {
            name,
            stored: Stored::Value,
            size,
            shown,
            format_name,
            print_format,
            is_swapped: false,
            elements: None,
        }
    }

    /// Creates a type that is big-endian in memory.
    const fn swapped(
        name: &'static str,
        stored: (u8, Shown),
        format_name: &'static str,
        print_format: &'static str,
    ) -> Self {
        Self {
            is_swapped: true,
            ..Self::value(name, stored, format_name, print_format)
        }
    }

    /// Creates a type whose values have `elements` bytes.
    const fn bytes(name: &'static str, elements: usize, shown: Shown) -> Self {
        Self {
            // CAST: The length of an address.
            elements: Some(elements as u8),
            ..Self::value(name, (1, shown), "u8", "0x%x")
        }
    }

    /// Creates a type whose data is stored behind the fixed part of the record.
    const fn text(name: &'static str, stored: Stored) -> Self {
        Self {
            name,
            stored,
            size: 4,
            shown: Shown::Text,
            format_name: "__data_loc char[]",
            print_format: "\\\"%s\\\"",
            is_swapped: false,
            elements: None,
        }
    }
}

/// The types. A new type needs its row here, and its example in
/// `Documentation/grammar.rst`.
const ROWS: &[TypeRow] = &[
    TypeRow::value("u8", (1, Shown::Unsigned), "u8", "%u"),
    TypeRow::value("u16", (2, Shown::Unsigned), "u16", "%u"),
    TypeRow::value("u32", (4, Shown::Unsigned), "u32", "%u"),
    TypeRow::value("u64", (8, Shown::Unsigned), "u64", "%Lu"),
    TypeRow::value("s8", (1, Shown::Signed), "s8", "%d"),
    TypeRow::value("s16", (2, Shown::Signed), "s16", "%d"),
    TypeRow::value("s32", (4, Shown::Signed), "s32", "%d"),
    TypeRow::value("s64", (8, Shown::Signed), "s64", "%Ld"),
    TypeRow::value("x8", (1, Shown::Hex), "u8", "0x%x"),
    TypeRow::value("x16", (2, Shown::Hex), "u16", "0x%x"),
    TypeRow::value("x32", (4, Shown::Hex), "u32", "0x%x"),
    TypeRow::value("x64", (8, Shown::Hex), "u64", "0x%Lx"),
    TypeRow::value("char", (1, Shown::Char), "u8", "'%c'"),
    TypeRow::value("symbol", (8, Shown::Symbol), "u64", "%pS"),
    TypeRow::value("errno", (4, Shown::Errno), "s32", "%d"),
    TypeRow::value("ns", (8, Shown::Duration), "u64", "%Lu"),
    TypeRow::value("size", (8, Shown::Size), "u64", "%Lu"),
    // The enumeration's size decides which.
    TypeRow::value("enum", (4, Shown::Enum), "s32", "%d"),
    TypeRow::value("enum", (1, Shown::Enum), "s8", "%d"),
    TypeRow::value("enum", (2, Shown::Enum), "s16", "%d"),
    TypeRow::value("enum", (8, Shown::Enum), "s64", "%Ld"),
    TypeRow::swapped("be16", (2, Shown::Unsigned), "u16", "%u"),
    TypeRow::swapped("be32", (4, Shown::Unsigned), "u32", "%u"),
    TypeRow::swapped("be64", (8, Shown::Unsigned), "u64", "%Lu"),
    TypeRow::swapped("ip4", (4, Shown::Ip4), "u32", "0x%x"),
    TypeRow::bytes("ip6", address::IP6_LEN, Shown::Ip6),
    TypeRow::bytes("mac", address::MAC_LEN, Shown::Mac),
    TypeRow::text("string", Stored::KernelString),
    TypeRow::text("ustring", Stored::UserString),
    TypeRow::text("symstr", Stored::SymbolName),
    TypeRow {
        shown: Shown::Structure,
        format_name: "__data_loc u8[]",
        print_format: "%s",
        ..TypeRow::text("struct", Stored::Structure)
    },
    TypeRow {
        shown: Shown::Structure,
        format_name: "__data_loc u8[]",
        print_format: "%s",
        ..TypeRow::text("changes", Stored::Structure)
    },
];

/// Returns the row called `name`, at compile time. Although it is compiled into the module, it may
/// not panic: it returns `None`, and the caller's constant fails.
const fn row(name: &str) -> Option<&'static TypeRow> {
    let mut rows = ROWS;
    while let [first, rest @ ..] = rows {
        if is_same(first.name.as_bytes(), name.as_bytes()) {
            return Some(first);
        }
        rows = rest;
    }
    None
}

const fn is_same(mut a: &[u8], mut b: &[u8]) -> bool {
    while let ([first, a_rest @ ..], [other, b_rest @ ..]) = (a, b) {
        if *first != *other {
            return false;
        }
        (a, b) = (a_rest, b_rest);
    }
    a.is_empty() && b.is_empty()
}

/// Size of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// One byte.
    W8,
    /// Two bytes.
    W16,
    /// Four bytes.
    W32,
    /// Eight bytes.
    W64,
}

impl Width {
    /// Returns the width of `bits` bits.
    pub fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            8 => Some(Width::W8),
            16 => Some(Width::W16),
            32 => Some(Width::W32),
            64 => Some(Width::W64),
            _ => None,
        }
    }

    /// Returns its size in bytes.
    pub const fn bytes(self) -> u8 {
        match self {
            Width::W8 => 1,
            Width::W16 => 2,
            Width::W32 => 4,
            Width::W64 => 8,
        }
    }

    /// Returns its size in bits.
    pub const fn bits(self) -> u8 {
        self.bytes() * 8
    }
}

impl Type {
    /// The type of an argument without `:TYPE`.
    pub const DEFAULT: Type = Type(row("x64").unwrap()); // PANIC: in the compiler

    /// A string in kernel memory.
    pub const STRING: Type = Type(row("string").unwrap()); // PANIC: in the compiler

    /// A string in user memory.
    pub const USER_STRING: Type = Type(row("ustring").unwrap()); // PANIC: in the compiler

    /// An unsigned number of 8 bits.
    pub const U8: Type = Type(row("u8").unwrap()); // PANIC: in the compiler

    /// A signed number of 32 bits.
    pub const S32: Type = Type(row("s32").unwrap()); // PANIC: in the compiler

    /// A signed number of 64 bits.
    pub const S64: Type = Type(row("s64").unwrap()); // PANIC: in the compiler

    /// An unsigned number of 64 bits.
    pub const U64: Type = Type(row("u64").unwrap()); // PANIC: in the compiler

    /// A duration in nanoseconds.
    pub const NANOSECONDS: Type = Type(row("ns").unwrap()); // PANIC: in the compiler

    /// A structure before and after a call.
    pub const CHANGES: Type = Type(row("changes").unwrap()); // PANIC: in the compiler

    /// Returns the type called `name`, which cannot be a bitfield.
    pub fn named(name: &[u8]) -> Option<Type> {
        let row = ROWS.iter().find(|row| row.name.as_bytes() == name);
        row.map(Type)
    }

    /// Returns the type of integers of `width` that are printed as `shown`.
    pub fn number(shown: Shown, width: Width) -> Option<Type> {
        let is_it = |row: &&TypeRow| row.shown == shown && row.size == width.bytes();
        ROWS.iter().find(is_it).map(Type)
    }

    /// Returns how the record stores it.
    pub fn stored(self) -> Stored {
        self.0.stored
    }

    /// Returns how a value is printed.
    #[inline]
    pub fn shown(self) -> Shown {
        self.0.shown
    }

    /// Returns whether it is an integer in native byte order, printed as a number or as something
    /// that stands for one.
    pub fn is_number(self) -> bool {
        !self.0.is_swapped
            && self.0.stored == Stored::Value
            && !matches!(
                self.0.shown,
                Shown::Text | Shown::Ip6 | Shown::Mac | Shown::Structure
            )
    }

    /// Returns whether its data is stored behind the fixed part of the record, located by a
    /// `__data_loc` word.
    pub fn is_text(self) -> bool {
        self.0.stored != Stored::Value
    }

    /// Returns whether it is a string, in kernel or user memory.
    pub fn is_string(self) -> bool {
        matches!(self.0.stored, Stored::KernelString | Stored::UserString)
    }

    /// Returns whether it is a symbol of the kernel.
    pub fn is_symbol(self) -> bool {
        self.0.shown == Shown::Symbol || self.0.stored == Stored::SymbolName
    }

    /// Returns whether it is a structure, as bytes.
    pub fn is_structure(self) -> bool {
        self.0.stored == Stored::Structure
    }

    /// Returns whether a `format` file declares it signed; the kernel declares text signed.
    pub fn is_signed(self) -> bool {
        matches!(
            self.0.shown,
            Shown::Signed | Shown::Errno | Shown::Enum | Shown::Text
        )
    }

    /// Returns the number of elements of one value; `None` if each element is a value.
    #[inline]
    pub fn elements(self) -> Option<u8> {
        self.0.elements
    }

    /// Returns how to convert a number to native byte order, if needed.
    fn swap(self) -> Option<Bits> {
        self.0.is_swapped.then_some(Bits {
            width: self.0.size.saturating_mul(8),
            offset: 0,
            signed: false,
            is_swapped: true,
        })
    }

    /// Returns the bytes of one element in the fixed part of the record.
    #[inline]
    pub fn size(self) -> u8 {
        self.0.size
    }

    /// Returns the type's name in a `format` file.
    pub fn format_name(self) -> &'static str {
        self.0.format_name
    }

    /// Returns the conversion in the `print fmt` of a `format` file.
    pub fn print_format(self) -> &'static str {
        self.0.print_format
    }
}

/// A bitfield within its container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// Number of bits, at least 1.
    pub width: u8,
    /// Bits below the field.
    pub offset: u8,
    /// Whether the topmost bit is a sign.
    pub signed: bool,
    /// Whether the bytes must be swapped.
    pub is_swapped: bool,
}

impl Bits {
    /// Returns the field's value in the container's value.
    ///
    /// Context: any.
    #[inline]
    pub fn extract(self, container: u64) -> u64 {
        let unused = 64u32.saturating_sub(u32::from(self.width));
        let top = unused.saturating_sub(u32::from(self.offset));
        let shifted = container.wrapping_shl(top);
        if self.is_swapped {
            // The bytes of the field are the highest ones; swapping makes them the lowest.
            return shifted.swap_bytes();
        }
        if self.signed {
            // CAST: the sign bit was shifted to the top.
            (shifted as i64).wrapping_shr(unused) as u64
        } else {
            shifted.wrapping_shr(unused)
        }
    }
}

/// The type of full paths.
const FULL_PATH: &[u8] = b"path";

/// The kernel object to which a `%pd` or `%pD` argument points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathOf {
    /// `%pd`: a `struct dentry`.
    Dentry,
    /// `%pD`: a `struct file`.
    File,
    /// `path`: the full path of a `struct file`, `path` or `dentry`.
    Full,
}

/// How a value is transformed before it is recorded. Only ready-made events use this; it is what
/// the kernel computes for its own event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derived {
    /// The 16 bytes of a task's name, as they are.
    TaskName,
    /// The state of the previous task, as `sched_switch` shows it, including its exit state.
    SwitchState,
    /// The priority that a task inherits from a waiting one.
    InheritedPriority,
    /// The number of a `struct pid`, 0 if there is none.
    PidNumber,
    /// The error number in a signal's information, if the pointer to it is valid.
    SignalErrno,
    /// The code of that.
    SignalCode,
    /// A `long` of an `int`.
    Long,
    /// The letters for the flags of block I/O.
    Rwbs,
    /// The error number of a block status.
    BlockErrno,
    /// The first sector of a request, 0 if it has none.
    RequestSector,
}

impl Derived {
    /// Returns whether it is text.
    pub fn is_text(self) -> bool {
        matches!(self, Derived::TaskName | Derived::Rwbs)
    }

    /// Returns the index of the tracepoint's last argument that the value also depends on.
    pub(in crate::engine) fn argument(self) -> Option<u8> {
        match self {
            Derived::SwitchState => Some(3),
            Derived::InheritedPriority => Some(1),
            _ => None,
        }
    }

    pub(in crate::engine) fn recorded(self) -> Type {
        match self {
            Derived::TaskName | Derived::Rwbs => Type::STRING,
            Derived::SwitchState | Derived::Long => Type::S64,
            Derived::RequestSector => Type::U64,
            Derived::InheritedPriority
            | Derived::PidNumber
            | Derived::SignalErrno
            | Derived::SignalCode
            | Derived::BlockErrno => Type::S32,
        }
    }
}

/// The part behind an argument's colon, or the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeSpec {
    /// The basic type; for a bitfield that of its container.
    pub base: Type,
    /// The bitfield.
    pub bits: Option<Bits>,
    /// Number of elements, 1 to [`MAX_ARRAY`]; `None` if it is not an array.
    pub count: Option<u8>,
    /// Set for `[*]`: the strings of an array that ends at a NULL are one text.
    pub is_joined: bool,
    /// Set if the argument is a path: `base` is then [`Type::STRING`].
    pub path: Option<PathOf>,
    /// Whether the user gave a type.
    pub explicit: bool,
    /// A transformation before recording.
    pub derived: Option<Derived>,
}

impl TypeSpec {
    /// The type of an argument without `:TYPE`.
    pub const DEFAULT: TypeSpec = TypeSpec {
        base: Type::DEFAULT,
        bits: None,
        count: None,
        is_joined: false,
        path: None,
        explicit: false,
        derived: None,
    };

    /// Returns `base` as an implicit type.
    pub const fn of(base: Type) -> Self {
        Self {
            base,
            ..Self::DEFAULT
        }
    }

    /// Returns whether BTF determines what is recorded: a structure, or a full path in one.
    pub fn is_of_structure(&self) -> bool {
        self.base.is_structure() || self.path == Some(PathOf::Full)
    }

    /// Returns the number of elements in the record.
    pub fn elements(&self) -> u8 {
        self.count.unwrap_or(1)
    }
}

/// Parses the text behind an argument's colon.
///
/// # Errors
///
/// The kinds `ARRAY_NO_CLOSE`, `BAD_ARRAY_SUFFIX`, `BAD_ARRAY_NUM`,
/// `ARRAY_TOO_BIG`, `BAD_TYPE`, `BAD_BITFIELD`.
pub fn parse(text: Span<'_>) -> Result<TypeSpec, Error> {
    let mut spec = TypeSpec {
        explicit: true,
        ..TypeSpec::DEFAULT
    };
    let mut name = text;
    if let Some(open) = text.find(b'[') {
        let array;
        (name, array) = text.around(open);
        spec.is_joined = array.bytes == b"*]";
        if spec.is_joined {
            let is_string = Type::named(name.bytes).is_some_and(Type::is_string);
            if !is_string {
                return Err(array.error(Kind::BadArrayNum).with_detail(format_args!(
                    "* is for string and ustring: write a number of elements, 1 to {MAX_ARRAY}"
                )));
            }
        } else {
            spec.count = Some(count(array)?);
        }
    }
    match name.bytes {
        b"%pd" => spec.path = Some(PathOf::Dentry),
        b"%pD" => spec.path = Some(PathOf::File),
        FULL_PATH => spec.path = Some(PathOf::Full),
        [b'b', next, ..] if next.is_ascii_digit() || name.find(b'@').is_some() => {
            (spec.base, spec.bits) = bitfield(name)?;
            return Ok(spec);
        }
        name => {
            spec.base = Type::named(name).ok_or_else(|| unknown(name, text))?;
            spec.bits = spec.base.swap();
            if let Some(elements) = spec.base.elements() {
                if spec.count.is_some() {
                    return Err(no_array(text));
                }
                spec.count = Some(elements);
            }
            let is_one = spec.base.is_structure() || spec.base.shown() == Shown::Enum;
            if is_one && spec.count.is_some() {
                return Err(no_array(text));
            }
            return Ok(spec);
        }
    }
    if spec.count.is_some() && spec.path == Some(PathOf::Full) {
        return Err(no_array(text));
    }
    if spec.count.is_some() {
        return Err(text.error(Kind::BadType));
    }
    spec.base = Type::STRING;
    Ok(spec)
}

/// Returns the refusal of an array of a type that cannot have one.
#[cold]
#[inline(never)]
fn no_array(text: Span<'_>) -> Error {
    text.error(Kind::BadType).with_detail(format_args!(
        "there is no array of it: write one argument for each"
    ))
}

/// Returns the refusal of `text`, whose type `name` is unknown.
#[cold]
#[inline(never)]
fn unknown(name: &[u8], text: Span<'_>) -> Error {
    let error = text.error(Kind::BadType);
    match foreign::type_name(name) {
        Some(meant) => error.with_detail(format_args!("did you mean {meant}?")),
        None => suggest(error, name, |each| {
            let rows = ROWS
                .iter()
                .filter(|row| Type::named(row.name.as_bytes()) == Some(Type(row)));
            rows.for_each(|row| each(row.name.as_bytes()));
            each(FULL_PATH);
        }),
    }
}

/// Returns the number of elements in `array`, the text behind `[`.
fn count(array: Span<'_>) -> Result<u8, Error> {
    let Some(close) = array.find(b']') else {
        return Err(Error::new(Kind::ArrayNoClose, array.end()));
    };
    let (number, suffix) = array.around(close);
    if !suffix.bytes.is_empty() {
        return Err(suffix.error(Kind::BadArraySuffix));
    }
    match lex::unsigned(number.bytes).map(u32::try_from) {
        None | Some(Ok(0) | Err(_)) => Err(number.error(Kind::BadArrayNum)),
        Some(Ok(n)) => {
            let small = u8::try_from(n).ok().filter(|n| u64::from(*n) <= MAX_ARRAY);
            small.ok_or(number.error(Kind::ArrayTooBig))
        }
    }
}

/// Parses `bWIDTH@OFFSET/CONTAINER`.
fn bitfield(name: Span<'_>) -> Result<(Type, Option<Bits>), Error> {
    let container = name
        .find(b'/')
        .and_then(|slash| lex::unsigned(name.around(slash).1.bytes));
    let Some(container) = container.and_then(Width::from_bits) else {
        return Err(name.error(Kind::BadType));
    };
    let base = Type::number(Shown::Unsigned, container).ok_or(name.error(Kind::BadType))?;
    match bits(name.skip(1).bytes, container) {
        Some(bits) => Ok((base, Some(bits))),
        None => Err(name.error(Kind::BadBitfield)),
    }
}

fn bits(text: &[u8], container: Width) -> Option<Bits> {
    let (width, used) = lex::leading(text)?;
    let rest = text.get(used..)?.strip_prefix(b"@")?;
    let (offset, used) = lex::leading(rest)?;
    rest.get(used..)?.strip_prefix(b"/")?;
    let fits = width.checked_add(offset)? <= u64::from(container.bits());
    if width == 0 || !fits {
        return None;
    }
    let (width, offset) = (u8::try_from(width).ok()?, u8::try_from(offset).ok()?);
    Some(Bits {
        width,
        offset,
        signed: false,
        is_swapped: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_extracted() {
        let bits = Bits {
            width: 4,
            offset: 4,
            signed: false,
            is_swapped: false,
        };
        assert_eq!(bits.extract(0x1234_5678), 7);
        assert_eq!(bits.extract(0xf0), 15);
        let signed = Bits {
            signed: true,
            ..bits
        };
        assert_eq!(signed.extract(0xf0), u64::MAX);
        assert_eq!(signed.extract(0x70), 7);
        let all = Bits {
            width: 64,
            offset: 0,
            signed: false,
            is_swapped: false,
        };
        assert_eq!(all.extract(u64::MAX), u64::MAX);
        for (name, value, swapped) in [
            ("be16", 0xffff_1234, 0x3412),
            ("be32", 0xffff_ffff_1234_5678, 0x7856_3412),
            ("be64", 0x0102_0304_0506_0708, 0x0807_0605_0403_0201),
            ("ip4", 0x0100_007f, 0x7f00_0001),
        ] {
            let bits = Type::named(name.as_bytes()).and_then(Type::swap).unwrap();
            assert_eq!(bits.extract(value), swapped, "{name}");
        }
    }

    #[test]
    fn types_have_names() {
        for name in ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"] {
            assert_eq!(Type::named(name.as_bytes()).unwrap().format_name(), name);
        }
        assert_eq!(Type::named(b"x16"), Type::number(Shown::Hex, Width::W16));
        for bad in ["", "u", "u7", "y16", "x08", "x+8", "u128", "Char"] {
            assert_eq!(Type::named(bad.as_bytes()), None, "{bad}");
        }
    }
}
