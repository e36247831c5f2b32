// SPDX-License-Identifier: GPL-2.0

//! The events of system calls: their fetch programs and layouts.
//!
//! Both follow from the kernel's metadata of a call. The layouts equal those of the kernel's events
//! `sys_enter_NAME` and `sys_exit_NAME`.

mod compat;
mod names;
mod socket;
mod strings;
mod texts;
mod whole;

pub use compat::compat_result;
pub use names::{called, served_by};
pub use socket::{put_address, MAX_ADDRESS};
pub use strings::Strings;
pub use whole::{Returns, Values, WORDS};

use crate::engine::code::arch::Arch;
use crate::engine::language::types::Type;
use crate::engine::program::fetch::{General, Load, LoadOrigin, Program, Store};
use crate::engine::record::{Class, Field, Layout, Name, PROBE_SIZE};
use crate::sys::{AllocError, Box, Vec};

/// Maximum number of arguments of a system call.
pub const MAX_ARGUMENTS: usize = 6;

/// Maximum number of arguments of one call whose memory is copied.
pub const MAX_COPIES: usize = 3;

/// Maximum number of bytes that are copied of one argument's memory.
pub const MAX_COPIED: usize = 165;

/// Largest limit for strings of whole calls: the kernel's `PATH_MAX`.
pub const MAX_STRING: u32 = 4096;

/// Number of bytes that are copied by default.
pub const DEFAULT_COPIED: u32 = 63;

/// Number of bytes of the longest copy: a cut text with its mark and NUL.
pub const COPY_SIZE: usize = MAX_COPIED + MARK.len();

/// The end of a text that was cut.
pub const MARK: &[u8; 4] = b"...\0";

/// The end of an exact string that was cut, see [`record::text()`](crate::engine::record::text).
pub const EXACT_MARK: &[u8; 2] = b"\0\0";

/// The kernel's metadata of a system call.
#[derive(Debug, Default)]
pub struct Call {
    /// Its name, with the prefix `sys_`.
    pub name: Vec<u8>,
    /// Its arguments.
    pub arguments: Vec<CallParameter>,
    /// A bit for each argument that points to memory that is copied.
    pub copied: u32,
    /// The argument with the number of bytes to copy; text is copied if there is none.
    pub size: Option<u8>,
    /// Whether the memory is text although its size is an argument.
    pub is_text: bool,
}

/// An argument of a system call.
#[derive(Debug, Default)]
pub struct CallParameter {
    /// Its name.
    pub name: Vec<u8>,
    /// Its C type.
    pub c_type: Vec<u8>,
}

/// An index that no value has; it reads as an unreadable address.
pub const NO_VALUE: u8 = u8::MAX;

/// The type of memory that a whole call's argument points to, if the kernel's metadata lacks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Special {
    /// Text or bytes.
    #[default]
    None,
    /// A socket address, whose length is in this register.
    Address(u8),
    /// A NULL-terminated array of pointers to strings.
    Strings,
}

/// The user memory to copy before the arguments of a call are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    registers: [u8; MAX_COPIES],
    count: u8,
    /// The number of the call's arguments.
    pub arguments: u8,
    /// The register with the number of bytes to copy.
    pub size: Option<u8>,
    /// Whether strings are recorded unchanged. Otherwise unprintable characters are replaced, as
    /// the kernel does.
    pub are_exact: bool,
    /// The register that points to special memory. In `registers`, [`NO_VALUE`] at the end stands
    /// for it, so that calls without special memory need no check.
    pub special_register: u8,
    /// The type of the special memory.
    pub special: Special,
    /// A bit for each argument that a 32-bit call must sign-extend.
    pub signed: u8,
}

impl Copies {
    /// Adds a register; there is room.
    fn add(&mut self, register: u8) {
        if let Some(to) = self.registers.get_mut(usize::from(self.count)) {
            *to = register;
            self.count = self.count.saturating_add(1);
        }
    }

    /// Adds a register that points to `special` memory, as the last one.
    fn add_special(&mut self, register: u8, special: Special) {
        (self.special_register, self.special) = (register, special);
        self.add(NO_VALUE);
    }

    /// Returns the type of memory `index`, if it is neither text nor bytes.
    ///
    /// Context: any.
    pub fn special_at(&self, index: u8) -> Option<Special> {
        let is_last = index.saturating_add(1) == self.count;
        (is_last && self.special != Special::None).then_some(self.special)
    }

    /// Returns the 64-bit value of argument `n` of a 32-bit call.
    ///
    /// Context: any.
    pub fn widened(&self, n: u8, register: u64) -> u64 {
        // CAST: The low half, and its sign.
        match self.signed.checked_shr(n.into()).unwrap_or(0) & 1 {
            0 => (register as u32).into(),
            _ => i64::from(register as i32) as u64,
        }
    }

    /// Returns the number of copies.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// Returns the registers that point to the memory.
    ///
    /// Context: any.
    #[inline(always)]
    pub fn registers(&self) -> &[u8] {
        self.registers
            .get(..usize::from(self.count))
            .unwrap_or_default()
    }
}

