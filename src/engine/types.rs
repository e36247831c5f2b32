// SPDX-License-Identifier: GPL-2.0

//! The types a fetch argument can be recorded and printed as.

use super::error::{Error, Kind};
use super::lex::{self, Span};

/// Largest number of elements of an array.
pub const MAX_ARRAY: u64 = 64;

/// A basic type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Unsigned, printed in decimal; of 1, 2, 4 or 8 bytes.
    Unsigned(Width),
    /// Signed, printed in decimal.
    Signed(Width),
    /// Unsigned, printed in hexadecimal.
    Hex(Width),
    /// One byte, printed as a character.
    Char,
    /// An address, printed as symbol and offset.
    Symbol,
    /// A string in kernel memory, copied when the probe is hit.
    String,
    /// A string in user memory.
    Ustring,
    /// The name of the symbol an address belongs to, looked up when hit.
    Symstr,
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
    /// The width of so many bits.
    pub fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            8 => Some(Width::W8),
            16 => Some(Width::W16),
            32 => Some(Width::W32),
            64 => Some(Width::W64),
            _ => None,
        }
    }

    /// Its size in bytes.
    pub const fn bytes(self) -> u8 {
        match self {
            Width::W8 => 1,
            Width::W16 => 2,
            Width::W32 => 4,
            Width::W64 => 8,
        }
    }

    /// Its size in bits.
    pub const fn bits(self) -> u8 {
        match self {
            Width::W8 => 8,
            Width::W16 => 16,
            Width::W32 => 32,
            Width::W64 => 64,
        }
    }
}

impl Type {
    /// The type of an argument without `:TYPE`.
    pub const DEFAULT: Type = Type::Hex(Width::W64);

    /// The type called `name`; bitfields are not among them.
    pub fn named(name: &[u8]) -> Option<Type> {
        Some(match name {
            b"char" => Type::Char,
            b"symbol" => Type::Symbol,
            b"string" => Type::String,
            b"ustring" => Type::Ustring,
            b"symstr" => Type::Symstr,
            [sort @ (b'u' | b's' | b'x'), bits @ ..] => {
                let width = match bits {
                    b"8" => Width::W8,
                    b"16" => Width::W16,
                    b"32" => Width::W32,
                    b"64" => Width::W64,
                    _ => return None,
                };
                match sort {
                    b'u' => Type::Unsigned(width),
                    b's' => Type::Signed(width),
                    _ => Type::Hex(width),
                }
            }
            _ => return None,
        })
    }

    /// Whether its data lies behind the fixed part of the record, to which a
    /// `__data_loc` word points.
    pub fn is_text(self) -> bool {
        matches!(self, Type::String | Type::Ustring | Type::Symstr)
    }

    /// Whether a `format` file calls values signed; the kernel calls text so.
    pub fn is_signed(self) -> bool {
        matches!(self, Type::Signed(_)) || self.is_text()
    }

    /// Bytes of one element in the fixed part of the record.
    pub fn size(self) -> u8 {
        match self {
            Type::Unsigned(width) | Type::Signed(width) | Type::Hex(width) => width.bytes(),
            Type::Char => 1,
            Type::Symbol => 8,
            Type::String | Type::Ustring | Type::Symstr => 4,
        }
    }

    /// The type's name in a `format` file.
    pub fn format_name(self) -> &'static str {
        match self {
            Type::Unsigned(width) | Type::Hex(width) => match width {
                Width::W8 => "u8",
                Width::W16 => "u16",
                Width::W32 => "u32",
                Width::W64 => "u64",
            },
            Type::Signed(width) => match width {
                Width::W8 => "s8",
                Width::W16 => "s16",
                Width::W32 => "s32",
                Width::W64 => "s64",
            },
            Type::Char => "u8",
            Type::Symbol => "u64",
            Type::String | Type::Ustring | Type::Symstr => "__data_loc char[]",
        }
    }

    /// The conversion in the `print fmt` of a `format` file.
    pub fn print_format(self) -> &'static str {
        match self {
            Type::Unsigned(Width::W64) => "%Lu",
            Type::Unsigned(_) => "%u",
            Type::Signed(Width::W64) => "%Ld",
            Type::Signed(_) => "%d",
            Type::Hex(Width::W64) => "0x%Lx",
            Type::Hex(_) => "0x%x",
            Type::Char => "'%c'",
            Type::Symbol => "%pS",
            Type::String | Type::Ustring | Type::Symstr => "\\\"%s\\\"",
        }
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
}

impl Bits {
    /// The field's value in the container's value.
    ///
    /// May run in any context.
    #[inline]
    pub fn extract(self, container: u64) -> u64 {
        let unused = 64u32.saturating_sub(u32::from(self.width));
        let top = unused.saturating_sub(u32::from(self.offset));
        let shifted = container.wrapping_shl(top);
        if self.signed {
            // CAST: the sign bit was shifted to the top.
            (shifted as i64).wrapping_shr(unused) as u64
        } else {
            shifted.wrapping_shr(unused)
        }
    }
}

/// Which kernel object a `%pd` or `%pD` argument points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathOf {
    /// `%pd`: a `struct dentry`.
    Dentry,
    /// `%pD`: a `struct file`.
    File,
}

/// What follows the colon of an argument, or the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeSpec {
    /// The basic type; for a bitfield that of its container.
    pub base: Type,
    /// The bitfield.
    pub bits: Option<Bits>,
    /// Number of elements, 1 to [`MAX_ARRAY`]; `None` when no array.
    pub count: Option<u8>,
    /// Set when the argument is a path: `base` is then [`Type::String`].
    pub path: Option<PathOf>,
    /// Whether the user gave a type.
    pub explicit: bool,
}

impl TypeSpec {
    /// That of an argument without `:TYPE`.
    pub const DEFAULT: TypeSpec = TypeSpec {
        base: Type::DEFAULT,
        bits: None,
        count: None,
        path: None,
        explicit: false,
    };

    /// Number of elements in the record.
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
        spec.count = Some(count(array)?);
    }
    match name.bytes {
        b"%pd" => spec.path = Some(PathOf::Dentry),
        b"%pD" => spec.path = Some(PathOf::File),
        [b'b', ..] => {
            (spec.base, spec.bits) = bitfield(name)?;
            return Ok(spec);
        }
        name => {
            spec.base = Type::named(name).ok_or(text.error(Kind::BadType))?;
            return Ok(spec);
        }
    }
    if spec.count.is_some() {
        return Err(text.error(Kind::BadType));
    }
    spec.base = Type::String;
    Ok(spec)
}

/// The number of elements in `array`, the text behind `[`.
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
    match bits(name.skip(1).bytes, container) {
        Some(bits) => Ok((Type::Unsigned(container), Some(bits))),
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
        };
        assert_eq!(all.extract(u64::MAX), u64::MAX);
    }

    #[test]
    fn types_have_names() {
        for name in ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"] {
            assert_eq!(Type::named(name.as_bytes()).unwrap().format_name(), name);
        }
        assert_eq!(Type::named(b"x16"), Some(Type::Hex(Width::W16)));
        for bad in ["", "u", "u7", "y16", "x08", "x+8", "u128", "Char"] {
            assert_eq!(Type::named(bad.as_bytes()), None, "{bad}");
        }
    }
}
