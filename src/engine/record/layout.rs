// SPDX-License-Identifier: GPL-2.0

//! The layout of the records of an event.
//!
//! The fields of a [`Class`] are the same for all events of a kind; the arguments are
//! specific to an event.

use core::num::NonZeroU8;

use super::name::Name;
use super::ready::{ReadyShape, FIXED_TEXT};
use super::shape::WholeShape;
use super::COMMON_SIZE;
use crate::engine::language::types::{Shown, Type};
use crate::sys::{Box, Vec};

/// A field at the same offset in all records of a class.
#[derive(Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Its name.
    pub name: &'static str,
    /// Its C type in the `format` file.
    pub c_type: &'static str,
    /// Suffix of the name in the `format` file: `[]` for an array.
    pub suffix: &'static str,
    /// Offset in the record.
    pub offset: u16,
    /// Bytes; 0 for the rest of the record.
    pub size: u8,
    /// Whether the `format` file calls it signed.
    pub signed: bool,
    /// Its meaning.
    pub role: Role,
}

/// The meaning of a fixed field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The number of the event.
    EventType,
    /// The context flags.
    Flags,
    /// The preemption depth.
    PreemptCount,
    /// The task's pid.
    Pid,
    /// The address of the probe, or of the function that a return probe follows.
    Address,
    /// The address to which the function returns.
    ReturnAddress,
    /// Text, up to its NUL, or bytes.
    Text,
    /// The number in front of the bytes of `trace_marker_raw`.
    RawId,
    /// The number of a system call.
    CallNumber,
    /// The number of frames of a stack.
    FrameCount,
    /// The frames of a stack, up to the end of the record.
    Frames,
    /// The process of a user stack.
    Process,
}

impl Fixed {
    const fn word(name: &'static str, offset: u16, role: Role) -> Self {
        Self {
            name,
            c_type: "unsigned long",
            suffix: "",
            offset,
            size: 8,
            signed: false,
            role,
        }
    }

    /// The number of a system call. The kernel leaves four bytes behind it.
    const CALL_NUMBER: Self = Self {
        name: "__syscall_nr",
        c_type: "int",
        suffix: "",
        offset: 8,
        size: 4,
        signed: true,
        role: Role::CallNumber,
    };

    /// The frames of a stack.
    const FRAMES: Self = Self {
        name: "caller",
        c_type: "unsigned long",
        suffix: "[8]",
        offset: 16,
        size: 64,
        signed: false,
        role: Role::Frames,
    };

    const fn common(
        name: &'static str,
        (c_type, signed): (&'static str, bool),
        (offset, size): (u16, u8),
        role: Role,
    ) -> Self {
        Self {
            name,
            c_type,
            suffix: "",
            offset,
            size,
            signed,
            role,
        }
    }
}

/// The properties shared by all events of a kind.
#[derive(Debug, PartialEq, Eq)]
pub struct Class {
    /// The fields behind the common header.
    pub fixed: &'static [Fixed],
    /// How the event text begins.
    pub head: Head,
    /// How the `print fmt` of a `format` file begins: text and arguments.
    pub print_format: (&'static str, &'static str),
}

/// How an event text begins, behind the name of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// `(ADDRESS)`.
    Address,
    /// `(RETURN-ADDRESS <- ADDRESS)`.
    Return,
    /// Text alone.
    Text,
    /// `# ID buf: BYTE...`, the whole text.
    Raw,
    /// `<stack trace>` and a line ` => SYMBOL` for each frame, the whole text.
    Stack,
    /// `<user stack trace>` and a line ` =>  <ADDRESS>` for each frame, the whole text.
    UserStack,
    /// `sys_NAME(ARGUMENT: VALUE, ...)`, the whole text.
    Enter,
    /// `sys_NAME -> VALUE`, the whole text.
    Exit,
    /// `NAME(ARGUMENT: VALUE, ...) = VALUE, DURATION ns`, the whole text.
    Call,
    /// `EVENT: ` and the text of this shape, the whole text.
    Ready(&'static ReadyShape),
    /// `(GROUP.EVENT)`, the event to which the probe is attached.
    Event,
    /// `NAME=VALUE ...` without quotes, the whole text.
    Synthetic,
}

impl Class {
    /// The fields of the common header.
    pub const COMMON: &[Fixed] = &[
        Fixed::common(
            "common_type",
            ("unsigned short", false),
            (0, 2),
            Role::EventType,
        ),
        Fixed::common(
            "common_flags",
            ("unsigned char", false),
            (2, 1),
            Role::Flags,
        ),
        Fixed::common(
            "common_preempt_count",
            ("unsigned char", false),
            (3, 1),
            Role::PreemptCount,
        ),
        Fixed::common("common_pid", ("int", true), (4, 4), Role::Pid),
    ];