impl Call {
    /// Returns the numbers of this call for 32-bit programs, if its arguments are the same for
    /// them.
    pub fn compat_numbers(&self, arch: Arch) -> impl Iterator<Item = u32> + '_ {
        let types = self.arguments.iter().map(|argument| &*argument.c_type);
        compat::numbers(&self.name, types, arch)
    }

    /// Returns how the entry of the call is recorded.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn enter(&self, arch: Arch) -> Result<(Program, Layout, Copies), AllocError> {
        let isa = arch.isa();
        let registers = isa.call_arguments();
        let mut signature = self.signature(arch)?;
        let mut layout = Layout::of(Class::ENTER);
        let mut program = Program::empty();
        let mut copies = Copies::default();
        let mut end = PROBE_SIZE_U16;
        let arguments = || (0u8..).zip(registers).zip(&self.arguments);
        for ((_, reg), parameter) in arguments() {
            program.add_word(Load {
                dst: end,
                reg,
                width: 8,
            })?;
            layout.fields.push(Field {
                name: Name::new(&parameter.name)?,
                base: Type::DEFAULT,
                count: None,
                offset: end,
                fault: None,
            })?;
            signature.types.push(Vec::from_slice(&parameter.c_type)?)?;
            end = end.saturating_add(8);
        }
        let is_copied = |index: u8| self.copied.checked_shr(index.into()).unwrap_or(0) & 1 != 0;
        let copied = arguments().filter(|((index, _), _)| is_copied(*index));
        for ((index, reg), parameter) in copied.take(MAX_COPIES) {
            copies.add(reg);
            program.add_general(General {
                origin: LoadOrigin::Register(reg),
                links: (0, 0),
                store: Store::Text {
                    offset: 0,
                    user: true,
                },
                dst: end,
                fault: None,
                texts_behind: 0,
            })?;
            let mut name = Vec::from_slice(b"__")?;
            name.extend_from_slice(&parameter.name)?;
            name.extend_from_slice(b"_val")?;
            layout.fields.push(Field {
                name: Name::new(&name)?,
                base: Type::USER_STRING,
                count: None,
                offset: end,
                fault: None,
            })?;
            signature.copied.push(index)?;
            end = end.saturating_add(4);
        }
        copies.size = self
            .size
            .and_then(|size| registers.get(usize::from(size)).copied());
        // CAST: At most `MAX_ARGUMENTS`.
        copies.arguments = signature.types.len() as u8;
        program.fixed = end;
        layout.call = Some(Box::new(signature)?);
        Ok((program, layout, copies))
    }

    /// Returns how the return of the call is recorded.
    ///
    /// # Errors
    ///
    /// [`AllocError`] when there is no memory.
    pub fn exit(&self, arch: Arch) -> Result<(Program, Layout), AllocError> {
        let mut program = Program::empty();
        program.add_word(Load {
            dst: PROBE_SIZE_U16,
            reg: arch.isa().return_register(),
            width: 8,
        })?;
        program.fixed = PROBE_SIZE_U16 + 8;
        let mut layout = Layout::of(Class::EXIT);
        layout.fields.push(Field {
            name: Name::new(b"ret")?,
            base: Type::S64,
            count: None,
            offset: PROBE_SIZE_U16,
            fault: None,
        })?;
        let mut signature = self.signature(arch)?;
        signature.types.push(Vec::from_slice(b"long")?)?;
        layout.call = Some(Box::new(signature)?);
        Ok((program, layout))
    }
}

/// [`PROBE_SIZE`], which is the offset of the arguments, in the type of an offset.
const PROBE_SIZE_U16: u16 = 16;
const _: () = assert!(PROBE_SIZE_U16 as usize == PROBE_SIZE);

/// Returns a C type without the attributes that some compilers add for BTF.
///
/// # Errors
///
/// [`AllocError`] when there is no memory.
pub fn without_attributes(c_type: &[u8]) -> Result<Vec<u8>, AllocError> {
    const START: &[u8] = b"__attribute__((";
    const END: &[u8] = b")) ";
    let find = |text: &[u8], part: &[u8]| text.windows(part.len()).position(|at| at == part);
    let mut clean = Vec::new();
    let mut rest = c_type;
    while let Some(start) = find(rest, START) {
        let (before, attribute) = rest.split_at_checked(start).unwrap_or((rest, b""));
        clean.extend_from_slice(before)?;
        let end = find(attribute, END).map(|end| end.saturating_add(END.len()));
        rest = end.and_then(|end| attribute.get(end..)).unwrap_or_default();
    }
    clean.extend_from_slice(rest)?;
    Ok(clean)
}

/// Replaces unprintable characters of a text by `.`.
///
/// Context: any.
#[inline(never)]
pub fn make_printable(text: &mut [u8]) {
    for byte in text {
        // As isprint() of the kernel, which knows ISO 8859-1.
        if !matches!(byte, b' '..=b'~' | 0xa0..) {
            *byte = b'.';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{make_printable, without_attributes};

    #[test]
    fn types_lose_their_attributes() {
        for (c_type, clean) in [
            ("int", "int"),
            (
                "const char __attribute__((btf_type_tag(\"user\"))) * ",
                "const char * ",
            ),
            (
                "a __attribute__((b)) c __attribute__((noderef, d(1))) *",
                "a c *",
            ),
            ("a __attribute__((b", "a "),
            ("", ""),
        ] {
            let found = without_attributes(c_type.as_bytes()).unwrap();
            assert_eq!(*found, *clean.as_bytes());
        }
    }

    #[test]
    fn texts_are_as_the_kernel_records_them() {
        let printable = |byte: u8| (0x20..0x7f).contains(&byte) || byte >= 0xa0;
        for length in 0..20 {
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    let mut text = vec![b'x'; length];
                    text[at] = byte;
                    let mut expected = text.clone();
                    if !printable(byte) {
                        expected[at] = b'.';
                    }
                    make_printable(&mut text);
                    assert_eq!(text, expected);
                }
            }
        }
        let mut text = *b"a\n\x01\x7f\x80\x9f\xa0\xff~ \x1f";
        make_printable(&mut text);
        assert_eq!(text, *b"a.....\xa0\xff~ .");
    }
}