    /// The class of probes.
    pub const PROBE: &Self = &Self {
        fixed: &[Fixed::word("__probe_ip", 8, Role::Address)],
        head: Head::Address,
        print_format: ("(%lx)", "REC->__probe_ip"),
    };

    /// The class of return probes.
    pub const RETURN: &Self = &Self {
        fixed: &[
            Fixed::word("__probe_func", 8, Role::Address),
            Fixed::word("__probe_ret_ip", 16, Role::ReturnAddress),
        ],
        head: Head::Return,
        print_format: ("(%lx <- %lx)", "REC->__probe_func, REC->__probe_ret_ip"),
    };

    /// The class of the kernel's event `print`: text that a user writes.
    pub const PRINT: &Self = &Self {
        fixed: &[
            Fixed::word("ip", 8, Role::Address),
            Fixed {
                name: "buf",
                c_type: "char",
                suffix: "[]",
                offset: 16,
                size: 0,
                signed: false,
                role: Role::Text,
            },
        ],
        head: Head::Text,
        print_format: ("%ps: %s", "(void *)REC->ip, REC->buf"),
    };

    /// The class of the event `print` for its triggers: the text is an argument, not a field
    /// of the record.
    pub const MARK: &Self = &Self {
        fixed: &[Fixed::word("ip", 8, Role::Address)],
        head: Head::Text,
        print_format: Self::PRINT.print_format,
    };

    /// The class of the kernel's event `raw_data`: bytes that a user writes.
    pub const RAW_DATA: &Self = &Self {
        fixed: &[
            Fixed {
                name: "id",
                c_type: "unsigned int",
                suffix: "",
                offset: 8,
                size: 4,
                signed: false,
                role: Role::RawId,
            },
            Fixed {
                name: "buf",
                c_type: "char",
                suffix: "[]",
                offset: 12,
                size: 0,
                signed: false,
                role: Role::Text,
            },
        ],
        head: Head::Raw,
        print_format: ("id:%04x %08x", "REC->id, (int)REC->buf[0]"),
    };

    /// The class of the kernel's event `kernel_stack`: the stack of the preceding record. The
    /// kernel declares 8 frames, and records any number.
    pub const KERNEL_STACK: &Self = &Self {
        fixed: &[
            Fixed::common("size", ("int", true), (8, 4), Role::FrameCount),
            Fixed::FRAMES,
        ],
        head: Head::Stack,
        print_format: Self::FRAMES_FORMAT,
    };

    /// The class of the kernel's event `user_stack`: 8 frames, zeroes behind the last one.
    pub const USER_STACK: &Self = &Self {
        fixed: &[
            Fixed::common("tgid", ("unsigned int", false), (8, 4), Role::Process),
            Fixed::FRAMES,
        ],
        head: Head::UserStack,
        print_format: Self::FRAMES_FORMAT,
    };

    /// The kernel's `print fmt`, assembled.
    const FRAMES_FORMAT: (&str, &str) = (
        concat!(
            r"\t=> %ps\n\t=> %ps\n\t=> %ps\n",
            r#"" ""#,
            r"\t=> %ps\n\t=> %ps\n\t=> %ps\n",
            r#"" ""#,
            r"\t=> %ps\n\t=> %ps\n"
        ),
        "(void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2], \
         (void *)REC->caller[3], (void *)REC->caller[4], (void *)REC->caller[5], \
         (void *)REC->caller[6], (void *)REC->caller[7]",
    );

    /// The class of the entries of system calls.
    pub const ENTER: &Self = &Self {
        fixed: &[Fixed::CALL_NUMBER],
        head: Head::Enter,
        print_format: ("", ""),
    };

    /// The class of the returns of system calls.
    pub const EXIT: &Self = &Self {
        fixed: &[Fixed::CALL_NUMBER],
        head: Head::Exit,
        print_format: ("0x%lx", "REC->ret"),
    };

    /// The class of whole system calls.
    pub const CALL: &Self = &Self {
        fixed: &[Fixed::CALL_NUMBER],
        head: Head::Call,
        print_format: ("", ""),
    };

    /// The class of event probes. Their place is not shown.
    pub const EVENT: &Self = &Self {
        fixed: Self::PROBE.fixed,
        head: Head::Event,
        print_format: ("", ""),
    };

    /// The class of synthetic events. Their place is not shown.
    pub const SYNTHETIC: &Self = &Self {
        fixed: Self::PROBE.fixed,
        head: Head::Synthetic,
        print_format: ("", ""),
    };

    /// Returns whether the `format` file names the fields of the class.
    pub fn shows_fixed(&self) -> bool {
        !matches!(self.head, Head::Ready(_) | Head::Event | Head::Synthetic)
    }

    /// Returns the class of records of `shape`. They have a probe's fixed fields; the place is not
    /// shown.
    pub const fn ready(shape: &'static ReadyShape) -> Self {
        Self {
            fixed: Self::PROBE.fixed,
            head: Head::Ready(shape),
            print_format: ("", ""),
        }
    }

    /// Returns all fixed fields, the common header's first.
    pub fn fields(&self) -> impl Iterator<Item = &'static Fixed> {
        Self::COMMON.iter().chain(self.fixed)
    }

    /// Returns the field with this role, except those of the common header.
    #[inline]
    pub fn field(&self, role: Role) -> Option<&'static Fixed> {
        self.fixed.iter().find(|field| field.role == role)
    }

    /// Returns the offset behind the fixed fields.
    pub fn end(&self) -> usize {
        let last = self.fixed.last();
        last.map_or(COMMON_SIZE, |last| {
            usize::from(last.offset).saturating_add(last.size.into())
        })
    }
}

/// A predefined event. It has the kernel's number and layout, so that readers know it.
#[derive(Debug)]
pub struct Builtin {
    /// Its number.
    pub id: u16,
    /// Its name, in the group [`Builtin::GROUP`].
    pub name: &'static str,
    /// The layout of its records.
    pub layout: Layout,
}

/// The event of `trace_marker`.
pub static PRINT: Builtin = Builtin {
    id: 5,
    name: "print",
    layout: Layout::of(Class::PRINT),
};

/// The event of `trace_marker_raw`.
pub static RAW_DATA: Builtin = Builtin {
    id: 18,
    name: "raw_data",
    layout: Layout::of(Class::RAW_DATA),
};

/// The event of kernel stacks.
pub static KERNEL_STACK: Builtin = Builtin {
    id: 4,
    name: "kernel_stack",
    layout: Layout::of(Class::KERNEL_STACK),
};

/// The event of user stacks.
pub static USER_STACK: Builtin = Builtin {
    id: 13,
    name: "user_stack",
    layout: Layout::of(Class::USER_STACK),
};

impl Builtin {
    /// The group of the predefined events.
    pub const GROUP: &'static str = "ftrace";

    /// All predefined events.
    pub const ALL: [&'static Self; 4] = [&PRINT, &RAW_DATA, &KERNEL_STACK, &USER_STACK];

    /// Returns the predefined event with this number.
    #[inline]
    pub fn with_id(id: u16) -> Option<&'static Self> {
        Self::ALL.into_iter().find(|builtin| builtin.id == id)
    }
}

/// One argument in the record.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// Type of one element.
    pub base: Type,
    /// Number of elements if it is an array.
    pub count: Option<u8>,
    /// Offset in the record.
    pub offset: u16,
    /// Its fault bit; `None` if reading it cannot fail.
    pub fault: Option<u8>,
}

impl Field {
    /// Returns the bytes in the fixed part of the record.
    pub fn size(&self) -> u16 {
        u16::from(self.base.size()).saturating_mul(u16::from(self.count.unwrap_or(1)))
    }
}

/// The location of the fault bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Offset in the record.
    pub offset: u16,
    /// Bytes: 1, 2, 4, 8 or 16.
    pub size: NonZeroU8,
}

impl Faults {
    /// Name of the field in the `format` file.
    pub const NAME: &'static str = "__probe_faults";

    /// Returns the bytes needed for `bits` bits; `None` above 128.
    pub fn size_for(bits: u16) -> Option<NonZeroU8> {
        NonZeroU8::new(match bits {
            0..=8 => 1,
            9..=16 => 2,
            17..=32 => 4,
            33..=64 => 8,
            65..=128 => 16,
            _ => return None,
        })
    }

    /// Sets the fault bit of an argument.
    ///
    /// Context: any.
    #[inline]
    pub fn set(self, record: &mut [u8], bit: u8) {
        let at = usize::from(self.offset) + usize::from(bit / 8);
        if let Some(byte) = record.get_mut(at) {
            *byte |= 1 << (bit % 8);
        }
    }

    /// Returns the fault bit of an argument.
    pub fn is_set(self, record: &[u8], bit: u8) -> bool {
        let at = usize::from(self.offset) + usize::from(bit / 8);
        record
            .get(at)
            .is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
    }
}

/// The layout of an event's records; all probes of the event share it.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    /// The properties shared with other events of its kind.
    pub class: &'static Class,
    /// The arguments, in order.
    pub fields: Vec<Field>,
    /// The fault bits, if reading any argument can fail.
    pub faults: Option<Faults>,
    /// The signature, for the event of a system call.
    // Boxed: few events have one, and layouts are passed by value.
    pub call: Option<Box<Signature>>,
    /// Further names that the event's text needs.
    pub names: Option<Box<LayoutNames>>,
    /// The members of structures among the arguments.
    // Boxed, as above.
    pub shapes: Option<Box<Vec<WholeShape>>>,
    /// The names of values of arguments whose type is an enumeration, each as a structure of one
    /// number.
    pub value_names: Option<Box<Vec<WholeShape>>>,
}

/// Further names that an event's text needs.
#[derive(Debug, PartialEq, Eq)]
pub enum LayoutNames {
    /// Of an event probe: the `GROUP.EVENT` that it is attached to.
    Attached(Vec<u8>),
    /// Of a synthetic event: the C type of each field.
    Types(Vec<Vec<u8>>),
}

/// The parts of a system call's text besides its fields.
#[derive(Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name of the call, `sys_NAME`.
    pub name: Vec<u8>,
    /// The C types of the arguments, which come first; for a whole call, of all fields.
    pub types: Vec<Vec<u8>>,
    /// For each further field, the argument that points to the copied user memory.
    pub copied: Vec<u8>,
    /// How the copied memory is shown.
    pub shown: ShownMemory,
    /// The names of the bits of `flags`, if the text shows them.
    pub open_flags: &'static [OpenFlag],
    /// The number of trailing fields that are known only when a whole call returns: 0, or 2 for the
    /// result and the duration.
    pub results: u8,
    /// The index of the field with the strings of an array, one behind the other, see
    /// [`Strings`](crate::engine::program::syscall::Strings).
    pub list: Option<u8>,
}

/// How copied user memory is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownMemory {
    /// As text; unprintable characters were replaced when it was copied.
    Text,
    /// As text of a given length, copied unchanged.
    RawText,
    /// As a string with its NUL, copied unchanged; a cut one is marked, see
    /// [`text()`](super::text).
    ExactText,
    /// As bytes, whose number is the argument with this index.
    Bytes(u8),
}

/// Bits of the flags of `open()`, and their name.
pub type OpenFlag = (u32, &'static str);

impl Layout {
    /// Creates the layout of an event without arguments.
    pub const fn of(class: &'static Class) -> Self {
        Self {
            class,
            fields: Vec::new(),
            faults: None,
            call: None,
            names: None,
            shapes: None,
            value_names: None,
        }
    }

    /// Returns whether argument `index` has the strings of an array.
    pub fn is_list(&self, index: u8) -> bool {
        let call = self.call.as_ref();
        call.is_some_and(|call| call.list == Some(index))
    }

    /// Returns the words of argument `index`, if it is a text of fixed length.
    pub fn text_words(&self, index: u8) -> Option<u8> {
        match self.class.head {
            Head::Ready(shape) => shape.text_words(index),
            _ => None,
        }
    }

    /// Returns the members of `field`, if it is a structure.
    pub fn shape(&self, field: &Field) -> Option<&WholeShape> {
        self.shape_of(self.index_of(field)?)
    }

    /// Returns the names of the values of `field`, if its type is an enumeration.
    pub fn value_names(&self, field: &Field) -> Option<&WholeShape> {
        self.value_names_of(self.index_of(field)?)
    }

    /// Returns the index of `field`.
    fn index_of(&self, field: &Field) -> Option<u8> {
        let mut fields = (0u8..=u8::MAX).zip(&self.fields);
        let (index, _) = fields.find(|(_, other)| other.offset == field.offset)?;
        Some(index)
    }

    /// Returns the names of the values of argument `index`, if its type is an enumeration.
    pub fn value_names_of(&self, index: u8) -> Option<&WholeShape> {
        let mut all = self.value_names.iter().flat_map(|names| names.iter());
        all.find(|names| names.index == index)
    }

    /// Returns the members of argument `index`, if it is a structure.
    fn shape_of(&self, index: u8) -> Option<&WholeShape> {
        let mut all = self.shapes.iter().flat_map(|shapes| shapes.iter());
        all.find(|shape| shape.index == index)
    }

    /// Returns the index of the first argument whose name, type or number of elements differs.
    pub fn difference(&self, other: &Layout) -> Option<usize> {
        let pairs = self.fields.iter().zip(&other.fields);
        let same = |(n, (a, b)): (u8, (&Field, &Field))| {
            *a.name == *b.name
                && a.base == b.base
                && a.count == b.count
                && self.shape_of(n) == other.shape_of(n)
                && (a.base.shown() != Shown::Enum
                    || self.value_names_of(n) == other.value_names_of(n))
        };
        let pairs = (0u8..=u8::MAX).zip(pairs);
        let common = pairs.take_while(|&pair| same(pair)).count();
        (common < self.fields.len().max(other.fields.len())).then_some(common)
    }

    /// Returns the offsets of the texts of fixed length, which follow the fault bits one behind the
    /// other.
    pub fn fixed_texts(&self) -> impl Iterator<Item = u16> {
        let behind_fields = self
            .fields
            .last()
            .map_or(0, |field| field.offset.saturating_add(field.size()));
        let start = self.faults.map_or(behind_fields, |faults| {
            faults.offset.saturating_add(faults.size.get().into())
        });
        (0u16..).map(move |n| start.saturating_add(n.saturating_mul(FIXED_TEXT)))
    }

    /// Returns the offset of the first argument.
    pub fn start(&self) -> usize {
        self.class.end()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PROBE_SIZE, RETURN_SIZE};
    use super::{Builtin, Class, Role};

    #[test]
    fn classes_are_as_records_are_written() {
        assert_eq!(Class::PROBE.end(), PROBE_SIZE);
        assert_eq!(Class::RETURN.end(), RETURN_SIZE);
        for class in [Class::PROBE, Class::RETURN, Class::PRINT] {
            let mut end = 0;
            for field in class.fields() {
                assert_eq!(usize::from(field.offset), end, "{}", field.name);
                end += usize::from(field.size);
            }
            assert_eq!(end, class.end());
        }
    }

    #[test]
    fn roles_name_fields() {
        let name = |class: &Class, role| class.field(role).map(|field| field.name);
        assert_eq!(name(Class::PROBE, Role::Address), Some("__probe_ip"));
        assert_eq!(name(Class::RETURN, Role::Address), Some("__probe_func"));
        assert_eq!(name(Class::PROBE, Role::ReturnAddress), None);
        assert_eq!(name(Class::PRINT, Role::Text), Some("buf"));
    }

    #[test]
    fn numbers_of_builtin_events_differ() {
        for builtin in Builtin::ALL {
            let found = Builtin::with_id(builtin.id).unwrap();
            assert_eq!(found.name, builtin.name);
        }
        assert!(Builtin::with_id(0).is_none());
    }
}
